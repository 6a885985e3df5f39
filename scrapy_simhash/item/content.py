"""The content of an item: the text to compare, its facts, its own address, and a digest of all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from scrapy_simhash.item.addresses import (
    is_address,
    is_other_page,
    is_page,
    is_part,
    own_address,
    same_site,
    site,
)
from scrapy_simhash.item.columns import collect, only
from scrapy_simhash.item.declared import is_canonical, published_first
from scrapy_simhash.item.digest import digest_of
from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.file_urls import file_of
from scrapy_simhash.item.folding import Folded, fold, is_encoded, is_markup, is_more
from scrapy_simhash.item.names import Name, is_inside, name_of
from scrapy_simhash.item.prose import GLANCE, MIN_PROSE, is_prose
from scrapy_simhash.item.state import without_state
from scrapy_simhash.item.times import is_moment, is_relative, is_within
from scrapy_simhash.item.values import Printed, flat, read_fields

# Seconds by which clocks may differ.
_SLACK = 60.0
# Short values that are kept of an item.
_SHOWN = 32
# Their characters.
_LONGEST_SHOWN = 120
# Characters of a value in which tags do not matter.
_SHORT = 64
_TEXTS = (str, Printed)
_EMPTY = (None, "", b"")
# What Scrapy's media pipelines tell of a file; only the checksum is the file's own.
_MEDIA = {"checksum", "path", "status", "url"}
# Spaces in a value of one meaning.
_FEW = 8


class PageNames(NamedTuple):
    """The title of a page, and what returns it without the names of site and section.

    A value equal to the first is read as the second.
    """

    title: str = ""
    name: Callable[[], str] = str


@dataclass(frozen=True, slots=True)
class ItemContent:
    """The content of an item.

    Attributes:
        text: the prose, one value a line, the longest first; "" if there is none.
        facts: the short values.
        address: the item's own address; None if it has none, or only that of the page.
        digest: 16 bytes, equal for equal items; None for one that could not be read completely. All
            counts in the notation of facts but the address of the page, times during the crawl,
            the order of fields and lists, and the state of an item with an address.
        names_page: whether the item holds the address of its page.
        is_empty: whether it holds nothing else.
        has_more: whether it holds no text, but more than facts: markup, data, lists of links.
        published: when the thing itself was published, in epoch seconds, if a field has it.
        canonical: whether the item declares its address, or that of the page, the canonical one.
    """

    text: str
    facts: Facts
    address: str | None
    digest: bytes | None
    names_page: bool
    is_empty: bool
    has_more: bool = False
    published: int | None = None
    canonical: bool = False


def digest_on(content: ItemContent, page_url: str) -> bytes | None:
    """The digest, with the URL of the page if the item holds it: elsewhere it is another item."""
    if content.digest is None or not content.names_page:
        return content.digest
    page = page_url.encode("utf-8", "surrogatepass")
    return blake2b(content.digest + page, digest_size=16).digest()


def key_on(content: ItemContent, page_url: str) -> str | None:
    """The key of an item that is one of several on a page: its own address, or None.

    The address of another site is that of an entry of this site, behind whose name it stands:
    otherwise any page could change the history of any item.
    """
    key = content.address
    if not (key and page_url and key.startswith(("http://", "https://"))):
        return key
    return key if same_site(key, page_url) else f"{site(page_url)} {key}"


def read_item(
    item: Any,
    *,
    fields: Sequence[str] | None = None,
    ignore: Collection[str] = (),
    key: Sequence[str] | None = None,
    page_url: str,
    page_names: PageNames | None = None,
    markup: Callable[[str], str] | None = None,
    since: float,
    now: float,
    secret: bytes = b"",
) -> ItemContent:
    """Read the content of an item of any type that itemadapter supports.

    `fields` are the only ones to read, including bytes in them (None for all; the name of a nested
    field is its path, as in "offer.price"), those to leave out, and those that identify the item.
    `markup` returns the text of a value in HTML; without it such a value is no text, as the page
    has it too. Times between the start of the crawl and now, give or take a minute, tell when
    something was fetched. Up to 64 secret bytes key the hashes of facts and digest.

    Raises:
        TypeError: the item is of another type, or `fields`, `ignore` or `key` is a str. Nothing
            inside an item raises.
    """
    for names in (fields, ignore, key):
        if isinstance(names, str):
            raise TypeError(f"fields must be a list of names, not the single str {names!r}")
    read = read_fields(item)
    everything = flat(read.tree)
    reading = _Reading(page_url, since, now, frozenset(ignore), page_names)
    reading.is_chosen, reading.markup = fields is not None, markup
    for name, value in everything.items():
        if fields is None or is_inside(name, fields):
            reading.read(name, value)
    is_read = not any(_is_wanted(name, fields, ignore) for name in read.unread)
    kept, facts = reading.kept, reading.facts
    address = own_address(everything, page_url=page_url, key=key)
    reading.know_url(address or (page_url if reading.names_page else ""), is_key=key is not None)
    # Who reads it tells rows apart that have no address, as of a table of results.
    has_url = address or reading.names_page
    states = {name for name, one in facts.items() if has_url and one.kind == Evidence.STATE}
    told = {name: value for name, value in kept.items() if name not in states}
    digest = digest_of(type(item).__name__, told, facts, reading.addresses, secret)
    return ItemContent(
        text=(text := reading.text()),
        facts=Facts.of(facts, secret, reading.shown),
        address=address,
        digest=digest if is_read else None,
        names_page=reading.names_page,
        is_empty=not kept,
        has_more=not text and any(is_more(name, value) for name, value in kept.items()),
        published=published_first(everything),
        canonical=is_canonical(everything, (page_url, address)),
    )


def _is_wanted(name: str, fields: Sequence[str] | None, ignore: Collection[str]) -> bool:
    """Whether a field of the first level, or one inside it, is read."""
    return name not in ignore and (
        fields is None or any(one.partition(".")[0] == name for one in fields)
    )


def read_facts(
    values: Mapping[str, Any], *, page_url: str, since: float, now: float, secret: bytes = b""
) -> Facts:
    """The facts that `read_item` finds in an item with these values, none of which is prose."""
    reading = _Reading(page_url, since, now)
    for name, value in values.items():
        if (kept := reading.keep(name, value)) is not None:
            reading.add(name, kept)
    return Facts.of(reading.facts, secret, reading.shown)


def _decoded(value: Any) -> Any:
    """Decode bytes: who names a field wants its text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return [_decoded(inner) for inner in value] if isinstance(value, list) else value


class _Reading:
    """Tells what belongs to an item from what belongs to its crawl, and prose from facts.

    Attributes:
        kept: all that belongs to the item, by field.
        facts: what is no prose of it.
        shown: the first of these, as given.
        addresses: the lists that hold nothing else.
        names_page: whether the item holds the address of its page.
        is_chosen: whether the user has named the fields, so that bytes count.
        markup: returns the text of a value in HTML; None where it is no text.
    """

    def __init__(
        self,
        page_url: str,
        since: float,
        now: float,
        ignore: frozenset[str] = frozenset(),
        page_names: PageNames | None = None,
    ) -> None:
        self.kept: dict[str, Any] = {}
        self.facts: dict[str, Folded] = {}
        self.shown: dict[str, Any] = {}
        self.addresses: set[str] = set()
        self.names_page = self.is_chosen = False
        self.markup: Callable[[str], str] | None = None
        self._prose: list[str] = []
        self._names = page_names or PageNames()
        self._start, self._stop = since - _SLACK, now + _SLACK
        self._page_url, self._ignore = page_url, ignore

    def text(self) -> str:
        """The prose of what was read."""
        # Sorted by length: two spiders choose other names and orders for the same fields. And
        # readers of the report see the body first.
        if len(self._prose) == 1:  # a long text takes a while to hash
            return self._prose[0]
        return "\n".join(sorted(set(self._prose), key=lambda text: (-len(text), text)))

    def read(self, name: str, value: Any) -> None:
        """Read a field."""
        value = self.keep(name, _decoded(value) if self.is_chosen else value)
        if value is None:
            return
        self.kept[name] = value
        if self.markup:
            value = self._without_tags(value)
        kind = type(value)
        if kind is list:
            self._read_list(name, value)
        elif kind in _TEXTS and len(value) > MIN_PROSE and (text := self._text(name, [value])):
            self._prose.append(text)
        else:
            self.add(name, value)

    def know_url(self, url: str, *, is_key: bool) -> None:
        """Leave out an id that the item's own URL holds; without one, a rating is a review's."""
        if not url:
            for name, fact in self.facts.items():
                if fact.kind == Evidence.STATE and "rating" in name_of(name).marks:
                    self.facts[name] = fact._replace(kind=Evidence.TEXT)
            return
        ids = [name for name in self.kept if name_of(name).is_id and not is_key]
        for name in ids:
            if type(self.kept[name]) in (int, str) and is_part(str(self.kept[name]), url):
                for told in (self.kept, self.facts, self.shown):
                    told.pop(name, None)

    def _without_tags(self, value: Any) -> Any:
        """A value with the texts of markup in its place."""
        if type(value) is list:
            return [self._without_tags(inner) for inner in value]
        if type(value) is dict:
            return {key: self._without_tags(inner) for key, inner in value.items()}
        is_tagged = type(value) is str and len(value) > _SHORT and is_markup(value)
        return self.markup(value) if is_tagged and self.markup else value

    def keep(self, name: str, value: Any) -> Any:
        """A value without ignored fields, empty values, times of the crawl and the page's URL."""
        if self._ignore and is_inside(name, self._ignore):
            return None
        return self._keep_one(name_of(name), value)

    def _keep_one(self, name: Name, value: Any) -> Any:
        kind = type(value)
        if kind is list:
            page = self._page_url
            rest = (
                inner if is_other_page(inner, page) else self._keep_one(name, inner)
                for inner in value
            )
            return [inner for inner in rest if inner is not None] or None
        if kind is dict:
            keys = value.keys()
            if value.get("checksum") and keys >= _MEDIA:
                keys -= _MEDIA - {"checksum"}
            inside = ((key, self.keep(f"{name.text}.{key}", value[key])) for key in keys)
            return {key: kept for key, kept in inside if kept is not None} or None
        if value in _EMPTY or self._is_of_crawl(name, value):
            return None
        if kind is not str:
            return value
        if value.count(" ") > _FEW and len(value) < GLANCE and not name.state:
            # A loose text too short to be prose, as of a card with "12 reviews".
            value = value if "title" in name.marks else without_state(value)
        names = self._names
        is_title = names.title and len(value) < 2 * len(names.title)
        return names.name() if is_title and " ".join(value.split()) == names.title else value

    def _is_of_crawl(self, name: Name, value: Any) -> bool:
        if type(value) is str and is_address(name, value):
            of_page = is_page(value.strip(), self._page_url)
            self.names_page |= of_page
            return of_page
        marks = name.marks
        if "fetched" in marks:
            return is_moment(value)
        dated = "dated" in marks or name.state is not None
        if "title" not in marks and is_relative(value, dated=dated):
            return True
        return "published" not in marks and is_within(value, self._start, self._stop)

    def _read_list(self, path: str, values: list[Any]) -> None:
        """Read a list as one value, and each field of the mappings in it, such as offers."""
        name = name_of(path)
        # Addresses are neither prose nor facts, except files; a text with tags is none.
        values = [
            value
            for value in values
            if type(value) is not str
            or "<" in value
            or not is_address(name, value)
            or file_of(name, value)
        ]
        if not values:
            self.addresses.add(path)
            return
        columns: dict[str, list[Any]] = {}
        collect(columns, path, values)
        for column, cells in list(columns.items()):
            if text := self._text(column, [cell for cell in cells if type(cell) in _TEXTS]):
                self._prose.append(text)
                del columns[column]
        if not columns:
            return
        self.add(path, only(columns, path, values))
        for column, cells in columns.items():
            # Across sites only amounts count, so they need facts of their own.
            if column != path:
                self.add(column, cells, at_least=Evidence.AMOUNT)

    def add(self, name: str, value: Any, at_least: int = Evidence.TEXT) -> None:
        folded = fold(name_of(name), value)
        if folded is not None and folded.kind >= at_least:
            self.facts[name] = folded
            if len(self.shown) < _SHOWN:
                self.shown[name] = value

    def _text(self, path: str, values: list[str | Printed]) -> str:
        """The text of a value if it is prose, else ""."""
        name = name_of(path)
        if sum(map(len, values)) <= MIN_PROSE or "silent" in name.marks:
            return ""
        lines = [line for value in values if (line := self._line(name, str(value)))]
        return "\n".join(lines) if lines and is_prose(lines) else ""

    def _line(self, name: Name, text: str) -> str:
        """The text of a value if it may be prose, else ""."""
        if self.markup is None and len(text) > _SHORT and is_markup(text):
            return ""
        text = text.strip()
        is_json = text[:1] + text[-1:] in ("{}", "[]") and '"' in text
        return "" if is_json or is_encoded(text) or is_address(name, text) else text


def short(value: Any) -> str:
    """A value as people know it, shortened."""
    if type(value) is list:
        value = ", ".join(map(short, value[:_SHOWN]))
    text = str(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"

"""The content of an item: its text and facts, its own URL, and a digest of everything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from scrapy_simhash.item.columns import collect, select
from scrapy_simhash.item.declared import is_canonical, published_first
from scrapy_simhash.item.digest import digest_of, is_hash_of, without_place
from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.facts import FILE_NAME, Facts
from scrapy_simhash.item.folding import Folded, fold, is_encoded, is_markup, is_more
from scrapy_simhash.item.keys import untracked
from scrapy_simhash.item.links import file_of, is_file_name, links_elsewhere
from scrapy_simhash.item.names import Name, is_inside, name_of
from scrapy_simhash.item.prose import GLANCE, MIN_PROSE, is_prose
from scrapy_simhash.item.state import without_state
from scrapy_simhash.item.times import is_moment, is_relative, is_within
from scrapy_simhash.item.urls import is_in_url, is_page_url, is_url, own_url, same_site, site
from scrapy_simhash.item.values import SHOWN, Printed, flat, is_missing, read_fields

# Seconds by which clocks may differ.
_SLACK = 60.0
# Characters of a value in which tags do not matter.
_SHORT = 64
_TEXTS = (str, Printed)
# The fields of a file from Scrapy's media pipelines; only the checksum is the file's own.
_MEDIA = {"checksum", "path", "status", "url"}
# Spaces in a value that may be a single fact.
_FEW_SPACES = 8


class PageNames(NamedTuple):
    """The names of a page; a value equal to its title is read as its name.

    Attributes:
        title: the title of the page.
        name: returns the title without the names of site and section.
    """

    title: str = ""
    name: Callable[[], str] = str


_NO_NAMES = PageNames()


@dataclass(frozen=True, slots=True)
class ItemContent:
    """The content of an item.

    Attributes:
        text: the prose, one value a line, the longest first; "" if there is none.
        facts: the short values.
        own_url: the URL of the item, or the values of its key; None if it has neither, or only
            the URL of the page.
        digest: 16 bytes, equal for equal items; None for one that could not be read completely.
            Facts count in their notation. The URL of the page, times during the crawl, the order of
            fields and lists, and the state of an item that has a URL do not count, nor do more
            than the sites of URLs if the item has a key.
        has_page_url: whether the item has the URL of its page, and no key.
        is_empty: whether it has nothing, not even that URL.
        has_more: whether it has no text, but more than facts: markup, data, lists of links.
        published: when the item was published, in epoch seconds, if a field tells it.
        canonical: whether the item declares its URL, or that of the page, the canonical one.
    """

    text: str
    facts: Facts
    own_url: str | None
    digest: bytes | None
    has_page_url: bool
    is_empty: bool
    has_more: bool = False
    published: int | None = None
    canonical: bool = False


def digest_on(content: ItemContent, page_url: str) -> bytes | None:
    """The digest, with the URL of the page if the item has it: on other pages the item differs."""
    if content.digest is None or not content.has_page_url:
        return content.digest
    page = untracked(page_url).encode("utf-8", "surrogatepass")
    return blake2b(content.digest + page, digest_size=16).digest()


def key_on(content: ItemContent, page_url: str) -> str | None:
    """The key of an item that is one of several on a page: its own URL, or None.

    A URL of a different site gets the name of the page's site in front. Otherwise any page could
    change the history of any item.
    """
    key = content.own_url
    if not (key and page_url and key.startswith(("http://", "https://"))):
        return key
    key = untracked(key)
    return key if same_site(key, page_url) else f"{site(page_url)} {key}"


def read_item(
    item: Any,
    *,
    fields: Sequence[str] | None = None,
    ignore: Collection[str] = (),
    key: Sequence[str] | None = None,
    page_url: str,
    page_names: PageNames = _NO_NAMES,
    markup: Callable[[str], str] | None = None,
    since: float,
    now: float,
    secret: bytes = b"",
) -> ItemContent:
    """Read the content of an item of any type that itemadapter supports.

    Args:
        item: the item.
        fields: the fields to read, including bytes in them; None for all fields. The name of a
            nested field is its path, as in "offer.price".
        ignore: the fields to leave out.
        key: the fields that identify the item.
        page_url: the URL of its page, "" if it has none.
        page_names: the names of its page.
        markup: returns the text of a value in HTML; None if the text is that of the page.
        since: the start of the crawl in epoch seconds.
        now: the end of the download likewise. Values between both, give or take a minute, tell
            when something was fetched.
        secret: up to 64 bytes that key the hashes of facts and the digest.

    Raises:
        TypeError: this is no item (nothing inside an item raises), or a list of names is a str.
    """
    for names in (fields, ignore, key):
        if isinstance(names, str):
            raise TypeError(f"fields must be a list of names, not the single str {names!r}")
    tree, unread = read_fields(item)
    flat_fields = flat(tree)
    reader = _FieldReader(page_url, since, now, fields, frozenset(ignore), page_names, markup)
    reader.read_all(flat_fields)
    url = own_url(flat_fields, page_url=page_url, key=key)
    place = url or (page_url if reader.has_page_url else "")
    if key is None:
        reader.drop_ids_of(place)
    if not place:
        reader.keep_ratings()
    is_keyed = bool(key and url) and not any("url" in name_of(name).marks for name in key or ())
    compared = reader.compared(has_url=bool(url) or reader.has_page_url, is_keyed=is_keyed)
    digest = digest_of(type(item).__name__, compared, reader.facts, reader.links, secret)
    kept, text = reader.kept, reader.text()
    return ItemContent(
        text=text,
        facts=Facts.of(reader.facts, secret, reader.shown),
        own_url=url,
        digest=None if any(map(reader.wants, unread)) else digest,
        has_page_url=reader.has_page_url and not is_keyed,
        is_empty=not kept and not reader.has_page_url,
        has_more=not text and any(is_more(name, value) for name, value in kept.items()),
        published=published_first(flat_fields),
        canonical=is_canonical(flat_fields, (page_url, url)),
    )


def read_facts(
    values: Mapping[str, Any], *, page_url: str, since: float, now: float, secret: bytes = b""
) -> Facts:
    """The facts that `read_item` finds in an item with these values, none of which is prose."""
    reader = _FieldReader(page_url, since, now)
    for name, value in values.items():
        if (kept := reader.keep(name, value)) is not None:
            reader.add_fact(name, kept)
    return Facts.of(reader.facts, secret, reader.shown)


def _decoded(value: Any) -> Any:
    """Decode the bytes in a value: users who name a field want its text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return [_decoded(inner) for inner in value] if isinstance(value, list) else value


@dataclass(eq=False, slots=True)
class _FieldReader:
    """Tells what belongs to an item from what belongs to its crawl, and prose from facts.

    The first attributes are arguments of `read_item`.

    Attributes:
        kept: what belongs to the item, by field.
        facts: the facts among it.
        shown: the values of the first facts, as the item has them.
        links: the URLs in fields that are lists, without those of files.
        has_page_url: whether the item has the URL of its page.
    """

    page_url: str
    since: float
    now: float
    fields: Sequence[str] | None = None
    ignore: frozenset[str] = frozenset()
    page_names: PageNames = _NO_NAMES
    markup: Callable[[str], str] | None = None
    kept: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Folded] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)
    links: dict[str, set[str]] = field(default_factory=dict)
    has_page_url: bool = False
    _prose: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The prose of what was read."""
        # Sorted by length, because two spiders choose different names and orders for the same
        # fields, and because readers of the report see the body first.
        if len(self._prose) == 1:  # a long text takes a while to hash
            return self._prose[0]
        return "\n".join(sorted(set(self._prose), key=lambda text: (-len(text), text)))

    def compared(self, *, has_url: bool, is_keyed: bool) -> dict[str, Any]:
        """What tells whether two items are equal."""
        fields = self.kept
        if has_url:
            # Else its state may be all that tells an item from others, such as rows of a table.
            states = {name for name, fact in self.facts.items() if fact.kind == Evidence.STATE}
            fields = {name: value for name, value in fields.items() if name not in states}
        # A key that is no URL tells an item at all of its URLs, such as those of two sessions.
        return without_place(fields, self.page_url) if is_keyed else fields

    def wants(self, name: str) -> bool:
        """Whether a field of the first level, or a field inside it, is to be read."""
        return name not in self.ignore and (
            self.fields is None or any(path.partition(".")[0] == name for path in self.fields)
        )

    def read_all(self, flat_fields: Mapping[str, Any]) -> None:
        """Read the fields that are to be read."""
        for name, value in flat_fields.items():
            if self.ignore and is_inside(name, self.ignore):
                continue
            if self.fields is None:
                self._read(name, value)
            elif is_inside(name, self.fields):
                self._read(name, _decoded(value))

    def _read(self, path: str, value: Any) -> None:
        if type(value) is list:
            self._read_list(path, value)
        elif (value := self._keep(name_of(path), value)) is not None:
            self.kept[path] = value
            if self.markup:
                value = self._without_tags(value)
            is_long = type(value) in _TEXTS and len(value) > MIN_PROSE
            if is_long and (text := self._text(path, [value])):
                self._prose.append(text)
            else:
                self.add_fact(path, value)

    def drop_ids_of(self, url: str) -> None:
        """Drop ids that the URL has, and hashes of the URL of the item or its page.

        A title that equals the file name in the URL is compared with other file names only.
        """
        for name, value in [*self.kept.items()]:
            if "title" in name_of(name).marks and is_file_name(value, url):
                for values in (self.facts, self.shown):
                    if name in values:
                        values[FILE_NAME] = values.pop(name)
                continue
            least = name_of(name).shortest_id if type(value) in (int, str) else 0
            is_in = least and len(str(value)) >= least and is_in_url(str(value), url)
            if is_in or is_hash_of(value, (url, self.page_url)):
                for fields in (self.kept, self.facts, self.shown):
                    fields.pop(name, None)

    def keep_ratings(self) -> None:
        """Turn ratings from state into facts: the item may be a review, whose rating is its own."""
        for name, fact in self.facts.items():
            if fact.kind == Evidence.STATE and "rating" in name_of(name).marks:
                self.facts[name] = fact._replace(kind=Evidence.TEXT)

    def _without_tags(self, value: Any) -> Any:
        """A value with the text of markup in place of the markup."""
        if type(value) is list:
            return [self._without_tags(inner) for inner in value]
        if type(value) is dict:
            return {key: self._without_tags(inner) for key, inner in value.items()}
        is_tagged = type(value) is str and len(value) > _SHORT and is_markup(value)
        return self.markup(value) if self.markup and is_tagged else value

    def keep(self, name: str, value: Any) -> Any:
        """A value without ignored fields, empty values, times of the crawl and the page's URL."""
        if self.ignore and is_inside(name, self.ignore):
            return None
        return self._keep(name_of(name), value)

    def _keep(self, name: Name, value: Any) -> Any:
        kind = type(value)
        if kind is list:
            kept_values = (self._keep(name, inner) for inner in value)
            return [kept for kept in kept_values if kept is not None] or None
        if kind is dict:
            keys = value.keys()
            if value.get("checksum") and keys >= _MEDIA:
                keys -= _MEDIA - {"checksum"}
            kept_items = ((key, self.keep(f"{name.text}.{key}", value[key])) for key in keys)
            return {key: kept for key, kept in kept_items if kept is not None} or None
        if is_missing(value) or self._is_of_crawl(name, value):
            return None
        if kind is not str:
            return value
        is_loose = len(value) < GLANCE and value.count(" ") > _FEW_SPACES
        if is_loose and not name.state and "title" not in name.marks:
            # Such as the text of a card with "12 reviews", which is too short to be prose.
            value = without_state(value)
        title = self.page_names.title
        is_title = title and len(value) < 2 * len(title) and " ".join(value.split()) == title
        return self.page_names.name() if is_title else value

    def _is_of_crawl(self, name: Name, value: Any) -> bool:
        """Whether a value is a time of the crawl or the URL of the page."""
        if type(value) is str and is_url(name, value):
            is_of_page = is_page_url(value.strip(), self.page_url)
            self.has_page_url |= is_of_page
            return is_of_page
        marks = name.marks
        if "download" in marks:
            return True
        if "fetched" in marks:
            return is_moment(value)
        dated = "dated" in marks or name.state is not None
        if "title" not in marks and is_relative(value, dated=dated):
            return True
        if "published" in marks:
            return False
        return is_within(value, self.since - _SLACK, self.now + _SLACK)

    def _without_links(self, path: str, values: list[Any]) -> list[Any]:
        """Add a list to `kept`; return its values but for empty ones and links to pages."""
        name = name_of(path)
        links = links_elsewhere(name, values, self.page_url) - {self.page_names.title}
        rest = [value for value in values if value not in links] if links else values
        values = self._keep(name, rest) or []
        if not (values or links):
            return []
        self.kept[path] = [*links, *values]
        others = []
        for value in self._without_tags(values) if self.markup else values:
            # A text with tags is no URL.
            is_link = type(value) is str and "<" not in value and is_url(name, value)
            if is_link and not file_of(name, value):
                links.add(value)
            else:
                others.append(value)
        if links:
            self.links[path] = links
        return others

    def _read_list(self, path: str, values: list[Any]) -> None:
        """Read a list as one value, and each field of the mappings in it, such as offers."""
        # URLs are neither prose nor facts, except those of files.
        others = self._without_links(path, values)
        if not others:
            return
        columns: dict[str, list[Any]] = {}
        collect(columns, path, others)
        for column, cells in list(columns.items()):
            if text := self._text(column, [cell for cell in cells if type(cell) in _TEXTS]):
                self._prose.append(text)
                del columns[column]
        if not columns:
            return
        self.add_fact(path, select(columns, path, others))
        for column, cells in columns.items():
            # Across sites only amounts count, so they need facts of their own.
            if column != path:
                self.add_fact(column, cells, at_least=Evidence.AMOUNT)

    def add_fact(self, name: str, value: Any, at_least: int = Evidence.TEXT) -> None:
        """Add a value to the facts, if it is one of this kind or a stronger one."""
        folded = fold(name_of(name), value)
        if folded is not None and folded.kind >= at_least:
            self.facts[name] = folded
            if len(self.shown) < SHOWN:
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
        return "" if is_json or is_encoded(text) or is_url(name, text) else text

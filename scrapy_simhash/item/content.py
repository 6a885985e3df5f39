"""What an item says: the text that is compared, the facts, its own address, and all of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scrapy_simhash.features.shingles import shingles
from scrapy_simhash.item.addresses import (
    is_address,
    is_other_page,
    is_page,
    own_address,
    without_addresses,
)
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.folding import (
    AMOUNT,
    TEXT,
    Folded,
    fold,
    is_encoded,
    is_markup,
    without_tags,
)
from scrapy_simhash.item.names import Name, is_inside, name_of
from scrapy_simhash.item.quality import is_canonical, published_first
from scrapy_simhash.item.times import Window, is_moment, is_within
from scrapy_simhash.item.values import Printed, flat, read_fields

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["MIN_PROSE", "ItemContent", "digest_on", "read_facts", "read_item"]

#: Distinct shingles from which on a value is prose. 20 to 64 gave the same on stories, offers and
#: rows; 8 to 16 take long headlines for prose.
MIN_PROSE = 32
#: Shingles that a line of a list has on average where the list is prose: paragraphs, not tags.
_MIN_LINE = 8
#: Seconds by which clocks may differ.
_SLACK = 60.0
#: Characters in which most prose shows already.
_GLANCE = 512
#: Characters in which nearly all does.
_START = 2048
#: Characters in which prose must show.
_LOOK = 65_536
_TEXTS = (str, Printed)
_EMPTY = (None, "", b"")
_TOKEN = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class ItemContent:
    """What an item says.

    Attributes:
        text: The prose, a line each, the longest value first; "" where the item has none.
        facts: Its short values.
        address: The item's own address; None where it has none but that of the page.
        digest: 16 bytes of all it says, in facts or not; equal ones mean equal items. The address
            of the page and moments of the crawl do not count, nor the order of fields and lists.
            None where the item could not be read to its end: it is then equal to no other.
        names_page: Whether the address of the page stands in the item.
        is_empty: Whether it says nothing, that address aside.
        published: When the thing itself was published, in seconds since the epoch, as far as it
            says so on its first level.
        canonical: Whether it says that its address, or that of the page, is the canonical one.
    """

    text: str
    facts: Facts
    address: str | None
    digest: bytes | None
    names_page: bool
    is_empty: bool
    published: int | None = None
    canonical: bool = False


def digest_on(said: ItemContent, page_url: str) -> bytes | None:
    """What equal items have in common: one that names its page is another on another page.

    Args:
        said: What the item says.
        page_url: The address of its page.

    Returns:
        16 bytes; None where the item could not be read to its end.
    """
    if said.digest is None or not said.names_page:
        return said.digest
    page = page_url.encode("utf-8", "surrogatepass")
    return blake2b(said.digest + page, digest_size=16).digest()


def read_item(
    item: Any,
    *,
    fields: Sequence[str] | None = None,
    ignore: Collection[str] = (),
    key: Sequence[str] | None = None,
    page_url: str,
    since: float,
    now: float,
    secret: bytes = b"",
) -> ItemContent:
    """Read what an item says.

    Args:
        item: A dict, Scrapy item, dataclass, attrs or pydantic object, or whatever else itemadapter
            knows.
        fields: The fields that alone say what the item is, markup and bytes included; None for
            all. That of a nested field is its path, as in "offer.price".
        ignore: Fields that say nothing.
        key: The fields that identify the item, for `ItemContent.address`.
        page_url: The address of the page it comes from.
        since: When the crawl started, in seconds since the epoch.
        now: The time, likewise. Moments between the two, with a minute to spare, say when something
            was fetched.
        secret: Up to 64 bytes with which facts and digest are hashed; those of another secret are
            others.

    Raises:
        TypeError: If the item is of another type, or `fields`, `ignore` or `key` are one str.
            Nothing inside an item raises.
    """
    for names in (fields, ignore, key):
        if isinstance(names, str):
            raise TypeError(f"fields must be a list of names, not the single str {names!r}")
    read = read_fields(item)
    everything = flat(read.tree)
    item_part = _ItemPart(_window(since, now), page_url, frozenset(ignore))
    said = {}
    for name, value in everything.items():
        if fields is None or is_inside(name, fields):
            kept = item_part.keep(name, value if fields is None else _as_text(value))
            if kept is not None:
                said[name] = kept
    prose = _Prose(markup=fields is not None)
    for name, value in said.items():
        prose.read(name, value)
    address = own_address(everything, page_url=page_url, key=key)
    return ItemContent(
        text=prose.text(),
        facts=Facts.of(prose.facts, secret),
        address=address,
        digest=_digest(type(item).__name__, said, secret) if read.complete else None,
        names_page=item_part.names_page,
        is_empty=not said,
        published=published_first(everything),
        canonical=is_canonical(everything, (page_url, address)),
    )


def read_facts(
    values: Mapping[str, str], *, page_url: str, since: float, now: float, secret: bytes = b""
) -> Facts:
    """The facts that an item with these values has by `read_item`, and nothing else of it.

    Args:
        values: By their names, in which there are no dots.
        page_url: As for `read_item`.
        since: As for `read_item`.
        now: As for `read_item`.
        secret: As for `read_item`.
    """
    item_part = _ItemPart(_window(since, now), page_url, frozenset())
    prose = _Prose(markup=False)
    for name, value in values.items():
        if item_part.keep(name, value) is not None:
            prose.read(name, value)
    return Facts.of(prose.facts, secret)


def _window(since: float, now: float) -> Window:
    return Window(since - _SLACK, now + _SLACK)


def _as_text(value: Any) -> Any:
    """The value with bytes as text, as somebody wants them who names the field."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return [_as_text(inner) for inner in value] if isinstance(value, list) else value


class _ItemPart:
    """Tells what an item says itself from what belongs to the crawl that found it."""

    def __init__(self, window: Window, page_url: str, ignore: frozenset[str]) -> None:
        self.names_page = False
        self._window = window
        self._page_url = page_url
        self._ignore = ignore

    def keep(self, name: str, value: Any) -> Any:
        """A value without what is ignored or empty, moments of the crawl, the page's address.

        Returns:
            None if nothing is left.
        """
        if self._ignore and is_inside(name, self._ignore):
            return None
        return self._keep(name_of(name), value)

    def _keep(self, name: Name, value: Any) -> Any:
        kind = type(value)
        if kind is list:
            return self._keep_list(name, value) or None
        if kind is dict:
            inside = ((key, self.keep(f"{name.text}.{key}", inner)) for key, inner in value.items())
            return {key: kept for key, kept in inside if kept is not None} or None
        return None if value in _EMPTY or self._is_of_crawl(name, value) else value

    def _keep_list(self, name: Name, values: list[Any]) -> list[Any]:
        kept = []
        for value in values:
            stays = is_other_page(name, value, self._page_url)
            inner = value if stays else self._keep(name, value)
            if inner is not None:
                kept.append(inner)
        return kept

    def _is_of_crawl(self, name: Name, value: Any) -> bool:
        if type(value) is str and is_address(name, value):
            of_page = is_page(value.strip(), self._page_url)
            self.names_page |= of_page
            return of_page
        if name.fetched:
            return is_moment(value)
        return not name.published and is_within(value, self._window)


def _digest(kind: str, fields: Mapping[str, Any], secret: bytes) -> bytes:
    written = f"{kind}:{_written(fields)}"
    said = written.encode("utf-8", "surrogatepass")
    return blake2b(said, key=secret, digest_size=16).digest()


def _written(value: Any) -> str:
    """A value with its type, exactly, lists as sets; no two values are written alike."""
    kind = type(value)
    if kind is str:
        return f"str:{len(value)}:{value}"
    if kind is dict:
        fields = sorted(value.items())
        return f"d({''.join([f'{len(key)}:{key}={_written(inner)}' for key, inner in fields])})"
    if kind is list:
        return _texts(value) or f"l({''.join(sorted(set(map(_written, value))))})"
    text = value.hex() if kind is bytes else str(value)
    return f"{value.kind if kind is Printed else kind.__name__}:{len(text)}:{text}"


def _texts(values: list[Any]) -> str | None:
    """What `_written` makes of a list of nothing but texts; None of any other."""
    # Lists of hundreds of links are common; no step here is a loop in Python.
    if set(map(type, values)) != {str}:
        return None
    texts = sorted(set(values))
    return f"t({','.join(map(str, map(len, texts)))}:{''.join(texts)})"


class _Prose:
    """Parts the values of an item into prose and facts."""

    def __init__(self, *, markup: bool) -> None:
        self.facts: dict[str, Folded] = {}
        self._markup = markup
        self._values: list[str] = []

    def text(self) -> str:
        # The length depends neither on the names nor on the order of fields, which two spiders
        # choose differently; and a person who reads it sees the body first.
        if len(self._values) == 1:  # to hash a long text takes a while
            return self._values[0]
        return "\n".join(sorted(set(self._values), key=lambda text: (-len(text), text)))

    def read(self, name: str, value: Any) -> None:
        kind = type(value)
        if kind is list:
            self._read_list(name, value)
        elif kind in _TEXTS and len(value) > MIN_PROSE and (text := self._prose(name, [value])):
            self._values.append(text)
        else:
            self._add(name, value)

    def _read_list(self, name: str, values: list[Any]) -> None:
        """Read a list as one value; of mappings in it, such as offers or comments, each field."""
        # Addresses are neither prose nor facts. Lists of hundreds of links are common.
        values = without_addresses(name_of(name), values)
        columns = _columns(name, values)
        for column, cells in list(columns.items()):
            texts = [cell for cell in cells if type(cell) in _TEXTS]
            if text := self._prose(column, texts):
                self._values.append(text)
                del columns[column]
        if not columns:
            return
        self._add(name, _only(columns, name, values))
        for column, cells in columns.items():
            # Across sites only amounts count, so they have to be known as such.
            if column != name:
                self._add(column, cells, at_least=AMOUNT)

    def _add(self, name: str, value: Any, at_least: int = TEXT) -> None:
        folded = fold(name_of(name), value)
        if folded is not None and folded.kind >= at_least:
            self.facts[name] = folded

    def _prose(self, name: str, texts: list[str | Printed]) -> str:
        """The text of a value that is prose, "" where it is not."""
        if sum(map(len, texts)) <= MIN_PROSE or name_of(name).silent:
            return ""
        lines = [line for text in texts if (line := self._line(name, str(text)))]
        return "\n".join(lines) if lines and _is_prose(lines) else ""

    def _line(self, name: str, text: str) -> str:
        """The text of a value that may be prose, or ""."""
        if len(text) > 64 and is_markup(text):
            if not self._markup:
                return ""
            text = without_tags(text)
        text = text.strip()
        if is_encoded(text) or _is_json(text) or is_address(name_of(name), text):
            return ""
        return text


def _is_json(text: str) -> bool:
    return text[:1] + text[-1:] in ("{}", "[]") and '"' in text


def _columns(name: str, values: list[Any]) -> dict[str, list[Any]]:
    """The scalars inside a list, by the path of their field."""
    columns: dict[str, list[Any]] = {}
    _collect(columns, name, values)
    return columns


def _collect(columns: dict[str, list[Any]], path: str, value: Any) -> None:
    if isinstance(value, list):
        for inner in value:
            _collect(columns, path, inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            _collect(columns, f"{path}.{key}", inner)
    else:
        columns.setdefault(path, []).append(value)


def _only(columns: Collection[str], name: str, value: Any) -> Any:
    """A value less the scalars of other columns than these."""
    if isinstance(value, list):
        return [_only(columns, name, inner) for inner in value]
    if isinstance(value, dict):
        return {key: _only(columns, f"{name}.{key}", inner) for key, inner in value.items()}
    return value if name in columns else None


def _is_prose(lines: list[str]) -> bool:
    """Whether these lines of one value are prose: enough of it, and in paragraphs, not tags."""
    longest = lines[0] if len(lines) == 1 else max(lines, key=len)
    # Of ASCII no more than the last token, and its one pair, change with what follows.
    if (
        len(longest) > _GLANCE
        and (begun := longest[:_GLANCE]).isascii()
        and _count(begun) > MIN_PROSE
    ):
        return True
    if _count(longest[:_START]) >= MIN_PROSE:
        return True
    if len(longest) > _START and _count(longest) >= MIN_PROSE:
        return True
    return len(lines) > 1 and _count("\n".join(lines)) >= max(MIN_PROSE, _MIN_LINE * len(lines))


def _count(text: str) -> int:
    """The distinct shingles of a text; 0 where it can't have enough of them."""
    # So many tokens take two characters each, one in Chinese. Counting shingles takes longer.
    if len(text) <= MIN_PROSE * (2 if text.isascii() else 1):
        return 0
    if text.isascii() and len(text) < 400 and len(_TOKEN.findall(text)) <= MIN_PROSE:
        return 0
    return len(shingles(text[:_LOOK]))

"""The fields of an item: what belongs to it or to its crawl, and which values are prose or facts.

Prose is compared by its words, a fact as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import md5, sha1, sha256
from typing import Any

from scrapy_simhash.features.shingles import shingles
from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.facts import FILE_NAME
from scrapy_simhash.item.folding import Folded, fold, is_encoded, is_markup
from scrapy_simhash.item.links import file_of, is_file_name, links_elsewhere
from scrapy_simhash.item.names import Name, is_inside, name_of
from scrapy_simhash.item.state import without_state
from scrapy_simhash.item.times import is_moment, is_relative, is_within
from scrapy_simhash.item.urls import is_in_url, is_page_url, is_url
from scrapy_simhash.item.values import SHOWN, Printed, collect, is_missing, select

#: The least number of distinct shingles of prose. 20 to 64 gave the same results on stories, offers
#: and rows; with 8 to 16, long headlines are prose.
MIN_PROSE = 32
# The least mean number of shingles in the lines of a list of paragraphs. Tags have fewer.
_MIN_LINE = 8
#: Characters that show of most values whether they are prose.
GLANCE = 512
# Characters that show it of nearly all.
_START = 2048
#: Characters that are read for it.
LOOK = 65_536
_TOKEN = re.compile(r"[A-Za-z0-9]+")
# Seconds by which clocks may differ.
_SLACK = 60.0
#: Characters of a value in which tags do not matter.
SHORT = 64
_TEXTS = (str, Printed)
# The usual hashes, by the number of their hexadecimal digits.
_HASHES = {32: md5, 40: sha1, 64: sha256}
# The fields of a file from Scrapy's media pipelines; only the checksum is the file's own.
_MEDIA = {"checksum", "path", "status", "url"}
#: Spaces in a value that may be a single fact.
FEW_SPACES = 8

#: The title of a page, and what returns it without the names of site and section: a value equal to
#: the title is read as that.
PageNames = tuple[str, Callable[[], str]]


@dataclass(eq=False, slots=True)
class FieldReader:
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
    page_names: PageNames = ("", str)
    markup: Callable[[str], str] | None = None
    kept: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Folded] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)
    links: dict[str, set[str]] = field(default_factory=dict)
    has_page_url: bool = False
    _prose: list[str] = field(default_factory=list)

    def prose(self) -> list[str]:
        """The prose of what was read, the longest value first."""
        # Sorted by length, because two spiders choose different names and orders for the same
        # fields, and because readers of the report see the body first.
        if len(self._prose) == 1:  # a long text takes a while to hash
            return self._prose
        return sorted(set(self._prose), key=lambda text: (-len(text), text))

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
        elif (value := self.keep(name_of(path), value)) is not None:
            self.kept[path] = value
            if self.markup:
                value = self._without_tags(value)
            # Headlines in scripts without spaces have as many shingles as a short text.
            least = GLANCE if "title" in name_of(path).marks else MIN_PROSE
            is_long = type(value) in _TEXTS and len(value) > least
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

    def keep_state(self, *, is_review: bool, is_row: bool) -> None:
        """Turn into facts the rating of a review, and what may be all that a row of a table is."""
        for name, fact in self.facts.items() if is_review or is_row else ():
            if is_review and fact.kind == Evidence.STATE and "rating" in name_of(name).marks:
                self.facts[name] = fact._replace(kind=Evidence.TEXT)
            elif is_row and fact.text[0] == "t" and fact.kind <= Evidence.SECTION:
                text = " ".join(str(self.kept.get(name, "")).casefold().split())
                if name_of(name).state is None and without_state(text) != text:
                    self.facts[name] = Folded(Evidence.TEXT, f"t:{text}")

    def _without_tags(self, value: Any) -> Any:
        """A value with the text of markup in place of the markup."""
        if type(value) is list:
            return [self._without_tags(inner) for inner in value]
        if type(value) is dict:
            return {key: self._without_tags(inner) for key, inner in value.items()}
        is_tagged = type(value) is str and len(value) > SHORT and is_markup(value)
        return self.markup(value) if self.markup and is_tagged else value

    def keep(self, name: Name, value: Any) -> Any:
        """A value without ignored fields, empty values, times of the crawl and the page's URL."""
        kind = type(value)
        if kind is list:
            kept_values = (self.keep(name, inner) for inner in value)
            return [kept for kept in kept_values if kept is not None] or None
        if kind is dict:
            keys = value.keys()
            if value.get("checksum") and keys >= _MEDIA:
                keys -= _MEDIA - {"checksum"}
            kept_items = (
                (key, self.keep(name_of(f"{name.text}.{key}"), value[key])) for key in keys
            )
            return {key: kept for key, kept in kept_items if kept is not None} or None
        is_ignored = bool(self.ignore) and is_inside(name.text, self.ignore)
        if is_ignored or is_missing(value) or self._is_of_crawl(name, value):
            return None
        if kind is not str:
            return value
        is_loose = len(value) < GLANCE and value.count(" ") > FEW_SPACES
        if is_loose and not name.state and "title" not in name.marks:
            # Such as the text of a card with "12 reviews", which is too short to be prose.
            value = without_state(value)
        title, name_of_page = self.page_names
        if not title or len(value) >= 2 * len(title):
            return value
        return name_of_page() if " ".join(value.split()) == title else value

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
        dated = name.state is not None or not marks.isdisjoint(("aged", "dated"))
        if "title" not in marks and is_relative(value, dated=dated):
            return True
        if "published" in marks:
            return False
        return is_within(value, self.since - _SLACK, self.now + _SLACK)

    def _without_links(self, path: str, values: list[Any]) -> list[Any]:
        """Add a list to `kept`; return its values but for empty ones and links to pages."""
        name = name_of(path)
        links = links_elsewhere(name, values, self.page_url) - {self.page_names[0]}
        # "#" may stand there many times.
        rest = [*dict.fromkeys(one for one in values if one not in links)] if links else values
        values = self.keep(name, rest) or []
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
        if self.markup is None and len(text) > SHORT and is_markup(text):
            return ""
        text = text.strip()
        is_json = text[:1] + text[-1:] in ("{}", "[]") and '"' in text
        return "" if is_json or is_encoded(text) or is_url(name, text) else text


def _decoded(value: Any) -> Any:
    """Decode the bytes in a value: users who name a field want its text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return [_decoded(inner) for inner in value] if isinstance(value, list) else value


def is_hash_of(value: Any, texts: Collection[str]) -> bool:
    """Whether a value is the MD5, SHA-1 or SHA-256 of a text, in hexadecimal digits.

    >>> is_hash_of("0cc175b9c0f1b6a831c399e269772661", ["a"])
    True
    """
    if type(value) is not str or (make := _HASHES.get(len(value))) is None:
        return False
    hashes = (
        make(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
        for text in texts
        if text
    )
    return value.lower() in hashes


def is_prose(lines: list[str]) -> bool:
    """Whether the lines of one value have enough shingles, in paragraphs rather than in tags."""
    longest = lines[0] if len(lines) == 1 else max(lines, key=len)
    # Only the last token, and its one pair, may change with the text behind a cut.
    for size in sorted({min(len(longest), size) for size in (GLANCE, _START, LOOK)}):
        if _count(longest[:size]) >= MIN_PROSE + (size < len(longest)):
            return True
    return len(lines) > 1 and _count("\n".join(lines)) >= max(MIN_PROSE, _MIN_LINE * len(lines))


def _count(text: str) -> int:
    """The number of distinct shingles; 0 if there are obviously not enough."""
    # Counting tokens takes less time: one needs two characters in ASCII, one in Chinese.
    if len(text) <= MIN_PROSE * (2 if text.isascii() else 1):
        return 0
    if text.isascii() and len(text) < 400 and len(_TOKEN.findall(text)) <= MIN_PROSE:
        return 0
    return len(shingles(text[:LOOK]))

"""The text of a page or an item: what two near-duplicates have in common.

`page_text` finds the main text of a page by block density: the tree is walked once and cut into
blocks of text, each block is scored by its length and its share of links, and the text is what the
smallest element says that holds nearly all of the best score. No list of stop words and no model
is involved, so that pages of all languages are treated alike. Weak spots: dialogs without a
telltale name on pages that say less than they do, comments without one, and a caption or date line
inside the element of the article, which counts as its text.

Link density goes back to Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow
Text Features" (WSDM 2010); summing scores over elements to Readability.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import accumulate, compress
from operator import or_
from typing import Any, NamedTuple

from itemadapter import ItemAdapter
from lxml import etree
from lxml.html import HtmlElement, HTMLParser
from w3lib.encoding import html_body_declared_encoding, read_bom, to_unicode

__all__ = ["Extractor", "item_text", "load_extractor", "page_text", "parse_html"]

Extractor = Callable[[HtmlElement], str]

# What a tag does to the text around it; the block-level ones come last.
_INLINE, _SPACE, _LINK, _SKIP, _BLOCK, _PARAGRAPH, _HEADING = range(7)

_INVISIBLE = {
    *("applet", "audio", "canvas", "datalist", "embed", "head", "iframe", "input", "map", "math"),
    *("meter", "noscript", "object", "progress", "script", "select", "style", "svg", "template"),
    *("textarea", "video"),
}
_INLINES = {
    *("abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em"),
    *("font", "i", "img", "ins", "kbd", "label", "mark", "nobr", "picture", "q", "rb", "rp", "rt"),
    *("ruby", "s", "samp", "small", "source", "span", "strike", "strong", "sub", "sup", "time"),
    *("tt", "u", "var", "wbr"),
}
# Every tag that is not listed is block-level as well; the common ones are found faster here.
_BLOCKS = {
    *("article", "blockquote", "body", "center", "div", "dl", "fieldset", "figcaption", "figure"),
    *("form", "header", "html", "li", "main", "ol", "pre", "section", "table", "tbody", "tr", "ul"),
}
_BOILERPLATE = {"aside", "button", "dialog", "footer", "menu", "nav"}
# What holds the whole page on some sites: noscript for crawlers, the others left open by mistake.
_SWALLOWING = {"aside", "button", "menu", "nav", "noscript"}


class _Actions(dict[Any, int]):
    """What each tag does to the text. A tag that is not listed goes by its local name."""

    def __init__(self, skipped: AbstractSet[str]) -> None:
        super().__init__({etree.Comment: _INLINE, etree.ProcessingInstruction: _INLINE})
        self.update(dict.fromkeys(_BLOCKS, _BLOCK))
        self.update(dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), _HEADING))
        self.update(dict.fromkeys(("br", "dd", "dt", "td", "th"), _SPACE))
        self.update(dict.fromkeys(_INLINES, _INLINE))
        self.update(a=_LINK, p=_PARAGRAPH)
        self.update(dict.fromkeys(skipped, _SKIP))

    def __missing__(self, tag: str) -> int:
        return self.get(tag.rpartition("}")[2], _BLOCK)


_VISIBLE = _Actions(_INVISIBLE)
_CONTENT = _Actions(_INVISIBLE | _BOILERPLATE)
_RESCUE = _Actions((_INVISIBLE | _BOILERPLATE) - _SWALLOWING)

# Ideographs, kana and hangul: one of them says about as much as three letters.
_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3041-\u30ff"
    "\u3105-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff]+"
)
# Whole words in a class or id that tell boilerplate. Only names that are common on the web count.
_CHROME = re.compile(
    r"(?<![a-z])(?:ads?|advert(?:s|isements?)?|banner|breadcrumbs?|comments?|consent|cookies?|"
    r"copyright|disclaimer|footer|gdpr|login|masthead|menu|modal|nav|navbar|navigation|"
    r"newsletter|outbrain|pager|pagination|popup|promo|recommend(?:ed|ations?)?|related|shar(?:e|ing)|"
    r"sidebar|signup|social|sponsor(?:ed)?|subscri(?:be|ption)|taboola|tags|toolbar|tooltip|widget)"
    r"(?![a-z])"
)
# WordPress puts the names of categories and tags into the class of an article.
_SLUG = re.compile(r"\b(?:category|tag)-\S+")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_NAME_LENGTH = 256  # of a class or id, the characters that are looked at

# Widths and scores are in letters; all values were tuned together, see benchmarks/text.py.
_BLOCK_COST = 30  # what a block must say to speak for an article
_WORST, _BEST = -150, 1000  # a block's score; more of one block makes no page more of an article
_SHARE = 0.85  # of the largest sum, what the smallest element must hold
_MARKED_SHARE = 0.4  # of the page's text: a larger element is no boilerplate, whatever its name
_LITTLE, _LITTLE_SHARE = 200, 0.15  # a text of less width, or less of the page, is no article
_RESCUED = 1000  # the width at which a page was indeed inside what is otherwise skipped
_TITLE = 25  # links of this width are titles of other pages rather than controls


class _Block(NamedTuple):
    text: str
    width: int
    linked: int  # the width of what is inside links
    kind: int

    @property
    def is_links(self) -> bool:
        return 2 * self.linked > self.width


# The blocks inside a block-level element: first, one past the last; and whether its name or style
# marks it as boilerplate.
_Span = tuple[int, int, bool]


def page_text(source: bytes | str | HtmlElement, *, extractor: str | Extractor = "density") -> str:
    """Return the main text of a page, one block a line.

    Args:
        source: The page as bytes (decoded by their byte order mark, as UTF-8, by the encoding
            that the page declares, or as Windows-1252), as a str, or as an lxml tree, which is
            left unchanged.
        extractor: A name or import path that `load_extractor` knows, or a callable.

    Returns:
        The text with white space collapsed; "" when the page has none.

    Raises:
        TypeError: If the source is none of these, or the extractor does not return a str.
        ValueError: If there is no extractor of that name.
    """
    extract = load_extractor(extractor) if isinstance(extractor, str) else extractor
    if isinstance(source, (bytes, str)):
        root = parse_html(source)
    elif isinstance(source, etree._Element):
        root = source
    else:
        raise TypeError(f"a page is bytes, str or an lxml element, not {type(source).__name__}")
    text = "" if root is None else extract(root)
    if not isinstance(text, str):
        raise TypeError(f"extractor {extractor!r} returned {type(text).__name__}, not str")
    return text


def load_extractor(name: str) -> Extractor:
    """Return the extractor of a name.

    Args:
        name: "density" (the main text by block density), "body" (all visible text),
            "trafilatura" (needs the extra of that name), or the import path of a callable that
            takes an lxml `HtmlElement` and returns str: "package.module:function" or
            "package.module.function".

    Raises:
        TypeError: If the name is not a str, or the import path leads to no callable.
        ValueError: If the name is unknown, the path cannot be imported, or trafilatura is asked
            for and not installed.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of an extractor is a str, not {type(name).__name__}")
    if name in _EXTRACTORS:
        return _EXTRACTORS[name]
    if name == "trafilatura":
        return _load_trafilatura()
    allowed = '"density", "body", "trafilatura" or an import path like "package.module:function"'
    if not re.search(r"\w[.:]\w", name):
        raise ValueError(f"unknown extractor {name!r}: it must be {allowed}")
    try:
        extractor = pkgutil.resolve_name(name)
    except (AttributeError, ImportError, ValueError) as error:
        raise ValueError(
            f"cannot import extractor {name!r} ({error}): it must be {allowed}"
        ) from error
    if not callable(extractor):
        raise TypeError(f"extractor {name!r} is {type(extractor).__name__}, not a callable")
    return extractor  # type: ignore[no-any-return]


def item_text(item: Any, fields: Sequence[str]) -> str:
    """Return the text of some fields of an item, one value a line, in the order of the fields.

    Lists, tuples, mappings and nested items give their values in turn, sets theirs in sorted
    order. Bytes are read as UTF-8, other values by `str`. Fields that are missing, None or empty
    are left out.

    Args:
        item: A dict, Scrapy item, dataclass, attrs or pydantic object, or whatever else itemadapter
            knows.
        fields: The names of the fields.

    Raises:
        TypeError: If the item is of another type, or the fields are one str.
    """
    if isinstance(fields, str):
        raise TypeError(f"fields must be a list of names, not the single str {fields!r}")
    if not ItemAdapter.is_item(item):
        raise TypeError(
            "an item is a dict, Scrapy Item, dataclass, attrs or pydantic object, "
            f"not {type(item).__name__}"
        )
    adapter = ItemAdapter(item)
    return "\n".join(line for name in fields for line in _values(adapter.get(name)))


def _values(value: Any) -> Iterable[str]:
    """Yield the values inside a field's value as text, skipping what is empty."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, (bytes, bytearray)):
        yield from _values(value.decode("utf-8", "replace"))
    elif isinstance(value, Mapping) or ItemAdapter.is_item(value):
        for inner in ItemAdapter(value).values():
            yield from _values(inner)
    elif isinstance(value, AbstractSet):
        yield from sorted(line for inner in value for line in _values(inner))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _values(inner)
    elif value is not None:
        yield str(value)


def parse_html(source: bytes | str) -> HtmlElement | None:
    """Parse a page, whatever it contains.

    Args:
        source: The page. Bytes are decoded as `page_text` says; NUL characters are left out.

    Returns:
        Its root element, or None when the page holds no element and no text. libxml2 drops what
        is nested deeper than about 2,000 levels.
    """
    text = source if isinstance(source, str) else _decode(source)
    # The declared encoding, if any, no longer holds; a lone surrogate has no place in UTF-8.
    body = text.replace("\0", "").encode("utf-8", "replace")
    root: HtmlElement | None = etree.fromstring(body, HTMLParser(encoding="utf-8", huge_tree=True))
    return root


def _decode(body: bytes) -> str:
    """Decode a page as a browser would, but for pages in UTF-8 that declare something else.

    Text in another encoding is practically never valid UTF-8, so that is tried before the
    declaration, which is wrong more often.
    """
    bom_encoding, bom = read_bom(body)
    if bom_encoding and bom:
        return body[len(bom) :].decode(bom_encoding, "replace")
    if not body.isascii():  # ASCII may still be ISO-2022-JP or HZ
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            pass
    declared = html_body_declared_encoding(body) or "cp1252"
    if declared.startswith(("utf-16", "utf-32")):
        declared = "utf-8"  # it could not have been read, were it true (HTML standard, 13.2.3.2)
    try:
        return to_unicode(body, declared)
    except (LookupError, UnicodeError):  # a Python codec that is no encoding of text, like "hex"
        return body.decode("cp1252", "replace")


def _width(text: str) -> int:
    """Return the width of a text in letters."""
    if text.isascii():
        return len(text)
    return len(text) + 2 * sum(map(len, _WIDE.findall(text)))


@lru_cache(maxsize=8192)
def _names_chrome(name: str) -> bool:
    return _CHROME.search(_SLUG.sub("", name.lower())) is not None


def _is_marked(element: HtmlElement) -> bool:
    """Tell whether the name or the style of an element says that it is boilerplate."""
    for attribute in ("class", "id"):
        name = element.get(attribute)
        if name and _names_chrome(name[:_NAME_LENGTH]):
            return True
    style = element.get("style")
    return style is not None and _HIDDEN.search(style) is not None


def _add_block(blocks: list[_Block], parts: list[str], linked: list[str], kind: int) -> None:
    """Turn the collected parts of a text, if they say anything, into a block."""
    text = " ".join("".join(parts).split())
    if text:
        links = _width(" ".join("".join(linked).split())) if linked else 0
        blocks.append(_Block(text, _width(text), links, kind))
    parts.clear()
    linked.clear()


def _walk(  # noqa: C901 (one loop: see the docstring)
    root: HtmlElement, actions: _Actions
) -> tuple[list[_Block], list[_Span]]:
    """Cut a tree into blocks of text; return them and the span of every block-level element.

    This loop is most of what a page costs, hence few calls, and attributes are looked at only for
    elements that turned out to have text.
    """
    blocks: list[_Block] = []
    spans: list[_Span] = []
    parts: list[str] = []  # the text of the current block
    linked: list[str] = []  # what of it is inside links
    kind, start, links = _BLOCK, 0, 0
    stack: list[tuple[int, int]] = []  # kind and start of the elements around the current one
    events = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
    for event, element in events:
        starts = event == "start"
        action = actions[element.tag]
        if action >= _BLOCK:
            if parts:
                _add_block(blocks, parts, linked, kind)
            if starts:
                stack.append((kind, start))
                kind, start = action, len(blocks)
            else:
                if len(blocks) > start:
                    spans.append((start, len(blocks), _is_marked(element)))
                kind, start = stack.pop()
        elif action == _LINK:
            links += 1 if starts else -1
        elif action == _SPACE:
            parts.append(" ")
        elif action == _SKIP and starts:
            events.skip_subtree()
            continue
        text = element.text if starts else element.tail
        if text and (starts or element is not root):
            parts.append(text)
            if links:
                linked.append(text)
    _add_block(blocks, parts, linked, kind)
    spans.append((0, len(blocks), False))
    return blocks, spans


def _smallest(spans: list[_Span], weights: Iterable[int]) -> slice:
    """Return the blocks of the smallest element with nearly all of the largest sum of weights."""
    sums = [0, *accumulate(weights)]
    totals = [sums[stop] - sums[start] for start, stop, _ in spans]
    best = max(totals)
    enough = min(best, _SHARE * best)  # the best may be negative
    large = compress(spans, [total >= enough for total in totals])
    start, stop, _ = min(large, key=lambda span: span[1] - span[0])
    return slice(start, stop)


def _marked_blocks(blocks: list[_Block], spans: list[_Span]) -> list[bool]:
    """Tell of every block whether it is inside an element marked as boilerplate."""
    sums = [0, *accumulate(block.width - block.linked for block in blocks)]
    changes = [0] * (len(blocks) + 1)  # of the number of marked elements around
    for start, stop, marked in spans:
        if marked and sums[stop] - sums[start] < _MARKED_SHARE * sums[-1]:
            changes[start] += 1
            changes[stop] -= 1
    return [depth > 0 for depth in accumulate(changes[:-1])]


def _score(block: _Block, marked: bool) -> int:
    """Return how much a block speaks for (or against) the elements around it being the article."""
    score = block.width - 2 * block.linked - _BLOCK_COST
    if not block.is_links:
        if block.kind == _PARAGRAPH:
            score += _BLOCK_COST
        elif block.kind == _HEADING:
            score = max(score, -5)
    return min(max(score, _WORST), 0 if marked else _BEST)


def _weight(blocks: Iterable[_Block]) -> int:
    """Return how much text there is outside links."""
    return sum(min(block.width - block.linked, _BEST) for block in blocks)


def _main_blocks(blocks: list[_Block], spans: list[_Span]) -> list[_Block]:
    """Return the blocks of the main text."""
    marked = _marked_blocks(blocks, spans)
    kept = [not (mark or block.is_links) for block, mark in zip(blocks, marked, strict=True)]
    article = _smallest(spans, map(_score, blocks, marked))
    text = list(compress(blocks[article], kept[article]))
    page_weight = _weight(compress(blocks, kept))
    if _weight(text) >= max(_LITTLE, _LITTLE_SHARE * page_weight):
        return text
    # Not an article: all that is no boilerplate counts, with the titles in a page that lists them.
    titles = [
        block.is_links and not mark and block.width >= _TITLE
        for block, mark in zip(blocks, marked, strict=True)
    ]
    if sum(block.width for block in compress(blocks, titles)) > page_weight:
        kept = list(map(or_, kept, titles))
    widths = (min(block.width, _BEST) * keep for block, keep in zip(blocks, kept, strict=True))
    main = _smallest(spans, widths)
    return list(compress(blocks[main], kept[main])) or blocks


def _density(root: HtmlElement) -> str:
    """Return the main text by block density."""
    blocks = _main_blocks(*_walk(root, _CONTENT))
    if _weight(blocks) < _LITTLE:
        rescued = _main_blocks(*_walk(root, _RESCUE))
        if _weight(rescued) >= _RESCUED:
            blocks = rescued
    return "\n".join(block.text for block in blocks)


def _body(root: HtmlElement) -> str:
    """Return all visible text."""
    blocks, _ = _walk(root, _VISIBLE)
    return "\n".join(block.text for block in blocks)


def _load_trafilatura() -> Extractor:
    try:
        from trafilatura import extract  # noqa: PLC0415 (optional, and slow to import)
    except ImportError as error:
        raise ValueError(
            'extractor "trafilatura" is not installed: pip install scrapy-simhash[trafilatura]'
        ) from error

    def extractor(root: HtmlElement) -> str:
        return extract(root, fast=True, include_comments=False) or ""

    return extractor


_EXTRACTORS: dict[str, Extractor] = {"density": _density, "body": _body}

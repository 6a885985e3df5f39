"""The content of a page: its main text, whether that represents the page, and a sketch.

Two pages of one site with similar main texts are copies only if the rest of them agrees as well:
the main text of a table of contents may be nothing but a copyright line. So all visible text is
sketched, to estimate how much of it another page contains, after Broder, "On the resemblance and
containment of documents" (SEQUENCES 1997).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from lxml import etree
from lxml.html import HtmlElement
from numpy.typing import NDArray

from scrapy_simhash.features.shingles import minhash, shingles, similarity_of
from scrapy_simhash.item.content import ItemContent, read_facts
from scrapy_simhash.item.folding import without_tags
from scrapy_simhash.loading import is_import_path, load_object
from scrapy_simhash.text.blocks import width
from scrapy_simhash.text.density import body, density, read
from scrapy_simhash.text.html import parse_html, parse_within_limits
from scrapy_simhash.text.page_facts import page_facts

Extractor = Callable[[HtmlElement], str]


def page_text(source: bytes | str | HtmlElement, *, extractor: str | Extractor = "density") -> str:
    """Return the main text of a page, one block a line.

    Args:
        source: The page as bytes (decoded by their byte order mark, as UTF-8, by the encoding
            that the page declares, or as Windows-1252), as a str, or as an lxml tree, which is
            not changed.
        extractor: "density" (the main text by block density), "body" (all visible text),
            "trafilatura" (needs the extra of that name), the import path of a callable, or a
            callable from an lxml `HtmlElement` to str.

    Returns:
        The text with white space collapsed; "" if the page has none.

    Raises:
        TypeError: If the source is none of these, or the extractor does not return a str.
        ValueError: If the name is unknown.

    >>> page_text("<body><nav>Home</nav><p>The ferry sails at nine.</p></body>")
    'The ferry sails at nine.'
    """
    extract = load_extractor(extractor) if isinstance(extractor, str) else extractor
    if isinstance(source, (bytes, str)):
        root = parse_html(source)
    elif isinstance(source, etree._Element):
        root = source
    else:
        raise TypeError(f"a page is bytes, str or an lxml element, not {type(source).__name__}")
    return "" if root is None else _extracted(extract, root)


def _extracted(extractor: Extractor, root: HtmlElement) -> str:
    text = extractor(root)
    if not isinstance(text, str):
        raise TypeError(f"extractor {extractor!r} returned {type(text).__name__}, not str")
    return text


def load_extractor(name: str) -> Extractor:
    """Return the extractor of a name or import path, see `page_text`.

    Raises:
        ValueError: the name is unknown, not installed, or can't be imported.
        TypeError: it is no name, or not that of a callable.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of an extractor is a str, not {type(name).__name__}")
    if name in _EXTRACTORS:
        return _EXTRACTORS[name]
    if name == "trafilatura":
        return _load_trafilatura()
    allowed = '"density", "body", "trafilatura" or an import path like "package.module:function"'
    if not is_import_path(name):
        raise ValueError(f"unknown extractor {name!r}: it must be {allowed}")
    try:
        extractor = load_object("extractor", name)
    except ValueError as error:
        raise ValueError(f"{error}; it must be {allowed}") from error
    if not callable(extractor):
        raise TypeError(f"extractor {name!r} is {type(extractor).__name__}, not a callable")
    return extractor  # type: ignore[no-any-return]


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


_EXTRACTORS: dict[str, Extractor] = {"density": density, "body": body}

# A main text with fewer shingles and a smaller share of the page is a footer. It takes both limits:
# short articles stand on large pages, and long articles on larger ones.
_FOOTER_SHINGLES = 64
_FOOTER_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class PageContent:
    """The texts of a page.

    Attributes:
        text: the main text.
        is_representative: False if it is a footer, a consent notice or the like: two pages with
            the same one need not be copies.
        visible: all visible text in UTF-8, from which its shingles are made.
        boilerplate: the boilerplate in UTF-8, if the main text was found by density; else b"".
        pairs: the shingles of all visible text.
        page_sketch: a sketch of all visible text.
    """

    text: str
    is_representative: bool
    visible: bytes
    boilerplate: bytes
    pairs: NDArray[np.uint64]
    page_sketch: bytes


def read_page(
    root: HtmlElement, extractor: Extractor, *, most: int | None = None, secret: bytes = b""
) -> PageContent | None:
    """Read the main text of a page and everything visible; None with more than `most` characters.

    The secret is that of the shingles and the page sketch, see `shingles`.
    """
    text, text_width, visible, visible_width, boilerplate = read(root)
    if extractor is not density:
        text, boilerplate = _extracted(extractor, root), b""
        text_width = width(text)
    # There are more bytes than characters.
    if most is not None and len(visible) > most and len(visible.decode()) > most:
        return None
    pairs = shingles(visible, secret)
    is_small = text_width < _FOOTER_SHARE * visible_width
    return PageContent(
        text=text,
        is_representative=bool(text) and (not is_small or shingles(text).size >= _FOOTER_SHINGLES),
        visible=visible,
        boilerplate=boilerplate,
        pairs=pairs,
        page_sketch=sketch(pairs),
    )


# The beginning of a page, not of a fragment.
_PAGE = re.compile(
    r"\s*+(?:<\?[^>]*+>\s*+|<!--(?:[^-]++|-(?!->))*+-->\s*+)*+<(?:!doctype|html|head|body)\b",
    re.IGNORECASE,
)


class MarkupReader:
    """Reads the HTML in the values of one item: whole pages and fragments.

    Args:
        extractor: finds the main text of a page.
        max_text: a page that shows more characters is not compared by its main text.
    """

    def __init__(self, extractor: Extractor, max_text: int) -> None:
        self._extractor, self._max_text = extractor, max_text
        self._facts: dict[str, Any] = {}
        self._sketches: dict[str, bytes] = {}

    def text(self, markup: str) -> str:
        """The text of a value: the main text of a page, "" if it has none; all of a fragment."""
        root = parse_within_limits(markup)
        if root is None:
            return without_tags(markup)
        if not _PAGE.match(markup):
            return body(root)
        content = read_page(root, self._extractor, most=self._max_text)
        if content is None:
            return without_tags(markup)
        self._facts |= page_facts(root)
        self._sketches[content.text.strip()] = content.page_sketch
        return content.text if content.is_representative else ""

    def sketch_of(self, text: str) -> bytes | None:
        """The sketch of the page that has this main text; None if none of those has it."""
        return self._sketches.get(text)

    def with_facts(self, content: ItemContent, **options: Any) -> ItemContent:
        """Add the facts of the pages to the item's content; options as of `read_facts`."""
        if not self._facts:
            return content
        facts = content.facts.joined(read_facts(self._facts, **options))
        return replace(content, facts=facts)


# A line of a site begins after white space or a clause, and ends before white space or with a
# sentence.
_CLAUSE = re.compile(r"[\s,;!?，；。！？]|\.(?![A-Za-z0-9]|\Z)")
_SENTENCE = re.compile(r"(?:[^\s.!?。！？]|\.(?=[A-Za-z0-9])){0,60}[.!?。！？]?")
_CLAUSE_LENGTH = 60
# The largest share of a text that such lines may have.
_LINES_SHARE = 0.2
# The most places with a name that are no exchange of names, see `Changes.renames`.
_MOST_PLACES = 2
_DIGIT = re.compile(r"\d")


def without_site_lines(text: str, name: str) -> str:
    """A text without the lines that name its own site, like "remember our URL" in Chinese novels.

    Lines with numbers stay, because the numbers may tell two texts apart. All lines stay in a text
    that is about its site, such as its terms of use. In scripts with spaces, no lines are known.
    """
    parts: list[str] = []
    done, place = 0, text.find(name) if "." in name else -1
    if place < 0 or text.count(name) > _MOST_PLACES:
        return text
    while place >= 0:
        start = first = max(done, place - _CLAUSE_LENGTH)
        for clause_end in _CLAUSE.finditer(text[first:place]):
            start = first + clause_end.end()
        end = place + len(name)
        if sentence := _SENTENCE.match(text, end):
            end = sentence.end()
        line = text[start:end].replace(name, "")
        if not line.isascii() and "@" not in line and not _DIGIT.search(line):
            parts.append(text[done:start])
            done = end
        place = text.find(name, end)
    kept = "".join([*parts, text[done:]])
    return kept if len(kept) >= (1 - _LINES_SHARE) * len(text) else text


_COUNT_BYTES = 4


def sketch(pairs: NDArray[np.uint64]) -> bytes:
    """Sketch the shingles of all visible text of a page: their number and their `minhash`.

    Sketches with different secrets have nothing in common.
    """
    return pairs.size.to_bytes(_COUNT_BYTES, "little") + minhash(pairs)


def containment(a: bytes, b: bytes) -> float:
    """Estimate the share of the shingles of the smaller page that the larger page contains.

    Of two sets with the Jaccard similarity J, the share of all shingles that both have is J / (1 +
    J). The standard error at a share of .65 is about .03 if both pages have the same size, and .09
    if the larger page has four times as many shingles. The share is 0 if a page has no shingle.

    Raises:
        ValueError: one of the arguments is no sketch.
    """
    similarity = similarity_of(a[_COUNT_BYTES:], b[_COUNT_BYTES:])
    sizes = [int.from_bytes(packed[:_COUNT_BYTES], "little") for packed in (a, b)]
    in_both = sum(sizes) * similarity / (1 + similarity)
    return min(1.0, in_both / min(sizes)) if min(sizes) else 0.0

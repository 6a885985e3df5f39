"""The content of a page: its main text by an extractor, whether that represents it, and a sketch.

Two pages of one site with similar main texts are copies only if the rest of them agrees as well:
the main text of a table of contents may be nothing but a copyright line. So all visible text is
sketched, to estimate how much of it another page contains: from the smallest hashes of both pages,
after Broder, "On the resemblance and containment of documents" (SEQUENCES 1997).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from lxml import etree
from lxml.html import HtmlElement
from numpy.typing import NDArray

from scrapy_simhash.features.shingles import among, distinct, shingles
from scrapy_simhash.loading import is_import_path, load_object
from scrapy_simhash.text.blocks import width
from scrapy_simhash.text.density import body, density, read
from scrapy_simhash.text.html import parse_html

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

    Raises ValueError for a name that is unknown, not installed or can't be imported, TypeError for
    what is no name or no callable.
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


# A main text with fewer shingles and a smaller share of the page is a footer. Neither bound would
# do alone: short articles stand on large pages, and long ones on larger.
_FOOTER_SHINGLES = 64
_FOOTER_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class PageContent:
    """The main text of a page, all visible text with a sketch of it, and their widths in letters.

    Boilerplate is known where the main text was found by density. If that does not represent the
    page, it is a footer, a consent notice or the like, and two pages with the same one need not be
    copies.
    """

    text: str
    main_width: int
    visible_width: int
    is_representative: bool
    page_sketch: bytes
    visible: str = ""
    boilerplate: str = ""


def read_page(
    root: HtmlElement, extractor: Extractor, *, most: int | None = None, secret: bytes = b""
) -> PageContent | None:
    """Read the main text of a page and everything visible; None with more than `most` characters.

    The secret is that of the page sketch, see `shingles`.
    """
    if extractor is density:
        text, main_width, visible, visible_width, boilerplate = read(root)
    else:
        boilerplate = ""
        text = _extracted(extractor, root)
        visible = text if extractor is body else body(root)
        main_width, visible_width = width(text), width(visible)
    if most is not None and len(visible) > most:
        return None
    is_small = main_width < _FOOTER_SHARE * visible_width
    return PageContent(
        text=text,
        main_width=main_width,
        visible_width=visible_width,
        is_representative=bool(text) and (not is_small or shingles(text).size >= _FOOTER_SHINGLES),
        page_sketch=sketch(visible, secret),
        visible=visible,
        boilerplate=boilerplate,
    )


# A line of a site begins behind white space or the end of a clause, and goes on up to white space
# or the end of a sentence.
_CLAUSE = re.compile(r"[\s,;!?，；。！？]|\.(?![A-Za-z0-9]|\Z)")
_SENTENCE = re.compile(r"(?:[^\s.!?。！？]|\.(?=[A-Za-z0-9])){0,60}[.!?。！？]?")
_CLAUSE_LENGTH = 60
# The share of a text that such lines may have.
_LINES_SHARE = 0.2
# More places make a name that is exchanged, see `Changes.renames`.
_NAMED = 2
_DIGIT = re.compile(r"\d")


def without_site_lines(text: str, name: str) -> str:
    """A text without the lines that name its own site, as "remember our address" of Chinese novels.

    Lines with numbers stay, as these may be what tells two texts apart, and so do all in a text
    that is about its site, such as its terms of use. Between words with spaces no line is known.
    """
    left, at, found = list[str](), 0, text.find(name) if "." in name else -1
    if found < 0 or text.count(name) > _NAMED:
        return text
    while found >= 0:
        start = first = max(at, found - _CLAUSE_LENGTH)
        for mark in _CLAUSE.finditer(text[first:found]):
            start = first + mark.end()
        end = found + len(name)
        if rest := _SENTENCE.match(text, end):
            end = rest.end()
        line = text[start:end].replace(name, "")
        if not line.isascii() and "@" not in line and not _DIGIT.search(line):
            left.append(text[at:start])
            at = end
        found = text.find(name, end)
    kept = "".join(left) + text[at:]
    return kept if len(kept) >= (1 - _LINES_SHARE) * len(text) else text


_SKETCH = 64  # hashes of a page


def sketch(text: str, secret: bytes = b"") -> bytes:
    """Sketch all visible text of a page in at most 260 bytes.

    Little-endian 32-bit numbers: how many distinct shingles the text has, then the first 32 bits of
    the 64 smallest (of all if there are fewer), ascending. Of two secrets nothing is common.
    """
    hashes = shingles(text, secret)
    # The upper halves; faster than shifting them.
    smallest = hashes[:_SKETCH].astype("<u8", copy=False).view("<u4")[1::2]
    return hashes.size.to_bytes(4, "little") + smallest.tobytes()


def containment(a: bytes, b: bytes) -> float:
    """Estimate the share of the shingles of the smaller page that the larger one contains.

    Each sketch has all hashes of its page up to some value; up to the lower of the two values they
    are compared: about n = 64 of the smaller page if both have the same size, n = 64 / r if the
    other one has r times as many. The standard error at a share of c is sqrt(c * (1 - c) / n): .060
    at c = .65 and r = 1, .12 at r = 4. It is exact for pages of up to 64 shingles, and 0 if one has
    none to compare. Raises ValueError for what is no sketch.
    """
    small, large = sorted((_unpack(a), _unpack(b)), key=lambda page: page[0])
    upto = min(_known_upto(small), _known_upto(large))
    seen = [distinct(np.sort(hashes[hashes <= upto])) for _, hashes in (small, large)]
    if not seen[0].size:
        return 0.0
    return float(among(seen[0], seen[1]).mean())


def _unpack(packed: bytes) -> tuple[int, NDArray[np.uint32]]:
    numbers = np.frombuffer(packed, "<u4")
    if not numbers.size or numbers.size != 1 + min(int(numbers[0]), _SKETCH):
        raise ValueError(f"not a sketch of a page: {len(packed)} bytes")
    return int(numbers[0]), numbers[1:]


def _known_upto(page: tuple[int, NDArray[np.uint32]]) -> int:
    """The value up to which a sketch has all hashes of its page."""
    count, hashes = page
    return int(hashes[-1]) if count > _SKETCH else 0xFFFFFFFF

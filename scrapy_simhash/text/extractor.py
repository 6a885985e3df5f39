"""The text of a page, by a chosen extractor."""

from __future__ import annotations

from collections.abc import Callable

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simhash.loading import is_import_path, load_object
from scrapy_simhash.text.density import body, density
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
    """Return the extractor of a name or import path, see `page_text`.

    Raises:
        TypeError: If the name is not a str, or its import path not that of a callable.
        ValueError: If the name is unknown, the path cannot be imported, or trafilatura is not
            installed.
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

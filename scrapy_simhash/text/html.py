"""Bytes to a tree: encodings and parsing, whatever a page contains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree
from lxml.html import HTMLParser
from w3lib.encoding import html_body_declared_encoding, read_bom, to_unicode

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["decode", "parse_html"]


def parse_html(source: bytes | str) -> HtmlElement | None:
    """Parse a page, whatever it contains.

    Args:
        source: The page. Bytes are decoded by :func:`decode`; NUL characters are left out.

    Returns:
        Its root element, or None when the page holds no element and no text. libxml2 drops what
        is nested deeper than about 2,000 levels.
    """
    text = source if isinstance(source, str) else decode(source)
    # The declared encoding, if any, no longer holds; a lone surrogate has no place in UTF-8.
    body = text.replace("\0", "").encode("utf-8", "replace")
    root: HtmlElement | None = etree.fromstring(body, HTMLParser(encoding="utf-8", huge_tree=True))
    return root


def decode(body: bytes) -> str:
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

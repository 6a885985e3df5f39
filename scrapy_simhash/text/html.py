"""Pages to trees: which are too large or complex, their encodings, and parsing."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree
from lxml.html import HTMLParser
from w3lib.encoding import html_body_declared_encoding, read_bom, to_unicode

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["SHOW_TAGS", "decode", "is_too_complex", "is_too_large", "parse_html"]


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


#: Encodings, by their names in Python, in which each "<" of a text is that byte.
SHOW_TAGS = frozenset(
    {
        *("ascii", "utf-8", "iso8859-1", "cp1250", "cp1251", "cp1252", "cp1254", "koi8-r"),
        *("gb18030", "gbk", "gb2312", "big5", "big5hkscs", "cp932", "shift_jis", "euc_jp"),
        *("cp949", "euc_kr"),
    }
)

# To read text takes up to 40 times its size in memory; what is garbled, 0.3 s a megabyte.
_BYTES = 5 << 20
# Where each holds a block of text, as in "<p>a b", 6 µs go into cutting and judging it without the
# compiled core: fifteen times what goes into parsing.
_TAGS = 100_000
# Bytes that are compared at once: they fit into the processor's caches.
_CHUNK = 1 << 15
# For each attribute that is added libxml2 goes through all that the element has: 0.1 s for 8,000,
# 14 s for 80,000; 0.2 s a megabyte for 500 each. Smaller pages have no room for a second of it.
_ATTRIBUTES, _SMALL = 500, 1 << 16

# Their values may hold ">" and "<". In scripts much looks like one, as in "if(a<b) ...".
_LONG_TAG = re.compile(
    r"<[a-zA-Z][^\s/>]*+"
    r"(?:[\s/]*+[^\s/>=]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>]*+))?+)"
    f"{{{_ATTRIBUTES}}}",
    re.ASCII,
)
_END_OF_SCRIPT = partial(re.compile("</script", re.ASCII | re.IGNORECASE).search)
# So many of these are told from tags, each by parsing what comes before it.
_LOOKALIKES = 4
_PROBE = "simhash-probe"


def is_too_large(body: bytes) -> bool:
    """Whether a page has more than 5 MiB."""
    return len(body) > _BYTES


def is_too_complex(text: str, *, is_parsed: bool, body: bytes | None = None) -> bool:
    """Whether a page has more than 100,000 tags, or more than 500 attributes in one.

    Args:
        text: The page, decoded: what encodings there are, some hide tags from who reads bytes.
        is_parsed: Whether its tree is there already. Otherwise attributes are counted too, which
            takes a tenth of what parsing takes.
        body: What it was decoded from, if that is at hand and of an encoding in `SHOW_TAGS`: there
            tags are counted in a quarter of the time.
    """
    # End tags and comments count, and every other "<". The shortest tag has three characters.
    may_be = len(text) > 3 * _TAGS and (body is None or _angles(body) > _TAGS)
    if may_be and text.count("<") > _TAGS:
        return True
    # Whoever makes the tree leaves NUL out first.
    return not is_parsed and len(text) > _SMALL and _has_long_tag(text.replace("\0", ""))


def _angles(body: bytes) -> int:
    """How many "<" there are."""
    every = np.frombuffer(body, np.uint8)
    chunks = (every[start : start + _CHUNK] for start in range(0, len(every), _CHUNK))
    return sum(int(np.count_nonzero(chunk == ord("<"))) for chunk in chunks)


def _has_long_tag(text: str) -> bool:
    start = 0
    for _ in range(_LOOKALIKES):
        found = _LONG_TAG.search(text, start)
        if found is None:
            return False
        # So far there is none: it is safe to parse.
        before = parse_html(f"{text[: found.start()]}<{_PROBE}>")
        parsed = [] if before is None else list(before.iter(_PROBE, "script"))
        if any(one.tag == _PROBE for one in parsed):
            return True
        # It is text to the parser, in a script for as long as that goes on.
        in_script = any((one.text or "").endswith(f"<{_PROBE}>") for one in parsed)
        end = _END_OF_SCRIPT(text, found.start()) if in_script else None
        start = found.start() + 1 if end is None else end.start()
    return _LONG_TAG.search(text, start) is not None

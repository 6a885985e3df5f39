"""From pages to trees: encodings, parsing, and limits of size and complexity.

The work on a page grows with its tags and its text, some of it faster: a kilobyte on the wire can
hold a crawl for minutes. The limits are above what pages for readers need: of 2,000 real ones the
largest had 1.9 MB and 58,673 tags, and none 40 attributes in one tag.
"""

from __future__ import annotations

import re

from lxml import etree
from lxml.html import HtmlElement, HTMLParser
from w3lib.encoding import html_body_declared_encoding, read_bom, resolve_encoding, to_unicode

# To extract a text takes up to 40 times its size in memory, and 0.3 s a megabyte if it is garbled.
_BYTES = 5 << 20
# A block as short as "<p>a b" takes 6 µs without the compiled core, fifteen times its parsing.
_TAGS = 100_000
# For each attribute libxml2 searches those before it: 0.1 s for 8,000 attributes, 14 s for 80,000,
# 0.2 s a megabyte for 500 in each tag.
_MOST_ATTRIBUTES = 500
# Smaller pages have no room for a second of it.
_SMALL_PAGE = 1 << 16

# Values may contain ">", and scripts what looks like tags, as in "if(a<b) ...".
_NAME = r"[\s/]*+[^\s/>][^\s/>=]*+"
if etree.LIBXML_VERSION < (2, 14):
    # libxml2 leaves out what is no name, up to white space and with the quotes in it.
    _NAME = r"\s*+(?:[a-zA-Z_:.][\w:.-]{0,99}+|[^\s>a-zA-Z_:.][^\s>]*+(?:\s++=[^\s>]*+)*+)"
_ATTRIBUTE = rf"{_NAME}(?:\s*+=\s*+(?:\"[^\"]*+\"?+|'[^']*+'?+|[^\s>]*+))?+"
_PLAIN = rf"{_NAME}(?:\s*+=\s*+(?:\"[^\">]*+\"|'[^'>]*+'|(?![\"'])[^\s>]*+)|(?!\s*+=))"
_FEW = f"{{0,{_MOST_ATTRIBUTES - 1}}}+"
# Matches up to, and including, a tag with many attributes or with ">" in a value. Inside a tag, a
# comment or the like, no tag begins before the first ">".
_NEXT_TAG = re.compile(
    rf"(?:[^<]++|<(?![a-zA-Z])|<[^\s/>]++(?:{_PLAIN}){_FEW}[\s/]*+(?:>|\Z))*+"
    rf"(?:(?=(<[^\s/>]++(?:{_ATTRIBUTE}){_FEW}({_ATTRIBUTE})?+))[^>]++)?+",
    re.ASCII,
).match
# What looks like tags inside tags is read again, up to this multiple of the text.
_READ = 3
_END_OF_SCRIPT = re.compile("</script", re.ASCII | re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^<>]*+>[^<]*+", re.IGNORECASE)
_END_OF_TITLE = re.compile(r"</title[\s/>]", re.IGNORECASE)
_HEAD = 1 << 16  # characters in which a title is looked for
# Lookalikes that are distinguished from tags, each by parsing the text before it.
_LOOKALIKES = 4
_PROBE = "simhash-probe"


def parse_html(source: bytes | str) -> HtmlElement | None:
    """Parse a page; None if it has neither elements nor text.

    libxml2 drops elements that are nested deeper than about 2,000 levels.
    """
    text = source if isinstance(source, str) else decode(source)
    title = _TITLE.search(text, 0, _HEAD)
    if title and not _END_OF_TITLE.search(text, title.end()):
        # It would swallow the page, as it does in browsers; but a damaged page may still be read.
        text = f"{text[: title.end()]}</title>{text[title.end() :]}"
    # NUL would end the text; a declared encoding no longer holds; UTF-8 has no lone surrogates.
    body = text.replace("\0", "").encode("utf-8", "replace")
    root: HtmlElement | None = etree.fromstring(body, HTMLParser(encoding="utf-8", huge_tree=True))
    return root


def decode(body: bytes, declared: str | None = None) -> str:
    """Decode a page as browsers do, but try UTF-8 before the encoding that is declared.

    That is `declared`, by its HTTP headers, or else by itself. Text in another encoding is hardly
    ever valid UTF-8; declarations are wrong more often.
    """
    bom_encoding, bom = read_bom(body)
    if bom_encoding and bom:
        return body[len(bom) :].decode(bom_encoding, "replace")
    if not body.isascii():  # ASCII may still be ISO-2022-JP or HZ
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            pass
    declared = resolve_encoding(declared or "") or html_body_declared_encoding(body) or "cp1252"
    if declared.startswith(("utf-16", "utf-32")):
        declared = "utf-8"  # then the declaration could not be read (HTML standard, 13.2.3.2)
    try:
        return to_unicode(body, declared)
    except (LookupError, UnicodeError):  # a Python codec that is not for text, such as "hex"
        return body.decode("cp1252", "replace")


def parse_within_limits(source: bytes | str) -> HtmlElement | None:
    """Parse a page; None if it has no element, is too large or too complex."""
    body = source.encode("utf-8", "replace") if isinstance(source, str) else source
    if is_too_large(body):
        return None
    text = source if isinstance(source, str) else decode(source)
    root = None if is_too_complex(text, is_parsed=False) else parse_html(text)
    # A comment, for example, is a root without a name.
    return root if root is not None and isinstance(root.tag, str) else None


def is_too_large(body: bytes) -> bool:
    """Whether a page has more than 5 MiB."""
    return len(body) > _BYTES


def is_too_complex(text: str, *, is_parsed: bool) -> bool:
    """Whether a decoded page has more than 100,000 tags, or more than 500 attributes in one tag.

    Attributes are counted unless it was parsed before; that takes a third of the time of parsing.
    """
    # Every "<" counts, also in end tags and comments. The shortest tag has three characters.
    if len(text) > 3 * _TAGS and text.count("<") > _TAGS:
        return True
    return not is_parsed and len(text) > _SMALL_PAGE and _has_long_tag(text.replace("\0", ""))


def _has_long_tag(text: str) -> bool:
    place, left, lookalikes = 0, _READ * len(text), _LOOKALIKES
    while (match := _NEXT_TAG(text, place)) and match.start(1) >= 0:
        start, place = match.start(1), match.end()
        left -= match.end(1) - start
        if match.start(2) >= 0:
            if not lookalikes:
                return True
            lookalikes -= 1
            # No long tag comes before it, so that text is safe to parse.
            before = parse_html(f"{text[:start]}<{_PROBE}>")
            parsed = [] if before is None else list(before.iter(_PROBE, "script"))
            if any(element.tag == _PROBE for element in parsed):
                return True
            # The parser takes it for text, inside a script up to the end of the script.
            in_script = any((element.text or "").endswith(f"<{_PROBE}>") for element in parsed)
            if in_script and (end := _END_OF_SCRIPT.search(text, start)):
                place = end.start()
        if left < 0:
            return True
    return False

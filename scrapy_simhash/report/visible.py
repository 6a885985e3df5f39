"""Crawled text, made harmless to look at."""

from __future__ import annotations

import re

__all__ = ["shortened", "visible"]

# Control characters move the cursor or ring bells, bidirectional controls make a text read as
# something else, and lone surrogates can't be printed at all. U+FEFF and the tags hide text.
_UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""A text with control and bidirectional characters shown as their escapes, such as \u202e.

    Line feeds stay. JSON is the same document afterwards: the escapes are its own.
    """
    return _UNSAFE.sub(_escape, text)


def shortened(text: str, length: int = 300) -> str:
    """One visible line of a text, cut to a length."""
    line = visible(text[: length + 1]).replace("\n", " ")
    return line if len(text) <= length else f"{line[: length - 1]}…"


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))

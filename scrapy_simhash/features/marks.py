"""Rows of combining marks, cut so that the work of normalising a text is bounded by its length.

To normalise is to sort the marks of a letter, which takes the square of their number: a page of a
few hundred bytes, compressed, would hold a crawl for half a minute. In the Stream-Safe Text Format
of Unicode (Standard Annex 15, "Unicode Normalization Forms", section 13) no row is longer than 30,
which is more than any writing system needs.
"""

from __future__ import annotations

from unicodedata import combining

__all__ = ["stream_safe"]

_LONGEST = 30
_JOINER = "\u034f"  # the combining grapheme joiner: nothing is sorted across it


def stream_safe(text: str) -> str:
    """Put a joiner after each 30 combining marks in a row; to be called before normalising.

    Returns:
        The text itself where it has no longer row, as all texts that somebody can read.
    """
    step = _LONGEST + 1
    # A longer row covers one of each 31 characters: to look at these is enough, and fast.
    if not any(map(combining, text[::step])):
        return text
    parts: list[str] = []
    done = place = 0
    while place < len(text):
        start = end = place
        while end < len(text) and combining(text[end]):
            end += 1
        while place < end and start > done and combining(text[start - 1]):
            start -= 1
        if end - start > _LONGEST:
            parts.append(text[done:start])
            rows = (text[at : at + _LONGEST] for at in range(start, end, _LONGEST))
            parts.append(_JOINER.join(rows))
            done = end
        place = end + step
    return "".join([*parts, text[done:]]) if parts else text

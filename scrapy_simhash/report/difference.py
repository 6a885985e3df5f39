"""The difference between two texts, by words and ideographs."""

from __future__ import annotations

import re
from typing import NamedTuple

from scrapy_simhash.visible import without_passwords

#: Characters compared of each text: the time is the product of both lengths.
LONGEST = 20_000

# Scripts without spaces are compared by character.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"(?:[{_UNSPACED}]|[^\W{_UNSPACED}]+|\W)\s*|^\s+")


class DiffStep(NamedTuple):
    """A step from one text to the other: copy characters, remove the next ones, add a text."""

    copied: int
    removed: int
    added: str


def difference(first: str | None, second: str | None) -> tuple[str | None, list[DiffStep] | None]:
    """The first text, and the steps to the second by their longest common subsequence.

    Both are without the passwords of URLs. There are no steps where one text is not kept. White
    space between words is not compared, nor what follows the first `LONGEST` characters.
    """
    first, second = (text and without_passwords(text) for text in (first, second))
    if first is None or second is None:
        return first, None
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415  (slow)

    old, new = (_TOKEN.findall(text[:LONGEST]) for text in (first, second))
    steps = LCSseq.opcodes([token.rstrip() for token in old], [token.rstrip() for token in new])
    found: list[DiffStep] = []
    copied, removed, added = 0, 0, ""
    last = len(steps) - 1
    for number, step in enumerate(steps):
        kept = old[step.src_start : step.src_end]
        length = sum(map(len, kept))
        # A single common word inside a change would only split it.
        is_split = len(kept) == 1 and (removed or added) and number < last
        if step.tag != "equal" or is_split:
            removed += length
            added += "".join(new[step.dest_start : step.dest_end])
        else:
            if removed or added:
                found.append(DiffStep(copied, removed, added))
                copied, removed, added = 0, 0, ""
            copied += length
    if copied or removed or added:
        found.append(DiffStep(copied, removed, added))
    return first, found

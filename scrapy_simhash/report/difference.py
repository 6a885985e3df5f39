"""What changed between two texts, word by word, ideograph by ideograph."""

from __future__ import annotations

import re
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

__all__ = ["LONGEST", "Change", "difference"]

#: Of longer texts only the beginning is compared, in characters: the cost is their product.
LONGEST = 20_000

# Scripts that are written without spaces go by the character.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"(?:[{_UNSPACED}]|[^\W{_UNSPACED}]+|\W)\s*|^\s+")


class Change(NamedTuple):
    """A step from one text to the other.

    Attributes:
        copied: so many characters of the first text are in both.
        removed: so many that follow are not in the second one,
        added: which has this instead.
    """

    copied: int
    removed: int
    added: str


def difference(first: str, second: str) -> list[Change]:
    """The steps that make the second text of the first, by their longest common subsequence.

    White space between the tokens is not compared. Both texts should be cut to `LONGEST`.
    """
    old, new = _TOKEN.findall(first), _TOKEN.findall(second)
    steps = LCSseq.opcodes([token.rstrip() for token in old], [token.rstrip() for token in new])
    changes: list[Change] = []
    copied, removed, added = 0, 0, ""
    last = len(steps) - 1
    for number, step in enumerate(steps):
        kept = old[step.src_start : step.src_end]
        length = sum(map(len, kept))
        if step.tag != "equal":
            removed += length
            added += "".join(new[step.dest_start : step.dest_end])
        elif len(kept) == 1 and (removed or added) and number < last:
            # A single word that happens to stand in both would only tear the change apart.
            removed += length
            added += "".join(new[step.dest_start : step.dest_end])
        else:
            if removed or added:
                changes.append(Change(copied, removed, added))
                copied, removed, added = 0, 0, ""
            copied += length
    if copied or removed or added:
        changes.append(Change(copied, removed, added))
    return changes

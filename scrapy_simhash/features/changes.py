"""Where two similar texts differ: the words of one that stand in place of words of the other.

How much two texts share can't tell a copy from another thing: forty own words in a text of eight
hundred leave as much as an editor's cuts. Where they differ can. A copy has edits, and passages
that were inserted or left out; another thing has a passage *in place of* another one, or the same
name exchanged wherever it stands.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple

from scrapy_simhash import native
from scrapy_simhash.features.tokens import fold_table, normal, tokens

#: Words of a passage; in a short text a sixteenth of its words are enough, but at least four.
PASSAGE, SHORT_PASSAGE, SHARE = 12, 4, 1 / 16

# Fewer shared pairs of words between two differing places are chance.
_CHANCE = 3
# Words of a name.
_NAME_WORDS = 4
# How often a name has to be exchanged.
_EXCHANGES = 3
# Digits of a reference: neither a year nor a time.
_REFERENCE = 5
# Places of a pair of words that are looked at: a hostile text repeats one pair all along.
_PLACES = 64


class WordEdit(NamedTuple):
    """Words of the new text and those that the old one has in their place; either may be empty.

    `before` and `after` are the words around them, which both texts have; "" at the end of a text.
    """

    new: Sequence[str]
    old: Sequence[str]
    before: str
    after: str


@dataclass(frozen=True)
class Changes:
    """How a text differs from an earlier one, in its order.

    Attributes:
        all: where it does; not where nothing but an end of the earlier one is gone.
        length: the words of the shorter text.
        is_cut: whether the earlier one is longer.
    """

    all: Sequence[WordEdit]
    length: float
    is_cut: bool = False

    @classmethod
    def of(cls, new: str, old: str) -> Changes:
        """Compare two texts."""
        if (core := native.core) is None:
            ours, theirs = tokens(new), tokens(old)
            return cls._of(_changes(ours, theirs), _words(ours), _words(theirs))
        made = core.changes(new, old, fold_table(), False)
        if made is None:
            made = core.changes(normal(new), normal(old), fold_table(), True)
        found, *words = made  # type: ignore[misc]  # a normalised text is never refused
        changes = [WordEdit(a.split(), b.split(), *around) for a, b, *around in found]
        return cls._of(changes, *words)

    @classmethod
    def _of(cls, changes: Sequence[WordEdit], new: float, old: float) -> Changes:
        return cls(changes, min(new, old), new < old)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return self.is_cut or bool(self.all)

    def replaces_passage(self) -> bool:
        """Whether a passage stands in place of another one, between the same words."""
        least = min(PASSAGE, max(SHORT_PASSAGE, self.length * SHARE))
        return any(_has(one.new, least) and _has(one.old, least) for one in self.all)

    def renames(self) -> bool:
        """Whether the same words were exchanged for the same others at several places.

        At three places or more, and such exchanges are at least half of all. The edits of a copy
        do not repeat; terms of use of another firm differ in its name wherever it stands. Another
        form of a word, as in "colour" and "color", is no exchange.
        """
        exchanged = [
            (tuple(change.new), tuple(change.old))
            for change in self.all
            if change.new
            and change.old
            and not any(_has(words, _NAME_WORDS + 0.5) for words in change[:2])
        ]
        repeated = [
            count
            for pair, count in Counter(exchanged).items()
            if count > 1 and not _is_other_form(*pair)
        ]
        return max(repeated, default=0) >= _EXCHANGES and 2 * sum(repeated) >= len(exchanged)

    def replaces_reference(self) -> bool:
        """Whether a long number stands in place of another one, as of a file or a job ad."""
        return any(
            len(one) == len(other) and one != other
            for change in self.all
            if (mine := _references(change.new))
            for one, other in product(mine, _references(change.old))
        )

    @property
    def touches_numbers(self) -> bool:
        """Whether either text has a number where they differ, or beside such a place."""
        return self.has_numbers or any(any(map(_is_number, change.old)) for change in self.all)

    def replaces_number(self) -> bool:
        """Whether a number stands in place of a different one."""
        return any(
            any(map(_is_number, change.new)) and any(map(_is_number, change.old))
            for change in self.all
        )

    @cached_property
    def has_numbers(self) -> bool:
        """Whether the new text holds a number that the old one has not at that place.

        One or two words in place of others beside a number count too, as in "5 March", "5 April".
        """
        return any(
            any(map(_is_number, change.new))
            or (
                0 < len(change.new) <= 2
                and change.old
                and (_is_number(change.before) or _is_number(change.after))
            )
            for change in self.all
        )


def _changes(new: Sequence[str], old: Sequence[str]) -> list[WordEdit]:
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, pair in enumerate(pairwise(old)):
        places[pair].append(place)
    changes = []
    for start, end in _runs([pair not in places for pair in pairwise(new)]):
        # The pair before covers the words up to `start`, the pair behind those from `end` on.
        before = (new[start - 1], new[start]) if start else None
        after = (new[end], new[end + 1]) if end + 1 < len(new) else None
        mine = new[start + 1 if before else 0 : end if after else len(new)]
        first, last = _between(places, before, after, len(old))
        around = before[1] if before else "", after[0] if after else ""
        changes.append(_without_ends(WordEdit(mine, old[first:last], *around)))
    return changes


def _without_ends(change: WordEdit) -> WordEdit:
    """A change without the words that both texts have at its beginning or end."""
    new, old, before, after = change
    most = min(len(new), len(old))
    start = next((at for at in range(most) if new[at] != old[at]), most)
    most -= start
    end = next((at for at in range(most) if new[-1 - at] != old[-1 - at]), most)
    return WordEdit(
        new[start : len(new) - end],
        old[start : len(old) - end],
        new[start - 1] if start else before,
        new[-end] if end else after,
    )


def _runs(differs: Sequence[bool]) -> list[tuple[int, int]]:
    """Starts and ends of runs of pairs that the other text lacks, those by chance included."""
    runs: list[tuple[int, int]] = []
    start = end = -1
    for place, is_own in enumerate(differs):
        if not is_own:
            continue
        if start < 0:
            start = place
        elif place - end >= _CHANCE:
            runs.append((start, end))
            start = place
        end = place + 1
    if start >= 0:
        runs.append((start, end))
    return runs


def _between(
    places: Mapping[tuple[str, str], Sequence[int]],
    before: tuple[str, str] | None,
    after: tuple[str, str] | None,
    length: int,
) -> tuple[int, int]:
    """The range of the old words between two pairs, where these are nearest to each other.

    Empty where the second nowhere follows the first.
    """
    starts = [place + 2 for place in places[before][:_PLACES]] if before else [0]
    ends = places[after] if after else [length]
    found = (0, 0)
    nearest = length + 1
    for start in starts:
        at = bisect_right(ends, start - 2)
        if at < len(ends) and ends[at] - start < nearest:
            nearest, found = ends[at] - start, (start, ends[at])
    return found


def _words(tokens: Sequence[str]) -> float:
    """The number of words: an ideograph, or a letter of a script without spaces, is half of one."""
    return len(tokens) - sum(len(word) == 1 and not word.isascii() for word in tokens) / 2


def _has(words: Sequence[str], least: float) -> bool:
    """Whether these are so many words."""
    return len(words) >= least and _words(words) >= least


def _is_number(token: str) -> bool:
    return token[:1].isdigit()


def _references(words: Sequence[str]) -> list[str]:
    return [word for word in words if len(word) >= _REFERENCE and word.isdecimal()]


def _is_other_form(new: Sequence[str], old: Sequence[str]) -> bool:
    """Whether both are forms of one word: they begin with the same letters."""
    if len(new) != 1 or len(old) != 1:
        return False
    one, other = new[0], old[0]
    same = min(len(one), len(other)) // 2 + 1
    return one[:same] == other[:same] and not any(map(str.isdigit, one + other))

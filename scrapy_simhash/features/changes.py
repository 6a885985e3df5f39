"""Where two similar texts differ: the words of one that stand in place of words of the other.

How much two texts share does not tell copies from different items: forty own words in a text of
eight hundred leave as much as an editor's cuts. Where the texts differ does. A copy has edits, and
passages that were inserted or left out. A different item has a passage *in place of* a different
one, or the same name exchanged wherever it stands.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple

from scrapy_simhash import native
from scrapy_simhash.features.tokens import fold_table, normal, tokens

#: Words of a passage.
PASSAGE = 12
#: The share of a short text's words that is enough for a passage.
SHARE = 1 / 16
#: Words of a passage in a text of any length.
SHORT_PASSAGE = 4

# Fewer pairs of words that two texts share between differences are chance.
_CHANCE = 3
# Words of a name.
_NAME_WORDS = 4
# How often a name has to be exchanged.
_EXCHANGES = 3
# Numbers of five digits, in one or in groups of three; years and times have fewer.
_REFERENCES = re.compile(r"(?<!\S)(?:\d{5,}|\d{2,3}(?: \d{3})+|\d(?: \d{3}){2,})(?!\S)")
# Digits of a code such as "L28781".
_CODE = 5
# Places of a pair of words that are compared: a hostile text repeats one pair from end to end.
_PLACES = 64


class WordEdit(NamedTuple):
    """Words of the new text in place of words of the old text.

    Attributes:
        new: the words of the new text; empty if words were left out.
        old: the words of the old text; empty if words were inserted.
        before: the word before them, which both texts have; "" at the beginning of a text.
        after: the word after them likewise.
    """

    new: Sequence[str]
    old: Sequence[str]
    before: str
    after: str


@dataclass(frozen=True)
class Changes:
    """How a new text differs from an old text.

    Attributes:
        all: the edits in the order of the new text. If the old text has all of its pairs of
            words, wherever they stand, and is no longer, there is one between the words with which
            both begin and end.
        length: the number of words of the shorter text.
        is_cut: whether the old text is longer.

    >>> Changes.of("the goats sail today at ten", "the goats sail today at nine").all
    [WordEdit(new=['ten'], old=['nine'], before='at', after='')]
    """

    all: Sequence[WordEdit]
    length: float
    is_cut: bool = False

    @classmethod
    def of(cls, new: str, old: str) -> Changes:
        """Compare two texts."""
        if (core := native.core) is None:
            new_tokens, old_tokens = tokens(new), tokens(old)
            edits = _edits(new_tokens, old_tokens)
            new_words, old_words = _count_words(new_tokens), _count_words(old_tokens)
        else:
            result = core.changes(new, old, fold_table(), False)
            if result is None:
                result = core.changes(normal(new), normal(old), fold_table(), True)
            # A normalised text is never refused.
            parts, new_words, old_words = result  # type: ignore[misc]
            edits = [WordEdit(a.split(), b.split(), *around) for a, b, *around in parts]
        is_cut = new_words < old_words
        if not (edits or is_cut or new == old):
            edit = _without_ends(WordEdit(tokens(new), tokens(old), "", ""))
            edits = [edit] if edit.new or edit.old else []
        return cls(edits, min(new_words, old_words), is_cut)

    def __bool__(self) -> bool:
        """Whether the texts differ."""
        return self.is_cut or bool(self.all)

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """Pairs of neighbouring words of the new text at its edits; "" is before and behind it.

        A pair of these tells that the old text is longer: its end may be cut.
        """
        words = ((edit.before, *edit.new, edit.after) for edit in self.all)
        cut = {("", "")} if self.is_cut else set()
        return {pair for around in words for pair in pairwise(around)} | cut

    def replaces(self, new: str, old: str) -> bool:
        """Whether what differs in two short values, or parts of them, begins where texts differ."""
        parts = ([value, *value.split(",")] for value in (new, old))
        edits = [WordEdit(tokens(ours), tokens(theirs), "", "") for ours, theirs in product(*parts)]
        return any(
            all(a and b and a[: len(b)] == b[: len(a)] for a, b in zip(both, one[:2], strict=True))
            for both in [_without_ends(edit)[:2] for edit in edits]
            for one in self.all
        )

    def replaces_passage(self) -> bool:
        """Whether a passage stands in place of a different passage, between the same words."""
        return any(self._is_passage(edit.new) and self._is_passage(edit.old) for edit in self.all)

    def adds_passage(self) -> bool:
        """Whether a passage stands where the old text has no words."""
        return any(self._is_passage(edit.new) and not edit.old for edit in self.all)

    def _is_passage(self, words: Sequence[str]) -> bool:
        return _has_words(words, min(PASSAGE, max(SHORT_PASSAGE, self.length * SHARE)))

    def renames(self) -> bool:
        """Whether a name was replaced by the same name at three places or more.

        Such exchanges must be at least half of all. The edits of a copy do not repeat, whereas the
        terms of use of a different firm differ in its name wherever it stands.
        """
        exchanged = [
            (tuple(edit.new), tuple(edit.old))
            for edit in self.all
            if edit.new
            and edit.old
            and not any(_has_words(words, _NAME_WORDS + 0.5) for words in (edit.new, edit.old))
        ]
        repeated = [count for count in Counter(exchanged).values() if count > 1]
        return max(repeated, default=0) >= _EXCHANGES and 2 * sum(repeated) >= len(exchanged)

    def replaces_reference(self) -> bool:
        """Whether a number of five digits or more stands in place of a different one.

        It is the number of a file or a job ad, a sum or the like; digits may stand in groups.
        """
        for edit in self.all:
            around = (" ".join([edit.before, *words, edit.after]) for words in (edit.new, edit.old))
            new, old = map(set, map(_REFERENCES.findall, around))
            if any(len(one) == len(other) for one, other in product(new - old, old - new)):
                return True
        return False

    @property
    def touches_numbers(self) -> bool:
        """Whether either text has a number where they differ, or beside such a place."""
        return self.has_numbers or any(any(map(_is_number, edit.old)) for edit in self.all)

    def replaces_number(self) -> bool:
        """Whether a number stands in place of a different one."""
        return any(
            (any(map(_is_number, edit.new)) and any(map(_is_number, edit.old)))
            or _alters_number(edit)
            for edit in self.all
        )

    @cached_property
    def has_numbers(self) -> bool:
        """Whether the new text has a number that the old text lacks at that place.

        One or two words that are replaced beside a number count too: "5 March" and "5 April".
        """
        return any(
            any(map(_is_number, edit.new))
            or _alters_number(edit)
            or (
                0 < len(edit.new) <= 2
                and edit.old
                and (_is_number(edit.before) or _is_number(edit.after))
            )
            for edit in self.all
        )


def _edits(new: Sequence[str], old: Sequence[str]) -> list[WordEdit]:
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, pair in enumerate(pairwise(old)):
        places[pair].append(place)
    edits = []
    for start, end in _runs([pair not in places for pair in pairwise(new)]):
        # The pair before covers the words up to `start`, the pair after it those from `end` on.
        before = (new[start - 1], new[start]) if start else None
        after = (new[end], new[end + 1]) if end + 1 < len(new) else None
        first, last = _between(places, before, after, len(old))
        edit = WordEdit(
            new[start + 1 if before else 0 : end if after else len(new)],
            old[first:last],
            before[1] if before else "",
            after[0] if after else "",
        )
        edits.append(_without_ends(edit))
    return edits


def _without_ends(edit: WordEdit) -> WordEdit:
    """An edit without the words that both texts have at its beginning or end."""
    new, old, before, after = edit
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
    """Starts and ends of runs of pairs that the old text lacks, or has in between by chance."""
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

    It is empty if the second pair never follows the first.
    """
    starts = [place + 2 for place in places[before][:_PLACES]] if before else [0]
    ends = places[after] if after else [length]
    nearest, size = (0, 0), length + 1
    for start in starts:
        at = bisect_right(ends, start - 2)
        if at < len(ends) and ends[at] - start < size:
            nearest, size = (start, ends[at]), ends[at] - start
    return nearest


def _alters_number(edit: WordEdit) -> bool:
    """Whether part of a number was inserted or left out: "2.5" and "5"."""
    if bool(edit.new) == bool(edit.old):
        return False
    part = edit.new or edit.old
    sides = (edit.before, part[0]), (part[-1], edit.after)
    return any(_is_number(one) and _is_number(other) for one, other in sides)


def _count_words(tokens: Sequence[str]) -> float:
    """The number of words: an ideograph, or a letter of a script without spaces, is half a word."""
    return len(tokens) - sum(len(token) == 1 and not token.isascii() for token in tokens) / 2


def _has_words(tokens: Sequence[str], least: float) -> bool:
    """Whether there are at least so many words."""
    return len(tokens) >= least and _count_words(tokens) >= least


def _is_number(token: str) -> bool:
    """Whether a token begins with a digit or a fraction such as "¼", or is a code.

    Ideographs are words.
    """
    first = token[:1]
    is_code = sum(map(str.isdigit, token)) >= _CODE
    return is_code or (first.isnumeric() and not first.isalpha())

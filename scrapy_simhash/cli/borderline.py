"""The pairs on which the choice of a threshold hangs, and what differs between their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash import history
from scrapy_simhash.cli.output import text_changes
from scrapy_simhash.simhash.measure import similarity_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from scrapy_simhash.cli.replay import Level, Replayed
    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.report.difference import Change

__all__ = ["Step", "describe", "pieces", "steps"]

# So many changes are shown of a pair, the largest, each of so many characters; and so many that
# stand before it in both texts.
_CHANGES = 3
_LONGEST = 60
_BEFORE = 24


class Pair(NamedTuple):
    """A document that changes sides.

    Attributes:
        number: its number.
        match: that of the one it is a near-duplicate of.
        similarity: of the two texts.
        estimated: whether that is an estimate.
    """

    number: int
    match: int
    similarity: float
    estimated: bool


class Step(NamedTuple):
    """What changes sides between a level and the next stricter one: dropped there, kept here.

    Attributes:
        changing: how many.
        pairs: of these those to be shown, the nearest to the present threshold first; without those
            that are near enough for both levels, and are kept since what they are near is dropped.
    """

    changing: int
    pairs: list[Pair]


def steps(
    replayed: Replayed,
    documents: history.Documents,
    tried: Sequence[Level],
    present: int,
    *,
    counted: NDArray[np.bool_],
    bits: int,
    examples: int,
) -> list[Step]:
    """The steps from each level to the next, the loosest first.

    Args:
        replayed: what was decided.
        documents: of what.
        tried: at which levels.
        present: the one in force.
        counted: which of the documents are asked about.
        bits: the width of the fingerprints.
        examples: how many pairs are shown of a step.
    """
    found = []
    for looser, stricter in enumerate(tried[1:]):
        changing = (replayed.matches[looser] >= 0) & replayed.kept[looser + 1] & counted
        pairs = [
            _pair(replayed, documents, bits, looser, number)
            for number in np.flatnonzero(changing).tolist()
        ]
        pairs = [pair for pair in pairs if not _is_near(documents, pair, stricter)]
        # Above the present threshold the least similar are next to it, below it the most similar.
        pairs.sort(key=lambda pair: pair.similarity, reverse=looser < present)
        found.append(Step(int(changing.sum()), _once(documents, pairs)[:examples]))
    return found


def _once(documents: history.Documents, pairs: Iterable[Pair]) -> list[Pair]:
    """Without those of later visits that say the same of the same two pages."""
    rows = documents.rows
    told: dict[tuple[object, ...], Pair] = {}
    for pair in pairs:
        one, other = rows[pair.number], rows[pair.match]
        told.setdefault((one.url, other.url, one.fingerprint, other.fingerprint), pair)
    return list(told.values())


def _pair(
    replayed: Replayed, documents: history.Documents, bits: int, level: int, number: int
) -> Pair:
    """A document with its match, and how similar they are; by their distance, if by that alone."""
    match = int(replayed.matches[level, number])
    similarity = float(replayed.similarities[level, number])
    if np.isnan(similarity):
        return Pair(number, match, similarity_at(_distance(documents, number, match), bits), True)
    return Pair(number, match, similarity, bool(replayed.estimated[level, number]))


def _is_near(documents: history.Documents, pair: Pair, level: Level) -> bool:
    if level.similarity is None:
        return _distance(documents, pair.number, pair.match) <= level.limit
    return pair.similarity >= level.similarity


def _distance(documents: history.Documents, number: int, match: int) -> int:
    """In how many bits the fingerprints of two documents differ."""
    one, other = (documents.rows[row].fingerprint for row in (number, match))
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()


def describe(
    database: Database,
    namespace: history.NamespaceRow,
    documents: history.Documents,
    found: Sequence[Step],
) -> list[list[dict[str, Any]]]:
    """The pairs of each step, as people and programs read them."""
    places = {
        documents.places[number] for step in found for pair in step.pairs for number in pair[:2]
    }
    urls = history.urls(database, namespace, places)

    def example(pair: Pair) -> dict[str, Any]:
        number, match, similarity, estimated = pair
        place, other = documents.places[number], documents.places[match]
        # Two at a time: each text may be as large as a text can be.
        texts = history.texts(database, namespace, (place, other))
        changes = text_changes(texts.get(other), texts.get(place))
        return {
            "id": _id(place),
            "url": urls.get(place, "?"),
            "match_id": _id(other),
            "match": urls.get(other, "?"),
            "distance": _distance(documents, number, match),
            "similarity": similarity,
            "estimated": estimated,
            "changes": None if changes is None else len(changes),
            "differs": None if changes is None else pieces(texts[other], changes),
        }

    return [[example(pair) for pair in step.pairs] for step in found]


def _id(place: tuple[int, int]) -> str:
    claim, duplicate = place
    return f"duplicate {duplicate}" if duplicate else f"claim {claim}"


def pieces(first: str, changes: Sequence[Change]) -> list[dict[str, str]]:
    """The largest changes, in their order, cut at words.

    Args:
        first: the text that the changes make another one of.
        changes: see :func:`~scrapy_simhash.report.difference.difference`.
    """
    found = list(_changed(first, changes))
    by_size = sorted(range(len(found)), key=lambda one: -len(found[one][1] + found[one][2]))
    shown = [found[one] for one in sorted(by_size[:_CHANGES])]
    return [
        {"before": _tail(before), "removed": _head(removed), "added": _head(added)}
        for before, removed, added in shown
    ]


def _changed(first: str, changes: Sequence[Change]) -> Iterator[tuple[str, str, str]]:
    """What stands before each change, what it removes, and what it adds."""
    place = 0
    for change in changes:
        start, place = place, place + change.copied
        before = first[max(start, place - 2 * _BEFORE) : place]
        removed = first[place : place + change.removed]
        place += change.removed
        if removed.strip() or change.added.strip():
            yield before, removed, change.added


def _head(text: str) -> str:
    """The beginning of a text in one line."""
    line = " ".join(text.split())
    if len(line) <= _LONGEST:
        return line
    words = line[: _LONGEST + 1].rpartition(" ")[0]
    # What is written without spaces is cut between its characters.
    return f"{words if len(words) > _LONGEST // 2 else line[:_LONGEST]}…"


def _tail(text: str) -> str:
    """The last words of a text in one line."""
    line = " ".join(text.split())
    if len(line) <= _BEFORE:
        return line
    words = line[-_BEFORE - 1 :].partition(" ")[2]
    return words if len(words) > _BEFORE // 2 else line[-_BEFORE:]

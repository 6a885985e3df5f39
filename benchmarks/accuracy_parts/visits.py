"""What a crawl meets, in its order, with the truth about it; and how judgements are counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha1
from typing import Any, NamedTuple

__all__ = ["HALVES", "Judged", "Tally", "Visit", "half_of", "tally"]

HALVES = ("tuning", "held out")


class Visit(NamedTuple):
    """A page or a text that a crawl fetches.

    Attributes:
        url: where.
        thing: the document it was made from: visits of one thing are copies of each other.
        kind: the class under which it is counted.
        half: one of `HALVES`.
        page: the page; None for what is a text only.
        text: as it was made, not as any extractor returns it.
        item: what a project with selectors of its own would store.
        round: which crawl of the site it belongs to.
    """

    url: str
    thing: str
    kind: str
    half: str
    page: bytes | None
    text: str
    item: Mapping[str, Any] | None = None
    round: int = 0


class Judged(NamedTuple):
    """The decision on a visit.

    Attributes:
        match: the number of the visit that it is dropped as a copy of; None where it is kept.
        differs: the field that kept it, where its text is similar to another.
    """

    match: int | None
    differs: str = ""


class Tally(NamedTuple):
    """Counts of right and wrong decisions.

    Attributes:
        copies: visits of a thing that was seen before.
        found: those that were dropped as copies of it.
        visits: all visits.
        wrong: those that were dropped as copies of another thing.
        things: visits of a thing that was not seen before.
        lost: those that were dropped.
    """

    copies: int
    found: int
    visits: int
    wrong: int
    things: int
    lost: int


def half_of(name: str) -> str:
    """The half of a name, by its hash: for tuning, or held out."""
    return HALVES[sha1(name.encode()).digest()[0] & 1]


def tally(
    visits: Sequence[Visit], judged: Iterable[Judged], keys: Iterable[str] = ("kind", "half")
) -> dict[tuple[str, ...], Tally]:
    """Count judgements, by the values of attributes of the visits.

    Returns:
        a tally for each combination of values, in the order of their first visits.
    """
    names = tuple(keys)
    counts: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    seen: set[str] = set()
    for visit, (match, _) in zip(visits, judged, strict=True):
        count = counts[tuple(getattr(visit, name) for name in names)]
        is_copy, is_dropped = visit.thing in seen, match is not None
        is_right = match is not None and visits[match].thing == visit.thing
        count["visits"] += 1
        count["copies" if is_copy else "things"] += 1
        count["found"] += is_copy and is_right
        count["wrong"] += is_dropped and not is_right
        count["lost"] += is_dropped and not is_copy
        seen.add(visit.thing)
    return {
        values: Tally(*(count[field] for field in Tally._fields))
        for values, count in counts.items()
    }

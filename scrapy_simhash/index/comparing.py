"""Compares the documents of a batch with the claims that were found, and with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from scrapy_simhash.index.batch import Batch
from scrapy_simhash.index.candidates import BatchCandidates
from scrapy_simhash.index.decide import decide, nearest
from scrapy_simhash.index.lookup import Lookup
from scrapy_simhash.index.rule import compare
from scrapy_simhash.index.seen import Seen
from scrapy_simhash.index.verdict import ClaimRow, Document, Match, Sighting, Verdict
from scrapy_simhash.simhash.measure import jaccards


def decide_batch(
    lookup: Lookup,
    candidates: BatchCandidates,
    seen: Seen,
    first_number: int,
    between: Callable[[int], Iterable[Verdict]],
) -> list[Verdict]:
    """Decide on a batch, given what its keys and identities led to, and what was sighted.

    The claims that the documents would get are numbered from `first_number` on. `between` is as
    :func:`~.decide.decide` has it.
    """
    batch = candidates.batch
    rows = [
        row._replace(id=number, origin=number)
        for number, row in enumerate(batch.rows, first_number)
    ]
    return decide(
        rows,
        [document.facts for document in batch.documents],
        matches_of_batch(lookup, candidates),
        partial(_matches_in_batch, lookup, candidates),
        rule=lookup.rule,
        seen=seen,
        own_text=partial(_match_of_text, lookup, batch),
        between=between,
    )


def nearest_claims(lookup: Lookup, candidates: BatchCandidates, count: int) -> list[Match]:
    """The nearest claims that the keys of a batch of one document lead to."""
    order = np.argsort(candidates.pairs["distance"], kind="stable")[:count]
    pairs = candidates.pairs[order][["claim", "distance"]].tolist()
    distances = {claim: distance for claim, distance in pairs if claim in candidates.rows}
    return list(map(final, _matches(lookup, candidates, 0, distances, is_all=True)))


def final(match: Match) -> Match:
    """A match without what only the rule needs: texts, and the copies of its claim."""
    return replace(match, changes=None, copies=())


def matches_of_batch(lookup: Lookup, candidates: BatchCandidates) -> list[list[Match]]:
    """For each document the nearest claims within the limit, and what its identity was shown."""
    near: list[dict[int, int | None]] = [{} for _ in candidates.batch.rows]
    for (number, claim), distance in candidates.compared.items():
        if claim in candidates.rows:
            near[number][claim] = distance
    return [
        _matches(lookup, candidates, number, distances) if distances else []
        for number, distances in enumerate(near)
    ]


def _matches(
    lookup: Lookup,
    candidates: BatchCandidates,
    number: int,
    distances: Mapping[int, int | None],
    *,
    is_all: bool = False,
) -> list[Match]:
    """A document's matches with the nearest of some claims, or all of them.

    The claims are given by their distances, if these are known.
    """
    row, document = candidates.batch.rows[number], candidates.batch.documents[number]
    similarities = lookup.similarities
    claims = [candidates.rows[claim] for claim in distances]
    found = similarities.similarities(document, row, claims)

    def match(place: int) -> Match:
        claim = claims[place].id
        has_texts = document.text is not None and not similarities.missing([claim])
        return compare(
            row,
            claims[place],
            lookup.bits,
            distance=distances[claim],
            jaccard=lambda: found[place],
            changes=partial(similarities.changes, document, claim) if has_texts else None,
            copies=tuple(candidates.copies.get(claim, ())),
        )

    likeness = [
        (not is_estimated, -float(distances[claim.id] or 0) if jaccard is None else jaccard)
        for claim, (jaccard, is_estimated) in zip(claims, found, strict=True)
    ]
    shown = candidates.shown.get(row.identity, ())
    chosen = range(len(claims)) if is_all else nearest(row, claims, likeness, shown)
    return [match(place) for place in chosen]


def _match_of_text(lookup: Lookup, batch: Batch, number: int, sighting: Sighting) -> Match | None:
    """The match of a document with the text that a sighting has beside its claim, if it is kept."""
    document, similarities = batch.documents[number], lookup.similarities
    if document.text is None or similarities.missing([sighting.content]):
        return None
    changes = partial(similarities.changes, document, sighting.content)
    return Match(ClaimRow(id=sighting.content), 0, None, bits=lookup.bits, changes=changes)


def _matches_in_batch(
    lookup: Lookup,
    candidates: BatchCandidates,
    number: int,
    claimed: Mapping[int, ClaimRow],
) -> Sequence[Match]:
    """The earlier documents of the batch that are near a document, of those that were claimed."""
    batch = candidates.batch
    row, document = batch.rows[number], batch.documents[number]
    near = [(distance, other) for distance, other in batch.in_batch[number] if other in claimed]
    if not near:
        return ()
    found = _exact_similarities(document, [batch.documents[other] for _, other in near])

    def match(place: int) -> Match:
        distance, other = near[place]
        pair = document, batch.documents[other]
        has_texts = all(one.text is not None and one.sketch.shingles is not None for one in pair)
        return compare(
            row,
            claimed[other],
            lookup.bits,
            distance=distance,
            jaccard=lambda: (found[place], False),
            changes=partial(lookup.similarities.changes_in_batch, *pair) if has_texts else None,
        )

    claims = [claimed[other] for _, other in near]
    likeness = [
        (True, -float(distance) if jaccard is None else jaccard)
        for (distance, _), jaccard in zip(near, found, strict=True)
    ]
    return [match(place) for place in nearest(row, claims, likeness)]


def _exact_similarities(document: Document, others: Sequence[Document]) -> list[float | None]:
    shingles = document.sketch.shingles
    sets = [other.sketch.shingles for other in others]
    if shingles is None:
        return [None] * len(sets)
    known = iter(jaccards(shingles, [one for one in sets if one is not None]))
    return [None if one is None else next(known) for one in sets]

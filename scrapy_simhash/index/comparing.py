"""Compares the documents of a batch with the claims that were found, and with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import numpy as np

from scrapy_simhash.db.values import PENDING
from scrapy_simhash.index.candidates import Candidates
from scrapy_simhash.index.decide import decide
from scrapy_simhash.index.lookup import Lookup
from scrapy_simhash.index.rule import Met, apart, met_with
from scrapy_simhash.index.verdict import Document, Match, Row, Verdict
from scrapy_simhash.index.visits import NO_VISITS, Decision, Visits
from scrapy_simhash.item.addresses import same_site
from scrapy_simhash.simhash.measure import jaccard, similarity_at
from scrapy_simhash.text.page import containment

#: Two pages show the same if the larger one contains this share of the smaller one's text. Print
#: views have .97 in common, pages with session ids .81.
ALIKE = 0.95


def decide_batch(
    lookup: Lookup,
    found: Candidates,
    visits: Visits,
    first_number: int,
    made: Mapping[int, Row],
) -> tuple[list[Row], list[Decision]]:
    """Decide on a batch, given what its keys and identities led to.

    Returns the rows of the claims that the documents would get, numbered from `first_number` on,
    and the decisions. `made` are the claims that an earlier attempt has committed, by document.
    """
    wanted = [
        row._replace(id=number, origin=number)
        for number, row in enumerate(found.batch.rows, first_number)
    ]
    decisions = decide(
        wanted,
        [document.facts for document in found.batch.documents],
        compared(lookup, found),
        partial(_compared_in_batch, lookup, found),
        rule=lookup.rule,
        visits=visits if lookup.rule.known else NO_VISITS,
        places=found.places,
        made=made,
    )
    return wanted, decisions


def foresee(lookup: Lookup, found: Candidates, visits: Visits) -> Verdict:
    """The verdict on a page before its items are known: see :meth:`Index.foresee`.

    An item may contain values that the page's text does not. So a page is a duplicate only of a
    page of the same site, with all visible text in common.
    """
    (met,) = compared(lookup, found)
    (mine,), (document,) = found.batch.rows, found.batch.documents
    alike = [
        one
        for one in met
        if one.claim.page_sketch
        and mine.page_sketch
        and same_site(mine.url, one.claim.url)
        and containment(mine.page_sketch, one.claim.page_sketch) >= ALIKE
    ]
    (decision,) = decide(
        [mine],
        [document.facts],
        [alike],
        lambda _number, _standing: (),
        rule=lookup.rule,
        visits=visits if lookup.rule.known else NO_VISITS,
        places=found.places,
        made={},
    )
    if decision.claims or decision.match is None:
        return Verdict("unique")
    return Verdict(decision.kind, match=match_of(decision.match, lookup.bits))


def nearest_claims(lookup: Lookup, found: Candidates, count: int) -> list[Match]:
    """The nearest claims that the keys of a batch of one document lead to."""
    order = np.argsort(found.distances, kind="stable")[:count]
    pairs = zip(found.claims[order].tolist(), found.distances[order].tolist(), strict=True)
    return [
        match_of(_compare(lookup, found, 0, found.rows[claim], distance), lookup.bits)
        for claim, distance in pairs
        if claim in found.rows
    ]


def compared(lookup: Lookup, found: Candidates) -> list[list[Met]]:
    """For each document the claims within the limit, and the newest version of its identity."""
    met: list[list[Met]] = [[] for _ in found.batch.rows]
    for (number, claim), distance in found.compared().items():
        if (row := found.rows.get(claim)) is not None:
            one = _compare(lookup, found, number, row, distance)
            copies = found.copies.get(claim)
            met[number].append(one._replace(copies=tuple(copies)) if copies else one)
    return met


def _compare(
    lookup: Lookup, found: Candidates, number: int, claim: Row, distance: int | None
) -> Met:
    mine, document = found.batch.rows[number], found.batch.documents[number]
    similarities = lookup.similarities
    has_texts = document.text is not None and not similarities.missing([claim.id])
    return met_with(
        mine,
        claim,
        apart(mine, claim) if distance is None else distance,
        partial(similarities.similarity, document, mine, claim),
        partial(similarities.changes, document, claim.id) if has_texts else None,
    )


def _compared_in_batch(
    lookup: Lookup, found: Candidates, number: int, standing: Mapping[int, Row]
) -> Sequence[Met]:
    """The earlier documents of the batch that are near a document, of those that were claimed."""
    batch = found.batch
    mine = batch.documents[number]
    met: list[Met] = []
    for distance, other in batch.in_batch[number]:
        if (row := standing.get(other)) is None:
            continue
        pair = (mine, batch.documents[other])
        alike = partial(_exact_similarity, *pair)
        has_texts = all(one.text is not None and one.sketch.shingles is not None for one in pair)
        changes = partial(lookup.similarities.changes_in_batch, *pair) if has_texts else None
        met.append(met_with(batch.rows[number], row, distance, alike, changes))
    return met


def _exact_similarity(mine: Document, other: Document) -> tuple[float | None, bool]:
    one, two = mine.sketch.shingles, other.sketch.shingles
    return None if one is None or two is None else jaccard(one, two), False


def match_of(met: Met, bits: int) -> Match:
    """A claim that a document was compared with, for its verdict."""
    row = met.claim
    return Match(
        key=row.key,
        url=row.url,
        distance=met.distance,
        similarity=(
            similarity_at(met.distance, bits) if met.similarity is None else met.similarity
        ),
        first_seen=datetime.fromtimestamp(row.created, UTC),
        claim=row.id,
        run=row.run,
        pending=row.state == PENDING,
        estimated=met.estimated,
        origin=row.origin,
        namespace=row.namespace,
    )

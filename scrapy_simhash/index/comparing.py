"""Compares the documents of a batch with the claims that were found, and with each other."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial

import numpy as np
from sqlalchemy import Connection

from scrapy_simhash.db.values import PENDING
from scrapy_simhash.features.changes import Changes
from scrapy_simhash.index import queries
from scrapy_simhash.index.batch import Batch
from scrapy_simhash.index.decide import decide
from scrapy_simhash.index.lookup import Lookup, read_rows
from scrapy_simhash.index.queries import Found, Hits
from scrapy_simhash.index.rule import Met, apart, met_with
from scrapy_simhash.index.similarity_cache import changes_of
from scrapy_simhash.index.verdict import Document, Match, Place, Row, Verdict, group_name
from scrapy_simhash.index.visits import NO_VISITS, Visits
from scrapy_simhash.item.addresses import same_site
from scrapy_simhash.item.quality import QualitySignals, address_of
from scrapy_simhash.simhash.measure import jaccard, similarity_at
from scrapy_simhash.text.page import containment

#: Two pages show the same if the larger one contains this share of the smaller one's text. Print
#: views have .97 in common, pages with session ids .81.
ALIKE = 0.95


def foresee(connection: Connection, lookup: Lookup, batch: Batch, visits: Visits) -> Verdict:
    """The verdict on a page before its items are known: see :meth:`Index.foresee`.

    An item may contain values that the page's text does not. So a page is a duplicate only of a
    page of the same site, with all visible text in common.
    """
    hits = lookup.hits(lookup.ask(connection, batch))
    found = lookup.candidates(connection, batch, hits)
    (met,) = compared(connection, lookup, batch, found, hits.newest)
    mine = batch.rows[0]
    alike = [
        one
        for one in met
        if one.claim.page_sketch
        and mine.page_sketch
        and same_site(mine.url, one.claim.url)
        and containment(mine.page_sketch, one.claim.page_sketch) >= ALIKE
    ]
    (decision,) = decide(
        batch.rows,
        [document.facts for document in batch.documents],
        [alike],
        lambda _number, _standing: (),
        rule=lookup.rule,
        visits=visits if lookup.rule.known else NO_VISITS,
        places=places_of(connection, lookup, hits),
        made={},
    )
    if decision.claims or decision.match is None:
        return Verdict("unique")
    return Verdict(decision.kind, match=match_of(decision.match, lookup.bits))


def nearest_claims(connection: Connection, lookup: Lookup, batch: Batch, count: int) -> list[Match]:
    """The nearest claims that the keys of a batch of one document lead to."""
    hits = lookup.hits(lookup.ask(connection, batch))
    found = lookup.candidates(connection, batch, hits)
    order = np.argsort(found.distances, kind="stable")[:count]
    (met,) = _with_similarities(connection, lookup, batch, found.pairs(order), found.rows)
    return [match_of(one, lookup.bits) for one in met]


def compared(
    connection: Connection, lookup: Lookup, batch: Batch, found: Found, newest: Mapping[int, int]
) -> list[list[Met]]:
    """For each document the claims within the limit, and the newest version of its identity.

    The latter is compared even if no key matches.
    """
    # Equal items may be on pages with other texts; these are few, so all are compared.
    pairs = found.pairs((found.distances <= lookup.rule.limit) | found.exactly)
    for number, row in enumerate(batch.rows):
        if row.identity in newest:
            pairs.setdefault((number, newest[row.identity]), None)
    return _with_similarities(connection, lookup, batch, pairs, found.rows)


def _with_similarities(
    connection: Connection,
    lookup: Lookup,
    batch: Batch,
    pairs: Mapping[tuple[int, int], int | None],
    known: Mapping[int, Row],
) -> list[list[Met]]:
    """Pairs of a document and a claim, with their distances, compared; by document."""
    met: list[list[Met]] = [[] for _ in batch.rows]
    missing = {claim for _, claim in pairs}.difference(known)
    rows = {**known, **read_rows(connection, lookup, missing)} if missing else known
    for (number, claim), distance in pairs.items():
        if (row := rows.get(claim)) is None:
            continue
        mine, document = batch.rows[number], batch.documents[number]
        similarity = partial(lookup.similarities.similarity, document.sketch.shingles, mine, row)
        changes = partial(lookup.similarities.changes, document.text, claim)
        far = apart(mine, row) if distance is None else distance
        met[number].append(met_with(mine, row, far, similarity, changes))
    return met


def compared_in_batch(batch: Batch, number: int, standing: Mapping[int, Row]) -> list[Met]:
    """The earlier documents of the batch that are near a document, of those that were claimed."""
    mine = batch.documents[number]
    met: list[Met] = []
    for distance, other in batch.in_batch[number]:
        if (row := standing.get(other)) is None:
            continue
        pair = (mine, batch.documents[other])
        alike, changes = partial(_exact_similarity, *pair), partial(_changes, *pair)
        met.append(met_with(batch.rows[number], row, distance, alike, changes))
    return met


def _exact_similarity(mine: Document, other: Document) -> tuple[float | None, bool]:
    one, two = mine.sketch.shingles, other.sketch.shingles
    return None if one is None or two is None else jaccard(one, two), False


def _changes(mine: Document, other: Document) -> Changes | None:
    if mine.text is None or other.text is None or mine.sketch.shingles is None:
        return None
    return changes_of(mine.text, other.text)


def places_of(connection: Connection, lookup: Lookup, hits: Hits) -> dict[int, Place]:
    """What is known of the identities that were duplicates when they were last met."""
    ids = {
        number
        for identity, numbers in hits.places.items()
        if identity not in hits.newest
        for number in numbers
    }
    if not ids or lookup.rule.known is None:
        return {}
    # The last one of an identity counts: that of the last run, which may have moved an old row.
    rows = queries.places.ask(connection, lookup.here(ids=ids)).rows
    return {place.identity: place for place in map(Place._make, rows)}


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
        group=group_name(row.namespace, row.origin),
        quality=QualitySignals.unpack(row.quality, address_of(row.key, row.url)),
    )

"""Compares the documents of a batch with the claims that were found, and with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from scrapy_simhash.index.candidates import BatchCandidates
from scrapy_simhash.index.decide import decide
from scrapy_simhash.index.lookup import Lookup
from scrapy_simhash.index.rule import compare
from scrapy_simhash.index.verdict import ClaimRow, Document, Match, Verdict
from scrapy_simhash.index.visits import NO_VISITS, Visits
from scrapy_simhash.item.urls import same_site
from scrapy_simhash.simhash.measure import jaccard
from scrapy_simhash.text.page import containment

#: Two pages show the same if the larger one contains this share of the smaller one's text. Print
#: views have .97 in common, pages with session ids .81.
ALIKE = 0.95


def decide_batch(
    lookup: Lookup,
    candidates: BatchCandidates,
    visits: Visits,
    first_number: int,
    made: Mapping[int, ClaimRow],
) -> list[Verdict]:
    """Decide on a batch, given what its keys and identities led to.

    The claims that the documents would get are numbered from `first_number` on. `made` are the
    claims that an earlier attempt has committed, by document.
    """
    batch = candidates.batch
    return decide(
        [
            row._replace(id=number, origin=number)
            for number, row in enumerate(batch.rows, first_number)
        ],
        [document.facts for document in batch.documents],
        matches_of_batch(lookup, candidates),
        partial(_matches_in_batch, lookup, candidates),
        rule=lookup.rule,
        visits=visits if lookup.rule.known else NO_VISITS,
        last_duplicates=candidates.last_duplicates,
        made=made,
    )


def preview(lookup: Lookup, candidates: BatchCandidates, visits: Visits) -> Verdict:
    """The verdict on a page before its items are known: see :meth:`Index.preview`.

    An item may contain values that the page's text does not. So a page is a duplicate only of a
    page of the same site, with all visible text in common.
    """
    (matches,) = matches_of_batch(lookup, candidates)
    (row,), (document,) = candidates.batch.rows, candidates.batch.documents
    alike = [
        match
        for match in matches
        if match.row.page_sketch
        and row.page_sketch
        and same_site(row.url, match.url)
        and containment(row.page_sketch, match.row.page_sketch) >= ALIKE
    ]
    (verdict,) = decide(
        [row],
        [document.facts],
        [alike],
        lambda _number, _claimed: (),
        rule=lookup.rule,
        visits=visits if lookup.rule.known else NO_VISITS,
        last_duplicates=candidates.last_duplicates,
        made={},
    )
    if verdict.claim is not None or verdict.match is None:
        return Verdict("unique")
    return Verdict(verdict.kind, final(verdict.match))


def nearest_claims(lookup: Lookup, candidates: BatchCandidates, count: int) -> list[Match]:
    """The nearest claims that the keys of a batch of one document lead to."""
    order = np.argsort(candidates.pairs["distance"], kind="stable")[:count]
    return [
        final(_match(lookup, candidates, 0, candidates.rows[claim], distance))
        for claim, distance in candidates.pairs[order][["claim", "distance"]].tolist()
        if claim in candidates.rows
    ]


def final(match: Match) -> Match:
    """A match without what only the rule needs: texts, and the copies of its claim."""
    return replace(match, changes=None, copies=())


def matches_of_batch(lookup: Lookup, candidates: BatchCandidates) -> list[list[Match]]:
    """For each document the claims within the limit, and the newest version of its identity."""
    matches: list[list[Match]] = [[] for _ in candidates.batch.rows]
    for (number, claim), distance in candidates.compared().items():
        if (row := candidates.rows.get(claim)) is not None:
            matches[number].append(_match(lookup, candidates, number, row, distance))
    return matches


def _match(
    lookup: Lookup, candidates: BatchCandidates, number: int, claim: ClaimRow, distance: int | None
) -> Match:
    row, document = candidates.batch.rows[number], candidates.batch.documents[number]
    similarities = lookup.similarities
    has_texts = document.text is not None and not similarities.missing([claim.id])
    return compare(
        row,
        claim,
        lookup.bits,
        distance=distance,
        jaccard=partial(similarities.similarity, document, row, claim),
        changes=partial(similarities.changes, document, claim.id) if has_texts else None,
        copies=tuple(candidates.copies.get(claim.id, ())),
    )


def _matches_in_batch(
    lookup: Lookup, candidates: BatchCandidates, number: int, claimed: Mapping[int, ClaimRow]
) -> Sequence[Match]:
    """The earlier documents of the batch that are near a document, of those that were claimed."""
    batch = candidates.batch
    document = batch.documents[number]
    matches: list[Match] = []
    for distance, earlier in batch.in_batch[number]:
        if (claim := claimed.get(earlier)) is None:
            continue
        pair = document, batch.documents[earlier]
        has_texts = all(one.text is not None and one.sketch.shingles is not None for one in pair)
        match = compare(
            batch.rows[number],
            claim,
            lookup.bits,
            distance=distance,
            jaccard=partial(_exact_similarity, *pair),
            changes=partial(lookup.similarities.changes_in_batch, *pair) if has_texts else None,
        )
        matches.append(match)
    return matches


def _exact_similarity(document: Document, earlier: Document) -> tuple[float | None, bool]:
    shingles, others = document.sketch.shingles, earlier.sketch.shingles
    return None if shingles is None or others is None else jaccard(shingles, others), False

"""A batch under the lock: what it meets, what is decided, what is written."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.db.schema import EXACT, PENDING
from scrapy_simhash.db.statements import storable
from scrapy_simhash.index.batch import KeyRow, crowd_key, pack_keys
from scrapy_simhash.index.decide import apart, decide, met_with, of_group, stands_for
from scrapy_simhash.index.reader import Details, Found
from scrapy_simhash.index.verdict import Claim, Match, Verdict, group_name
from scrapy_simhash.item.quality import QualitySignals, address_of
from scrapy_simhash.item.urls import same_site
from scrapy_simhash.simhash.measure import jaccard, similarity_at
from scrapy_simhash.text.page_sketch import containment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from scrapy_simhash.db.lock import LockedNamespace
    from scrapy_simhash.db.pipeline import Answer
    from scrapy_simhash.index.batch import Batch
    from scrapy_simhash.index.decide import Decision, Met
    from scrapy_simhash.index.lookup import Lookup
    from scrapy_simhash.index.verdict import Row
    from scrapy_simhash.index.writer import Writer

__all__ = ["claim_batch", "foresee", "nearest_claims"]


#: The share of what the smaller of two pages shows that the larger one shows too, from which they
#: show the same. Print views have .97 of it, session ids .81.
ALIKE = 0.95


def claim_batch(
    connection: Connection,
    lookup: Lookup,
    writer: Writer,
    batch: Batch,
    held: LockedNamespace,
    *,
    asked: Answer,
    now: float,
    retried: bool,
) -> list[Verdict]:
    """Decide on a batch, and write what it claims.

    Args:
        connection: in a transaction that holds the namespace's lock.
        lookup: of the namespace.
        writer: of the namespace.
        batch: the documents.
        held: what came with the lock: a number for each document's claim.
        asked: what the reader was asked for under the lock.
        now: seconds since the epoch, the same in each attempt.
        retried: an earlier attempt may have been committed.
    """
    made = lookup.reader.made_before(connection, batch, now) if retried else {}
    hits = lookup.reader.hits(asked)
    found = lookup.reader.candidates(connection, batch, hits, lookup.similarities)
    lookup.counts.candidates += len(found.claims)
    wanted = [
        row._replace(id=number, origin=number)
        for row, number in zip(batch.rows, held.numbers, strict=True)
    ]
    decisions = decide(
        wanted,
        [document.facts for document in batch.documents],
        _met(connection, lookup, batch, found, hits.newest),
        partial(_twins, batch),
        rule=lookup.rule,
        newest=hits.newest,
        made=made,
    )
    fresh = {
        number: _beside(wanted[number], decision)
        for number, decision in enumerate(decisions)
        if decision.claims and number not in made
    }
    written = made | _write(writer, lookup, batch, found, fresh)
    writer.touch(
        [
            stands_for(decision.match.claim, wanted[number])
            for number, decision in enumerate(decisions)
            # A changed version has a claim of its own, and leaves the old one to what equals it.
            if decision.kind == "same" and decision.match and not decision.claims
        ],
        now,
    )
    return [
        _verdict(decision, written.get(number), lookup.bits)
        for number, decision in enumerate(decisions)
    ]


def _verdict(decision: Decision, row: Row | None, bits: int) -> Verdict:
    match = _match(decision.match, bits) if decision.match else None
    claim = Claim(row.id, row) if row else None
    return Verdict(decision.kind, match=match, claim=claim, differs=decision.differs)


def foresee(connection: Connection, lookup: Lookup, batch: Batch) -> Verdict:
    """What would be said of a page before its items are known: see :meth:`Index.foresee`.

    An item may say what its page does not, or not in its text. So nothing is taken for a copy of
    another page of its site unless all that it shows agrees, and nothing for one across sites.
    """
    hits = lookup.reader.hits(lookup.reader.ask(connection, batch))
    found = lookup.reader.candidates(connection, batch, hits, lookup.similarities)
    (met,) = _met(connection, lookup, batch, found, hits.newest)
    mine = batch.rows[0]
    alike = [
        one
        for one in met
        if one.claim.rest
        and mine.rest
        and same_site(mine.url, one.claim.url)
        and containment(mine.rest, one.claim.rest) >= ALIKE
    ]
    (decision,) = decide(
        batch.rows,
        [document.facts for document in batch.documents],
        [alike],
        lambda _number, _standing: (),
        rule=lookup.rule,
        newest=hits.newest,
        made={},
    )
    if decision.claims or decision.match is None:
        return Verdict("unique")
    return Verdict(decision.kind, match=_match(decision.match, lookup.bits))


def nearest_claims(connection: Connection, lookup: Lookup, batch: Batch, count: int) -> list[Match]:
    """The nearest claims that the keys of a batch of one document lead to."""
    hits = lookup.reader.hits(lookup.reader.ask(connection, batch))
    found = lookup.reader.candidates(connection, batch, hits, lookup.similarities)
    order = np.argsort(found.distances, kind="stable")[:count]
    chosen = found._replace(
        documents=found.documents[order],
        claims=found.claims[order],
        distances=found.distances[order],
        exactly=found.exactly[order],
    )
    (met,) = _compared(connection, lookup, batch, chosen)
    return [_match(one, lookup.bits) for one in met]


def _met(
    connection: Connection,
    lookup: Lookup,
    batch: Batch,
    found: Found,
    newest: Mapping[int, int],
) -> list[list[Met]]:
    """For each document the claims within the limit, and its owner's newest version.

    That one is compared with even where no key meets.
    """
    if not (found.claims.size or newest):
        return [[] for _ in batch.rows]
    # Equal items may stand on pages with other texts: so few that all are looked at.
    near = (found.distances <= lookup.rule.limit) | found.exactly
    pairs = set(zip(found.documents[near].tolist(), found.claims[near].tolist(), strict=True))
    own = [
        (number, newest[row.owner])
        for number, row in enumerate(batch.rows)
        if row.owner in newest and (number, newest[row.owner]) not in pairs
    ]
    documents, claims = (np.array([pair[place] for pair in own], np.int64) for place in (0, 1))
    wanted = Found(
        np.concatenate([found.documents[near], documents]),
        np.concatenate([found.claims[near], claims]),
        # Of these it is not known yet.
        np.concatenate([found.distances[near], np.full(len(own), -1)]),
        np.zeros(0, np.bool_),
        details=found.details,
    )
    return _compared(connection, lookup, batch, wanted)


def _compared(
    connection: Connection, lookup: Lookup, batch: Batch, pairs: Found
) -> list[list[Met]]:
    """Pairs of a document and a claim, with the similarity of their texts."""
    met: list[list[Met]] = [[] for _ in batch.rows]
    if not pairs.claims.size:
        return met
    rows = _rows(connection, lookup, pairs)
    for number, claim, distance in zip(*(column.tolist() for column in pairs[:3]), strict=True):
        if (row := rows.get(claim)) is None:
            continue
        mine = batch.rows[number]
        known = apart(mine, row) if distance < 0 else distance
        shingles = batch.documents[number].sketch.shingles
        similarity = partial(lookup.similarities.similarity, shingles, mine, row)
        met[number].append(met_with(mine, row, known, similarity))
    lookup.similarities.forget()
    return met


def _rows(connection: Connection, lookup: Lookup, pairs: Found) -> dict[int, Row]:
    """The rows of the claims of some pairs; the judge learns their texts."""
    wanted = set(pairs.claims.tolist())
    read = [pairs.details or Details({}, {})]
    if missing := wanted.difference(read[0].rows):
        read.append(lookup.reader.details(connection, missing, lookup.similarities))
    rows = {id_: row for one in read for id_, row in one.rows.items() if id_ in wanted}
    texts = {id_: text for one in read for id_, text in one.texts.items() if id_ in rows}
    lookup.similarities.learn(
        {id_: text for id_, text in texts.items() if rows[id_].basis != EXACT}
    )
    return rows


def _twins(batch: Batch, number: int, standing: Mapping[int, Row]) -> list[Met]:
    """The documents before one in its batch that are near, of those that stand."""
    mine = batch.documents[number].sketch.shingles
    twins: list[Met] = []
    for distance, other in batch.twins[number]:
        if (row := standing.get(other)) is None:
            continue
        similarity = partial(_true_similarity, mine, batch.documents[other].sketch.shingles)
        twins.append(met_with(batch.rows[number], row, distance, similarity))
    return twins


def _true_similarity(
    mine: NDArray[np.uint64] | None, theirs: NDArray[np.uint64] | None
) -> tuple[float | None, bool]:
    return None if mine is None or theirs is None else jaccard(mine, theirs), False


def _beside(row: Row, decision: Decision) -> Row:
    """The row of a claim, in its group, with what it was kept beside, and why."""
    row = of_group(row, decision)
    if decision.differs is None or decision.match is None:
        return row
    return row._replace(beside=decision.match.claim.id, differs=storable(decision.differs, 255))


def _write(
    writer: Writer, lookup: Lookup, batch: Batch, found: Found, fresh: Mapping[int, Row]
) -> dict[int, Row]:
    """Write the claims of some documents of a batch, given by their numbers."""
    nearest = _nearest(found, lookup.rule.limit)
    keys: list[Sequence[KeyRow]] = []
    rows: dict[int, Row] = {}
    texts: dict[int, bytes] = {}
    for number, row in fresh.items():
        own = _keys_of(lookup, batch, number, found)
        keys.append(own)
        packed = row.packed_keys
        if packed is not None and len(own) > len(batch.keys[number]):
            packed += pack_keys(own[-1:])
        far = nearest.get(number)
        # To copy a row of so many fields takes long, and few have anything to add.
        is_done = far is None and packed is row.packed_keys
        rows[number] = row if is_done else row._replace(nearest=far, packed_keys=packed)
        if (text := batch.texts[number]) is not None:
            texts[row.id] = text
    writer.insert(list(rows.values()), keys, found.crowded, texts)
    return rows


def _keys_of(lookup: Lookup, batch: Batch, number: int, found: Found) -> Sequence[KeyRow]:
    """The keys to store: for a document all whose bands are crowded its fingerprint too."""
    keys = batch.keys[number]
    slots = lookup.keys.slots
    if found.crowded and keys[0].slot == 0:
        full = [row in found.crowded for row in keys[:slots]]
        lookup.counts.crowded += any(full)
        if all(full):
            lookup.counts.exact_only += 1
            return [*keys, KeyRow(slots, crowd_key(batch.rows[number].fingerprint))]
    return keys


def _match(met: Met, bits: int) -> Match:
    """A claim that was met, as it is told."""
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
        merits=QualitySignals.unpack(row.merits, address_of(row.key, row.url)),
    )


def _nearest(found: Found, limit: int) -> dict[int, int]:
    """For each document the distance of the nearest claim that is beyond the limit."""
    nearest: dict[int, int] = {}
    beyond = found.distances > limit
    for number, distance in zip(
        found.documents[beyond].tolist(), found.distances[beyond].tolist(), strict=True
    ):
        nearest[number] = min(distance, nearest.get(number, distance))
    return nearest

"""A batch under the lock: what it meets, what is decided, what is written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_simhash.db.schema import PENDING
from scrapy_simhash.index.batch import KeyRow, exact_key
from scrapy_simhash.index.decide import Met, decide
from scrapy_simhash.index.verdict import Claim, Match, Verdict
from scrapy_simhash.simhash.measure import similarity_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from scrapy_simhash.db.lock import LockedNamespace
    from scrapy_simhash.index.batch import Batch, Row
    from scrapy_simhash.index.lookup import Lookup
    from scrapy_simhash.index.reader import Found
    from scrapy_simhash.index.verdict import SameUrl
    from scrapy_simhash.index.writer import Writer

__all__ = ["claim_batch", "nearest_claims"]


def claim_batch(
    connection: Connection,
    lookup: Lookup,
    writer: Writer,
    batch: Batch,
    held: LockedNamespace,
    *,
    now: float,
    same_url: SameUrl,
    retried: bool,
) -> list[Verdict]:
    """Decide on a batch, and write what it claims.

    Args:
        connection: in a transaction that holds the namespace's lock.
        lookup: of the namespace.
        writer: of the namespace.
        batch: the documents.
        held: what came with the lock: a number for each document's claim.
        now: seconds since the epoch.
        same_url: see :func:`decide`.
        retried: an earlier attempt may have been committed.
    """
    made = lookup.reader.made_before(connection, batch) if retried else {}
    newest = lookup.reader.newest(connection, {row.owner for row in batch.rows})
    found = lookup.reader.candidates(connection, batch)
    lookup.counts.candidates += len(found.claims)
    asked = [
        row._replace(id=number, created=now, seen=now)
        for row, number in zip(batch.rows, held.numbers, strict=True)
    ]
    decisions = decide(
        asked,
        _met(connection, lookup, batch, found, newest),
        batch.twins,
        newest=newest,
        made=made,
        limit=lookup.limit,
        same_url=same_url,
    )
    fresh = [
        number
        for number, decision in enumerate(decisions)
        if decision.claims and number not in made
    ]
    claims = {number: Claim(row.id, row._asdict()) for number, row in made.items()}
    claims |= _write(writer, lookup, batch, found, {number: asked[number] for number in fresh})
    writer.touch(
        [
            decision.match.claim.id
            for number, decision in enumerate(decisions)
            if decision.kind == "same" and number not in claims and decision.match
        ],
        now,
    )
    return [
        Verdict(
            decision.kind,
            match=_match(decision.match, lookup.bits) if decision.match else None,
            claim=claims.get(number),
        )
        for number, decision in enumerate(decisions)
    ]


def nearest_claims(connection: Connection, lookup: Lookup, batch: Batch, count: int) -> list[Match]:
    """The nearest claims that the keys of a batch of one document lead to."""
    found = lookup.reader.candidates(connection, batch)
    order = np.argsort(found.distances, kind="stable")[:count]
    rows = lookup.reader.details(connection, found.claims[order])
    near = zip(found.claims[order].tolist(), found.distances[order].tolist(), strict=True)
    return [
        _match(Met(distance, rows[claim]), lookup.bits) for claim, distance in near if claim in rows
    ]


def _met(
    connection: Connection,
    lookup: Lookup,
    batch: Batch,
    found: Found,
    newest: Mapping[tuple[int, int], int],
) -> list[list[Met]]:
    """For each document the claims within the limit, and its owner's newest version.

    That one is compared with even where no key meets.
    """
    near = found.distances <= lookup.limit
    met: list[list[Met]] = [[] for _ in batch.rows]
    if not near.any() and not newest:
        return met
    wanted = np.concatenate([found.claims[near], np.fromiter(newest.values(), np.int64)])
    rows = lookup.reader.details(connection, wanted)
    for number, claim, distance in zip(
        found.documents[near].tolist(),
        found.claims[near].tolist(),
        found.distances[near].tolist(),
        strict=True,
    ):
        if (row := rows.get(claim)) is not None:
            met[number].append(Met(distance, row))
    for number, mine in enumerate(batch.rows if newest else ()):
        last = rows.get(newest.get((mine.owner, mine.position), 0))
        if last is not None and all(last.id != other.claim.id for other in met[number]):
            met[number].append(Met(_apart(mine, last), last))
    return met


def _write(
    writer: Writer, lookup: Lookup, batch: Batch, found: Found, fresh: Mapping[int, Row]
) -> dict[int, Claim]:
    """Write the claims of some documents of a batch, given by their numbers."""
    nearest = _nearest(found, lookup.limit)
    keys: list[Sequence[int]] = []
    claims: dict[int, Claim] = {}
    for number, row in fresh.items():
        own = _keys_of(lookup, batch, number, found)
        keys.append(own)
        packed = None if row.packed_keys is None else np.array(own, "<i4").tobytes()
        written = row._replace(nearest=nearest.get(number), packed_keys=packed)
        claims[number] = Claim(row.id, written._asdict())
    texts = [
        (claim.id, 0, text)
        for number, claim in claims.items()
        if (text := batch.texts[number]) is not None
    ]
    writer.insert([claim.row for claim in claims.values()], keys, found.crowded, texts)
    return claims


def _keys_of(lookup: Lookup, batch: Batch, number: int, found: Found) -> list[int]:
    """The keys to store: for a document all whose bands are crowded its fingerprint too."""
    keys: list[int] = batch.keys[number].tolist()
    if found.crowded:
        full = [row in found.crowded for row in map(KeyRow._make, enumerate(keys))]
        lookup.counts.crowded += any(full)
        if all(full):
            lookup.counts.exact_only += 1
            keys.append(exact_key(batch.rows[number].fingerprint))
    return keys


def _match(met: Met, bits: int) -> Match:
    """A claim that was met, as it is told."""
    row = met.claim
    return Match(
        key=row.key,
        url=row.url,
        distance=met.distance,
        similarity=similarity_at(met.distance, bits),
        first_seen=datetime.fromtimestamp(row.created, UTC),
        claim=row.id,
        run=row.run,
        pending=row.state == PENDING,
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


def _apart(mine: Row, other: Any) -> int:
    fingerprints = (mine.fingerprint, other.fingerprint)
    one, two = (int.from_bytes(fingerprint, "big") for fingerprint in fingerprints)
    return (one ^ two).bit_count()

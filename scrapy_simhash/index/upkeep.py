"""Resets a namespace, deletes what is old, and stores what was left out and is restored by hand.

These changes survive a crash of the machine once they are reported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import RESTORED, SAME, ComparedBy, State
from scrapy_simhash.index.batch import document_row, keys_of, pack_keys
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.queries import claims_of, is_dead, is_valid
from scrapy_simhash.index.verdict import BY_HAND, ClaimRow, Document
from scrapy_simhash.index.writer import CHUNK, in_parts, writing
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.plan import Blocks, load_keys
from scrapy_simhash.simhash.scheme import Scheme, Sketch
from scrapy_simhash.text.packed import unpack_text


def reset_namespace(database: Database, name: str) -> None:
    """Delete a namespace with everything in it."""

    def reset(connection: sa.Connection) -> None:
        number = connection.scalar(
            sa.select(schema.namespaces.c.id).where(schema.namespaces.c.name == name)
        )
        if number is None:
            return
        lock(connection, number)
        for table in schema.metadata.sorted_tables:
            if "namespace" in table.c:
                connection.execute(sa.delete(table).where(table.c.namespace == number))
        connection.execute(sa.delete(schema.namespaces).where(schema.namespaces.c.id == number))

    database.transact(reset, durable=True)


def expire(index: Index, before: float) -> tuple[int, int]:
    """Delete what no visit has met since a time; returns how many claims, and how many copies.

    Items that are restored as their originals were not stored stay.
    """
    row, run, claim = schema.sightings.c, schema.runs.c, schema.claims.c
    later = schema.sightings.alias("later")
    is_met = sa.exists().where(
        *(later.c.namespace == row.namespace, later.c.claim == row.claim),
        # A claim's own sighting stays as long as the claim.
        *(sa.or_(later.c.identity == row.identity, row.id == row.claim), later.c.created >= before),
    )
    void = sa.exists().where(claim.namespace == row.namespace, claim.id == row.claim, ~is_valid())
    old = (
        sa.select(row.id, row.identity, row.claim, row.status, row.before, row.item_bytes)
        .where(row.namespace == index.id, row.created < before, ~is_met, ~row.orphaned, ~void)
        .where(~sa.exists().where(run.id == row.run, run.closed.is_(None), run.heartbeat >= before))
        .order_by(row.id)
        .limit(CHUNK)
    )
    has_later = sa.exists().where(
        *(later.c.namespace == claim.namespace, later.c.claim == claim.id),
        later.c.created >= before,
    )
    claims_deleted = copies_deleted = 0

    def delete_some(connection: sa.Connection) -> tuple[int, int, int]:
        with writing(connection, index.id) as writer:
            found = connection.execute(old).all()
            shown = {one.claim for one in found}
            claims = claims_of(connection, index.id, shown, claim.created < before, ~has_later)
            writer.delete(claims, orphaned=False)
            numbers = [one.id for one in found]
            writer.delete_texts(numbers)
            writer.delete_sightings(numbers, sum(one.item_bytes for one in found))
            identities = {one.identity for one in found}
            writer.delete_texts([one.before for one in found], unneeded_by=identities)
        return len(found), len(claims), sum(one.status == "copy" for one in found)

    more = 1
    while more:
        more, claims, copies = index.database.transact(delete_some, durable=True)
        claims_deleted, copies_deleted = claims_deleted + claims, copies_deleted + copies
    return claims_deleted, copies_deleted


def claims_at(index: Index, pattern: str) -> Sequence[int]:
    """The numbers of the stored items whose URLs fit a pattern; ``*`` stands for anything."""
    like = "%".join(re.sub("([%_/])", r"/\1", piece) for piece in pattern.split("*"))
    claim = schema.claims.c
    urls = schema.url_of(schema.claims), claim.key
    either = sa.or_(*(one.like(like, escape="/") for one in urls))
    query = sa.select(claim.id).where(claim.namespace == index.id, either)
    return index.database.read(lambda connection: connection.execute(query).scalars().all())


def forget_claims(index: Index, numbers: Sequence[int]) -> None:
    """Delete stored items, so that later crawls store them again."""

    def forget(part: Sequence[int], connection: sa.Connection) -> None:
        with writing(connection, index.id) as writer:
            writer.delete(claims_of(connection, index.id, part), orphaned=False)

    in_parts(partial(index.database.transact, durable=True), numbers, forget)


_row, _claim, _text = schema.sightings.c, schema.claims.c, schema.texts.c
_here = _row.namespace == sa.bindparam("here")
_content = sa.case((_row.text_digest.is_(None), _row.claim), else_=_row.id)

# What an item showed: what its claim has, which may be invalidated, where the sighting has nothing.
_SHOWN = ("digest", "text_digest", "facts")
_left_out = (
    sa.select(
        *(_row[name] for name in ("namespace", "id", "identity", "claim", "run", "listing")),
        *(_row[name] for name in ("origin", "since", "compared_by", "key")),
        *(sa.func.coalesce(_row[name], _claim[name]).label(name) for name in _SHOWN),
        _row.digest.label("own"),
        schema.url_of(schema.sightings),
        _text.id.label("place"),
        _text.text,
    )
    .select_from(
        schema.sightings.join(schema.runs, schema.runs.c.id == _row.run)
        .outerjoin(
            schema.claims, sa.and_(_claim.namespace == _row.namespace, _claim.id == _row.claim)
        )
        .outerjoin(schema.texts, sa.and_(_text.namespace == _row.namespace, _text.id == _content))
    )
    .where(_here, is_in(_row.id, "numbers"), _row.action.in_(("drop", SAME)))
    .where(_row.claim != _row.id, ~is_dead(schema.runs))
)

_store = (
    sa.update(schema.sightings)
    .where(_here, is_in(_row.id, "numbers"))
    .values(
        claim=_row.id,
        # The reported status is kept; but the next visit deletes sightings that are "unchanged".
        status=sa.case((_row.status == "unchanged", "copy"), else_=_row.status),
        meets=1,
        original=sa.case((_row.status == "moved", _row.original)),
        action=RESTORED,
        orphaned=False,
        **dict.fromkeys((*_SHOWN, "distance", "similarity")),
    )
)
_note = sa.update(schema.sightings).where(_here, is_in(_row.id, "numbers")).values(action=RESTORED)
# What its URL has shown since, where that is the same.
_later = (
    sa.update(schema.sightings)
    .where(_here, _row.identity == sa.bindparam("of"), _row.claim == sa.bindparam("stood"))
    .where(_row.id > sa.bindparam("number"), _row.digest.is_not_distinct_from(sa.bindparam("own")))
    .values(claim=sa.bindparam("number"))
)


def store_restored(
    database: Database,
    namespace: int,
    numbers: Sequence[int],
    *,
    bits: int,
    scheme: Scheme | None,
) -> None:
    """Make confirmed claims of dropped items that were restored, by the numbers of their sightings.

    Later visits recognise them by their identities and what they showed. Similar texts are copies
    of them, too, if their own texts are kept and the `scheme` of the namespace is given, whose
    fingerprints have `bits` bits.

    Items of a crawl that has died since are skipped. Those that equal an original whose claim is
    gone are noted as restored, and that is all.
    """

    def store(part: Sequence[int], connection: sa.Connection) -> None:
        here = {"here": namespace}
        with writing(connection, namespace) as writer:
            rows = connection.execute(_left_out, {**here, "numbers": part}).all()
            keys = load_keys(writer.plan)
            made = [_claim_of(row, keys, bits, scheme) for row in rows]
            claims = {claim.id: claim for claim in made if claim is not None}
            stored = [row for row in rows if row.id in claims]
            writer.insert([*claims.values()])
            writer.add_texts(
                {one.id: one.text for one in stored if one.text and one.place != one.id}
            )
            writer.store()
            connection.execute(_store, {**here, "numbers": [*claims]})
            left = [row.id for row in rows if row.id not in claims]
            connection.execute(_note, {**here, "numbers": left})
            for row in stored:
                of_url = {"of": row.identity, "stood": row.claim, "number": row.id, "own": row.own}
                connection.execute(_later, {**here, **of_url})

    in_parts(partial(database.transact, durable=True), numbers, store)


def _claim_of(row: Any, keys: Bands | Blocks, bits: int, scheme: Scheme | None) -> ClaimRow | None:
    """The claim of an item that was left out, by what its sighting has; None if that has nothing.

    It is compared as a whole if its text is not kept. Pages always are: of the rest of a page only
    the claim of its original has a sketch.
    """
    width, text = -(-bits // 8), None
    if scheme is not None and row.text is not None and row.compared_by == ComparedBy.TEXT:
        text, _ = unpack_text(row.text)
    if text is not None and scheme is not None:
        sketch = scheme.sketch(text)
    elif row.digest is not None:
        sketch = Sketch(int.from_bytes(row.digest[-width:], "big"), 0, None)
    else:
        return None
    document = Document(
        sketch, row.key, row.url, row.listing, alone=False, digest=row.digest, exact=text is None
    )
    claim = document_row(document, ClaimRow(run=row.run, state=State.CONFIRMED), width)
    if text is not None and keys.needs_shingles:
        claim = claim._replace(packed_keys=pack_keys(keys_of(document, keys)[: keys.slots]))
    return claim._replace(
        namespace=row.namespace,
        id=row.id,
        identity=row.identity,
        created=row.since,
        facts=row.facts,
        similar_claim=row.claim,
        differs=BY_HAND,
        origin=row.origin,
        text_digest=row.text_digest or 0,
    )

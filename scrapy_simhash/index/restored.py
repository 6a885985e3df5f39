"""Restored items: what was left out, and is stored by hand, gets a content of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import RESTORED, SAME, ComparedBy, State
from scrapy_simhash.index.batch import document_row, keys_of, pack_keys
from scrapy_simhash.index.queries import is_dead
from scrapy_simhash.index.verdict import BY_HAND, ClaimRow, Document
from scrapy_simhash.index.writer import Writer, in_parts
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.plan import Blocks, load_keys
from scrapy_simhash.simhash.scheme import Scheme, Sketch
from scrapy_simhash.text.packed import unpack_text

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

_is_moved = _row.status == "moved"
_store = (
    sa.update(schema.sightings)
    .where(_here, is_in(_row.id, "numbers"))
    .values(
        claim=_row.id,
        status=sa.case((_is_moved, "moved"), (_row.before != 0, "changed"), else_="new"),
        meets=1,
        original=sa.case((_is_moved, _row.original)),
        action=RESTORED,
        orphaned=False,
        **dict.fromkeys((*_SHOWN, "distance", "similarity")),
    )
)
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
    """Note that items which were left out are stored now, given by the numbers of their sightings.

    Later visits know them by their identities, and what they showed. Similar texts are copies of
    them, too, where their own are kept; `scheme` is that of the namespace, of so many `bits`, None
    if it is not at hand.

    Nothing is noted of what a crawl met that has died since, nor of a copy that equals an original
    whose claim was released.
    """

    def store(part: Sequence[int], connection: sa.Connection) -> None:
        held = lock(connection, namespace)
        writer = Writer(connection, namespace, held)
        rows = connection.execute(_left_out, {"here": namespace, "numbers": part}).all()
        keys = load_keys(held.plan)
        made = [_claim_of(row, keys, bits, scheme) for row in rows]
        claims = {claim.id: claim for claim in made if claim is not None}
        stored = [row for row in rows if row.id in claims]
        texts = {row.id: row.text for row in stored if row.text and row.place != row.id}
        writer.insert([*claims.values()])
        writer.add_texts(texts)
        if stored:
            here = {"here": namespace}
            connection.execute(_store, {**here, "numbers": [*claims]})
            later = [
                {**here, "of": row.identity, "stood": row.claim, "number": row.id, "own": row.own}
                for row in stored
            ]
            connection.execute(_later, later)
        writer.record()

    in_parts(database.transact, numbers, store)


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

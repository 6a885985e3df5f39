"""Items of pages that were not modified: what tells that they are stored as they are.

The text of such a page is the one that was compared when the page was downloaded. So an item that
was met since then, and has the digest that it had, is unchanged; nothing else has to be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.values import State
from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.decide import stands_for
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.index.queries import claims_where
from scrapy_simhash.index.verdict import ClaimRow, Document, Match, Verdict
from scrapy_simhash.index.writer import Writer

if TYPE_CHECKING:
    from scrapy_simhash.index.index import Index


class Unmodified(NamedTuple):
    """An item of a page that was not modified since a run downloaded it; without its text."""

    document: Document
    run: int


def meet(index: Index, items: Sequence[Unmodified]) -> list[Verdict | None]:
    """The verdict on each item that is unchanged; None for those that have to be compared.

    Raises as :meth:`Index.execute` does.
    """
    claim, claimant = schema.claims.c, index.run.claimant
    identities = [identity_hash(one.document.key) for one in items]
    conditions = is_in(claim.identity, "identities"), claim.state == State.CONFIRMED, is_valid()

    def find(connection: sa.Connection) -> list[ClaimRow]:
        return claims_where(connection, index.id, *conditions, identities=identities)

    found = {(row.identity, row.digest): row for row in index.database.read(find)}
    met: dict[int, ClaimRow] = {}
    for number, ((document, run), identity) in enumerate(zip(items, identities, strict=True)):
        claimed = found.get((identity, document.digest)) if document.digest else None
        # Made of this download or an earlier one, and found equal to it since.
        if claimed is not None and claimed.run <= run <= claimed.epoch:
            met[number] = claimed
    own = {
        number: claimant._replace(
            identity=row.identity,
            token=items[number].document.token,
            download=items[number].document.download or claimant.epoch,
            listing=items[number].document.listing,
        )
        for number, row in met.items()
    }
    touched = [stands_for(row, own[number]) for number, row in met.items()]
    if touched:
        index.database.transact(partial(_touch, index.id, touched, index.database.now()))
    claims = map(met.get, range(len(items)))
    return [None if one is None else _unchanged(one, index) for one in claims]


def _touch(
    namespace: int, claims: Sequence[ClaimRow], now: float, connection: sa.Connection
) -> None:
    writer = Writer(connection, namespace, lock(connection, namespace))
    writer.touch(claims, now)


def _unchanged(claim: ClaimRow, index: Index) -> Verdict:
    match = Match(claim, 0, 1.0, bits=index.scheme.bits)
    return Verdict(
        "same", match, status="unchanged", row=claim, before=claim, process=index.run.process
    )

"""Stored items and duplicates in their order, to decide on them again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Row, and_, case, func, or_, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.values import SAME, ComparedBy
from scrapy_simhash.history import sql
from scrapy_simhash.history.decisions import read_contents
from scrapy_simhash.history.record import NOTHING, Content
from scrapy_simhash.history.sql import NO_DROPS, NamespaceRow
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.names import name_of
from scrapy_simhash.simhash.scheme import Scheme, Sketch
from scrapy_simhash.text.markup import PAGE_FACTS

# Names that the rule treats specially; the index stores only hashes of names.
_PAGE_FACTS = {name_of(name).key: name for name in PAGE_FACTS}

# Texts read at once.
_PART = 200


def read_stored(namespace: NamespaceRow) -> list[Row[Any]]:
    """What a crawl has decided on, in its order, to decide on it again.

    `number` is that of the text of each. A page counts once, however many of its items were dropped
    for its text.
    """
    claim, row = sql.claims, sql.drops
    is_claim = row.id == row.claim
    is_decided = or_(
        and_(is_claim, claim.id.is_not(None)),
        and_(row.action.not_in((*NO_DROPS, SAME)), ~is_claim),
    )
    query = select(
        *(row.created, row.identity, row.key, row.compared_by, row.listing),
        sql.text_number.label("number"),
        is_claim.label("is_claim"),
        func.coalesce(row.digest, claim.digest).label("digest"),
        func.coalesce(row.facts, claim.facts).label("facts"),
        case((is_claim, claim.page_sketch)).label("page_sketch"),
        sql.short_url(schema.sightings).label("url"),
    )
    rows = namespace.read(
        query.select_from(sql.drops_with_claims)
        .where(row.namespace == namespace.id, is_decided)
        .order_by(row.id)
    )
    found = {row.number if row.is_claim else (row.identity, row.digest): row for row in rows}
    # The index decides on claims before what is left out for them.
    return sorted(found.values(), key=lambda row: (row.created, not row.is_claim, row.number))


def read_documents(
    namespace: NamespaceRow, rows: Sequence[Row[Any]], scheme: Scheme
) -> Iterator[list[Document | None]]:
    """The documents of stored rows, some at a time; None for one whose text is not kept."""
    for start in range(0, len(rows), _PART):
        part = rows[start : start + _PART]
        kept = read_contents(namespace, [row.number for row in part])
        yield [_document(row, kept.get(row.number, NOTHING), scheme) for row in part]


def _document(row: Row[Any], content: Content, scheme: Scheme) -> Document | None:
    if is_exact := row.compared_by == ComparedBy.EXACT:
        bits = min(scheme.bits, 8 * len(row.digest or b""))
        sketch = Sketch(int.from_bytes(row.digest or b"", "big") & (1 << bits) - 1, 0, None)
    else:
        sketch = scheme.sketch(content.text or "")
    if sketch.fingerprint is None:
        return None
    return Document(
        sketch,
        row.key,
        row.url,
        listing=row.listing,
        text=content.text,
        facts=None if row.facts is None else Facts(Facts.unpack(row.facts).records, _PAGE_FACTS),
        page_sketch=row.page_sketch,
        digest=row.digest,
        exact=is_exact,
    )

"""Pages: everything stored about one; texts, values and URLs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, Table, and_, func, or_, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import storable
from scrapy_simhash.history import sql
from scrapy_simhash.history.pairs import SAME, Pair, Place, read_newest
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.item.quality import address_of
from scrapy_simhash.simhash.measure import jaccard
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.text.packed import unpack_text


class Content(NamedTuple):
    """A text, and the short values of fields kept beside it."""

    text: str | None
    values: dict[str, str]


NOTHING = Content(None, {})


def read_contents(
    database: Database, namespace: NamespaceRow, wanted: Iterable[Place]
) -> dict[Place, Content]:
    """What is kept of stored items and duplicates."""
    pairs = set(wanted)
    row = schema.texts.c
    query = select(row.claim, row.duplicate, row.text).where(
        row.namespace == namespace.id,
        is_in(row.claim, "claims"),
        is_in(row.duplicate, "duplicates"),
    )
    claims, duplicates = ({pair[place] for pair in pairs} for place in (0, 1))
    found = sql.read(database, query, claims=claims, duplicates=duplicates) if pairs else ()
    return {
        (claim, duplicate): Content(*unpack_text(packed))
        for claim, duplicate, packed in found
        if (claim, duplicate) in pairs
    }


def read_texts(
    database: Database, namespace: NamespaceRow, wanted: Iterable[Place]
) -> dict[Place, str]:
    """The texts that are kept and can be read."""
    found = read_contents(database, namespace, wanted)
    return {place: content.text for place, content in found.items() if content.text}


def differing(
    mine: Mapping[str, str], theirs: Mapping[str, str], first: str | None = None
) -> dict[str, tuple[str | None, str | None]]:
    """The short values of two items that differ, by name; none if those of one are not kept."""
    names = sorted({*mine, *theirs}, key=lambda name: (name != first, name))
    both = {name: (theirs.get(name), mine.get(name)) for name in names if mine and theirs}
    return {name: values for name, values in both.items() if values[0] != values[1]}


def true_similarity(scheme: Scheme, *texts: str | None) -> float | None:
    """The similarity of two texts; None if one is not kept, or the scheme has no shingles."""
    one, other = (scheme.sketch(text).shingles if text else None for text in texts)
    return None if one is None or other is None else jaccard(one, other)


def with_values(
    database: Database, namespace: NamespaceRow, pairs: Sequence[Pair], scheme: Scheme
) -> Iterator[Pair]:
    """Pairs with the short values that differ, and the true similarity of texts that are kept."""
    kept = read_contents(database, namespace, {place for pair in pairs for place in pair.places})
    for pair in pairs:
        mine, theirs = (kept.get(place, NOTHING) for place in pair.places)
        found = pair._replace(fields=differing(mine.values, theirs.values, pair.differs))
        if pair.estimated or pair.similarity is None:
            similarity = true_similarity(scheme, mine.text, theirs.text)
            if similarity is not None:
                found = found._replace(similarity=similarity, estimated=False)
        yield found


def find_addresses(
    database: Database, namespaces: Iterable[NamespaceRow], part: str, *, limit: int
) -> list[tuple[str, str]]:
    """The addresses that contain a text, whatever its case, each with the namespace's name."""
    found: set[tuple[str, str]] = set()
    for namespace in namespaces:
        for table, conditions in (
            (schema.claims, sql.claims_of(namespace)),
            (schema.duplicates, sql.drops_of(namespace)),
        ):
            url = url_of(table)
            holds = (one.icontains(storable(part), autoescape=True) for one in (url, table.c.key))
            query = select(table.c.key, url).where(*conditions, or_(*holds)).distinct()
            rows = sql.read(database, query.order_by(url).limit(limit))
            found |= {(namespace.name, address_of(row.key, row.url)) for row in rows}
    return sorted(found)[:limit]


class PageHistory(NamedTuple):
    """Everything stored about a page.

    Its claims, each a version of it, the oldest first; the page as a duplicate of others or
    unchanged, or kept beside others; the newest duplicates of it, and the number of all.
    """

    claims: Sequence[Row[Any]]
    decisions: Sequence[Pair]
    duplicates: Sequence[Pair]
    duplicate_count: int


def read_page(
    database: Database,
    namespace: NamespaceRow,
    url: str,
    identities: Iterable[int],
    *,
    limit: int = 20,
) -> PageHistory:
    """Find a page by its URL or its identities.

    Identities have an index; for the URL the whole namespace is searched.
    """
    identities = list(identities)

    def is_of_page(table: Table) -> ColumnElement[bool]:
        return or_(url_of(table) == storable(url), is_in(table.c.identity, "identities"))

    columns = [column for column in sql.claims if column.name != "url"]
    own = select(*columns, url_of(schema.claims)).where(
        *sql.claims_of(namespace), is_of_page(schema.claims)
    )
    claims = sql.read(database, own.order_by(sql.claims.id), identities=identities)
    numbers = [claim.id for claim in claims]
    is_one = is_in(sql.claims.id, "numbers")
    is_copy = and_(is_in(sql.drops.claim, "numbers"), sql.drops.action != SAME)
    count = select(func.count()).where(*sql.drops_of(namespace), is_copy)
    is_own = is_of_page(schema.duplicates)
    return PageHistory(
        claims,
        [
            *read_newest(database, namespace, is_one, kept=True, limit=limit, numbers=numbers),
            *read_newest(database, namespace, is_own, limit=limit, identities=identities),
        ],
        read_newest(database, namespace, is_copy, limit=limit, numbers=numbers),
        sql.read(database, count, numbers=numbers)[0][0],
    )

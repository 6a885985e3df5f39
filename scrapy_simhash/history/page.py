"""What is stored about one page, and where it may be."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, Table, and_, func, or_, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.values import SAME, storable
from scrapy_simhash.history import sql
from scrapy_simhash.history.changes import read_changes
from scrapy_simhash.history.decisions import read_contents, read_decisions, with_contents
from scrapy_simhash.history.record import STATUSES, Record
from scrapy_simhash.history.sql import EVERYTHING, NamespaceRow, Selection
from scrapy_simhash.index.seen import ABSENT
from scrapy_simhash.item.keys import item_url, lister_of
from scrapy_simhash.simhash.scheme import Scheme

# Records of each kind that are read.
_SHOWN = 20


def find_addresses(
    namespaces: Iterable[NamespaceRow], part: str, *, limit: int
) -> list[tuple[str, str]]:
    """The addresses that contain a text, whatever its case, each with the namespace's name.

    The shortest come first. If the path of some ends in it, these alone. Behind "***", as which
    passwords are shown, anything may stand.
    """
    found: set[tuple[str, str]] = set()
    part = part.strip("/")
    escaped = (re.sub("([%_/])", r"/\1", piece) for piece in storable(part).split("***"))
    pattern = f"%{'%'.join(escaped)}%"
    for namespace in namespaces:
        url, key = url_of(schema.sightings), sql.drops.key
        is_found = or_(*(one.ilike(pattern, escape="/") for one in (url, key)))
        query = select(key, url, func.length(url).label("length")).distinct()
        query = query.where(sql.drops.namespace == namespace.id, is_found)
        found |= {
            (namespace.name, row.key if lister_of(row.key) else item_url(row.key, row.url))
            for row in namespace.read(query.order_by("length", "url").limit(limit))
        }
    exact = {one for one in found if one[1].rstrip("/").endswith(f"/{part}")}
    return sorted(exact or found, key=lambda one: (len(one[1]), one))[:limit]


class PageHistory(NamedTuple):
    """Everything stored about a page.

    Its claims, each a version of it, the oldest first, and their texts by number; its changes; the
    page as a duplicate of others or unchanged, or kept beside others; the newest duplicates of it,
    and the number of all.
    """

    claims: Sequence[Row[Any]]
    texts: Mapping[int, str | None]
    changes: Sequence[Record]
    decisions: Sequence[Record]
    duplicates: Sequence[Record]
    duplicate_count: int


def read_page(
    namespace: NamespaceRow,
    url: str,
    identities: Collection[int],
    selection: Selection = EVERYTHING,
    scheme: Scheme | None = None,
) -> PageHistory:
    """Find a page by its URL or its identities, with what is selected of its history.

    Identities have an index; for the URL the whole namespace is searched.
    """

    def is_of_page(table: Table) -> ColumnElement[bool]:
        return or_(url_of(table) == storable(url), table.c.identity.in_(identities))

    columns = [column for column in sql.claims if column.name != "url"]
    seen = (
        select(func.max(sql.drops.created))
        .where(sql.drops.namespace == sql.claims.namespace, sql.drops.claim == sql.claims.id)
        .where(sql.drops.status.not_in(ABSENT))
        .scalar_subquery()
    )
    own = select(*columns, url_of(schema.claims), seen.label("seen")).where(
        *sql.claims_of(namespace), is_of_page(schema.claims)
    )
    claims = namespace.read(own.order_by(sql.claims.id))
    numbers = [claim.id for claim in claims]
    is_one = is_in(sql.claims.id, "numbers")
    is_own = is_of_page(schema.sightings)
    # Also those of its earlier versions, whose claims are gone.
    is_copy = and_(is_in(sql.drops.origin, "groups"), sql.drops.action != SAME, ~is_own)
    chosen = selection.conditions(schema.sightings)
    counted = select(func.count()).where(*sql.drops_of(namespace), is_copy, *chosen)
    groups = {claim.origin for claim in claims}
    kept = read_contents(namespace, numbers)
    # Of copies, also those on other sites.
    read = partial(read_decisions, namespace, selection._replace(site=""), newest=_SHOWN)
    decisions = [*read(is_one, kept=True, numbers=numbers), *read(is_own)]
    duplicates = read(is_copy, groups=groups)
    return PageHistory(
        claims,
        {number: content.text for number, content in kept.items()},
        [*read_changes(namespace, selection, STATUSES, is_own)][-_SHOWN:],
        [*with_contents(namespace, decisions, scheme)],
        [*with_contents(namespace, duplicates, scheme)],
        namespace.read(counted, groups=groups)[0][0],
    )

"""What is stored of items: beside those they were copies of or kept beside, and of one page."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Row,
    Select,
    Table,
    and_,
    cast,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy import null as no_value

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.values import SAME, storable
from scrapy_simhash.features.shingles import similarity_of
from scrapy_simhash.history import sql
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.invalidated import is_orphan
from scrapy_simhash.item.facts import Values, without_repeated
from scrapy_simhash.item.quality import item_url, lister_of
from scrapy_simhash.simhash.measure import distance, jaccard, similarity_at
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.text.packed import unpack_text

#: The action on an item that was kept although another one is similar.
KEPT = "kept"

#: The number of a claim, and that of a duplicate of it or 0.
Place = tuple[int, int]

# Pairs that are read at once, and of one page.
_PAGE, _SHOWN = 200, 20


class Content(NamedTuple):
    """A text, and the short values of fields kept beside it."""

    text: str | None
    values: Mapping[str, str]


NOTHING = Content(None, MappingProxyType({}))


class Pair(NamedTuple):
    """An item that was dropped, or kept although it is similar, and the stored one.

    URLs and keys are cut. The action is "drop", "skip", "report", "same" for an unchanged page or
    "kept". The id is that of the duplicate, or of the kept item's claim; `claim` is that of the
    stored item, whose own columns are None if it was deleted: `original`, its URL, and those after
    it. Of a dropped item the URL and the group of the original (`origin`) are always known. What
    keeps the items apart is in `differs`, see :class:`Verdict`. The similarity is None if
    it is not known, and `estimated` if a text is not kept. Quality signals are packed. What is kept
    of both items is read by :func:`with_contents`.
    """

    id: int
    run: int
    created: float
    url: str
    key: str
    claim: int
    action: str
    differs: str
    compared_by: int
    distance: int | None
    similarity: float | None
    estimated: bool
    orphaned: bool
    has_item: bool
    quality: bytes
    original: str | None
    original_key: str | None
    original_quality: bytes | None
    first_seen: float | None
    origin: int | None
    mine: Content = NOTHING
    stored: Content = NOTHING

    @property
    def fields(self) -> dict[str, tuple[str | None, str | None]]:
        """The short values that differ, by name; none if those of one item are not kept."""
        return differing_values(self.mine.values, self.stored.values, self.differs)

    @property
    def places(self) -> tuple[Place, Place]:
        """Where the texts of both items are."""
        claim = self.claim or 0  # null only in a damaged database
        return (self.id, 0) if self.action == KEPT else (claim, self.id), (claim, 0)

    @property
    def addresses(self) -> tuple[str, str | None]:
        """The addresses of both items."""
        other = self.original_key and item_url(self.original_key, self.original or "")
        return item_url(self.key, self.url), other


class Change(NamedTuple):
    """Something that happened to a thing, one of `STATUSES`, when a run met it so or found it gone.

    It has its former address, if that was another; the similarity of both texts, if it is known;
    the old and the new short value of the fields that changed; where its new and its old text are;
    the site that lists it, if its address is of another one; and the texts themselves, if they are
    read by `with_contents`.
    """

    status: str
    url: str
    created: float
    run: int
    origin: str | None = None
    similarity: float | None = None
    fields: Mapping[str, Sequence[str | None]] = MappingProxyType({})
    places: tuple[Place, Place] = ((0, 0), (0, 0))
    lister: str = ""
    estimated: bool = False
    mine: Content = NOTHING
    stored: Content = NOTHING


_Row = TypeVar("_Row", Pair, Change)


def _short(text: ColumnElement[str]) -> ColumnElement[str]:
    return func.substr(text, 1, sql.LONGEST_URL)


def _select(table: FromClause, stored: FromClause, **own: ColumnElement[Any]) -> Select[Any]:
    """The columns of :class:`Pair`, then others."""
    columns = {
        **{name: table.c[name] for name in ("id", "run", "created", "compared_by", "quality")},
        "url": sql.short_url(table),
        "key": _short(table.c.key),
        "original": sql.short_url(stored),
        "original_key": _short(stored.c.key),
        "original_quality": stored.c.quality,
        "first_seen": stored.c.created,
        "origin": stored.c.origin,
        **own,
    }
    names = dict.fromkeys([*Pair._fields[:-2], *columns])
    return select(*(columns[name].label(name) for name in names))


#: Gives the columns of :class:`Pair` for duplicates, without contents.
select_dropped = _select(
    schema.duplicates,
    schema.claims,
    differs=literal(""),
    original=_short(func.coalesce(url_of(schema.claims), sql.drops.original)),
    original_key=_short(func.coalesce(sql.claims.key, sql.drops.original)),
    origin=sql.drops.origin,
    orphaned=is_orphan(),
    has_item=sql.drops.item.is_not(None),
    **{
        name: sql.drops[name] for name in ("claim", "action", "distance", "similarity", "estimated")
    },
).select_from(sql.drops_with_claims)

_MEASURED = ("fingerprint", "minhash", "text_digest")
_select_kept = _select(
    schema.claims,
    sql.others,
    claim=sql.claims.beside,
    action=literal(KEPT),
    differs=sql.claims.differs,
    orphaned=literal(value=False),
    has_item=literal(value=False),
    **dict.fromkeys(("distance", "similarity", "estimated"), no_value()),
    **{name: sql.claims[name] for name in _MEASURED},
    **{f"other_{name}": sql.others.c[name] for name in _MEASURED},
).select_from(sql.claims_with_others)


def _query(namespace: NamespaceRow, run: int | None, *, kept: bool) -> Select[Any]:
    if not kept:
        return select_dropped.where(*sql.drops_of(namespace, run))
    return _select_kept.where(*sql.claims_of(namespace, run), sql.claims.differs.is_not(None))


def read_newest(
    namespace: NamespaceRow,
    *conditions: ColumnElement[bool],
    kept: bool = False,
    limit: int | None = None,
    **numbers: Iterable[int],
) -> list[Pair]:
    """The newest so many that were dropped, or kept although similar, the oldest first.

    The conditions may have lists of numbers as parameters (see `is_in`).
    """
    number = (sql.claims if kept else sql.drops).id
    query = _query(namespace, None, kept=kept).where(*conditions).order_by(number.desc())
    return [_pair(row) for row in namespace.read(query.limit(limit), **numbers)][::-1]


def read_pairs(namespace: NamespaceRow, run: int, *, kept: bool) -> Iterator[list[Pair]]:
    """What a run dropped, or kept although it is similar, in its order, some at a time."""
    number = (sql.claims if kept else sql.drops).id
    query = _query(namespace, run, kept=kept)
    for rows in sql.read_in_pages(namespace, query, number, _PAGE):
        yield [_pair(row) for row in rows]


def _pair(row: Any) -> Pair:
    pair = Pair(*row[: len(Pair._fields) - 2])
    if pair.action != KEPT:
        return pair
    similarity, is_estimate = _similarity(row)
    return pair._replace(similarity=similarity, estimated=is_estimate)


def _similarity(row: Any) -> tuple[float | None, bool]:
    """The similarity of two stored items, and whether it is an estimate."""
    if row.text_digest and row.text_digest == row.other_text_digest:
        return 1.0, False
    if row.minhash is not None and row.other_minhash is not None:
        return similarity_of(row.minhash, row.other_minhash), True
    if row.other_fingerprint is None:
        return None, False
    prints = (int.from_bytes(one, "big") for one in (row.fingerprint, row.other_fingerprint))
    return similarity_at(distance(*prints), 8 * len(row.fingerprint)), True


def count(namespace: NamespaceRow, name: str) -> dict[int, Counter[Any]]:
    """How often a column has each value, by run: of duplicates their action, else of claims.

    Times are whole seconds.
    """
    columns, conditions = sql.claims, sql.claims_of(namespace)
    if name == "action":
        columns, conditions = sql.drops, sql.drops_of(namespace)
    column: ColumnElement[Any] = columns[name]
    value = cast(column, BigInteger) if name == "created" else column
    query = select(columns.run, value, func.count()).where(*conditions, column.is_not(None))
    found = defaultdict[int, Counter[Any]](Counter)
    for run, one, number in namespace.read(query.group_by(columns.run, value)):
        found[run][one] = number
    return found


def read_contents(namespace: NamespaceRow, wanted: Iterable[Place]) -> dict[Place, Content]:
    """What is kept of stored items and duplicates."""
    pairs = set(wanted)
    row = schema.texts.c
    query = select(row.claim, row.duplicate, row.text).where(
        row.namespace == namespace.id,
        is_in(row.claim, "claims"),
        is_in(row.duplicate, "duplicates"),
    )
    claims, duplicates = ({pair[place] for pair in pairs} for place in (0, 1))
    found = namespace.read(query, claims=claims, duplicates=duplicates) if pairs else ()
    return {
        (claim, duplicate): Content(*unpack_text(packed))
        for claim, duplicate, packed in found
        if (claim, duplicate) in pairs
    }


def differing_values(
    mine: Mapping[str, str], theirs: Mapping[str, str], first: str | None = None
) -> Values:
    """The short values of two items that differ, by name; none if those of one are not kept."""
    names = sorted({*mine, *theirs}, key=lambda name: (name != first, name))
    both = {name: (theirs.get(name), mine.get(name)) for name in names if mine and theirs}
    return without_repeated({name: one for name, one in both.items() if one[0] != one[1]}, first)


def with_contents(
    namespace: NamespaceRow, rows: Sequence[_Row], scheme: Scheme | None
) -> Iterator[_Row]:
    """Pairs or changes with what is kept of both items.

    Similarities that are unknown or estimates are computed, if both texts are kept and there is a
    scheme that has shingles.
    """
    kept = read_contents(namespace, {place for row in rows for place in row.places})
    for row in rows:
        mine, stored = (kept.get(place, NOTHING) for place in row.places)
        found = row._replace(mine=mine, stored=stored)
        if scheme and mine.text and stored.text and (row.estimated or row.similarity is None):
            one, other = (scheme.sketch(text).shingles for text in (mine.text, stored.text))
            if one is not None and other is not None:
                found = found._replace(similarity=jaccard(one, other), estimated=False)
        yield found


def find_addresses(
    namespaces: Iterable[NamespaceRow], part: str, *, limit: int
) -> list[tuple[str, str]]:
    """The addresses that contain a text, whatever its case, each with the namespace's name.

    Behind "***", as which passwords are shown, anything may stand.
    """
    found: set[tuple[str, str]] = set()
    escaped = (re.sub("([%_/])", r"/\1", piece) for piece in storable(part).split("***"))
    pattern = f"%{'%'.join(escaped)}%"
    for namespace in namespaces:
        for table, conditions in (
            (schema.claims, sql.claims_of(namespace)),
            (schema.duplicates, sql.drops_of(namespace)),
        ):
            url = url_of(table)
            holds = (one.ilike(pattern, escape="/") for one in (url, table.c.key))
            query = select(table.c.key, url).where(*conditions, or_(*holds)).distinct()
            rows = namespace.read(query.order_by(url).limit(limit))
            found |= {
                (namespace.name, row.key if lister_of(row.key) else item_url(row.key, row.url))
                for row in rows
            }
    return sorted(found)[:limit]


class PageHistory(NamedTuple):
    """Everything stored about a page.

    Its claims, each a version of it, the oldest first, and their texts by number; the page as a
    duplicate of others or unchanged, or kept beside others; the newest duplicates of it, and the
    number of all.
    """

    claims: Sequence[Row[Any]]
    texts: Mapping[int, str | None]
    decisions: Sequence[Pair]
    duplicates: Sequence[Pair]
    duplicate_count: int


def read_page(
    namespace: NamespaceRow, url: str, identities: Iterable[int], scheme: Scheme | None = None
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
    claims = namespace.read(own.order_by(sql.claims.id), identities=identities)
    numbers = [claim.id for claim in claims]
    is_one = is_in(sql.claims.id, "numbers")
    is_own = is_of_page(schema.duplicates)
    # Also those of its earlier versions, whose claims are gone.
    is_copy = and_(is_in(sql.drops.origin, "groups"), sql.drops.action != SAME, ~is_own)
    counted = select(func.count()).where(*sql.drops_of(namespace), is_copy)
    groups = {claim.origin for claim in claims}
    kept = read_contents(namespace, [(number, 0) for number in numbers])
    decisions = [
        *read_newest(namespace, is_one, kept=True, limit=_SHOWN, numbers=numbers),
        *read_newest(namespace, is_own, limit=_SHOWN, identities=identities),
    ]
    duplicates = read_newest(namespace, is_copy, limit=_SHOWN, groups=groups, identities=identities)
    return PageHistory(
        claims,
        {number: content.text for (number, _), content in kept.items()},
        [*with_contents(namespace, decisions, scheme)],
        [*with_contents(namespace, duplicates, scheme)],
        namespace.read(counted, groups=groups, identities=identities)[0][0],
    )

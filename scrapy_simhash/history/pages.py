"""Pages: everything that is known of one, with its texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, or_, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in, list_parameter, storable
from scrapy_simhash.history.drops import (
    Drop,
    claim_columns,
    drop_columns,
    drop_of,
    select_drops,
)
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.text.packed import unpack_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from sqlalchemy import Connection, Row, Select

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.history.namespaces import NamespaceRow

__all__ = ["PageHistory", "pages", "texts", "urls"]


def texts(
    database: Database, namespace: NamespaceRow, wanted: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], str]:
    """The texts that are kept; one that can't be read counts as gone.

    Args:
        database: where they are.
        namespace: in which one.
        wanted: a claim's number with 0 for its own text, or with the number of a duplicate.
    """
    row = schema.texts.c
    pairs = set(wanted)
    claims = sorted({claim for claim, _ in pairs})
    numbers = sorted({duplicate for _, duplicate in pairs})
    query = select(row.claim, row.duplicate, row.text).where(
        row.namespace == namespace.id,
        is_in(database.dialect, row.claim, "claims"),
        is_in(database.dialect, row.duplicate, "duplicates"),
    )

    def read(connection: Connection) -> dict[tuple[int, int], str]:
        found = connection.execute(
            query,
            {
                "claims": list_parameter(database.dialect, claims),
                "duplicates": list_parameter(database.dialect, numbers),
            },
        )
        return {
            (claim, duplicate): text
            for claim, duplicate, packed in found
            if (claim, duplicate) in pairs and (text := unpack_text(packed)) is not None
        }

    return database.read(read) if pairs else {}


def urls(
    database: Database, namespace: NamespaceRow, wanted: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], str]:
    """Where documents were found, asked for as in :func:`texts`."""
    pairs = set(wanted)
    of_claims = select(claim_columns.id, url_of(schema.claims)).where(
        claim_columns.namespace == namespace.id,
        is_in(database.dialect, claim_columns.id, "numbers"),
    )
    of_drops = select(drop_columns.claim, drop_columns.id, url_of(schema.duplicates)).where(
        drop_columns.namespace == namespace.id, is_in(database.dialect, drop_columns.id, "numbers")
    )

    def read(connection: Connection) -> dict[tuple[int, int], str]:
        claims = list_parameter(database.dialect, [claim for claim, number in pairs if not number])
        drops = list_parameter(database.dialect, [number for _, number in pairs if number])
        found = {(row[0], 0): row[1] for row in connection.execute(of_claims, {"numbers": claims})}
        found.update(
            {(row[0], row[1]): row[2] for row in connection.execute(of_drops, {"numbers": drops})}
        )
        return found

    return database.read(read)


@dataclass(frozen=True, slots=True)
class PageHistory:
    """Everything known of a page.

    Attributes:
        claims: its own claims, each a version of it, the oldest first.
        drops: when it was a near-duplicate itself.
        duplicates: the newest of what was a near-duplicate of it.
        duplicate_count: how many of those there are.
    """

    claims: Sequence[Row[Any]]
    drops: Sequence[Drop]
    duplicates: Sequence[Drop]
    duplicate_count: int


def pages(
    database: Database, namespace: NamespaceRow, url: str, owners: Iterable[int], *, limit: int = 20
) -> PageHistory:
    """Look a page up by its URL, its owner key or the number of its owner.

    The two latter have an index; the URL is searched for through the whole namespace.
    """
    owned = is_in(database.dialect, claim_columns.owner, "owners")
    parameters = {"owners": list_parameter(database.dialect, owners)}
    own: Select[Any] = (
        select(*(one for one in claim_columns if one.name != "url"), url_of(schema.claims))
        .where(
            claim_columns.namespace == namespace.id,
            or_(owned, url_of(schema.claims) == storable(url)),
            is_valid(),
        )
        .order_by(claim_columns.id)
    )
    dropped = select_drops.where(
        drop_columns.namespace == namespace.id,
        or_(
            url_of(schema.duplicates) == storable(url),
            is_in(database.dialect, drop_columns.owner, "owners"),
        ),
    ).order_by(drop_columns.id.desc())

    def read(connection: Connection) -> PageHistory:
        claims = connection.execute(own, parameters).all()
        itself = [drop_of(row) for row in connection.execute(dropped.limit(limit), parameters)]
        others = (
            drop_columns.namespace == namespace.id,
            is_in(database.dialect, drop_columns.claim, "numbers"),
        )
        numbers = {"numbers": list_parameter(database.dialect, [claim.id for claim in claims])}
        newest = select_drops.where(*others).order_by(drop_columns.id.desc()).limit(limit)
        return PageHistory(
            claims,
            itself,
            [drop_of(row) for row in connection.execute(newest, numbers)],
            connection.scalar(
                select(func.count()).select_from(schema.duplicates).where(*others), numbers
            )
            or 0,
        )

    return database.read(read)

"""Documents as arrays, in the order in which they were met, for a replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import func, select

from scrapy_simhash.history.drops import SAME, claim_columns, drop_columns, of_namespace

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.history.namespaces import NamespaceRow

__all__ = ["Documents", "documents"]


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """What was met, in the order in which it was: row i of each array belongs to document i.

    Attributes:
        fingerprints: shape (n, bytes), uint8, big-endian.
        owners: shape (n,), int64.
        sizes: shape (n,), int64: numbers of features.
        runs: shape (n,), int64.
        kept: shape (n,), bool: whether it was claimed rather than dropped.
        claims: shape (n,), int64: its claim, or the one it is a duplicate of.
        numbers: shape (n,), int64: 0, or its number as a duplicate.
        left_out: older documents that were not read.
    """

    fingerprints: NDArray[np.uint8]
    owners: NDArray[np.int64]
    sizes: NDArray[np.int64]
    runs: NDArray[np.int64]
    kept: NDArray[np.bool_]
    claims: NDArray[np.int64]
    numbers: NDArray[np.int64]
    left_out: int

    def __len__(self) -> int:
        return len(self.owners)


def documents(
    database: Database, namespace: NamespaceRow, run: int | None = None, *, limit: int
) -> Documents:
    """The stored fingerprints of claims and duplicates, for a replay.

    A page counts once, however many of its items were dropped, and what an owner's own earlier
    version stands for not at all.

    Args:
        database: where they are.
        namespace: in which one.
        run: up to the end of this run, which alone has its duplicates counted; otherwise all.
        limit: the newest so many claims, and as many duplicates.
    """
    columns = ("created", "owner", "run", "fingerprint", "size")
    of_claims = (
        select(*(claim_columns[name] for name in columns), claim_columns.id.label("claim"))
        .where(claim_columns.namespace == namespace.id)
        .order_by(claim_columns.id.desc())
        .limit(limit)
    )
    if run is not None:
        of_claims = of_claims.where(claim_columns.run <= run)
    of_drops = (
        select(*(drop_columns[name] for name in columns), drop_columns.claim, drop_columns.id)
        .where(*of_namespace(namespace, run), drop_columns.action != SAME)
        .order_by(drop_columns.id.desc())
        .limit(limit)
    )

    def read(connection: Connection) -> tuple[list[tuple[Any, ...]], int]:
        claims: list[tuple[Any, ...]] = [(*row, 0) for row in connection.execute(of_claims)]
        rows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for row in connection.execute(of_drops):
            rows[row.run, row.owner, row.fingerprint] = tuple(row)
        total = connection.scalar(
            select(func.count()).select_from(of_claims.limit(None).order_by(None).subquery())
        )
        return sorted([*claims, *rows.values()], key=lambda row: row[0]), total - len(claims)  # type: ignore[operator]

    rows, left_out = database.read(read)
    width = -(-namespace.bits // 8)
    packed = b"".join(bytes(row[3]) for row in rows)
    numbers = np.array(
        [(row[1], row[2], row[4], row[5], row[6]) for row in rows], np.int64
    ).reshape(-1, 5)
    owners, of_run, sizes, claims, duplicates = numbers.T
    return Documents(
        np.frombuffer(packed, np.uint8).reshape(-1, width),
        owners,
        sizes,
        of_run,
        duplicates == 0,
        claims,
        duplicates,
        left_out,
    )

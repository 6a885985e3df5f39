"""The tables and their version, and the one column that is read otherwise than it is stored.

Identifiers of claims are counted under the lock of the namespace: what serialises the writers also
numbers their claims, so no engine's way of generating keys matters, and no number is ever used
twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    func,
)
from sqlalchemy.dialects import mysql

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sqlalchemy import ColumnElement, Connection, FromClause

__all__ = [
    "ALL_VOID",
    "CONFIRMED",
    "EXACT",
    "MIGRATIONS",
    "NOT_VOID",
    "PAGE",
    "PENDING",
    "PENDING_VOID",
    "TEXT",
    "TEXT_LENGTH",
    "VERSION",
    "claims",
    "duplicates",
    "keys",
    "meta",
    "metadata",
    "namespaces",
    "runs",
    "texts",
    "url_of",
    "usage",
]

#: Of the tables below. A change of them raises it; from the first release on it adds a migration.
VERSION = 6

#: What brings the tables of a version to the next one. MariaDB commits every change of a table as
#: it is made, so each must be able to go on with what an earlier attempt left half done.
MIGRATIONS: dict[int, Callable[[Connection], None]] = {}

PENDING, CONFIRMED = 0, 1

#: Up to where the claims of a run count no more: none of them, those that pend, all.
NOT_VOID, PENDING_VOID, ALL_VOID = 0, 1, 2

#: What a claim was compared by: a text, the whole item to the letter, or the text of its page.
TEXT, EXACT, PAGE = 0, 1, 2

#: Characters that a column of the type Text holds on MariaDB, if each takes four bytes.
TEXT_LENGTH = 16_383

metadata = MetaData()

_MYSQL: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    # Names that differ in case only are different names.
    "mysql_collate": "utf8mb4_bin",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_bin",
}

# Up to 160 bits, big-endian; a fixed number of bytes for each scheme. Bytes know no sign, so no
# engine can lose the highest bit, and no width needs a column of its own.
_Fingerprint = LargeBinary(20).with_variant(mysql.VARBINARY(20), "mysql", "mariadb")
_Blob = LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
# 256 bytes, or 260.
_Sketch = LargeBinary(260).with_variant(mysql.VARBINARY(260), "mysql", "mariadb")
_Merits = LargeBinary(16).with_variant(mysql.VARBINARY(16), "mysql", "mariadb")
_LongText = Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")

meta = Table(
    "simhash_meta",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", String(255), nullable=False),
    **_MYSQL,
)

namespaces = Table(
    "simhash_namespaces",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(255), nullable=False, unique=True),
    Column("scheme", Text, nullable=False),
    # What is compared in it, as its first crawl had it.
    Column("compared", Text, nullable=False, default=""),
    # The id of its keys, and the slot of the first of them.
    Column("plan", String(255), nullable=False),
    Column("first_slot", SmallInteger, nullable=False, default=0),
    # While they are made anew: the id of the next ones, and the last claim that has them.
    Column("next_plan", String(255)),
    Column("rebuilt", BigInteger, nullable=False, default=0),
    Column("created", Double, nullable=False),
    # The last claim's number, updated first in every writing transaction, and what it holds. On
    # PostgreSQL these stay as they were at first: the newest are in the table below.
    Column("counter", BigInteger, nullable=False, default=0),
    Column("size", BigInteger, nullable=False, default=0),
    Column("text_bytes", BigInteger, nullable=False, default=0),
    Column("item_bytes", BigInteger, nullable=False, default=0),
    # A number is never used again: who still holds that of a namespace that was reset must fail.
    sqlite_autoincrement=True,
    **_MYSQL,
)

# On PostgreSQL alone, for which see `db.lock`: the last few hundred transactions of a namespace.
usage = Table(
    "simhash_usage",
    metadata,
    Column("namespace", Integer, primary_key=True, autoincrement=False),
    Column("counter", BigInteger, primary_key=True, autoincrement=False),
    Column("size", BigInteger, nullable=False),
    Column("text_bytes", BigInteger, nullable=False),
    Column("item_bytes", BigInteger, nullable=False),
    sqlite_with_rowid=False,
    **_MYSQL,
)

runs = Table(
    "simhash_runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("spider", String(255), nullable=False),
    Column("job", Text, nullable=False),
    Column("host", String(255), nullable=False),
    Column("process", String(64), nullable=False),
    Column("opened", Double, nullable=False),
    Column("heartbeat", Double, nullable=False),
    Column("closed", Double),
    Column("reason", Text),
    # The least number of the runs that were open together with this one: they are one visit.
    Column("generation", Integer, nullable=False, default=0),
    # What the run stored is known to be stored: its claims stand for good.
    Column("settled", Boolean, nullable=False, default=False),
    # Grows with every sign of life, whatever the clocks say.
    Column("beats", BigInteger, nullable=False, default=0),
    # When a look found that it was silent for too long: a second one, later, takes it for dead.
    Column("suspected", Double),
    # "release" or "keep": what becomes of its confirmed claims if it dies.
    Column("on_crash", String(16), nullable=False, default="release"),
    # When it was taken for dead, or closed without having stored what it claimed.
    Column("recovered", Double),
    # Claims in a state below this do not count any more, and are deleted by and by.
    Column("void", SmallInteger, nullable=False, default=0),
    Column("stats", _LongText),
    sqlite_autoincrement=True,
    **_MYSQL,
)

claims = Table(
    "simhash_claims",
    metadata,
    Column("namespace", Integer, primary_key=True, autoincrement=False),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    # 64 bits of the owner key's hash, to look it up by; the key itself is for people.
    Column("owner", BigInteger, nullable=False),
    # The document that made it, or was the last to be the same thing again: so that a transaction
    # that is repeated knows its own, and what else came in the same visit, from the same page.
    Column("token", BigInteger, nullable=False),
    Column("visit", BigInteger, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("fetch", BigInteger, nullable=False),
    Column("run", Integer, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("basis", SmallInteger, nullable=False),
    Column("fingerprint", _Fingerprint, nullable=False),
    Column("size", Integer, nullable=False),
    # The distance of the nearest claim that was met and was not a duplicate.
    Column("nearest", SmallInteger),
    Column("created", Double, nullable=False),
    Column("seen", Double, nullable=False),
    Column("key", _LongText, nullable=False),
    # Null where it is the key: see `url_of`.
    Column("url", _LongText),
    # Keys that can't be made from the fingerprint: 4 bytes each, little-endian.
    Column("packed_keys", LargeBinary(516).with_variant(mysql.VARBINARY(516), "mysql", "mariadb")),
    # Equal ones mean equal items.
    Column("digest", LargeBinary(16).with_variant(mysql.VARBINARY(16), "mysql", "mariadb")),
    # What it says beside its text: see `item.facts`; and what is compared where no text is kept.
    Column("facts", _Blob),
    Column("minhash", _Sketch),
    Column("rest", _Sketch),
    # The claim whose text was near, and what kept this one all the same.
    Column("beside", BigInteger),
    Column("differs", String(255)),
    # What may make a copy of it the better one: see `item.quality`.
    Column("merits", _Merits, nullable=False, default=b""),
    # The claim that its group began with: itself, or the first version of the same thing.
    Column("origin", BigInteger, nullable=False, default=0),
    sqlite_with_rowid=False,
    **_MYSQL,
)

# Who opens, and each that lives from time to time, looks for those that died.
Index("simhash_runs_settled", runs.c.settled)
Index("simhash_runs_void", runs.c.void)

# Each batch looks for what its owners claimed before.
Index("simhash_claims_owner", claims.c.namespace, claims.c.owner)
# What a run left behind is deleted in this order, whoever's the namespace is.
Index("simhash_claims_run", claims.c.run, claims.c.namespace, claims.c.id)

keys = Table(
    "simhash_keys",
    metadata,
    Column("namespace", Integer, primary_key=True, autoincrement=False),
    Column("slot", SmallInteger, primary_key=True, autoincrement=False),
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("claim", BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
    **_MYSQL,
)

duplicates = Table(
    "simhash_duplicates",
    metadata,
    Column("namespace", Integer, primary_key=True, autoincrement=False),
    # The time and a random tail: made by the writer, so that a retry can find its own.
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("run", Integer, nullable=False),
    Column("created", Double, nullable=False),
    Column("owner", BigInteger, nullable=False),
    Column("key", _LongText, nullable=False),
    # Null where it is the key: see `url_of`.
    Column("url", _LongText),
    Column("fingerprint", _Fingerprint, nullable=False),
    Column("size", Integer, nullable=False),
    Column("basis", SmallInteger, nullable=False),
    Column("digest", LargeBinary(16).with_variant(mysql.VARBINARY(16), "mysql", "mariadb")),
    Column("facts", _Blob),
    Column("minhash", _Sketch),
    Column("merits", _Merits, nullable=False, default=b""),
    Column("claim", BigInteger, nullable=False),
    Column("distance", SmallInteger, nullable=False),
    # The true Jaccard similarity, or its estimate where the claim's text was not kept.
    Column("similarity", Double, nullable=False),
    Column("estimated", Boolean, nullable=False),
    # "drop", "skip" or "report".
    Column("action", String(16), nullable=False),
    # The claim that it was dropped against was released: nothing stands for it any more.
    Column("orphaned", Boolean, nullable=False, default=False),
    # It says to the letter what the item of that claim says.
    Column("repeats", Boolean, nullable=False, default=False),
    Column("item_type", String(255)),
    Column("item", _Blob),
    # What it takes of the budget, and of whose share: 64 bits of its site's hash.
    Column("item_bytes", Integer, nullable=False, default=0),
    Column("site", BigInteger, nullable=False, default=0),
    sqlite_with_rowid=False,
    **_MYSQL,
)

# A claim that is released orphans its duplicates.
Index("simhash_duplicates_claim", duplicates.c.namespace, duplicates.c.claim)
Index("simhash_duplicates_run", duplicates.c.run)
# All that it takes to make room: no item is read for that.
Index(
    "simhash_duplicates_room",
    *(duplicates.c[name] for name in ("namespace", "id", "item_bytes", "site", "orphaned")),
    *(duplicates.c[name] for name in ("repeats", "claim")),
)

texts = Table(
    "simhash_texts",
    metadata,
    Column("namespace", Integer, primary_key=True, autoincrement=False),
    Column("claim", BigInteger, primary_key=True, autoincrement=False),
    # 0 for the claim's own text, else the duplicate whose text this is.
    Column("duplicate", BigInteger, primary_key=True, autoincrement=False),
    Column("text", _Blob, nullable=False),
    Column("bytes", Integer, nullable=False, default=0),
    Column("site", BigInteger, nullable=False, default=0),
    **_MYSQL,
)

# As above.
Index(
    "simhash_texts_room",
    *(texts.c[name] for name in ("namespace", "claim", "duplicate", "bytes", "site")),
)


def url_of(table: FromClause) -> ColumnElement[str]:
    """Where a claim or a duplicate was found, in a query of their table.

    An address that is the key as well is stored once. The column of the result is named "url".
    """
    return func.coalesce(table.c.url, table.c.key).label("url")

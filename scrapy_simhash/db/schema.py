"""The tables and their version.

Claims are numbered under the lock of their namespace, not by the engine: numbering works the same
on every engine, and no number is ever used twice.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    VARBINARY,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Double,
    FromClause,
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

#: The version of these tables, to be raised with every change. Others are refused.
VERSION = 10

#: Which claims of a run are invalidated: those in a state below this number.
NONE_INVALIDATED, PENDING_INVALIDATED, ALL_INVALIDATED = 0, 1, 2

#: Characters that fit into a Text column of MariaDB if each takes four bytes.
TEXT_LENGTH = 16_383

metadata = MetaData()

_MYSQL: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    # Names that differ only in case are different names.
    "mysql_collate": "utf8mb4_bin",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_bin",
}


def _bytes(length: int) -> LargeBinary:
    return LargeBinary(length).with_variant(VARBINARY(length), "mysql", "mariadb")


# Up to 160 bits, big-endian, of one width for each scheme. As bytes they have no sign bit to lose.
_Fingerprint = _bytes(20)
_Digest = _bytes(16)
# Larger than the type before, MariaDB makes it LONGBLOB or LONGTEXT.
_LONG = 1 << 24
_Blob = LargeBinary().with_variant(LargeBinary(_LONG), "mysql", "mariadb")
# 256 bytes, or 260.
_Sketch = _bytes(260)
_LongText = Text().with_variant(Text(_LONG), "mysql", "mariadb")

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
    # What its first crawl compared, in words.
    Column("compared", Text, nullable=False, default=""),
    # The id of its keys.
    Column("plan", String(255), nullable=False),
    Column("created", Double, nullable=False),
    # The largest claim number, updated first in each writing transaction, and the sizes. Not
    # updated on PostgreSQL: see `usage`.
    Column("counter", BigInteger, nullable=False, default=0),
    Column("size", BigInteger, nullable=False, default=0),
    Column("text_bytes", BigInteger, nullable=False, default=0),
    Column("item_bytes", BigInteger, nullable=False, default=0),
    # Numbers are not reused: a process that still holds the number of a reset namespace must fail.
    sqlite_autoincrement=True,
    **_MYSQL,
)

# PostgreSQL only, see `db.lock`: the counters after each of the last few hundred transactions.
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
    # Its JOBDIR, and a hash of the spider's arguments.
    Column("job", Text, nullable=False),
    Column("arguments", String(64), nullable=False, default=""),
    Column("host", String(255), nullable=False),
    Column("process", String(64), nullable=False),
    Column("opened", Double, nullable=False),
    Column("heartbeat", Double, nullable=False),
    Column("closed", Double),
    Column("reason", Text),
    # The crawl epoch: the smallest number of the runs that were open together with this one.
    Column("epoch", Integer, nullable=False, default=0),
    # Everything the run confirmed is known to be stored: its claims are final.
    Column("settled", Boolean, nullable=False, default=False),
    # Whether it met everything that it was to meet, as far as it came.
    Column("complete", Boolean, nullable=False, default=False),
    # Counts heartbeats, independent of clocks.
    Column("heartbeats", BigInteger, nullable=False, default=0),
    # When it was first found silent for too long; a second check later declares it dead.
    Column("suspected", Double),
    # "release" or "keep": what happens to its confirmed claims if it dies.
    Column("on_crash", String(16), nullable=False, default="release"),
    # When it was declared dead, or closed without having stored what it claimed.
    Column("recovered", Double),
    # Claims in a state below this are invalidated; they are deleted later in small steps.
    Column("invalidated", SmallInteger, nullable=False, default=0),
    Column("stats", _LongText),
    sqlite_autoincrement=True,
    **_MYSQL,
)

claims = Table(
    "simhash_claims",
    metadata,
    Column("namespace", Integer, primary_key=True, autoincrement=False),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    # 64 bits of a hash of the identity key, for look-ups; the key itself is for people.
    Column("identity", BigInteger, nullable=False),
    # The document that made the claim, or the last one that was the same item again. With them a
    # repeated transaction recognises its own claims, and documents of one visit or listing page.
    Column("token", BigInteger, nullable=False),
    Column("visit", BigInteger, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("listing", BigInteger, nullable=False),
    Column("run", Integer, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("compared_by", SmallInteger, nullable=False),
    Column("fingerprint", _Fingerprint, nullable=False),
    Column("size", Integer, nullable=False),
    # The distance of the nearest claim that was compared and was not a duplicate.
    Column("nearest", SmallInteger),
    Column("created", Double, nullable=False),
    Column("seen", Double, nullable=False),
    Column("key", _LongText, nullable=False),
    # Null if equal to the key: see `url_of`.
    Column("url", _LongText),
    # Keys that can't be computed from the fingerprint: 4 bytes each, little-endian.
    Column("packed_keys", _bytes(516)),
    # Equal for equal items.
    Column("digest", _Digest),
    # See `item.facts`; and the sketches compared where no text is stored.
    Column("facts", _Blob),
    Column("minhash", _Sketch),
    Column("page_sketch", _Sketch),
    # The claim with a similar text, and the difference that kept this one.
    Column("beside", BigInteger),
    Column("differs", String(255)),
    # Quality signals: see `item.quality`.
    Column("quality", _Digest, nullable=False, default=b""),
    # The first claim of its group: itself, or the first version of the same item.
    Column("origin", BigInteger, nullable=False, default=0),
    # 64 bits of a hash of the text.
    Column("text_digest", BigInteger, nullable=False, default=0),
    # The run that met the item last; 0 once it was found to be gone.
    Column("met", Integer, nullable=False, default=0),
    sqlite_with_rowid=False,
    **_MYSQL,
)

# Runs look for dead ones when they open, and from time to time.
Index("simhash_runs_settled", runs.c.settled)
Index("simhash_runs_invalidated", runs.c.invalidated)

# Each batch looks up earlier claims by identity. The end of a crawl finds what it did not meet: the
# other columns are there so that it reads no rows.
Index(
    "simhash_claims_identity",
    *(claims.c[name] for name in ("namespace", "identity", "met", "origin")),
)
# Invalidated claims of a run are deleted in this order, in all namespaces.
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
    # Time and random bits, chosen by the writer: a repeated transaction recognises its own rows.
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("run", Integer, nullable=False),
    Column("created", Double, nullable=False),
    Column("identity", BigInteger, nullable=False),
    Column("key", _LongText, nullable=False),
    # Null if equal to the key: see `url_of`.
    Column("url", _LongText),
    Column("fingerprint", _Fingerprint, nullable=False),
    Column("size", Integer, nullable=False),
    Column("compared_by", SmallInteger, nullable=False),
    Column("digest", _Digest),
    Column("text_digest", BigInteger, nullable=False, default=0),
    Column("facts", _Blob),
    Column("minhash", _Sketch),
    Column("quality", _Digest, nullable=False, default=b""),
    Column("claim", BigInteger, nullable=False),
    Column("distance", SmallInteger, nullable=False),
    # The Jaccard similarity, or its estimate if the claim's text is not stored.
    Column("similarity", Double, nullable=False),
    Column("estimated", Boolean, nullable=False),
    # "drop", "skip" or "report".
    Column("action", String(16), nullable=False),
    # The claim it was dropped for was released: nothing is stored in its place any more.
    Column("orphaned", Boolean, nullable=False, default=False),
    # Its item is exactly that of the claim.
    Column("repeats", Boolean, nullable=False, default=False),
    Column("item_type", String(255)),
    Column("item", _Blob),
    # What it takes of the budget, and 64 bits of a hash of its site.
    Column("item_bytes", Integer, nullable=False, default=0),
    Column("site", BigInteger, nullable=False, default=0),
    sqlite_with_rowid=False,
    **_MYSQL,
)

# Each batch looks up what was a duplicate when it was last met.
Index("simhash_duplicates_identity", duplicates.c.namespace, duplicates.c.identity)
# Releasing a claim marks its duplicates as orphaned.
Index("simhash_duplicates_claim", duplicates.c.namespace, duplicates.c.claim)
Index("simhash_duplicates_run", duplicates.c.run)
# Covers the queries that make room: they read no item.
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
    # 0 for the claim's own text, otherwise the duplicate whose text this is.
    Column("duplicate", BigInteger, primary_key=True, autoincrement=False),
    Column("text", _Blob, nullable=False),
    Column("bytes", Integer, nullable=False, default=0),
    Column("site", BigInteger, nullable=False, default=0),
    **_MYSQL,
)

# Covers the queries that make room.
Index(
    "simhash_texts_room",
    *(texts.c[name] for name in ("namespace", "claim", "duplicate", "bytes", "site")),
)


# What changed, moved, disappeared and came back: see `index.journal`.
changes = Table(
    "simhash_changes",
    metadata,
    Column("namespace", Integer, primary_key=True, autoincrement=False),
    # The token of the document: a repeated transaction recognises its own rows.
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("run", Integer, nullable=False),
    Column("created", Double, nullable=False),
    Column("status", String(16), nullable=False),
    Column("identity", BigInteger, nullable=False),
    Column("key", _LongText, nullable=False),
    # Null if equal to the key: see `url_of`.
    Column("url", _LongText),
    # Where it was before, if that was elsewhere.
    Column("moved_from", _LongText),
    # The claims whose texts it had before and has now; 0 where there is none. `before` belongs to
    # the duplicate of that number, if there is one.
    Column("claim", BigInteger, nullable=False),
    Column("before", BigInteger, nullable=False),
    Column("duplicate", BigInteger, nullable=False),
    Column("similarity", Double),
    # The short values that changed, as JSON.
    Column("fields", _Blob),
    sqlite_with_rowid=False,
    **_MYSQL,
)
Index("simhash_changes_created", changes.c.namespace, changes.c.created)


def url_of(table: FromClause) -> ColumnElement[str]:
    """The URL of a claim or a duplicate, for a query of their table; the column is named "url".

    A URL that is equal to the key is stored once.
    """
    return func.coalesce(table.c.url, table.c.key).label("url")

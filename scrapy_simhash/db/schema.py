"""The tables and their version.

Claims are numbered under the lock of their namespace, not by the engine: numbering works the same
on every engine, and no number is ever used twice.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import sqlalchemy as sa

#: The version of these tables, to be raised with every change. Others are refused.
VERSION = 1


class Invalidated(IntEnum):
    """Which claims of a run are invalidated: those in a :class:`State` below this number."""

    NONE = 0
    PENDING = 1
    ALL = 2


metadata = sa.MetaData()


@sa.event.listens_for(metadata, "before_create")
def _set_options(_metadata: sa.MetaData, connection: sa.Connection, **_options: object) -> None:
    """Set what servers have to know. As arguments of tables they would import their dialects."""
    # Names that differ only in case are different names.
    options = {"engine": "InnoDB", "charset": "utf8mb4", "collate": "utf8mb4_bin"}
    if (dialect := connection.dialect.name) in {"mysql", "mariadb"}:
        for table in metadata.tables.values():
            table.dialect_kwargs.update({f"{dialect}_{name}": options[name] for name in options})
    if dialect == "postgresql":
        _room.dialect_kwargs["postgresql_where"] = _has_item


# What SQLite expects of its indexes: rows in all, and for each first column the rows with one value
# of these. Without that it takes a namespace for a few rows, and reads all of them.
_STATISTICS = {
    "simhash_claims": {"": "1000000 1000000 1", "run": "1000000 1000 1000 1000 1"},
    "simhash_sightings": {
        "": "4000000 1000000 1",
        "identity": "4000000 1000000 4 2",
        "claim": "4000000 1000000 4 2",
        "run": "4000000 10000 10000 10000",
    },
}


@sa.event.listens_for(metadata, "after_create")
def _set_statistics(_metadata: sa.MetaData, connection: sa.Connection, **_options: object) -> None:
    if connection.dialect.name != "sqlite":
        return
    # Makes the table of statistics; a user's own tables are left alone.
    connection.exec_driver_sql(f"ANALYZE {meta.name}")
    for table, of_indexes in _STATISTICS.items():
        connection.exec_driver_sql("DELETE FROM sqlite_stat1 WHERE tbl = ?", (table,))
        for index, rows in of_indexes.items():
            named = (table, f"{table}_{index}" if index else table, rows)
            connection.exec_driver_sql("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", named)
    connection.exec_driver_sql("ANALYZE sqlite_schema")


def _table(name: str, *columns: sa.Column[Any] | sa.Index, **options: Any) -> sa.Table:
    return sa.Table(f"simhash_{name}", metadata, *columns, **options)


def _key(name: str, kind: type[sa.Integer]) -> sa.Column[int]:
    """A number of the primary key, which the writer chooses."""
    return sa.Column(name, kind, primary_key=True, autoincrement=False)


def _bytes(length: int) -> sa.LargeBinary:
    return sa.LargeBinary(length).with_variant(sa.VARBINARY(length), "mysql", "mariadb")


# Up to 160 bits, big-endian, of one width for each scheme. As bytes they have no sign bit to lose.
_Fingerprint = _bytes(20)
_Digest = _bytes(16)
# Larger than the type before, MariaDB makes it LONGBLOB or LONGTEXT.
_LONG = 1 << 24
_Blob = sa.LargeBinary().with_variant(sa.LargeBinary(_LONG), "mysql", "mariadb")
# 256 bytes, or 260.
_Sketch = _bytes(260)

meta = _table(
    "meta",
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("value", sa.String(255), nullable=False),
)

namespaces = _table(
    "namespaces",
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(255), nullable=False, unique=True),
    sa.Column("scheme", sa.Text, nullable=False),
    # What its first crawl compared, in words.
    sa.Column("compared", sa.Text, nullable=False, default=""),
    # The id of its keys.
    sa.Column("plan", sa.String(255), nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    # The largest claim number, updated first in each writing transaction, and the sizes.
    sa.Column("counter", sa.BigInteger, nullable=False, default=0),
    sa.Column("size", sa.BigInteger, nullable=False, default=0),
    sa.Column("text_bytes", sa.BigInteger, nullable=False, default=0),
    sa.Column("item_bytes", sa.BigInteger, nullable=False, default=0),
    # Numbers are not reused: a process that still holds the number of a reset namespace must fail.
    sqlite_autoincrement=True,
)

runs = _table(
    "runs",
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("spider", sa.String(255), nullable=False),
    # Its JOBDIR, and a hash of the spider's arguments.
    sa.Column("job", sa.Text, nullable=False),
    sa.Column("arguments", sa.String(64), nullable=False, default=""),
    sa.Column("host", sa.String(255), nullable=False),
    sa.Column("process", sa.String(64), nullable=False),
    sa.Column("opened", sa.Double, nullable=False),
    sa.Column("heartbeat", sa.Double, nullable=False),
    sa.Column("closed", sa.Double),
    sa.Column("reason", sa.Text),
    # Its visit: the smallest number of the runs that were open together with this one.
    sa.Column("visit", sa.Integer, nullable=False, default=0),
    # Everything the run confirmed is known to be stored: its claims are final.
    sa.Column("settled", sa.Boolean, nullable=False, default=False),
    # Whether it met everything that it was to meet, as far as it came.
    sa.Column("complete", sa.Boolean, nullable=False, default=False),
    # "release" or "keep": what happens to its confirmed claims if it dies.
    sa.Column("on_crash", sa.String(16), nullable=False, default="release"),
    # The token of its last transaction: see `Run.transact`.
    sa.Column("signed", sa.BigInteger, nullable=False, default=0),
    # When it was declared dead, or closed without having stored what it claimed.
    sa.Column("recovered", sa.Double),
    # Claims in a state below this are invalidated; they are deleted later in small steps.
    sa.Column("invalidated", sa.SmallInteger, nullable=False, default=0),
    sa.Column("stats", sa.Text().with_variant(sa.Text(_LONG), "mysql", "mariadb")),
    # Runs look for dead ones when they open, and from time to time.
    sa.Index("simhash_runs_settled", "settled"),
    sa.Index("simhash_runs_invalidated", "invalidated"),
    sqlite_autoincrement=True,
)

# What is stored, or about to be. Written once; only the state changes.
claims = _table(
    "claims",
    _key("namespace", sa.Integer),
    _key("id", sa.BigInteger),
    # 64 bits of a hash of the identity key, for look-ups; the key itself is for people.
    sa.Column("identity", sa.BigInteger, nullable=False),
    # The download of the page that lists it with others; 0 if there is none.
    sa.Column("listing", sa.BigInteger, nullable=False),
    # Whether its page has no other item.
    sa.Column("alone", sa.Boolean, nullable=False),
    sa.Column("run", sa.Integer, nullable=False),
    sa.Column("state", sa.SmallInteger, nullable=False),
    sa.Column("compared_by", sa.SmallInteger, nullable=False),
    sa.Column("fingerprint", _Fingerprint, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    # The distance of the nearest claim that was compared and was not a duplicate.
    sa.Column("nearest", sa.SmallInteger),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    # Null if equal to the key: see `url_of`.
    sa.Column("url", sa.Text),
    # Keys that can't be computed from the fingerprint: 4 bytes each, little-endian.
    sa.Column("packed_keys", _bytes(516)),
    # Equal for equal items.
    sa.Column("digest", _Digest),
    # See `item.facts`; and the sketches compared where no text is stored.
    sa.Column("facts", _Blob),
    sa.Column("minhash", _Sketch),
    sa.Column("page_sketch", _Sketch),
    # The claim with a similar text, and the difference that kept this one.
    sa.Column("similar_claim", sa.BigInteger),
    sa.Column("differs", sa.String(255)),
    # The first claim of its group: itself, or the first version of the same item.
    sa.Column("origin", sa.BigInteger, nullable=False, default=0),
    # 64 bits of a hash of the text.
    sa.Column("text_digest", sa.BigInteger, nullable=False, default=0),
    # The claims that it was stored in place of, and those that these were: 8 bytes each.
    sa.Column("came_of", _bytes(128)),
    # The end of a run looks for what is pending, and finds it without the rest.
    sa.Index("simhash_claims_run", "run", "state", "namespace", "id"),
    sqlite_with_rowid=False,
)

keys = _table(
    "keys",
    _key("namespace", sa.Integer),
    # With its slot, see `index.batch.slotted`.
    _key("key", sa.BigInteger),
    _key("claim", sa.BigInteger),
    sqlite_with_rowid=False,
)

# What each visit met, and what it found missing. Numbered like claims, and together with them: the
# sighting of an item that was stored has the number of its claim.
sightings = _table(
    "sightings",
    # As far as `facts`, in the order of `index.verdict.Sighting`.
    _key("namespace", sa.Integer),
    _key("id", sa.BigInteger),
    sa.Column("identity", sa.BigInteger, nullable=False),
    # What the item was stored as, is unchanged since, or is a copy of.
    sa.Column("claim", sa.BigInteger, nullable=False),
    sa.Column("run", sa.Integer, nullable=False),
    sa.Column("visit", sa.Integer, nullable=False),
    # See `index.seen`.
    sa.Column("status", sa.String(16), nullable=False),
    # 1 if the visit has met the claim by it, so that later items may be copies of that.
    sa.Column("meets", sa.SmallInteger, nullable=False, default=0),
    sa.Column("listing", sa.BigInteger, nullable=False, default=0),
    # The first claim of the group.
    sa.Column("origin", sa.BigInteger, nullable=False),
    # Since when its URL shows this.
    sa.Column("since", sa.Double, nullable=False),
    sa.Column("compared_by", sa.SmallInteger, nullable=False),
    # The number of what was there before, and under which identity; 0 for nothing. Of a new item
    # the identity is that of a similar one.
    sa.Column("before", sa.BigInteger, nullable=False, default=0),
    sa.Column("source", sa.BigInteger, nullable=False, default=0),
    sa.Column("key", sa.Text, nullable=False),
    # Null if equal to the key: see `url_of`.
    sa.Column("url", sa.Text),
    # What the item showed; null where that is what its claim has.
    sa.Column("digest", _Digest),
    sa.Column("text_digest", sa.BigInteger),
    sa.Column("facts", _Blob),
    sa.Column("created", sa.Double, nullable=False),
    # How similar it is to what it was compared with: its original, or what was there before. The
    # Jaccard similarity is an estimate if no text was stored.
    sa.Column("distance", sa.SmallInteger),
    sa.Column("similarity", sa.Double),
    sa.Column("estimated", sa.Boolean, nullable=False, default=False),
    # Where it was before, if elsewhere; or the original of a copy: its claim may be gone.
    sa.Column("original", sa.Text),
    # The short values that changed, as JSON.
    sa.Column("fields", _Blob),
    # It was said to be gone before.
    sa.Column("back", sa.Boolean, nullable=False, default=False),
    # "drop", "report" or "same" if the crawl has left the item out, or would have.
    sa.Column("action", sa.String(16), nullable=False, default=""),
    # The claim it was dropped for was released: nothing is stored in its place any more.
    sa.Column("orphaned", sa.Boolean, nullable=False, default=False),
    sa.Column("item_type", sa.String(255)),
    sa.Column("item", _Blob),
    # What it takes of the budget.
    sa.Column("item_bytes", sa.Integer, nullable=False, default=0),
    # Each batch looks up what its identities have shown before, and which claims are met.
    sa.Index("simhash_sightings_identity", "namespace", "identity", "visit"),
    sa.Index("simhash_sightings_claim", "namespace", "claim", "meets"),
    sa.Index("simhash_sightings_run", "run", "namespace", "orphaned"),
    sqlite_with_rowid=False,
)
# The oldest items, which make room: without the sightings whose items are gone.
_has_item = sightings.c.item_bytes > sa.literal_column("0")
_room = sa.Index(
    "simhash_sightings_room",
    *(sightings.c[name] for name in ("namespace", "id", "item_bytes")),
    sqlite_where=_has_item,
)

texts = _table(
    "texts",
    _key("namespace", sa.Integer),
    # The number of the claim, or of the sighting if it has no claim of its own.
    _key("id", sa.BigInteger),
    # Before the text, so that making room reads no text.
    sa.Column("bytes", sa.Integer, nullable=False, default=0),
    sa.Column("text", _Blob, nullable=False),
)


def url_of(table: sa.FromClause) -> sa.ColumnElement[str]:
    """The URL of a claim or a sighting, for a query of their table; the column is named "url".

    A URL that is equal to the key is stored once.
    """
    return sa.func.coalesce(table.c.url, table.c.key).label("url")

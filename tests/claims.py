"""Claims and the rows of an index, for tests."""

from __future__ import annotations

import random

from sqlalchemy import Table, func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import Document, LeftOut, Verdict


def article(seed: int, words: int = 120) -> str:
    rng = random.Random(seed)
    return " ".join(f"word{rng.randrange(5000)}" for _ in range(words))


def edited(text: str) -> str:
    """With one word in the middle changed: a similarity of about .97."""
    words = text.split()
    words[len(words) // 2] = "changed"
    return " ".join(words)


def rows(db: Database, table: Table) -> int:
    return db.read(lambda connection: connection.scalar(select(func.count()).select_from(table)))


def assert_no_trace(db: Database) -> None:
    for table in (schema.claims, schema.keys, schema.texts):
        assert rows(db, table) == 0, table.name


def leave_out(
    index: Index, document: Document, item: bytes = b"item", item_type: str = "dict"
) -> Verdict:
    """Claim a copy and drop it; returns the verdict."""
    (verdict,) = index.execute([document])
    index.execute(left_out=[LeftOut(verdict, "drop", item, item_type)])
    return verdict


def remember(index: Index, number: int, item: bytes = b"x" * 1000, *, seed: int = 0) -> Verdict:
    """Drop a copy of an article, which is stored first unless it is."""
    text = article(seed)
    verdict = index.claim(text, key=f"original {seed}")
    if verdict.claim is not None:
        index.confirm(verdict)
    return leave_out(index, index.document(text, key=f"copy {number}"), item)

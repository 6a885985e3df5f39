"""Claims and the rows of an index, for tests."""

from __future__ import annotations

import random
from typing import Any

from sqlalchemy import Table, func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import Document, Duplicate

BITS = 128


def article(seed: int, words: int = 120) -> str:
    rng = random.Random(seed)
    return " ".join(f"word{rng.randrange(5000)}" for _ in range(words))


def edited(text: str) -> str:
    """With one word in the middle changed: a similarity of about .97."""
    words = text.split()
    words[len(words) // 2] = "changed"
    return " ".join(words)


def flipped(fingerprint: int, bits: int, seed: int = 0) -> int:
    for bit in random.Random(seed).sample(range(BITS), bits):
        fingerprint ^= 1 << bit
    return fingerprint


def rows(db: Database, table: Table) -> int:
    return db.read(lambda connection: connection.scalar(select(func.count()).select_from(table)))


def assert_no_trace(db: Database) -> None:
    for table in (schema.claims, schema.keys, schema.texts):
        assert rows(db, table) == 0, table.name


def claim_version(index: Index, text: str, key: str = "a", download: int = 1) -> Any:
    document = Document(index.scheme.sketch(text), key, download=download, text=text)
    return index.execute([document])[0]


def remember(index: Index, number: int, match: Any = None, item: bytes = b"x" * 1000) -> Any:
    if match is None:
        index.claim(article(0), key="a")
        match = index.claim(article(0), key="b").match
    document = index.document(article(0), key=f"copy {number}")
    index.execute(duplicates=[Duplicate(document, match, "drop", item, "dict")])
    return match

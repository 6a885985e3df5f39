"""Pages and near-duplicates in an index, and the rows of its file, for tests."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from loopback import prose

from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.index.verdict import Duplicate


def changed(text, words):
    """A text with a number of its words replaced."""
    parts = text.split()
    for place in range(words):
        parts[place * 7] = f"other{place}"
    return " ".join(parts)


def fill(index, *, action="drop", edits=3):
    """Store three pages and two near-duplicates of the second; returns the texts of the pages."""
    texts = [prose(number, 200) for number in range(3)]
    documents = [
        index.document(text, key=f"page {number}", url=f"http://a.test/{number}")
        for number, text in enumerate(texts)
    ]
    index.confirm(*index.execute(claims=documents))
    for number in (1, 2):
        copy = index.document(
            changed(texts[1], edits * number - edits),
            key=f"copy {number}",
            url=f"http://b.test/{number}",
        )
        (verdict,) = index.execute(claims=[copy])
        assert verdict.kind == "duplicate"
        packed = pack({"url": copy.url, "title": "雪 \ud800"})
        index.execute(duplicates=[Duplicate(copy, verdict.match, action, *packed)])
    return texts


def meet(index, pages):
    """Claim a text at each URL, and store the duplicates."""
    for url, seed in pages:
        document = index.document(prose(seed), key=url, url=url)
        (verdict,) = index.execute(claims=[document])
        if verdict.kind == "duplicate":
            index.execute(duplicates=[Duplicate(document, verdict.match, "drop")])
        else:
            index.confirm(verdict)


def rows_of(database, query):
    """The result of a query on a database file."""
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


def change(database, statement):
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(statement)

"""Pages and near-duplicates in an index, and what stands in its file, for tests."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from loopback import prose

from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.index.verdict import Duplicate


def changed(text, words):
    """A text with so many of its words replaced."""
    parts = text.split()
    for place in range(words):
        parts[place * 7] = f"other{place}"
    return " ".join(parts)


def fill(index, *, action="drop"):
    """Three pages, of which the second has two near-duplicates; gives their texts."""
    texts = [prose(number, 200) for number in range(3)]
    documents = [
        index.document(text, key=f"page {number}", url=f"http://a.test/{number}")
        for number, text in enumerate(texts)
    ]
    index.confirm(*index.execute(claims=documents))
    for number in (1, 2):
        copy = index.document(
            changed(texts[1], 3 * number - 3), key=f"copy {number}", url=f"http://b.test/{number}"
        )
        (verdict,) = index.execute(claims=[copy])
        assert verdict.kind == "duplicate"
        packed = pack({"url": copy.url, "title": "雪 \ud800"})
        index.execute(duplicates=[Duplicate(copy, verdict.match, action, *packed)])
    return texts


def meet(index, pages):
    """Ask for a claim on a text at each address, and remember what is a duplicate."""
    for url, seed in pages:
        document = index.document(prose(seed), key=url, url=url)
        (verdict,) = index.execute(claims=[document])
        if verdict.kind == "duplicate":
            index.execute(duplicates=[Duplicate(document, verdict.match, "drop")])
        else:
            index.confirm(verdict)


def rows_of(database, query):
    """What a query gives of a file."""
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


def change(database, statement):
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(statement)

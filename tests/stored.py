"""Pages and near-duplicates in an index, and the rows of its file, for tests."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from decided import facts_of
from loopback import prose

from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.index.verdict import LeftOut


def changed(text, words):
    """A text with a number of its words replaced."""
    parts = text.split()
    for place in range(words):
        parts[place * 7] = f"other{place}"
    return " ".join(parts)


def store(index, text, url, values=None, *, key=None, item=None, action="drop"):
    """Claim an item, and confirm the claim or drop the duplicate; returns the verdict."""
    facts = facts_of(values) if values else None
    document = index.document(text, key=key or url, url=url, facts=facts)
    document.values = values or {}
    (verdict,) = index.execute(claims=[document])
    if verdict.kind == "duplicate":
        packed = pack(item) if item else ()
        index.execute(left_out=[LeftOut(verdict, action, *packed)])
    else:
        index.confirm(verdict)
    return verdict


def fill(index, *, action="drop", edits=3):
    """Store three pages and two near-duplicates of the second; returns the texts of the pages."""
    texts = [prose(number, 200) for number in range(3)]
    for number, text in enumerate(texts):
        store(index, text, f"http://a.test/{number}", key=f"page {number}")
    for number in (1, 2):
        copy, url = changed(texts[1], edits * number - edits), f"http://b.test/{number}"
        item = {"url": url, "title": "雪 \ud800"}
        verdict = store(index, copy, url, key=f"copy {number}", item=item, action=action)
        assert verdict.kind == "duplicate"
    return texts


def meet(index, pages):
    """Store a text at each URL."""
    for url, seed in pages:
        store(index, prose(seed), url)


def rows_of(database, query):
    """The result of a query on a database file."""
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


def change(database, statement):
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(statement)

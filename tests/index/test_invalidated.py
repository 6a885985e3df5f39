"""Claims of a dead run, which count no more although their rows are still there."""

from __future__ import annotations

import random
from typing import Any

import pytest
from claims import article
from servers import ENGINES
from sqlalchemy import update

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.keys.plan import HOT_KEY
from scrapy_simhash.simhash.scheme import Sketch

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def invalidated(db: Database, run: Run, state: int = schema.Invalidated.ALL) -> None:
    """One statement, as when the run was found dead."""
    change = (
        update(schema.runs)
        .where(schema.runs.c.id == run.id)
        .values(invalidated=state, recovered=1.0)
    )
    db.transact(lambda connection: connection.execute(change))


def test_those_that_pend_or_all_of_them_count_no_more(db: Database) -> None:
    run = Run.open(db)
    index, other = Index(db, run=run), Index(db)
    for number in range(3):
        index.claim(article(number), key=str(number))
    index.confirm(index.claim(article(9), key="9"))
    invalidated(db, run, schema.Invalidated.PENDING)
    assert [other.claim(article(n), key=f"x {n}").kind for n in (0, 9)] == ["unique", "duplicate"]
    invalidated(db, run)
    assert other.claim(article(9), key="y").kind == "unique"


@pytest.mark.parametrize("known", ["pass", "drop"])
def test_nobody_is_a_version_of_what_counts_no_more(db: Database, known: Any) -> None:
    """What the last visit that counts was shown is what an item is compared with."""
    rule = Rule(known=known)
    with Index(db, rule=rule) as index:
        index.confirm(index.claim(article(1), key="a"))
    run = Run.open(db)
    dead = Index(db, run=run, rule=rule)
    changed = dead.claim(article(2), key="a")
    dead.confirm(changed, dead.claim(article(3), key="b"))
    assert changed.status == "changed"
    invalidated(db, run)
    run.abandon()
    with Index(db, rule=rule) as index:
        told = [index.claim(article(seed), key=key) for seed, key in ((1, "a"), (3, "b"))]
        assert [one.status for one in told] == ["unchanged", "new"]
        assert told[1].claim is not None


def test_invalidated_claims_make_no_key_hot(db: Database) -> None:
    """Or the pages of a crawl that died could not be distinguished when they are crawled again."""
    run = Run.open(db)
    dead = Index(db, run=run)
    shingles, chance = dead.scheme.sketch(article(1)).shingles, random.Random(1)

    def documents(what: str) -> list[Document]:
        return [
            Document(Sketch(chance.getrandbits(128), 119, shingles), f"{what} {number}")
            for number in range(HOT_KEY)
        ]

    for start in range(0, HOT_KEY, 20):
        dead.execute(documents("dead")[start : start + 20])
    alive = Index(db)
    invalidated(db, run)
    alive.execute(documents("alive")[:3])
    assert alive.lookup.counts["index/hot_keys"] == 0
    again = Index(db)
    again.execute(documents("others")[: HOT_KEY - 3])
    again.execute(documents("last")[-1:])
    assert again.lookup.counts["index/hot_keys"] > 0, "the valid claims make it hot"

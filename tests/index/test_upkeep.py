"""Forgetting, on every engine that there is a server of."""

from __future__ import annotations

from typing import Any

import pytest
from claims import article, remember, rows
from servers import ENGINES
from sqlalchemy import func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import NotFound
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.upkeep import expire, reset_namespace
from scrapy_simhash.index.verdict import LeftOut

pytestmark = pytest.mark.parametrize("engine", ENGINES)


@pytest.mark.parametrize("known", [None, "pass", "drop"])
def test_what_was_not_met_since_expires(db: Database, known: Any) -> None:
    rule, now = Rule(known=known), db.now()
    with Index(db, rule=rule) as index:
        index.confirm(*(index.claim(article(n), key=f"{n}") for n in (1, 2)))
    db.now = lambda: now + 1000  # type: ignore[method-assign]
    with Index(db, rule=rule) as index:
        assert index.claim(article(2), key="2").kind == "same"
        index.confirm(index.claim(article(3), key="3"))
        assert expire(index, now + 500) == (1, 0)
        assert len(index) == 2
        kinds = [index.claim(article(n), key=f"other {n}").kind for n in (1, 2, 3)]
        assert kinds == ["unique", "duplicate", "duplicate"]


def test_copies_expire_with_their_items_and_texts_and_leave_no_orphans(db: Database) -> None:
    index, now = Index(db), db.now()
    remember(index, 1)
    remember(index, 2, seed=1)
    assert expire(index, now - 1000) == (0, 0)
    db.now = lambda: now + 1000  # type: ignore[method-assign]
    remember(index, 3, seed=1)
    assert expire(index, now + 500) == (1, 2)
    row = schema.sightings.c
    left = select(row.key).where(row.action == "drop", ~row.orphaned).order_by(row.id)
    assert db.read(lambda connection: connection.scalars(left).all()) == ["copy 3"]
    assert_books_are_right(db)


def assert_books_are_right(db: Database) -> None:
    """What is counted in a namespace is what is there."""
    name, item, text = schema.namespaces.c, schema.sightings.c, schema.texts.c
    counted = select(name.size, name.item_bytes, name.text_bytes)
    there = (
        select(func.count()).select_from(schema.claims).scalar_subquery(),
        select(func.coalesce(func.sum(func.length(item.item)), 0)).scalar_subquery(),
        select(func.coalesce(func.sum(func.length(text.text)), 0)).scalar_subquery(),
    )
    assert db.read(lambda one: one.execute(counted).one()) == db.read(
        lambda one: one.execute(select(*there)).one()
    )


def test_an_orphan_does_not_expire(db: Database) -> None:
    index = Index(db)
    first = index.claim(article(0), key="a")
    remember(index, 1)
    index.release(first)
    assert expire(index, db.now() + 1)[1] == 0
    orphans = select(func.count()).where(schema.sightings.c.item.is_not(None))
    assert db.read(lambda connection: connection.scalar(orphans)) == 1


def test_a_copy_of_what_a_dead_run_had_claimed_does_not_expire_before_it_is_an_orphan(
    db: Database,
) -> None:
    run, now = Run.open(db), db.now()
    dead = Index(db, run=run)
    dead.confirm(dead.claim(article(0), key="a"))
    with Index(db) as index:
        remember(index, 1)
        remember(index, 2, seed=1)
    run.abandon()
    db.now = lambda: now + 1000  # type: ignore[method-assign]
    with Index(db) as index:
        recovery = index.run.recovery
        assert expire(index, now + 500) == (1, 1)
        recovery.clear(9)
        row = schema.sightings.c
        kept = select(row.key, row.orphaned).where(row.item.is_not(None))
        assert db.read(lambda connection: connection.execute(kept).all()) == [("copy 1", True)]
        assert_books_are_right(db)


def test_versions_expire_with_their_texts(db: Database) -> None:
    now = db.now()
    for visit in (1, 2, 3):
        db.now = lambda visit=visit: now + 1000 * visit  # type: ignore[method-assign]
        with Index(db, rule=Rule(known="drop")) as index:
            index.confirm(index.claim(f"{article(visit)}", key="a"))
    assert (len(index), rows(db, schema.texts), rows(db, schema.sightings)) == (3, 3, 3)
    for before, left in ((500, (3, 3)), (2500, (1, 1)), (3500, (0, 0))):
        expire(index, now + before)
        assert (rows(db, schema.texts), rows(db, schema.sightings)) == left
        assert_books_are_right(db)


@pytest.mark.parametrize("is_made_anew", [False, True])
def test_who_still_holds_a_namespace_that_was_reset_goes_on_in_the_new_one(
    db: Database, is_made_anew: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """What it had claimed before was forgotten with it: the numbers are those of others now."""
    index = Index(db, namespace="one")
    stored, dropped = (index.claim(article(n), key=str(n)) for n in range(2))
    copy = index.claim(article(0), key="copy")
    reset_namespace(db, "one")
    other = Index(db, namespace="one") if is_made_anew else index
    made = other.claim_many({"text": article(n), "key": f"new {n}"} for n in (5, 6))
    assert [verdict.kind for verdict in made] == ["unique", "unique"]
    assert {verdict.claim.id for verdict in made if verdict.claim} & {
        verdict.claim.id for verdict in (stored, dropped) if verdict.claim
    }
    index.execute(confirm=[stored], release=[dropped])
    with pytest.raises(NotFound, match="the namespace was reset"):
        index.execute(left_out=[LeftOut(copy, "drop", b"item", "dict")])
    assert "was reset while in use" in caplog.text
    assert index.id == other.id
    assert len(other) == 2
    assert db.read(lambda c: list(c.execute(select(schema.claims.c.state)).scalars())) == [0, 0]
    assert index.claim(article(5), key="again").kind == "duplicate"

"""Forgetting, on every engine that there is a server of."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from claims import article, assert_no_trace, claim_version, edited, remember, rows
from servers import ENGINES
from sqlalchemy import func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.upkeep import (
    delete_outdated,
    expire_changes,
    expire_claims,
    expire_duplicates,
    reset_namespace,
)
from scrapy_simhash.index.verdict import Duplicate

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def test_claims_older_than_asked_expire_unless_they_were_seen_again(db: Database) -> None:
    index = Index(db, run=Run.open(db))
    now = db.now()
    index.confirm(claim_version(index, article(1), key="old"))
    index.confirm(claim_version(index, article(2), key="seen again"))
    db.now = lambda: now + 1000  # type: ignore[method-assign]
    assert claim_version(index, article(2), key="seen again", download=2).kind == "same"
    index.claim(article(3), key="new")
    assert expire_claims(index, now + 500) == 1
    assert len(index) == 2
    kinds = [index.claim(article(n), key="other").kind for n in (1, 2, 3)]
    assert kinds == ["unique", "duplicate", "duplicate"]


def test_what_expired_leaves_no_orphans(db: Database) -> None:
    index = Index(db)
    remember(index, 1)
    assert expire_claims(index, db.now() + 1) == 1
    orphaned = db.read(lambda connection: connection.scalar(select(schema.duplicates.c.orphaned)))
    assert not orphaned


def test_drops_older_than_asked_are_forgotten_with_their_items_and_texts(db: Database) -> None:
    index = Index(db)
    remember(index, 1)
    assert expire_duplicates(index, db.now() - 1000) == 0
    assert rows(db, schema.duplicates) == 1
    assert expire_duplicates(index, db.now() + 1) == 1
    assert rows(db, schema.duplicates) == 0
    # The claim keeps its own text, and the books agree with what is there.
    assert rows(db, schema.texts) == len(index) == 1
    text = db.read(lambda connection: connection.scalar(select(func.length(schema.texts.c.text))))
    books = select(schema.namespaces.c.text_bytes, schema.namespaces.c.item_bytes)
    assert tuple(db.read(lambda connection: connection.execute(books).one())) == (text, 0)


def test_an_orphan_is_not_forgotten(db: Database) -> None:
    index = Index(db)
    first = index.claim(article(0), key="a")
    remember(index, 1, index.claim(article(0), key="b").match)
    index.release(first)
    assert expire_duplicates(index, db.now() + 1) == 0
    assert rows(db, schema.duplicates) == 1


def test_what_changed_is_forgotten_with_the_texts_kept_for_it(db: Database) -> None:
    for visit in (1, 2, 3):
        run = Run.open(db)
        index = Index(db, run=run, rule=Rule(known="drop"))
        index.confirm(claim_version(index, f"{article(1)} version {visit}", download=visit))
        delete_outdated(index)
        run.close(settled=True, reason="finished")
    assert (len(index), rows(db, schema.texts), rows(db, schema.changes)) == (1, 3, 2)
    expire_changes(index, db.now() - 1000)
    assert (rows(db, schema.texts), rows(db, schema.changes)) == (3, 2)
    times = select(schema.changes.c.created).order_by(schema.changes.c.created)
    last = db.read(lambda connection: connection.execute(times).scalars().all())[-1]
    size = select(func.sum(func.length(schema.texts.c.text)))
    counted = select(schema.namespaces.c.text_bytes)
    # The text of the second visit is the older one of what is still noted.
    for before, left in ((last, (2, 1)), (last + 1, (1, 0))):
        expire_changes(index, before)
        assert (rows(db, schema.texts), rows(db, schema.changes)) == left
        assert db.read(lambda c: c.scalar(counted)) == db.read(lambda c: c.scalar(size))


def test_thousands_of_claims_expire(blocks: Callable[..., Index]) -> None:
    index = blocks(rule=Rule(distance=0))
    index.claim_many({"fingerprint": n, "key": str(n)} for n in range(2100))
    assert expire_claims(index, index.database.now() + 1) == 2100
    assert len(index) == 0
    assert_no_trace(index.database)


def test_a_reset_forgets_one_namespace(db: Database) -> None:
    index, other = Index(db, namespace="one", rule=Rule(known="drop")), Index(db, namespace="two")
    for visit, text in enumerate((article(5), edited(article(5)))):
        index.confirm(claim_version(index, text, key="changed", download=visit + 1))
    assert rows(db, schema.changes) == 1
    remember(index, 1)
    other.claim(article(1), key="a")
    reset_namespace(db, "one")
    reset_namespace(db, "never made")
    assert rows(db, schema.changes) == 0
    again = Index(db, namespace="one")
    assert len(again) == 0
    assert len(other) == 1
    assert again.claim(article(0), key="a").kind == "unique"
    assert rows(db, schema.duplicates) == 0


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
    document = index.document(article(0), key="copy")
    index.execute(
        confirm=[stored],
        release=[dropped],
        duplicates=[Duplicate(document, copy.match, "drop", b"item", "dict")],
    )
    assert "was reset while in use" in caplog.text
    assert index.id == other.id
    assert len(other) == 2
    assert rows(db, schema.claims) == 2
    assert db.read(lambda c: list(c.execute(select(schema.claims.c.state)).scalars())) == [0, 0]
    assert db.read(lambda c: c.scalar(select(schema.duplicates.c.orphaned)))
    assert index.claim(article(5), key="again").kind == "duplicate"

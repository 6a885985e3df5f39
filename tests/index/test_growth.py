"""What a namespace stores after many visits, and what the runs of one visit know of each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from claims import article, edited, rows
from decided import facts_of
from servers import ENGINES
from sqlalchemy import select

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.upkeep import expire
from scrapy_simhash.index.verdict import LeftOut, Verdict
from scrapy_simhash.text.packed import unpack_text

pytestmark = [
    pytest.mark.parametrize("engine", ENGINES),
    pytest.mark.parametrize("known", ["pass", "drop"]),
]

TABLES = (schema.claims, schema.keys, schema.sightings, schema.texts)
VISITS = 20


def visit(
    db: Database, known: Any, pages: dict[str, str], spider: str = "", *, complete: bool = True
) -> list[str | None]:
    """Crawl pages, given by their keys; returns what each is."""
    run = Run.open(db, spider=spider)
    index = Index(db, run=run, rule=Rule(known=known))
    verdicts = index.execute(
        [
            index.document(text, key=key, url=f"http://{key}", facts=facts_of({"title": "One"}))
            for key, text in pages.items()
        ]
    )
    index.confirm(*(one for one in verdicts if not one.has_old_claim))
    index.execute(left_out=[LeftOut(one, "same") for one in verdicts if not one.claim])
    run.close(settled=True, reason="finished", complete=complete)
    return [one.status for one in verdicts]


def sizes(db: Database) -> list[int]:
    return [rows(db, table) for table in TABLES]


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("spiders", ["a", "ab"])
@pytest.mark.parametrize(
    "page",
    [
        lambda _: article(1),
        # A counter, which is no version.
        lambda number: f"{article(1)} {number + 100} views",
    ],
    ids=["equal", "counter"],
)
def test_a_site_that_does_not_change_takes_no_more_room(
    db: Database, known: str, page: Callable[[int], str], spiders: str, *, complete: bool
) -> None:
    found: list[list[int]] = []
    for number in range(VISITS):
        pages = {"a.com/1": page(number), "a.com/copy": page(number), "a.com/2": article(2)}
        told = visit(db, known, pages, spiders[number % len(spiders)], complete=complete)
        found.append(sizes(db))
        if number > 1:
            assert told == ["unchanged"] * 3
    assert list(map(max, *found[-6:])) == list(map(max, *found[-12:-6]))
    claims, _, sightings, texts = found[-1]
    assert claims <= 6
    assert sightings <= 3 * (2 + len(spiders))
    assert texts <= sightings


@pytest.mark.parametrize("complete", [True, False])
def test_a_page_that_changes_each_time_takes_the_keys_of_its_last_versions(
    db: Database, known: str, *, complete: bool
) -> None:
    for number in range(VISITS):
        told = visit(db, known, {"a.com/1": article(number)}, complete=complete)
        assert told == ["changed" if number else "new"]
    claims, keys, sightings, texts = sizes(db)
    assert claims <= 3
    assert keys <= 3 * keys // claims
    assert (sightings, texts) == (VISITS, VISITS), "what each visit has told"


def test_the_text_before_a_change_stays(db: Database, known: str) -> None:
    texts = [f"{article(1)} {number + 100} views" for number in range(3)]
    for text in (*texts, *[article(2)] * 3):
        visit(db, known, {"a.com/1": text})
    changed = select(schema.sightings.c.before).where(schema.sightings.c.status == "changed")
    kept = select(schema.texts.c.text).where(schema.texts.c.id.in_(changed))
    (packed,) = db.read(lambda connection: connection.scalars(kept).all())
    assert unpack_text(packed)[0] == texts[-1]
    expire(Index(db), db.now() + 1)
    assert sizes(db) == [0, 0, 0, 0]


def test_the_runs_of_a_visit_know_at_once_what_the_others_meet(db: Database, known: str) -> None:
    rule = Rule(known=known)
    with Index(db, rule=rule) as index:
        index.confirm(index.claim(article(1), key="a"), index.claim(article(1), key="copy of a"))
    one, other = (Index(db, rule=rule, run=Run.open(db)) for _ in range(2))
    assert one.run.visit == other.run.visit

    def told(index: Index, text: str, key: str) -> tuple[str | None, bool]:
        verdict: Verdict = index.claim(text, key=key)
        return verdict.status, verdict.claim is not None

    assert told(one, article(2), "new") == ("new", True)
    assert told(other, article(2), "copy of new") == ("copy", False)
    assert told(one, article(3), "a") == ("changed", True)
    assert told(other, edited(article(3)), "copy of a") == ("copy", False)
    assert told(other, article(3), "a")[1] is False

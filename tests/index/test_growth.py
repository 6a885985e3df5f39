"""What a namespace stores after many visits, and what the runs of one visit know of each other."""

from __future__ import annotations

from typing import Any

import pytest
from claims import article, rows
from decided import facts_of
from servers import ENGINES
from sqlalchemy import select

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.upkeep import expire
from scrapy_simhash.index.verdict import LeftOut
from scrapy_simhash.text.packed import unpack_text

pytestmark = [
    pytest.mark.parametrize("engine", ENGINES),
    pytest.mark.parametrize("known", ["pass", "drop"]),
]

TABLES = (schema.claims, schema.keys, schema.sightings, schema.texts)
VISITS = 12


def visit(
    db: Database,
    known: Any,
    pages: dict[str, str],
    spider: str = "",
    *,
    complete: bool = True,
    refused: str = "",
    **how: Any,
) -> list[str | None]:
    """Crawl pages, given by their keys; returns what each is. One may be refused by a pipeline."""
    run = Run.open(db, spider=spider)
    index = Index(db, run=run, rule=Rule(known=known))
    more = {"facts": facts_of({"title": "One"}), **how}
    documents = [
        index.document(text, key=key, url=f"http://{key}", **more) for key, text in pages.items()
    ]
    verdicts = index.execute(documents)
    index.release(*(one for one, key in zip(verdicts, pages, strict=True) if key == refused))
    stored = zip(verdicts, pages, strict=True)
    index.confirm(*(one for one, key in stored if not (one.has_old_claim or key == refused)))
    index.execute(left_out=[LeftOut(one, "same") for one in verdicts if not one.claim])
    run.close(settled=True, reason="finished", complete=complete)
    return [one.status for one in verdicts]


def sizes(db: Database) -> list[int]:
    return [rows(db, table) for table in TABLES]


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize(("spiders", "has_counter"), [("a", False), ("ab", True)])
def test_a_site_that_does_not_change_takes_no_more_room(
    db: Database, known: str, spiders: str, has_counter: bool, complete: bool
) -> None:
    """A counter is no version."""
    found: list[list[int]] = []
    for number in range(VISITS):
        page = f"{article(1)} {number + 100} views" if has_counter else article(1)
        pages = {"a.com/1": page, "a.com/copy": page, "a.com/2": article(2)}
        told = visit(db, known, pages, spiders[number % len(spiders)], complete=complete)
        found.append(sizes(db))
        if number > 1:
            assert told == ["unchanged"] * 3
    assert list(map(max, *found[-4:])) == list(map(max, *found[-8:-4]))
    claims, _, sightings, texts = found[-1]
    assert claims <= 6
    assert sightings <= 3 * (2 + len(spiders) + (not complete))
    assert texts <= sightings


def test_an_item_that_is_always_refused_takes_no_more_room(db: Database, known: str) -> None:
    pages, found = {"a.com/1": article(1), "a.com/2": article(2)}, list[list[int]]()
    for _ in range(VISITS):
        visit(db, known, pages, refused="a.com/2")
        found.append(sizes(db))
    assert found[-1] == found[-4]


@pytest.mark.parametrize("texts", [VISITS, 2])
def test_texts_beside_the_values_of_an_item_take_no_more_room(
    db: Database, known: str, texts: int
) -> None:
    own = {"facts": facts_of({"title": "One", "price": "5"}), "digest": b"d" * 16}
    found: list[list[int]] = []
    for number in range(VISITS):
        page = article(number % texts)
        pages = {"a.com/1": page, "b.com/1": page, "b.com/2": article(99)}
        told = visit(db, known, pages, page_sketch=b"p" * 260, **own)
        found.append(sizes(db))
        if number > 1:
            assert told == ["unchanged"] * 3
    assert list(map(max, *found[-4:])) == list(map(max, *found[-8:-4]))


def test_a_page_that_changes_each_time_takes_the_keys_of_its_last_versions(
    db: Database, known: str
) -> None:
    for number in range(VISITS):
        told = visit(db, known, {"a.com/1": article(number)}, complete=False)
        assert told == ["changed" if number else "new"]
    claims, keys, sightings, texts = sizes(db)
    assert claims <= 3
    assert keys <= 3 * keys // claims
    assert (sightings, texts) == (VISITS, VISITS), "what each visit has told"


def test_a_change_is_told_once_after_many_visits_with_other_counters(
    db: Database, known: str
) -> None:
    for number in range(24):
        page = f"{article(1)} {number + 100} views"
        visit(db, known, {"a.com/1": page, "b.com/1": page})
    corrected = f"{article(1)} with a correction at its end, 200 views"
    told = visit(db, known, {"a.com/1": corrected, "b.com/1": corrected})
    assert told == ["changed", "copy"]


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

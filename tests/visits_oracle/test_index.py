"""The index says of every history what the oracle says."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, permutations
from pathlib import Path

import pytest
from crawl.visit_cases import MODES
from servers import ENGINES, cleared_database
from visits_oracle.cases import VISIT_CASES, VisitCase
from visits_oracle.contents import Content, Item
from visits_oracle.history import Reader, play
from visits_oracle.index_judge import IndexJudge
from visits_oracle.oracle import Oracle
from visits_oracle.random_histories import random_history, read_lines

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.runs import Run

in_both_modes = pytest.mark.parametrize("mode", MODES)
#: Cases whose last visit has something in its order.
ORDERS = [
    "Three contents under one URL in each crawl",
    "A repost of what an API, a page and a print view list",
    "An agency rewrites its story, and a paper has the old one still",
    "A page moves and is revised, and its old address shows another one",
]


def said(outcomes):
    return [
        ([(one.label, *one.told) for one in outcome.seen], sorted(outcome.absent))
        for outcome in outcomes
    ]


@in_both_modes
@pytest.mark.parametrize("engine", ENGINES)
def test_the_cases(mode: str, engine: str, tmp_path: Path) -> None:
    database = Database(cleared_database(engine, tmp_path))
    for one in VISIT_CASES:
        expected = play(one.case.visits, Oracle(mode), Reader(one.key))
        judge = IndexJudge(mode, database, one.case.name)
        assert said(play(one.case.visits, judge, Reader(one.key))) == said(expected), one.case.name
    database.close()


@in_both_modes
@pytest.mark.parametrize(
    "one", [one for one in VISIT_CASES if one.case.name in ORDERS], ids=lambda one: one.case.name
)
def test_the_last_visit_of_a_case_in_all_orders(mode: str, one: VisitCase) -> None:
    *earlier, last = one.case.visits
    for things in islice(permutations(last.things), 24):
        history = [*earlier, last._replace(things=things)]
        expected = play(history, Oracle(mode), Reader(one.key))
        with IndexJudge(mode) as judge:
            assert said(play(history, judge, Reader(one.key))) == said(expected)


@in_both_modes
@pytest.mark.parametrize("spiders", [1, 2])
@pytest.mark.parametrize(
    ("engine", "numbers"),
    [
        *((engine, range(20)) for engine in ENGINES),
        pytest.param("sqlite", range(20, 140), marks=pytest.mark.slow),
    ],
)
def test_random_histories(
    mode: str, spiders: int, engine: str, numbers: range, tmp_path: Path
) -> None:
    database = Database(cleared_database(engine, tmp_path))
    for number in numbers:
        lines = random_history(f"{number}", spiders=spiders)
        history = read_lines("site", lines)
        found = play(history, IndexJudge(mode, database, f"{number}"))
        assert said(found) == said(play(history, Oracle(mode))), lines
    database.close()


@in_both_modes
@pytest.mark.parametrize("spiders", [1, 2])
def test_texts_of_pages_beside_the_values_of_items(mode: str, spiders: int) -> None:
    for number in range(40):
        lines = random_history(f"{number}", spiders=spiders, words=" unread")
        history = read_lines("site", lines)
        with IndexJudge(mode) as judge:
            assert said(play(history, judge)) == said(play(history, Oracle(mode))), lines


@in_both_modes
@pytest.mark.parametrize(
    "numbers", [range(20), pytest.param(range(20, 140), marks=pytest.mark.slow)], ids=len
)
def test_several_items_in_one_transaction(mode: str, numbers: range) -> None:
    for number in numbers:
        lines = random_history(f"{number}")
        history, reader, size = read_lines("site", lines), Reader(), 2 + number % 6
        with IndexJudge(mode) as judge:
            for visit, outcome in zip(history, play(history, Oracle(mode)), strict=True):
                run = judge.open_visit()
                items = [item for page in visit.things for _, item in reader.items(page)]
                parts = (items[start : start + size] for start in range(0, len(items), size))
                told = [told for part in parts for told in judge.items(run, part)]
                assert told == [one.told for one in outcome.seen], lines
                is_whole = bool(items) and not any("stops" in page.words for page in visit.things)
                absent = judge.close(run, complete=is_whole, gone=())
                assert sorted(absent) == sorted(outcome.absent), lines


class UsesTwo(IndexJudge):
    """Before and after each visit, its spider crawls items of another namespace, completely."""

    def __init__(self, mode: str, database: Database, namespace: str) -> None:
        super().__init__(mode, database, namespace)
        self._other = IndexJudge(mode, database, f"{namespace}, another one")
        self._of: dict[int, tuple[str, str]] = {}

    def _visit_other(self, *of: str) -> None:
        run = self._other.open_visit(*of)
        content = Content("", frozenset({("title", "of another site")}), compared=True)
        self._other.item(run, Item("http://other/", "http://other/", "other", content))
        self._other.close(run, complete=True, gone=())

    def open_visit(self, spider: str = "", arguments: str = "", joins: Run | None = None) -> Run:
        if joins is None:
            self._visit_other(spider, arguments)
        run = super().open_visit(spider, arguments, joins)
        self._of[run.id] = spider, arguments
        return run

    def close(self, run: Run, *, complete: bool, gone: Iterable[str]) -> list[tuple[str, str]]:
        absent = super().close(run, complete=complete, gone=gone)
        if complete:
            self._visit_other(*self._of[run.id])
        return absent


@in_both_modes
def test_what_a_spider_meets_in_another_namespace_changes_nothing(mode: str) -> None:
    database = Database("sqlite://")
    for one in VISIT_CASES:
        expected = play(one.case.visits, Oracle(mode), Reader(one.key))
        judge = UsesTwo(mode, database, one.case.name)
        assert said(play(one.case.visits, judge, Reader(one.key))) == said(expected), one.case.name
    database.close()

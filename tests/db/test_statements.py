"""How statements reach a database."""

from __future__ import annotations

import re

import pytest
from claims import article

from scrapy_simhash.index import missing, queries, writer
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.runs import Run

BY_NUMBERS = {
    "details": queries.details,
    "texts": queries.texts,
    "what identities were shown": queries.of_identities,
    "what is met": queries.meeting,
    "where claims were met": queries.elsewhere,
    "copies": queries.copies,
    "claims that nobody was shown last": writer._unshown,
    "orphans": writer._orphan,
    "texts that nothing tells of": writer._unneeded,
}


def searched(index, statement):
    """How a statement finds the rows of each of our tables, but for those of runs."""

    def plan(connection):
        form = statement.compile(connection).string
        asked = re.sub(r"\(__\[POSTCOMPILE_\w+\]\)", "(1)", f"EXPLAIN QUERY PLAN {form}")
        return connection.exec_driver_sql(asked, (1,) * asked.count("?")).all()

    steps = [step[-1] for step in index.database.read(plan)]
    tables = ("claims", "sightings", "texts", "later", "now")
    return [step for step in steps if step.split()[1].removeprefix("simhash_") in tables]


@pytest.mark.parametrize("name", BY_NUMBERS)
def test_rows_of_a_list_of_numbers_are_found_by_an_index(name):
    """Not by reading all rows of the namespace."""
    with Index("sqlite://") as index:
        steps = searched(index, BY_NUMBERS[name])
    assert steps
    assert not [step for step in steps if not step.startswith("SEARCH") or step.count("=?") < 2]


def test_what_is_missing_is_found_by_the_last_visit_and_each_row_by_an_index():
    with Index("sqlite://") as index:
        last = missing._row.run == 1
        steps = searched(index, missing._unmet(index.id, index.run, [2], last))
    assert len(steps) == 4
    assert not [step for step in steps if not step.startswith("SEARCH") or step.count("=?") < 2]


def instructions(index, work):
    """How many instructions of SQLite's a call takes."""
    done = []
    raw = index.database.engine.raw_connection()
    raw.driver_connection.set_progress_handler(lambda: done.append(1), 1)
    work()
    raw.driver_connection.set_progress_handler(None, 0)
    raw.close()
    return len(done)


def test_the_end_of_a_run_reads_nothing_that_is_settled():
    def ended(items):
        with Index("sqlite://") as index:
            texts = [{"text": article(number), "key": str(number)} for number in range(items)]
            index.confirm(*index.claim_many(texts))
            return instructions(index, lambda: index.run.close(settled=True, reason="finished"))

    assert ended(300) < 1.1 * ended(30)


def test_of_many_copies_that_go_each_is_looked_at_once():
    def found(copies):
        with Index("sqlite://") as index:
            for visit, keys in enumerate([map(str, range(copies)), ["new"]]):
                run = Run.open(index.database)
                mine = Index(index.database, run=run)
                texts = ({"text": article(visit), "key": key} for key in keys)
                verdicts = mine.claim_many(texts)
                mine.confirm(*verdicts)
                run.close(settled=True, reason="finished", complete=True)
            return instructions(index, lambda: missing.find_missing(mine, run, everything=True))

    assert found(200) < 5 * found(50)

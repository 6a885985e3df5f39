"""How statements reach a database."""

from __future__ import annotations

import re

import pytest

from scrapy_simhash.index import missing, queries, writer
from scrapy_simhash.index.index import Index

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
    tables = ("claims", "sightings", "texts", "later", "now", "noted")
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
    assert len(steps) == 5
    assert not [step for step in steps if not step.startswith("SEARCH") or step.count("=?") < 2]

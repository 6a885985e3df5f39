"""How statements reach a database."""

from __future__ import annotations

import pytest

from scrapy_simhash.index import queries
from scrapy_simhash.index.index import Index


@pytest.mark.parametrize(
    "name", ["last_duplicates", "fingerprints", "details", "texts", "contents"]
)
def test_rows_of_a_list_of_numbers_are_found_by_an_index(name):
    """Not by reading all rows of the namespace."""
    with Index("sqlite://") as index:

        def plan(connection):
            form = getattr(queries, name).compile(connection)
            asked = f"EXPLAIN QUERY PLAN {form.string}"
            return connection.exec_driver_sql(asked, (1,) * form.string.count("?")).all()

        first, *_ = index.database.read(plan)
    assert first[-1].startswith("SEARCH")
    assert first[-1].count("=?") > 1

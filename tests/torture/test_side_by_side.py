"""Crawls, and processes that claim, which meet the same at the same time."""

from __future__ import annotations

import pytest
from servers import empty_database
from torture.pages import EVERY, LISTS, PATHS
from torture.rows import Cases


@pytest.mark.parametrize(
    "case",
    [
        ("sqlite", "pass", PATHS),
        ("sqlite", "drop", PATHS),
        ("sqlite", "drop", LISTS),
        ("postgresql", "drop", LISTS),
    ],
    ids=["pass", "drop", "lists", "lists-postgresql"],
)
def test_four_crawls_of_the_same_pages(scene, table, seeds, tmp_path, case):
    """Under addresses of their own; or under the same, where what is unchanged is dropped."""
    (engine, same, paths), cases = case, Cases()
    for seed in seeds():
        with empty_database(engine, tmp_path) as url:
            here = scene(url if engine != "sqlite" else None)
            with here.together():
                for number in range(4):
                    query = f"?from={number}" if same == "pass" else ""
                    here.start(seed * 10 + number, paths, query, SIMHASH_KNOWN=same)
            for run in here.runs:
                run.wait()
            kind = "" if paths is PATHS else f"lists, {engine}, "
            cases.append(here.row(f"{kind}4 crawls, SIMHASH_KNOWN = {same}", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0, 0)

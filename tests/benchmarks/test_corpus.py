"""The comparison of tools for a corpus."""

from __future__ import annotations

import argparse

from benchmarks import corpus


def test_each_tool_gets_a_row_of_what_it_costs_finds_and_takes_wrongly():
    given = argparse.Namespace(
        documents=100,
        pages=None,
        templates=False,
        words=(40, 60),
        language="en",
        ways=["here"],
        processes=[1],
        rounds=2,
    )
    title, _, _, _, _, _, *rows = corpus.compare_ways(given).splitlines()
    assert title.startswith("uniform, en: 100 texts of ")
    cells = {row.split(" | ")[0].strip("| "): row.strip("| ").split(" | ") for row in rows}
    # No word of such short copies is replaced, so that equal texts are all copies.
    assert cells["here"][-2:] == ["20", "0"]
    assert float(cells["here"][2]) > 0

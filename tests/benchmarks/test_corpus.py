"""The comparison of tools for a corpus."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

from benchmarks import corpus
from benchmarks.text_dedup import clusters

# What text-dedup reads and writes, for texts that are equal.
PROGRAM = """#!{python}
import json, sys
if "-m" in sys.argv:
    found = {{}}
    for line in open("in.jsonl"):
        row = json.loads(line)
        found[row["number"]] = found.setdefault(row["text"], row["number"])
    first = {{one: other for one, other in found.items() if isinstance(one, int)}}
    json.dump(first, open("clusters.json", "w"))
else:
    print(open("clusters.json").read())
"""


@pytest.fixture
def interpreter(tmp_path: Path) -> str:
    path = tmp_path / "python"
    path.write_text(PROGRAM.format(python=sys.executable))
    path.chmod(0o755)
    return str(path)


def test_text_dedup_gets_words_and_says_which_texts_are_the_first_of_a_cluster(interpreter):
    texts = ["one, two", "港口关闭了", "one two", "three", "港口，关闭了"]
    assert clusters(interpreter, texts) == {0: 0, 1: 1, 2: 0, 3: 3, 4: 1}


def test_each_tool_gets_a_row_of_what_it_costs_finds_and_takes_wrongly(interpreter, monkeypatch):
    monkeypatch.setenv(corpus.TEXT_DEDUP, interpreter)
    given = argparse.Namespace(
        documents=100,
        pages=None,
        templates=False,
        words=(40, 60),
        language="en",
        ways=["here", "text-dedup"],
        processes=[1],
        rounds=2,
    )
    title, _, _, _, _, _, *rows = corpus.compare_ways(given).splitlines()
    assert title.startswith("uniform, en: 100 texts of ")
    cells = {row.split(" | ")[0].strip("| "): row.strip("| ").split(" | ") for row in rows}
    # No word of such short copies is replaced, so that equal texts are all copies.
    assert cells["here"][-2:] == cells["text-dedup"][-2:] == ["20", "0"]
    assert float(cells["here"][2]) > 0

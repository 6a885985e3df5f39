"""The comparison of tools for a corpus."""

from __future__ import annotations

import argparse
import json
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


# One process does the work; its parent, and the parent of that, do not wait for it.
WORK = """
import subprocess, sys
if sys.argv[1:] == ["work"]:
    sum(range(20_000_000))
else:
    subprocess.Popen([sys.executable, __file__, *(["again"] if len(sys.argv) == 1 else ["work"])])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="who is no parent cannot wait")
def test_the_cpu_time_of_processes_that_are_left_behind_counts(tmp_path):
    program = tmp_path / "work.py"
    program.write_text(WORK)
    nothing = corpus.cost_of([sys.executable, "-c", ""])
    assert corpus.cost_of([sys.executable, str(program)]).computed > 3 * nothing.computed


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_fifth_of_the_texts_are_copies(tmp_path, language):
    path = tmp_path / "in.jsonl"
    assert corpus.make_varied(path, 50, None, language) == 10
    texts = [json.loads(line)["text"] for line in path.read_text().splitlines()]
    templates = [text[:500] for text in texts[2::10]]
    assert len({*templates}) == 1 < len({*texts[2::10]})
    assert corpus.make_corpus(path, 50, 20, 29, language) == 10
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sum("/copy/" in line["url"] for line in lines) == 10
    originals = {line["text"] for line in lines if "/page/" in line["url"]}
    assert originals.issuperset(line["text"] for line in lines)
    assert all((" " in line["text"]) == (language == "en") for line in lines)


def test_a_tool_that_is_not_there_is_named_and_one_that_fails_is_no_result(monkeypatch):
    monkeypatch.delenv(corpus.TEXT_DEDUP, raising=False)
    given = argparse.Namespace(
        documents=5,
        pages=None,
        templates=False,
        words=(40, 60),
        language="en",
        ways=["text-dedup"],
        processes=[1],
        rounds=1,
    )
    assert "| text-dedup | is not installed |" in corpus.compare_ways(given)
    with pytest.raises(corpus.subprocess.CalledProcessError):
        corpus.cost_of([sys.executable, "-c", "raise SystemExit(3)"])

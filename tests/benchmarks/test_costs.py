"""The benchmarks of what things cost: each prints a row of what it measures."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import corpus, hostile

SENTENCES = {
    "ferry": "The ferry leaves the island at dawn with crates of plums and a sleeping dog.",
    "clock": "A clockmaker keeps forty clocks running, and no two of them agree on the hour.",
    "snow": "Snow fell on the pass in April, so the mail was carried over it on a sledge.",
}


def rows_of(script: str, *options: str | Path) -> list[list[str]]:
    """The cells of the rows that a benchmark prints, behind the head of its table."""
    finished = subprocess.run(
        [sys.executable, Path(corpus.__file__).with_name(script), *options, "--rounds", "1"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    rows = (line.split("|")[1:-1] for line in finished.stdout.splitlines() if "|" in line)
    return [[cell.strip() for cell in row] for row in rows][2:]


def test_each_family_is_beside_fresh_pages() -> None:
    """Different pages under one text, none of which is dropped."""
    names = [name for name, *_ in rows_of("families.py", "--pages", "12")]
    assert names == ["fresh", "shop", "jobs", "lists"]


def test_only_the_page_that_changed_is_downloaded_again(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    links = "".join(f'<a href="{name}.html">{name}</a>' for name in SENTENCES)
    (site / "index.html").write_text(f"<title>Contents</title><body>{links}</body>")
    for name, sentence in SENTENCES.items():
        page = site / f"{name}.html"
        page.write_text(f"<title>{name}</title><body>{f'<p>{sentence}</p>' * 4}</body>")
        os.utime(page, (1_700_000_000, 1_700_000_000))
    rows = rows_of("recrawl.py", site, "--changed", "clock.html")
    bare, cached, always, conditional = (tuple(map(int, row[3:])) for row in rows)
    # Downloaded, not found, stored: without the plugin, all pages are stored again.
    assert bare == (4, 0, 4)
    assert cached == (1, 0, 4)
    assert always == (4, 0, 1)
    assert conditional == (1, 0, 1)


def test_hostile_pages_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["linked_reference", "attributes_behind"]
    monkeypatch.setattr(sys, "argv", ["hostile", *names])
    hostile.main()
    *_, first, second = capsys.readouterr().out.splitlines()
    # What nobody waits for has no tree.
    assert first.startswith("| attributes behind quotes | 495,638 |  | | |")
    assert first.endswith("| too_complex |")
    assert second.startswith("| linked reference | 201,540 | 0.")
    assert second.endswith("| compared |")


def test_each_tool_for_a_corpus_gets_a_row_of_what_it_costs_finds_and_takes_wrongly() -> None:
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

"""Crawls, and processes that claim, which meet the same at the same time."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from servers import empty_database
from torture import claimer
from torture.pages import EVERY, LISTS, PATHS
from torture.processes import HARD_KILL, kill, start
from torture.rows import Cases, Row


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


def test_four_processes_claim_the_same_texts(tmp_path, table, seeds, is_long):
    groups = 5000 if is_long else 500
    cases = Cases()
    for seed in seeds():
        folder = tmp_path / str(seed)
        folder.mkdir()
        logs = [folder / f"{number}.log" for number in range(4)]
        processes = [
            start(claimer.race, f"sqlite:///{folder}/index.db", groups, 4 * seed + number, log=log)
            for number, log in enumerate(logs)
        ]
        admitted: Counter[int] = Counter()
        try:
            for process, log in zip(processes, logs, strict=True):
                process.join(HARD_KILL)
                assert process.exitcode == 0, log.read_text()
                admitted.update(json.loads(log.read_text()))
        finally:
            for process in processes:
                kill(process)
        lost = groups - len(admitted)
        twice = sum(count - 1 for count in admitted.values())
        cases.append(Row(f"4 processes, {4 * groups} claims", 4, groups, lost, twice, 0))
    assert cases.total(table)[3:] == (0, 0, 0, 0)

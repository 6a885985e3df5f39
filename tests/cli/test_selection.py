"""``--run``, ``--since`` and ``--site``, which choose the same in every command."""

from __future__ import annotations

import json

import pytest
from loopback import prose
from stored import change, store

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule

SITES = ("a.test", "shop.b.test")


@pytest.fixture
def visited(tmp_path):
    """Three runs, a day apart; each stores an item of each site, and drops a copy of each."""
    path = tmp_path / "seen.db"
    for run in (1, 2, 3):
        with Index(f"sqlite:///{path}", namespace="n", rule=Rule(known="pass")) as index:
            for site in SITES:
                for page in ("page", "copy"):
                    url = f"http://{site}/{run}/{page}?sid={page}"
                    store(index, prose(f"{site} {run}"), url, item={"url": url})
        day = 86_400 * run
        change(path, f"UPDATE simhash_runs SET opened = {day} WHERE id = {run}")
        for table in ("claims", "sightings"):
            change(path, f"UPDATE simhash_{table} SET created = {day} + 9 WHERE run = {run}")
    return path


LISTED = {"drops": "copy", "changes": "page", "restore": "copy"}


@pytest.mark.parametrize(
    ("options", "runs", "sites"),
    [
        ([], [3], SITES),
        (["--run", "2"], [2], SITES),
        (["--run", "1,3"], [1, 3], SITES),
        (["--since", "2"], [2, 3], SITES),
        (["--since", "1970-01-03T00:00:00+00:00"], [2, 3], SITES),
        (["--since", "1", "--site", "b.test"], [1, 2, 3], SITES[1:]),
        (["--site", "http://A.test/"], [3], SITES[:1]),
        (["--since", "2999-01-01T00:00"], [], SITES),
        (["--site", "est"], [3], []),
    ],
)
def test_the_same_options_choose_the_same(call, visited, options, runs, sites):
    for command, page in LISTED.items():
        more = ["--json"]
        if command == "restore":
            more = []
            runs = runs if {"--run", "--since"} & {*options} else [1, 2, 3]
        code, out, err = call(command, *options, *more, "--database", visited)
        assert code == 0, err
        found = [json.loads(line)["url"].partition("?")[0] for line in out.splitlines()]
        assert sorted(found) == [f"http://{site}/{run}/{page}" for site in sites for run in runs]


def test_statistics_and_patterns_are_those_of_the_chosen_runs(call, visited):
    options = ["--json", "--run", "1,2", "--database", visited]
    (namespace,) = json.loads(call("stats", *options)[1])["namespaces"]
    assert [run["id"] for run in namespace["runs"]] == [2, 1]
    for more, urls in ([], 4), (["--site", "b.test"], 2):
        found = call("patterns", "--least", 1, *options, *more)[1].splitlines()
        assert len({json.loads(one)["part"] for one in found}) <= urls


def test_the_last_line_selects_the_same(call, visited):
    for given, shown in (
        ([], "Run 3: 2 dropped. To restore: scrapy simhash restore --run 3. "),
        (["--run", "1,2"], "Runs 1, 2: 4 dropped. To restore: scrapy simhash restore --run 1,2. "),
        (
            ["--since", "2", "--site", "b.test"],
            "restore --since 1970-01-03T00:00:00+00:00 --site b.test. ",
        ),
    ):
        assert shown in call("drops", *given, "--database", visited)[2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--since", "yesterday"], "expected a run such as 12, or a time"),
        (["--since", "7"], "there is no run 7"),
        (["--run", "1,7"], "no run 7"),
        (["--run", "1", "--since", "1"], "not allowed with"),
        (["--site", "http://"], "expected a host"),
    ],
)
@pytest.mark.parametrize("command", ["drops", "changes", "restore", "patterns"])
def test_what_is_not_understood_is_named(call, visited, command, options, words):
    code, _, err = call(command, *options, "--database", visited)
    assert (code, words in err) == (2, True)

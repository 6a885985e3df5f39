"""``python -m scrapy_simhash``; and commands import nothing slow that they do not use."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from corpora import feed_of, jsonl

#: Each takes a while to import.
SLOW = {
    *("cryptography", "jinja2", "psutil", "pydantic", "requests", "rich", "scrapy"),
    *("sqlalchemy", "twisted"),
}


def run(*arguments, folder, scrapy=False, **environment):
    """Run a command; returns its exit code, output, and which of the slow modules it imported."""
    start = ["scrapy", "simhash"] if scrapy else ["scrapy_simhash"]
    command = [sys.executable, "-X", "importtime", "-m", *start, *map(str, arguments)]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    lines = done.stderr.splitlines()
    imported = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time")}
    told = [line for line in lines if not line.startswith("import time")]
    return done.returncode, done.stdout, "\n".join(told), SLOW & imported


@pytest.fixture
def folder(tmp_path):
    items, kept = feed_of(9)
    (tmp_path / "in.jsonl").write_bytes(jsonl(items))
    (tmp_path / "expected.jsonl").write_bytes(jsonl([items[number] for number in kept]))
    (tmp_path / "a.txt").write_text("some words of a text that is just long enough for two")
    return tmp_path


DEDUPE = ("dedupe", "in.jsonl", "-o", "out.jsonl", "--ignore", "n")


@pytest.mark.parametrize("scrapy", [False, True])
def test_dedupe_imports_neither_a_database_nor_what_draws_tables(folder, scrapy):
    code, out, err, imported = run(*DEDUPE, folder=folder, scrapy=scrapy)
    assert (code, out) == (0, "9 items read, 6 kept, 3 dropped\n"), err
    assert (folder / "out.jsonl").read_bytes() == (folder / "expected.jsonl").read_bytes()
    # Packages with commands of their own are imported by Scrapy for each command.
    *_, anyway = run("version", folder=folder, scrapy=True) if scrapy else [set()]
    not_wanted = {"sqlalchemy", "requests", "rich"} if scrapy else SLOW
    assert (imported - anyway) & not_wanted == set()


def test_the_other_commands_that_need_no_scrapy(folder):
    code, out, err, imported = run("explain", "some words", folder=folder)
    assert (code, "some words" in out, imported) == (0, True, set()), err
    code, out, err, imported = run("compare", "a.txt", "a.txt", "--json", folder=folder)
    assert (code, json.loads(out)["distance"]) == (0, 0), err
    assert imported == {"rich", "requests"}


def test_the_settings_are_those_of_the_project_and_of_the_command_line(folder):
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = given_settings\nother = none\n")
    (folder / "given_settings.py").write_text("SIMHASH_IGNORE_FIELDS = ['n']\nOTHER = 1\n")
    inside = folder / "spiders"
    inside.mkdir()
    command = ("dedupe", "../in.jsonl", "-o")
    code, out, err, _ = run(*command, "a.jsonl", folder=inside)
    assert (code, out) == (0, "9 items read, 6 kept, 3 dropped\n"), err
    more = ("-s", "SIMHASH_IGNORE_FIELDS=url")
    _, out, _, _ = run(*command, "b.jsonl", *more, folder=inside)
    assert out.startswith("9 items read, 9 kept, 0 dropped\nKept 3 similar items")
    code, out, err, _ = run(
        *command, "c.jsonl", "-s", "SIMHASH_SIMILARITY=3", folder=inside, SCRAPY_PROJECT="no"
    )
    assert (code, out) == (2, "")
    assert "SIMHASH_SIMILARITY" in err
    code, _, err, _ = run(*command, "d.jsonl", "-s", "SIMHASH_SIMILARITY", folder=inside)
    assert (code, "expected NAME=VALUE" in err) == (2, True)
    # A module that is named but not there is an error, as in Scrapy.
    assert run(*command, "e.jsonl", folder=inside, SCRAPY_PROJECT="other")[0] == 1


def test_commands_that_need_scrapy_are_named(folder):
    code, _, err, _ = run("stats", folder=folder)
    assert (code, "'stats' needs Scrapy: scrapy simhash stats" in err) == (2, True), err
    code, _, err, _ = run("dedup", folder=folder)
    assert (code, "did you mean 'dedupe'?" in err) == (2, True), err
    code, _, err, _ = run(folder=folder)
    assert (code, "a command is missing" in err) == (2, True), err
    code, out, _, _ = run("--help", folder=folder)
    assert code == 0
    assert all(name in out for name in ("dedupe", "compare", "explain"))
    assert "stats" not in out
    code, _, err, _ = run("compare", "http://a.test/", "a.txt", folder=folder)
    assert (code, "pages are not downloaded" in err) == (2, True), err

"""``scrapy simhash`` as a whole, called as on the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zlib
from base64 import b64decode
from importlib.metadata import version
from io import BytesIO, TextIOWrapper

import pytest
from loopback import prose
from servers import ENGINES, empty_database
from stored import fill, store

from scrapy_simhash import native
from scrapy_simhash.index.index import Index

HOSTILE = "http://evil.test/\x1b[31m\u202egpj.exe\x07"
NAMES = [
    *("try", "stats", "show", "changes", "drops", "report", "patterns", "restore"),
    *("prune", "reset", "compare", "dedupe", "explain"),
]


def test_looking_up_the_command_imports_nothing_heavy():
    code = (
        "import sys, scrapy.cmdline; before = set(sys.modules); import scrapy_simhash.cli.command; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(found) <= {"scrapy_simhash", "scrapy", "argparse"}


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_a_help_that_fits_into_80_columns(call, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = call(name, "--help")
    assert code == 0
    assert f"scrapy simhash {name}" in out
    assert max(map(len, out.splitlines())) <= 80


def test_an_unknown_option_is_refused(call, database):
    code, _, err = call("stats", "--database", database, "--colour")
    assert code == 2
    assert err == (
        "scrapy simhash stats: unrecognized arguments: --colour; "
        "scrapy simhash stats --help lists the options\n"
    )


def test_trouble_is_one_line_and_an_exit_code(call, tmp_path):
    path = tmp_path / "none.db"
    code, out, err = call("stats", "--database", path)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert str(path) in err
    assert not path.exists()


@pytest.fixture
def second(database):
    """The address of the database, with another namespace and run that has the same pages."""
    with Index(f"sqlite:///{database}", namespace="other") as index:
        fill(index)
    return database


def test_what_deletes_needs_a_name_if_there_are_several_namespaces(call, second):
    for command in (["reset", "--yes"], ["prune", "--older-than", 1]):
        code, _, err = call(*command, "--database", second)
        assert code == 2
        assert "'news', 'other'" in err


def test_show_looks_into_all_namespaces(call, second):
    out = call("show", "http://a.test/1", "--json", "--database", second)[1]
    first, other = map(json.loads, out.splitlines())
    assert [first["namespace"], other["namespace"]] == ["news", "other"]
    out = call("show", "http://a.test/1", "--database", second, "--namespace", "news")[1]
    assert "other" not in out


def test_other_commands_take_the_namespace_of_the_newest_run(call, second):
    assert "Namespace 'other'" in call("changes", "--database", second)[2]
    assert call("patterns", "--database", second)[0] == 0
    _, out, err = call("restore", "--with-original", "--database", second)
    assert {json.loads(line)["namespace"] for line in out.splitlines()} == {"other"}
    assert err.startswith("Namespace 'other'\n")


@pytest.mark.parametrize("command", ["changes", "drops", "restore", "report"])
def test_a_run_of_another_namespace_is_named_with_it(call, second, tmp_path, command):
    given = ["-o", tmp_path / "out"] if command == "report" else []
    given += ["--database", second, "--namespace", "news", "--run", 2]
    code, _, err = call(command, *given)
    assert code == 2
    assert "no run 2 with items in the namespace 'news'" in err


@pytest.mark.parametrize(("given", "hint"), [("drop", "did you mean 'drops'?"), ("zzz", "--help")])
def test_an_unknown_command_is_told_with_what_may_be_meant(call, given, hint):
    code, _, err = call(given)
    assert code == 2
    assert f"there is no command {given!r}; " in err
    assert hint in err
    assert err.count("\n") == 1


def test_what_was_crawled_can_not_write_to_the_terminal(call, tmp_path):
    path = tmp_path / "evil.db"
    with Index(f"sqlite:///{path}", namespace=HOSTILE) as index:
        index.confirm(index.claim(prose(1), key="1", url=HOSTILE))
    for arguments in (["stats"], ["show", HOSTILE], ["show", HOSTILE, "--json"]):
        code, out, err = call(*arguments, "--database", path)
        assert (code, err) == (0, "")
        assert not set("\x1b\x07\u202e") & set(out)
        assert r"\u202e" in out
    assert json.loads(out)["versions"][0]["url"] == HOSTILE


SECRET_URL = "http://ann:s3cr3t@a.test/{}?next=%2F%3Fcode%3Ds3cr3t&token=s3cr3t#key=s3cr3t"


@pytest.fixture
def crawled(tmp_path):
    """A page, a copy and a page kept beside it, whose URLs have secrets, and names no ASCII."""
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        for number, name in enumerate("雪é9"):
            url = SECRET_URL.format(name)
            values = {"price": f"{number // 2} EUR", "link": url}
            store(index, f"{prose(1)} see {url} now", url, values, item={"url": url})
    return path


def contents_of(report):
    """All that the file of a report has, also what its script unpacks."""
    page = report.read_text("utf-8")
    packed = re.findall(r">([A-Za-z0-9+/]{40,}=*)<", page)
    assert packed
    return page + "".join(zlib.decompress(b64decode(one)).decode() for one in packed)


READING = [["stats"], ["drops"], ["drops", "--kept"], ["changes"], ["changes", "--texts"]]
READING += [["show", "a.test/é"], ["show", "a.test"], ["patterns", "--least", 1]]


@pytest.mark.parametrize("is_terminal", [False, True])
def test_no_secret_of_a_url_is_shown_to_people_or_programs(
    call, crawled, tmp_path, monkeypatch, is_terminal
):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    monkeypatch.setenv("COLUMNS", "300")
    shown = ""
    for command, *options in [*READING, *([*one, "--json"] for one in READING)]:
        code, out, err = call(command, *options, "--database", crawled)
        assert code == 0, err
        shown += out + err
    monkeypatch.chdir(tmp_path)
    assert call("report", "--database", crawled)[0] == 0
    shown += contents_of(tmp_path / "simhash-report.html")
    assert shown.count("http://ann:***@a.test/é?next=%2F%3Fcode%3D***&token=***#key=***") >= 10
    assert "s3cr3t" not in shown
    out = call("restore", "--with-original", "--database", crawled)[1]
    restored = json.loads(out)
    assert restored.pop("item") == {"url": SECRET_URL.format("é")}
    assert "s3cr3t" not in str(restored)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("is_terminal", [False, True])
def test_what_an_output_can_not_encode_is_escaped(
    call, crawled, monkeypatch, encoding, is_terminal
):
    for command, *options in [*READING, ["explain", "naïve 雪"], ["compare", __file__, __file__]]:
        stdout = TextIOWrapper(BytesIO(), encoding)
        stdout.isatty = lambda: is_terminal
        monkeypatch.setattr(sys, "stdout", stdout)
        given = [] if command in {"explain", "compare"} else ["--database", crawled]
        code, _, err = call(command, *options, *given)
        assert code == 0, err
        stdout.flush()
        written = stdout.buffer.getvalue()
        if command in {"drops", "explain", "show"}:
            assert (r"\u96ea" in written.decode(encoding)) or options == ["--kept"]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_versions_are_those_of_all_that_is_used(call, tmp_path, engine):
    with empty_database(engine, tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        given = ("--version", "-s", f"SIMHASH_DATABASE_URL={address}")
        code, empty, _ = call(*given)
        assert code == 0
        empty = " ".join(empty.split())
        assert re.search("nothing was crawled into it|there is no database", empty)
        with Index(address, namespace="news") as index:
            fill(index)
            name = index.database.dialect
        code, out, _ = call(*given)
    assert code == 0
    for package in ("scrapy-simhash", "Scrapy", "SQLAlchemy"):
        assert re.search(rf"{package} +│ {re.escape(version(package))}[ ,]", out)
    assert f", core: {native.in_use} " in out
    assert re.search(rf": {name} \d+\.\d", out)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_answers_the_same(call, tmp_path, engine):
    with empty_database(engine, tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        with Index(address, namespace="news") as index:
            fill(index)
        common = ["--database", address, "--namespace", "news"]
        (namespace,) = json.loads(call("stats", "--json", *common)[1])["namespaces"]
        (run,) = namespace["runs"]
        assert (run["claims"], run["pending"], run["drops"], run["orphans"]) == (3, 0, 2, 0)
        known = json.loads(call("show", "http://a.test/1", "--json", *common)[1])
        assert (len(known["versions"]), known["duplicate_count"]) == (1, 2)
        known = json.loads(call("show", "http://b.test/2", "--json", *common)[1])
        assert known["decisions"][0]["difference"]
        listed = [
            json.loads(one) for one in call("show", "B.TEST", "--json", *common)[1].splitlines()
        ]
        assert [one["url"] for one in listed] == ["http://b.test/1", "http://b.test/2"]
        dropped = [json.loads(line) for line in call("drops", "--json", *common)[1].splitlines()]
        assert [one["original"] for one in dropped] == ["http://a.test/1"] * 2
        assert call("drops", "--kept", *common)[:2] == (0, "")
        assert len(call("restore", "--with-original", *common)[1].splitlines()) == 2
        path = tmp_path / "report.html"
        assert call("report", "-o", path, *common)[0] == 0
        assert "2 rows have a comparison" in path.read_text("utf-8")
        assert call("prune", "--older-than", 1, *common)[0] == 0
        assert call("reset", "--yes", *common)[0] == 0


def test_a_reader_that_has_seen_enough_is_no_error(database):
    command = [sys.executable, "-m", "scrapy", "simhash", "stats", "--database", str(database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (0, b"")

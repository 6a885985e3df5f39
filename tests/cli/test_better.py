"""``scrapy simhash restore --better``."""

from __future__ import annotations

import json

import pytest
from stored import change, fill, rows_of

from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import Duplicate


def better(call, database, *options):
    arguments = ["--better", "--prefer", "shortest-url", "--database", database, *options]
    code, out, err = call("restore", *arguments)
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()], err


@pytest.fixture
def database(tmp_path):
    """A page with copies: one under an address as long, a shorter one, and that one again."""
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}", namespace="news") as index:
        fill(index)
        original = index.document(TEXT, key="original", url="http://a.test/original")
        index.confirm(*index.execute(claims=[original]))
        for number, url in enumerate(["http://b.test/original", "http://b.test/1", "http://b/1"]):
            meet(index, f"copy {number % 2}", url, {"n": number})
    return path


TEXT = " ".join(f"word{number}" for number in range(90))


def meet(index, key, url, item):
    copy = index.document(TEXT, key=key, url=url)
    (verdict,) = index.execute(claims=[copy])
    assert verdict.kind == "duplicate"
    index.execute(duplicates=[Duplicate(copy, verdict.match, "drop", *pack(item))])


def test_the_best_one_is_written_with_what_it_replaces(call, database, tmp_path):
    path = tmp_path / "better.jsonl"
    found, err = better(call, database, "-o", path)
    assert found == []
    assert "1 item restored" in err
    (line,) = map(json.loads, path.read_text("utf-8").splitlines())
    ((group,),) = rows_of(
        database, "SELECT namespace || '-' || id FROM simhash_claims WHERE key = 'original'"
    )
    assert (line["original"], line["group"]) == ("http://a.test/original", group)
    assert (line["by"], line["url"], line["key"]) == ("shortest-url", "http://b/1", "copy 0")
    assert (line["item"], line["run"]) == ({"n": 2}, 1)
    (known,) = rows_of(database, "SELECT id FROM simhash_duplicates WHERE url = 'http://b/1'")
    assert line["id"] == str(known[0])
    out = call("restore", "--id", line["id"], "--database", database)[1]
    assert json.loads(out) == line["item"]


def test_a_file_that_is_there_is_left_alone(call, database, tmp_path):
    path = tmp_path / "better.jsonl"
    path.write_bytes(b"mine")
    arguments = ["--better", "--prefer", "https", "--database", database, "-o", path]
    code, _, err = call("restore", *arguments)
    assert code == 2
    assert f"{path} exists" in err
    assert path.read_bytes() == b"mine"


@pytest.mark.parametrize("options", [[], ["--better", "--prefer", "shortest-url"]])
def test_a_file_is_there_as_a_whole_or_not_at_all(call, database, tmp_path, monkeypatch, options):
    def fails(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("scrapy_simhash.cli.restore.unpack", fails)
    before = sorted(tmp_path.iterdir())
    call("restore", *options, "--database", database, "-o", tmp_path / "items.jsonl")
    assert sorted(tmp_path.iterdir()) == before


def test_what_the_quarantine_has_no_more_gives_way_to_what_it_has(call, database):
    change(
        database,
        "UPDATE simhash_duplicates SET item = NULL, item_bytes = 0 WHERE url = 'http://b/1'",
    )
    found, err = better(call, database)
    assert [one["url"] for one in found] == ["http://b.test/1"]
    assert "not kept" not in err
    change(database, "UPDATE simhash_duplicates SET item = NULL, item_bytes = 0")
    found, err = better(call, database)
    assert found == []
    assert "Not kept (SIMHASH_QUARANTINE): 1 item" in err


@pytest.mark.parametrize(
    "invalidated",
    [
        "UPDATE simhash_runs SET invalidated = 2",
        "DELETE FROM simhash_claims WHERE url = 'http://a.test/original'",
        "UPDATE simhash_claims SET state = 0",
    ],
)
def test_what_nothing_is_stored_of_has_nothing_better(call, database, invalidated):
    change(database, invalidated)
    assert better(call, database)[0] == []


def test_what_is_as_good_is_not_better(call, database):
    change(database, "DELETE FROM simhash_duplicates WHERE url LIKE 'http://b%/1'")
    assert better(call, database)[0] == []


def test_it_wants_to_know_what_is_better(call, database):
    code, _, err = call("restore", "--better", "--database", database)
    assert code == 2
    assert "SIMHASH_PREFER" in err
    more = ["--prefer", "https,newest", "--database", database]
    code, _, err = call("restore", "--better", *more)
    assert code == 2
    assert "'newest'" in err
    assert "own-site=example.com" in err


@pytest.mark.parametrize("option", ["--orphans", "--id=1"])
def test_it_goes_with_no_other_choice_of_duplicates(call, database, option):
    prefer = ["--prefer", "https", "--database", database]
    code, _, err = call("restore", "--better", option, *prefer)
    assert code == 2
    assert "--better can't be combined with" in err
    code, _, err = call("restore", option, *prefer)
    assert code == 2
    assert "--prefer needs --better" in err

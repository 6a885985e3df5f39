"""``scrapy simhash restore``."""

from __future__ import annotations

import json

import pytest
from loopback import prose
from stored import fill

from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import Duplicate


def test_restore_gives_items_back(call, database, tmp_path):
    path = tmp_path / "back.jsonl"
    code, _, err = call("restore", "--database", database, "-o", path)
    assert code == 0
    assert "2 items" in err
    assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == [
        {"url": f"http://b.test/{number}", "title": "雪 \ud800"} for number in (1, 2)
    ]
    before = path.read_bytes()
    assert call("restore", "--database", database, "-o", path)[0] == 2
    assert path.read_bytes() == before


def test_restore_gives_single_items_back_by_their_numbers(call, database):
    known = json.loads(call("show", "http://b.test/2", "--json", "--database", database)[1])
    (drop,) = known["duplicate_of"]
    out = call("restore", "--database", database, "--id", drop["id"])[1]
    assert [json.loads(line)["url"] for line in out.splitlines()] == ["http://b.test/2"]
    assert call("restore", "--database", database, "--id", 7)[1] == ""


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--orphans"], 0),
        (["--min-distance", "1"], 1),
        (["--run", "1"], 2),
        (["--run", "2"], 0),
        (["--since", "2000-01-01"], 2),
        (["--since", "2999-01-01T00:00"], 0),
    ],
)
def test_restore_chooses(call, database, options, count):
    code, out, _ = call("restore", "--database", database, *options)
    assert code == 0
    assert len(out.splitlines()) == count


def test_restore_orphans_once_their_claim_is_released(call, tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        verdict = index.claim(prose(1), key="1")
        copy = index.document(prose(1), key="2")
        (duplicate,) = index.execute(claims=[copy])
        index.execute(duplicates=[Duplicate(copy, duplicate.match, "drop", *pack({"n": 2}))])
        index.release(verdict)
    assert json.loads(call("restore", "--orphans", "--database", path)[1]) == {"n": 2}


def test_what_was_only_reported_is_not_restored(call, tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        fill(index, action="report")
    assert call("restore", "--database", path)[1] == ""


def test_restore_wants_a_time_it_can_read(call, database):
    code, _, err = call("restore", "--database", database, "--since", "yesterday")
    assert code == 2
    assert "yesterday" in err

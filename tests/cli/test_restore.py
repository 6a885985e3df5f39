"""``scrapy simhash restore``."""

from __future__ import annotations

import json

import pytest
from loopback import prose
from stored import change, changed, fill, rows_of, store

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.runs import Run


def test_restore_gives_items_back(call, database, tmp_path):
    path = tmp_path / "back.jsonl"
    code, _, err = call("restore", "--database", database, "-o", path)
    assert code == 0
    assert "2 items" in err
    assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == [
        {"url": f"http://b.test/{number}", "title": "雪 \ud800"} for number in (1, 2)
    ]
    before = path.read_bytes()
    code, _, err = call("restore", "--database", database, "-o", path)
    assert (code, f"{path}: exists" in err) == (2, True)
    assert path.read_bytes() == before


def drop(path, run, *numbers):
    """A run that stores a page and drops copies of it; the first two have one key in all runs."""
    with Index(f"sqlite:///{path}", rule=Rule(known="pass")) as index:
        store(index, prose(1, 200), "http://a.test/")
        for number in numbers:
            text = changed(prose(1, 200), 2 * run + (number == 1))
            key = f"only of run {run}" if number == 3 else "copy"
            item = {"n": number, "run": run}
            store(index, text, f"http://b.test/{number}", key=key, item=item)


@pytest.mark.parametrize("first", [(), ("--run", "1")])
def test_what_several_crawls_dropped_is_restored_once(call, tmp_path, first):
    path = tmp_path / "seen.db"
    for run in (1, 2):
        drop(path, run, 1, 2, 3)

    def restored(*options):
        out = call("restore", "--database", path, *options)[1]
        return [(item["n"], item["run"]) for item in map(json.loads, out.splitlines())]

    # Two items of one key in one crawl are two.
    of_first = [(1, 1), (2, 1), (3, 1)]
    of_last = [(1, 2), (2, 2), (3, 2)]
    assert restored(*first) == (of_first if first else [(3, 1), *of_last])
    assert restored() == (of_last if first else [])
    assert restored() == []
    said = call("restore", "--run", "2", "--database", path)[2]
    assert said == "0 items restored of 3; the others: 3 restored before\n"


def test_it_is_said_what_is_not_restored(call, tmp_path):
    """Older drops of the same items, and what an earlier crawl has stored."""
    path = tmp_path / "seen.db"
    for run in (1, 2):
        drop(path, run, 1, 2, 3)
    for number in (1, 2):
        stats = {"simhash/checked": 9, "simhash/dropped": 8, "simhash/index/namespaces": 1}
        change(path, f"UPDATE simhash_runs SET stats = '{json.dumps(stats)}' WHERE id = {number}")
    said = call("restore", "--run", "1,2", "--database", path)[2]
    rest = "2 older drops of these items, 10 stored by an earlier crawl"
    assert said == f"4 items restored of 16; the others: {rest}\n"
    drops = call("drops", "--run", "2", "--database", path)[2]
    assert "nothing dropped. Not listed: 5 items that had not changed at all" in drops


def test_a_restored_item_is_a_stored_one(call, database):
    """It is listed as kept, and its item is still there; what its visit told stays as it was."""
    (drop, _) = map(json.loads, call("drops", "--json", "--database", database)[1].splitlines())
    for _ in range(2):
        out = call("restore", "--with-original", "--id", drop["id"], "--database", database)[1]
        assert json.loads(out)["item"]["url"] == drop["url"]
    assert json.loads(out)["status"] == "restored"
    assert len(call("drops", "--json", "--database", database)[1].splitlines()) == 1
    (kept,) = map(
        json.loads, call("drops", "--kept", "--json", "--database", database)[1].splitlines()
    )
    assert (kept["url"], kept["original"]) == (drop["url"], drop["original"])
    assert (kept["differs"], kept["similarity"]) == ("(restored)", 1.0)
    told = map(json.loads, call("changes", "--json", "--database", database)[1].splitlines())
    assert drop["url"] not in {one["url"] for one in told}
    assert rows_of(database, "SELECT size FROM simhash_namespaces") == [(4,)]


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ([], ""),
        (["prune", "--older-than", "1"], "0 duplicates deleted"),
        (["reset", "--url", "1", "--yes"], "0 items forgotten"),
    ],
)
def test_the_copies_of_a_dead_crawl_are_orphans_for_the_commands(call, tmp_path, first, said):
    """No crawl has come since to find it dead."""
    path, text = tmp_path / "seen.db", prose(1, 200)
    database = Database(f"sqlite:///{path}")
    dead = Run.open(database)
    claimed = Index(database, run=dead)
    claimed.confirm(claimed.claim(text, key="1"))
    with Index(database) as index:
        store(index, changed(text, 1), "2", item={"n": 2})
    dead.abandon()
    change(path, "UPDATE simhash_runs SET process = 'none' WHERE id = 1")
    change(path, "UPDATE simhash_sightings SET created = 1")
    database.close()
    if first:
        assert said in call(*first, "--database", path)[1]
    assert json.loads(call("restore", "--orphans", "--database", path)[1]) == {"n": 2}


def test_similar_texts_are_copies_of_a_restored_item(call, tmp_path):
    """Its original was not stored in the end."""
    path = tmp_path / "seen.db"
    text = prose(1, 200)
    with Index(f"sqlite:///{path}") as index:
        verdict = index.claim(text, key="1")
        store(index, changed(text, 1), "2", item={"n": 2})
        # Whose original stays is no orphan.
        for key in "34":
            store(index, prose(2, 200), key, item={"n": key})
        index.release(verdict)
    assert json.loads(call("restore", "--orphans", "--database", path)[1]) == {"n": 2}
    assert call("restore", "--orphans", "--database", path)[1] == ""
    with Index(f"sqlite:///{path}") as index:
        again = index.claim(text, key="1")
        assert (again.kind, again.match.key) == ("duplicate", "2")
    assert call("reset", "--url", "2", "--yes", "--database", path)[0] == 0
    # Those of the item that stays.
    assert rows_of(path, "SELECT count(*) FROM simhash_keys") == [(6,)]


def test_an_older_item_is_restored_where_the_newest_is_not_kept(call, tmp_path):
    path = tmp_path / "seen.db"
    for run in (1, 2):
        drop(path, run, 1)
    change(path, "UPDATE simhash_sightings SET item = NULL WHERE run = 2")
    assert json.loads(call("restore", "--database", path)[1])["run"] == 1


def test_what_an_item_was_a_copy_of_is_named_though_it_is_gone(call, database):
    change(database, "DELETE FROM simhash_claims WHERE key = 'page 1'")
    out = call("restore", "--with-original", "--database", database)[1]
    assert json.loads(out.splitlines()[0])["original"] == "http://a.test/1"


def test_an_item_whose_original_is_gone_is_restored_once(call, tmp_path):
    path = tmp_path / "seen.db"
    drop(path, 1, 1, 2)
    change(path, "DELETE FROM simhash_claims")
    change(path, "DELETE FROM simhash_texts")
    change(path, "UPDATE simhash_sightings SET digest = NULL")
    written = [call("restore", "--database", path)[1].count("\n") for _ in range(2)]
    assert written == [2, 0]


def test_what_was_only_reported_is_not_restored(call, tmp_path):
    """Nor is it an orphan if its original was not stored after all."""
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        fill(index, action="report")
        verdict = index.claim(prose("other"), key="1")
        store(index, prose("other"), "2", item={"n": 2}, action="report")
        index.release(verdict)
    assert call("restore", "--database", path)[1] == ""
    (namespace,) = json.loads(call("stats", "--json", "--database", path)[1])["namespaces"]
    assert namespace["runs"][0]["orphans"] == 0

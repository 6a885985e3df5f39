"""``scrapy simhash drops``: what was dropped, and what was kept although a similar item exists."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing

import pytest
from loopback import prose
from rich.cells import cell_len
from stored import change, changed, store

from scrapy_simhash.history.record import Record
from scrapy_simhash.index.index import Index


def lines(answer):
    code, out, _ = answer
    assert code == 0
    return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def priced(tmp_path):
    """Two items with similar texts and different prices."""
    path = tmp_path / "priced.db"
    with Index(f"sqlite:///{path}", namespace="shop") as index:
        for number, text in enumerate((prose(1, 200), changed(prose(1, 200), 1)), 1):
            values = {"price": f"{number} EUR", "seller": "Ann", "comments": f"{number} comments"}
            store(index, text, f"http://a.test/{number}", values)
    return path


def test_drops_are_listed_with_their_original_similarity_and_reason(call, database):
    first, second = lines(call("drops", "--json", "--database", database))
    assert (first["url"], first["original"]) == ("http://b.test/1", "http://a.test/1")
    assert (first["similarity"], first["reason"]) == (1.0, "equal texts")
    assert 0.9 <= second["similarity"] < 1
    assert second["reason"] == "similar texts"
    assert list(second) == list(Record("kept", "").as_json())
    out = call("restore", "--id", second["id"], "--database", database)[1]
    assert json.loads(out)["url"] == second["url"]


def test_drops_without_a_line_are_counted(call, database):
    with closing(sqlite3.connect(database)) as connection, connection:
        stats = {"simhash/checked": 9, "simhash/dropped": 5, "simhash/index/namespaces": 1}
        connection.execute("UPDATE simhash_runs SET stats = ?", (json.dumps(stats),))
    assert (
        "2 dropped. Not listed: 3 items that had not changed at all. "
        in call("drops", "--database", database)[2]
    )
    assert "Not listed" not in call("drops", "--kept", "--database", database)[2]


def test_what_was_kept_is_listed_with_both_values_and_the_true_similarity(call, priced):
    assert lines(call("drops", "--json", "--database", priced)) == []
    (kept,) = lines(call("drops", "--kept", "--json", "--database", priced))
    assert (kept["url"], kept["original"]) == ("http://a.test/2", "http://a.test/1")
    assert kept["reason"] == "`price` differs"
    assert kept["fields"] == {"price": ["1 EUR", "2 EUR"]}, "their comments are state"
    assert 0.9 < kept["similarity"] < 1
    assert not kept["estimated"]
    change(priced, "DELETE FROM simhash_texts")
    (kept,) = lines(call("drops", "--kept", "--json", "--database", priced))
    assert (kept["similarity"], kept["fields"]) == (None, {})
    change(priced, "DELETE FROM simhash_claims WHERE key LIKE '%/1'")
    (kept,) = lines(call("drops", "--kept", "--json", "--database", priced))
    assert (kept["original"], kept["similarity"]) == (None, None)


def test_people_get_a_line_for_each_below_its_original_also_in_a_pipe(call, priced, database):
    shown = call("drops", "--kept", "--database", priced)[1].splitlines()
    assert shown[0] == "http://a.test/1"
    assert shown[1].startswith("    http://a.test/2  `price` differs")
    assert shown[1].endswith(": 1 EUR -> 2 EUR")
    shown = call("drops", "--database", database)[1].splitlines()
    assert shown[:2] == ["http://a.test/1", "    http://b.test/1 (copy 1)  equal texts"]
    assert re.fullmatch(r"    http://b.test/2 \(copy 2\)  similar texts \(0\.9\d\)", shown[2])


def test_copies_of_a_whole_site_are_listed_with_their_urls(call, tmp_path, monkeypatch):
    """231 copies of 40 originals."""
    path, site = tmp_path / "seen.db", "https://courier.example/a-long-name-of-a-section/2030"
    sources = ["related", "newsletter", "front", "app", "search"]
    with Index(f"sqlite:///{path}") as index:
        stories = [f"{site}/story-{number}" for number in range(40)]
        urls = [*stories, *(f"{url}?utm_source={one}" for url in stories for one in sources)]
        urls += [f"{site.replace('courier', 'gazette')}/story-{number}" for number in range(31)]
        for number, url in enumerate(urls):
            text = prose(int(re.search(r"story-(\d+)", url)[1]))
            store(index, text, url, {"views": f"{number + 10_000_000} readers"})
    monkeypatch.setenv("COLUMNS", "80")
    shown = call("drops", "--database", path)[1].splitlines()
    assert [line for line in shown if not line.startswith(" ")] == stories
    listed = [line.split() for line in shown if re.match(" {4}http", line)]
    assert sorted(url for url, *_ in listed) == sorted(urls[40:])
    remarked = [line for line in shown if line.endswith("  equal texts")]
    assert len(remarked) == 231
    assert all(cell_len(line) <= 80 for line in remarked)

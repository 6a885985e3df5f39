"""``scrapy simhash prune`` and ``reset``."""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from contextlib import closing

from scrapy_simhash.index.index import Index


def test_prune_forgets_what_is_old(call, database, monkeypatch):
    later = time.time() + 3 * 86400
    monkeypatch.setattr(time, "time", lambda: later)
    out = call("prune", "--database", database, SIMHASH_EXPIRE=2)[1]
    assert out.endswith(", 0 stored items left\n")


def test_reset_asks(call, database, monkeypatch):
    code, _, err = call("reset", "--database", database)
    assert code == 2
    assert "--yes" in err
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: "n")
    assert call("reset", "--database", database)[0] == 2
    assert json.loads(call("stats", "--json", "--database", database)[1])["namespaces"]
    monkeypatch.setattr("builtins.input", lambda question: "y")
    assert call("reset", "--database", database)[0] == 0
    assert not json.loads(call("stats", "--json", "--database", database)[1])["namespaces"]


def test_an_empty_pattern_forgets_nothing(call, database):
    code, _, err = call("reset", "--url", "", "--yes", "--database", database)
    assert (code, "--url is empty" in err) == (2, True)
    (namespace,) = json.loads(call("stats", "--json", "--database", database)[1])["namespaces"]
    assert namespace["size"] == 3


def test_reset_all_starts_again_whatever_version_made_the_tables(call, tmp_path):
    path = tmp_path / "old.db"
    with Index(f"sqlite:///{path}", namespace="news") as index:
        index.confirm(index.claim("a text of an older version of the tables", key="a"))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE simhash_meta SET value = '0' WHERE name = 'version'")
    code, _, err = call("stats", "--database", path)
    assert code == 2
    assert "version 1" in err
    assert "scrapy simhash reset --all" in err
    assert call("reset", "--all", "--database", path)[0] == 2, "it asks"
    assert call("reset", "--all", "--yes", "--database", path)[0] == 0
    with Index(f"sqlite:///{path}", namespace="news") as index:
        assert len(index) == 0

"""New files are readable by their owner alone; files planted in their place stay as they were."""

from __future__ import annotations

import json
import os
import stat
from contextlib import closing

import pytest
from scrapy.settings import Settings as ScrapySettings
from stored import fill

from scrapy_simhash import Index
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.durable import open_new, replace_file
from scrapy_simhash.history.sql import choose_namespace
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.report.data import read_report
from scrapy_simhash.report.html import write_report

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")


@pytest.fixture(autouse=True)
def no_umask():
    """By default everybody may read a new file."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def filled(tmp_path):
    with Index(f"sqlite:///{tmp_path / 'seen.db'}") as index:
        fill(index)
    return tmp_path / "seen.db"


def test_the_index_and_what_stands_beside_it_while_it_is_open(tmp_path):
    path = tmp_path / "seen.db"
    with closing(Database(f"sqlite:///{path}")):
        made = {one.name: mode(one) for one in tmp_path.iterdir()}
    assert made == dict.fromkeys(("seen.db", "seen.db-wal", "seen.db-shm"), 0o600)


def test_an_index_that_is_there_keeps_its_mode(filled):
    filled.chmod(0o640)
    Index(f"sqlite:///{filled}").close()
    assert mode(filled) == 0o640


def test_an_index_behind_a_link_is_where_the_link_leads(tmp_path):
    path, target = tmp_path / "seen.db", tmp_path / "elsewhere.db"
    path.symlink_to(target)
    Index(f"sqlite:///{path}").close()
    assert path.is_symlink()
    assert mode(target) == 0o600


def test_the_folder_of_a_project_is_made_for_its_owner(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Settings.read(ScrapySettings()).locate_database(make_folder=True)
    assert mode(tmp_path / ".scrapy" / "simhash") == 0o700


def test_a_report(filled, tmp_path):
    path = tmp_path / "report.html"
    with closing(Database(f"sqlite:///{filled}")) as database:
        write_report(read_report(choose_namespace(database, None), Rule(distance=0)), path)
        assert mode(path) == 0o600
        path.chmod(0o644)
        write_report(read_report(choose_namespace(database, None), Rule(distance=0)), path)
    assert mode(path) == 0o644, "somebody has allowed others to read it"


def test_what_dedupe_writes_and_what_restore_does(call, filled, tmp_path):
    feed = tmp_path / "in.jsonl"
    feed.write_text("".join(json.dumps({"text": f"text {number}"}) + "\n" for number in range(3)))
    out, dropped, back = (tmp_path / name for name in ("out.jsonl", "no.jsonl", "back.jsonl"))
    assert call("dedupe", feed, "-o", out, "--dropped", dropped)[0] == 0
    assert call("restore", "--database", filled, "-o", back)[0] == 0
    assert [mode(path) for path in (out, dropped, back)] == [0o600] * 3


def test_a_link_is_replaced_and_not_followed(tmp_path):
    path, precious = tmp_path / "file", tmp_path / "precious"
    precious.write_bytes(b"precious")
    precious.chmod(0o666)
    path.symlink_to(precious)
    replace_file(path, b"new")
    assert precious.read_bytes() == b"precious"
    assert (path.read_bytes(), path.is_symlink(), mode(path)) == (b"new", False, 0o600)


def test_a_new_file_is_made_in_nobody_elses_place(tmp_path):
    for name, target in (("dangling", tmp_path / "none"), ("link", tmp_path)):
        (tmp_path / name).symlink_to(target)
        with pytest.raises(FileExistsError):
            open_new(tmp_path / name)
    assert not (tmp_path / "none").exists()

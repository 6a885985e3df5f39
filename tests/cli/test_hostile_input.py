"""Foreign files and databases: one line names the error and its place; they are left unchanged."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
import zlib
from contextlib import closing

import pytest
from loopback import prose
from stored import change, fill, rows_of

from scrapy_simhash.index.index import Index


def bomb(start=b"", repeated=b"0") -> bytes:
    return gzip.compress(start + repeated * ((80 << 20) // len(repeated)))


def one_line(answer, *message) -> str:
    code, _, err = answer
    assert code == 2, err
    assert err.startswith("scrapy simhash ")
    assert err.count("\n") == 1
    assert not set("\x1b\u202e") & set(err)
    for words in message:
        assert words in err
    return err


# Feeds

GOOD = b'{"text": "a"}\n'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in.jsonl", GOOD + b'{"text": ' + b"[" * 100_000, "line 2: nested too deeply"),
        ("in.jsonl", GOOD + b'{"text": "\x81"}\n', "line 2: not UTF-8"),
        ("in.jsonl", GOOD + b'{"text": "a"', "line 2: invalid JSON"),
        ("in.jsonl", GOOD + b"[1]\n", "line 2: not a JSON object"),
        ("in.jsonl", b"\x1b[31m\xe2\x80\xae\n", "line 1: invalid JSON"),
        ("in.jsonl", b"\xff" * 4 + os.urandom(2000), "line 1: not UTF-8"),
        ("in.csv", b"text\r\na\r\n\x81\r\n", "line 3: not UTF-8"),
    ],
    ids=range(7),
)
def test_a_line_that_is_no_item_is_reported_and_the_others_are_kept(
    call, tmp_path, name, content, message
) -> None:
    path, output = tmp_path / name, tmp_path / f"out.{name}"
    path.write_bytes(content)
    code, _, err = call("dedupe", path, "-o", output)
    assert code == (2 if message.startswith("line 1") else 3)
    assert f"{path}, {message}" in err
    assert not set("\x1b\u202e") & set(err)
    assert path.read_bytes() == content
    if content.startswith(GOOD):
        assert output.read_bytes() == GOOD


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in.jsonl.gz", b"no gzip", "in.jsonl.gz: can't be decompressed"),
        ("in.jsonl.gz", gzip.compress(GOOD * 9)[:-9], "in.jsonl.gz: can't be decompressed"),
        ("in.jsonl.gz", gzip.compress(GOOD) + b"more", "in.jsonl.gz: can't be decompressed"),
        ("in.csv.gz", gzip.compress(b"text\r\na\r\n")[:-9], "in.csv.gz: can't be decompressed"),
        ("in.jsonl.gz", bomb, "line 1: more than 16 MiB"),
        ("in.csv", b"t\x81xt\r\na\r\n", "line 1: not UTF-8; name its encoding"),
        ("in.csv", "text\r\nä\r\n".encode("utf-16")[:-1], "not UTF-16"),
        ("in.csv", b'"title;text"\r\n"A;b"\r\n', "a single column, 'title;text'"),
        ("in.json", b'[{"a": 1}, {"b": 2', "item 2: invalid JSON, or cut off (Expecting"),
        ("in.json", b'[{"a": 1}, {"b": }]', "item 2: invalid JSON, or cut off (Expecting"),
        ("in.json", b'[{"a":' + b"[" * 100_000, "item 1: invalid JSON"),
        ("in.json", b'[{"a": 1}', "item 1: the array is cut off"),
        ("in.json", b'[{"a": 1}] {"b": 2}', "item 2: something stands behind the end"),
        ("in.json", b'{"items": [{"a": 1}]}', """jq -c '.. | .["items"]? //"""),
        ("in.jsonl", b'{\n "items": [{"a": 1}]\n}', """jq -c '.. | .["items"]? //"""),
        ("in.json", b'{\n "a": 1\n}', "a single JSON object"),
        ("in.json", b'{"f": [{}], "r": {"d": [{}, {}]}}', '["d"]? // empty | .[]'),
        ("in.json", b'{"1": {"a": 1}, "2": {"a": 2}}', "jq -c '.[]' writes these"),
        ("in.csv.gz", bomb, "line 1: more than 16 MiB"),
        pytest.param(
            "in.csv.gz",
            lambda: bomb(b'text\r\na\r\n"', b"0\n"),
            "more than 16 MiB",
            marks=pytest.mark.slow,
        ),
        ("in.xml", b"<a/>", "in .jsonl, .json, .csv"),
    ],
    ids=range(21),
)
def test_a_feed_that_can_not_be_read_is_named(call, tmp_path, name, content, message) -> None:
    path = tmp_path / name
    content = content if isinstance(content, bytes) else content()
    path.write_bytes(content)
    output = tmp_path / name.replace("in.", "out.")
    one_line(call("dedupe", path, "-o", output), str(path), message)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: None, "does not exist"),
        (os.mkdir, "no file of a known format"),
        (os.mkfifo, "is not a regular file"),
    ],
    ids=["nothing", "folder", "pipe"],
)
def test_what_is_no_file_is_no_feed(call, tmp_path, make, message) -> None:
    path = tmp_path / "in.jsonl"
    make(path)
    one_line(call("dedupe", path, "-o", tmp_path / "out.jsonl"), str(path), message)


# Files to compare


def test_what_can_not_be_compared_is_named(call, tmp_path) -> None:
    text, large = tmp_path / "text", tmp_path / "large"
    text.write_text(prose(1))
    with large.open("wb") as stream:
        stream.truncate((64 << 20) + 1)
    one_line(call("compare", text, tmp_path), f"{tmp_path}: Is a directory")
    one_line(call("compare", text, tmp_path / "none"), f"{tmp_path / 'none'}: No such file")
    one_line(call("compare", text, large), f"{large}: larger than 64 MiB")


# Numbers


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5", "1" * 30, "", "٣x"])
def test_a_number_that_is_out_of_its_range_is_refused(call, database, number) -> None:
    for command, *options in (
        ("drops", "--run"),
        ("report", "-o", "report.html", "--run"),
        ("restore", "--run"),
        ("prune", "--older-than"),
    ):
        options[-1] += f"={number}"
        code, _, err = call(command, "--database", database, *options)
        assert code == 2
        assert "expected an integer from 1 upwards" in err
    for given in (number, f"1-{number}", f"{number}-1"):
        code, _, err = call("restore", "--database", database, f"--id={given}")
        assert (code, "expected an id such as 1-17" in err) == (2, True)


# Databases


def assert_untouched(call, path, *message) -> None:
    before = path.read_bytes()
    for command in (["stats"], ["show", "x"], ["drops"], ["restore"], ["prune", "--older-than", 1]):
        one_line(call(*command, "--database", path), path.name, *message)
    assert path.read_bytes() == before


def test_the_database_of_another_program_is_left_as_it_is(call, tmp_path) -> None:
    path = tmp_path / "bookmarks.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE bookmarks (url)")
        connection.execute("INSERT INTO bookmarks VALUES ('x')")
    assert_untouched(call, path, "no index")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "content", [b"", b"not a database" * 99, b"SQLite format 3\0" + b"\0" * 99]
)
def test_what_is_no_database_is_left_as_it_is(call, tmp_path, content) -> None:
    path = tmp_path / "seen.db"
    path.write_bytes(content)
    assert_untouched(call, path)


def test_a_database_that_is_cut_is_damaged(call, database) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode=DELETE")
    size = database.stat().st_size
    os.truncate(database, size - 3 * 4096)
    one_line(call("restore", "--database", database), "damaged", "it was not touched")
    assert database.stat().st_size == size - 3 * 4096


@pytest.mark.parametrize("version", ["0", "99", "x\x1b[31m", "9" * 200, "-1"])
def test_a_database_of_another_version_is_left_as_it_is(call, database, version) -> None:
    change(database, f"UPDATE simhash_meta SET value = '{version}' WHERE name = 'version'")
    one_line(call("stats", "--database", database), "tables have version")
    assert rows_of(database, "SELECT count(*) FROM simhash_claims") == [(3,)]


# Read as they are, or not at all.
_UNREAD = {("runs", "stats"), ("claims", "fingerprint"), ("sightings", "facts")}


def commands(tmp_path):
    return (
        ["stats"],
        ["show", "http://b.test/2"],
        ["drops"],
        ["report", "-o", tmp_path / "report.html"],
        # The last, as it writes to the database.
        ["restore"],
    )


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("claims", "fingerprint"),
        ("claims", "created"),
        ("sightings", "original"),
        ("sightings", "facts"),
        ("sightings", "similarity"),
        ("sightings", "item"),
        ("namespaces", "name"),
        ("namespaces", "plan"),
        ("namespaces", "text_bytes"),
        ("runs", "opened"),
        ("runs", "stats"),
    ],
)
def test_no_value_that_a_file_may_hold_reaches_the_terminal(
    call, database, tmp_path, table, column
) -> None:
    change(database, f"UPDATE simhash_{table} SET {column} = x'1bff00'")
    codes = set()
    for command in commands(tmp_path):
        code, out, err = call(*command, "--database", database)
        codes.add(code)
        assert not set("\x1b\u202e") & set(out + err)
        assert code == 0 or "damaged" in err.splitlines()[-1]
    assert codes != {0} or (table, column) in _UNREAD


@pytest.mark.parametrize("bombs", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_is_packed_and_can_not_be_read_costs_that_row_alone(
    call, database, tmp_path, bombs
) -> None:
    given = [b"", b"\x1b", zlib.compress(b"[1]") + b"more"]
    if bombs:
        bomb = zlib.compress(b"0" * (80 << 20))
        given = [bomb, bomb[:-4]]
    as_it_was = shutil.copy(database, tmp_path / "as_it_was.db")
    for packed in given:
        shutil.copy(as_it_was, database)
        with closing(sqlite3.connect(database)) as connection, connection:
            first = "id = (SELECT min(id) FROM simhash_sightings WHERE action = 'drop')"
            connection.execute(f"UPDATE simhash_sightings SET item = ? WHERE {first}", (packed,))
            of_claims = "id IN (SELECT id FROM simhash_claims)"
            connection.execute(f"UPDATE simhash_texts SET text = ? WHERE {of_claims}", (packed,))
        path = tmp_path / f"{len(packed)}.jsonl"
        code, _, err = call("restore", "--database", database, "-o", path)
        assert code == 2
        assert "1 item restored" in err
        assert "1 item can't be read" in err
        back = [json.loads(line)["url"] for line in path.read_bytes().splitlines()]
        assert back == ["http://b.test/2"]
        for command in commands(tmp_path):
            if command[0] != "restore":
                assert call(*command, "--database", database)[0] == 0


@pytest.mark.parametrize("column", ["facts", "minhash", "fingerprint", "digest", "page_sketch"])
def test_a_damaged_claim_drops_nothing(tmp_path, column) -> None:
    """What meets it gets no verdict, or one without it: either way it is kept."""
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        fill(index)
    change(path, f"UPDATE simhash_claims SET {column} = x'1bff00'")
    change(path, "UPDATE simhash_texts SET text = x'1bff00'")
    with Index(f"sqlite:///{path}") as index:
        document = index.document(prose(1, 200), key="new", url="http://c.test/")
        try:
            (verdict,) = index.execute(claims=[document])
        except ValueError:
            return
        assert verdict.kind == "unique" or column in {"facts", "digest", "page_sketch"}
        assert index.execute(claims=[index.document(prose(99, 200), key="other")])

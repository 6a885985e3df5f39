"""How errors are reported: the user's in one line, ours as a bug."""

from __future__ import annotations

import random

import pytest

from scrapy_simhash.cli import explain
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.simhash.scheme import load_scheme


def text(seed: object, words: int = 40) -> str:
    chosen = random.Random(str(seed))
    return " ".join(f"w{chosen.randrange(10**6)}" for _ in range(words))


def one_line(answer) -> str:
    code, _, err = answer
    assert code == 2
    assert err.startswith("scrapy simhash ")
    assert err.count("\n") == 1
    return err


# Ours


@pytest.mark.parametrize("error", [KeyError("x"), TypeError("x"), ValueError("x"), IndexError("x")])
def test_an_error_of_ours_is_shown_as_a_bug_with_its_traceback(call, monkeypatch, error) -> None:
    def fail(*arguments, **more):
        raise error

    monkeypatch.setattr(explain, "print_json", fail)
    code, _, err = call("explain", "two words", "--json")
    assert code == 1
    assert "Traceback" in err
    assert "this is a bug" in err.splitlines()[-1]


# The user's


@pytest.mark.parametrize("name", ["", "x" * 256, "a\0b", "\udcff"], ids=range(4))
@pytest.mark.parametrize("command", ["stats", "reset"])
def test_a_namespace_that_can_not_be_stored_is_named(
    call, tmp_path, database, command, name
) -> None:
    code, _, err = call(command, "--database", database, "--namespace", name)
    assert code == 2
    assert "argument --namespace: namespace" in err.splitlines()[-1]
    assert "1 to 255 characters" in err.splitlines()[-1]


def test_files_whose_names_are_no_text_are_worked_on(call, tmp_path) -> None:
    path, output = tmp_path / "in\udcff.jsonl", tmp_path / "out\udcff.jsonl"
    path.write_text('{"a": 1}\n{"a": 1}\n')
    assert call("dedupe", path, "-o", output)[0] == 0
    assert output.read_text() == '{"a": 1}\n'


def test_a_feed_that_is_nested_too_deeply_is_named(call, tmp_path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n")
    code, _, err = call("dedupe", path, "-o", tmp_path / "out.jsonl", "--fields", "text")
    assert code == 2
    assert f"{path}, line 1: nested too deeply" in err


def test_fields_that_are_nested_too_deeply_are_named(call, tmp_path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text": ' + b"[" * 700 + b"]" * 700 + b"}\n")
    code, _, err = call("dedupe", path, "-o", tmp_path / "out.jsonl", "--fields", "text")
    assert "Traceback" not in err
    assert code == 0 or "nested too deeply" in err


@pytest.mark.parametrize(
    "url", ["nothing://u:secret@host/name", "mysql+pymysql://u:secret@/name?host=:"]
)
def test_an_unreadable_database_is_reported_without_its_password(call, url: str) -> None:
    message = one_line(call("stats", "--database", url))
    assert "host" in message or "driver" in message
    assert "secret" not in message


def test_keys_that_do_not_serve_the_distance_are_the_users_trouble(call, tmp_path) -> None:
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}", rule=Rule(distance=0, scheme=load_scheme("keywords"))) as index:
        index.claim(text(1), key="1")
    given = {"SIMHASH_SCHEME": "keywords", "SIMHASH_DISTANCE": 30}
    assert "lookups" in one_line(call("prune", "--older-than", 1, "--database", path, **given))


def test_a_file_that_is_there_is_not_restored_over(call, tmp_path) -> None:
    database, path = tmp_path / "seen.db", tmp_path / "back.jsonl"
    with Index(f"sqlite:///{database}") as index:
        index.claim(text(1), key="1")
    path.touch()
    message = one_line(call("restore", "--database", database, "-o", path))
    assert f"{path} exists" in message


@pytest.mark.parametrize(
    "command", [["report", "-o"], ["restore", "-o"], ["patterns", "--rules"], ["try", "a", "-o"]]
)
def test_a_path_that_can_not_be_a_file_is_named(call, tmp_path, command) -> None:
    for path, said in (
        (tmp_path / "none" / "x", f"there is no folder {tmp_path / 'none'}"),
        (tmp_path / ("n" * 300) / "x", "there is no folder"),
        (tmp_path, f"{tmp_path} is a folder"),
        ("/", "/ is a folder"),
    ):
        code, _, err = call(*command, path)
        assert code == 2
        assert said in err.splitlines()[-1]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", ["0", "-1", "x", "1" * 30])
def test_the_number_of_a_run_is_checked(call, tmp_path, number: str) -> None:
    database = tmp_path / "seen.db"
    with Index(f"sqlite:///{database}") as index:
        index.claim(text(1), key="1")
    for command in (["tune"], ["restore"], ["report", "-o", tmp_path / "report.html"]):
        code, _, err = call(*command, "--database", database, "--run", number)
        assert code == 2
        assert "an integer from 1 upwards" in err


def test_a_namespace_without_a_name_is_refused(call, tmp_path) -> None:
    code, _, err = call("stats", "--database", tmp_path / "seen.db", "--namespace", "")
    assert code == 2
    assert "1 to 255 characters" in err


def test_what_is_kept_and_what_is_dropped_are_two_files(call, tmp_path) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"text": "a"}\n')
    message = one_line(
        call("dedupe", source, "-o", output, "--dropped", output, "--fields", "text")
    )
    assert "must be different files" in message

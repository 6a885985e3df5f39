"""How errors are reported: the user's in one line, ours as a bug."""

from __future__ import annotations

import pytest
from cli.test_hostile_input import one_line
from loopback import prose

from scrapy_simhash.cli import explain
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.simhash.scheme import load_scheme

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


def test_an_unreadable_database_is_reported_in_a_line(call) -> None:
    assert "driver" in one_line(call("stats", "--database", "nothing://u:secret@host/name"))


def test_keys_that_do_not_serve_the_distance_are_the_users_trouble(call, tmp_path) -> None:
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}", rule=Rule(distance=0, scheme=load_scheme("keywords"))) as index:
        index.claim(prose(1), key="1")
    given = {"SIMHASH_SCHEME": "keywords", "SIMHASH_DISTANCE": 30}
    assert "lookups" in one_line(call("prune", "--older-than", 1, "--database", path, **given))


@pytest.mark.parametrize(
    "command",
    [
        *(["report", "-o"], ["restore", "-o"], ["patterns", "--rules"], ["try", "a", "-o"]),
        *(["dedupe", "in.csv", "-o"], ["dedupe", "in.csv", "-o", "-", "--groups"]),
    ],
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


def test_what_is_kept_and_what_is_dropped_are_two_files(call, tmp_path) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"text": "a"}\n')
    message = one_line(
        call("dedupe", source, "-o", output, "--dropped", output, "--fields", "text")
    )
    assert "must be different files" in message

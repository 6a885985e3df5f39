"""Files that are put in the place of others."""

from __future__ import annotations

import os

import pytest

from scrapy_simhash.durable import new_file, replace_file


def test_what_can_not_be_written_leaves_what_was_there(tmp_path, monkeypatch) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_new_file_has_its_name_once_it_is_complete(tmp_path) -> None:
    path = tmp_path / "file"
    with new_file(path) as stream:
        stream.write(b"whole")
        stream.flush()
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("is_there_first", [True, False])
def test_a_new_file_takes_nobodys_place(tmp_path, is_there_first) -> None:
    path = tmp_path / "file"
    if is_there_first:
        path.symlink_to(tmp_path / "nowhere")

    def write() -> None:
        with new_file(path) as stream:
            stream.write(b"mine")
            path.write_bytes(b"theirs")

    with pytest.raises(FileExistsError):
        write()
    assert path.is_symlink() or path.read_bytes() == b"theirs"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_link_that_was_planted_beside_it_is_not_followed(tmp_path) -> None:
    path, precious = tmp_path / "file", tmp_path / "precious"
    precious.write_bytes(b"precious")
    (tmp_path / "file.new").symlink_to(precious)
    replace_file(path, b"new")
    assert precious.read_bytes() == b"precious"


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path) -> None:
    path = tmp_path / ("x" * 255)
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"

"""Files that are put in the place of others."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack

import pytest

from scrapy_simhash import durable
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


def test_the_second_of_two_writers_is_refused(tmp_path) -> None:
    path = tmp_path / "file"
    with new_file(path) as stream:
        for _ in range(2):
            with pytest.raises(BlockingIOError, match="by another process"), new_file(path):
                pytest.fail("it is locked")
        stream.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_what_a_killed_process_left_is_replaced_whoever_could_read_it(tmp_path) -> None:
    left = tmp_path / ".file.part"
    left.write_bytes(b"half a file that is longer")
    left.chmod(0o666)
    with new_file(tmp_path / "file") as stream:
        stream.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_link_in_the_place_of_an_unfinished_file_is_not_followed(tmp_path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    (tmp_path / ".file.part").symlink_to(precious)
    with pytest.raises(OSError, match=r"\.file\.part"), new_file(tmp_path / "file"):
        pytest.fail("it must not be opened")
    assert precious.read_bytes() == b"precious"


def test_where_nothing_can_be_locked_only_the_last_writer_has_a_file(tmp_path, monkeypatch) -> None:
    def flock(*arguments: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(durable.fcntl, "flock", flock)
    path = tmp_path / "file"
    with ExitStack() as stack:
        with pytest.raises(FileNotFoundError, match="was removed"), new_file(path):
            stack.enter_context(new_file(path)).write(b"last")
        assert not path.exists()
    assert path.read_bytes() == b"last"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]

"""A call that goes on where an earlier one was stopped, and what it finds in its output."""

from __future__ import annotations

import gzip
import json
import random
from contextlib import closing, suppress

import pytest

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.feed import dedupe as dedupe_module
from scrapy_simhash.feed.dedupe import dedupe
from scrapy_simhash.feed.files import Feed, FeedError
from scrapy_simhash.feed.progress import FeedCounts, Progress
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.runs import Run

PART = 5


class Stopped(Exception):
    pass


def text(number: int) -> str:
    words = random.Random(number)
    return " ".join(f"w{words.randrange(10**6)}" for _ in range(30))


class Call:
    """A feed of which two parts are written and one of them is noted; it can be gone on with."""

    def __init__(self, folder, suffix: str) -> None:
        self.source = folder / f"in.{suffix}"
        self.output = folder / f"out.{suffix}"
        self.progress = folder / "progress"
        self.index = folder / "index.db"
        lines = [f'{{"text": "{text(number % 18)}", "n": {number}}}\n' for number in range(20)]
        if "csv" in suffix:
            lines = ["text,n\r\n", *(f"{text(number % 18)},{number}\r\n" for number in range(20))]
        content = "".join(lines).encode()
        self.source.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)

    def run(self, stop_after: int = 100) -> FeedCounts:
        def advance(counts: FeedCounts) -> None:
            if counts.read >= stop_after:
                raise Stopped

        # As the command does it; the run of a call that was stopped is dead.
        with closing(Database(f"sqlite:///{self.index}")) as database:
            index = Index(database, run=Run.open(database, on_crash="keep"))
            return dedupe(
                index, Feed(self.source), [self.output], ["text"], self.progress, advance=advance
            )

    def kept(self) -> list[int]:
        stored = self.output.read_bytes()
        if self.output.suffix == ".gz":
            stored = gzip.decompress(stored)
        lines = stored.decode().splitlines()
        if "csv" in self.output.name:
            assert lines.pop(0) == "text,n"
            return [int(line.rpartition(",")[2]) for line in lines]
        return [json.loads(line)["n"] for line in lines]


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(dedupe_module, "_PART", PART)


@pytest.fixture(params=["jsonl", "jsonl.gz", "csv", "csv.gz"])
def stopped(request, tmp_path) -> Call:
    call = Call(tmp_path, request.param)
    with suppress(Stopped):
        call.run(stop_after=2 * PART)
    assert json.loads(call.progress.read_text())["counts"]["read"] == PART
    return call


def refused(call: Call) -> str:
    """What is said; the output and the progress are as they were."""
    before = call.output.read_bytes() if call.output.exists() else None
    noted = call.progress.read_bytes()
    with pytest.raises(FeedError) as error:
        call.run()
    assert (call.output.read_bytes() if call.output.exists() else None) == before
    assert call.progress.read_bytes() == noted
    return str(error.value)


def test_what_was_stopped_ends_as_a_single_call_does(stopped) -> None:
    assert stopped.run().kept == 18
    assert stopped.kept() == list(range(18))


def test_an_output_that_is_gone_is_named_and_not_made_of_nothing(stopped) -> None:
    stopped.output.rename(stopped.output.with_name("moved"))
    said = refused(stopped)
    assert f"{stopped.output} is gone" in said
    assert str(stopped.progress) in said
    assert not stopped.output.exists()


def test_an_output_that_was_moved_away_and_put_back_is_gone_on_with(stopped) -> None:
    moved = stopped.output.with_name("moved")
    stopped.output.rename(moved)
    refused(stopped)
    moved.rename(stopped.output)
    stopped.run()
    assert stopped.kept() == list(range(18))


def test_an_output_that_became_shorter_is_refused(stopped) -> None:
    noted = json.loads(stopped.progress.read_text())["lengths"][0]
    with stopped.output.open("r+b") as stream:
        stream.truncate(noted - 7)
    said = refused(stopped)
    assert f"shorter, {noted - 7:,} bytes" in said
    assert f"written {noted:,} bytes" in said


def test_an_output_that_somebody_has_written_to_is_refused(stopped) -> None:
    with stopped.output.open("ab") as stream:
        stream.write(b"precious\n")
    assert "somebody else has written to it" in refused(stopped)
    noted = json.loads(stopped.progress.read_text())["lengths"][0]
    with stopped.output.open("r+b") as stream:
        stream.truncate(noted)
        stream.seek(0, 2)
        stream.write(b"precious\n")
    assert "Cut it to that length" in refused(stopped)


def test_an_output_that_was_changed_in_place_is_refused(stopped) -> None:
    with stopped.output.open("r+b") as stream:
        stream.seek(20)
        stream.write(b"#")
    assert f"{stopped.output} was changed" in refused(stopped)


@pytest.mark.parametrize("cut", [1, 40])
def test_a_part_that_was_written_by_half_is_written_again(stopped, cut: int) -> None:
    size = stopped.output.stat().st_size
    with stopped.output.open("r+b") as stream:
        stream.truncate(size - cut)
    stopped.run()
    assert stopped.kept() == list(range(18))


def test_bytes_that_a_loss_of_power_has_left_empty_are_written_again(stopped) -> None:
    noted = json.loads(stopped.progress.read_text())["lengths"][0]
    size = stopped.output.stat().st_size
    with stopped.output.open("r+b") as stream:
        stream.seek(noted + 11)
        stream.write(bytes(size - noted - 11))
    stopped.run()
    assert stopped.kept() == list(range(18))


def test_what_the_first_part_would_overwrite_is_refused(tmp_path) -> None:
    call = Call(tmp_path, "jsonl")
    call.output.write_bytes(b"precious\n")
    with pytest.raises(FeedError, match="somebody else"):
        call.run()
    assert call.output.read_bytes() == b"precious\n"


def test_an_empty_feed_makes_an_empty_output(tmp_path) -> None:
    call = Call(tmp_path, "csv")
    call.source.write_bytes(b"text,n\r\n")
    assert call.run().read == 0
    assert call.output.read_bytes() == b"text,n\r\n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b"\xff",
        b"[" * 100_000,
        b'{"feed": "x"}',
        b'{"feed": "x", "fields": [], "counts": {"read": "1"}, "lengths": [], "digests": []}',
        b'{"feed": "x", "fields": [], "counts": {}, "lengths": [-1], "digests": ["x"]}',
    ],
)
def test_a_damaged_note_of_the_progress_is_named(tmp_path, content: bytes) -> None:
    path = tmp_path / "out.progress"
    path.write_bytes(content)
    with pytest.raises(FeedError, match=r"out\.progress is damaged"):
        Progress.load(path, "x", ["text"], 1)


def test_progress_comes_back_as_it_was_noted(tmp_path) -> None:
    path = tmp_path / "out.progress"
    noted = Progress("x", ["text"], FeedCounts(3, 2, 1, 0), [10], ["digest"])
    noted.save(path)
    assert Progress.load(path, "x", ["text"], 1) == noted
    assert [one.name for one in tmp_path.iterdir()] == ["out.progress"]

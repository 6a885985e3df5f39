"""`dedupe` killed at random moments, and called again."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from loopback import prose
from scrapy.cmdline import execute
from scrapy.settings import Settings
from torture.processes import HARD_KILL, kill, start
from torture.rows import Cases, Row

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess
    from pathlib import Path

GROUPS, TWINS = 900, 2


def call(*arguments: str) -> None:
    execute(["scrapy", "simhash", "dedupe", *arguments], Settings())


@dataclass
class Feed:
    """A feed, and what is left of it without its twins: by way of an index, or as a corpus."""

    source: Path
    folder: Path
    has_index: bool

    @property
    def output(self) -> Path:
        return self.folder / "out.jsonl"

    @property
    def progress(self) -> Path:
        return self.folder / "out.jsonl.progress"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8")

    def start(self) -> ForkServerProcess:
        self.folder.mkdir(exist_ok=True)
        # A process that is started here may start none.
        database = ["--database", str(self.folder / "seen.db")]
        how = database if self.has_index else ["--workers", "1"]
        arguments = [str(self.source), "-o", str(self.output), *how]
        return start(call, *arguments, log=self.folder / "log")

    def finish(self) -> int | None:
        """Call it; the exit code."""
        process = self.start()
        process.join(HARD_KILL)
        kill(process)
        return process.exitcode

    def written(self) -> list[bytes | None]:
        files = (self.output, self.progress)
        return [file.read_bytes() if file.exists() else None for file in files]

    def read(self) -> int:
        """How many items are noted as done."""
        try:
            return json.loads(self.progress.read_text("utf-8"))["counts"]["read"]
        except FileNotFoundError:
            return 0


def kill_at_a_moment(feed: Feed, chance: random.Random) -> None:
    """Kill a call after some more parts of the feed, any of them."""
    process = feed.start()
    wanted = feed.read() + chance.randint(1, GROUPS * TWINS // 4)
    while feed.read() < wanted and process.is_alive():
        time.sleep(0.001)
    time.sleep(chance.random() * 0.02)
    kill(process)
    assert process.exitcode, "it was done already"


def refused(feed: Feed) -> None:
    """It ends with a line that names the output, and touches nothing."""
    before = feed.written()
    assert feed.finish() == 2, feed.log
    (line,) = feed.log.splitlines()
    assert str(feed.output) in line
    assert str(feed.progress) in line
    assert feed.written() == before


def row(case: str, calls: int, output: Path) -> Row:
    kept = Counter(json.loads(line)["group"] for line in output.read_text("utf-8").splitlines())
    twice = sum(count - 1 for count in kept.values())
    return Row(case, calls, GROUPS, GROUPS - len(kept), twice, 0)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    items = [(group, twin) for group in range(GROUPS) for twin in range(TWINS)]
    random.Random(3).shuffle(items)
    with path.open("w", encoding="utf-8") as file:
        for group, twin in items:
            # Each at a place of its own, so that no address says what it is.
            item = {"url": f"http://{twin}.example/{group}", "text": prose(group, 60)}
            file.write(json.dumps({**item, "group": group}) + "\n")
    return path


def test_dedupe_killed_and_called_again(source, tmp_path, table, seeds):
    """It ends as if nothing had happened, with its output intact or put right; or begins anew."""
    whole = Feed(source, tmp_path / "whole", has_index=True)
    assert whole.finish() == 0
    wanted = whole.output.read_bytes()
    intact, mended, anew = Cases(), Cases(), Cases()
    for seed in seeds():
        chance = random.Random(seed)
        feed = Feed(source, tmp_path / str(seed), has_index=True)
        kill_at_a_moment(feed, chance)
        while not feed.read():
            kill_at_a_moment(feed, chance)
        other, fresh = (replace(feed, folder=tmp_path / f"{seed} {what}") for what in "ab")
        for copy in (other, fresh):
            shutil.copytree(feed.folder, copy.folder)

        kill_at_a_moment(feed, chance)
        assert feed.finish() == 0, feed.log
        assert feed.output.read_bytes() == wanted
        intact.append(row("dedupe, kill -9 twice, output intact", 3, feed.output))

        moved = other.output.rename(other.folder / "moved")
        refused(other)
        noted = json.loads(other.progress.read_text("utf-8"))["lengths"][0]
        other.output.write_bytes(moved.read_bytes()[: chance.randrange(noted)])
        refused(other)
        moved.rename(other.output)
        assert other.finish() == 0, other.log
        assert other.output.read_bytes() == wanted
        mended.append(row("dedupe, output moved, then cut, then put back", 4, other.output))

        fresh.output.unlink()
        refused(fresh)
        fresh.progress.unlink()
        assert fresh.finish() == 0, fresh.log
        assert fresh.output.read_bytes() == wanted
        anew.append(row("dedupe, begun anew without its output", 3, fresh.output))
    assert {cases.total(table)[3:] for cases in (intact, mended, anew)} == {(0, 0, 0, 0)}


def test_a_corpus_killed_and_begun_again(source, tmp_path, table, seeds):
    """Wherever it is killed, in the end its output is that of a single call."""
    whole = Feed(source, tmp_path / "whole", has_index=False)
    began = time.monotonic()
    assert whole.finish() == 0
    took = time.monotonic() - began
    cases = Cases()
    for seed in seeds():
        chance = random.Random(seed)
        feed = Feed(source, tmp_path / str(seed), has_index=False)
        for _ in range(2):
            process = feed.start()
            time.sleep(chance.random() * took)
            kill(process)
        if not feed.output.exists():
            assert feed.finish() == 0, feed.log
        assert feed.output.read_bytes() == whole.output.read_bytes()
        cases.append(row("dedupe of a corpus, kill -9 twice", 3, feed.output))
    assert cases.total(table)[3:] == (0, 0, 0, 0)

"""`dedupe` killed at random moments, and called again."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
from loopback import prose
from scrapy.cmdline import execute
from scrapy.settings import Settings
from torture.processes import HARD_KILL, kill, start
from torture.rows import Cases, Row

GROUPS, COPIES = 900, 2


def call(*arguments: str) -> None:
    execute(["scrapy", "simhash", "dedupe", *arguments], Settings())


@dataclass
class Feed:
    """A feed, and where its output goes."""

    source: Path
    folder: Path

    @property
    def output(self) -> Path:
        return self.folder / "out.jsonl"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8")

    def start(self) -> ForkServerProcess:
        self.folder.mkdir(exist_ok=True)
        # A process that is started here may start none.
        arguments = [str(self.source), "-o", str(self.output), "--workers", "1"]
        return start(call, *arguments, log=self.folder / "log")

    def finish(self) -> int | None:
        """Call it; the exit code."""
        process = self.start()
        process.join(HARD_KILL)
        kill(process)
        return process.exitcode


def row(case: str, calls: int, output: Path) -> Row:
    kept = Counter(json.loads(line)["group"] for line in output.read_text("utf-8").splitlines())
    twice = sum(count - 1 for count in kept.values())
    return Row(case, calls, GROUPS, GROUPS - len(kept), twice, 0)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    items = [(group, copy) for group in range(GROUPS) for copy in range(COPIES)]
    random.Random(3).shuffle(items)
    with path.open("w", encoding="utf-8") as file:
        for group, copy in items:
            # Each at a place of its own, so that addresses tell nothing.
            item = {"url": f"http://{copy}.example/{group}", "text": prose(group, 60)}
            file.write(json.dumps({**item, "group": group}) + "\n")
    return path


def test_dedupe_killed_and_called_again(source, tmp_path, table, seeds):
    """Wherever it is killed, its output is complete or missing, and the next call completes it."""
    whole = Feed(source, tmp_path / "whole")
    began = time.monotonic()
    assert whole.finish() == 0
    took = time.monotonic() - began
    cases = Cases()
    for seed in seeds():
        chance = random.Random(seed)
        feed = Feed(source, tmp_path / str(seed))
        for _ in range(2):
            process = feed.start()
            time.sleep(chance.random() * took)
            kill(process)
            left = {path.name for path in feed.folder.glob("[!.]*")} - {"log"}
            assert left in (set(), {"out.jsonl"})
        if not feed.output.exists():
            assert feed.finish() == 0, feed.log
        assert feed.output.read_bytes() == whole.output.read_bytes()
        assert {path.name for path in feed.folder.glob("[!.]*")} == {"log", "out.jsonl"}
        cases.append(row("dedupe, kill -9 twice", 3, feed.output))
    assert cases.total(table)[3:] == (0, 0, 0, 0)

"""Crawls on a machine whose power is cut: what was not synced is gone, see `forgetful.py`.

The index and the feeds lie on a file system of which a cut leaves what was synced, and of the rest
what chance wants. What counts is what is left of the feeds when a last crawl has ended, and the
power was cut once more.
"""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from loopback import article, path_of, prose, serve
from torture.pages import EVERY, GROUPS, PATHS, group_of
from torture.rows import Cases, Row

HERE = Path(__file__).parent
#: No process lives longer, whatever happens to it.
HARD_KILL = 90


class Forgetful:
    """The file system, in a process of its own.

    Args:
        folder: where it is seen.

    Raises:
        OSError: it can't be mounted here.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, HERE / "forgetful.py", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if self._process.stdout.readline() != "mounted\n":
            raise OSError(self._process.communicate()[1].strip().splitlines()[-1])

    def stop_after(self, count: int, suffix: str = "") -> None:
        """Refuse all changes after so many, from the first on that writes to such a file."""
        self._ask(f"stop {count} {suffix}")

    def has_stopped(self) -> bool:
        """Whether a change was refused."""
        return self._ask("stopped") == "True"

    def cut(self, seed: str) -> None:
        """Cut the power, and mount what is left; what is open is lost to those who have it open."""
        self._ask(f"cut {seed}")

    def close(self) -> None:
        """Unmount it."""
        self._process.communicate()

    def _ask(self, command: str) -> str:
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        if not (answer := self._process.stdout.readline().strip()):
            raise OSError(self._process.communicate()[1])
        return answer


@dataclass
class Machine:
    """A disk, and the processes that use it."""

    disk: Forgetful
    outside: Path
    site: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    crawls: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def database(self) -> Path:
        return self.disk.folder / "index.db"

    def start(self, number: int, *arguments: str | Path) -> subprocess.Popen[bytes]:
        """Start a process, which has its own log."""
        with (self.outside / f"{number}.log").open("wb") as log:
            process = subprocess.Popen([sys.executable, *arguments], stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def crawl(self, order: int) -> subprocess.Popen[bytes]:
        """Start a crawl of all pages, to which no page is news that is stored."""
        number = len(self.crawls)
        urls = [self.site + path for path in PATHS]
        random.Random(order).shuffle(urls)
        settings = {
            "SIMHASH_DATABASE_URL": f"sqlite:///{self.database}",
            "SIMHASH_TIMEOUT": 60,
            "SIMHASH_KNOWN": "drop",
            "FEEDS": {str(self.disk.folder / "feeds" / f"{number}.jsonl"): {"format": "jsonlines"}},
        }
        plan = self.outside / f"{number}.plan"
        stats = str(self.outside / f"{number}.stats")
        plan.write_text(json.dumps({"urls": urls, "settings": settings, "stats": stats}))
        self.crawls.append(self.start(number, HERE / "crawler.py", plan))
        return self.crawls[-1]

    def wait(self, process: subprocess.Popen[bytes]) -> None:
        """Until it has ended, or its power is gone."""
        deadline = time.monotonic() + HARD_KILL
        while process.poll() is None and not self.disk.has_stopped():
            time.sleep(0.02)
            if time.monotonic() > deadline:
                process.kill()
                process.wait()
                pytest.fail("the process did not end")

    def cut(self, seed: int) -> None:
        """Cut the power, and turn it on again."""
        self.kill()
        self.disk.cut(str(seed))

    def kill(self) -> None:
        """End all processes."""
        while self.processes:
            process = self.processes.pop()
            process.kill()
            process.wait()

    def delivered(self, number: int) -> list[str]:
        """The group of each item that is left of a feed; a line that was cut off is none."""
        feed, groups = self.disk.folder / "feeds" / f"{number}.jsonl", []
        for line in feed.read_bytes().splitlines() if feed.exists() else ():
            try:
                groups.append(group_of(path_of(json.loads(line)["url"])))
            except ValueError:
                continue
        return groups

    def settled(self) -> set[int]:
        """The processes whose runs are settled."""
        with closing(sqlite3.connect(self.database)) as connection:
            query = "SELECT process FROM simhash_runs WHERE settled"
            return {int(process.split()[0]) for (process,) in connection.execute(query)}

    def row(self, case: str) -> Row:
        """What became of the groups: all that is settled is delivered once."""
        settled, stood, everything = self.settled(), [], set()
        twice = 0
        for number, crawl in enumerate(self.crawls):
            groups = self.delivered(number)
            everything.update(groups)
            if crawl.pid in settled:
                stood += groups
            else:
                twice += len(groups) - len(set(groups))
        twice += len(stood) - len(set(stood))
        return Row(case, len(self.crawls), GROUPS, len(EVERY - everything), twice, 0)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serve({path: article(group_of(path)) for path in PATHS}) as address:
        yield address


@pytest.fixture
def machine(tmp_path, site):
    machines: list[Machine] = []

    def make() -> Machine:
        outside = tmp_path / str(len(machines))
        (outside / "disk").mkdir(parents=True)
        try:
            disk = Forgetful(outside / "disk")
        except OSError as error:
            pytest.skip(f"no file system can be mounted here (FUSE, as root): {error}")
        machines.append(Machine(disk, outside, site))
        return machines[-1]

    yield make
    for made in machines:
        made.kill()
        made.disk.close()


#: How many changes a crawl makes to its disk, and how many of them when its feed is written.
CHANGES, LAST_CHANGES = 600, 80
DEDUPE_CHANGES = 60

READER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
time.sleep(600)
"""


def test_power_cuts(machine, table, seeds, is_long):
    """During crawls, when their feeds are written, and when one has ended; what that stored stands.

    All feeds of the crawls before are left as the cuts have left them.
    """
    cases = Cases()
    for seed in seeds():
        chance, here = random.Random(seed), machine()
        for number in range(chance.randint(1, 3) if is_long else 2):
            if (seed + number) % 2:
                here.disk.stop_after(chance.randint(0, LAST_CHANGES), ".jsonl")
            else:
                here.disk.stop_after(chance.randint(1, CHANGES))
            crawl = here.crawl(seed * 10 + number)
            here.wait(crawl)
            here.cut(seed * 10 + number)
        # Who closes a database last syncs it anyway, so every other time somebody else has it open.
        if seed % 2 == 0:
            here.start(99, "-c", READER, here.database)
        ended = here.crawl(seed + 100)
        here.wait(ended)
        here.cut(seed + 100)
        assert ended.pid in here.settled()
        again = here.crawl(seed + 200)
        here.wait(again)
        assert here.delivered(len(here.crawls) - 1) == []
        cases.append(here.row("power cut"))
    assert cases.total(table)[3:] == (0, 0, 0, 0)


def test_power_cuts_while_a_feed_is_deduplicated(machine, table, seeds):
    """The output is in the end what it would have been."""
    lines = [json.dumps({"text": prose(number % 700, 40)}) + "\n" for number in range(1400)]
    cases = Cases()
    for seed in seeds():
        chance, here = random.Random(seed), machine()
        source, output = here.outside / "in.jsonl", here.disk.folder / "out.jsonl"
        source.write_text("".join(lines))
        calls = 0
        while not output.exists():
            if calls < 2:
                here.disk.stop_after(chance.randint(1, DEDUPE_CHANGES))
            call = here.start(
                *(calls, "-m", "scrapy", "simhash", "dedupe", source, "-o", output),
                *("--workers", "1"),
            )
            here.wait(call)
            here.cut(seed * 10 + calls)
            calls += 1
            assert calls < 4, (here.outside / "3.log").read_text()
        left = output.read_text().splitlines(keepends=True)
        lost, twice = len(set(lines) - set(left)), len(left) - len(set(left))
        cases.append(Row("power cut, dedupe", calls, 700, lost, twice, 0))
    assert cases.total(table)[3:] == (0, 0, 0, 0)

"""Crawls that are killed, stopped and broken at random but seeded moments, until they are done.

Every crawl is a process of its own, of a loopback site with known groups of duplicates. What counts
is what the feeds hold in the end. A run that was settled may not deliver a group that another
settled run delivered; one that was released explains that its groups are delivered once more.
"""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from loopback import article, path_of, serve, sums_that_are_wrong
from site_pages import layout, sentences, title
from torture.crawler import fate_of
from torture.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
GROUPS, TWINS, TIMEOUT = 40, 3, 5
PATHS = [f"/{group}/{twin}" for group in range(GROUPS) for twin in range(TWINS)]
#: Lists of four entries, among which no two are of one group: such ones would both be kept.
ENTRIES = 4
LISTS = [f"/list/{number}" for number in range(len(PATHS) // ENTRIES)]
#: No process lives longer, whatever happens to it.
HARD_KILL = 90


def group_of(path: str) -> str:
    return path.split("/")[1]


def lists() -> dict[str, bytes]:
    chance = random.Random(2)
    entries = [
        f"<div class='entry'><a href='/{group}/{twin}'>{title(group)}</a>"
        f"<p>{sentences(group, 60)}</p></div>"
        for twin in range(TWINS)
        for group in chance.sample(range(GROUPS), GROUPS)
    ]
    return {
        path: layout("site", "List", "".join(entries[number * ENTRIES :][:ENTRIES]))
        for number, path in enumerate(LISTS)
    }


class Pages(dict):
    """The site; it counts what is asked for, so that a moment can be told by it."""

    def __init__(self) -> None:
        super().__init__({path: article(group_of(path), path) for path in PATHS} | lists())
        self._moments: list[tuple[int, threading.Event]] = []
        self._lock = threading.Lock()
        self._delay = random.Random(1)

    def get(self, path: str, default: Any = None) -> Any:
        with self._lock:
            moments = [(left - 1, event) for left, event in self._moments]
            self._moments = [(left, event) for left, event in moments if left > 0]
            delay = self._delay.random() * 0.03
        for left, event in moments:
            if left <= 0:
                event.set()
        time.sleep(delay)
        return super().get(path, default)

    def after(self, count: int) -> threading.Event:
        """An event that is set when as many more pages have been asked for."""
        event = threading.Event()
        with self._lock:
            self._moments.append((count, event))
        return event


@dataclass
class Run:
    """A crawl process, and what it left."""

    process: subprocess.Popen[bytes]
    stores_again: bool
    feed: Path
    stats_file: Path
    log: Path

    @property
    def stats(self) -> dict[str, Any]:
        if not self.stats_file.exists():
            return {}
        return json.loads(self.stats_file.read_text("utf-8"))

    @property
    def delivered(self) -> list[str]:
        """The page of each item that is in the feed; a line that was cut off is none."""
        pages = []
        for line in self.feed.read_text("utf-8").splitlines() if self.feed.exists() else ():
            try:
                pages.append(path_of(json.loads(line)["url"]))
            except ValueError:
                continue
        return pages

    def wait(self) -> None:
        try:
            self.process.wait(HARD_KILL)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            pytest.fail(f"the crawl did not end:\n{self.log.read_text('utf-8')[-3000:]}")


@dataclass
class Scene:
    """A database and the crawls that use it."""

    folder: Path
    site: str
    pages: Pages
    runs: list[Run] = field(default_factory=list)

    @property
    def database(self) -> Path:
        return self.folder / "index.db"

    def start(self, order: int, paths: list[str] = PATHS, query: str = "", **settings: Any) -> Run:
        """Start a crawl of the pages, in an order of its own."""
        self.folder.mkdir(exist_ok=True)
        number = len(self.runs)
        files = [self.folder / f"{number}.{suffix}" for suffix in ("jsonl", "stats", "log", "plan")]
        feed, stats, log, plan = files
        urls = [self.site + path + query for path in paths]
        random.Random(order).shuffle(urls)
        settings = {
            "SIMHASH_DATABASE_URL": f"sqlite:///{self.database}",
            # A busy machine must not be taken for a database that does not answer.
            "SIMHASH_TIMEOUT": 60,
            "FEEDS": {str(feed): {"format": "jsonlines"}},
            "DURABLE": str(feed),
            **settings,
        }
        plan.write_text(json.dumps({"urls": urls, "settings": settings, "stats": str(stats)}))
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, HERE / "crawler.py", plan],
                stdout=output,
                stderr=output,
                cwd=self.folder,
            )
        run = Run(process, settings.get("SIMHASH_SAME_URL") != "drop", feed, stats, log)
        self.runs.append(run)
        return run

    def crawl(self, order: int, **settings: Any) -> Run:
        """Crawl to the end."""
        run = self.start(order, **settings)
        run.wait()
        return run

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else can write to the database."""
        with closing(sqlite3.connect(self.database, timeout=30)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.rollback()

    def row(self, case: str, groups: set[str]) -> Row:
        """Count what became of the groups."""
        with closing(sqlite3.connect(self.database)) as connection:
            settled = {
                int(process.split()[0])
                for (process,) in connection.execute(
                    "SELECT process FROM simhash_runs WHERE settled"
                )
            }
        stood: list[str] = []
        everything: set[str] = set()
        twice = wrong = 0
        for run in self.runs:
            delivered = run.delivered
            everything.update(map(group_of, delivered))
            if run.process.pid in settled:
                # By default a page that is fetched again by a later crawl is stored again.
                stood += [page for page in delivered if not (run.stores_again and page in stood)]
            else:
                twice += len(delivered) - len(set(map(group_of, delivered)))
            ours = {
                name.removeprefix("simhash/"): value
                for name, value in run.stats.items()
                if name.startswith("simhash/")
            }
            # A crawl that was made to stop at once has not counted what is open.
            if run.process.pid in settled or "claims/open" in ours:
                wrong += len(sums_that_are_wrong(ours))
        twice += len(stood) - len(set(map(group_of, stood)))
        return Row(case, len(self.runs), len(groups), len(groups - everything), twice, wrong)


class Cases(list[Row]):
    """What several scenes of one case came to."""

    def total(self, table: list[Row]) -> Row:
        """Enter the sum in the table."""
        sums = (sum(numbers) for numbers in zip(*(row[1:] for row in self), strict=True))
        row = Row(self[0].case, *sums)
        table.append(row)
        return row


@pytest.fixture
def pages() -> Pages:
    return Pages()


@pytest.fixture
def site(pages):
    with serve(pages) as address:
        yield address


@pytest.fixture
def scene(tmp_path, site, pages):
    scenes: list[Scene] = []

    def make() -> Scene:
        scenes.append(Scene(tmp_path / str(len(scenes)), site, pages))
        return scenes[-1]

    yield make
    for made in scenes:
        for run in made.runs:
            if run.process.poll() is None:
                run.process.kill()
                run.process.wait()


EVERY = {group_of(path) for path in PATHS}
DELIVERABLE = {group_of(path) for path in PATHS if fate_of(f"http://x{path}") == "stored"}
#: As many items at most are on their way at once.
IN_FLIGHT = 16
UNRELIABLE = {"ITEM_PIPELINES": {"__main__.Unreliable": 500}}


def at_a_moment(scene: Scene, run: Run, chance: random.Random, paths: list[str] = PATHS) -> None:
    """Wait until some page is asked for, any of them, and then for a little."""
    moment = scene.pages.after(chance.randint(1, len(paths)))
    while not moment.wait(0.02) and run.process.poll() is None:
        pass
    time.sleep(chance.random() * 0.3)


def kill(run: Run) -> None:
    run.process.kill()
    run.wait()


def test_killed_at_random_moments(scene, table, is_long):
    cases = Cases()
    for seed in range(10 if is_long else 1):
        chance, here = random.Random(seed), scene()
        settings = UNRELIABLE if seed % 2 else {}
        for number in range(4):
            run = here.start(seed * 10 + number, **settings)
            at_a_moment(here, run, chance)
            kill(run)
        here.crawl(seed * 10 + 9, **settings)
        cases.append(here.row("kill -9", DELIVERABLE if seed % 2 else EVERY))
    assert cases.total(table)[3:] == (0, 0, 0)


def test_killed_where_confirmed_claims_are_kept(scene, table, is_long):
    """For pipelines that store at once: what they stored before the end is not stored again."""
    cases = Cases()
    for seed in range(5 if is_long else 1):
        chance, here = random.Random(seed), scene()
        settings = {
            "SIMHASH_ON_CRASH": "keep",
            "SIMHASH_SAME_URL": "drop",
            "ITEM_PIPELINES": {"__main__.Durable": 500},
            "FEEDS": {},
        }
        for number in range(2):
            run = here.start(seed * 10 + number, **settings)
            at_a_moment(here, run, chance)
            kill(run)
        here.crawl(seed * 10 + 9, **settings)
        row = here.row("kill -9, stored at once, SIMHASH_ON_CRASH = keep", EVERY)
        # What was stored when its claim was not confirmed yet is stored once more.
        cases.append(row._replace(twice=max(0, row.twice - 2 * IN_FLIGHT)))
    assert cases.total(table)[3:] == (0, 0, 0)


def test_interrupted_twice(scene, table, is_long):
    """The one bound on time that is promised: 5 s and the timeout of the index."""
    cases = Cases()
    for seed in range(20 if is_long else 2):
        chance, here = random.Random(seed), scene()
        run = here.start(seed, SIMHASH_TIMEOUT=TIMEOUT)
        at_a_moment(here, run, chance)
        # Every other time the database does not answer any more.
        with here.locked() if seed % 2 else nullcontext():
            run.process.send_signal(signal.SIGINT)
            time.sleep(0.02 + chance.random() * 0.1)
            run.process.send_signal(signal.SIGINT)
            started = time.monotonic()
            run.wait()
        assert time.monotonic() - started < 5 + TIMEOUT
        here.crawl(seed + 100)
        cases.append(here.row("SIGINT twice", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0)


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "CLOSESPIDER_ITEMCOUNT"])
def test_stopped_once(scene, table, is_long, how):
    """What is in flight is delivered, and stands."""
    cases = Cases()
    for seed in range(5 if is_long else 1):
        chance, here = random.Random(seed), scene()
        if how == "CLOSESPIDER_ITEMCOUNT":
            run = here.start(seed, CLOSESPIDER_ITEMCOUNT=chance.randint(1, GROUPS))
        else:
            run = here.start(seed)
            at_a_moment(here, run, chance)
            run.process.send_signal(getattr(signal, how))
        run.wait()
        here.crawl(seed + 100, SIMHASH_SAME_URL="drop")
        assert "Spider closed" in run.log.read_text("utf-8")
        cases.append(here.row(f"{how} once", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0)


def test_a_feed_that_can_not_be_stored(scene, table, is_long):
    cases = Cases()
    for seed in range(3 if is_long else 1):
        here = scene()
        here.crawl(seed, FEEDS={"broken://feed": {"format": "jsonlines"}})
        assert here.runs[0].delivered == []
        here.crawl(seed + 100)
        cases.append(here.row("a feed whose storage fails", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0)


def test_later_pipelines_that_drop_and_fail(scene, table, is_long):
    cases = Cases()
    for seed in range(5 if is_long else 1):
        here = scene()
        run = here.crawl(seed, **UNRELIABLE)
        assert set(map(group_of, run.delivered)) == DELIVERABLE
        cases.append(here.row("later pipelines drop 30 % and fail on 10 %", DELIVERABLE))
    assert cases.total(table)[3:] == (0, 0, 0)


@pytest.mark.parametrize("same", ["pass", "drop"])
def test_four_crawls_of_the_same_pages(scene, table, is_long, same):
    """Under addresses of their own; or under the same, where what is unchanged is dropped."""
    cases = Cases()
    for seed in range(3 if is_long else 1):
        here = scene()
        crawls = [
            here.start(
                seed * 10 + number,
                query=f"?from={number}" if same == "pass" else "",
                SIMHASH_SAME_URL=same,
            )
            for number in range(4)
        ]
        for run in crawls:
            run.wait()
        cases.append(here.row(f"4 crawls, SIMHASH_SAME_URL = {same}", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0)


def test_four_crawls_two_of_which_are_killed(scene, table, is_long):
    cases = Cases()
    for seed in range(6 if is_long else 1):
        chance, here = random.Random(seed), scene()
        crawls = [here.start(seed * 10 + number, query=f"?from={number}") for number in range(4)]
        for run in crawls[:2]:
            at_a_moment(here, run, chance)
            kill(run)
        if seed % 2:
            # The next crawl comes only when the others are done.
            for run in crawls:
                run.wait()
        again = [here.start(seed * 10 + 5 + number, query=f"?from={number}") for number in range(2)]
        for run in crawls + again:
            run.wait()
        cases.append(here.row("4 crawls, 2 of them killed and started again", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0)


def test_lists_killed_at_random_moments(scene, table, is_long):
    cases = Cases()
    for seed in range(10 if is_long else 2):
        chance, here = random.Random(seed), scene()
        settings = UNRELIABLE if seed % 2 else {}
        for number in range(3):
            run = here.start(seed * 10 + number, LISTS, **settings)
            at_a_moment(here, run, chance, LISTS)
            kill(run)
        here.start(seed * 10 + 9, LISTS, **settings).wait()
        cases.append(here.row("lists, kill -9", DELIVERABLE if seed % 2 else EVERY))
    assert cases.total(table)[3:] == (0, 0, 0)


def test_four_crawls_of_lists_two_of_which_are_killed(scene, table, is_long):
    cases = Cases()
    for seed in range(6 if is_long else 1):
        chance, here = random.Random(seed), scene()
        crawls = [
            here.start(seed * 10 + number, LISTS, query=f"?from={number}") for number in range(4)
        ]
        for run in crawls[:2]:
            at_a_moment(here, run, chance, LISTS)
            kill(run)
        again = [
            here.start(seed * 10 + 5 + number, LISTS, query=f"?from={number}")
            for number in range(2)
        ]
        for run in crawls + again:
            run.wait()
        cases.append(here.row("lists, 4 crawls, 2 of them killed and started again", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0)


def test_paused_and_resumed(scene, table, is_long):
    cases = Cases()
    for seed in range(3 if is_long else 1):
        chance, here = random.Random(seed), scene()
        for _ in range(2):
            run = here.start(seed, JOBDIR=str(here.folder / "job"))
            at_a_moment(here, run, chance)
            run.process.send_signal(signal.SIGINT)
            run.wait()
        here.crawl(seed, JOBDIR=str(here.folder / "job"))
        cases.append(here.row("JOBDIR, paused twice and resumed", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0)


def test_killed_and_resumed(scene, table, is_long):
    """Scrapy forgets a part of the queue then; a crawl without it gets what is missing."""
    cases = Cases()
    for seed in range(5 if is_long else 1):
        chance, here = random.Random(seed), scene()
        # Scrapy also fetches again what it has forgotten to have fetched.
        settings = {"SIMHASH_SAME_URL": "drop"}
        run = here.start(seed, JOBDIR=str(here.folder / "job"), **settings)
        at_a_moment(here, run, chance)
        kill(run)
        here.crawl(seed, JOBDIR=str(here.folder / "job"), **settings)
        here.crawl(seed + 100, **settings)
        cases.append(here.row("JOBDIR, kill -9 and resumed, then without", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0)


def test_the_database_is_locked_for_longer_than_the_timeout(scene, table, is_long):
    """What could not be checked meanwhile is stored, and counted."""
    cases = Cases()
    for seed in range(3 if is_long else 1):
        chance, here = random.Random(seed), scene()
        run = here.start(seed, SIMHASH_TIMEOUT=1)
        at_a_moment(here, run, chance)
        with here.locked():
            time.sleep(2.5)
        run.wait()
        row = here.row("locked for longer than the timeout", EVERY)
        # Neither is a duplicate dropped that can't be kept aside.
        unchecked = sum(
            run.stats.get(f"simhash/{name}", 0) for name in ("failed_open", "quarantine/failed")
        )
        assert run.stats.get("log_count/ERROR", 0) <= 3
        cases.append(row._replace(twice=max(0, row.twice - unchecked)))
    assert cases.total(table)[3:] == (0, 0, 0)


def test_four_processes_claim_the_same_texts(tmp_path, table, is_long):
    groups = 5000 if is_long else 500
    processes = [
        subprocess.Popen(
            [
                sys.executable,
                HERE / "claimer.py",
                f"sqlite:///{tmp_path / 'index.db'}",
                str(groups),
                str(seed),
            ],
            stdout=subprocess.PIPE,
        )
        for seed in range(4)
    ]
    admitted: Counter[int] = Counter()
    try:
        for process in processes:
            output, _ = process.communicate(timeout=3 * HARD_KILL)
            admitted.update(json.loads(output))
    finally:
        for process in processes:
            process.kill()
            process.wait()
    lost = groups - len(admitted)
    twice = sum(count - 1 for count in admitted.values())
    table.append(Row(f"4 processes, {4 * groups} claims", 4, groups, lost, twice, 0))
    assert (lost, twice) == (0, 0)

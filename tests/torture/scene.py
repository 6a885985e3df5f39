"""A database, the crawls that use it, and what they have stored.

The feeds are checked at the end, page by page. A settled run may not store what another settled run
has stored. The groups of a released run may be stored once more; so may a page whose check failed
open, or whose duplicate could not be stored in the quarantine.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import time
from collections import Counter, defaultdict
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from loopback import path_of, sums_that_are_wrong
from sqlalchemy import create_engine, text
from torture import crawler
from torture.pages import PATHS, group_of, is_list
from torture.processes import HARD_KILL, is_stopped, kill, start
from torture.rows import Row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from multiprocessing.context import ForkServerProcess

    from sqlalchemy.engine import URL
    from torture.pages import Pages

UNRELIABLE = {"ITEM_PIPELINES": {"torture.crawler.Unreliable": 500}}


class Noted(NamedTuple):
    """A verdict that a crawl has recorded."""

    when: float
    page: str
    kind: str
    claims: bool


@dataclass
class Run:
    """A crawl process and its files."""

    process: ForkServerProcess
    stores_again: bool
    plan: Path
    was_killed: bool = False

    @property
    def stats(self) -> dict[str, Any]:
        file = self.plan.with_suffix(".stats")
        return json.loads(file.read_text("utf-8")) if file.exists() else {}

    @property
    def delivered(self) -> list[str]:
        """The page of each item in the feed, without a truncated last line."""
        pages, feed = [], self.plan.with_suffix(".jsonl")
        for line in feed.read_text("utf-8").splitlines() if feed.exists() else ():
            try:
                pages.append(path_of(json.loads(line)["url"]))
            except ValueError:
                continue
        return pages

    @property
    def verdicts(self) -> list[Noted]:
        """The recorded verdicts."""
        file = self.plan.with_suffix(".verdicts")
        lines = file.read_text("utf-8").splitlines() if file.exists() else ()
        noted = [Noted(*json.loads(line)) for line in lines]
        return [one._replace(page=path_of(one.page)) for one in noted]

    @property
    def log(self) -> str:
        file = self.plan.with_suffix(".log")
        return file.read_text("utf-8") if file.exists() else ""

    def unchecked(self) -> list[str]:
        """The pages that were stored without a verdict to store them."""
        outcomes: dict[str, set[str]] = defaultdict(set)
        for _, page, kind, claims in self.verdicts:
            outcomes[page] |= {kind, "claimed"} if claims else {kind}
        # The verdicts of a list do not name the entry.
        lists = [page for page in outcomes if is_list(page) and "failed_open" in outcomes[page]]
        admits = {"claimed", "unique"} | ({"same"} if self.stores_again else set())
        return lists + [
            page for page in self.delivered if page in outcomes and not outcomes[page] & admits
        ]

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    def wait(self) -> None:
        self.process.join(HARD_KILL)
        if self.process.is_alive():
            self.kill()
            pytest.fail(f"the crawl did not end:\n{self.log[-3000:]}")

    def kill(self) -> None:
        self.was_killed = True
        kill(self.process)
        if job := json.loads(self.plan.read_text("utf-8"))["settings"].get("JOBDIR"):
            # Scrapy leaves a part of a queue that it was deleting, and a resumed crawl waits for a
            # request in it for ever. Old versions also leave what was queued as seen already.
            shutil.rmtree(job, ignore_errors=True)

    def wait_for(self, words: str) -> bool:
        """Wait for words in the log; returns False if the crawl ends without them."""
        while words not in self.log:
            if not self.process.is_alive():
                return words in self.log
            time.sleep(0.01)
        return True


@dataclass
class Scene:
    """A database and the crawls that use it."""

    folder: Path
    site: str
    pages: Pages
    given: URL | None = None
    runs: list[Run] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / "index.db"

    @cached_property
    def database(self) -> str:
        if self.given is not None:
            return self.given.render_as_string(hide_password=False)
        return f"sqlite:///{self.file}"

    def start(
        self,
        order: int,
        paths: Sequence[str] = PATHS,
        query: str = "",
        plan: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> Run:
        """Start a crawl of the pages in random order."""
        self.folder.mkdir(exist_ok=True)
        file = self.folder / f"{len(self.runs)}.plan"
        feed = str(file.with_suffix(".jsonl"))
        urls = [self.site + path + query for path in paths]
        random.Random(order).shuffle(urls)
        settings = {
            "SIMHASH_DATABASE_URL": self.database,
            # On a busy machine the database answers late.
            "SIMHASH_TIMEOUT": 60,
            "FEEDS": {feed: {"format": "jsonlines"}},
            "DURABLE": feed,
            **settings,
        }
        files = {name: str(file.with_suffix(f".{name}")) for name in ("stats", "verdicts")}
        file.write_text(json.dumps({"urls": urls, "settings": settings, **files, **(plan or {})}))
        process = start(crawler.main_of, file, log=file.with_suffix(".log"))
        run = Run(process, settings.get("SIMHASH_KNOWN") != "drop", file)
        self.runs.append(run)
        return run

    def crawl(self, order: int, **settings: Any) -> Run:
        """Crawl to the end."""
        run = self.start(order, **settings)
        run.wait()
        return run

    @contextmanager
    def together(self) -> Iterator[None]:
        """Start crawls inside: none gets a page before all have opened the index.

        Crawls that follow each other are visits of their own, which store the same pages again.
        """
        started = len(self.runs)
        with self.pages.held():
            yield
            for run in self.runs[started:]:
                run.wait_for("crawl.start] INFO: Index")

    @contextmanager
    def locked(self, timeout: float = 30) -> Iterator[None]:
        """Hold the write lock of the database."""
        with closing(sqlite3.connect(self.file, timeout=timeout)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.rollback()

    def read(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        engine = create_engine(self.database)
        try:
            with engine.connect() as connection:
                return [tuple(row) for row in connection.execute(text(statement), values)]
        finally:
            engine.dispose()

    def freeze(self, run: Run) -> None:
        """Stop the process of a crawl while it does not hold the lock of the database."""
        while True:
            run.signal(signal.SIGSTOP)
            while not is_stopped(run.process):
                time.sleep(0.01)
            try:
                with self.locked(timeout=0.2):
                    return
            except sqlite3.OperationalError:
                run.signal(signal.SIGCONT)
                time.sleep(0.01)

    def claimed(self, run: Run, *, confirmed: bool = False) -> set[str]:
        """The pages of the claims of a run."""
        rows = self.read(
            "SELECT url FROM simhash_claims WHERE state >= :state AND run IN "
            "(SELECT id FROM simhash_runs WHERE process LIKE :process)",
            state=int(confirmed),
            process=f"{run.process.pid} %",
        )
        return {path_of(url) for (url,) in rows}

    def settled(self) -> set[int]:
        """The processes whose runs are closed with everything stored."""
        rows = self.read("SELECT process FROM simhash_runs WHERE settled")
        return {int(process.split()[0]) for (process,) in rows}

    def row(
        self,
        case: str,
        groups: set[str],
        *,
        excused: Mapping[int, Collection[str]] | None = None,
        keeps: bool = False,
    ) -> Row:
        """Count lost groups, groups kept twice and wrong sums.

        Args:
            case: its description.
            groups: the groups that should be in the feeds.
            excused: by the number of a run, the pages it stored that others may store once more.
            keeps: whether confirmed claims are kept however a run ends.
        """
        settled = self.settled()
        stood: dict[str, list[str]] = defaultdict(list)
        everything: set[str] = set()
        twice = wrong = failed_open = 0
        for number, run in enumerate(self.runs):
            unchecked = run.unchecked()
            delivered = run.delivered
            everything.update(map(group_of, delivered))
            excuse = {*unchecked, *(excused or {}).get(number, ())}
            answered = [page for page in delivered if page not in excuse]
            is_settled = run.process.pid in settled
            if is_settled or keeps:
                # By default a page that a later crawl fetches again is stored again.
                known = {page for pages in stood.values() for page in pages if run.stores_again}
                for page in answered:
                    if page not in known:
                        stood[group_of(page)].append(page)
            else:
                twice += len(answered) - len(set(map(group_of, answered)))
            wrong += _wrong(run, unchecked, is_settled=is_settled)
            failed_open += len(unchecked)
        twice += sum(len(pages) - 1 for pages in stood.values() if pages)
        lost = len(groups - everything)
        return Row(case, len(self.runs), len(groups), lost, twice, wrong, failed_open)


def _wrong(run: Run, unchecked: list[str], *, is_settled: bool) -> int:
    """Number of sums of a crawl that do not match its verdicts or each other."""
    stats = run.stats
    # Killed between the end of its crawl and writing the stats.
    if run.was_killed and not stats:
        return 0
    ours = {
        name.removeprefix("simhash/"): value
        for name, value in stats.items()
        if name.startswith("simhash/")
    }
    # A crawl that was stopped at once has not counted its open claims.
    if not is_settled and "claims/open" not in ours:
        return 0
    outcomes = Counter(noted.kind for noted in run.verdicts)
    kinds = {"unique": "unique", "duplicate": "duplicates", "same": "same", "failed_open": ""}
    differs = [
        kind for kind, name in kinds.items() if outcomes[kind] != ours.get(name or "failed_open", 0)
    ]
    counted = ours.get("failed_open", 0) + ours.get("quarantine/failed", 0)
    return len(sums_that_are_wrong(ours)) + len(differs) + (len(unchecked) > counted)


def at_a_moment(
    scene: Scene, run: Run, chance: random.Random, paths: Sequence[str] = PATHS
) -> None:
    """Wait for a random number of requests, and then for up to 0.3 seconds."""
    moment = scene.pages.after(chance.randint(1, len(paths)))
    while not moment.wait(0.02) and run.process.is_alive():
        pass
    time.sleep(chance.random() * 0.3)

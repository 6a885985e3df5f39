"""Many crawls that write to one slow database: each comes to its turn, and none goes on without."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from faraway import far_away
from loopback import prose
from scrapy.settings import BaseSettings
from scrapy.utils.defer import deferred_f_from_coro_f
from servers import empty_database
from sqlalchemy import Engine, event
from sqlalchemy.engine import URL
from torture.rows import Row

from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.thread import CrawlDatabase
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import secret_of
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index.verdict import Document, LeftOut
from scrapy_simhash.simhash.shingles import Shingles

#: Seconds of each statement of SQLite, of which one transaction takes some thirty; and of each
#: answer that PostgreSQL is waited for, of which it takes some twelve under the lock.
DELAYS = {"sqlite": 0.01, "postgresql": 0.025}
#: How many items of one crawl are on their way at a time.
AT_ONCE = 16
SECRET = "0b" * 32


@dataclass
class Outcome:
    """What became of all claims."""

    kept: Counter[int] = field(default_factory=Counter)
    given_up: int = 0
    not_kept_aside: int = 0
    unclosed: int = 0
    seconds: float = 0.0


class Writer:
    """A crawl, as its database sees it: it meets all groups, in an order of its own."""

    def __init__(self, number: int, settings: Settings, outcome: Outcome) -> None:
        self._number = number
        self._outcome = outcome
        self._worker = Worker(
            # As the thread calls it, with what notes that the database works.
            lambda *signs: CrawlDatabase(
                settings, *signs, spider=str(number), job="", arguments="", reset=False
            ),
            settings.timeout,
        )
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def write(self, documents: list[Document]) -> None:
        order = list(range(len(documents)))
        random.Random(self._number).shuffle(order)
        await asyncio.gather(*(self._item(group, documents[group]) for group in order))
        await self._worker.flush()
        closed = await self._worker.close(settled=True, reason="finished")
        self._outcome.unclosed += closed is None
        self._outcome.seconds += self._worker.thread.seconds

    async def _item(self, group: int, shared: Document) -> None:
        async with self._slots:
            document = Document(shared.sketch, f"{self._number}/{group}", text=shared.text)
            try:
                verdict = await self._worker.claim("overload", document)
            except IndexUnavailable:
                self._outcome.given_up += 1
                return
            if verdict.match is None:
                self._outcome.kept[group] += 1
            else:
                item = LeftOut(verdict, "drop", b"an item", "dict")
                try:
                    await self._worker.leave_out("overload", item)
                except IndexUnavailable:
                    self._outcome.not_kept_aside += 1
            if verdict.claim is not None:
                self._worker.confirm("overload", verdict)


@contextmanager
def slow_database(engine: str, folder: Path) -> Iterator[URL]:
    """An empty database that takes its time."""
    delay = DELAYS[engine]

    def slow_down(connection: Any, _record: object) -> None:
        connection.set_trace_callback(lambda _statement: time.sleep(delay))

    with empty_database(engine, folder) as url:
        # Making the tables is not what many do at a time.
        Database(url, secret=SECRET).close()
        if engine != "sqlite":
            with far_away(url, delay) as far:
                yield far
            return
        event.listen(Engine, "connect", slow_down)
        yield url
        event.remove(Engine, "connect", slow_down)


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
@deferred_f_from_coro_f
async def test_many_writers_on_a_slow_database_all_come_to_their_turn(
    engine, tmp_path, table, is_long
):
    """Waiting is no failure: nothing is given up, kept aside in vain, or kept twice."""
    # Beside a load a transaction may take seconds.
    writers, groups, timeout = (24, 217, 12) if is_long else (8, 64, 10)
    scheme, outcome = Shingles().keyed(secret_of(SECRET)), Outcome()
    texts = [prose(group, 60) for group in range(groups)]
    documents = [Document(scheme.sketch(text), "", text=text) for text in texts]
    with slow_database(engine, tmp_path) as url:
        settings = Settings.read(
            BaseSettings(
                {
                    "SIMHASH_DATABASE_URL": url.render_as_string(hide_password=False),
                    "SIMHASH_TIMEOUT": timeout,
                    "SIMHASH_SECRET": SECRET,
                }
            )
        )
        await asyncio.gather(
            *(Writer(number, settings, outcome).write(documents) for number in range(writers))
        )
    lost = groups - len(outcome.kept)
    twice = sum(count - 1 for count in outcome.kept.values())
    wrong = outcome.given_up + outcome.not_kept_aside + outcome.unclosed
    case = f"{writers} writers, {1000 * DELAYS[engine]:.0f} ms a statement, {engine}"
    table.append(Row(case, writers, groups, lost, twice, wrong))
    assert outcome.seconds > writers * timeout / 2, "it was slow enough to tell"
    assert (outcome.given_up, outcome.not_kept_aside, outcome.unclosed) == (0, 0, 0)
    assert (lost, twice) == (0, 0)

"""Writers that race on one database: how many duplicates are both stored, and how fast it goes.

    python benchmarks/race.py                                   # SQLite
    python benchmarks/race.py --url postgresql+psycopg://user@host/empty_database
    python benchmarks/race.py --url postgresql+psycopg://user@host:5432/empty_database \
        --crawls --writers 8 --latency 20                       # crawls far from their server

Several processes claim the same documents in different orders, as crawlers do that meet the same
mirrors. A document reported as unique to two of them is a double. Beside the index stand
strategies that look right: to look first and insert then, in one transaction each; to lock the row
with SELECT ... FOR UPDATE; and, on MariaDB, GET_LOCK. The tables of the strategies are made in the
database and dropped again; the URL must be that of an empty one. Batches are of 64 documents.

With --crawls there are no strategies, and most documents are no longer the same ones: each writer
has texts of its own, a tenth are seen by all, and each batch confirms the claims of the one before.
With --latency each answer of the server comes so many milliseconds later, by way of a proxy.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import DBAPIError

from scrapy_simhash.db.transactions import drop_tables
from scrapy_simhash.index.index import BATCH, Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document, Verdict
from scrapy_simhash.simhash.scheme import Sketch

BITS = 128

#: What an index is opened with.
OPTIONS: dict[str, dict[str, Any]] = {
    "index": {"rule": Rule(distance=3), "text_budget": 0},
    "crawls": {},
}


def main() -> None:
    """Race with each strategy."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", help="of an empty database; a new SQLite file by default")
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--claims", type=int, default=5000, help="of each writer")
    parser.add_argument("--crawls", action="store_true", help="most texts are seen by one writer")
    parser.add_argument("--latency", type=float, default=0, help="ms that each answer takes longer")
    options = parser.parse_args()
    # What the tests start serves here too.
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    logging.disable(logging.WARNING)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        url = options.url or f"sqlite:///{folder}/race.db"
        if options.latency:
            from faraway import far_away

            far = stack.enter_context(far_away(make_url(url), options.latency / 1000))
            url = far.render_as_string(hide_password=False)
        print(f"writers: {options.writers}; latency: {options.latency:g} ms", flush=True)
        for strategy in ["crawls"] if options.crawls else strategies(url):
            race(strategy, url, options.writers, options.claims)


def strategies(url: str) -> Iterator[str]:
    """What can be tried on that engine."""
    if not url.startswith("sqlite"):
        yield "for update"
    if url.startswith(("mysql", "mariadb")):
        yield "get_lock"
    yield "look, then insert"
    yield "index"


def race(strategy: str, url: str, writers: int, claims: int) -> None:
    """Let the writers race, and print what came of it."""
    spawn = multiprocessing.get_context("spawn")
    # One more than writers: this process starts the clock when all of them are ready.
    barrier = spawn.Barrier(writers + 1)
    if strategy in OPTIONS:
        # Else they would clear up what earlier writers have left.
        drop_tables(url)
        Index(url, **OPTIONS[strategy]).close()
    else:
        _make_tables(url)
    with ProcessPoolExecutor(writers, spawn, _set_barrier, (barrier,)) as pool:
        futures = [pool.submit(_write, strategy, url, number, claims) for number in range(writers)]
        barrier.wait()
        started = time.perf_counter()
        results = [future.result() for future in futures]
        seconds = max(ended for _, ended, _ in results) - started
    admitted = [number for unique, _, _ in results for number in unique]
    wanted = {number for writer in range(writers) for number in _numbers(strategy, writer, claims)}
    line = (
        f"{strategy:18} {len(admitted) - len(set(admitted)):6} doubles "
        f"{len(wanted - set(admitted)):6} missing {writers * claims / seconds:9.0f} claims/s "
        f"{max(stall for _, _, stall in results):6.2f} s longest batch"
    )
    print(line, flush=True)
    if strategy not in OPTIONS:
        _drop_tables(url)


def _numbers(strategy: str, writer: int, claims: int) -> list[int]:
    """The numbers of the documents that a writer meets."""
    if strategy != "crawls":
        return list(range(claims))
    return [n if n % 10 == 0 else n + (writer + 1) * claims for n in range(claims)]


def _write(strategy: str, url: str, writer: int, claims: int) -> tuple[list[int], float, float]:
    """In a process of its own: the numbers that were unique, the end, and the longest batch."""
    order = _numbers(strategy, writer, claims)
    same = random.Random(0)
    fingerprints = dict(zip(order, (same.getrandbits(BITS) for _ in order), strict=True))
    # Nearly the same order, so that duplicates meet, as in crawls that start together.
    random.Random(writer).shuffle(order)
    order.sort(key=lambda number: number % claims // (4 * BATCH))
    claim = {
        "index": _index,
        "crawls": _crawl,
        "look, then insert": _naive(None),
        "for update": _naive("SELECT id FROM race_lock WHERE id = 1 FOR UPDATE"),
        "get_lock": _naive("SELECT GET_LOCK('race', 30)", "SELECT RELEASE_LOCK('race')"),
    }[strategy](url, writer)
    unique: list[int] = []
    stall = 0.0
    _barrier.wait()
    for start in range(0, claims, BATCH):
        numbers = order[start : start + BATCH]
        began = time.perf_counter()
        unique += claim(numbers, [fingerprints[number] for number in numbers])
        stall = max(stall, time.perf_counter() - began)
    return unique, time.perf_counter(), stall


def _index(url: str, writer: int) -> Callable[[list[int], list[int]], list[int]]:
    index = Index(url, **OPTIONS["index"], timeout=60)
    index.run  # noqa: B018 - opened before the race

    def claim(numbers: list[int], fingerprints: list[int]) -> list[int]:
        verdicts = index.execute(
            claims=[
                Document(Sketch(fingerprint, 100, None), f"{writer} {number}")
                for number, fingerprint in zip(numbers, fingerprints, strict=True)
            ]
        )
        return [n for n, v in zip(numbers, verdicts, strict=True) if v.kind == "unique"]

    return claim


def _crawl(url: str, writer: int) -> Callable[[list[int], list[int]], list[int]]:
    index = Index(url, **OPTIONS["crawls"], timeout=60)
    index.run  # noqa: B018 - opened before the race
    stored: list[Verdict] = []

    def claim(numbers: list[int], _fingerprints: list[int]) -> list[int]:
        documents = [
            index.document(
                _text(number), key=f"{writer} {number}", url=f"https://a.example/{number}"
            )
            for number in numbers
        ]
        verdicts = index.execute(claims=documents, confirm=stored)
        stored[:] = verdicts
        return [n for n, v in zip(numbers, verdicts, strict=True) if v.kind == "unique"]

    return claim


def _text(number: int) -> str:
    words = random.Random(number)
    return " ".join(f"w{words.randrange(5000)}" for _ in range(200))


def _naive(
    before: str | None, after: str | None = None
) -> Callable[[str, int], Callable[[list[int], list[int]], list[int]]]:
    """Equal fingerprints alone: enough to lose the race."""

    def open_(url: str, writer: int) -> Callable[[list[int], list[int]], list[int]]:
        engine = _engine(url)

        def work(connection: Connection, numbers: list[int], fingerprints: list[int]) -> list[int]:
            fingerprints = [value & (2**63 - 1) for value in fingerprints]
            if before:
                connection.execute(text(before))
            listed = ",".join(map(str, fingerprints))
            look = text(f"SELECT fingerprint FROM race WHERE fingerprint IN ({listed})")
            known = set(connection.scalars(look))
            fresh = [
                (number, fingerprint)
                for number, fingerprint in zip(numbers, fingerprints, strict=True)
                if fingerprint not in known
            ]
            if fresh:
                connection.execute(
                    text("INSERT INTO race (fingerprint, writer) VALUES (:fingerprint, :writer)"),
                    [{"fingerprint": value, "writer": writer} for _, value in fresh],
                )
            return [number for number, _ in fresh]

        def claim(numbers: list[int], fingerprints: list[int]) -> list[int]:
            while True:
                try:
                    with engine.connect() as connection:
                        try:
                            with connection.begin():
                                return work(connection, numbers, fingerprints)
                        finally:
                            if after:
                                connection.execute(text(after))
                except DBAPIError:
                    time.sleep(random.random() * 0.01)

        return claim

    return open_


def _engine(url: str) -> Engine:
    """As an index would have it, but for its transactions."""
    from scrapy_simhash.db.transactions import Database

    if url.startswith("sqlite"):
        engine = create_engine(url)

        @event.listens_for(engine, "connect")
        def _wal(connection: Any, _record: object) -> None:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")

        return engine
    return Database(url, timeout=60).engine


def _make_tables(url: str) -> None:
    with _engine(url).begin() as connection:
        connection.execute(text("CREATE TABLE race (fingerprint BIGINT, writer INTEGER)"))
        connection.execute(text("CREATE INDEX race_index ON race (fingerprint)"))
        connection.execute(text("CREATE TABLE race_lock (id INTEGER PRIMARY KEY)"))
        connection.execute(text("INSERT INTO race_lock VALUES (1)"))


def _drop_tables(url: str) -> None:
    with _engine(url).begin() as connection:
        connection.execute(text("DROP TABLE race"))
        connection.execute(text("DROP TABLE race_lock"))


def _set_barrier(barrier: Any) -> None:
    global _barrier  # noqa: PLW0603 - what processes share is handed to them at their start only
    _barrier = barrier


if __name__ == "__main__":
    main()

"""How soon a crawl has its first verdicts after another one was killed, and what clearing up takes.

    python benchmarks/recovery.py --size 300000
    python benchmarks/recovery.py --url postgresql+psycopg://user@host/empty_database

A run claims so many documents and dies. The next one opens the database and has its first 64
verdicts; that is compared with the same in an empty one. Then it goes on as a crawl does, with a
step of deleting after each batch, until nothing is left of the dead run or the time is over. The
URL must be that of an empty database; its tables are dropped in between.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import tempfile
import time

from index import Documents, fill

from scrapy_simhash.db.transactions import Database, drop_tables
from scrapy_simhash.index.index import BATCH, Index
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import Document

#: What a crawl gathers for one transaction takes as long to come, at least.
PAUSE = 0.02


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=300_000)
    parser.add_argument("--url", help="an empty database; a new SQLite file by default")
    parser.add_argument("--seconds", type=float, default=60, help="to go on for at most")
    parser.add_argument("--repeat", type=int, default=5, help="openings of an empty one")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        url = options.url or f"sqlite:///{folder}/seen.db"
        documents = Documents()
        empty = []
        for _ in range(options.repeat):
            drop_tables(url)
            Database(url).close()
            database, _, _, spent = opened(url, documents.next(BATCH))
            empty.append(spent)
            database.close()
        usual = statistics.median(empty)
        print(f"{database.dialect}: first verdicts in an empty database after {usual:.3f} s")
        drop_tables(url)
        die(url, options.size)
        database, run, index, spent = opened(url, documents.next(BATCH))
        print(
            f"  after a run that died with {options.size:,} claims: {spent:.3f} s, "
            f"{spent / usual:.1f} times as long"
        )
        clear(run, index, documents, options.seconds)
        database.close()
        if options.url:
            drop_tables(url)


def opened(url: str, first: list[Document]) -> tuple[Database, Run, Index, float]:
    """What a crawl opens, and the seconds until it has its first verdicts."""
    started = time.perf_counter()
    database = Database(url)
    run = Run.open(database)
    index = Index(database, run=run)
    verdicts = index.execute(first)
    spent = time.perf_counter() - started
    if not all(verdict.claim for verdict in verdicts if verdict.kind == "unique"):
        raise AssertionError(verdicts)
    return database, run, index, spent


def die(url: str, size: int) -> None:
    """Leave claims of a run whose process is no more."""
    database = Database(url, timeout=600)
    run = Run.open(database)
    fill(Index(database, run=run), size)
    run.mark(process="999999999 0.0 0")
    database.close()


def clear(run: Run, index: Index, documents: Documents, seconds: float) -> None:
    """Go on as a crawl does until nothing is left, or for so many seconds."""
    batches, steps = [], []
    started = time.perf_counter()
    is_left = True
    while is_left and time.perf_counter() - started < seconds:
        given = documents.next(BATCH)
        time.sleep(PAUSE)
        began = time.perf_counter()
        index.execute(given)
        done = time.perf_counter()
        is_left = run.recovery.clear()
        batches.append(done - began)
        steps.append(time.perf_counter() - done)
    whole = time.perf_counter() - started
    print(
        f"  {run.recovery.claims:,} claims deleted in {whole:.0f} s, "
        f"beside {len(batches):,} batches of {BATCH}:"
    )
    for name, values in (("a step", steps), ("a batch", batches)):
        tenths = statistics.quantiles(values, n=100)
        print(
            f"    {name}: {1e3 * tenths[49]:.1f} ms, 99 of 100 {1e3 * tenths[98]:.1f} ms, "
            f"at most {1e3 * max(values):.0f} ms"
        )


if __name__ == "__main__":
    main()

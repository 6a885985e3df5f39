"""The index beside what else there is: look up, then insert, one by one and in batches.

    python benchmarks/index.py --size 1000000
    python benchmarks/index.py --size 1000000 --keys blocks --distance 3 --peers
    python benchmarks/index.py --size 100000 --url postgresql+psycopg://user@host/empty_database
    python benchmarks/index.py --size 300000 --report 50000        # the report of such an index
    python benchmarks/index.py --size 10000000 --commands          # the commands as well

The index is first filled with documents that have nothing to do with each other, by sorted bulk
insertion. Then documents are claimed of which one in ten is a near-duplicate of one that was. Rows
print as they are done: microseconds an item by the wall and by the CPU of this process (a database
server's is not in it), candidates an item, bytes a document on disk, and how much memory this
process took for it all. The peers hold 64-bit fingerprints in memory and are measured in the same
run, with as many; datasketch holds a tenth of them. The URL must be that of an empty database.
With --commands the first verdict of an index that is opened again is timed, and then `stats`,
`drops`, `report`, and `prune` of a hundredth of the documents, each in a process of its own.
With --report the index gets so many dropped items of ten fields, ten for each original, and what is
measured is its HTML report.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Self

import numpy as np
import psutil
from numpy.typing import NDArray
from sqlalchemy import text, update

from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.db import schema
from scrapy_simhash.history.sql import choose_namespace
from scrapy_simhash.index.index import BATCH, Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document, LeftOut
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.folding import fold
from scrapy_simhash.item.names import name_of
from scrapy_simhash.report.data import read_report
from scrapy_simhash.report.html import write_report
from scrapy_simhash.simhash.scheme import Sketch

SHINGLES = 300
CHUNK = 50_000
DUPLICATES = 0.1


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--claims", type=int, default=3200, help="to measure, in batches")
    parser.add_argument("--url", help="an empty database; a new SQLite file by default")
    parser.add_argument("--keys", choices=("bands", "blocks"), default="bands")
    parser.add_argument("--similarity", type=float, default=0.9)
    parser.add_argument("--distance", type=int, default=3, help="with blocks")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--report", type=int, metavar="DROPS", help="measure the report instead")
    parser.add_argument("--commands", action="store_true", help="measure some commands as well")
    options = parser.parse_args()
    # What the random fingerprints of this run meet is no news.
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        _measure_index(options, options.url or f"sqlite:///{folder}/seen.db")
    if options.peers:
        # Each in a process of its own, so that none finds the memory of the one before it.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as one:
            peers = numpy_scan, simhash_index, faiss_flat, faiss_hash, gaoya_index, minhash_lsh
            for peer in peers:
                one.submit(_measure_peer, peer, options.size, options.distance).result()


def _measure_index(options: argparse.Namespace, url: str) -> None:
    how: dict[str, Any] = {"rule": Rule(similarity=options.similarity)}
    if options.keys == "blocks":
        how = {"rule": Rule(distance=options.distance)}
    before = _memory()
    budget = 0 if options.report is None else 256 << 20
    with Index(url, timeout=600, text_budget=budget, expected_size=options.size, **how) as index:
        started = time.perf_counter()
        fill(index, options.size)
        print(f"{options.size:,} documents, {index.lookup.keys.id}, {index.database.dialect}")
        print(f"  filled in {time.perf_counter() - started:.0f} s")
        if options.report is not None:
            _measure_report(index, options.report)
            return
        documents = Documents()
        for name, batch, claims in (
            ("warming up", BATCH, 640),
            ("batches of 64", BATCH, options.claims),
            ("one by one", 1, options.claims // 8),
        ):
            given = documents.next(claims)
            counted = index.lookup.counts["index/candidates"]
            with _Stopwatch(claims) as watch:
                kinds = [
                    verdict.kind
                    for start in range(0, claims, batch)
                    for verdict in index.execute(claims=given[start : start + batch])
                ]
            candidates = (index.lookup.counts["index/candidates"] - counted) / claims
            found = kinds.count("duplicate") / claims
            print(f"  {name:14} {watch} {candidates:9.1f} candidates, {found:.3f} duplicates")
        print(f"  {_size_on_disk(index) / options.size:.0f} bytes a document")
        print(f"  {(_memory() - before) / 2**20:.0f} MiB of memory")
    if options.commands:
        _measure_commands(url, options.size, how["rule"])


def _measure_commands(url: str, size: int, rule: Rule) -> None:
    """The time to open the index and get a verdict, and that of commands."""
    started = time.perf_counter()
    with Index(url, rule=rule) as index:
        index.claim("a text that nobody has stored before, of a few words only", key="first")
        print(f"  first verdict  {time.perf_counter() - started:8.2f} s")
        old = update(schema.claims).where(schema.claims.c.id <= size // 100).values(seen=0.0)
        index.database.transact(lambda connection: connection.execute(old))
    with tempfile.TemporaryDirectory() as folder:
        for name, *given in (
            ("stats",),
            ("drops",),
            ("report", "-o", f"{folder}/report.html"),
            ("prune", "--older-than", "30"),
        ):
            start = [sys.executable, "-m", "scrapy", "simhash", name, *given, "--database", url]
            started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(start, check=True, capture_output=True, cwd=folder)
            used, seconds = (
                resource.getrusage(resource.RUSAGE_CHILDREN),
                time.perf_counter() - started,
            )
            cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
            print(f"  {name:14} {seconds:8.2f} s, {cpu:.2f} s of CPU", flush=True)


def _measure_report(index: Index, drops: int) -> None:
    """Its CPU: the least of three."""
    _drop(index, drops)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        watches = []
        for _ in range(3):
            with _Stopwatch(1) as watch:
                write_report(read_report(choose_namespace(index.database, None), Rule()), path)
            watches.append(watch.cpu)
        size = path.stat().st_size / 2**20
    print(f"  report of {drops:,} drops: {min(watches):.2f} s of CPU, {size:.1f} MiB")


def _drop(index: Index, drops: int) -> None:
    """Store originals with their texts, and drop ten items for each."""
    rng = random.Random(2)
    words = ["".join(rng.choices("abcdeghiklmnoprstu", k=rng.randint(2, 10))) for _ in range(9000)]

    def item(number: int, text: str) -> dict[str, Any]:
        fields = {
            name: " ".join(rng.choices(words, k=6)) for name in ("title", "author", "section")
        }
        lists = {name: rng.choices(words, k=5) for name in ("tags", "links")}
        price = {"price": f"{number % 97}.90", "stock": number % 7, "rating": {"stars": number % 5}}
        return {
            "url": f"https://shop{number % 50}.example/{number}",
            **fields,
            **lists,
            **price,
            "text": text,
        }

    def document(given: dict[str, Any]) -> Document:
        names = ("title", "author", "section", "price")
        facts = Facts.of({name: fold(name_of(name), given[name]) for name in names})
        return index.document(given["text"], key=given["url"], url=given["url"], facts=facts)

    for start in range(0, drops, 10 * BATCH):
        texts = [" ".join(rng.choices(words, k=300)) for _ in range(BATCH)]
        numbers = range(start, min(start + 10 * BATCH, drops))
        stored = [document(item(-start - place - 1, text)) for place, text in enumerate(texts)]
        verdicts = index.execute(claims=stored)
        index.confirm(*verdicts)
        for first in range(numbers.start, numbers.stop, BATCH):
            copies = [
                item(number, f"{texts[number % BATCH]} {words[number % 9000]}")
                for number in range(first, min(first + BATCH, numbers.stop))
            ]
            told = index.execute(list(map(document, copies)))
            pairs = [(one, copy) for one, copy in zip(told, copies, strict=True) if not one.claim]
            index.execute(left_out=[LeftOut(one, "drop", *pack(copy)) for one, copy in pairs])


class Documents:
    """Sketches of random texts, some of which are near one that came before."""

    def __init__(self) -> None:
        self.numbers = np.random.default_rng(1)
        self.rng = random.Random(1)
        self.made: list[tuple[int, NDArray[np.uint64]]] = []

    def next(self, count: int) -> list[Document]:
        """The next so many."""
        return [
            Document(self._sketch(), f"https://example.com/{self.rng.random()}")
            for _ in range(count)
        ]

    def _sketch(self) -> Sketch:
        if self.made and self.rng.random() < DUPLICATES:
            fingerprint, shingles = self.rng.choice(self.made)
            shingles = shingles.copy()
            # Two of 300 changed is a similarity of .987.
            shingles[[10, 100]] = self.numbers.integers(0, 2**63, 2, np.uint64)
            return Sketch(fingerprint ^ 0b11, SHINGLES, np.unique(shingles))
        shingles = np.unique(self.numbers.integers(0, 2**64, SHINGLES, np.uint64))
        self.made.append((self.rng.getrandbits(128), shingles))
        return Sketch(self.made[-1][0], SHINGLES, shingles)


def fill(index: Index, size: int) -> None:
    """Put documents into the tables, in the order of their keys."""
    rng = np.random.default_rng(0)
    names, names_of_sightings = schema.claims.c.keys(), schema.sightings.c.keys()
    empty = dict.fromkeys([*names, *names_of_sightings])
    fingerprints = rng.bytes(16 * size)
    identities = rng.integers(-(2**63), 2**63, size, np.int64).tolist()
    is_blocks = not index.lookup.keys.needs_shingles
    keys = (
        _block_keys(index.lookup.keys, fingerprints)
        if is_blocks
        else rng.integers(-(2**31), 2**31, (size, index.lookup.keys.slots), np.int64).astype(
            np.int32
        )
    )
    run, now = index.run.id, time.time()

    def shared(number: int) -> dict[str, Any]:
        """What a claim and its sighting have in common."""
        url = f"https://example.com/section/{number % 97}/page-{number}.html"
        return {
            "namespace": index.id, "id": number + 1, "identity": identities[number], "run": run,
            "listing": 0, "compared_by": 0, "created": now, "key": url, "origin": number + 1,
        }  # fmt: skip

    def claims() -> Iterator[tuple[Any, ...]]:
        for number in range(size):
            values = {
                **empty, **shared(number), "alone": True, "state": 1, "size": 300,
                "fingerprint": fingerprints[16 * number : 16 * number + 16],
                "packed_keys": None if is_blocks else keys[number].tobytes(),
                "text_digest": number,
            }  # fmt: skip
            yield tuple(map(values.__getitem__, names))

    def sightings() -> Iterator[tuple[Any, ...]]:
        for number in range(size):
            values = {
                **empty, **shared(number), "visit": run, "claim": number + 1, "status": "new",
                "meets": 1, "since": now, "before": 0, "source": 0, "item_bytes": 0, "action": "",
                "estimated": False, "back": False, "orphaned": False,
            }  # fmt: skip
            yield tuple(map(values.__getitem__, names_of_sightings))

    def key_rows() -> Iterator[tuple[int, ...]]:
        for slot in range(index.lookup.keys.slots):
            slotted = keys[:, slot].view(np.uint32).astype(np.int64) | slot << 32
            order = np.argsort(slotted, kind="stable")
            sorted_keys = slotted[order].tolist()
            yield from zip(repeat(index.id), sorted_keys, (order + 1).tolist(), strict=False)

    _insert_rows(index, "simhash_claims", names, claims())
    _insert_rows(index, "simhash_sightings", names_of_sightings, sightings())
    _insert_rows(index, "simhash_keys", ["namespace", "key", "claim"], key_rows())
    row = schema.namespaces.c
    index.database.transact(
        lambda connection: connection.execute(
            update(schema.namespaces).where(row.id == index.id).values(counter=size, size=size)
        )
    )
    if index.database.dialect == "postgresql":
        index.database.transact(lambda connection: connection.execute(text("ANALYZE")))


def _block_keys(blocks: Any, fingerprints: bytes) -> NDArray[np.int32]:
    bits = np.unpackbits(
        np.frombuffer(fingerprints, np.uint8).reshape(-1, 16), axis=1, bitorder="big"
    )[:, ::-1]
    columns, start = [], 0
    for width in blocks.widths:
        weights = 1 << np.arange(width, dtype=np.int64)
        columns.append((bits[:, start : start + width] @ weights).astype(np.uint32).view(np.int32))
        start += width
    return np.stack(columns, axis=1)


def _insert_rows(
    index: Index, table: str, names: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """As fast as the driver can."""
    raw = index.database.engine.raw_connection()
    cursor = raw.cursor()
    quoted = ", ".join(map(index.database.engine.dialect.identifier_preparer.quote, names))
    if index.database.dialect == "postgresql":
        with cursor.copy(f"COPY {table} ({quoted}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(
                    [
                        value if not isinstance(value, bytes) else f"\\x{value.hex()}"
                        for value in row
                    ]
                )
    else:
        mark = "?" if index.database.dialect == "sqlite" else "%s"
        statement = f"INSERT INTO {table} ({quoted}) VALUES ({', '.join([mark] * len(names))})"
        chunk: list[tuple[Any, ...]] = []
        for row in rows:
            chunk.append(row)
            if len(chunk) == CHUNK:
                cursor.executemany(statement, chunk)
                chunk.clear()
        cursor.executemany(statement, chunk)
    raw.commit()
    raw.close()


def _size_on_disk(index: Index) -> int:
    if index.database.dialect in {"mysql", "mariadb"}:
        # The server's size is an estimate, and an old one until the statistics are refreshed.
        names = ", ".join(schema.metadata.tables)
        with index.database.engine.connect() as connection:
            connection.execute(text(f"ANALYZE TABLE {names}")).all()
    statement = {
        "sqlite": "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        "postgresql": "SELECT pg_database_size(current_database())",
    }.get(
        index.database.dialect,
        "SELECT sum(data_length + index_length) FROM information_schema.tables "
        "WHERE table_schema = database()",
    )
    return int(index.database.read(lambda connection: connection.scalar(text(statement))))


# Peers: each takes fingerprints to hold, and gives what looks one up and inserts it.


def _measure_peer(
    peer: Callable[[NDArray[np.uint64], int], tuple[Callable[[int], object], int]],
    size: int,
    distance: int,
) -> None:
    rng = np.random.default_rng(0)
    before = _memory()
    try:
        check, held = peer(rng.integers(0, 2**64, size, np.uint64), distance)
    except ImportError as error:
        print(f"{peer.__name__}: not measured, {error.name} is not installed")
        return
    fresh = rng.integers(0, 2**64, 500, np.uint64).tolist()
    with _Stopwatch(len(fresh)) as watch:
        for fingerprint in fresh:
            check(fingerprint)
    print(
        f"{peer.__name__:16} {watch} {(_memory() - before) / held:6.0f} bytes each of {held:,}",
        flush=True,
    )


def numpy_scan(held: NDArray[np.uint64], distance: int) -> tuple[Callable[[int], object], int]:
    """Compare with everything."""

    def check(fingerprint: int) -> bool:
        return bool((np.bitwise_count(held ^ np.uint64(fingerprint)) <= distance).any())

    return check, len(held)


def simhash_index(held: NDArray[np.uint64], distance: int) -> tuple[Callable[[int], object], int]:
    """The index of the package simhash."""
    simhash = importlib.import_module("simhash")
    logging.getLogger().setLevel(logging.ERROR)
    index = simhash.SimhashIndex([], k=distance)
    for number, value in enumerate(held.tolist()):
        index.add(str(number), simhash.Simhash(value))

    def check(fingerprint: int) -> None:
        value = simhash.Simhash(fingerprint)
        index.get_near_dups(value)
        index.add(str(fingerprint), value)

    return check, len(held)


def faiss_flat(held: NDArray[np.uint64], distance: int) -> tuple[Callable[[int], object], int]:
    """Compare with everything, in C++."""
    return _faiss_of(importlib.import_module("faiss").IndexBinaryFlat(64), held, distance)


def faiss_hash(held: NDArray[np.uint64], distance: int) -> tuple[Callable[[int], object], int]:
    """Blocks of 16 bits, in C++."""
    index = importlib.import_module("faiss").IndexBinaryMultiHash(64, distance + 1, 16)
    return _faiss_of(index, held, distance)


def _faiss_of(
    index: Any, held: NDArray[np.uint64], distance: int
) -> tuple[Callable[[int], object], int]:
    importlib.import_module("faiss").omp_set_num_threads(1)
    index.add(held.view(np.uint8).reshape(-1, 8))

    def check(fingerprint: int) -> None:
        row = np.array([fingerprint], np.uint64).view(np.uint8).reshape(1, 8)
        index.range_search(row, distance + 1)
        index.add(row)

    return check, len(held)


def gaoya_index(held: NDArray[np.uint64], distance: int) -> tuple[Callable[[int], object], int]:
    """Made of texts: a fingerprint is spelt out as one, which costs it little."""
    simhash = importlib.import_module("gaoya.simhash")
    index = simhash.SimHashStringIndex(
        hash_size=64, num_blocks=distance + 2, hamming_distance=distance
    )
    for number, value in enumerate(held.tolist()):
        index.insert_document(number, str(value))

    def check(fingerprint: int) -> None:
        index.query(str(fingerprint))
        index.insert_document(fingerprint & 0x7FFFFFFF, str(fingerprint))

    return check, len(held)


def minhash_lsh(held: NDArray[np.uint64], distance: int) -> tuple[Callable[[int], object], int]:
    """MinHash of 128 permutations and its bands, by datasketch."""
    datasketch = importlib.import_module("datasketch")
    index = datasketch.MinHashLSH(threshold=0.9, num_perm=128)
    some = held[: len(held) // 10]

    def minhash(seed: int) -> Any:
        values = np.random.default_rng(seed).integers(0, 2**32, 128, np.uint64)
        return datasketch.LeanMinHash(seed=1, hashvalues=values, scheme="legacy")

    for value in some.tolist():
        index.insert(value, minhash(value))

    def check(fingerprint: int) -> None:
        made = minhash(fingerprint)
        index.query(made)
        index.insert(-fingerprint, made)

    return check, len(some)


class _Stopwatch:
    def __init__(self, items: int) -> None:
        self.items = items

    def __enter__(self) -> Self:
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self.wall
        self.cpu = time.process_time() - self.cpu

    def __str__(self) -> str:
        wall, cpu = (1e6 * seconds / self.items for seconds in (self.wall, self.cpu))
        return f"{wall:9.0f} us ({cpu:7.0f} us CPU)"


def _memory() -> int:
    return psutil.Process().memory_info().rss


if __name__ == "__main__":
    main()

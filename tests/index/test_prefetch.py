"""What is looked up before the lock is taken, while other writers have it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from claims import article, edited
from servers import cleared_database

from scrapy_simhash.db.lock import lock, record_usage
from scrapy_simhash.db.lock_wait import LockWait
from scrapy_simhash.index import claiming
from scrapy_simhash.index.index import Index

on_servers = pytest.mark.parametrize("engine", ["postgresql", "mariadb"])


@pytest.fixture
def two(engine: str, tmp_path: Path) -> Iterator[tuple[Index, Index]]:
    """Two writers of one namespace; the first looks up before it has the lock."""
    url = cleared_database(engine, tmp_path)
    with Index(url) as mine, Index(url) as other:
        mine.claim(article(0), key="a")
        mine.lookup.is_contended = True
        yield mine, other


def meanwhile(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> None:
    """Between the look-up of the next batch and its lock, another writer works."""
    prefetch = claiming.prefetch

    def first(*given: Any) -> object:
        found = prefetch(*given)
        monkeypatch.undo()
        work()
        return found

    monkeypatch.setattr(claiming, "prefetch", first)


@on_servers
def test_what_came_since_the_first_look_is_found(
    two: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = two
    meanwhile(monkeypatch, lambda: other.claim(article(1), key="b"))
    texts = {"x": edited(article(0)), "y": edited(article(1)), "z": article(2)}
    found = mine.claim_many({"text": text, "key": key} for key, text in texts.items())
    assert [verdict.match and verdict.match.key for verdict in found] == ["a", "b", None]
    assert not any(verdict.match.estimated for verdict in found if verdict.match)


@on_servers
def test_what_is_gone_since_the_first_look_counts_no_more(
    two: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = two
    released = other.claim(article(1), key="b")
    meanwhile(monkeypatch, lambda: other.release(released))
    assert mine.claim(edited(article(1)), key="y").kind == "unique"


def noting(happened: list[str], name: str, do: Callable[..., object]) -> Callable[..., object]:
    def noted(*given: Any) -> object:
        happened.append(name)
        return do(*given)

    return noted


@pytest.mark.parametrize("engine", ["postgresql"])
def test_under_the_lock_nothing_is_waited_for_that_was_known(
    two: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, _ = two
    happened: list[str] = []
    for owner, name in ((LockWait, "note_lock"), (psycopg.Pipeline, "sync")):
        monkeypatch.setattr(owner, name, noting(happened, name, getattr(owner, name)))
    assert mine.claim(edited(article(0)), key="x").kind == "duplicate"
    # Keys and texts before the lock.
    assert happened == ["sync", "sync", "sync", "note_lock"]


@on_servers
def test_only_a_writer_that_had_to_wait_looks_twice(two: tuple[Index, Index]) -> None:
    mine, other = two
    alone = []
    for number in range(20):
        mine.claim(article(3 + number), key=f"{number}")
        alone.append(not mine.lookup.is_contended)
    assert any(alone)
    has_lock = threading.Event()

    def hold() -> None:
        with other.database.engine.begin() as connection:
            held = lock(connection, other.id)
            has_lock.set()
            time.sleep(1)
            record_usage(connection, other.id, held)

    holder = threading.Thread(target=hold)
    holder.start()
    has_lock.wait()
    mine.claim(article(100), key="d")
    holder.join()
    assert mine.lookup.is_contended


def test_sqlite_looks_once(tmp_path: Path) -> None:
    with Index(f"sqlite:///{tmp_path}/seen.db") as index:
        index.claim(article(0), key="a")
        assert not index.lookup.is_contended

"""What the tests of the index start from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from servers import cleared_database

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule


@pytest.fixture
def db(engine: str, tmp_path: Path) -> Iterator[Database]:
    opened = Database(cleared_database(engine, tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def blocks(db: Database) -> Callable[..., Index]:
    """Opens an index that takes bare fingerprints."""
    names = iter(range(1_000_000))

    def open_(**arguments: Any) -> Index:
        arguments.setdefault("namespace", f"blocks {next(names)}")
        arguments.setdefault("rule", Rule(distance=3))
        return Index(db, **arguments)

    return open_

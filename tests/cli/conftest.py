"""The database that commands look at."""

from __future__ import annotations

import pytest
from stored import fill

from scrapy_simhash.index.index import Index


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}", namespace="news") as index:
        fill(index)
    return path

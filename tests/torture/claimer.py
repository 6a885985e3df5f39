"""Processes that claim without a crawl."""

from __future__ import annotations

import time
from pathlib import Path

from loopback import prose
from torture.pages import GROUPS
from torture.processes import HARD_KILL

from benchmarks.index import fill
from scrapy_simhash import Index


def hold(database: str, count: int, done: Path) -> None:
    """Make claims, those of the site among them, and wait to be killed."""
    index = Index(database, namespace="torture", timeout=HARD_KILL)
    fill(index, count - GROUPS)
    texts = [{"text": prose(group), "key": str(group)} for group in range(GROUPS)]
    index.confirm(*index.claim_many(texts))
    done.touch()
    time.sleep(HARD_KILL)

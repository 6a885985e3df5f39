"""Processes that claim without a crawl."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

from loopback import prose
from torture.pages import GROUPS
from torture.processes import HARD_KILL

from benchmarks.index import fill
from scrapy_simhash import Index


def race(database: str, groups: int, seed: int) -> None:
    """Claim texts in random order; prints the groups that were unique."""
    order = list(range(groups))
    random.Random(seed).shuffle(order)
    admitted = []
    with Index(database, namespace="race", timeout=60) as index:
        for start in range(0, groups, 64):
            batch = order[start : start + 64]
            verdicts = index.claim_many(
                {"text": prose(group, 60), "key": f"{seed}/{group}"} for group in batch
            )
            unique = [verdict for verdict in verdicts if verdict.kind == "unique"]
            index.confirm(*unique)
            admitted += [
                group
                for group, verdict in zip(batch, verdicts, strict=True)
                if verdict.kind == "unique"
            ]
    print(json.dumps(admitted))


def hold(database: str, count: int, done: Path) -> None:
    """Make claims, those of the site among them, and wait to be killed."""
    index = Index(database, namespace="torture", timeout=HARD_KILL)
    fill(index, count - GROUPS)
    texts = [{"text": prose(group), "key": str(group)} for group in range(GROUPS)]
    index.confirm(*index.claim_many(texts))
    done.touch()
    time.sleep(HARD_KILL)

"""Processes that claim without a crawl."""

from __future__ import annotations

import json
import random

from loopback import prose

from scrapy_simhash import Index


def race(database: str, groups: int, seed: int) -> None:
    """Claim texts in an order of its own; prints which ones were admitted."""
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

"""A process that claims: ``python claimer.py DATABASE GROUPS SEED``; prints whom it admitted."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from scrapy_simhash import Index

sys.path.append(str(Path(__file__).parent.parent))

from loopback import prose


def main(database: str, groups: int, seed: int) -> None:
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


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

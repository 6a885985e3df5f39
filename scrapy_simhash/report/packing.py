"""What the script of a report unpacks: the rows of its table, and their differences."""

from __future__ import annotations

import base64
import json
import zlib
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_simhash import history
from scrapy_simhash.report.difference import LONGEST, difference
from scrapy_simhash.visible import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from scrapy_simhash.report.subject import Subject

__all__ = ["BLOCK", "pack_differences", "pack_table"]

#: Differences that are unpacked together.
BLOCK = 40

# Bounds of what is in one file: differences, and bytes of these.
MOST_DIFFERENCES, MOST_BYTES = 5_000, 8_000_000


def pack_table(subject: Subject, explained: Mapping[int, int]) -> str:
    """The rows of the table, each with the place of its original in a list of these.

    Args:
        subject: whose drops.
        explained: the number of the difference of a drop, by the drop's own number.
    """
    originals: dict[int, int] = {}
    listed: list[list[Any]] = []
    rows: list[list[Any]] = []
    for drop in subject.drops:
        place = originals.setdefault(drop.claim, len(originals))
        if place == len(listed):
            seen = None if drop.first_seen is None else int(drop.first_seen)
            listed.append([shortened(drop.original or f"claim {drop.claim}, gone", 500), seen])
        rows.append(
            [
                shortened(drop.url or drop.key, 500),
                place,
                drop.distance,
                int(drop.created),
                shortened(drop.action, 40) + (", orphan" if drop.orphaned else ""),
                drop.run,
                explained.get(drop.id, -1),
                round(drop.similarity, 4),
                int(drop.estimated),
            ]
        )
    return _packed(
        {
            "rows": rows,
            "originals": listed,
            "block": BLOCK,
        }
    )


def pack_differences(subject: Subject) -> tuple[list[str], dict[int, int]]:
    """The differences, packed in blocks, and which drop has which number.

    The drops that are least like their original come first: they are what to look at.
    """
    ordered = iter(sorted(subject.drops, key=lambda drop: (drop.similarity, drop.claim)))
    blocks: list[str] = []
    explained: dict[int, int] = {}
    left = MOST_BYTES
    while left > 0 and len(explained) < MOST_DIFFERENCES:
        part = list(islice(ordered, BLOCK))
        if not part:
            break
        wanted = [(drop.claim, number) for drop in part for number in (0, drop.id)]
        kept = history.texts(subject.database, subject.namespace, wanted)
        originals: dict[str, str] = {}
        changes: dict[int, Any] = {}
        for drop in part:
            first, second = kept.get((drop.claim, 0)), kept.get((drop.claim, drop.id))
            if first is None or second is None:
                continue
            first, second = (visible(one[:LONGEST])[:LONGEST] for one in (first, second))
            originals[str(drop.claim)] = first
            number = len(blocks) * BLOCK + len(changes)
            changes[number] = [str(drop.claim), difference(first, second)]
            explained[drop.id] = number
        if changes:
            blocks.append(_packed({"originals": originals, "changes": changes}))
            left -= len(blocks[-1])
    return blocks, explained


def _packed(value: Any) -> str:
    """A value as compressed JSON in Base64."""
    encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )
    return base64.b64encode(zlib.compress(encoded, 6)).decode()

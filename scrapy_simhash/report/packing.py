"""The rows of a report's table, and their differences, packed."""

from __future__ import annotations

import base64
import json
import zlib
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_simhash import history
from scrapy_simhash.report.difference import LONGEST, difference
from scrapy_simhash.report.visible import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from scrapy_simhash.report.subject import Report

__all__ = [
    "BLOCK",
    "MOST_BYTES",
    "MOST_DIFFERENCES",
    "MOST_ROWS",
    "pack_differences",
    "packed",
    "table_rows",
]

#: Bounds of what is in one file: rows of the table, differences, and bytes of these.
MOST_ROWS, MOST_DIFFERENCES, MOST_BYTES = 50_000, 5_000, 8_000_000

# Differences that are unpacked together.
BLOCK = 40


def table_rows(
    report: Report, explained: Mapping[int, int]
) -> tuple[list[list[Any]], list[list[Any]]]:
    """The rows of the table, each with the place of its original in a list of these."""
    originals: dict[int, int] = {}
    listed: list[list[Any]] = []
    rows: list[list[Any]] = []
    for drop in report.drops:
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
                drop.action + (", orphan" if drop.orphaned else ""),
                drop.run,
                explained.get(drop.id, -1),
            ]
        )
    return rows, listed


def pack_differences(report: Report) -> tuple[list[str], dict[int, int]]:
    """The differences, packed in blocks, and which drop has which number.

    The drops that are farthest from their original come first: they are what to look at.
    """
    ordered = iter(sorted(report.drops, key=lambda drop: (-drop.distance, drop.claim)))
    blocks: list[str] = []
    explained: dict[int, int] = {}
    left = MOST_BYTES
    while left > 0 and len(explained) < MOST_DIFFERENCES:
        part = list(islice(ordered, BLOCK))
        if not part:
            break
        wanted = [(drop.claim, number) for drop in part for number in (0, drop.id)]
        kept = history.texts(report.database, report.namespace, wanted)
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
            blocks.append(packed({"originals": originals, "changes": changes}))
            left -= len(blocks[-1])
    return blocks, explained


def packed(value: Any) -> str:
    """A value as compressed JSON in Base64."""
    encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )
    return base64.b64encode(zlib.compress(encoded, 6)).decode()

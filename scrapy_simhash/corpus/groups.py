"""The table of groups: of each item whether it was kept, and what it is a copy of."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from scrapy_simhash.feed.compressed import compressing, without_suffix
from scrapy_simhash.feed.errors import FeedError
from scrapy_simhash.feed.parquet import pyarrow, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_simhash.corpus.greedy import Decisions
    from scrapy_simhash.corpus.sketches import Sketches

__all__ = ["COLUMNS", "check_groups_file", "group_rows", "write_groups"]

#: A group is named by the number of the item that was kept of it; numbers begin at 1. `match` is
#: what an item is a copy of or, if it was kept, what it is near to and `differs` from.
COLUMNS = ("group", "member", "kept", "similarity", "match", "differs", "url")


def check_groups_file(path: Path) -> None:
    """Refuse a name that says no form.

    Raises:
        FeedError: it ends in something else.
    """
    if path.suffix.lower() != ".parquet" and without_suffix(path) not in {".csv", ".jsonl", ".jl"}:
        raise FeedError(f"{path}: a table of groups ends in .csv, .jsonl or .parquet")


def group_rows(sketches: Sketches, decisions: Decisions) -> Iterator[dict[str, Any]]:
    """A row for each item, in the order of the corpus; None for what there is not."""
    for number, is_kept in enumerate(decisions.kept.tolist()):
        match = int(decisions.matches[number])
        similarity = float(decisions.similarities[number])
        yield {
            "group": (number if is_kept else match) + 1,
            "member": number + 1,
            "kept": is_kept,
            "similarity": None if np.isnan(similarity) else round(similarity, 4),
            "match": None if match < 0 else match + 1,
            "differs": decisions.reasons[decisions.differs[number]] or None,
            "url": sketches.url(number) or None,
        }


def write_groups(stream: BinaryIO, path: Path, sketches: Sketches, decisions: Decisions) -> None:
    """Write the table to a stream, in the form that a path says."""
    rows = group_rows(sketches, decisions)
    if path.suffix.lower() == ".parquet":
        write_rows(stream, rows, _schema())
        return
    with compressing(stream, path) as packed:
        if without_suffix(path) != ".csv":
            packed.writelines(json.dumps(row).encode() + b"\n" for row in rows)
            return
        text = io.TextIOWrapper(packed, encoding="utf-8", errors="replace", newline="")
        writer = csv.DictWriter(text, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
        text.detach()


def _schema() -> Any:
    library = pyarrow()
    types = {"kept": library.bool_(), "similarity": library.float64()}
    types |= dict.fromkeys(("differs", "url"), library.string())
    return library.schema([(name, types.get(name, library.int64())) for name in COLUMNS])

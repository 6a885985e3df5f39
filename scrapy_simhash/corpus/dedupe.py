"""Deduplicate a corpus: sketch its records, decide on them, copy those that are kept."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.corpus.greedy import Decisions, decide_corpus
from scrapy_simhash.corpus.sketches import NOTHING, Sketches, SketchStore
from scrapy_simhash.corpus.workers import Portion, Sketcher, sketch_all
from scrapy_simhash.durable import new_file
from scrapy_simhash.feed.compressed import compressing, without_suffix
from scrapy_simhash.feed.parquet import pyarrow, write_rows
from scrapy_simhash.feed.source import FeedError, Source

if TYPE_CHECKING:
    Advance = Callable[[Literal["Sketching", "Deciding", "Writing"], int], None]

# Columns of the table of groups. Items are numbered from 1; a group has the number of the item that
# is kept. `match` is the item of which this one is a copy or, if it is kept, the item whose text is
# similar and from which it `differs`.
_COLUMNS = ("group", "member", "kept", "similarity", "match", "differs", "url")


class Counts(NamedTuple):
    """Numbers of items.

    Attributes:
        read: all items.
        kept: those written to the output.
        dropped: near-duplicates.
        unchecked: kept without a check, because they are empty, too short or unreadable.
    """

    read: int
    kept: int
    dropped: int
    unchecked: int


@dataclass(frozen=True, slots=True)
class Targets:
    """The files to write.

    Attributes:
        kept: for the items that are kept.
        dropped: for the near-duplicates, if they are wanted.
        groups: for the table of groups, if it is wanted.
    """

    kept: Path
    dropped: Path | None = None
    groups: Path | None = None

    def paths(self) -> list[Path]:
        """The files that are wanted."""
        return [path for path in (self.kept, self.dropped, self.groups) if path is not None]


def dedupe_corpus(
    sketcher: Sketcher,
    targets: Targets,
    *,
    processes: int = 1,
    advance: Advance = lambda phase, done: None,
) -> Counts:
    """Write the items that are not near-duplicates of a preferred or earlier one.

    The targets appear when all of them are complete.

    Args:
        sketcher: makes the sketches; with the files to read, all of one form.
        targets: new files.
        processes: how many make sketches.
        advance: called now and then with the phase and the number of items done.

    Raises:
        FeedError: a record is no item, or a file can't be read.
        FileExistsError: a target exists.
        BlockingIOError: another process is writing a target.
    """
    with ExitStack() as stack:
        streams = {path: stack.enter_context(new_file(path)) for path in targets.paths()}
        store = stack.enter_context(closing(SketchStore(targets.kept.parent)))
        portions = stack.enter_context(closing(_portions(sketcher.sources)))
        for part in stack.enter_context(closing(sketch_all(sketcher, portions, processes))):
            store.append(part)
            advance("Sketching", store.count)
        sketches = store.read(sketcher.plan, len(sketcher.criteria))
        deciding = partial(advance, "Deciding")
        decisions = decide_corpus(sketches, sketcher.plan, sketches.order, deciding)
        kept = decisions.kept
        advance("Writing", len(kept))
        _copy(sketcher.sources, targets.kept, streams, kept, others=True)
        if targets.dropped is not None:
            _copy(sketcher.sources, targets.dropped, streams, ~kept, others=False)
        if targets.groups is not None:
            _write_groups(streams[targets.groups], targets.groups, sketches, decisions)
        count, unchecked = int(kept.sum()), int((sketches.rows["compared_by"] == NOTHING).sum())
    return Counts(len(kept), count, len(kept) - count, unchecked)


def _portions(sources: Sequence[Source]) -> Generator[Portion]:
    number = 0
    for place, source in enumerate(sources):
        with closing(source.chunks()) as chunks:
            for chunk in chunks:
                yield Portion(place, number, chunk)
                number += chunk.length


def _copy(
    sources: Sequence[Source],
    path: Path,
    streams: Mapping[Path, BinaryIO],
    wanted: NDArray[np.bool_],
    *,
    others: bool,
) -> None:
    left = iter(wanted.tolist())
    sources[0].write(sources, left, path, streams[path], others=others)
    if next(left, None) is not None:
        raise FeedError(f"{sources[-1].path} was changed while it was read")


def check_groups_file(path: Path) -> None:
    """Refuse a table of groups in an unknown format.

    Raises:
        FeedError: the name ends in another suffix.
    """
    if path.suffix.lower() != ".parquet" and without_suffix(path) not in {".csv", ".jsonl", ".jl"}:
        raise FeedError(f"{path}: a table of groups must end in .csv, .jsonl or .parquet")


def _write_groups(stream: BinaryIO, path: Path, sketches: Sketches, decisions: Decisions) -> None:
    """Write the table of groups in the format that its name asks for."""
    rows = _group_rows(sketches, decisions)
    if path.suffix.lower() == ".parquet":
        write_rows(stream, rows, _groups_schema())
        return
    with compressing(stream, path) as packed:
        if without_suffix(path) != ".csv":
            for row in rows:
                packed.write(json.dumps(row).encode() + b"\n")
            return
        text = io.TextIOWrapper(packed, encoding="utf-8", errors="replace", newline="")
        writer = csv.DictWriter(text, _COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
        text.detach()


def _group_rows(sketches: Sketches, decisions: Decisions) -> Iterator[dict[str, Any]]:
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


def _groups_schema() -> Any:
    library = pyarrow()
    types = {"kept": library.bool_(), "similarity": library.float64()}
    types |= dict.fromkeys(("differs", "url"), library.string())
    return library.schema([(name, types.get(name, library.int64())) for name in _COLUMNS])

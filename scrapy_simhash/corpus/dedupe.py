"""A corpus without its near-duplicates: sketched, decided on, written; resumable.

All that is known stands in a folder of its own until the end. Sketches are appended to files, and
noted when they are on the disk; what was decided, and each file that is written, is there as a
whole or not at all. Whatever stops it, the next call goes on behind the last step that was noted.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np

from scrapy_simhash.corpus.greedy import Decisions, decide_corpus
from scrapy_simhash.corpus.groups import write_groups
from scrapy_simhash.corpus.sketches import NOTHING, Lengths, Sketches, SketchFiles
from scrapy_simhash.corpus.workers import Portion, Sketcher, sketch_all
from scrapy_simhash.durable import open_new, replace_file, sync_folder
from scrapy_simhash.feed.errors import FeedError
from scrapy_simhash.feed.progress import FeedCounts

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from pathlib import Path

    from scrapy_simhash.corpus.stored import Stored
    from scrapy_simhash.feed.source import Source

__all__ = ["Targets", "check_free", "dedupe_corpus"]

Phase = Literal["Sketching", "Deciding", "Writing"]
Advance = Callable[[Phase, int], None]

# Seconds of work that may have to be done again.
_NOTED_EVERY = 2.0


@dataclass(frozen=True, slots=True)
class Targets:
    """The files that are written.

    Attributes:
        kept: for what is kept.
        dropped: for what is left out, if anybody wants it.
        groups: for the table of groups, likewise.
    """

    kept: Path
    dropped: Path | None = None
    groups: Path | None = None

    def paths(self) -> list[Path]:
        """Those that are wanted."""
        return [path for path in (self.kept, self.dropped, self.groups) if path is not None]


@dataclass(slots=True)
class _Noted:
    """How far it has come, for good."""

    call: list[str]
    lengths: Lengths = field(default_factory=Lengths)
    state: Literal["sketching", "sketched", "decided", "written"] = "sketching"

    @classmethod
    def load(cls, path: Path, call: Sequence[str]) -> _Noted:
        """What is noted.

        Raises:
            FeedError: it belongs to another call, or can't be read.
        """
        try:
            noted = json.loads(path.read_bytes())
            lengths = Lengths(**noted.pop("lengths"))
            found = cls(**noted, lengths=lengths)
        except FileNotFoundError:
            return cls(list(call))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise FeedError(
                f"{path} is damaged: how far the earlier call came can't be read from it; remove "
                f"{path.parent} to begin anew"
            ) from error
        if found.call != list(call):
            raise FeedError(
                f"{path.parent} belongs to an earlier call that was interrupted and had another "
                "input or other options; repeat that one, or remove this folder to begin anew"
            )
        return found

    def save(self, path: Path) -> None:
        """Note it, in the place of what was noted."""
        replace_file(path, json.dumps(asdict(self)).encode())


def dedupe_corpus(
    sources: Sequence[Source],
    targets: Targets,
    sketcher: Sketcher,
    folder: Path,
    *,
    options: Sequence[str],
    processes: int = 1,
    advance: Advance = lambda phase, done: None,
) -> FeedCounts:
    """Write what is no near-duplicate of something before it, in the order that is asked for.

    Args:
        sources: files of one form, in their order.
        targets: where to write; nothing may be there.
        sketcher: makes the sketches, and knows what is preferred.
        folder: for what is known meanwhile; gone when all is done.
        options: what another call must have in common with this one to go on with its work.
        processes: that make sketches.
        advance: called from time to time with what is done, and on how many.

    Raises:
        FeedError: something is no item, a target is there, or an earlier call was another one.
    """
    noted = folder / "noted"
    call = [*(source.identity() for source in sources), *options, *map(str, targets.paths())]
    progress = _Noted.load(noted, call)
    if progress.state != "written":
        check_free(targets.paths())
    folder.mkdir(mode=0o700, exist_ok=True)
    progress.save(noted)
    try:
        if progress.state == "sketching":
            portions = _portions(sources, progress.lengths.documents)
            parts = sketch_all(sketcher, portions, processes, folder)
            with closing(portions), closing(parts):
                _append(parts, folder, progress, advance)
            progress.state = "sketched"
            progress.save(noted)
        plan, criteria = sketcher.plan, len(sketcher.criteria)
        sketches = Sketches.open(folder, progress.lengths, plan, criteria)
        if progress.state == "sketched":
            deciding = partial(advance, "Deciding")
            decisions = decide_corpus(sketches, plan, sketches.order, deciding)
            replace_file(folder / "decided", _packed(decisions))
            progress.state = "decided"
            progress.save(noted)
        decisions = _unpacked(folder / "decided")
        if progress.state == "decided":
            _write(sources, targets, sketches, decisions, advance)
            progress.state = "written"
            progress.save(noted)
    except FeedError:
        # What was read has to change, and then nothing that is known of it is of use.
        for path in targets.paths():
            _part_of(path).unlink(missing_ok=True)
        shutil.rmtree(folder)
        raise
    for path in targets.paths():
        _publish(path)
    counts = _counts(sketches, decisions)
    del sketches  # who has a file mapped can't remove it everywhere
    shutil.rmtree(folder)
    sync_folder(folder.parent)
    return counts


def _append(parts: Iterable[Stored], folder: Path, progress: _Noted, advance: Advance) -> None:
    """Write the sketches to their files, and note from time to time how many there are."""
    with closing(SketchFiles(folder, progress.lengths)) as files:
        last = time.monotonic()
        for part in parts:
            files.append(part)
            advance("Sketching", progress.lengths.documents)
            if time.monotonic() - last > _NOTED_EVERY:
                files.sync()
                progress.save(folder / "noted")
                last = time.monotonic()
        files.sync()


def _portions(sources: Sequence[Source], done: int) -> Generator[Portion]:
    """What is not done yet."""
    number = 0
    for place, source in enumerate(sources):
        with closing(source.chunks()) as chunks:
            for chunk in chunks:
                before = max(0, done - number)
                if before < chunk.length:
                    yield Portion(place, number, chunk, before)
                number += chunk.length


def _write(
    sources: Sequence[Source],
    targets: Targets,
    sketches: Sketches,
    decisions: Decisions,
    advance: Advance,
) -> None:
    """Write each target as a whole, beside its place."""
    kept = decisions.kept
    advance("Writing", len(kept))
    with _beside(targets.kept) as stream:
        _copy(sources, targets.kept, stream, kept.tolist(), rest=True)
    if targets.dropped is not None:
        with _beside(targets.dropped) as stream:
            _copy(sources, targets.dropped, stream, (~kept).tolist(), rest=False)
    if targets.groups is not None:
        with _beside(targets.groups) as stream:
            write_groups(stream, targets.groups, sketches, decisions)


def _copy(
    sources: Sequence[Source], path: Path, stream: BinaryIO, wanted: Sequence[bool], *, rest: bool
) -> None:
    left = iter(wanted)
    with sources[0].written(path, stream) as written:
        for source in sources:
            written.add(source, left, rest=rest)


def _part_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


@contextmanager
def _beside(path: Path) -> Iterator[BinaryIO]:
    """Write a file that takes its place when all are complete."""
    part = _part_of(path)
    part.unlink(missing_ok=True)
    with open_new(part) as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
    sync_folder(path.parent)


def _publish(path: Path) -> None:
    """Give a complete file its name, unless an earlier call has."""
    part = _part_of(path)
    if part.exists():
        check_free([path])
        part.rename(path)
        sync_folder(path.parent)


def check_free(paths: Sequence[Path]) -> None:
    """Refuse to write where something is.

    Raises:
        FeedError: there is.
    """
    for path in paths:
        if os.path.lexists(path):
            raise FeedError(f"{path} is there already; remove it, or name another one")


def _packed(decisions: Decisions) -> bytes:
    packed = io.BytesIO()
    arrays = {name: getattr(decisions, name) for name in Decisions.__slots__}
    np.savez(packed, **arrays)
    return packed.getvalue()


def _unpacked(path: Path) -> Decisions:
    with np.load(path) as arrays:
        columns: dict[str, Any] = {name: arrays[name] for name in Decisions.__slots__}
    return Decisions(**{**columns, "reasons": columns["reasons"].tolist()})


def _counts(sketches: Sketches, decisions: Decisions) -> FeedCounts:
    read, kept = len(decisions.kept), int(decisions.kept.sum())
    unchecked = int((sketches.rows["basis"] == NOTHING).sum())
    return FeedCounts(read, kept, read - kept, unchecked)

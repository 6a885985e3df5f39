"""Deduplicate a corpus: sketch its records, decide on them, copy those that are kept."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from scrapy_simhash.corpus.bookkeeping import find_written
from scrapy_simhash.corpus.greedy import decide_corpus
from scrapy_simhash.corpus.result import Counts, Result
from scrapy_simhash.corpus.sketches import NOTHING, SketchStore
from scrapy_simhash.corpus.workers import Portion, Sketcher, sketch_all
from scrapy_simhash.durable import new_file
from scrapy_simhash.feed.files import write_table
from scrapy_simhash.feed.source import FeedError, Output, Source, chosen, format_of

#: Called now and then with the phase and the number of items done.
Advance = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Targets:
    """The files to write. The suffix of each selects its format.

    Attributes:
        kept: for the items that are kept.
        dropped: for the near-duplicates, if they are wanted.
        groups: for the table of groups, if it is wanted.
        rejects: for records that are no items, unchanged, if they are wanted.
    """

    kept: Path
    dropped: Path | None = None
    groups: Path | None = None
    rejects: Path | None = None

    def paths(self) -> list[Path]:
        """The files to create."""
        return [path for path in (self.kept, self.dropped, self.groups, self.rejects) if path]


def dedupe_corpus(
    sketcher: Sketcher,
    targets: Targets,
    *,
    workers: int | None = 1,
    references: int = 0,
    advance: Advance = lambda phase, done: None,
) -> Counts:
    """Write the items that are not near-duplicates of a preferred or earlier one.

    The targets appear when all of them are complete.

    Args:
        sketcher: makes the sketches; with the files to read. Those to copy are all of one form.
        targets: new files.
        workers: how many processes make sketches; None for one for each core.
        references: how many of the files, the first ones, are the reference: their items are
            compared with, and never written.
        advance: tells the progress.

    Raises:
        FeedError: a file can't be read or, in this format, written.
        FileExistsError: a target exists.
    """
    with ExitStack() as stack:
        sketcher, written = _without_written(sketcher, advance)
        store = stack.enter_context(closing(SketchStore(targets.kept.parent)))
        with ExitStack() as files:
            streams = {path: files.enter_context(new_file(path)) for path in targets.paths()}
            corpus = _decided(sketcher, store, workers, references, advance)
            _write(corpus, targets, streams)
        return corpus.counts()._replace(written=written)


def _decided(
    sketcher: Sketcher, store: SketchStore, workers: int | None, references: int, advance: Advance
) -> Result:
    """Sketch all records, which the store gets, then decide on them."""
    starts = list[int]()
    with (
        closing(_portions(sketcher.sources, starts)) as portions,
        closing(sketch_all(sketcher, portions, workers)) as parts,
    ):
        for part in parts:
            store.append(part)
            advance("Sketching", store.count)
    sketches = store.read(sketcher.plan)
    first = starts[references]
    decisions = decide_corpus(
        sketches,
        sketcher.plan,
        sketches.order(first),
        advance=partial(advance, "Deciding"),
        reference=first,
    )
    advance("Writing", store.count)
    return Result(sketcher, starts, references, sketches, decisions)


def _without_written(sketcher: Sketcher, advance: Advance) -> tuple[Sketcher, Sequence[str]]:
    """Find the fields that only tell when, or in which order, items were stored.

    Those that the user has named are compared.
    """
    reader = sketcher.reader
    if reader.only is not None:
        return sketcher, ()
    indexes, others = find_written(sketcher.sources, reader.ignore, partial(advance, "Reading"))
    reader = replace(reader, ignore=[*reader.ignore, *indexes], beside_texts=others)
    return replace(sketcher, reader=reader), indexes + others


def _portions(sources: Sequence[Source], starts: list[int]) -> Generator[Portion]:
    """The records of files; `starts` gets the number of the first one of each, and of all."""
    number = 0
    for place, source in enumerate(sources):
        starts.append(number)
        with closing(source.chunks()) as chunks:
            for chunk in chunks:
                yield place, number, chunk
                number += len(chunk)
    starts.append(number)


def _write(corpus: Result, targets: Targets, streams: Mapping[Path, BinaryIO]) -> None:
    has_value = corpus.compared_by > NOTHING
    reader, rejected = corpus.sketcher.reader, corpus.rejected
    # The same command will be given again, corrected.
    if targets.rejects is None and rejected.any() and not has_value.any():
        # As of a file in a different format.
        raise FeedError(f"{corpus.sketches.problems[0]}; no other record can be read either")
    only = reader.only
    if only is not None and not has_value.any() and not rejected.all():
        raise FeedError(f"no item has a value in {' or '.join(only)}")
    sources = corpus.sketcher.sources[corpus.references :]
    for path, wanted in ((targets.kept, corpus.kept), (targets.dropped, corpus.dropped)):
        if path is not None:
            output = Output(path, streams[path], others=path is targets.kept)
            _copy(sources, wanted.tolist(), output)
    if (path := targets.rejects) is not None:
        rejected = iter(corpus.rejected.tolist())
        sources[0].write(sources, rejected, Output(path, streams[path]))
    if (path := targets.groups) is not None:
        output = Output(path, streams[path])
        write_table(corpus.groups, output, types=corpus.types, for_people=True)


def _copy(sources: Sequence[Source], wanted: Sequence[bool], output: Output) -> None:
    """Write records as their own format does or, in another one, as items."""
    if format_of(output.path) not in sources[0].suffixes:
        write_table(partial(_items, sources, wanted), output)
        return
    left = iter(wanted)
    sources[0].write(sources, left, output)
    _check_unchanged(sources, left)


def _items(sources: Sequence[Source], wanted: Iterable[bool]) -> Iterator[Mapping[str, Any]]:
    left = iter(wanted)
    for source, record in chosen(sources, left):
        yield source.item(record)
    _check_unchanged(sources, left)


def _check_unchanged(sources: Sequence[Source], left: Iterator[bool]) -> None:
    if next(left, None) is not None:
        raise FeedError(f"{sources[-1].path} was changed while it was read")

"""Deduplicate a corpus: sketch its records, decide on them, copy those that are kept."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from scrapy_simhash.corpus.bookkeeping import find_written
from scrapy_simhash.corpus.greedy import Decisions, decide_corpus
from scrapy_simhash.corpus.near import Explainer, Near
from scrapy_simhash.corpus.sketches import NOTHING, UNREADABLE, Sketches, SketchStore
from scrapy_simhash.corpus.workers import Portion, Sketcher, sketch_all
from scrapy_simhash.durable import new_file
from scrapy_simhash.feed.documents import ItemReader
from scrapy_simhash.feed.files import write_table
from scrapy_simhash.feed.source import FeedError, Output, Source, chosen, format_of
from scrapy_simhash.feed.warc import WarcPage
from scrapy_simhash.item.irrelevant import FieldAdvice

#: Called now and then with the phase and the number of items done.
Advance = Callable[[str, int], None]

# Columns of the table of groups. Items are numbered from 1; a group has the number of the item that
# is kept. The original is the item of which this one is a copy or, if it is kept, the item whose
# text is similar and from which it `differs`. The names are those of `history.record.Record`.
_COLUMNS = {
    "group": "int64",
    "id": "int64",
    "kept": "bool",
    "similarity": "double",
    "original_id": "int64",
    "differs": "string",
    "url": "string",
}


# With a reference, also the file and the address of that item. Its items have negative numbers.
_REFERENCE_COLUMNS = {"original_file": "string", "original": "string"}


class Counts(NamedTuple):
    """Numbers of items.

    Attributes:
        read: all items but those of the reference.
        kept: those written to the output.
        dropped: near-duplicates.
        unchecked: kept without a check, because they are empty or too short, or can't be read.
        rejected: records that are no items, such as lines of invalid JSON.
        problems: what is wrong with the first 10 of them, and where they are.
        reference: items of the reference.
        known: near-duplicates of one of these.
        unreadable: records of the reference that are no items.
        written: fields that were not compared, as they tell when, or in which order, items were
            written down.
        near: what keeps items apart although they are similar.
        advice: which fields to ignore to drop more.
    """

    read: int
    kept: int
    dropped: int
    unchecked: int
    rejected: int
    problems: Sequence[str]
    reference: int = 0
    known: int = 0
    unreadable: int = 0
    written: Sequence[str] = ()
    near: Sequence[Near] = ()
    advice: Sequence[FieldAdvice] = ()


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
        workers: how many processes make sketches; None for as many as pay.
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
) -> _Corpus:
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
    return _Corpus(sketcher, starts, references, sketches, decisions)


def _without_written(sketcher: Sketcher, advance: Advance) -> tuple[Sketcher, Sequence[str]]:
    """Find the fields that only tell when, or in which order, items were stored.

    Those that the user has named are compared.
    """
    reader = sketcher.reader
    if not isinstance(reader, ItemReader) or reader.fields.only is not None:
        return sketcher, ()
    fields = reader.fields
    indexes, others = find_written(sketcher.sources, fields.ignore, partial(advance, "Reading"))
    fields = replace(fields, ignore=[*fields.ignore, *indexes], beside_texts=others)
    return replace(sketcher, reader=replace(reader, fields=fields)), indexes + others


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


@dataclass
class _Corpus:
    """The decisions on the records of a reference and behind it, of those to copy.

    `starts` has the number of the first record of each file, and of all; `references` is the number
    of files of the reference.
    """

    sketcher: Sketcher
    starts: Sequence[int]
    references: int
    sketches: Sketches
    decisions: Decisions

    def __post_init__(self) -> None:
        # The number of the first record that may be copied; what follows is about those behind it.
        self.first = self.starts[self.references]
        self.compared_by = self.sketches.rows["compared_by"][self.first :]
        self.rejected = self.compared_by == UNREADABLE
        self.dropped = ~self.decisions.kept[self.first :]
        self.kept = ~self.dropped & ~self.rejected

    def counts(self) -> Counts:
        first, of_reference = self.first, self.sketches.rows["compared_by"][: self.first]
        matches, shown = self.decisions.matches[first:], self._shown
        explainer = Explainer(self.sketches, first, self.decisions, self._values)
        return Counts(
            len(self.rejected),
            kept=int(self.kept.sum()),
            dropped=int(self.dropped.sum()),
            unchecked=int((self.compared_by == NOTHING).sum()),
            rejected=int(self.rejected.sum()),
            problems=self.sketches.problems,
            reference=int((of_reference != UNREADABLE).sum()),
            known=int((self.dropped & (matches < first)).sum()),
            unreadable=int((of_reference == UNREADABLE).sum()),
            near=[
                near._replace(items=(shown(near.items[0]), shown(near.items[1])))
                for near in explainer.near()
            ],
            advice=explainer.advice(),
        )

    def _values(self, numbers: Iterable[int]) -> dict[int, Mapping[str, Any]]:
        """The short values of some items: the files are read up to the last one of these."""
        asked = sorted(numbers)
        wanted = map(set(asked).__contains__, count())
        found = islice(chosen(self.sketcher.sources, wanted), len(asked))
        return {
            number: self.sketcher.values(source, record)
            for number, (source, record) in zip(asked, found, strict=True)
        }

    def groups(self) -> Iterator[dict[str, Any]]:
        """The rows of the table of groups."""
        decisions = self.decisions
        for number in (self.first + np.flatnonzero(~self.rejected)).tolist():
            is_kept, match = bool(decisions.kept[number]), int(decisions.matches[number])
            similarity = float(decisions.similarities[number])
            row = {
                "group": self._shown(number if is_kept else match),
                "id": self._shown(number),
                "kept": is_kept,
                "similarity": None if np.isnan(similarity) else round(similarity, 4),
                "original_id": None if match < 0 else self._shown(match),
                "differs": decisions.reasons[decisions.differs[number]] or None,
                "url": self.sketches.url(number) or None,
            }
            if self.references:
                is_known = 0 <= match < self.first
                place = bisect(self.starts, match) - 1
                row["original_file"] = str(self.sketcher.sources[place].path) if is_known else None
                row["original"] = (self.sketches.url(match) or None) if match >= 0 else None
            yield row

    def _shown(self, number: int) -> int:
        return number - self.first + 1 if number >= self.first else -1 - number


def _write(corpus: _Corpus, targets: Targets, streams: Mapping[Path, BinaryIO]) -> None:
    has_value = corpus.compared_by > NOTHING
    reader, rejected = corpus.sketcher.reader, corpus.rejected
    # The same command will be given again, corrected.
    if targets.rejects is None and rejected.any() and not has_value.any():
        # As of a file in a different format.
        raise FeedError(f"{corpus.sketches.problems[0]}; no other record can be read either")
    only = reader.fields.only if isinstance(reader, ItemReader) else None
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
        types = _COLUMNS | (_REFERENCE_COLUMNS if corpus.references else {})
        write_table(corpus.groups, Output(path, streams[path]), types=types, for_people=True)


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
        item = source.item(record)
        yield item.fields() if isinstance(item, WarcPage) else item
    _check_unchanged(sources, left)


def _check_unchanged(sources: Sequence[Source], left: Iterator[bool]) -> None:
    if next(left, None) is not None:
        raise FeedError(f"{sources[-1].path} was changed while it was read")

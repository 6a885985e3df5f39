"""Deduplicate a corpus: sketch its records, decide on them, copy what is kept, count the result."""

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
from numpy.typing import NDArray

from scrapy_simhash.corpus.bookkeeping import find_written
from scrapy_simhash.corpus.greedy import Decisions, decide_corpus
from scrapy_simhash.corpus.sketches import NOTHING, UNREADABLE, Sketches, SketchStore
from scrapy_simhash.corpus.workers import ADDRESS, Portion, Sketcher, sketch_all
from scrapy_simhash.db.values import ComparedBy
from scrapy_simhash.durable import new_file
from scrapy_simhash.feed.files import write_table
from scrapy_simhash.feed.source import FeedError, Output, Source, chosen, format_of
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.irrelevant import FieldAdvice, Pair, differing_facts, irrelevant_fields
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.values import short

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
        sketcher, indexes, others = _without_written(sketcher, advance)
        store = stack.enter_context(closing(SketchStore(targets.kept.parent)))
        with ExitStack() as files:
            streams = {path: files.enter_context(new_file(path)) for path in targets.paths()}
            corpus = _decided(sketcher, store, workers, references, advance)
            _write(corpus, targets, streams)
        has_texts = bool((corpus.compared_by == ComparedBy.TEXT).any())
        return corpus.counts()._replace(written=[*indexes, *(others if has_texts else ())])


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


def _without_written(
    sketcher: Sketcher, advance: Advance
) -> tuple[Sketcher, Sequence[str], Sequence[str]]:
    """Find the fields that only tell when, or in which order, items were stored.

    Returns those that are not compared, and those that are not beside a text. Those that the user
    has named are compared.
    """
    reader = sketcher.reader
    if reader.only is not None:
        return sketcher, (), ()
    indexes, others = find_written(sketcher.sources, reader.ignore, partial(advance, "Reading"))
    reader = replace(reader, ignore=[*reader.ignore, *indexes], beside_texts=others)
    return replace(sketcher, reader=reader), indexes, others


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


# The maximum number of reasons, the most frequent first.
_MOST_REASONS = 10
# The maximum number of items that are examined for advice.
_MOST_ITEMS = 10_000

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


class Near(NamedTuple):
    """Items that were kept although others are similar, for one reason.

    Attributes:
        differs: the field that differs, or what else does; see `Verdict.differs`.
        number: how many there are.
        items: the numbers of the first one and of the item that it is similar to.
        values: the values of both, or their texts; None where one has none.
    """

    differs: str
    number: int
    items: tuple[int, int]
    values: tuple[str | None, str | None]


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


@dataclass
class Result:
    """The decisions on the records of a reference and behind it, of those to copy.

    Attributes:
        sketcher: has read the records.
        starts: the number of the first record of each file, and of all.
        references: the number of files of the reference.
        sketches, decisions: of all records.
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

    @property
    def types(self) -> dict[str, str]:
        """The columns of the table of groups, with their types."""
        return _COLUMNS | (_REFERENCE_COLUMNS if self.references else {})

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

    def counts(self) -> Counts:
        """The numbers of items, and why similar ones were kept."""
        first, of_reference = self.first, self.sketches.rows["compared_by"][: self.first]
        matches = self.decisions.matches[first:]
        # Those that were kept although a similar one is kept.
        near = first + np.flatnonzero(self.kept & (self.decisions.differs[first:] > 0))
        pairs = map(self._pair, near[:_MOST_ITEMS])
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
            near=self._near(near),
            advice=irrelevant_fields([*map(self._changed, pairs)], self._values),
        )

    def _pair(self, number: np.intp) -> tuple[int, int]:
        """An item and the similar one."""
        return int(number), int(self.decisions.matches[number])

    def _near(self, numbers: NDArray[np.intp]) -> list[Near]:
        """Why similar items were kept, the most frequent reasons first."""
        codes, firsts, counts = np.unique(
            self.decisions.differs[numbers], return_index=True, return_counts=True
        )
        often = np.argsort(-counts, kind="stable")[:_MOST_REASONS].tolist()
        pairs = [self._pair(numbers[firsts[one]]) for one in often]
        values = self._values({number for pair in pairs for number in pair})
        found = []
        for one, (new, old) in zip(often, pairs, strict=True):
            reason = self.decisions.reasons[codes[one]]
            both = self._value(reason, new, values), self._value(reason, old, values)
            found.append(Near(reason, int(counts[one]), (self._shown(new), self._shown(old)), both))
        return found

    def _value(
        self, reason: str, number: int, values: Mapping[int, Mapping[str, Any]]
    ) -> str | None:
        """What an item has of what keeps it apart."""
        if reason.startswith("(") and reason != ADDRESS:
            return self.sketches.text(number)
        key = name_of(reason).key
        return next((short(v) for n, v in values[number].items() if name_of(n).key == key), None)

    def _changed(self, pair: tuple[int, int]) -> Pair:
        """A document and the similar one, with the facts that differ."""
        rows = [self.sketches.row(number, number) for number in pair]
        changed = differing_facts(*(Facts.unpack(row.facts or b"") for row in rows))
        one, other = map(self.sketches.text, pair)
        # The later one may have been decided on first.
        later, earlier = max(pair), min(pair)
        urls = self.sketches.url(later), self.sketches.url(earlier)
        return Pair(*urls, changed, one == other, (later, earlier))

    def _values(self, numbers: Iterable[int]) -> dict[int, Mapping[str, Any]]:
        """The short values of some items: the files are read up to the last one of these."""
        asked = sorted(numbers)
        wanted = map(set(asked).__contains__, count())
        found = islice(chosen(self.sketcher.sources, wanted), len(asked))
        return {
            number: self.sketcher.values(source, record)
            for number, (source, record) in zip(asked, found, strict=True)
        }

    def _shown(self, number: int) -> int:
        return number - self.first + 1 if number >= self.first else -1 - number

"""Make the sketches of a corpus, in several processes."""

from __future__ import annotations

import logging
import os
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread
from typing import Any, NamedTuple

from scrapy_simhash.corpus.plain import PlainItems
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.quality import Criterion
from scrapy_simhash.corpus.sketches import EMPTY, MOST_PROBLEMS, UNREADABLE, Part, make_part
from scrapy_simhash.feed.compressed import is_compressed
from scrapy_simhash.feed.documents import ItemReader, PageReader
from scrapy_simhash.feed.json_lines import JsonLines
from scrapy_simhash.feed.source import Chunk, FeedError, RecordError, Source

logger = logging.getLogger(__name__)

#: What keeps two items apart that one page lists under addresses of their own.
ADDRESS = "(address)"

# Portions under way for each process: one that it works on, and one in its queue.
_AHEAD = 3

# Bytes from which on several processes pay, and how much a file is compressed.
_ENOUGH, _PACKED = 32 << 20, 4


class Portion(NamedTuple):
    """Records that are sketched together.

    Attributes:
        source: number of their source.
        number: of the first record in the corpus.
        chunk: the records.
        is_first: whether they are the first of the corpus, or behind the reference.
    """

    source: int
    number: int
    chunk: Chunk
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class Sketcher:
    """Makes sketches of records. It is sent to each process once.

    Attributes:
        sources: the files of the records.
        reader: makes documents of items, or of pages.
        plan: how documents are compared.
        criteria: by which copies are preferred.
    """

    sources: Sequence[Source]
    reader: ItemReader | PageReader
    plan: Plan
    criteria: Sequence[Criterion]
    plain: PlainItems | None = None

    @property
    def mostly_plain(self) -> bool:
        """Whether so many items are plain that threads sketch them faster than processes."""
        return self.plain is not None and self.plain.are_most()

    def part(self, portion: Portion) -> Part:
        """The sketches of some records.

        Raises:
            FeedError: the file has changed, or no item has a field to compare.
        """
        source, chunk = self.sources[portion.source], portion.chunk
        if self.plain is not None and isinstance(source, JsonLines):
            return self._plain_part(self.plain, source, portion)
        records = list(source.unpacked(chunk.packed))
        self._check_length(portion, len(records))
        part, items = self._read(
            source, records, range(portion.number, portion.number + chunk.length)
        )
        if portion.is_first and isinstance(self.reader, ItemReader):
            self.reader.check(items)
        return part

    def values(self, source: Source, record: Any) -> Mapping[str, Any]:
        """The short values of an item."""
        document = self.reader.document(source.item(record), 0)
        if document is None or document.facts is None:
            return {}
        # The key of a listed item ends in its own address.
        is_listed = document.listing != 0
        own = {ADDRESS: document.key.rpartition(" ")[2]} if is_listed else {}
        return {**document.facts.shown, **own}

    def _plain_part(self, plain: PlainItems, source: JsonLines, portion: Portion) -> Part:
        block = source.block(portion.chunk.packed)
        if len(plain.fields) == 2:
            first = next(iter(source.unpacked(block)), (0, b""))
            plain.learn(filter(None, [_read(source, first)[0]]))
        found = plain.sketch(block.content, portion.number)
        self._check_length(portion, len(found.rows) + len(found.left))
        places = found.left.tolist()
        records = [
            (block.number + line, block.content[start:end]) for _, line, start, end in places
        ]
        part, items = self._read(source, records, [portion.number + place[0] for place in places])
        if portion.is_first and not len(found.rows) and isinstance(self.reader, ItemReader):
            self.reader.check(items)
        plain.learn(items)
        return plain.joined(found, part, self.criteria)

    def _check_length(self, portion: Portion, length: int) -> None:
        if length != portion.chunk.length:
            path = self.sources[portion.source].path
            raise FeedError(f"{path} was changed while it was read")

    def _read(
        self, source: Source, records: Sequence[Any], numbers: Iterable[int]
    ) -> tuple[Part, list[Any]]:
        """The sketches of records with these numbers, and the items among them."""
        read = [_read(source, record) for record in records]
        documents = [
            None if item is None else self.reader.document(item, number)
            for number, (item, _) in zip(numbers, read, strict=False)
        ]
        part = make_part(documents, self.plan, self.criteria)
        for place, ((item, _), document) in enumerate(zip(read, documents, strict=True)):
            if item is None:
                part.rows["compared_by"][place] = UNREADABLE
            elif document is None and self.reader.is_empty(item):
                part.rows["compared_by"][place] = EMPTY
        problems = [problem for _, problem in read if problem][:MOST_PROBLEMS]
        return part._replace(problems=problems), [item for item, _ in read if item is not None]


def _read(source: Source, record: Any) -> tuple[Any, str]:
    """The item of a record, or what is wrong with it."""
    try:
        return source.item(record), ""
    except RecordError as error:
        return None, str(error)


def usable_cores() -> int:
    """How many cores this process may use: a container may be limited to some of them."""
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


def sketch_all(
    sketcher: Sketcher,
    portions: Iterable[Portion],
    workers: int | None,
    place: Callable[[Part], Part],
) -> Generator[Part]:
    """Sketch records, in their order, by as many threads or processes, None for all that pay.

    Each part is placed at once, by the thread that made it or by this one.

    Raises:
        FeedError: as `Sketcher.part`.
    """
    # A portion may be large: it is not held any longer than needed.
    portions = iter(portions)

    def placed(portion: Portion) -> Part:
        return place(sketcher.part(portion))

    yield from map(placed, islice(portions, 1))
    workers = workers or _worthwhile(sketcher)
    if workers == 1 or (not sketcher.mostly_plain and not _can_be_sent(sketcher)):
        yield from map(placed, portions)
        return
    if sketcher.mostly_plain:
        yield from _ahead(ThreadPoolExecutor(workers), placed, portions, workers)
    else:
        yield from map(place, _ahead(_processes(sketcher, workers), _sketch, portions, workers))


def _ahead(
    pool: Executor, sketch: Callable[[Portion], Part], portions: Iterable[Portion], workers: int
) -> Generator[Part]:
    running: deque[Future[Part]] = deque()
    with pool:
        try:
            for portion in portions:
                running.append(pool.submit(sketch, portion))
                if len(running) > _AHEAD * workers:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def _worthwhile(sketcher: Sketcher) -> int:
    """One for each core; one alone where processes would take longer to start than they save."""
    paths = [source.path for source in sketcher.sources]
    size = sum(path.stat().st_size * (_PACKED if is_compressed(path) else 1) for path in paths)
    return usable_cores() if sketcher.mostly_plain or size >= _ENOUGH else 1


def _processes(sketcher: Sketcher, workers: int) -> ProcessPoolExecutor:
    # Not fork: this process may have threads.
    context = get_context("forkserver" if os.name == "posix" else "spawn")
    if os.name == "posix":
        # The server imports what the processes need, the program that runs included.
        context.set_forkserver_preload(["__main__", __name__])
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return ProcessPoolExecutor(workers, context, _begin, (sketcher,))


def _can_be_sent(sketcher: Sketcher) -> bool:
    """Whether it can be pickled, which a user's own scheme may prevent."""
    try:
        pickle.dumps(sketcher)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        logger.warning("Only one process is used, because the scheme can't be pickled (%s)", error)
        return False
    return True


# In a worker process: what it was sent.
_sketchers: list[Sketcher] = []


def _begin(sketcher: Sketcher) -> None:
    _sketchers.append(sketcher)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed can't stop its workers, which would wait for work for ever."""
    if (parent := parent_process()) is not None:
        wait([parent.sentinel])
        os._exit(1)


def _sketch(portion: Portion) -> Part:
    return _sketchers[0].part(portion)

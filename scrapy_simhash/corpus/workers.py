"""Make the sketches of a corpus, in several processes."""

from __future__ import annotations

import logging
import os
import pickle
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread
from typing import Any, NamedTuple

from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import MOST_PROBLEMS, UNREADABLE, Part, make_part
from scrapy_simhash.feed.documents import ItemReader, PageReader
from scrapy_simhash.feed.source import Chunk, FeedError, RecordError, Source
from scrapy_simhash.item.quality import Criterion

logger = logging.getLogger(__name__)

# Portions under way for each process: one that it works on, and one in its queue.
_AHEAD = 2


class Portion(NamedTuple):
    """Records that are sketched together.

    Attributes:
        source: number of their source.
        number: of the first record in the corpus.
        chunk: the records.
    """

    source: int
    number: int
    chunk: Chunk


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

    def part(self, portion: Portion) -> Part:
        """The sketches of some records.

        Raises:
            FeedError: the file has changed, or no item has a field to compare.
        """
        source, chunk = self.sources[portion.source], portion.chunk
        records = list(source.unpacked(chunk.packed))
        if len(records) != chunk.length:
            raise FeedError(f"{source.path} was changed while it was read")
        items, problems = zip(*(_read(source, record) for record in records), strict=True)
        if portion.number == 0 and isinstance(self.reader, ItemReader):
            self.reader.check([item for item in items if item is not None])
        documents = [
            None if item is None else self.reader.document(item, number)
            for number, item in enumerate(items, portion.number)
        ]
        part = make_part(documents, self.plan, self.criteria)
        part.rows["compared_by"][[item is None for item in items]] = UNREADABLE
        return part._replace(problems=[one for one in problems if one][:MOST_PROBLEMS])


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


def sketch_all(sketcher: Sketcher, portions: Iterable[Portion], processes: int) -> Generator[Part]:
    """Sketch records, in their order.

    Raises:
        FeedError: as `Sketcher.part`.
    """
    portions = iter(portions)
    first = deque(islice(portions, 2))
    is_single = processes == 1 or len(first) < 2
    # A portion may be large: it is not held any longer than needed.
    portions = chain((first.popleft() for _ in range(len(first))), portions)
    if is_single or not _can_be_sent(sketcher):
        yield from map(sketcher.part, portions)
        return
    # Not fork: this process may have threads.
    context = get_context("forkserver" if os.name == "posix" else "spawn")
    if os.name == "posix":
        # The server imports what the processes need, the program that runs included.
        context.set_forkserver_preload(["__main__", __name__])
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(processes, context, _begin, (sketcher,)) as pool:
        running: deque[Any] = deque()
        try:
            for portion in portions:
                running.append(pool.submit(_sketch, portion))
                if len(running) > _AHEAD * processes:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()


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

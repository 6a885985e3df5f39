"""Make the sketches of a corpus, in several processes."""

from __future__ import annotations

import logging
import os
import pickle
from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread
from time import thread_time
from typing import Any

from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import MOST_PROBLEMS, UNREADABLE, Sketches, make_sketches
from scrapy_simhash.feed.documents import ItemReader
from scrapy_simhash.feed.source import FeedRecord, RecordError, Source

logger = logging.getLogger(__name__)

#: What keeps two items apart that one page lists under addresses of their own.
ADDRESS = "(address)"

# Portions under way for each process: one that it works on, and one in its queue.
_AHEAD = 3

# CPU seconds of this process after which it starts others, by default.
_PATIENCE = 3

#: Records that are sketched together: the number of their source, that of the first one in the
#: corpus, and the records.
Portion = tuple[int, int, list[FeedRecord]]


@dataclass(frozen=True, slots=True)
class Sketcher:
    """Makes sketches of records. It is sent to each process once.

    Attributes:
        sources: the files of the records.
        reader: makes documents of items.
        plan: how documents are compared.
    """

    sources: Sequence[Source]
    reader: ItemReader
    plan: Plan

    def part(self, portion: Portion) -> Sketches:
        """The sketches of some records."""
        source, number, chunk = portion
        items, problems = list[Any](), list[str]()
        for record in chunk:
            try:
                items.append(self.sources[source].item(record))
            except RecordError as error:
                items.append(None)
                problems.append(str(error))
        documents = self.reader.documents(items, range(number, number + len(items)))
        part = make_sketches(documents, self.plan)
        part.rows["compared_by"][[item is None for item in items]] = UNREADABLE
        part.problems = problems[:MOST_PROBLEMS]
        return part

    def values(self, source: Source, record: FeedRecord) -> Mapping[str, Any]:
        """The short values of an item."""
        document = self.reader.document(source.item(record), 0)
        if document is None or document.facts is None:
            return {}
        # The key of a listed item ends in its own address.
        is_listed = document.listing != 0
        own = {ADDRESS: document.key.rpartition(" ")[2]} if is_listed else {}
        return {**document.facts.shown, **own}


def usable_cores() -> int:
    """How many cores this process may use: a container may be limited to some of them."""
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


def sketch_all(
    sketcher: Sketcher, portions: Iterable[Portion], workers: int | None
) -> Generator[Sketches]:
    """Sketch records, in their order, in `workers` processes; by default one for each core.

    These are not started for what this process does in a few seconds.
    """
    portions, began = iter(portions), thread_time()
    for part in map(sketcher.part, portions):
        yield part
        if workers is not None or thread_time() - began >= _PATIENCE:
            break
    else:
        return
    workers = workers or usable_cores()
    pool = _processes(sketcher, workers) if workers > 1 else None
    yield from map(sketcher.part, portions) if pool is None else _ahead(pool, portions, workers)


def _ahead(
    pool: ProcessPoolExecutor, portions: Iterable[Portion], workers: int
) -> Generator[Sketches]:
    running: deque[Future[Sketches]] = deque()
    with pool:
        try:
            for portion in portions:
                running.append(pool.submit(_sketch, portion))
                if len(running) > _AHEAD * workers:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def _processes(sketcher: Sketcher, workers: int) -> ProcessPoolExecutor | None:
    """Processes, unless they can't be sent a user's own scheme, or the system has no semaphores."""
    # Not fork: this process may have threads.
    context = get_context("forkserver" if os.name == "posix" else "spawn")
    if os.name == "posix":
        # The server imports what the processes need, the program that runs included.
        context.set_forkserver_preload(["__main__", __name__])
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    unsent = (pickle.PicklingError, TypeError, AttributeError)
    try:
        pickle.dumps(sketcher)
        return ProcessPoolExecutor(workers, context, _begin, (sketcher,))
    except (*unsent, OSError, ImportError, NotImplementedError) as error:
        logger.warning("Only one process is used, because no others can be: %s", error)
        return None


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


def _sketch(portion: Portion) -> Sketches:
    return _sketchers[0].part(portion)

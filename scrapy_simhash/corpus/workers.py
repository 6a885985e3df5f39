"""The sketches of a corpus, made by several processes."""

from __future__ import annotations

import logging
import os
import pickle
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.corpus.sketches import make_part

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from scrapy_simhash.corpus.plan import Plan
    from scrapy_simhash.corpus.sketches import Part
    from scrapy_simhash.feed.documents import ItemReader, PageReader
    from scrapy_simhash.feed.source import Source
    from scrapy_simhash.item.merits import Criterion

__all__ = ["Numbered", "Sketcher", "sketch_all", "usable_cores"]

logger = logging.getLogger(__name__)

# Records, and bytes of them, that are sketched at a time.
_RECORDS, _BYTES = 512, 8 << 20
# Parts on their way for each process: one to work on, one to go on with.
_AHEAD = 2


class Numbered(NamedTuple):
    """A record of one of the sources.

    Attributes:
        source: which of them.
        number: its place among all records.
        record: as the source gives it.
        size: about how many bytes it takes.
    """

    source: int
    number: int
    record: Any
    size: int


class Sketcher:
    """Makes sketches of records. It is sent to each process once.

    Args:
        sources: what the records are of.
        reader: makes documents of what they say.
        plan: what they are compared by.
        criteria: which of them are wanted more.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        reader: ItemReader | PageReader,
        plan: Plan,
        criteria: Sequence[Criterion],
    ) -> None:
        self.plan = plan
        self.criteria = criteria
        self._sources = sources
        self._reader = reader

    def part(self, records: Sequence[Numbered]) -> Part:
        """The sketches of some records.

        Raises:
            FeedError: one of them is no item.
        """
        documents = [
            self._reader.document(self._sources[one.source].item(one.record), one.number)
            for one in records
        ]
        return make_part(documents, self.plan, self.criteria)


def usable_cores() -> int:
    """How many processes can work at the same time."""
    # A container may use fewer than the machine has.
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


def sketch_all(sketcher: Sketcher, records: Iterable[Numbered], processes: int) -> Generator[Part]:
    """Sketch records, in their order.

    Raises:
        FeedError: one of them is no item.
    """
    parts = _parts(iter(records))
    first = list(islice(parts, 2))
    if processes == 1 or len(first) < 2 or not _can_be_sent(sketcher):
        for part in chain(first, parts):
            yield sketcher.part(part)
        return
    # Threads may be at work here, so nothing is forked.
    context = get_context("forkserver" if os.name == "posix" else "spawn")
    with ProcessPoolExecutor(processes, context, _begin, (sketcher,)) as pool:
        running: deque[Any] = deque()
        try:
            for part in chain(first, parts):
                running.append(pool.submit(_sketch, part))
                if len(running) > _AHEAD * processes:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def _parts(records: Iterator[Numbered]) -> Iterator[list[Numbered]]:
    part: list[Numbered] = []
    size = 0
    for record in records:
        part.append(record)
        size += record.size
        if len(part) == _RECORDS or size >= _BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _can_be_sent(sketcher: Sketcher) -> bool:
    """Whether other processes can have it: a scheme of somebody's own may be what can't."""
    try:
        pickle.dumps(sketcher)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        logger.warning("All is done by one process: the scheme can't be sent to others (%s)", error)
        return False
    return True


_sketchers: list[Sketcher] = []


def _begin(sketcher: Sketcher) -> None:
    """In a process that sketches."""
    _sketchers.append(sketcher)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Whoever is killed stops nobody; a process that waits for work would wait for ever."""
    if (parent := parent_process()) is not None:
        wait([parent.sentinel])
        os._exit(1)


def _sketch(records: Sequence[Numbered]) -> Part:
    return _sketchers[0].part(records)

"""The sketches of a corpus, made by several processes."""

from __future__ import annotations

import logging
import os
import pickle
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.corpus.sketches import make_part
from scrapy_simhash.corpus.stored import ShingleFile
from scrapy_simhash.feed.errors import FeedError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from pathlib import Path

    from scrapy_simhash.corpus.plan import Plan
    from scrapy_simhash.corpus.stored import Part, Stored
    from scrapy_simhash.feed.chunks import Chunk
    from scrapy_simhash.feed.documents import ItemReader, PageReader
    from scrapy_simhash.feed.source import Source
    from scrapy_simhash.item.quality import Criterion

__all__ = ["Portion", "Sketcher", "sketch_all", "usable_cores"]

logger = logging.getLogger(__name__)

# Portions on their way for each process: one to work on, one to go on with.
_AHEAD = 2


class Portion(NamedTuple):
    """Records that are sketched at a time.

    Attributes:
        source: of which of the sources.
        number: the place of the first one among all records.
        chunk: the records, as the source gives them.
        done: how many of them are sketched already.
    """

    source: int
    number: int
    chunk: Chunk
    done: int


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

    def part(self, portion: Portion) -> Part:
        """The sketches of some records.

        Raises:
            FeedError: one of them is no item, or they are not there any more.
        """
        source, chunk = self._sources[portion.source], portion.chunk
        records = list(source.unpacked(chunk.packed))
        if len(records) != chunk.length:
            raise FeedError(f"{source.path} was changed while it was read")
        documents = [
            self._reader.document(source.item(records[number]), portion.number + number)
            for number in range(portion.done, chunk.length)
        ]
        return make_part(documents, self.plan, self.criteria)


def usable_cores() -> int:
    """How many processes can work at the same time."""
    # A container may use fewer than the machine has.
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


def sketch_all(
    sketcher: Sketcher, portions: Iterable[Portion], processes: int, folder: Path
) -> Generator[Stored]:
    """Sketch records, in their order; their shingles go to files in a folder.

    Raises:
        FeedError: one of them is no item.
    """
    portions = iter(portions)
    first = list(islice(portions, 2))
    portions = chain(first, portions)
    if processes == 1 or len(first) < 2 or not _can_be_sent(sketcher):
        with closing(ShingleFile(folder)) as file:
            for portion in portions:
                yield file.store(sketcher.part(portion))
        return
    # Threads may be at work here, so nothing is forked.
    context = get_context("forkserver" if os.name == "posix" else "spawn")
    with ProcessPoolExecutor(processes, context, _begin, (sketcher, folder)) as pool:
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
    """Whether other processes can have it: a scheme of somebody's own may be what can't."""
    try:
        pickle.dumps(sketcher)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        logger.warning("All is done by one process: the scheme can't be sent to others (%s)", error)
        return False
    return True


# In a process that sketches: what it has been sent, and the file that it writes to.
_tools: list[tuple[Sketcher, ShingleFile]] = []


def _begin(sketcher: Sketcher, folder: Path) -> None:
    _tools.append((sketcher, ShingleFile(folder)))
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Whoever is killed stops nobody; a process that waits for work would wait for ever."""
    if (parent := parent_process()) is not None:
        wait([parent.sentinel])
        os._exit(1)


def _sketch(portion: Portion) -> Stored:
    sketcher, file = _tools[0]
    return file.store(sketcher.part(portion))

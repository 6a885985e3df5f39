"""A database as a crawl uses it: one run, and an index for each namespace."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Headers
from sqlalchemy import func, select

from scrapy_simhash.crawl.scrapy_internals import spider_arguments
from scrapy_simhash.crawl.settings import DAY, Settings
from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.retries import Liveness
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import IndexMismatch, IndexUnavailable, IndexUnusable, NamespaceGone
from scrapy_simhash.index import upkeep
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.missing import find_missing
from scrapy_simhash.index.queries import is_orphan
from scrapy_simhash.index.runs import Run, is_complete
from scrapy_simhash.index.verdict import LeftOut, Verdict

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Figures:
    """What has been done; written by the database thread, read by any."""

    batches: int = 0
    seconds: float = 0.0
    seconds_max: float = 0.0
    run: int | None = None
    secret: bytes | None = field(default=None, repr=False)
    sizes: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)  # by the name of a stat
    liveness: Liveness = field(default_factory=Liveness)


def connect(
    crawler: Crawler, settings: Settings, arguments: str, liveness: Liveness
) -> CrawlDatabase:
    """Open the database of a crawl; `arguments` is what :func:`arguments_of` returns."""
    spider = crawler.spider
    asked = getattr(spider, "simhash_reset", None)
    return CrawlDatabase(
        settings,
        liveness,
        spider=spider.name if spider else "",
        job=str(crawler.settings.get("JOBDIR") or ""),
        arguments=arguments,
        reset=settings.reset if asked is None else asked in {True, "1", "True", "true"},
    )


def arguments_of(crawler: Crawler) -> str:
    """A hash of what a spider may follow, and in which language: its arguments, and limits.

    Arguments are those given with -a, or to a runner: what else the spider has may be of one crawl,
    such as its time. Called while the crawler is starting.
    """
    spider, limits = crawler.spider, ("DEPTH_LIMIT", "URLLENGTH_LIMIT")
    given, named = spider_arguments(crawler) or ((), {})
    plain = {
        "arguments": [_plain(one) for one in given],
        **{f"-a {name}": _plain(named[name]) for name in sorted(named)},
        "allowed_domains": sorted(getattr(spider, "allowed_domains", None) or ()),
        **{name: crawler.settings.getint(name) for name in limits},
    }
    headers = Headers(crawler.settings.getdict("DEFAULT_REQUEST_HEADERS"))
    plain["language"] = str(headers.get("Accept-Language"))
    return blake2b(repr(plain).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _plain(value: Any) -> str:
    """An argument as text; of one whose text may differ from process to process, its class."""
    if isinstance(value, (list, tuple)):
        return str([_plain(one) for one in value])
    is_plain = value is None or isinstance(value, (str, int, float))
    return repr(value) if is_plain else type(value).__name__


class CrawlDatabase:
    """An open database with its run; `who` is for :meth:`Run.open`.

    With `reset` each namespace is emptied when it is opened. Every method may raise
    IndexUnavailable.
    """

    def __init__(self, settings: Settings, liveness: Liveness, *, reset: bool, **who: str) -> None:
        self._settings = settings
        self._reset = reset
        self._liveness = liveness
        self._who = who
        self._is_lost = False
        self._recovered = 0
        self._open(settings.secret)

    def _open(self, secret: str | bytes | None) -> None:
        settings = self._settings
        database = Database(
            settings.locate_database(make_folder=True),
            options=settings.engine_options,
            # Its own error comes before those who wait give up.
            timeout=0.8 * settings.timeout,
            liveness=self._liveness,
            secret=secret,
        )
        try:
            self.run = Run.open(database, **self._who, on_crash=settings.on_crash)
        except BaseException:
            database.close()
            raise
        self._database = database
        self._indexes: dict[str, Index] = {}
        #: The secret of the database.
        self.secret = database.secret
        #: Whether the file is no longer where it was opened.
        self.is_gone = database.is_gone
        #: Closes the database, but not the run.
        self.close = database.close

    def reopen(self) -> None:
        """Open the file that is there now, with a new run, and with the secret of before."""
        if not self._is_lost:
            self._is_lost = True
            logger.error(
                "The file of the index was deleted or moved while the crawl runs. A new one is "
                "opened: items seen before are unknown to it, and their duplicates are stored"
            )
            self._recovered += self.run.recovery.claims
            self.run.abandon()
            self.close()
        try:
            self._open(self.secret)
        except IndexMismatch as error:
            raise IndexUnusable(str(error)) from error
        self._is_lost = False

    def is_outdated(self, argument: object) -> bool:
        """Whether this has numbers of claims of a file that is gone."""
        verdict = argument.verdict if isinstance(argument, LeftOut) else argument
        process = verdict.process if isinstance(verdict, Verdict) else None
        return process not in {None, self.run.process}

    def index(self, namespace: str) -> Index:
        """The index of a namespace, opened on first use."""
        if namespace not in self._indexes:
            if self._reset:
                with self._database.durable():
                    upkeep.reset_namespace(self._database, namespace)
            index = self._settings.open_index(self._database, namespace, self.run)
            if self._settings.expire is not None:
                before = self._database.now() - self._settings.expire * DAY
                upkeep.expire(index, before)
            self._indexes[namespace] = index
        return self._indexes[namespace]

    def size(self, name: str) -> int:
        """How many claims a namespace has; it is neither created nor reset."""
        row = schema.namespaces.c
        number = select(row.id).where(row.name == name)
        exists = self._database.read(lambda connection: connection.scalar(number)) is not None
        return len(self.index(name)) if exists and not self._reset else 0

    def probe(self) -> None:
        """Write where the crawl writes; returns when that is possible."""
        # First: the database may not know this run any more.
        self.run.send_heartbeat()
        self.run.recovery.look()
        for index in self._indexes.values():
            # Raised after a reset by somebody else; the index handles that when it is used.
            with suppress(NamespaceGone):
                self._database.transact(partial(lock, namespace=index.id))

    def count(self, figures: Figures) -> None:
        """Count what this run has done, and what its namespaces hold."""
        figures.sizes = {namespace: len(index) for namespace, index in self._indexes.items()}
        counts = Counter[str]()
        for index in self._indexes.values():
            counts.update(index.lookup.counts)
        row = schema.sightings.c
        # Those that were only reported are stored.
        orphans = (row.run == self.run.id, row.action.in_(("drop", "same")), is_orphan())
        count = select(func.count()).select_from(schema.sightings).where(*orphans)
        counts["orphans"] = self._database.read(lambda connection: connection.scalar(count)) or 0
        counts["claims/recovered"] = self._recovered + self.run.recovery.claims
        figures.counts = counts

    def close_run(self, *, settled: bool, gone: Collection[int] = (), **more: Any) -> Counter[str]:
        """Close the run, and find what is missing or gone; returns how many of each.

        `gone` has the hashes of the identity keys of pages that the site says are gone; the rest is
        for :meth:`Run.close`.
        """
        run = self.run
        run.close(settled=settled, **more)
        absent = Counter[str]()
        # The run is closed. What fails now is found out by a later one.
        with suppress(IndexUnavailable):
            if settled:
                is_whole = self._database.read(partial(is_complete, run=run.id))
                for index in self._indexes.values():
                    absent += find_missing(index, run, set(gone), everything=is_whole)
        return absent

"""A database as a crawl uses it: one run, and an index for each namespace."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from hashlib import blake2b
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from sqlalchemy import func, select

from scrapy_simhash.crawl.gathering import Job
from scrapy_simhash.crawl.settings import DAY, Settings
from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.lock_wait import Liveness
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import (
    IndexUnavailable,
    IndexUnusable,
    NamespaceGone,
    SchemaMismatch,
    SchemeMismatch,
)
from scrapy_simhash.index.epochs import is_complete
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.invalidated import is_orphan
from scrapy_simhash.index.journal import Gone, find_removed
from scrapy_simhash.index.learned import LearnedField, read_learned
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.upkeep import (
    delete_outdated,
    expire_changes,
    expire_claims,
    expire_duplicates,
    reset_namespace,
)
from scrapy_simhash.index.verdict import Claim
from scrapy_simhash.item.urls import load_sites

logger = logging.getLogger(__name__)


def connect(crawler: Crawler, settings: Settings, liveness: Liveness) -> CrawlDatabase:
    """Open the database of a crawl; raises as :class:`CrawlDatabase` does."""
    load_sites()
    spider = crawler.spider
    asked = getattr(spider, "simhash_reset", None)
    return CrawlDatabase(
        settings,
        liveness,
        spider=spider.name if spider else "",
        job=str(crawler.settings.get("JOBDIR") or ""),
        arguments=_arguments(spider),
        reset=settings.reset if asked is None else asked in {True, "1", "True", "true"},
    )


def _arguments(spider: Spider | None) -> str:
    """A hash of the attributes of a spider that may be its arguments."""
    plain = {
        name: value
        for name, value in sorted(vars(spider).items() if spider else ())
        if isinstance(value, (str, int, float, list, tuple)) and not name.startswith("_")
    }
    return blake2b(repr(plain).encode("utf-8", "replace"), digest_size=16).hexdigest()


class CrawlDatabase:
    """An open database with its run.

    Args:
        settings: of the crawl.
        liveness: where it is noted that the database works.
        spider: its name, for the run.
        job, arguments: see :meth:`Run.open`.
        reset: empty each namespace when it is opened.

    Raises:
        IndexUnavailable, SchemaMismatch, SchemeMismatch, ValueError: see :class:`Database`.
    """

    def __init__(
        self,
        settings: Settings,
        liveness: Liveness,
        *,
        spider: str,
        job: str,
        arguments: str,
        reset: bool,
    ) -> None:
        self._settings = settings
        self._reset = reset
        self._liveness = liveness
        self._who = {"spider": spider, "job": job, "arguments": arguments}
        self._valid_since = 0.0
        self._is_lost = False
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
        self._reported = 0

    def is_gone(self) -> bool:
        """Whether the file is no longer where it was opened; see :meth:`reopen`."""
        return self._database.is_gone()

    def reopen(self) -> None:
        """Open what is there now, with a new run, and with the secret of before.

        Raises:
            IndexUnavailable: that was not possible; IndexUnusable, it will never be.
        """
        if not self._is_lost:
            self._is_lost = True
            logger.error(
                "The file of the index was deleted or moved while the crawl runs. A new one is "
                "opened: items seen before are unknown to it, and their duplicates are stored"
            )
            self.run.abandon()
            self._database.close()
        try:
            self._open(self._database.secret)
        except (SchemaMismatch, SchemeMismatch) as error:
            raise IndexUnusable(str(error)) from error
        self._is_lost = False
        self._valid_since = self._database.now()

    def is_outdated(self, job: Job) -> bool:
        """Whether a job is the outcome of a claim in a file that is gone."""
        return isinstance(job.value, Claim) and job.value.row.created < self._valid_since

    @property
    def secret(self) -> bytes:
        """The secret of the database, see :class:`Database`."""
        return self._database.secret

    def index(self, namespace: str) -> Index:
        """The index of a namespace, opened on first use; raises as :class:`Index` does."""
        if namespace not in self._indexes:
            if self._reset:
                with self._database.durable():
                    reset_namespace(self._database, namespace)
            index = self._settings.open_index(self._database, namespace, self.run)
            if self._settings.expire is not None:
                before = self._database.now() - self._settings.expire * DAY
                expire_claims(index, before)
                expire_duplicates(index, before)
                expire_changes(index, before)
            self._indexes[namespace] = index
        return self._indexes[namespace]

    def size(self, name: str) -> int:
        """How many claims a namespace has; it is neither created nor reset.

        Raises:
            IndexUnavailable, SchemeMismatch: as :meth:`index`, if it exists.
        """
        row = schema.namespaces.c
        number = select(row.id).where(row.name == name)
        exists = self._database.read(lambda connection: connection.scalar(number)) is not None
        return len(self.index(name)) if exists and not self._reset else 0

    def send_heartbeat(self) -> int:
        """If that is due, send a heartbeat and look for runs that have crashed.

        Nothing should be the duplicate of a claim whose item will never be stored.

        Returns:
            how many of their claims were deleted since the last call.

        Raises:
            IndexUnavailable: the database did not answer in time.
        """
        self.run.send_heartbeat()
        count = self.run.recovery.claims - self._reported
        self._reported += count
        return count

    def tidy(self, seconds: float = 0.0) -> bool:
        """Delete some of the claims of crashed runs; see :meth:`Recovery.clear`."""
        return self.run.recovery.clear(seconds)

    def probe(self) -> None:
        """Write where the crawl writes; returns when that is possible.

        Raises:
            IndexUnavailable: it is not.
        """
        # First: the database may not know this run any more.
        self.run.send_heartbeat()
        self.run.recovery.look()
        for index in self._indexes.values():
            # Raised after a reset by somebody else; the index handles that when it is used.
            with suppress(NamespaceGone):
                self._database.transact(partial(lock, namespace=index.id), index.id)

    def sizes(self) -> dict[str, int]:
        """The number of claims in each namespace of this crawl."""
        return {namespace: len(index) for namespace, index in self._indexes.items()}

    def orphans(self) -> int:
        """How many items this run dropped whose original is not stored after all."""
        row = schema.duplicates.c
        # Those that were only reported are stored.
        mine = (row.run == self.run.id, row.action != "report", is_orphan())
        count = select(func.count()).select_from(schema.duplicates).where(*mine)
        return self._database.read(lambda connection: connection.scalar(count)) or 0

    def learned(self) -> list[LearnedField]:
        """The fields that are not compared in the namespaces of this crawl."""
        indexes = self._indexes.values() if self._settings.rule.learn else ()
        return [one for index in indexes for one in read_learned(self._database, index.id)]

    def counts(self) -> Counter[str]:
        """What the indexes have counted, by the fields of :class:`~scrapy_simhash.index.Counts`."""
        counts = Counter[str]()
        for index in self._indexes.values():
            counts.update(asdict(index.lookup.counts))
        return counts

    def close_run(
        self,
        *,
        settled: bool,
        reason: str,
        complete: bool = False,
        gone: Collection[int] = (),
        stats: Mapping[str, Any] | None = None,
    ) -> int:
        """Close the run, delete what it has replaced, and find what is gone.

        Args:
            settled: see :meth:`Run.close`.
            reason: as above.
            complete: as above.
            stats: as above.
            gone: the hashes of the identity keys of pages that the site says are gone.

        Returns:
            how many things were found to be gone.
        """
        run = self.run
        run.close(settled=settled, reason=reason, complete=complete, stats=stats)
        removed = 0
        # The run is closed. What fails now is found out by a later one.
        with suppress(IndexUnavailable):
            if settled and self._settings.known:
                for index in self._indexes.values():
                    delete_outdated(index)
                is_whole = self._database.read(partial(is_complete, run=run.id))
                missing = Gone(run, is_whole, gone)
                for index in self._indexes.values():
                    removed += find_removed(self._database, index.id, missing)
        return removed

    def close(self) -> None:
        """Close the database, but not the run."""
        self._database.close()

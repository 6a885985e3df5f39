"""A database as a crawl uses it: one run, and an index for each namespace it meets."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from scrapy_simhash.crawl.settings import DAY
from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import NamespaceGone
from scrapy_simhash.index.invalidated import is_orphan
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.upkeep import expire_claims, expire_duplicates, reset_namespace
from scrapy_simhash.item.urls import load_sites

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.settings import Settings
    from scrapy_simhash.db.lock_wait import Liveness
    from scrapy_simhash.index.index import Index

__all__ = ["CrawlDatabase", "connect"]


def connect(crawler: Crawler, settings: Settings, signs: Liveness) -> CrawlDatabase:
    """Open the database of a crawl; raises as :class:`CrawlDatabase` does."""
    load_sites()
    spider = crawler.spider
    return CrawlDatabase(
        settings,
        signs,
        spider=spider.name if spider else "",
        job=str(crawler.settings.get("JOBDIR") or ""),
        reset=_is_reset(crawler, settings),
    )


def _is_reset(crawler: Crawler, settings: Settings) -> bool:
    asked = getattr(crawler.spider, "simhash_reset", None)
    return settings.reset if asked is None else asked in {True, "1", "True", "true"}


class CrawlDatabase:
    """An open database with its run.

    Args:
        settings: of the crawl.
        signs: where it is noted that the database works.
        spider: its name, for the run.
        job: what tells this crawl from others of the spider.
        reset: empty each namespace when it is opened.

    Raises:
        IndexUnavailable, SchemaMismatch, SchemeMismatch, ValueError: see :class:`Database`.
    """

    def __init__(
        self, settings: Settings, signs: Liveness, *, spider: str, job: str, reset: bool
    ) -> None:
        self._settings = settings
        self._reset = reset
        self._database = Database(
            settings.locate_database(make_folder=True),
            options=settings.engine_options,
            # Its own words come before the one who waits gives up.
            timeout=0.8 * settings.timeout,
            signs=signs,
            secret=settings.secret,
        )
        self._indexes: dict[str, Index] = {}
        self._told = 0
        try:
            self.run = Run.open(self._database, spider=spider, job=job, on_crash=settings.on_crash)
        except BaseException:
            self._database.close()
            raise

    @property
    def secret(self) -> bytes:
        """That of the database, see :class:`Database`."""
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
            self._indexes[namespace] = index
        return self._indexes[namespace]

    def size(self, name: str) -> int:
        """How many claims a namespace has at the start of a crawl; it is not made, or emptied.

        Raises:
            IndexUnavailable, SchemeMismatch: as :meth:`index`, if it is there.
        """
        row = schema.namespaces.c
        number = select(row.id).where(row.name == name)
        is_there = self._database.read(lambda connection: connection.scalar(number)) is not None
        return len(self.index(name)) if is_there and not self._reset else 0

    def beat(self) -> int:
        """If that is due, give a sign of life, and look for runs that died meanwhile.

        Nobody should be the duplicate of what they claimed, and will never store.

        Returns:
            how many of their claims were deleted since this was asked last.

        Raises:
            IndexUnavailable: the database did not answer in time.
        """
        self.run.beat()
        count = self.run.recovery.claims - self._told
        self._told += count
        return count

    def tidy(self, seconds: float = 0.0) -> bool:
        """Delete some of what dead runs left; see :meth:`Recovery.clear`."""
        return self.run.recovery.clear(seconds)

    def probe(self) -> None:
        """Write where the crawl writes: returns when that is possible.

        Raises:
            IndexUnavailable: it is not.
        """
        self.run.recovery.look()
        for index in self._indexes.values():
            # One that was reset meanwhile begins anew when it is used.
            with suppress(NamespaceGone):
                self._database.transact(partial(lock, namespace=index.id), index.id)

    def sizes(self) -> dict[str, int]:
        """The number of claims in each namespace that was used."""
        return {namespace: len(index) for namespace, index in self._indexes.items()}

    def orphans(self) -> int:
        """How many items this run dropped that nothing stands for any more."""
        row = schema.duplicates.c
        # What was only reported was stored as well.
        mine = (row.run == self.run.id, row.action != "report", is_orphan())
        count = select(func.count()).select_from(schema.duplicates).where(*mine)
        return self._database.read(lambda connection: connection.scalar(count)) or 0

    def counts(self) -> Counter[str]:
        """What the indexes have met, by the names of :class:`~scrapy_simhash.index.Counts`."""
        counts = Counter[str]()
        for index in self._indexes.values():
            counts.update(asdict(index.lookup.counts))
        return counts

    def close(self) -> None:
        """Close the database; the run is closed by whoever knows how it ended."""
        self._database.close()

"""A database as a crawl uses it: one run, and an index for each namespace it meets."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.upkeep import expire_claims, expire_duplicates, reset_namespace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from sqlalchemy.engine import URL

__all__ = ["CrawlDatabase"]


class CrawlDatabase:
    """An open database with its run.

    Args:
        url: of the database.
        engine_options: for :func:`sqlalchemy.create_engine`.
        timeout: seconds until a transaction is given up.
        spider: its name, for the run.
        job: what tells this crawl from others of the spider.
        on_crash: see :meth:`Run.open`.
        reset: empty each namespace when it is opened.
        expire: days after which a claim that was not met again is forgotten; None for never.
        index_options: for each :class:`Index`.

    Raises:
        IndexUnavailable, SchemaMismatch, ValueError: see :class:`Database`.
    """

    def __init__(
        self,
        url: str | URL,
        *,
        engine_options: Mapping[str, Any],
        timeout: float,
        spider: str,
        job: str,
        on_crash: Literal["release", "keep"],
        reset: bool,
        expire: float | None,
        **index_options: Any,
    ) -> None:
        self._database = Database(url, options=engine_options, timeout=timeout)
        self._on_crash = on_crash
        self._reset = reset
        self._expire = expire
        self._index_options = index_options
        self._indexes: dict[str, Index] = {}
        try:
            self.run = Run.open(self._database, spider=spider, job=job, on_crash=on_crash)
        except BaseException:
            self._database.close()
            raise

    def index(self, namespace: str) -> Index:
        """The index of a namespace, opened on first use; raises as :class:`Index` does."""
        if namespace not in self._indexes:
            if self._reset:
                reset_namespace(self._database, namespace)
            index = Index(self._database, namespace=namespace, run=self.run, **self._index_options)
            if self._expire is not None:
                before = self._database.now() - self._expire * 86400
                expire_claims(index, before)
                expire_duplicates(index, before)
            self._indexes[namespace] = index
        return self._indexes[namespace]

    def beat(self) -> int:
        """Give a sign of life, and see to the runs that died meanwhile.

        Nobody should be the duplicate of what they claimed, and will never store.

        Returns:
            how many of their claims were released.

        Raises:
            IndexUnavailable: the database did not answer in time.
        """
        self.run.beat()
        return self.run.recover(self._on_crash).claims

    def sizes(self) -> dict[str, int]:
        """The number of claims in each namespace that was used."""
        return {namespace: len(index) for namespace, index in self._indexes.items()}

    def counts(self) -> Counter[str]:
        """What the indexes have met, by the names of :class:`~scrapy_simhash.index.Counts`."""
        counts = Counter[str]()
        for index in self._indexes.values():
            counts.update(asdict(index.lookup.counts))
        return counts

    def close(self) -> None:
        """Close the database; the run is closed by whoever knows how it ended."""
        self._database.close()

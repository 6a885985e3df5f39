"""The plugin as a judge: pages and items as a crawl makes documents of them, and a real index."""

from __future__ import annotations

from contextlib import closing
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from scrapy.http import HtmlResponse, Request
from scrapy.utils.test import get_crawler

from benchmarks.accuracy_parts.visits import Judged
from scrapy_simhash.crawl.document import DocumentMaker
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.crawl.tracking import Page
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import BATCH
from tests.tracked import document_of, tracked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from benchmarks.accuracy_parts.visits import Visit
    from scrapy_simhash.index.index import Index

__all__ = ["PLUGIN", "Plugin"]


class Plugin(NamedTuple):
    """The whole rule: what is compared, facts, the rest of the page, visits of the site.

    Attributes:
        name: in tables.
        settings: of the crawl, beside the defaults.
        stores_items: whether the crawl stores the items that the visits have, or else nothing but
            the address of each page.
    """

    name: str
    settings: Mapping[str, Any]
    stores_items: bool = False

    def judge(self, visits: Sequence[Visit]) -> list[Judged]:
        """Judge visits in their order; what is kept is stored."""
        # So that a crawl is compared with those before.
        given = {**self.settings, "SIMHASH_KNOWN": "drop", "TELNETCONSOLE_ENABLED": False}
        crawler = get_crawler(settings_dict=given)
        settings = Settings.read(crawler.settings)
        judged: list[Judged] = []
        # With a drawn one the figures would differ a little from run to run.
        with closing(Database("sqlite://", secret="benchmark of accuracy")) as database:
            maker = DocumentMaker(settings, CrawlStats(crawler.stats), lambda: database.secret)
            for _, crawl in groupby(enumerate(visits), lambda numbered: numbered[1].round):
                # Each crawl has a run of its own, so that the next one comes to claims of before.
                with settings.open_index(database, "benchmark") as index:
                    for batch in _batches(list(crawl)):
                        judged += self._batch(batch, maker, index)
        return judged

    def _batch(
        self, batch: Sequence[tuple[int, Visit]], maker: DocumentMaker, index: Index
    ) -> Iterator[Judged]:
        made = [
            document_of(maker, _page(number, visit), self._item(visit)) for number, visit in batch
        ]
        documents = [one for one in made if not isinstance(one, str)]
        verdicts = index.execute(claims=documents)
        index.execute(confirm=verdicts)
        answers = iter(verdicts)
        for one in made:
            if isinstance(one, str):
                yield Judged(None, f"not compared: {one}")
                continue
            verdict = next(answers)
            if one.reason is not None:
                yield Judged(None, f"not compared: {one.reason}")
                continue
            is_dropped = verdict.kind == "duplicate" and verdict.match is not None
            yield Judged(
                int(verdict.match.key) if is_dropped and verdict.match else None,
                verdict.differs or "",
            )

    def _item(self, visit: Visit) -> Mapping[str, Any]:
        return visit.item if self.stores_items and visit.item else {"url": visit.url}


PLUGIN = (
    Plugin("this, pages", {"SIMHASH_COMPARE": "page"}),
    Plugin("this, pages, facts never", {"SIMHASH_COMPARE": "page", "SIMHASH_FACTS": "never"}),
    Plugin("this, items", {}, stores_items=True),
)


def _page(number: int, visit: Visit) -> Page:
    response = HtmlResponse(visit.url, body=visit.page or b"", request=Request(visit.url))
    return tracked(response, key=str(number), download=number)


def _batches(visits: list[tuple[int, Visit]]) -> Iterator[list[tuple[int, Visit]]]:
    for start in range(0, len(visits), BATCH):
        yield visits[start : start + BATCH]

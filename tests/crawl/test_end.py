"""What the last lines of a crawl advise."""

from __future__ import annotations

from contextlib import closing

from loopback import PageSpider, crawl, in_batch, prose
from scrapy.utils.defer import deferred_f_from_coro_f

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.changes import read_changes
from scrapy_simhash.history.sql import Selection, choose_namespace

PATHS = in_batch(6, 12)


class Sizes(PageSpider):
    """The sizes of one product, each with its price: they have the URL of their page."""

    name = "sizes"
    prices = ("10", "10")

    def parse(self, response):
        for size, price in zip("SL", self.prices, strict=True):
            yield {"url": response.url, "text": prose(1, 80), "size": size, "price": f"€{price}"}


class Dearer(Sizes):
    prices = ("10", "12")


@deferred_f_from_coro_f
async def test_new_entries_that_nothing_identifies_are_counted_in_the_log(settings, urls, caplog):
    caplog.set_level("INFO")
    for spider in (Sizes, Sizes, Dearer):
        assert "SIMHASH_KEY" not in caplog.text
        done = await crawl(spider, settings | {"SIMHASH_KNOWN": "drop"}, urls[:1])
    assert done.stats["unidentified"] == done.stats["changes/missing"] == 1
    assert "1 of the new items: entries of lists without a URL of their own" in caplog.text
    with closing(Database(settings["SIMHASH_DATABASE_URL"])) as database:
        namespace = choose_namespace(database, None)
        told = read_changes(namespace, Selection([3]), ["new", "missing"])
        assert [one.name for one in told] == ["€12, L", "€10, L"]


class Tagged(PageSpider):
    """The link that led to a page tells the campaign; the key is this URL."""

    name = "tagged"
    campaign, price = "a", "10"

    def parse(self, response):
        url = f"{response.url}#utm_source={self.campaign}"
        yield {"url": url, "text": prose(1, 80), "price": f"€{self.price}"}


@deferred_f_from_coro_f
async def test_a_campaign_behind_the_url_of_a_page_is_no_place_on_it(settings, urls):
    given = settings | {"SIMHASH_KNOWN": "drop", "SIMHASH_KEY": "url"}
    for campaign, price, status in (("a", 10, "new"), ("b", 9, "changed"), ("c", 10, "changed")):
        visit = type("Visit", (Tagged,), {"campaign": campaign, "price": price})
        done = await crawl(visit, given, urls[:1])
        assert done.stats[f"changes/{status}"] == len(done.items) == 1

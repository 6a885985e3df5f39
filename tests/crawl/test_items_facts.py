"""What items say besides their text, and the settings that choose what of it counts."""

from __future__ import annotations

import datetime as dt
import time
import uuid

import pytest
from hosts import serve_hosts
from loopback import PageSpider, crawl, critical_lines
from scrapy.utils.defer import deferred_f_from_coro_f
from site_pages import layout, paragraphs, story, title
from visits import claims_in, crawl_twice, on_both_engines

NEWS = "http://news.example"
FETCH_TIMES = {
    "iso": lambda: dt.datetime.now(dt.UTC).isoformat(),
    "datetime": lambda: dt.datetime.now(dt.UTC),
    "seconds": time.time,
    "plain": lambda: dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M:%S.%f"),
}


class StorySpider(PageSpider):
    """Stories with a field of its own making."""

    name = "stories"

    def __init__(self, urls=(), field="", make=None, **kwargs):
        super().__init__(urls, **kwargs)
        self.field, self.make = field, make

    def parse(self, response):
        item = {
            "url": response.url,
            "title": response.css("h1::text").get(),
            "text": "\n".join(response.css("main p::text").getall()),
        }
        yield item | {self.field: self.make()} if self.field else item


def pages() -> dict[str, bytes]:
    """Four stories, each of which has a second address."""
    return {
        f"/{section}/{number}": layout("news", title(number), paragraphs(*story(number, 180)))
        for section in ("story", "session")
        for number in range(4)
    }


URLS = [NEWS + path for path in pages()]


@pytest.mark.parametrize("form", FETCH_TIMES)
@deferred_f_from_coro_f
async def test_when_an_item_was_fetched_is_not_part_of_its_content(settings, form):
    with serve_hosts({"news.example": pages()}) as through:
        await crawl_twice(
            StorySpider,
            settings | through,
            URLS,
            field="seen",
            make=FETCH_TIMES[form],
            kept=4,
            but=["seen"],
        )


@on_both_engines
@pytest.mark.parametrize("field", ["uid", "serial"])
@deferred_f_from_coro_f
async def test_a_random_id_and_a_serial_number_keep_copies_and_are_named_until_they_are_ignored(
    settings, field
):
    ranks = iter(range(1, 100))
    make = {"uid": lambda: uuid.uuid4().hex, "serial": lambda: next(ranks)}[field]
    with serve_hosts({"news.example": pages()}) as through:
        first = await crawl(StorySpider, settings | through, URLS, field=field, make=make)
        assert len(first.items) == 8, "kept, because they say something else"
        assert first.stats["kept/other_facts"] == 4
        assert first.stats[f"kept/other_facts/{field}"] == 4
        ignored = settings | through
        ignored |= {"SIMHASH_NAMESPACE": "ignored", "SIMHASH_IGNORE_FIELDS": [field]}
        await crawl_twice(StorySpider, ignored, URLS, field=field, make=make, kept=4, but=[field])


@deferred_f_from_coro_f
async def test_the_report_names_the_field_that_made_the_difference(settings, tmp_path):
    report = tmp_path / "report.html"
    settings = settings | {"SIMHASH_REPORT": str(report)}
    with serve_hosts({"news.example": pages()}) as through:
        await crawl(
            StorySpider,
            settings | through,
            URLS,
            field="correlation_uid",
            make=lambda: uuid.uuid4().hex,
        )
    assert "correlation_uid" in report.read_text("utf-8")


def retitled(site: str) -> dict[str, bytes]:
    """Four stories under the headlines that a section of a site gives them."""
    return {
        f"/{site}/{number}": layout("news", title((site, number)), paragraphs(*story(number, 180)))
        for number in range(4)
    }


@pytest.mark.parametrize(
    ("facts", "one_site", "two_sites"), [("auto", 8, 4), ("always", 8, 8), ("never", 4, 4)]
)
@deferred_f_from_coro_f
async def test_facts_count_on_one_site_everywhere_or_nowhere(settings, facts, one_site, two_sites):
    settings = settings | {"SIMHASH_FACTS": facts}
    hosts = {
        "news.example": retitled("one") | retitled("two"),
        "other.example": retitled("three"),
    }
    urls = [f"http://{host}{path}" for host, found in hosts.items() for path in found]
    with serve_hosts(hosts) as through:
        await crawl_twice(StorySpider, settings | through, urls[:8], kept=one_site)
        apart = settings | through | {"SIMHASH_NAMESPACE": "apart"}
        await crawl_twice(StorySpider, apart, urls[:4] + urls[8:], kept=two_sites)


@deferred_f_from_coro_f
async def test_a_fact_that_the_stored_item_lacks_is_something_new(settings):
    """The reverse is no conflict: the stored item has all the new one's facts."""

    class Spider(StorySpider):
        def parse(self, response):
            for item in super().parse(response):
                yield item | {"prize": "first"} if "session" in response.url else item

    with serve_hosts({"news.example": pages()}) as through:
        await crawl_twice(Spider, settings | through, URLS, kept=8)
        apart = settings | through | {"SIMHASH_NAMESPACE": "apart"}
        await crawl_twice(Spider, apart, URLS[4:] + URLS[:4], kept=4)


class TitleSpider(PageSpider):
    name = "titles"

    def parse(self, response):
        yield {"url": response.url, "title": response.css("h1::text").get()}


@pytest.mark.parametrize(("compare", "kept"), [("auto", 4), ("page", 4), ("item", 8)])
@deferred_f_from_coro_f
async def test_the_page_speaks_for_an_item_without_a_text_unless_only_items_may(
    settings, compare, kept
):
    settings = settings | {"SIMHASH_COMPARE": compare}
    with serve_hosts({"news.example": pages()}) as through:
        await crawl_twice(TitleSpider, settings | through, URLS, kept=kept)


@deferred_f_from_coro_f
async def test_fields_that_are_named_and_no_others_say_what_an_item_is(settings):
    """Neither another title nor the page has a say."""
    settings = settings | {"SIMHASH_FIELDS": ["text"]}
    hosts = {"news.example": retitled("one") | retitled("two")}
    urls = [NEWS + path for path in hosts["news.example"]]
    with serve_hosts(hosts) as through:
        await crawl_twice(StorySpider, settings | through, urls, kept=4)
        named = settings | through | {"SIMHASH_NAMESPACE": "named"}
        await crawl_twice(StorySpider, named | {"SIMHASH_FIELDS": ["title", "text"]}, urls, kept=8)
    assert claims_in(settings) == 12


@pytest.mark.parametrize(
    "wrong",
    [
        {"SIMHASH_COMPARE": "pages"},
        {"SIMHASH_FACTS": "sometimes"},
        {"SIMHASH_IGNORE_FIELDS": 7},
        {"SIMHASH_KEY": 7},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
@deferred_f_from_coro_f
async def test_an_invalid_setting_is_answered_with_its_valid_values(settings, wrong, caplog):
    ((name, value),) = wrong.items()
    await crawl(PageSpider, settings | wrong)
    (line,) = critical_lines(caplog)
    assert f"{name} = {value!r}" in line

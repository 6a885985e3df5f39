"""What is learned of addresses from pages, links and verdicts as they go by, without a crawl."""

from __future__ import annotations

import datetime as dt
import logging
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl import pruner as module
from scrapy_simhash.crawl.pruner import Pruner
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.crawl.tracking import Page
from scrapy_simhash.index.verdict import Claim, Match, Verdict

SITE = "http://a.example"
BUDGET = 3


class Pages:
    """Pages of one site, each of which gives one item, or none."""

    def __init__(self):
        self.asked = []
        engine = SimpleNamespace(spider=True, crawl=self.asked.append)
        collector = MemoryStatsCollector(get_crawler())
        self.stats = CrawlStats(collector)
        self.pruner = Pruner(SimpleNamespace(engine=engine), BUDGET, (), self.stats)
        self.visits = 0

    def page(self, url, **request):
        self.visits += 1
        response = HtmlResponse(url, request=Request(url, **request))
        return Page(response, "default", visit=self.visits)

    def visit(self, url, verdict=None, links=(), **request):
        page = self.page(url, **request)
        self.pruner.opened(page)
        for link in links:
            self.pruner.yielded(page, link)
        self.pruner.ended(page, 0 if verdict is None else 1)
        if verdict is not None:
            self.pruner.judged(page, verdict)

    def count(self, name):
        return self.stats.get(f"prune/{name}")

    def leaves_out(self, url, **request):
        """Whether a link of a page that says nothing else is left out."""
        link = Request(url, **request)
        page = self.page(f"{SITE}/start")
        self.pruner.opened(page)
        self.pruner.yielded(page, link)
        return self.pruner.leaves_out(link)


@pytest.fixture
def pages():
    return Pages()


def new(number):
    return Verdict("unique", claim=Claim(number, {}))


def copy_of(number, url=f"{SITE}/p/0", kind="duplicate"):
    seen = dt.datetime.now(dt.UTC)
    return Verdict(kind, match=Match("key", url, 0, 1.0, seen, number, 1, False))


def learn(pages, part="sid", last=None):
    """As many pages as it takes that repeat what the one without a part of its address gave."""
    pages.visit(f"{SITE}/p/0", new(1))
    for number in range(BUDGET):
        pages.visit(f"{SITE}/p/0?{part}={number}", last or copy_of(1))


def test_a_part_that_repeated_often_enough_is_left_out(pages):
    learn(pages)
    assert pages.leaves_out(f"{SITE}/p/0?sid=99") == ["a.example/p/?sid"]
    assert not pages.leaves_out(f"{SITE}/p/0?page=2")
    assert not pages.leaves_out(f"{SITE}/q/0?sid=99")


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict("failed_open"),
        Verdict("skipped", reason="soft_404"),
        Verdict("skipped", reason="too_short"),
        new(7),
        copy_of(1, "http://mirror.example/p/0"),
        copy_of(2, kind="same"),
    ],
)
def test_what_is_new_not_known_or_of_another_site_speaks_for_nothing(pages, verdict):
    learn(pages, last=verdict)
    assert not pages.leaves_out(f"{SITE}/p/0?sid=99")


def test_an_item_that_did_not_change_is_what_its_page_gave(pages):
    pages.visit(f"{SITE}/p/0", copy_of(1, kind="same"))
    for number in range(BUDGET):
        pages.visit(f"{SITE}/p/0?sid={number}", copy_of(1, kind="same"))
    assert pages.leaves_out(f"{SITE}/p/0?sid=99")


def test_only_what_a_page_links_to_is_left_out(pages):
    learn(pages)
    url = f"{SITE}/p/0?sid=99"
    assert not pages.pruner.leaves_out(Request(url))
    assert not pages.leaves_out(url, method="POST")
    assert not pages.leaves_out(url, meta={"simhash_prune": False})
    assert not pages.leaves_out(url, meta={"retry_times": 1})
    assert not pages.leaves_out("data:,no-address")
    assert pages.leaves_out(url)


def test_a_form_of_a_page_that_repeats_may_lead_to_what_is_new(pages):
    """Nobody knows what it leads to: the page speaks for nothing."""
    pages.visit(f"{SITE}/p/0", new(1))
    for number in range(BUDGET):
        form = Request(f"{SITE}/search", method="POST")
        pages.visit(f"{SITE}/p/0?sid={number}", None, [form])
    assert not pages.leaves_out(f"{SITE}/p/0?sid=99")


def test_the_first_page_that_differs_brings_back_what_was_left_out_for_its_part(pages, caplog):
    caplog.set_level(logging.INFO)
    learn(pages)
    learn(pages, "ref")
    assert pages.leaves_out(f"{SITE}/p/0?sid=99")
    assert pages.leaves_out(f"{SITE}/p/0?ref=99")
    pages.visit(f"{SITE}/p/0?sid=5", new(5))
    assert [request.url for request in pages.asked] == [f"{SITE}/p/0?sid=99"]
    assert (pages.count("given_up"), pages.count("put_back")) == (1, 1)
    assert not pages.leaves_out(f"{SITE}/p/0?sid=100")
    # For the other one nothing was left out that is wrong now.
    pages.visit(f"{SITE}/p/0?sid=6", new(6))
    assert pages.count("given_up") == 1
    pages.pruner.say_what_was_left_out()
    assert "1 for a.example" in caplog.records[-1].getMessage()


def test_what_is_not_stored_is_wanted_again_when_the_crawl_rests(pages):
    learn(pages)
    assert pages.leaves_out(f"{SITE}/p/0?sid=99")
    pages.pruner.spider_idle()
    assert not pages.asked
    for number in range(BUDGET):
        pages.pruner.not_stored(pages.page(f"{SITE}/p/0?sid={number}"))
    pages.pruner.not_stored(pages.page(f"{SITE}/p/0"))
    pages.pruner.not_stored(pages.page(f"{SITE}/p/0", method="POST"))
    pages.pruner.spider_idle()
    assert [request.url for request in pages.asked] == [f"{SITE}/p/0?sid=99"]


def test_nothing_is_asked_of_a_crawl_that_has_ended(pages):
    learn(pages)
    pages.leaves_out(f"{SITE}/p/0?sid=99")
    pages.pruner._crawler.engine.spider = None
    pages.visit(f"{SITE}/p/0?sid=5", new(5))
    assert not pages.asked
    assert pages.count("put_back") == 0


def test_there_is_room_for_so_many(pages, monkeypatch):
    monkeypatch.setattr(module, "_MOST_PAGES", 2)
    monkeypatch.setattr(module, "_MOST_HELD", 1)
    waiting = [pages.page(f"{SITE}/w/{number}") for number in range(3)]
    for page in waiting:
        pages.pruner.opened(page)
    # Of the oldest one nothing is known any more, and nothing comes of what becomes of it.
    pages.pruner.ended(waiting[0], 1)
    pages.pruner.judged(waiting[0], new(1))
    learn(pages)
    assert pages.leaves_out(f"{SITE}/p/0?sid=98")
    assert pages.leaves_out(f"{SITE}/p/0?sid=99")
    pages.visit(f"{SITE}/p/0?sid=5", new(5))
    assert len(pages.asked) == 1


def test_what_came_with_no_request_is_passed_over(pages):
    page = Page(HtmlResponse(f"{SITE}/p/0"), "default", visit=1)
    pages.pruner.opened(page)
    pages.pruner.yielded(page, Request(f"{SITE}/p/1"))
    pages.pruner.ended(page, 0)
    pages.pruner.not_stored(page)
    assert not pages.asked


def test_of_many_parts_the_most_frequent_are_listed(pages, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    pages.pruner.say_what_was_left_out()
    assert not caplog.records
    monkeypatch.setattr(module, "_LISTED", 1)
    for part in ("sid", "ref"):
        learn(pages, part)
        assert pages.leaves_out(f"{SITE}/p/0?{part}=99")
    pages.pruner.say_what_was_left_out()
    said = caplog.records[-1].getMessage()
    assert said.startswith("Requests left out, as they would only repeat what is known: 2.")
    assert said.endswith("and others for 1 more")


def test_a_guess_for_which_nothing_was_left_out_ends_without_a_word(pages, caplog):
    caplog.set_level(logging.INFO)
    learn(pages)
    pages.visit(f"{SITE}/p/0?sid=5", new(5))
    assert not pages.leaves_out(f"{SITE}/p/0?sid=99")
    assert pages.count("given_up") == 0
    assert not caplog.records


def test_what_a_form_gave_says_nothing_of_addresses(pages):
    learn(pages)
    pages.visit(f"{SITE}/p/0?sid=5", new(5), method="POST")
    assert pages.leaves_out(f"{SITE}/p/0?sid=99")


def test_links_that_there_is_no_room_for_may_lead_to_what_is_new(pages, monkeypatch):
    monkeypatch.setattr(module, "_MOST_LINKS", 0)
    pages.visit(f"{SITE}/p/0", new(1), [Request(f"{SITE}/known")])
    for number in range(BUDGET):
        pages.visit(f"{SITE}/p/0?sid={number}", None, [Request(f"{SITE}/known")])
    assert not pages.leaves_out(f"{SITE}/p/0?sid=99")

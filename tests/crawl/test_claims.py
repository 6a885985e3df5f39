"""What happens with a verdict whose match is pending; the worker gives prepared answers."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest
from scrapy.settings import Settings as ScrapySettings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.claims import Claims
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.crawl.tracking import Page, TrackedItem
from scrapy_simhash.db.values import State
from scrapy_simhash.index.verdict import ClaimRow, Document, Match, Verdict
from scrapy_simhash.simhash.scheme import Sketch

RUN, OTHER_RUN = 3, 4


def unique(number):
    return Verdict("unique", claim=ClaimRow(id=number))


def duplicate_of(number, *, pending=True, run=RUN, kind="duplicate"):
    state = State.PENDING if pending else State.CONFIRMED
    row = ClaimRow(id=number, run=run, state=state, key="key", url="http://a.example/")
    return Verdict(kind, match=Match(row, 0, 1.0))


class AnswersInTurn:
    """A worker that gives the next verdict of a list, and notes what it was asked."""

    def __init__(self, *verdicts):
        self.figures = SimpleNamespace(run=RUN)
        self.verdicts = list(verdicts)
        self.asked = []
        self.confirmed = []
        self.released = []

    async def claim(self, namespace, document):
        self.asked.append((namespace, document))
        return self.verdicts.pop(0)

    preview = claim

    def confirm(self, namespace, verdict):
        self.confirmed.append((namespace, verdict.claim.id))

    def release(self, namespace, verdict):
        if verdict.claim is not None:
            self.released.append((namespace, verdict.claim.id))


class Crawl:
    """Claims of a crawl, with what they work on."""

    def __init__(self, *verdicts, **settings):
        self.worker = AnswersInTurn(*verdicts)
        self.collector = MemoryStatsCollector(get_crawler())
        self.answers = 0
        given = {f"SIMHASH_{name.upper()}": value for name, value in settings.items()}
        self.claims = Claims(
            self.worker,
            Settings.read(ScrapySettings({"SIMHASH_TIMEOUT": 60, **given})),
            CrawlStats(self.collector),
            SimpleNamespace(note_answer=self.note_answer),
        )

    def note_answer(self):
        self.answers += 1

    @property
    def stats(self):
        return {
            name.removeprefix("simhash/"): value
            for name, value in self.collector.get_stats().items()
        }

    async def claim(self, item):
        item.document = document()
        item.verdict = await self.claims.claim(item, item.document)
        return item.verdict

    def settle(self, item, stored):
        self.claims.settle(item, stored)
        item.outcome.set_result(stored)


def document():
    return Document(Sketch(1, 9, np.arange(9, dtype=np.uint64)), "key")


def item(namespace="n"):
    return TrackedItem(Page(namespace))


async def started(coroutine):
    """A task that has come as far as it can without others."""
    task = asyncio.ensure_future(coroutine)
    await asyncio.sleep(0.01)
    return task


@deferred_f_from_coro_f
async def test_a_claim_of_the_same_number_in_another_namespace_is_no_duplicate():
    crawl = Crawl(unique(1), duplicate_of(1, run=OTHER_RUN))
    await crawl.claim(item("m"))
    assert (await crawl.claim(item("n"))).kind == "duplicate"
    assert "in_flight_waits" not in crawl.stats


@pytest.mark.parametrize(
    ("verdict", "settings"),
    [
        (Verdict("skipped"), {}),
        (duplicate_of(2, pending=False), {}),
        (duplicate_of(1), {"on_duplicate": "report"}),
        (duplicate_of(1, kind="same"), {"known": "pass"}),
    ],
    ids=["nothing", "stored already", "stored all the same", "a version that is stored"],
)
@deferred_f_from_coro_f
async def test_nobody_waits_for_what_makes_no_difference(verdict, settings):
    crawl = Crawl(unique(1), verdict, **settings)
    await crawl.claim(item())
    assert await crawl.claim(item()) is verdict
    assert crawl.stats == {}


@deferred_f_from_coro_f
async def test_a_version_that_would_be_left_out_waits_as_a_duplicate_does():
    crawl, first = Crawl(unique(1), duplicate_of(1, kind="same"), known="drop"), item()
    await crawl.claim(first)
    version = await started(crawl.claim(item()))
    assert not version.done()
    crawl.settle(first, True)
    assert (await version).kind == "same"


@deferred_f_from_coro_f
async def test_what_was_settled_while_the_verdict_was_on_its_way_is_asked_for_again_once():
    crawl = Crawl(duplicate_of(1), duplicate_of(1, pending=False))
    assert not (await crawl.claim(item())).match.pending
    crawl = Crawl(duplicate_of(1), duplicate_of(1), unique(2))
    assert (await crawl.claim(item())).match.claim == 1
    assert len(crawl.worker.asked) == 2
    # The answer may be another one.
    crawl = Crawl(duplicate_of(1), duplicate_of(2), unique(3))
    assert (await crawl.claim(item())).claim.id == 3


@deferred_f_from_coro_f
async def test_what_pends_in_another_process_is_not_waited_for():
    crawl = Crawl(duplicate_of(1, run=OTHER_RUN), unique(2))
    assert (await crawl.claim(item())).match.run == OTHER_RUN
    assert len(crawl.worker.asked) == 1
    assert crawl.stats == {}

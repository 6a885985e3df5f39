"""What happens with a verdict whose match is pending; the worker gives prepared answers."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest
from loopback import error_lines
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
async def test_what_is_claimed_is_held_until_it_is_settled():
    crawl, one, other = Crawl(unique(1), unique(2)), item(), item("m")
    assert (await crawl.claim(one)).claim.id == 1
    assert (await crawl.claim(other)).claim.id == 2
    assert crawl.answers == 2
    assert [namespace for namespace, _ in crawl.worker.asked] == ["n", "m"]
    assert crawl.claims.open_count() == 2
    crawl.settle(one, True)
    assert crawl.claims.open_count() == 1
    crawl.settle(other, False)
    assert crawl.claims.open_count() == 0
    assert crawl.worker.confirmed == [("n", 1)]
    assert crawl.worker.released == [("m", 2)]
    assert crawl.stats == {"claims/confirmed": 1, "claims/released": 1}


@deferred_f_from_coro_f
async def test_a_new_version_is_held_and_no_unique_one_that_is_open():
    version = Verdict("same", match=duplicate_of(1, pending=False).match, claim=ClaimRow(id=2))
    crawl, one = Crawl(version), item()
    await crawl.claim(one)
    assert crawl.claims.open_count() == 0
    crawl.settle(one, True)
    assert crawl.worker.confirmed == [("n", 2)]
    assert crawl.stats == {"claims/refreshed": 1}


@deferred_f_from_coro_f
async def test_one_whose_verdict_is_on_its_way_is_not_open_yet():
    crawl = Crawl(unique(1))
    await crawl.claims.claim(item(), document())
    assert crawl.claims.open_count() == 0


@deferred_f_from_coro_f
async def test_what_has_claimed_nothing_is_settled_by_nothing():
    crawl, one = Crawl(duplicate_of(1, pending=False)), item()
    crawl.claims.settle(one, True)
    await crawl.claim(one)
    crawl.claims.settle(one, True)
    assert crawl.worker.confirmed == crawl.worker.released == []
    assert crawl.stats == {}


@pytest.mark.parametrize("stored", [True, False])
@deferred_f_from_coro_f
async def test_an_in_flight_duplicate_waits_for_the_first_and_takes_its_place_if_need_be(stored):
    crawl, first, second = Crawl(unique(1), duplicate_of(1), unique(2)), item(), item()
    await crawl.claim(first)
    duplicate = await started(crawl.claim(second))
    assert not duplicate.done()
    crawl.settle(first, stored)
    assert (await duplicate).kind == ("duplicate" if stored else "unique")
    assert crawl.stats["in_flight_waits"] == 1
    assert crawl.answers == len(crawl.worker.asked) == (2 if stored else 3)
    assert all(document is second.document for _, document in crawl.worker.asked[1:])


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
async def test_a_pipeline_may_take_longer_than_the_timeout():
    crawl, first = Crawl(unique(1), duplicate_of(1), unique(2), timeout=0.1), item()
    await crawl.claim(first)
    duplicate = await started(crawl.claim(item()))
    await asyncio.sleep(0.3)
    assert not duplicate.done()
    crawl.settle(first, False)
    assert (await duplicate).kind == "unique"


@deferred_f_from_coro_f
async def test_where_no_item_is_finished_any_more_a_copy_is_stored_unchecked(monkeypatch, caplog):
    monkeypatch.setattr("scrapy_simhash.crawl.claims.STALLED", 0.3)
    crawl, other = Crawl(unique(1), unique(2), duplicate_of(1), duplicate_of(1)), item()
    await crawl.claim(item())
    await crawl.claim(other)
    duplicates = [await started(crawl.claim(item())) for _ in range(2)]
    await asyncio.sleep(0.2)
    crawl.settle(other, True)
    await asyncio.sleep(0.2)
    assert not any(duplicate.done() for duplicate in duplicates), (
        "another item was finished meanwhile"
    )
    assert [(await duplicate).kind for duplicate in duplicates] == ["failed_open"] * 2
    (line,) = error_lines(caplog)
    assert line.startswith("The item pipelines have finished no item for 0.3 s.")


@deferred_f_from_coro_f
async def test_the_numbers_of_a_new_file_are_other_claims():
    crawl, old, new = Crawl(unique(1), unique(1)), item(), item()
    await crawl.claim(old)
    await crawl.claim(new)
    crawl.settle(old, True)
    assert crawl.claims.open_count() == 1
    crawl.settle(new, True)
    assert crawl.claims.open_count() == 0


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

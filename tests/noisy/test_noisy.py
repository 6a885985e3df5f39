"""What the measure counts, and that nothing is lost on the sites that the rule was made on."""

from __future__ import annotations

from random import Random

import pytest

from benchmarks.noisy.run import Measured, Outcome, Tally, find_kinds, measure, report
from benchmarks.noisy.site import Kind, Page
from benchmarks.noisy.spiders import SPIDERS
from benchmarks.noisy.words import Words, paras

KINDS = {kind.name: kind for kind in find_kinds(["tuned"])["tuned"]}
#: Kinds of which something is lost today.
LOST = {"Jobs: one employer, three boards (all different)"}
#: Of the spiders, one that stores fields and one that stores the markup of pages.
READERS = "RS"
MEASURED = [
    pytest.param(kind, id=name, marks=[pytest.mark.xfail] * (name in LOST))
    for name, kind in KINDS.items()
]
SELECTORS = {"title": "h1::text", "body": "article"}


def page(path: str, thing: str = "", html: bytes = b"", **more) -> Page:
    return Page(f"https://a.example/{path}", html, thing or path, SELECTORS, **more)


def story(words: Words, path: str, thing: str, title: str) -> Page:
    html = (
        f"<html><body><h1>{title}</h1><article>{paras(words.paragraphs())}</article></body></html>"
    )
    return page(path, thing, html.encode())


def twins(random: Random, count: int) -> list[Page]:
    """Things whose copies differ in their address only."""
    words = Words(random)
    pages = [story(words, str(number), str(number), words.title()) for number in range(count)]
    copies = [one._replace(url=f"{one.url}?sid=1") for one in pages]
    return [*pages, *copies]


class TestTally:
    def test_right_and_wrong_drops_are_told_apart(self):
        one, copy, two = page("1"), page("1b", "1"), page("2")
        outcomes = [Outcome(one, None, ""), Outcome(copy, one, ".95"), Outcome(two, one, ".91")]
        measured = Measured("a kind", "A", outcomes)
        assert measured.tally == Tally(copies=1, found=1, things=2, lost=1, wrong=1)
        (first, second) = report([measured], wrong=True, why=False)
        assert two.url in first
        assert one.url in second

    def test_a_thing_is_not_lost_as_long_as_one_of_its_pages_is_stored(self):
        one, two, again = page("1"), page("2"), page("2b", "2")
        outcomes = [Outcome(one, None, ""), Outcome(two, one, ".91"), Outcome(again, None, "")]
        assert Measured("a kind", "A", outcomes).tally == Tally(1, 0, 2, 0, 1)


class TestMeasure:
    @pytest.mark.parametrize("spider", SPIDERS)
    def test_every_spider_sees_copies_and_different_things(self, spider):
        (measured,) = measure(Kind("twins", twins), spider, {}, 6)
        assert measured.tally == Tally(copies=6, found=6, things=6)


class TestKinds:
    @pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
    def test_a_kind_is_the_same_each_time_and_its_pages_have_addresses(self, kind):
        pages = kind.pages(4)
        assert pages == kind.pages(4)
        assert len({one.thing for one in pages}) == 4
        assert len({(one.url, one.card, one.crawl) for one in pages}) == len(pages)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", MEASURED)
    def test_nothing_is_lost(self, kind):
        lost = {one.spider: one.tally.lost for one in measure(kind, READERS, {})}
        assert lost == dict.fromkeys(READERS, 0)

"""No advice drops an item that exists nowhere else, on sites whose truth is known."""

from __future__ import annotations

from functools import partial

import pytest

from benchmarks.noisy import spiders
from benchmarks.noisy.run import Measured, Outcome, crawl, find_kinds
from benchmarks.noisy.site import Kind, Page
from benchmarks.noisy.spiders import Item, Seen
from benchmarks.noisy.words import Words
from scrapy_simhash.history.advice import SettingAdvice, advise
from scrapy_simhash.history.sql import choose_namespace

KINDS = {kind.name: kind for kind in find_kinds(["tuned"])["tuned"]}


@pytest.fixture
def strange(monkeypatch) -> str:
    """A spider that stores all it finds, in fields whose names tell nothing."""

    def renamed(seen: Seen) -> Item:
        known = {"title", "body", "rank"}
        found = {name: value for name, value in spiders.rich(seen).items() if name != "url"}
        strange = (name for name in found if name not in known)
        names = {name: f"x{place}" for place, name in enumerate(strange)}
        return {names.get(name, name): value for name, value in found.items()}

    monkeypatch.setitem(spiders.SPIDERS, "X", renamed)
    return "X"


def advised(
    pages: list[Page], spider: str, **settings
) -> tuple[list[SettingAdvice], list[Outcome]]:
    given: list[SettingAdvice] = []
    outcomes = crawl(
        pages,
        spider,
        settings,
        lambda database: given.extend(advise(choose_namespace(database, None))),
    )
    return given, outcomes


def at_two_addresses(random, count, *, query="from=list", models=False):
    """Each page twice, with a number that belongs to the request; or two models of each thing."""
    for number in range(count):
        words = Words(random)
        text, heading = words.paragraphs(100, 200), words.title()
        for more in ("", f"?{query.format(random.choice('abc'))}"):
            html = (
                f"<html><title>{heading}</title><article><h1>{heading}</h1>"
                f"{''.join(f'<p>{one}</p>' for one in text)}</article>"
                f"<i>{random.randrange(10**6)}</i></html>"
            )
            selectors = {"title": "h1::text", "body": "article", "number": "i::text"}
            url = f"https://a.example/{'model' if models else 'story'}/{number}{more}"
            yield Page(url, html.encode(), f"{number} {more if models else ''}", selectors)


def test_a_counter_without_a_name_is_advised_and_drops_what_it_says(strange):
    pages = Kind("twice", at_two_addresses, 30).pages()
    (advice,), before = advised(pages, strange)
    assert advice.dropped == 30
    assert "30 more items would be dropped" in str(advice)
    assert advice.examples[0].url.partition("?")[0] == advice.examples[0].other
    none, after = advised(pages, strange, IGNORE_FIELDS=[*advice.fields])
    assert not none
    dropped = [sum(one.match is not None for one in outcomes) for outcomes in (before, after)]
    assert dropped[1] - dropped[0] == advice.dropped
    assert Measured("twice", strange, after).tally.lost == 0


def test_a_few_are_no_reason(strange):
    assert advised(Kind("twice", at_two_addresses, 15).pages(), strange)[0] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_nothing_is_lost_by_advice(kind, strange):
    pages = kind.pages()
    given, before = advised(pages, strange)
    for advice in given:
        _, after = advised(pages, strange, IGNORE_FIELDS=[*advice.fields])
        lost = [Measured(kind.name, strange, one).tally.lost for one in (before, after)]
        assert lost[1] <= lost[0], str(advice)


@pytest.mark.parametrize("query", ["variant={0}", "unit={0}", "format=wide&o={0}", "{0}"])
def test_models_at_addresses_of_their_own_are_no_copies(strange, query):
    pages = Kind("models", partial(at_two_addresses, query=query, models=True), 30).pages()
    assert advised(pages, strange)[0] == []

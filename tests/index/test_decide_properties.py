"""What holds of every crawl, whatever it meets and in whatever order."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from decided import NEAR, Seen, Thing, facts_of
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_simhash.item.facts import Facts, conflict, relations_of

#: Texts that are equal, or have nothing in common.
APART = (0, 100, 200)
#: Texts of which neighbours are near, as versions of a page that drifts.
DRIFTING = tuple(range(4 * NEAR))

TITLES, PRICES = ("one", "two", "three"), ("€1", "€2", "€3")

KINDS = ("page", "item", "row")

batches = st.sampled_from([1, 3, 64])
titled_and_priced = st.tuples(
    st.tuples(st.just("price"), st.sampled_from(PRICES)),
    st.tuples(st.just("title"), st.sampled_from(TITLES)),
)
priced = titled_and_priced.map(lambda facts: facts[:1])
#: With a name missing here and there, it matters which of two things is seen first.
partial = titled_and_priced.flatmap(
    lambda facts: st.sampled_from([facts, facts[:1], facts[1:], ()])
)


@st.composite
def crawls(draw, *, texts=DRIFTING, facts=titled_and_priced, sites=("a",), kinds=KINDS):
    """What a crawl meets: pages, items with an address, items that are compared as a whole.

    A page has a visit of its own, an item that of the crawl. One without an address is known by
    its content; or, where it is listed with others, by the page.
    """
    things = []
    for number in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(kinds))
        text = draw(st.sampled_from(texts))
        url = f"http://{draw(st.sampled_from(sites))}.com/"
        thing = Thing(f"{kind} {number}", text, draw(facts), url)
        if kind == "page":
            thing = replace(thing, download=2 + number)
        if kind == "row":
            thing = replace(thing, identity=f"row {text}", facts=(), exact=True)
        if kind == "listed":
            thing = replace(thing, identity="list")
        things.append(thing)
    return things


histories = st.lists(
    crawls(facts=partial, sites="ab", kinds=(*KINDS, "listed")), min_size=1, max_size=3
)


def keeps_apart(new: Facts, stored: Facts, *, here: bool) -> str | None:
    return conflict(new, stored, frozenset(relations_of(new, stored, same_site=here)))


def contents(things: list[Thing]) -> list[object]:
    return [thing.content for thing in things]


@given(crawls(facts=partial, sites="ab", kinds=(*KINDS, "listed")), batches)
def test_a_drop_has_a_match_that_is_near_and_has_no_conflict(things, batch):
    seen = Seen()
    for start in range(0, len(things), batch):
        part = things[start : start + batch]
        for thing, decision in zip(part, seen.meet(*part), strict=True):
            if decision.kind == "duplicate":
                claim = decision.match.row
                assert claim.compared_by == thing.exact
                assert abs(int.from_bytes(claim.fingerprint, "big") - thing.text) <= NEAR
                new, stored = facts_of(dict(thing.facts)), Facts.unpack(claim.facts)
                assert keeps_apart(new, stored, here=thing.url == claim.url) is None
            assert (decision.claim is not None) == (decision.kind == "unique")


@given(histories, batches)
def test_of_equal_things_of_a_visit_one_is_kept_whatever_came_before(visits, batch):
    seen = Seen()
    for epoch, things in enumerate(visits, 1):
        kept = contents(seen.kept(*(thing.again(epoch) for thing in things), batch=batch))
        assert len(kept) == len(set(kept))


@given(crawls(texts=APART, kinds=(*KINDS, "listed")), batches, st.randoms())
def test_on_one_site_all_content_is_kept_once_in_any_order(things, batch, chance):
    chance.shuffle(things)
    kept = contents(Seen().kept(*things, batch=batch))
    assert len(kept) == len(set(kept))
    assert set(kept) == set(contents(things))


@given(histories, batches)
def test_each_visit_keeps_what_a_first_crawl_would(visits, batch):
    seen = Seen()
    for epoch, things in enumerate(visits, 1):
        again = [thing.again(epoch) for thing in things]
        assert seen.kept(*again, batch=batch) == Seen().kept(*again, batch=batch)
        seen.settle()


@given(crawls(facts=partial, sites="ab", kinds=(*KINDS, "listed")), batches, batches)
def test_a_second_visit_in_the_same_order_claims_nothing(things, batch, other):
    seen = Seen()
    seen.kept(*things, batch=batch)
    claims = set(seen.claims)
    for epoch in (2, 3):
        seen.kept(*(thing.again(epoch) for thing in things), batch=other)
        assert set(seen.claims) == claims
        seen.settle()
        assert set(seen.claims) == claims


def page(number, text, *facts):
    return Thing(f"page {number}", text, facts, "http://a.com/", download=2 + number)


ONE = ("price", "€1"), ("title", "one")


@given(histories, batches)
@example(
    [
        [page(0, 0, *ONE), page(1, 0, *ONE), page(2, 1, ("price", "€2"))],
        [page(0, 0, *ONE), page(1, 3, *ONE), page(2, 4, *ONE)],
        [page(0, 0, *ONE), page(1, 0, *ONE), page(2, 1, ("price", "€2"))],
    ],
    1,
)
def test_with_drop_nothing_is_stored_twice_and_all_content_is_stored(visits, batch):
    """What a crawl shows is equal or similar to something stored, with the same facts.

    What a page showed before it showed a copy of another one is stored again: it has changed back.
    So is an entry, known by its list alone, that the list shows twice beside an earlier version.
    """
    seen = Seen(known="drop")
    stored, shown = [], defaultdict(set)
    for epoch, things in enumerate(visits, 1):
        again = [thing.again(epoch) for thing in things]
        kept = seen.kept(*again, batch=batch)
        shows = Counter((thing.identity, thing.content) for thing in again)
        twice = {(one.identity, one.content) for one in kept} & latest(stored)
        twice -= {one for one in twice if one[0] == "list" and shows[one] > 1}
        assert not {one for one in twice if one[1] in shown[one[0]]}
        stored += kept
        shown |= {thing.identity: set() for thing in again}
        for thing in again:
            shown[thing.identity].add(thing.content)
        seen.settle()
        for thing in again:
            assert any(covers(one, thing) for one in stored)


def latest(stored):
    """What each page or row showed when it was last stored."""
    return set({one.identity: (one.identity, one.content) for one in stored}.values())


def covers(stored, thing):
    new, old = facts_of(dict(thing.facts)), facts_of(dict(stored.facts))
    is_near = abs(stored.text - thing.text) <= (0 if thing.exact else NEAR)
    here = stored.url == thing.url
    return stored.exact == thing.exact and is_near and not keeps_apart(new, old, here=here)


@given(histories, st.integers(1, 7))
def test_it_does_not_matter_how_many_are_decided_on_together(visits, batch):
    one, other = Seen(), Seen()
    for epoch, things in enumerate(visits, 1):
        later = [thing.again(epoch) for thing in things]
        together = one.meet(*later)
        apart = [
            decision
            for start in range(0, len(later), batch)
            for decision in other.meet(*later[start : start + batch])
        ]
        assert [(d.kind, d.claim is None) for d in together] == [
            (d.kind, d.claim is None) for d in apart
        ]
        one.confirm()
        other.confirm()

"""What holds of every crawl, whatever it meets and in whatever order."""

from __future__ import annotations

from dataclasses import replace

from decided import NEAR, Namespace, Thing, facts_of
from hypothesis import given
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
    """What a crawl meets: pages, items with a URL, items that are compared as a whole.

    An item without a URL is known by its content; or, where it is listed with others, by the page.
    """
    things = []
    for number in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(kinds))
        text = draw(st.sampled_from(texts))
        url = f"http://{draw(st.sampled_from(sites))}.com/"
        thing = Thing(f"{kind} {number}", text, draw(facts), url)
        if kind != "page":
            thing = replace(thing, alone=False)
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
    namespace = Namespace()
    for start in range(0, len(things), batch):
        part = things[start : start + batch]
        for thing, decision in zip(part, namespace.meet(*part), strict=True):
            if decision.kind == "duplicate":
                claim = decision.match.row
                assert claim.compared_by == thing.exact
                assert abs(int.from_bytes(claim.fingerprint, "big") - thing.text) <= NEAR
                new, stored = facts_of(dict(thing.facts)), Facts.unpack(claim.facts)
                assert keeps_apart(new, stored, here=thing.url == claim.url) is None
            assert (decision.claim is None) == (decision.kind == "duplicate")


@given(histories, batches)
def test_of_equal_items_of_a_visit_one_is_kept_whatever_came_before(visits, batch):
    namespace = Namespace()
    for namespace.visit, items in enumerate(visits, 1):
        kept = contents(namespace.kept(*items, batch=batch))
        assert len(kept) == len(set(kept))


@given(crawls(texts=APART, kinds=(*KINDS, "listed")), batches, st.randoms())
def test_on_one_site_all_content_is_kept_once_in_any_order(things, batch, chance):
    chance.shuffle(things)
    kept = contents(Namespace().kept(*things, batch=batch))
    assert len(kept) == len(set(kept))
    assert set(kept) == set(contents(things))


@given(histories, batches)
def test_each_visit_keeps_what_a_first_crawl_would(visits, batch):
    namespace = Namespace()
    for namespace.visit, items in enumerate(visits, 1):
        assert namespace.kept(*items, batch=batch) == Namespace().kept(*items, batch=batch)


@given(crawls(facts=partial, sites="ab", kinds=(*KINDS, "listed")), batches, batches)
def test_a_second_visit_in_the_same_order_claims_nothing(things, batch, other):
    namespace = Namespace()
    namespace.kept(*things, batch=batch)
    claims = set(namespace.claims)
    for namespace.visit in (2, 3):
        namespace.kept(*things, batch=other)
        assert set(namespace.claims) == claims


@given(histories, batches)
def test_with_drop_all_content_is_stored(visits, batch):
    """What a crawl shows is equal or similar to something stored, with the same facts."""
    namespace, stored = Namespace(known="drop"), []
    for namespace.visit, items in enumerate(visits, 1):
        stored += namespace.kept(*items, batch=batch)
        for item in items:
            assert any(covers(one, item) for one in stored)


@given(histories, batches, batches)
def test_with_drop_a_second_visit_stores_nothing(visits, batch, other):
    namespace = Namespace(known="drop")
    for namespace.visit, items in enumerate(visits, 1):
        namespace.kept(*items, batch=batch)
    namespace.visit += 1
    assert not namespace.kept(*visits[-1], batch=other)


def covers(stored, thing):
    new, old = facts_of(dict(thing.facts)), facts_of(dict(stored.facts))
    is_near = abs(stored.text - thing.text) <= (0 if thing.exact else NEAR)
    here = stored.url == thing.url
    return stored.exact == thing.exact and is_near and not keeps_apart(new, old, here=here)


@given(histories, st.integers(1, 7), st.sampled_from(["pass", "drop"]))
def test_it_does_not_matter_how_many_are_decided_on_together(visits, batch, known):
    one, other = Namespace(known=known), Namespace(known=known)
    for number, items in enumerate(visits, 1):
        one.visit = other.visit = number
        together = one.meet(*items)
        apart = [
            decision
            for start in range(0, len(items), batch)
            for decision in other.meet(*items[start : start + batch])
        ]
        assert [(d.status, d.claim is None) for d in together] == [
            (d.status, d.claim is None) for d in apart
        ]
        one.confirm()
        other.confirm()

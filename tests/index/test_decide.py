"""What a document is, given the claims that it was compared with: one case a test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from decided import NEAR, Seen, Thing, kinds, one

from scrapy_simhash.db.values import ComparedBy, State
from scrapy_simhash.index.decide import decide
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Match, Verdict
from scrapy_simhash.simhash.measure import candidate_limit, limits
from scrapy_simhash.simhash.scheme import load_scheme
from scrapy_simhash.simhash.shingles import Shingles

# The cases of the docstring


@pytest.mark.parametrize("exact", [False, True])
def test_a_version_that_is_not_known_to_be_stored_is_claimed_again(exact: bool) -> None:
    """Else a release of what another crawl left behind takes the claim of what this one stores."""
    seen = Seen()
    seen.meet(Thing("a", exact=exact))
    assert one(seen, Thing("a", exact=exact).again()) == ("same", True, None)


# The order in which things are found


def one_of_each(**changes: object) -> Seen:
    """Claims similar to a document of identity "me" and epoch 2: one of each kind."""
    seen = Seen()
    for identity, epoch in (("me", 2), ("other", 2), ("me", 1), ("other", 1)):
        if (identity, epoch) not in changes.get("without", ()):
            asked, _ = seen.ask(Thing(identity, 10, download=epoch * 7, epoch=epoch))
            row = asked[0]._replace(id=len(seen.claims) + 1, state=State.CONFIRMED)
            seen.claims[row.id] = row
    return seen


def test_own_of_this_visit_then_others_of_it_then_own_of_an_earlier_one() -> None:
    order = [("me", 2), ("other", 2), ("me", 1)]
    without = []
    for identity, epoch in order:
        (decision,) = one_of_each(without=without).meet(Thing("me", 10, download=1, epoch=2))
        claim = decision.match.row
        assert (claim.key, claim.epoch) == (identity, epoch)
        assert decision.kind == ("same" if identity == "me" else "duplicate")
        without.append((identity, epoch))
    (decision,) = one_of_each(without=without).meet(Thing("me", 10, download=1, epoch=2))
    assert (decision.kind, decision.status) == ("unique", "moved")


def test_a_page_that_is_fetched_twice_in_a_crawl_is_the_same() -> None:
    seen = Seen()
    page = Thing("page", 10, download=1)
    assert kinds(seen, page, replace(page, download=2)) == ["unique", "same"]


def test_where_there_is_no_visit_of_the_web_own_versions_come_first() -> None:
    seen = Seen()
    seen.kept(Thing("a", 10, epoch=0), Thing("b", 13, epoch=0))
    (decision,) = seen.meet(Thing("a", 12, download=9, epoch=0))
    assert (decision.kind, decision.match.key) == ("same", "a")


def test_of_several_a_stored_one_comes_first_and_then_the_nearest() -> None:
    seen = Seen()
    seen.kept(Thing("far", 8))
    seen.meet(Thing("near", 11))
    (decision,) = seen.meet(Thing("me", 10))
    assert decision.match.key == "far"
    seen.confirm()
    (decision,) = seen.meet(Thing("me", 10))
    assert decision.match.key == "near"


@pytest.mark.parametrize("known", [0.91, None])
def test_the_more_similar_one_is_the_match_however_near_another_fingerprint_is(
    known: float | None,
) -> None:
    seen = Seen()
    (*claims, mine), facts = seen.ask(*(Thing(name, 10) for name in ("near", "similar", "me")))
    near, similar = (claim._replace(id=id_) for id_, claim in enumerate(claims))
    (decision,) = decide(
        [mine._replace(id=2)],
        facts[2:],
        [[Match(near, 0, known), Match(similar, 5, 0.97)]],
        lambda *_: [],
        rule=seen.rule,
    )
    assert decision.match is not None
    assert decision.match.key == "similar"


# Documents that are compared as a whole


def test_equal_rows_of_lists_are_the_same_at_the_next_visit_and_equal_pages_copies() -> None:
    """A row is listed if its visit is that of the crawl; a page has visits of its own."""
    for visit, kind in ((2, "same"), (70, "unique")):
        seen = Seen()
        seen.kept(Thing("a", 10, download=60, exact=True))
        assert one(seen, Thing("b", 10, download=visit, epoch=2, exact=True))[0] == kind
    seen = Seen()
    seen.kept(Thing("a", 10, exact=True))
    assert one(seen, Thing("b", 10, download=70, epoch=2, exact=True))[0] == "same"
    seen = Seen()
    seen.kept(Thing("a", 10))
    assert one(seen, Thing("b", 11, download=2, epoch=2))[0] == "unique", "near is not equal"


def test_a_row_that_moved_is_known_by_its_new_address_from_then_on() -> None:
    """It is known by being equal when it moves, and by its identity when its text is revised."""
    seen = Seen()
    for thing, kind in (
        (Thing("/old", 10), "unique"),
        (Thing("/new", 10, download=2, epoch=2), "same"),
        (Thing("/new", 11, download=3, epoch=3), "same"),
    ):
        (row,), facts = seen.ask(thing)
        (decision,) = seen.commit([row._replace(digest=bytes([thing.text]))], facts)
        assert decision.kind == kind
        seen.confirm()


# Distances, sizes, similarities


def test_the_rule_judges_by_true_similarities_where_there_are_shingles_and_one_is_asked_for() -> (
    None
):
    shingles, keywords = load_scheme("shingles"), load_scheme("keywords")
    for rule, threshold, limit in (
        (Rule(scheme=shingles), 0.9, candidate_limit(0.9)),
        (Rule(scheme=shingles, distance=5), None, 5),
        (Rule(scheme=keywords), None, 3),
        (Rule(scheme=Shingleless()), None, limits(0.9)[1]),
    ):
        assert (rule.threshold, rule.limit) == (threshold, limit)


class Shingleless(Shingles):
    """A scheme of 128 bits whose sketches have no shingles."""

    has_shingles = False


@pytest.mark.parametrize(
    ("seen", "things"),
    [
        # Similarity is not transitive: the third is similar to the second, which has no claim.
        ({}, [Thing("a", 10), Thing("b", 10 + NEAR), Thing("c", 11 + NEAR)]),
        # Where no similarity is known the distance decides.
        ({"measured": False}, [Thing("a", 10), Thing("b", 18), Thing("c", 19)]),
        ({"distance": 24}, [Thing("a", 10), Thing("b", 18), Thing("c", 19)]),
        # What is compared as a whole is compared with no text.
        ({}, [Thing("a", 1, exact=True), Thing("b", 1, exact=True), Thing("a", 1)]),
    ],
)
def test_a_second_one_is_near_and_a_third_is_not(seen: dict[str, Any], things: list[Thing]) -> None:
    assert kinds(Seen(**seen), *things) == ["unique", "duplicate", "unique"]


def test_a_distance_beyond_the_limit_is_not_made_good_by_a_similarity() -> None:
    assert beside(100, distance=25, jaccard=0.97).kind == "duplicate"
    assert beside(100, distance=26, jaccard=0.97).kind == "unique"


def test_texts_of_few_features_are_near_if_they_are_equal() -> None:
    few = Thing("a", 10, size=7)
    others = replace(few, identity="b", text=11), replace(few, identity="c")
    assert kinds(Seen(), few, *others) == ["unique", "unique", "duplicate"]
    assert kinds(Seen(), Thing("a", 10), Thing("b", 11, size=7)) == ["unique", "unique"]
    assert kinds(Seen(), Thing("a", 10), Thing("b", 11, size=8)) == ["unique", "duplicate"]


@pytest.mark.parametrize(
    ("compared_by", "kind"), [(ComparedBy.TEXT, "duplicate"), (ComparedBy.PAGE, "unique")]
)
def test_where_pages_speak_for_items_equal_items_say_nothing(compared_by: int, kind: str) -> None:
    """Their texts are far apart."""
    seen = Seen()
    rows, facts = seen.ask(Thing("a", 10), Thing("b", 90))
    equal = [row._replace(compared_by=compared_by, digest=b"what both items say") for row in rows]
    assert seen.commit(equal, facts)[1].kind == kind


def test_by_an_estimate_nothing_but_an_equal_text_is_a_copy() -> None:
    for similarity, match in ((0.99, "(not compared)"), (0.89, None)):
        decision = beside(100, jaccard=similarity, estimated=True)
        assert (decision.kind, decision.differs) == ("unique", match)


def test_of_few_features_a_single_bit_is_too_much() -> None:
    for size, kind in ((7, "unique"), (8, "duplicate")):
        assert beside(size, distance=0).kind == "duplicate"
        assert beside(size, distance=1).kind == kind


def beside(size: int, **given: Any) -> Verdict:
    """The decision on a document found this way by a claim with the same text."""
    seen = Seen()
    (claim, mine), facts = seen.ask(Thing("a", 10, size=size), Thing("b", 10, size=size))
    (decision,) = decide(
        [mine._replace(id=2, text_digest=1)],
        facts[1:],
        [[replace(seen._match(mine, claim), **given)]],
        lambda *_: [],
        rule=Rule(),
    )
    return decision

"""What a document is, given the claims that it was compared with: one case a test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from decided import NEAR, Namespace, Thing, kinds

from scrapy_simhash.index.decide import decide
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Match, Verdict
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.simhash.measure import candidate_limit, limits
from scrapy_simhash.simhash.scheme import load_scheme
from scrapy_simhash.simhash.shingles import Shingles

# The order in which items are found


@pytest.mark.parametrize(("known", "kind"), [(None, "same"), ("pass", "duplicate")])
def test_what_is_met_twice_is_stored_once(known: str | None, kind: str) -> None:
    page = Thing("page", 10)
    assert kinds(Namespace(known=known), page, page) == ["unique", kind]


@pytest.mark.parametrize("together", [True, False])
def test_what_several_pages_have_become_is_one_change(together: bool) -> None:
    """What another page shows for the first time stands for it."""
    namespace = Namespace()
    pages = [Thing(name, 10, (("price", "€1"), ("title", "one"))) for name in "abc"]
    namespace.kept(*pages)
    namespace.visit = 2
    now = (
        Thing("d", 10, (("price", "€1"), ("title", "two"))),
        *(replace(page, facts=(("price", "€1"),)) for page in pages),
    )
    parts = [now] if together else [(one,) for one in now]
    verdicts = [verdict for part in parts for verdict in namespace.meet(*part)]
    assert [verdict.status for verdict in verdicts] == ["new", "changed", "copy", "copy"]


def test_of_several_a_stored_one_comes_first_and_then_the_nearest() -> None:
    namespace = Namespace()
    namespace.kept(Thing("far", 8))
    namespace.meet(Thing("near", 11))
    (decision,) = namespace.meet(Thing("me", 10))
    assert decision.match.key == "far"
    namespace.confirm()
    (decision,) = namespace.meet(Thing("me", 10))
    assert decision.match.key == "near"


@pytest.mark.parametrize("known", [0.91, None])
def test_the_more_similar_one_is_the_match_however_near_another_fingerprint_is(
    known: float | None,
) -> None:
    namespace = Namespace(known=None)
    near, similar, mine = (
        namespace.row(Thing(name, 10), Facts()) for name in ("near", "similar", "me")
    )
    (decision,) = decide(
        [mine],
        [Facts()],
        [[Match(near, 0, known), Match(similar, 5, 0.97)]],
        lambda *_: [],
        rule=namespace.rule,
    )
    assert decision.match is not None
    assert decision.match.key == "similar"


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
    ("rule", "things"),
    [
        # Similarity is not transitive: the third is similar to the second, which has no claim.
        ({}, [Thing("a", 10), Thing("b", 10 + NEAR), Thing("c", 11 + NEAR)]),
        # Where no similarity is known the distance decides.
        ({"measured": False}, [Thing("a", 10), Thing("b", 18), Thing("c", 19)]),
        ({"distance": 24}, [Thing("a", 10), Thing("b", 18), Thing("c", 19)]),
        # What is compared as a whole is compared with no text.
        ({}, [Thing("a", 1, exact=True), Thing("b", 1, exact=True), Thing("c", 1)]),
    ],
)
def test_a_second_one_is_near_and_a_third_is_not(rule: dict[str, Any], things: list[Thing]) -> None:
    assert kinds(Namespace(**rule), *things) == ["unique", "duplicate", "unique"]


def test_a_distance_beyond_the_limit_is_not_made_good_by_a_similarity() -> None:
    assert beside(100, distance=25, jaccard=0.97).kind == "duplicate"
    assert beside(100, distance=26, jaccard=0.97).kind == "unique"


def test_texts_of_few_features_are_near_if_they_are_equal() -> None:
    few = Thing("a", 10, size=7)
    others = replace(few, identity="b", text=11), replace(few, identity="c")
    assert kinds(Namespace(), few, *others) == ["unique", "unique", "duplicate"]
    assert kinds(Namespace(), Thing("a", 10), Thing("b", 11, size=7)) == ["unique", "unique"]
    assert kinds(Namespace(), Thing("a", 10), Thing("b", 11, size=8)) == ["unique", "duplicate"]


@pytest.mark.parametrize(("by_page", "kind"), [(False, "duplicate"), (True, "unique")])
def test_where_pages_speak_for_items_equal_items_say_nothing(by_page: bool, kind: str) -> None:
    """Their texts are far apart."""
    items = (
        Thing(name, text, digest=b"what both items say", by_page=by_page)
        for name, text in (("a", 10), ("b", 90))
    )
    assert kinds(Namespace(), *items) == ["unique", kind]


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
    namespace = Namespace(known=None)
    claim, mine = (namespace.row(Thing(name, 10, size=size), Facts()) for name in "ab")
    (decision,) = decide(
        [mine._replace(text_digest=1)],
        [Facts()],
        [[replace(namespace.match(mine, claim), **given)]],
        lambda *_: [],
        rule=Rule(),
    )
    return decision

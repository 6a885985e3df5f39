"""Claims, on every engine that there is a server of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from claims import article, edited
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from servers import ENGINES

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule

pytestmark = pytest.mark.parametrize("engine", ENGINES)

# What one drawn example leaves behind is in a namespace of its own.
shared = settings(
    max_examples=settings.default.max_examples // 4,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


# Claims


def test_a_near_duplicate_is_found_with_what_it_is_a_duplicate_of(db: Database) -> None:
    index = Index(db)
    first = index.claim(article(1), key="a", url="https://example.com/a")
    again = index.claim(edited(article(1)), key="b", url="https://example.com/b")
    assert (first.kind, first.match) == ("unique", None)
    assert (again.kind, again.claim) == ("duplicate", None)
    match = again.match
    assert (match.url, match.key, match.pending) == ("https://example.com/a", "a", True)
    assert 0 < match.distance <= index.lookup.rule.limit
    assert 0.9 < match.similarity < 1
    assert len(index) == 1


def test_a_stored_claim_is_matched_before_a_nearer_pending_one(
    blocks: Callable[..., Index],
) -> None:
    """Nobody has to wait for an outcome without need."""
    index = blocks()
    stored = index.claim(0, key="a")
    index.confirm(stored)
    index.claim(0b1111, key="b")
    assert index.claim(0b11, key="c").match.key == "a"
    assert index.claim(0b111, key="d").match.key == "a"


# Distances


def test_every_pair_within_the_distance_is_found(blocks: Callable[..., Index]) -> None:
    """Against comparing each with each, with fingerprints that lie close together."""

    @shared
    @given(st.lists(st.tuples(st.sampled_from([0, 2**128 - 1, 2**64]), st.sets(st.integers(0, 127),
           max_size=6)), min_size=2, max_size=40), st.integers(0, 8))  # fmt: skip
    def check(drawn: list[tuple[int, set[int]]], k: int) -> None:
        given_ = [base ^ sum(1 << bit for bit in bits) for base, bits in drawn]
        index = blocks(rule=Rule(distance=k))
        kept: list[int] = []
        for number, fingerprint in enumerate(given_):
            verdict = index.claim(fingerprint, key=str(number))
            least = min(((fingerprint ^ other).bit_count() for other in kept), default=129)
            assert (verdict.kind == "duplicate") == (least <= k)
            if verdict.match:
                assert verdict.match.distance == least
            else:
                kept.append(fingerprint)

    check()


def test_a_batch_decides_as_its_documents_one_by_one_do(blocks: Callable[..., Index]) -> None:
    @shared
    @given(st.lists(st.sets(st.integers(0, 127), max_size=5), min_size=1, max_size=30))
    def check(drawn: list[set[int]]) -> None:
        given_ = [sum(1 << bit for bit in bits) for bits in drawn]
        single, batch = blocks(), blocks()
        one_by_one = [single.claim(each, key=str(n)) for n, each in enumerate(given_)]
        together = batch.claim_many(
            {"fingerprint": each, "key": str(n)} for n, each in enumerate(given_)
        )
        for alone, joint in zip(one_by_one, together, strict=True):
            assert alone.kind == joint.kind
            if alone.match and joint.match:
                assert (alone.match.key, alone.match.distance) == (
                    joint.match.key,
                    joint.match.distance,
                )

    check()


def test_any_sequence_of_claims_and_outcomes_agrees_with_a_list(
    blocks: Callable[..., Index],
) -> None:
    """Claim, confirm and release against a model that compares with everything it holds."""
    operation = st.tuples(
        st.sampled_from(["claim", "confirm", "release"]),
        st.sets(st.integers(0, 127), max_size=3),
        st.integers(0, 50),
    )

    @shared
    @given(st.lists(operation, max_size=30))
    def check(operations: list[tuple[str, set[int], int]]) -> None:
        index = blocks(rule=Rule(distance=2))
        held: dict[int, tuple[int, bool]] = {}
        made: list[Any] = []
        for number, (what, bits, which) in enumerate(operations):
            if what == "claim":
                fingerprint = sum(1 << bit for bit in bits)
                verdict = index.claim(fingerprint, key=str(number))
                near = {
                    claim: (fingerprint ^ other).bit_count()
                    for claim, (other, _) in held.items()
                    if (fingerprint ^ other).bit_count() <= 2
                }
                assert (verdict.kind == "duplicate") == bool(near)
                if verdict.match:
                    assert near[verdict.match.claim] == verdict.match.distance
                    assert verdict.match.pending == (not held[verdict.match.claim][1])
                else:
                    held[verdict.claim.id] = (fingerprint, False)
                    made.append((verdict, fingerprint))
            elif made:
                verdict, fingerprint = made[which % len(made)]
                if what == "confirm":
                    index.confirm(verdict)
                    held[verdict.claim.id] = (fingerprint, True)
                else:
                    index.release(verdict)
                    held.pop(verdict.claim.id, None)
            assert len(index) == len(held)

    check()


def test_an_exact_copy_is_always_found(db: Database) -> None:
    index = Index(db, rule=Rule(similarity=1))
    texts = [article(seed, words) for seed in range(30) for words in (2, 9, 40, 400)]
    for number, text in enumerate(texts):
        assert index.claim(text, key=f"first {number}").kind == "unique"
    for number, text in enumerate(texts):
        found = index.claim(text, key=f"second {number}")
        assert found.kind == "duplicate"
        assert found.match.distance == 0


# Little or nothing to say


@pytest.mark.parametrize(("words", "kind"), [(8, "unique"), (9, "duplicate")])
def test_texts_of_under_8_distinct_shingles_are_found_only_by_an_equal_fingerprint(
    db: Database, words: int, kind: str
) -> None:
    index, text = Index(db, rule=Rule(similarity=0.7)), article(2, words)
    assert index.claim(text, key="a").kind == "unique"
    assert index.claim(f"{text.rpartition(' ')[0]} other", key="b").kind == kind
    assert index.claim(text, key="c").kind == "duplicate"


def test_skipped_documents_keep_their_place_in_a_batch(db: Database) -> None:
    given_ = [
        {"text": text, "key": str(n)} for n, text in enumerate(["", article(1), "", article(1)])
    ]
    kinds = [verdict.kind for verdict in Index(db).claim_many(given_)]
    assert kinds == ["skipped", "unique", "skipped", "duplicate"]


# Bare fingerprints


def test_the_highest_bits_survive_storing(blocks: Callable[..., Index]) -> None:
    """No engine may take a fingerprint or a key for a signed or a rounded number."""
    index = blocks(rule=Rule(distance=0))
    for number in (2**128 - 1, 2**127, 2**64 - 1, 2**63, 2**53 + 1, 0):
        assert index.claim(number, key=f"a {number}").kind == "unique"
        assert index.claim(number, key=f"b {number}").match.distance == 0


# Many indexes


def test_a_namespace_may_be_called_anything(db: Database) -> None:
    for name in ("例子", "a'; DROP TABLE simhash_claims; --", "😀" * 255, " ", "😀"):
        with Index(db, namespace=name) as index:
            index.confirm(index.claim(article(1), key="a"))
        assert Index(db, namespace=name).claim(article(1), key="b").kind == "duplicate"


@pytest.mark.parametrize(
    ("distance", "content", "complaint"),
    [
        (None, 5, "pass the text, or open the index with a distance"),
        (3, -1, r"allowed is 0 to 2\*\*128 - 1"),
        (3, 2**128, r"allowed is 0 to 2\*\*128 - 1"),
        (None, b"bytes", "a text or a fingerprint is wanted"),
    ],
)
def test_what_is_neither_text_nor_fingerprint_is_refused(
    db: Database, distance: int | None, content: Any, complaint: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=complaint):
        Index(db, rule=Rule(distance=distance)).claim(content, key="a")

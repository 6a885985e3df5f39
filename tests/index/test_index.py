"""Claims, on every engine that there is a server of."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pytest
from claims import BITS, article, assert_no_trace, edited, rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from servers import ENGINES

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import FingerprintMismatch
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.simhash.scheme import load_scheme

pytestmark = pytest.mark.parametrize("engine", ENGINES)

fingerprints = st.integers(0, 2**BITS - 1)

# What one drawn example leaves behind is in a namespace of its own.
shared = settings(
    max_examples=settings.default.max_examples // 4,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


# Claims


def test_what_is_confirmed_after_its_claim_was_lost_is_claimed_again(db: Database) -> None:
    """Another process considered the run dead; but its item was stored after all."""
    index = Index(db)
    first = index.claim(article(1), key="a")
    index.release(first)
    index.confirm(first)
    copy = index.claim(article(1), key="b")
    assert copy.kind == "duplicate"
    assert not copy.match.pending
    index.confirm(first)
    assert len(index) == 1


def test_a_near_duplicate_is_found_with_what_it_is_a_duplicate_of(db: Database) -> None:
    index = Index(db)
    first = index.claim(article(1), key="a", url="https://example.com/a")
    again = index.claim(edited(article(1)), key="b", url="https://example.com/b")
    assert first.kind == "unique"
    assert first.match is None
    assert again.kind == "duplicate"
    assert again.claim is None
    assert again.match is not None
    assert again.match.url == "https://example.com/a"
    assert again.match.key == "a"
    assert again.match.pending
    assert 0 < again.match.distance <= index.lookup.rule.limit
    assert 0.9 < again.match.similarity < 1
    assert len(index) == 1


def test_a_released_claim_leaves_no_trace(db: Database) -> None:
    index = Index(db)
    first = index.claim(article(1), key="a")
    index.release(first)
    assert_no_trace(db)
    assert len(index) == 0
    assert index.claim(article(1), key="b").kind == "unique"


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


def test_nearest_lists_claims_by_distance_and_claims_nothing(blocks: Callable[..., Index]) -> None:
    index = blocks(rule=Rule(distance=2))
    for number in (0b1, 0b111111, 0b1110000):
        index.claim(number, key=str(number))
    assert [match.distance for match in index.nearest(0)] == [1, 3, 6]
    assert [match.key for match in index.nearest(0, limit=1)] == ["1"]
    assert len(index) == 3
    assert Index(index.database, namespace="empty").nearest(article(1)) == []


def test_nearest_of_a_text(db: Database) -> None:
    index = Index(db)
    index.claim(article(1), key="a")
    assert [match.key for match in index.nearest(edited(article(1)))] == ["a"]
    assert index.nearest("") == []


@pytest.mark.parametrize("text", [article(1), edited(article(1))])
def test_what_is_asked_again_and_again_takes_no_more_room(db: Database, text: str) -> None:
    first = Index(db)
    first.confirm(first.claim(article(1), key="a"))
    for _ in range(5):
        with Index(db) as index:
            assert index.claim(text, key="a").kind == "same"
            assert index.claim(text, key="copy").kind in {"duplicate", "same"}
    assert rows(db, schema.claims) == 1
    assert rows(db, schema.sightings) == 3


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


def test_copies_are_found_by_one_call_however_many_documents_it_has(
    blocks: Callable[..., Index],
) -> None:
    index, chance = blocks(), random.Random(1)
    stored, *others = ([chance.getrandbits(128) for _ in range(50)] for _ in range(4))
    index.claim_many({"fingerprint": one, "key": str(one)} for one in stored)
    copied = [*chain(*others), *stored, *others[0]]
    documents = [index.document(one, key=str(n)) for n, one in enumerate(copied)]
    kinds = [verdict.kind for verdict in index.execute(documents)]
    assert kinds == ["unique"] * 150 + ["duplicate"] * 100


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


@pytest.mark.parametrize("content", [None, "", "!!!", "one"])
def test_what_has_no_fingerprint_is_never_claimed(db: Database, content: str | None) -> None:
    index = Index(db)
    for _ in range(2):
        verdict = index.claim(content, key="a")
        assert verdict.kind == "skipped"
        assert verdict.reason == "no_text"
    assert len(index) == 0


def test_skipped_documents_keep_their_place_in_a_batch(db: Database) -> None:
    given_ = [
        {"text": text, "key": str(n)} for n, text in enumerate(["", article(1), "", article(1)])
    ]
    kinds = [verdict.kind for verdict in Index(db).claim_many(given_)]
    assert kinds == ["skipped", "unique", "skipped", "duplicate"]


# Bare fingerprints


def test_bands_refuse_a_bare_fingerprint(db: Database) -> None:
    with pytest.raises(
        TypeError, match="pass the text, or open the index with candidates='blocks'"
    ):
        Index(db).claim(5, key="a")


@pytest.mark.parametrize("fingerprint", [-1, 2**128])
def test_a_fingerprint_of_another_width_is_refused(
    blocks: Callable[..., Index], fingerprint: int
) -> None:
    with pytest.raises(ValueError, match=r"allowed is 0 to 2\*\*128 - 1"):
        blocks().claim(fingerprint, key="a")


def test_what_is_neither_text_nor_fingerprint_is_refused(db: Database) -> None:
    with pytest.raises(TypeError, match="a text or a fingerprint is wanted"):
        Index(db).claim(b"bytes", key="a")  # type: ignore[arg-type]


def test_the_highest_bits_survive_storing(blocks: Callable[..., Index]) -> None:
    """No engine may take a fingerprint or a key for a signed or a rounded number."""
    index = blocks(rule=Rule(distance=0))
    for number in (2**128 - 1, 2**127, 2**64 - 1, 2**63, 2**53 + 1, 0):
        assert index.claim(number, key=f"a {number}").kind == "unique"
        assert index.claim(number, key=f"b {number}").match.distance == 0


def test_fingerprints_of_other_widths(db: Database) -> None:
    for bits in (1, 8, 64, 100, 160):
        scheme = load_scheme("keywords", {"bits": bits, "hash": "sha1"})
        index = Index(db, namespace=str(bits), rule=Rule(scheme=scheme, distance=0))
        assert index.claim(2**bits - 1, key="a").kind == "unique"
        assert index.claim(2**bits - 1, key="b").kind == "duplicate"
        assert index.claim(0, key="c").kind == "unique"


# Many indexes


def test_namespaces_are_apart(db: Database) -> None:
    one, two = Index(db, namespace="one"), Index(db, namespace="One")
    assert one.claim(article(1), key="a").kind == "unique"
    assert two.claim(article(1), key="a").kind == "unique"
    assert (len(one), len(two)) == (1, 1)


def test_a_namespace_may_be_called_anything(db: Database) -> None:
    for name in ("例子", "a'; DROP TABLE simhash_claims; --", "😀" * 255, " ", "😀"):
        with Index(db, namespace=name) as index:
            index.confirm(index.claim(article(1), key="a"))
        assert Index(db, namespace=name).claim(article(1), key="b").kind == "duplicate"


def test_another_scheme_is_refused(db: Database) -> None:
    Index(db, namespace="news").claim(article(1), key="a")
    with pytest.raises(FingerprintMismatch, match=r"'news'.*shingles/2.*keywords/1.*reset"):
        Index(db, namespace="news", rule=Rule(scheme=load_scheme("keywords"), distance=3))


def test_other_kinds_of_keys_are_refused(db: Database) -> None:
    Index(db, namespace="news")
    with pytest.raises(FingerprintMismatch, match=r"'news'.*bands.*blocks"):
        Index(db, namespace="news", candidates="blocks", rule=Rule(distance=3))


@pytest.mark.parametrize(
    ("rule", "candidates", "complaint"),
    [
        ({"similarity": 0.5}, "auto", "0.7"),
        ({"distance": 65}, "auto", "0 to 64"),
        ({"distance": -1}, "auto", "0 to 64"),
        ({}, "trees", "'auto', 'bands', 'blocks'"),
        ({"distance": 3}, "bands", "not a distance"),
        ({"scheme": SimpleNamespace(id="mine/1", bits=64)}, "auto", "a distance is needed"),
    ],
)
def test_an_argument_out_of_range_is_refused(
    db: Database, rule: dict[str, Any], candidates: Any, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        Index(db, rule=Rule(**rule), candidates=candidates)


def test_texts_and_urls_of_any_characters_are_kept(db: Database) -> None:
    index = Index(db)
    url = "https://example.com/\0\ud800/例/" + "x" * 5000
    text = f"\0 \ud800 😀 {article(1)}"
    index.claim(text, key=url, url=url)
    match = index.claim(text, key="b").match
    assert match.url == url.replace("\0", "\ufffd").replace("\ud800", "?")

"""Claims, on every engine that there is a server of."""

from __future__ import annotations

import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from servers import ENGINES, cleared_database, empty_database
from sqlalchemy import event, func, select
from sqlalchemy.exc import OperationalError

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import CompiledStatement
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import IndexUnavailable, SchemeMismatch
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.reader import CROWD
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.upkeep import (
    expire_claims,
    expire_duplicates,
    rebuild_keys,
    reset_namespace,
)
from scrapy_simhash.index.verdict import Claim, Document, Duplicate
from scrapy_simhash.keys.blocks import Blocks
from scrapy_simhash.simhash.scheme import Sketch, load_scheme

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Table

pytestmark = pytest.mark.parametrize("engine", ENGINES)

BITS = 128
fingerprints = st.integers(0, 2**BITS - 1)

# What one drawn example leaves behind is in a namespace of its own.
shared = settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def db(engine: str, tmp_path: Path) -> Iterator[Database]:
    opened = Database(cleared_database(engine, tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def blocks(db: Database) -> Callable[..., Index]:
    """Opens an index that takes bare fingerprints."""
    names = iter(range(1_000_000))

    def open_(**arguments: Any) -> Index:
        arguments.setdefault("namespace", f"blocks {next(names)}")
        arguments.setdefault("distance", 3)
        return Index(db, candidates="blocks", **arguments)

    return open_


def article(seed: int, words: int = 120) -> str:
    rng = random.Random(seed)
    return " ".join(f"word{rng.randrange(5000)}" for _ in range(words))


def edited(text: str) -> str:
    """With one word in the middle changed: a similarity of about .97."""
    words = text.split()
    words[len(words) // 2] = "changed"
    return " ".join(words)


def flipped(fingerprint: int, bits: int, seed: int = 0) -> int:
    for bit in random.Random(seed).sample(range(BITS), bits):
        fingerprint ^= 1 << bit
    return fingerprint


def rows(db: Database, table: Table) -> int:
    return db.read(lambda connection: connection.scalar(select(func.count()).select_from(table)))


def assert_no_trace(db: Database) -> None:
    for table in (schema.claims, schema.keys, schema.texts):
        assert rows(db, table) == 0, table.name


# Claims


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
    assert 0 < again.match.distance <= index.lookup.limit
    assert 0.9 < again.match.similarity < 1
    assert len(index) == 1


def test_a_different_text_is_unique(db: Database) -> None:
    index = Index(db)
    verdicts = index.claim_many([{"text": article(n), "key": str(n)} for n in range(150)])
    assert [verdict.kind for verdict in verdicts] == ["unique"] * 150
    assert len(index) == 150
    assert len({verdict.claim.id for verdict in verdicts if verdict.claim}) == 150


def test_verdicts_of_many_claims_stand_in_their_order(db: Database) -> None:
    index = Index(db)
    texts = [article(n // 2) for n in range(200)]
    verdicts = index.claim_many([{"text": text, "key": str(n)} for n, text in enumerate(texts)])
    assert [verdict.kind for verdict in verdicts] == ["unique", "duplicate"] * 100
    assert [verdict.match.key for verdict in verdicts[1::2] if verdict.match] == [
        str(n) for n in range(0, 200, 2)
    ]


def test_a_released_claim_leaves_no_trace(db: Database) -> None:
    index = Index(db)
    first = index.claim(article(1), key="a")
    index.release(first)
    assert_no_trace(db)
    assert len(index) == 0
    assert index.claim(article(1), key="b").kind == "unique"


def test_releasing_twice_is_releasing_once(db: Database) -> None:
    index = Index(db)
    first, second = index.claim(article(1), key="a"), index.claim(article(2), key="b")
    index.release(first)
    index.release(first)
    assert len(index) == 1
    assert index.claim(article(2), key="c").match.claim == second.claim.id


def test_a_match_says_whether_it_is_stored(db: Database) -> None:
    index = Index(db)
    first = index.claim(article(1), key="a")
    assert index.claim(article(1), key="b").match.pending
    index.confirm(first)
    assert not index.claim(article(1), key="b").match.pending


def test_what_is_confirmed_after_its_claim_was_lost_is_claimed_again(db: Database) -> None:
    """Somebody who took the run for dead released it; but its item was stored after all."""
    index = Index(db)
    first = index.claim(article(1), key="a")
    index.release(first)
    index.confirm(first)
    met = index.claim(edited(article(1)), key="b")
    assert met.kind == "duplicate"
    assert not met.match.pending
    index.confirm(first)
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


def test_nearest_lists_claims_by_distance_and_claims_nothing(blocks: Callable[..., Index]) -> None:
    index = blocks(distance=2)
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


# Distances


@pytest.mark.parametrize("k", [0, 1, 3, 6, 8])
def test_a_distance_of_k_is_found_and_one_more_is_not(blocks: Callable[..., Index], k: int) -> None:
    index = blocks(distance=k)
    rng = random.Random(k)
    for seed in range(20):
        base = rng.getrandbits(BITS)
        assert index.claim(base, key=f"base {seed}").kind == "unique"
        found = index.claim(flipped(base, k, seed), key=f"near {seed}")
        assert found.kind == "duplicate"
        assert found.match.distance == k
        assert index.claim(flipped(base, k + 1, seed), key=f"far {seed}").kind == "unique"


def test_every_pair_within_the_distance_is_found(blocks: Callable[..., Index]) -> None:
    """Against comparing each with each, with fingerprints that lie close together."""

    @shared
    @given(st.lists(st.tuples(st.sampled_from([0, 2**128 - 1, 2**64]), st.sets(st.integers(0, 127),
           max_size=6)), min_size=2, max_size=40), st.integers(0, 8))  # fmt: skip
    def check(drawn: list[tuple[int, set[int]]], k: int) -> None:
        given_ = [base ^ sum(1 << bit for bit in bits) for base, bits in drawn]
        index = blocks(distance=k)
        kept: list[int] = []
        for fingerprint in given_:
            verdict = index.claim(fingerprint, key=str(len(kept)))
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
        index = blocks(distance=2)
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
    index = Index(db, similarity=1)
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


def test_of_few_features_only_an_equal_fingerprint_counts(db: Database) -> None:
    index = Index(db, similarity=0.7)
    short = "seven words that hardly say much here"
    index.claim(short, key="a")
    assert index.claim(short.upper(), key="b").kind == "duplicate"
    sketch = index.scheme.sketch(short)
    assert sketch.size < 8
    near = Sketch(sketch.fingerprint ^ 1, sketch.size, sketch.shingles)
    assert index.execute([Document(near, "c")])[0].kind == "unique"
    assert index.execute([Document(Sketch(near.fingerprint ^ 2, 8, near.shingles), "d")])[
        0
    ].kind == ("unique")


def test_of_eight_features_a_distance_counts(db: Database) -> None:
    index = Index(db, similarity=0.7)
    sketch = index.scheme.sketch("nine words that just about say enough right here")
    assert sketch.size == 8
    index.execute([Document(sketch, "a")])
    near = Sketch(sketch.fingerprint ^ 1, sketch.size, sketch.shingles)
    assert index.execute([Document(near, "b")])[0].kind == "duplicate"


def test_skipped_documents_keep_their_place_in_a_batch(db: Database) -> None:
    given_ = [
        {"text": text, "key": str(n)} for n, text in enumerate(["", article(1), "", article(1)])
    ]
    kinds = [verdict.kind for verdict in Index(db).claim_many(given_)]
    assert kinds == ["skipped", "unique", "skipped", "duplicate"]


# Bare fingerprints


def test_bands_refuse_a_bare_fingerprint(db: Database) -> None:
    with pytest.raises(
        TypeError, match="give the text, or open the index with candidates='blocks'"
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
    index = blocks(distance=0)
    for number in (2**128 - 1, 2**127, 2**64 - 1, 2**63, 2**53 + 1, 0):
        assert index.claim(number, key=f"a {number}").kind == "unique"
        assert index.claim(number, key=f"b {number}").match.distance == 0


def test_fingerprints_of_other_widths(db: Database) -> None:
    for bits in (1, 8, 64, 100, 160):
        scheme = load_scheme("keywords", {"bits": bits, "hash": "sha1"})
        index = Index(db, namespace=str(bits), scheme=scheme, distance=0)
        assert index.claim(2**bits - 1, key="a").kind == "unique"
        assert index.claim(2**bits - 1, key="b").kind == "duplicate"
        assert index.claim(0, key="c").kind == "unique"


# Owners


def claim_version(
    index: Index, text: str, key: str = "a", visit: int = 1, position: int = 0
) -> Any:
    document = Document(index.scheme.sketch(text), key, visit=visit, position=position, text=text)
    return index.execute([document])[0]


def test_an_owners_own_version_is_the_same_and_not_a_duplicate(db: Database) -> None:
    index = Index(db)
    first = claim_version(index, article(1), visit=1)
    index.confirm(first)
    again = claim_version(index, article(1), visit=2)
    assert again.kind == "same"
    assert again.match.claim == first.claim.id
    assert again.claim is None, "nothing new is to be remembered"
    changed = claim_version(index, edited(article(1)), visit=3)
    assert changed.kind == "same"
    assert changed.claim is not None


def test_an_unstored_own_version_is_claimed_again(db: Database) -> None:
    """Otherwise a release of the first would leave the second, stored one without any claim."""
    index = Index(db)
    first = claim_version(index, article(1), visit=1)
    again = claim_version(index, article(1), visit=2)
    assert again.kind == "same"
    assert again.claim is not None
    index.confirm(again)
    index.release(first)
    assert index.claim(article(1), key="b").kind == "duplicate"


def test_with_drop_only_a_changed_version_is_claimed(db: Database) -> None:
    index = Index(db, same_url="drop")
    index.confirm(claim_version(index, article(1), visit=1))
    assert claim_version(index, article(1), visit=2).claim is None
    assert claim_version(index, edited(article(1)), visit=2).claim is None
    other = claim_version(index, article(2), visit=3)
    assert other.kind == "unique"
    assert other.claim is not None


def drift(steps: int) -> list[str]:
    """Versions each of which is near the one before, and the last nothing like the first."""
    words = article(1, 200).split()
    versions = []
    for step in range(steps):
        words[step * 8 : step * 8 + 4] = [f"new{step}{n}" for n in range(4)]
        versions.append(" ".join(words))
    return versions


@pytest.mark.parametrize("same_url", ["pass", "drop"])
def test_a_page_that_drifts_is_the_same_at_every_step(db: Database, same_url: Any) -> None:
    index = Index(db, same_url=same_url, similarity=0.8)
    versions = drift(20)
    kinds = []
    for visit, text in enumerate(versions):
        verdict = claim_version(index, text, visit=visit)
        kinds.append(verdict.kind)
        index.confirm(verdict)
    assert kinds[0] == "unique"
    if same_url == "pass":
        assert set(kinds[1:]) == {"same"}
    else:
        # What was left out was near what is stored, so a step too far is claimed anew.
        assert "unique" in kinds[1:]
        assert "same" in kinds[1:]
    assert index.claim(versions[-1], key="b").kind == "duplicate"


def test_a_return_to_a_version_before_the_last_is_not_unchanged(db: Database) -> None:
    """With drop, what is stored last decides: a page that goes back has changed again."""
    index = Index(db, same_url="drop")
    for visit, text in enumerate([article(1), article(2)]):
        index.confirm(claim_version(index, text, visit=visit))
    back = claim_version(index, article(1), visit=3)
    assert back.kind == "same"
    assert back.claim is not None


def test_two_equal_items_of_one_visit_are_duplicates(db: Database) -> None:
    index = Index(db)
    assert claim_version(index, article(1), visit=7, position=0).kind == "unique"
    assert claim_version(index, article(1), visit=7, position=1).kind == "duplicate"


def test_visits_of_two_owners_have_nothing_to_do_with_each_other(db: Database) -> None:
    index = Index(db)
    assert claim_version(index, article(1), key="a", visit=1).kind == "unique"
    assert claim_version(index, article(1), key="b", visit=1).kind == "duplicate"


def test_the_own_version_wins_over_a_nearer_page(db: Database) -> None:
    index = Index(db)
    index.confirm(claim_version(index, article(1), visit=1))
    index.confirm(claim_version(index, edited(edited(article(1))), key="b", visit=1))
    assert claim_version(index, edited(article(1)), visit=2).kind == "same"


# Many indexes


def test_namespaces_are_apart(db: Database) -> None:
    one, two = Index(db, namespace="one"), Index(db, namespace="One")
    assert one.claim(article(1), key="a").kind == "unique"
    assert two.claim(article(1), key="a").kind == "unique"
    assert (len(one), len(two)) == (1, 1)


@pytest.mark.parametrize("name", ["", "x" * 256])
def test_a_namespace_has_a_name_of_a_sensible_length(db: Database, name: str) -> None:
    with pytest.raises(ValueError, match="1 to 255 characters"):
        Index(db, namespace=name)


def test_a_namespace_may_be_called_anything(db: Database) -> None:
    for name in ("例子", "a'; DROP TABLE simhash_claims; --", "x" * 255, " ", "😀"):
        assert Index(db, namespace=name).claim(article(1), key="a").kind == "unique"
        assert Index(db, namespace=name).claim(article(1), key="b").kind == "duplicate"


def test_another_scheme_is_refused(db: Database) -> None:
    Index(db, namespace="news").claim(article(1), key="a")
    with pytest.raises(SchemeMismatch, match=r"'news'.*shingles/1.*keywords/1.*reset"):
        Index(db, namespace="news", scheme="keywords", distance=3)


def test_other_kinds_of_keys_are_refused(db: Database) -> None:
    Index(db, namespace="news")
    with pytest.raises(SchemeMismatch, match=r"'news'.*bands.*blocks"):
        Index(db, namespace="news", candidates="blocks", distance=3)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"similarity": 0.5}, "0.7"),
        ({"distance": 65}, "0 to 64"),
        ({"distance": -1}, "0 to 64"),
        ({"candidates": "trees"}, "'auto', 'bands', 'blocks'"),
        ({"candidates": "bands", "distance": 3}, "not a distance"),
        ({"scheme": SimpleNamespace(id="mine/1", bits=64)}, "a distance is wanted"),
    ],
)
def test_an_argument_out_of_range_is_refused(
    db: Database, arguments: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        Index(db, **arguments)


def test_texts_and_urls_of_any_characters_are_kept(db: Database) -> None:
    index = Index(db)
    url = "https://example.com/\0\ud800/例/" + "x" * 5000
    text = f"\0 \ud800 😀 {article(1)}"
    index.claim(text, key=url, url=url)
    match = index.claim(text, key="b").match
    assert match.url == url.replace("\0", "\ufffd").replace("\ud800", "?")


# Transactions


def fail_after_commit(db: Database, error: BaseException) -> list[int]:
    """Let the next commit succeed and its answer be lost; returns a list of how often it was."""
    lost: list[int] = []
    do_commit = db.engine.dialect.do_commit

    def commit(connection: Any) -> None:
        do_commit(connection)
        if not lost:
            lost.append(1)
            raise error

    db.engine.dialect.do_commit = commit  # type: ignore[method-assign]
    return lost


def lost_connection(db: Database) -> Exception:
    """The driver's own error of a connection that broke."""
    driver = db.engine.dialect.loaded_dbapi
    if db.dialect == "sqlite":
        error = driver.OperationalError("database is locked")
        error.sqlite_errorcode = 5
        return error
    if db.dialect == "postgresql":
        error = driver.OperationalError("server closed the connection unexpectedly")
        error.sqlstate = "08006"
        return error
    return driver.OperationalError(2013, "Lost connection to server during query")


def test_a_batch_whose_commit_was_answered_by_silence_is_not_its_own_duplicate(
    db: Database,
) -> None:
    index = Index(db)
    index.claim(article(0), key="old")
    lost = fail_after_commit(db, lost_connection(db))
    texts = [article(1), article(1), article(0), article(2)]
    verdicts = index.claim_many({"text": text, "key": str(n)} for n, text in enumerate(texts))
    assert lost
    assert [verdict.kind for verdict in verdicts] == ["unique", "duplicate", "duplicate", "unique"]
    assert verdicts[1].match.key == "0"
    assert len(index) == 3
    index.release(verdicts[0], verdicts[3])
    assert len(index) == 1
    assert rows(db, schema.claims) == 1


def test_an_own_version_whose_commit_was_answered_by_silence_is_still_the_same(
    db: Database,
) -> None:
    index = Index(db)
    index.confirm(claim_version(index, article(1), visit=1))
    lost = fail_after_commit(db, lost_connection(db))
    again = claim_version(index, edited(article(1)), visit=2)
    assert lost
    assert again.kind == "same"
    assert again.claim is not None
    assert len(index) == 2


def test_a_duplicate_whose_commit_was_answered_by_silence_is_kept_once(db: Database) -> None:
    index = Index(db)
    match = remember(index, 1)
    lost = fail_after_commit(db, lost_connection(db))
    remember(index, 2, match)
    assert lost
    assert rows(db, schema.duplicates) == 2


def test_a_refused_transaction_leaves_nothing(db: Database) -> None:
    index = Index(db)
    index.run  # noqa: B018 - opened before its statements are made to fail

    @event.listens_for(db.engine, "before_cursor_execute")
    def refuse(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith("INSERT INTO simhash_texts"):
            raise OperationalError(
                statement, None, db.engine.dialect.loaded_dbapi.DatabaseError("refused")
            )

    with pytest.raises(IndexUnavailable):
        index.claim(article(1), key="a")
    event.remove(db.engine, "before_cursor_execute", refuse)
    assert_no_trace(db)
    assert index.claim(article(1), key="a").kind == "unique"


def claim_the_same(url: str) -> list[str]:
    """In a process of its own."""
    barrier.wait()
    with Index(url, namespace="race", timeout=30) as index:
        texts = [article(n) for n in range(100)]
        verdicts = index.claim_many({"text": text, "key": str(random.random())} for text in texts)
        index.confirm(*verdicts)
    return [verdict.kind for verdict in verdicts]


def set_barrier(given_: Any) -> None:
    global barrier  # noqa: PLW0603 - what processes share can be handed to them at their start only
    barrier = given_


def test_processes_that_start_at_once_on_an_empty_database_never_both_claim(
    engine: str, tmp_path: Path
) -> None:
    """None fails for making the tables, or the namespace, at the same moment as another."""
    spawn = multiprocessing.get_context("spawn")
    with (
        empty_database(engine, tmp_path) as url,
        ProcessPoolExecutor(4, spawn, set_barrier, (spawn.Barrier(4),)) as pool,
    ):
        answers = list(pool.map(claim_the_same, [str(url)] * 4))
    for verdicts in zip(*answers, strict=True):
        assert sorted(verdicts) == ["duplicate"] * 3 + ["unique"]


# Crowded bands


def same_template(db: Database, pages: int) -> tuple[Index, list[Document]]:
    """Pages that share every band although nothing else is alike about them."""
    index = Index(db)
    shingles = index.scheme.sketch(article(0)).shingles
    rng = random.Random(0)
    documents = [
        Document(Sketch(rng.getrandbits(BITS), 119, shingles), f"page {number}")
        for number in range(pages)
    ]
    for start in range(0, pages, 10):
        index.execute(claims=documents[start : start + 10])
    return index, documents


def test_a_template_does_not_make_every_claim_read_all_of_its_pages(db: Database) -> None:
    index, documents = same_template(db, CROWD + 100)
    assert len(index) == len(documents)
    most = CROWD + 10
    assert rows(db, schema.keys) <= most * index.lookup.keys.slots + len(documents)
    assert index.lookup.counts.exact_only >= 90
    before = index.lookup.counts.candidates
    index.execute(claims=[Document(documents[0].sketch, "copy")])
    assert index.lookup.counts.candidates - before <= most


def test_an_exact_copy_of_a_page_in_a_crowd_is_found(db: Database) -> None:
    index, documents = same_template(db, CROWD + 60)
    for number in (0, CROWD - 1, CROWD + 20, CROWD + 59):
        copy = Document(documents[number].sketch, f"copy {number}")
        verdict = index.execute(claims=[copy])[0]
        assert verdict.kind == "duplicate"
        assert verdict.match.key == f"page {number}"


def test_a_released_page_of_a_crowd_leaves_no_trace(db: Database) -> None:
    index, documents = same_template(db, CROWD + 20)
    shared_bands = [Claim(row.id, row._asdict()) for row in stored_claims(db)]
    index.execute(release=shared_bands)
    assert_no_trace(db)
    assert index.execute(claims=documents[-1:])[0].kind == "unique"


def stored_claims(db: Database) -> list[Any]:
    return db.read(lambda connection: list(connection.execute(select(schema.claims))))


def test_what_has_a_band_of_its_own_is_still_found_in_a_crowd(db: Database) -> None:
    index, _ = same_template(db, CROWD + 20)
    own = f"{article(0)} {article(1, 25)}"
    assert index.claim(own, key="own").kind == "unique"
    assert index.lookup.counts.crowded > index.lookup.counts.exact_only
    assert index.claim(edited(own), key="copy").match.key == "own"


# Other keys


def test_the_keys_of_a_namespace_are_those_it_was_made_with(db: Database) -> None:
    first = Index(db, namespace="one", candidates="blocks", distance=3, expected_size=100)
    first.claim(7, key="a")
    again = Index(db, namespace="one", candidates="blocks", distance=9, expected_size=10**9)
    assert again.lookup.keys == first.lookup.keys
    assert again.claim(flipped(7, 9), key="b").kind == "duplicate"


def test_keys_are_chosen_by_the_expected_size(db: Database) -> None:
    plans = {
        Index(
            db, namespace=str(size), candidates="blocks", distance=8, expected_size=size
        ).lookup.keys.id
        for size in (1000, 10**9)
    }
    assert len(plans) == 2


def test_bands_for_more_alike_pages_are_taken_with_a_warning(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    Index(db, similarity=1)
    assert not caplog.records
    assert Index(db, similarity=0.8).lookup.keys.id == Index(db, similarity=1).lookup.keys.id
    assert "found. Reset the namespace" in caplog.text


def test_more_candidates_than_planned_are_told_once(
    db: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_simhash.index.lookup._ENOUGH_CLAIMS", 300)
    monkeypatch.setattr("scrapy_simhash.index.lookup._FEW_CANDIDATES", 1.0)
    index = Index(db, candidates="blocks", distance=3, expected_size=100, text_budget=0)
    # One block is the same in all of them.
    index.claim_many({"fingerprint": n << 64, "key": str(n)} for n in range(0, 1000 * 16, 16))
    assert caplog.text.count("scrapy simhash rebuild") == 1


def rekeyed(db: Database) -> set[int]:
    """The slots that have keys."""
    return db.read(lambda c: set(c.scalars(select(schema.keys.c.slot).distinct())))


def test_keys_are_made_anew_while_others_claim(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has the old keys finds everything before, and after, and is found."""
    monkeypatch.setattr("scrapy_simhash.index.upkeep._CHUNK", 20)
    index = Index(db, candidates="blocks", distance=3)
    rng = random.Random(1)
    base = [rng.getrandbits(BITS) for _ in range(110)]
    verdicts = index.claim_many({"fingerprint": n, "key": str(n)} for n in base[:100])
    other = Index(db, candidates="blocks", distance=3)
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))
        if len(seen) == 2:
            other.release(verdicts[0], verdicts[99])
            assert other.claim(base[100], key="new").kind == "unique"
            for number in (1, 50, 98, 100):
                assert other.claim(flipped(base[number], 3), key="copy").kind == "duplicate"

    plan = Blocks((22, 21, 21))
    assert index.lookup.keys != plan
    assert rebuild_keys(index, plan, progress) == plan
    assert seen[0] == (20, 100)
    assert seen[-1][0] >= 99
    for user in (index, other, Index(db, candidates="blocks", distance=3)):
        for number in (1, 50, 98, 100):
            assert user.nearest(base[number])[0].distance == 0
            assert user.claim(flipped(base[number], 3), key="copy").kind == "duplicate"
        assert user.lookup.keys == plan
        assert user.nearest(base[0], limit=1) == [] or user.nearest(base[0])[0].distance > 3
    assert other.claim(base[0], key="again").kind == "unique"
    assert len(rekeyed(db)) == 3
    assert rows(db, schema.keys) == 3 * len(index)
    index.release(*verdicts)
    assert rows(db, schema.keys) == 3 * len(index)


def test_making_keys_anew_goes_on_where_it_was_interrupted(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_simhash.index.upkeep._CHUNK", 20)
    index = Index(db, candidates="blocks", distance=3)
    rng = random.Random(1)
    base = [rng.getrandbits(BITS) for _ in range(100)]
    index.claim_many({"fingerprint": n, "key": str(n)} for n in base)

    def interrupt(done: int, _total: int) -> None:
        if done >= 40:
            raise KeyboardInterrupt

    plan = Blocks((22, 21, 21))
    with pytest.raises(KeyboardInterrupt):
        rebuild_keys(index, plan, interrupt)
    seen: list[int] = []
    rebuild_keys(
        Index(db, candidates="blocks", distance=3), plan, lambda done, _: seen.append(done)
    )
    assert seen[0] == 60
    with pytest.raises(KeyboardInterrupt):
        rebuild_keys(index, Blocks((32, 32)), interrupt)
    again = Blocks((30, 30))
    assert rebuild_keys(index, again) == again, "of another plan that was given up nothing stays"
    assert rows(db, schema.keys) == 2 * len(index)
    assert index.claim(flipped(base[50], 3), key="copy").kind == "duplicate"
    assert rebuild_keys(index, again) == again


def test_bands_are_not_made_anew(db: Database) -> None:
    with pytest.raises(TypeError, match="made of the texts"):
        rebuild_keys(Index(db))


# Other drivers


def test_a_driver_that_is_not_known_gets_everything_from_sqlalchemy(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def execute(self: CompiledStatement, connection: Any, parameters: Any) -> Any:
        return connection.execute(self._statement, parameters)

    monkeypatch.setattr(CompiledStatement, "run", execute)
    index = Index(db, text_budget=3000, item_budget=3000)
    verdicts = index.claim_many({"text": article(n), "key": str(n)} for n in range(70))
    match = remember(index, 1)
    for number in range(2, 6):
        remember(index, number, match)
    index.confirm(*verdicts)
    assert index.claim(edited(article(5)), key="copy").match.key == "5"
    assert rows(db, schema.duplicates) == 5
    index.release(*verdicts)
    assert len(index) == 0
    assert rows(db, schema.keys) == 0


# What is kept besides


def remember(index: Index, number: int, match: Any = None, item: bytes = b"x" * 1000) -> Any:
    if match is None:
        index.claim(article(0), key="a")
        match = index.claim(article(0), key="b").match
    document = index.document(article(0), key=f"copy {number}")
    index.execute(duplicates=[Duplicate(document, match, "drop", item, "dict")])
    return match


def test_a_duplicate_is_an_orphan_once_its_claim_is_released(db: Database) -> None:
    index = Index(db)
    first = index.claim(article(0), key="a")
    match = index.claim(article(0), key="b").match
    remember(index, 1, match)

    def orphans() -> list[bool]:
        return db.read(
            lambda connection: list(
                connection.scalars(
                    select(schema.duplicates.c.orphaned).order_by(schema.duplicates.c.id)
                )
            )
        )

    assert orphans() == [False]
    index.release(first)
    assert orphans() == [True]
    remember(index, 2, match)
    assert orphans() == [True, True], "its claim was gone before it was remembered"


def test_kept_items_stay_within_their_budget(db: Database) -> None:
    index = Index(db, item_budget=10_000)
    match = remember(index, 0)
    for number in range(1, 40):
        remember(index, number, match)
    kept = db.read(
        lambda connection: connection.execute(
            select(schema.duplicates.c.key, schema.duplicates.c.item).order_by(
                schema.duplicates.c.id
            )
        ).all()
    )
    with_item = [row.key for row in kept if row.item is not None]
    assert len(kept) == 40, "what was dropped is known, even where the item is not kept"
    assert 5 <= len(with_item) <= 10
    assert "copy 39" in with_item
    assert "copy 0" not in with_item


def texts_kept(db: Database) -> tuple[set[int], int]:
    def look(connection: Any) -> tuple[set[int], int]:
        found = connection.execute(select(schema.texts.c.claim, schema.texts.c.text)).all()
        return {row.claim for row in found}, sum(len(row.text) for row in found)

    return db.read(look)


def test_kept_texts_stay_within_their_budget_and_those_with_duplicates_stay_longest(
    db: Database,
) -> None:
    index = Index(db, text_budget=20_000)
    explained = index.claim(article(0), key="a")
    remember(index, 1, index.claim(article(0), key="b").match)
    for number in range(1, 100):
        index.claim(article(number), key=str(number))
        assert texts_kept(db)[1] <= 20_000
    kept, size = texts_kept(db)
    assert explained.claim.id in kept
    assert len(kept) > 10
    booked = db.read(
        lambda connection: connection.execute(
            select(schema.namespaces.c.text_bytes, schema.namespaces.c.size)
        ).one()
    )
    assert booked.text_bytes == size
    assert booked.size == 100


def test_no_text_is_kept_without_a_budget(db: Database) -> None:
    index = Index(db, text_budget=0)
    index.claim(article(1), key="a")
    assert rows(db, schema.texts) == 0


# Forgetting


def test_claims_older_than_asked_expire_unless_they_were_met_again(db: Database) -> None:
    index = Index(db, run=Run.open(db))
    now = db.now()
    index.confirm(claim_version(index, article(1), key="old"))
    index.confirm(claim_version(index, article(2), key="met again"))
    db.now = lambda: now + 1000  # type: ignore[method-assign]
    assert claim_version(index, article(2), key="met again", visit=2).kind == "same"
    index.claim(article(3), key="new")
    assert expire_claims(index, now + 500) == 1
    assert len(index) == 2
    kinds = [index.claim(article(n), key="other").kind for n in (1, 2, 3)]
    assert kinds == ["unique", "duplicate", "duplicate"]


def test_what_expired_leaves_no_orphans(db: Database) -> None:
    index = Index(db)
    remember(index, 1)
    assert expire_claims(index, db.now() + 1) == 1
    orphaned = db.read(lambda connection: connection.scalar(select(schema.duplicates.c.orphaned)))
    assert not orphaned


def test_drops_older_than_asked_are_forgotten_with_their_items_and_texts(db: Database) -> None:
    index = Index(db)
    remember(index, 1)
    assert expire_duplicates(index, db.now() - 1000) == 0
    assert rows(db, schema.duplicates) == 1
    assert expire_duplicates(index, db.now() + 1) == 1
    assert rows(db, schema.duplicates) == 0
    # The claim keeps its own text, and the books agree with what is there.
    assert rows(db, schema.texts) == len(index) == 1
    text = db.read(lambda connection: connection.scalar(select(func.length(schema.texts.c.text))))
    books = select(schema.namespaces.c.text_bytes, schema.namespaces.c.item_bytes)
    assert tuple(db.read(lambda connection: connection.execute(books).one())) == (text, 0)


def test_an_orphan_is_not_forgotten(db: Database) -> None:
    index = Index(db)
    first = index.claim(article(0), key="a")
    remember(index, 1, index.claim(article(0), key="b").match)
    index.release(first)
    assert expire_duplicates(index, db.now() + 1) == 0
    assert rows(db, schema.duplicates) == 1


def test_thousands_of_claims_expire(blocks: Callable[..., Index]) -> None:
    index = blocks(distance=0)
    index.claim_many({"fingerprint": n, "key": str(n)} for n in range(2100))
    assert expire_claims(index, index.database.now() + 1) == 2100
    assert len(index) == 0
    assert_no_trace(index.database)


def test_a_reset_forgets_one_namespace(db: Database) -> None:
    index, other = Index(db, namespace="one"), Index(db, namespace="two")
    remember(index, 1)
    other.claim(article(1), key="a")
    reset_namespace(db, "one")
    reset_namespace(db, "never made")
    again = Index(db, namespace="one")
    assert len(again) == 0
    assert len(other) == 1
    assert again.claim(article(0), key="a").kind == "unique"
    assert rows(db, schema.duplicates) == 0


def test_who_still_holds_a_namespace_that_was_reset_is_told(db: Database) -> None:
    """Its claims would be in a place where nobody looks."""
    index = Index(db, namespace="one")
    reset_namespace(db, "one")
    Index(db, namespace="one")
    with pytest.raises(IndexUnavailable, match="reset by somebody else"):
        index.claim(article(1), key="a")


def test_similarity_1_goes_on_finding_what_is_equal_where_its_only_band_is_crowded(
    db: Database,
) -> None:
    """Texts that differ in a few words of hundreds share their one band of 16 rows."""
    common = " ".join(f"w{number}" for number in range(300))
    texts = [f"{common} a{n} b{n} c{n} d{n}" for n in range(4 * CROWD)]
    index = Index(db, similarity=1)
    kinds = [index.claim(text, key=f"first {n}").kind for n, text in enumerate(texts)]
    assert kinds.count("unique") > 3 * CROWD
    assert index.lookup.counts.exact_only > CROWD
    again = {index.claim(text, key=f"again {n}").kind for n, text in enumerate(texts)}
    assert again == {"duplicate"}

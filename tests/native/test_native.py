"""The compiled core and the pure path make the same of everything."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrapy_simhash import native
from scrapy_simhash.features import shingles as shingling
from scrapy_simhash.features.changes import Changes
from scrapy_simhash.features.shingles import minhash, shingles
from scrapy_simhash.features.tokens import fold_table, tokens
from scrapy_simhash.keys import bands as banding
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.simhash.measure import common, jaccard
from scrapy_simhash.simhash.scheme import Sketch
from scrapy_simhash.simhash.shingles import Shingles
from scrapy_simhash.text.page import sketch as rest

try:
    COMPILED = import_module("scrapy_simhash.native._core")
except ModuleNotFoundError:
    COMPILED = None

needs_core = pytest.mark.skipif(COMPILED is None, reason="the core is not compiled here")


@contextmanager
def path(core):
    """Take the compiled core, or with None the pure path, whatever is in use otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "core", core)
        yield


def both(make):
    """What is made on the pure path and by the compiled core."""
    with path(None):
        pure = make()
    with path(COMPILED):
        return pure, make()


# Of all scripts, and of all that is folded in a way of its own.
characters = st.one_of(
    st.sampled_from("aA zé9_-.ß\n"),
    st.sampled_from("中文あア한Ａ，々\u3099\u0301\u00ad\u200b\u200d\ufe0f\ufeff"),
    st.sampled_from("\U00020000\U0003134a😀𝐀\U000e0101\U00010400\U0010ffff\U0001ffff\U0002f800"),
    st.sampled_from("กาน้ำ\u0e48ລາວ\u0eb3ខ្មែမြန်꧀ꦗ12★👍🏽"),
    st.sampled_from("\u1112\u1161\u11ab\u0915\u093c\u0958\u0344\u212b\u0041\u030a\u037e\u212a"),
    st.characters(),
    st.characters(categories=["Cs", "Mn", "So"]),
)
texts = st.text(characters, max_size=80)
# Long enough for full buckets, several windows and a released lock.
long_texts = st.builds(
    lambda parts, times, end: "".join(parts) * times + end,
    st.lists(texts, min_size=1, max_size=4),
    st.integers(1, 150),
    texts,
)
hashes = st.lists(
    st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 99), st.integers(2**64 - 99, 2**64 - 1)),
    max_size=300,
    unique=True,
).map(lambda chosen: np.array(sorted(chosen), np.uint64))


secrets = st.one_of(st.just(b""), st.binary(max_size=64))


@needs_core
@given(st.one_of(texts, long_texts), secrets)
@example("", b"")
@example("a", b"")
@example("a b", b"secret")
@example("\ud800 \udfff\ud800", b"")
@example("\u00ad\u200b", b"")
@example("e" + "\u0344\u0316" * 50, b"")
@settings(deadline=None)  # a long text takes the pure path long
def test_a_text_has_the_same_shingles_fingerprint_and_rest(text, secret):
    check_text(text, secret)


@needs_core
@pytest.mark.parametrize(
    "text",
    [
        "😀👍🏽 " * 9000,
        "e\u0301" * 9000,
        "กาน้ำ" * 9000,
        "a" * 40000 + " b " + "c" * 70000,
        "中" * 70000,
        "".join(map(chr, range(0x24000))),
    ],
    ids=["pictures", "accents", "thai", "long tokens", "one ideograph", "all characters"],
)
def test_a_huge_text_has_the_same_shingles_fingerprint_and_rest(text):
    check_text(text, b"secret")


def check_text(text, secret):
    pure, compiled = both(lambda: shingles(text, secret))
    assert pure.dtype == compiled.dtype
    assert pure.tolist() == compiled.tolist()
    pure, compiled = both(lambda: tokens(text))
    assert pure == compiled
    pure, compiled = both(lambda: Shingles().keyed(secret).sketch(text))
    assert (pure.fingerprint, pure.size) == (compiled.fingerprint, compiled.size)
    pure, compiled = both(lambda: rest(shingles(text, secret)))
    assert pure == compiled


few_words = st.lists(
    st.one_of(st.sampled_from(["a", "b", "c", "7", "中", "é", "กา", "ok"]), texts), max_size=30
).map(" ".join)


@needs_core
@given(few_words, few_words)
@example("a b c d e", "a b x d e")
@example("e\u0301 a b", "\u00e9 a c")
@example("a b " * 200, "b a " * 100)
@settings(deadline=None)
def test_two_texts_have_the_same_changes(new, old):
    for first, second in ((new, old), (new, new), (new + " x " + old, old + " x " + new)):
        pure, compiled = both(lambda: Changes.of(first, second))  # noqa: B023
        assert pure == compiled


def compared(new, old, least=0.0):
    """What the core says of a pair of documents with these texts."""
    words = [text.encode("utf-8", "replace") for text in (new, old)]
    sets = [shingles(text.decode()).tobytes() for text in words]
    sizes = [(0, len(one), len(one), len(other)) for one, other in (sets, words)]
    places = np.array([*sizes[0], *sizes[1]])
    found = COMPILED.compare(places, b"".join(sets), b"".join(words), fold_table(), least)
    return np.frombuffer(found, np.int64).tolist()


@needs_core
@given(few_words, few_words)
@example("a b c d e", "a b c 7 d e")
@example("١ a b c d e", "a b c d e")
@example("a ② b c d e", "a x b c d e")
@example("a 5 March b c d", "a 5 April b c d")
@example("a 12345 b c d", "a 54321 b c d")
@example("a x b c a x d e f a x g", "a y b c a y d e f a y g")
@settings(deadline=None)
def test_what_the_core_is_sure_of_holds(new, old):
    for first, second in ((new, old), (new, new), (new + " x " + old, old + " x " + new)):
        texts = [text.encode("utf-8", "replace").decode() for text in (first, second)]
        shared, sure = compared(first, second)
        assert [shared] == common(shingles(texts[0]), [shingles(texts[1])])
        with path(None):
            changes = Changes.of(*texts)
        reasons = [changes.replaces_reference(), changes.renames(), changes.replaces_passage()]
        assert sure not in (1, 2) or not any(reasons)
        assert sure != 2 or not changes.has_numbers


@needs_core
def test_most_copies_are_surely_such():
    text = " ".join(chr(97 + place % 26) * (place // 26 + 1) for place in range(200))
    assert compared(text, text.replace(" bb ", " new ").replace(" ccc ", " ")) == [195, 2]
    assert compared(text, "", 0.5) == [-1, 0]
    passage = text.replace(" bb cc dd ee ff gg hh ii jj kk ll mm ", " 12 others" + " x" * 12)
    assert compared(text, passage)[1] == compared(passage, text)[1] == 0
    assert compared(text, passage.replace("12 others" + " x" * 12, "some"))[1] == 2
    assert compared(text + " 7", text)[1] == compared(text + " 7", text + " 12345")[1] == 1
    assert compared(text + " 54321", text + " 12345")[1] == 0


@needs_core
@given(long_texts, st.integers(1, 9))
@settings(deadline=None)
def test_of_long_tokens_as_much_counts(text, window):
    shingling._powers(shingling._PUBLIC.base)  # the tables of Python, with the full window
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingling, "_WINDOW", window)
        pure, compiled = both(lambda: Shingles().sketch(text))
    assert pure.shingles.tolist() == compiled.shingles.tolist()
    assert pure.digest == compiled.digest


@needs_core
@given(hashes)
def test_hashes_have_the_same_sketch(chosen):
    pure, compiled = both(lambda: minhash(chosen))
    assert pure == compiled


@needs_core
@given(st.lists(texts | long_texts, max_size=9), st.binary(max_size=64))
@example(
    ["", "a", "a b", "e\u0301 f", "\ud800 g", "\u0344 h i", "★", " ".join(map(str, range(9999)))],
    b"",
)
def test_many_texts_have_the_sketches_that_each_has_alone(given_texts, secret):
    scheme = Shingles().keyed(secret)

    def sketches():
        made = scheme.sketch_all(given_texts)
        return [(one.fingerprint, one.size, one.digest, one.shingles.tolist()) for one in made]

    pure, compiled = both(sketches)
    assert pure == compiled
    alone = [scheme.sketch(text) for text in given_texts]
    assert [(one.fingerprint, one.size, one.digest, one.shingles.tolist()) for one in alone] == pure


@needs_core
@given(hashes, hashes, st.integers(0, 300), st.floats(0, 1))
def test_texts_have_the_same_similarity(one, other, shared, least):
    other = np.union1d(other, one[:shared])
    pure, compiled = both(lambda: common(one, [other, one[shared:], one], least))
    assert pure == compiled
    similarity = jaccard(one, other)
    if one.size and abs(similarity - least) > 1e-4:
        assert (pure[0] >= 0) == (similarity > least)
    assert jaccard(one[::2], other[::3]) == jaccard(one[::2].copy(), other[::3].copy())


@needs_core
@given(hashes.filter(len), st.sampled_from([(1, 1), (1, 16), (6, 6), (8, 4), (16, 4), (128, 4)]))
def test_hashes_have_the_same_bands(chosen, plan):
    sketch = Sketch(None, len(chosen), chosen)
    pure, compiled = both(lambda: Bands(*plan).keys(sketch))
    assert pure.dtype == compiled.dtype
    assert pure.tolist() == compiled.tolist()


@needs_core
@given(st.binary(min_size=1, max_size=999).filter(lambda data: len(data) >= 16))
def test_hashes_that_are_neither_sorted_nor_aligned_do_no_harm(data):
    whole = memoryview(data)[1:]
    whole = whole[: len(whole) // 8 * 8]
    assert len(COMPILED.minhash(whole)) == 256
    assert all(-1 <= one <= len(data) // 8 for one in COMPILED.common(whole, [data], 0.5))
    starts, orders, factors = banding._bins(12)
    assert len(COMPILED.bands(whole, starts, orders, factors, 3)) == 12


@needs_core
def test_many_shingles_that_somebody_has_brought_together_are_sorted():
    # One bucket takes them all: what the last letters of two long tokens change is chosen.
    table = np.arange(1 << 16, dtype=np.uint32)
    text = "".join(f"{chr(0x4E00 + at % 999)}{chr(0x4E00 + at // 999)}\0" for at in range(30000))
    (made,) = COMPILED.sketches((text.encode(),), table, False, (2**63 + 1, 0, 9), 0)
    found = np.frombuffer(made, np.uint64)[3:].tolist()
    assert found == sorted(set(found))
    assert len(found) > 1900


NUMBERS = np.arange(4, dtype=np.uint64)
TABLE = np.zeros(3, np.uint32)
HOW = (3, 5, 9)


@needs_core
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("sketches", ([b"a"], TABLE, True, HOW, 1)),
        ("sketches", ((b"a", None), TABLE, True, HOW, 1)),
        ("sketches", ((b"a",), TABLE, True, HOW, 1.5)),
        ("sketches", ((b"a",), TABLE, True, HOW)),
        ("sketches", ((b"a",), b"", True, HOW, 1)),
        ("sketches", ((b"a",), b"abc", True, HOW, 1)),
        ("sketches", (("a",), TABLE, True, HOW, 1)),
        ("sketches", ((b"a",), TABLE, True, HOW[1:], 1)),
        ("sketches", ((b"a",), TABLE[::2], True, HOW, 1)),
        ("sketches", ((b"a",), TABLE, True, (3, 5, -1), 1)),
        ("sketches", ((b"a",), TABLE, True, (3, 5, 0), 1)),
        ("sketches", ((b"a",), TABLE, True, (3, 5, -(2**63)), 1)),
        ("sketches", ((b"a",), TABLE, True, (3, 5, 2**63), 1)),
        ("sketches", ((b"a",), TABLE, True, (3, 5, None), 1)),
        ("sketches", ((b"a",), TABLE, True, None, 1)),
        ("sketches", ((b"a",), bytes(4 * 0x110001), True, HOW, 1)),
        ("sketches", ((b"a",), memoryview(bytes(9))[1:], True, HOW, 1)),
        ("tokens", ("a", b"abc", True)),
        ("tokens", (b"a", TABLE, True)),
        ("tokens", ("a", None, True)),
        ("tokens", (None, TABLE, True)),
        ("minhash", ("text",)),
        ("minhash", (None,)),
        ("minhash", ()),
        ("common", (NUMBERS,)),
        ("common", (NUMBERS, [NUMBERS[::2]], 0.5)),
        ("common", (NUMBERS, [NUMBERS], 1.5)),
        ("compare", (bytes(64), b"", b"", TABLE)),
        ("compare", (bytes(64), b"", b"", b"abc", 0.5)),
        ("compare", (bytes(64), b"", b"", TABLE, 1.5)),
        ("compare", (np.full(8, -1), NUMBERS, NUMBERS, TABLE, 0.5)),
        ("compare", (np.full(8, 2**62), NUMBERS, NUMBERS, TABLE, 0.5)),
        ("compare", (np.array([0, 0, 8, 8, 1, 0, 9999, 0]), NUMBERS, NUMBERS, TABLE, 0)),
        ("bands", (b"", NUMBERS, bytes(128), NUMBERS, 2)),
        ("bands", (NUMBERS, NUMBERS, bytes(120), NUMBERS, 2)),
        ("bands", (NUMBERS, NUMBERS, bytes(128), NUMBERS[1:], 2)),
        ("bands", (NUMBERS, NUMBERS, bytes(128), NUMBERS, 0)),
        ("bands", (NUMBERS, NUMBERS, bytes(128), NUMBERS, 5)),
        ("bands", (NUMBERS, NUMBERS, bytes(128), NUMBERS, -1)),
        ("bands", (NUMBERS, NUMBERS, bytes(128), NUMBERS, 2**63)),
        ("bands", (NUMBERS, b"", b"", b"", 1)),
        ("bands", (b"", b"", b"", b"", 0)),
        ("bands", (NUMBERS[3:], NUMBERS, b"\xff" * 128, NUMBERS, 2)),
        ("bands", (NUMBERS, bytes(8 * 513), bytes(8 * 513**2), bytes(8 * 513), 2)),
    ],
)
def test_arguments_that_can_not_be_are_an_error(name, arguments):
    with pytest.raises((TypeError, ValueError, BufferError, OverflowError)):
        getattr(COMPILED, name)(*arguments)


@needs_core
def test_several_threads_may_use_it_at_once():
    given = [f"{word} and more " * 4000 for word in ("one", "two", "three", "four")]
    with path(None):
        expected = [shingles(text).tolist() for text in given]
    made: list = [None] * len(given)

    def make(place):
        for _ in range(20):
            made[place] = shingles(given[place]).tolist()

    with path(COMPILED):
        threads = [threading.Thread(target=make, args=(place,)) for place in range(len(given))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert made == expected


# What is in use


def started(**environment):
    """What a new process uses, and its output."""
    code = "from scrapy_simhash import native; print(native.in_use)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SIMHASH_NATIVE": "1", **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip(), done.stderr


def test_the_environment_turns_it_off():
    assert started() == ("pure" if COMPILED is None else "compiled", "")
    assert started(SIMHASH_NATIVE="0") == ("pure", "")


@needs_core
@pytest.mark.parametrize(
    "broken",
    [
        {"minhash": lambda _: bytes(256)},
        {"bands": lambda *_: bytes(8)},
        {"common": lambda *_: 0},
        {"sketches": lambda *_: [b"", b""]},
        {"sketches": lambda *_: [None]},
        {"sketches": lambda texts, table: []},
    ],
)
def test_a_core_with_other_results_is_not_used_and_one_line_reports_it(broken, monkeypatch, caplog):
    monkeypatch.delenv("SIMHASH_NATIVE", raising=False)
    assert native._load() is COMPILED
    assert caplog.records == []
    for name, function in broken.items():
        monkeypatch.setattr(COMPILED, name, function)
    assert native._load() is None
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "Python code is" in record.getMessage()


@pytest.mark.parametrize("name", ["LIBXML_VERSION", "knows", "page", "elements"])
def test_a_core_that_was_built_from_an_older_checkout_is_not_used(name, monkeypatch, caplog):
    monkeypatch.delenv("SIMHASH_NATIVE", raising=False)
    monkeypatch.delattr(COMPILED, name)
    assert native._load() is None
    (record,) = caplog.records
    assert f"built from another version, without {name}" in record.getMessage()


def test_a_core_that_can_not_be_loaded_is_not_used_and_one_line_reports_it(monkeypatch, caplog):
    def fail(name):
        raise ImportError(f"{name}: wrong architecture")

    monkeypatch.delenv("SIMHASH_NATIVE", raising=False)
    monkeypatch.setattr(native, "import_module", fail)
    assert native._load() is None
    (record,) = caplog.records
    assert "wrong architecture" in record.getMessage()

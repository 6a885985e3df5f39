from __future__ import annotations

import tracemalloc
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import fold_table
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.features import shingles as shingling
from scrapy_simhash.features import tokens as features
from scrapy_simhash.features.shingles import mix64, shingle_names, shingles
from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.simhash.measure import jaccard

MASK = (1 << 64) - 1


@contextmanager
def window(size: int) -> Iterator[None]:
    """A small one; the tables of powers are made with the full one."""
    shingling._powers(shingling._PUBLIC.base)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingling, "_WINDOW", size)
        yield


def reference_tokens(text: str) -> list[list[int]]:
    """The tokens of a text, character by character, as the documentation defines."""
    codes = reference_codes(text)
    without = [0 if code & fold_table.SYMBOL else code for code in codes]
    codes = without if any(without) else codes
    tokens: list[list[int]] = []
    before = fold_table.SEPARATOR
    for code in codes:
        joins = before and (
            code >= fold_table.MARK or (code < fold_table.ALONE and before < fold_table.ALONE)
        )
        before = code
        if code & fold_table.SYMBOL:
            before = code ^ fold_table.SYMBOL | fold_table.ALONE
            tokens.append([before])
        elif code and joins:
            tokens[-1].append(code)
        elif code:
            tokens.append([code])
    return tokens


def reference_codes(text: str) -> list[int]:
    """What the table makes of each character that can be seen."""
    codes = []
    for character in unicodedata.normalize("NFC", text):
        point = ord(character)
        if point < 0x1FFFF:
            code = int(features.fold_table()[point]) & ~fold_table.COMPOSES
        elif 0x20000 <= point < 0x40000:
            code = point | fold_table.ALONE
        else:
            code = fold_table.INVISIBLE if 0xE0000 <= point < 0xE1000 else fold_table.SEPARATOR
        if code != fold_table.INVISIBLE:
            codes.append(code)
    return codes


def shingle_tokens(tokens: list[list[int]]) -> list[list[list[int]]]:
    """The tokens of each shingle: two, or four where the first one is a letter in a cluster."""
    return [
        tokens[at : at + (4 if tokens[at][0] >= fold_table.CLUSTER else 2)]
        for at in range(len(tokens) - 1)
    ]


def reference_shingles(text: str, secret: bytes) -> list[int]:
    """The same hashes without numpy's help: one token, one pair after the other."""
    base, pair = map(int, shingling._constants(secret))
    made = set()
    for shingle in shingle_tokens(reference_tokens(text)):
        hashes = [sum(code * base**i for i, code in enumerate(token)) for token in shingle]
        # What is missing at the end of the text counts as 0.
        length = 4 if shingle[0][0] >= fold_table.CLUSTER else 2
        value = 0
        for place in range(length):
            value = value * pair + (hashes[place] if place < len(hashes) else 0)
        made.add(value & MASK)
    return sorted(int(h) for h in mix64(np.array(list(made), np.uint64)))


# Letters of all kinds, digits, ideographs and kana, marks, invisible characters, lone surrogates.
characters = st.one_of(
    st.sampled_from("aA zé9_-.ß\n"),
    st.sampled_from("中文あア한Ａ，々\u3099\u0301\u00ad\u200b\u200d\ufe0f\ufeff"),
    st.sampled_from("\U00020000\U0003134a😀𝐀\U000e0101\U00010400\U0010ffff\U0001ffff\U0002f800"),
    st.sampled_from("กาน้ำ\u0e48ລາວ\u0eb3ខ្មែមြန်꧀ꦗ12★👍🏽"),
    st.sampled_from("\u1112\u1161\u11ab\u0915\u093c\u0958\u0344\u212b\u0041\u030a"),
    st.characters(),
    st.characters(categories=["Cs"]),
)
texts = st.text(characters, max_size=60)
secrets = st.one_of(st.just(b""), st.binary(min_size=1, max_size=64))


@given(texts, secrets)
def test_shingles_follow_the_definition(text: str, secret: bytes) -> None:
    assert shingles(text, secret).tolist() == reference_shingles(text, secret)


@given(secrets.filter(bool))
def test_no_hash_is_left_of_those_without_the_secret(secret: bytes) -> None:
    """Not even of single characters, whose token is the character itself without one."""
    texts = ("one two three four", "天地玄黄", "a b c d", "กาน้ำมันหนู", "👍🏽★")
    for text in texts:
        mine = shingles(text, secret).tolist()
        assert len(mine) == shingles(text).size
        for other in (b"", bytes([secret[0] ^ 1]) + secret[1:]):
            assert not set(mine) & set(shingles(text, other).tolist())
        assert sorted(shingle_names(text, secret).values()) == mine


def test_a_secret_leaves_hashes_evenly_spread() -> None:
    """As many differing bits between two secrets, and set bits, as chance gives."""
    text = " ".join(f"word{number}" for number in range(1001))
    for number in range(8):
        one, other = (shingles(text, bytes([number, turn])) for turn in (1, 2))
        assert one.size == other.size == 1000
        for hashes in (one, one ^ other[: one.size]):
            set_bits = np.unpackbits(hashes.view(np.uint8).reshape(-1, 8), axis=1).mean(axis=0)
            # The sorted order fixes the highest bits of both.
            assert np.abs(set_bits[:56] - 0.5).max() < 0.08


@given(texts)
def test_small_windows_change_nothing(text: str) -> None:
    """Long texts are hashed window by window; with a tiny window short texts are, too."""
    whole = shingles(text).tolist()
    longest = max((len(token) for token in reference_tokens(text)), default=0)
    with window(max(1, longest)):
        assert shingles(text).tolist() == whole


def test_token_longer_than_the_window_counts_up_to_it() -> None:
    with window(8):
        assert shingles("a" * 20 + " b c").tolist() == shingles("a" * 8 + " b c").tolist()
        assert shingles("b c " + "a" * 20).tolist() == shingles("b c " + "a" * 9).tolist()


words = st.sampled_from(["a", "b", "A", "ab", "aaaa", "aaab", "海", "ก", "กา", "★", "-", "\u00ad"])


@given(*[st.lists(st.tuples(words, st.sampled_from(["", " ", ". "]))).map(chain.from_iterable)] * 2)
def test_texts_have_equal_digests_if_and_only_if_their_tokens_are_equal(one, other) -> None:
    """Beyond the window, too, which is short here."""
    both = ["".join(one), "".join(other)]
    for part in (
        both,
        [f"{both[0]} {both[1]}", f"{both[1]} {both[0]}"],
        [both[0], both[0].upper()],
    ):
        with window(2):
            digests = [shingling.shingles_and_digest(text)[1] for text in part]
        first, second = (reference_tokens(text) for text in part)
        assert (digests[0] == digests[1]) == (first == second)


def test_fold_table_is_frozen() -> None:
    """A changed table is another scheme: other fingerprints for the same text."""
    table = features.fold_table()
    assert zlib.crc32(table.astype("<u4").tobytes()) == 0xE42516AE


def test_fold_table_follows_unicode() -> None:
    """Characters that Unicode added after the frozen version are separators."""
    table, built = features.fold_table(), fold_table.build()
    differing = np.flatnonzero(table != built)
    if unicodedata.unidata_version == "14.0.0":
        assert not differing.size
    assert not table[differing].any()


@given(texts)
def test_names_and_hashes_of_the_shingles_belong_together(text: str) -> None:
    def name(token: list[int]) -> str:
        return "".join(chr(code % fold_table.ALONE) for code in token)

    expected = reference_tokens(text)
    assert tokens(text) == list(map(name, expected))
    names = [" ".join(map(name, shingle)) for shingle in shingle_tokens(expected)]
    assert list(shingle_names(text)) == list(dict.fromkeys(names))
    assert sorted(shingle_names(text).values()) == shingles(text).tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World! 42x", ["hello", "world", "42x"]),
        ("don't snake_case e-mail", ["don", "t", "snake", "case", "e", "mail"]),
        ("我爱Python3语言", ["我", "爱", "python3", "语", "言"]),
        ("ＡＢＣ１２，“引号”", ["abc12", "引", "号"]),
        ("カタカナ ひらがな", list("カタカナひらがな")),
        ("ｶﾅ", ["カ", "ナ"]),
        ("안녕 하세요", list("안녕하세요")),
        ("CAFÉ cafe\u0301 naïve", ["café", "café", "naïve"]),
        ("Привет, мир", ["привет", "мир"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("Donau\u00addampf zu\u200bletzt", ["donaudampf", "zu", "letzt"]),
        ("❤\ufe0f ok 😀 👩\u200d💻", ["ok"]),
        ("𠀀𠀁x", ["𠀀", "𠀁", "x"]),
        ("𝐁𝐨𝐥𝐝 text", ["bold", "text"]),
        ("中\U000e0101文", ["中", "文"]),
        ("①② ½ İstanbul", ["12", "½", "istanbul"]),
        ("ใช้ python3ได้น้ำ๒๕", ["ใ", "ช้", "python3", "ไ", "ด้", "น้ำ", "๒๕"]),
        ("ພາສາລາວ", ["ພ", "າ", "ສ", "າ", "ລ", "າ", "ວ"]),
        ("ភាសា\u200bខ្មែរ", ["ភា", "សា", "ខ្", "មែ", "រ"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
        ("ꦗꦮ ᬩᬮᬶ", ["ꦗ", "ꦮ", "ᬩ", "ᬮᬶ"]),
        ("ꆈꌠ", ["ꆈ", "ꌠ"]),
        ("👍🏽❤\ufe0f 👩\u200d💻", ["👍", "🏽", "❤", "👩", "💻"]),
        ("★★☆ ©", ["★", "★", "☆", "©"]),
        ("← 2 ★ ने", ["2", "ने"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    "text", ["", "!!!", "  \n", "word", "。，、", "字", "\ud800", "😀", "ok 😀😀", "\u00ad"]
)
def test_fewer_than_two_tokens_have_no_shingle(text: str) -> None:
    assert shingles(text).size == 0


@pytest.mark.parametrize("text", ["中文 abc, " * 140_000, "x" * 1_000_000, "one two. " * 120_000])
def test_memory_of_a_long_text_is_bounded(text: str) -> None:
    shingles("warm up: the tables stay")
    tracemalloc.start()
    try:
        shingles(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 * len(text)


@given(st.integers(8, 120), st.data())
def test_how_much_one_word_is_of_a_short_text(size: int, data: st.DataObject) -> None:
    """The figures of docs/duplicates.md for texts of few shingles, at a similarity of .9."""
    words = [f"w{number}x" for number in range(size + 1)]
    place = data.draw(st.integers(1, size - 1))
    replaced = [*words[:place], "another", *words[place + 1 :]]
    text, other, longer = (
        shingles(" ".join(some)) for some in (words, replaced, [*words, "another"])
    )
    assert text.size == size
    assert (jaccard(text, other) >= 0.9) == (size >= 38)
    assert (jaccard(text, longer) >= 0.9) == (size >= 9)

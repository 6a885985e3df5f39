"""The worked examples of the literature on SimHash, and what other tools get wrong.

Where a document prints a slip, the right value is pinned and the slip named.
"""

from __future__ import annotations

import inspect
import json
import re
import shlex
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.classic.hashes import HASHES, load_hash
from scrapy_simhash.classic.scheme import Keywords, fingerprint_features
from scrapy_simhash.classic.weights import WEIGHTS
from scrapy_simhash.classic.words import TOKENIZERS
from scrapy_simhash.simhash.measure import distance, similarity
from scrapy_simhash.simhash.scheme import load_scheme
from scrapy_simhash.simhash.shingles import bit_sums

UFO = "美国“51区”雇员称内部有9架飞碟，曾看见灰色外星人"


def sums(hashes: dict[str, int], weights: dict[str, float], bits: int) -> list[float]:
    """The sums from the highest bit down, as documents print them."""
    return bit_sums([hashes[word] for word in weights], list(weights.values()), bits)[::-1].tolist()


LEVELS = {
    "美国": 0b100101,
    "51区": 0b101011,
    "飞碟": 0b100111,
    "灰色": 0b101111,
    "外星人": 0b111011,
}


@pytest.mark.parametrize(
    ("weights", "totals", "expected"),
    [
        ({"美国": 4, "51区": 5}, [9, -9, 1, -1, 1, 9], 0b101011),
        (
            # The document prints the signs as 1, 0, 0, 1, 115, 1; the fifth is 1.
            {"美国": 5, "51区": 2, "飞碟": 3, "灰色": 1, "外星人": 4},
            [15, -7, -1, 3, 5, 15],
            0b100111,
        ),
    ],
)
def test_words_with_levels(weights: dict[str, float], totals: list[float], expected: int) -> None:
    assert sums(LEVELS, weights, 6) == totals
    words = {"user_dictionary": ["51区", "9架"], "weights": weights, "top": 5}
    scheme = load_scheme("keywords", {**words, "hash": LEVELS, "bits": 6})
    assert scheme.sketch(UFO).fingerprint == expected


def test_segmentation_of_the_example() -> None:
    """Plain jieba takes 51区 and 9架 apart; the document's words need a user dictionary."""
    wanted = "美国/51区/雇员/称/内部/有/9架/飞碟/曾/看见/灰色/外星人"
    plain = Keywords(stop_words=None).explain(UFO).tokens
    taught = Keywords(stop_words=None, user_dictionary=["51区", "9架"]).explain(UFO).tokens
    assert "/".join(taught) == wanted
    assert "/".join(plain) == wanted.replace("51区", "51/区").replace("9架", "9/架")


def test_shanghai_and_beijing() -> None:
    hashes = {"上海": 0b01011001, "北京": 0b11001011}
    weights = {"上海": 45.11, "北京": 32.09}
    assert sums(hashes, weights, 8) == pytest.approx(
        [-13.02, 77.20, -77.20, 13.02, 77.20, -77.20, -13.02, 77.20]
    )
    assert fingerprint_features(weights, hash=hashes, bits=8) == 0b01011001


def planes(hashes: list[int], bits: int) -> np.ndarray:
    """One hyperplane a bit, highest first: its coordinates are that bit of the hashes, as signs."""
    return np.array(
        [[1 if value >> bit & 1 else -1 for value in hashes] for bit in reversed(range(bits))]
    )


weighted = st.dictionaries(
    st.text("abc美国", max_size=4), st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=30
)


@given(weighted, st.sampled_from([("fnv1a", 64), ("sha1", 160), ("ooat", 7), ("md5", 100)]))
def test_the_three_generators_agree(features: dict[str, float], width: tuple[str, int]) -> None:
    """Adding up hashed weights is asking on which side of random hyperplanes a vector lies."""
    name, bits = width
    _, hash_of = load_hash(name, bits)
    hashes = [hash_of(word) for word in features]
    dots = planes(hashes, bits) @ np.array(list(features.values()))
    made = fingerprint_features(features, hash=name, bits=bits)
    if not any(features.values()):
        assert made is None
        return
    assert made is not None
    for bit, dot in zip(reversed(range(bits)), dots, strict=True):
        if abs(dot) > 1e-3:  # nearer to 0 the plain dot product has rounding errors of its own
            assert made >> bit & 1 == (dot > 0)


def test_reference_implementation_in_cpp() -> None:
    """yanyiwu/simhash, the one that the documents quote: its README's example."""
    features = {
        "蓝翔": 11.7392,
        "CEO": 11.7392,
        "升职": 10.8562,
        "加薪": 10.6426,
        "手扶拖拉机": 10.0089,
    }
    assert fingerprint_features(features, hash="lookup3") == 17831459094038722629


def test_the_documents_two_long_texts() -> None:
    """The second is the tail of the first, by 22 and 11 keywords: containment is not similarity."""
    path = Path(__file__).parent / "data" / "whole_and_tail.json"
    texts = json.loads(path.read_text("utf-8"))
    whole = Keywords(top=22).sketch(texts["whole"]).fingerprint
    tail = Keywords(top=11).sketch(texts["tail"]).fingerprint
    assert whole == 0xB42E478F20F193F5
    assert tail == 0xAAAE570FC0F1B3B5
    assert distance(whole, tail) == 12


def test_keywords_are_frozen() -> None:
    """The default scheme from end to end: segmentation, weights, choice, hash and signs."""
    scheme = Keywords(user_dictionary=["51区", "9架"])
    assert scheme.sketch(UFO).fingerprint == 0x57EF1793A9277EB8
    assert scheme.explain(UFO).features[0].name == "51区"


# What other tools get wrong


@pytest.mark.parametrize("name", ["shingles", "keywords"])
def test_empty_texts_do_not_collide(name: str) -> None:
    """Tools that give '' and '!!!' a fingerprint take all empty pages for one."""
    scheme = load_scheme(name)
    for text in ("", "!!!", " \n", "。。。", "“”"):
        assert scheme.sketch(text).fingerprint is None


def test_sums_that_cancel_are_exactly_zero() -> None:
    """Added up in floating point they would be 0, 1 or -1, as the order happens to be."""
    weights = {"a": 1e16, "b": 1.0, "c": 1e16, "d": 1.0}
    hashes = {"a": 1, "b": 1, "c": 0, "d": 0}
    for order in permutations("abcd"):
        ordered = {word: weights[word] for word in order}
        assert fingerprint_features(ordered, hash=hashes, bits=1) == 0
        assert fingerprint_features(ordered, hash=hashes, bits=1, tie=">=") == 1
    # Ten times the float nearest to 0.1 is a little more than 1, though it does not add up to it.
    tenths = {str(number): 0.1 for number in range(10)}
    ones = dict.fromkeys(tenths, 1) | {"one": 0}
    assert fingerprint_features(tenths | {"one": 1.0}, hash=ones, bits=1) == 1


def test_no_fingerprint_is_special() -> None:
    """0 and 2**64 - 1 are fingerprints like any others."""
    assert fingerprint_features({"a": 1.0}, hash={"a": 0}, bits=64) == 0
    assert fingerprint_features({"a": -1.0}, hash={"a": 0}, bits=64) == 2**64 - 1
    assert distance(0, 2**64 - 1) == 64
    assert similarity(0, 0, bits=64) == 1


# docs/classic.md

PAGE = (Path(__file__).parents[2] / "docs" / "classic.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", re.findall(r"```console\n\$ (.*?)```", PAGE, re.DOTALL))
def test_output_on_the_page_is_real(block: str) -> None:
    command, _, output = block.partition("\n")
    _, _, _, text, *options = shlex.split(command)
    settings = dict(option.split("=", 1) for option in options if option != "-s")
    scheme = load_scheme(settings["SIMHASH_SCHEME"], json.loads(settings["SIMHASH_SCHEME_OPTIONS"]))
    assert isinstance(scheme, Keywords)
    assert f"{scheme.explain(text)}\n" == output


def test_every_option_is_on_the_page() -> None:
    for option in inspect.signature(Keywords).parameters:
        assert f"- `{option}` (" in PAGE
    for name in (*HASHES, *TOKENIZERS, *WEIGHTS):
        assert f'"{name}"' in PAGE

"""`compare` gives two texts the verdict that a crawl would give."""

from __future__ import annotations

import json
import random

import pytest

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule

NUMBERS = "one two three four five six seven"


@pytest.fixture
def compare(call, tmp_path):
    """Compare two texts; gives the result as JSON."""

    def compare(a: str, b: str, **given):
        for name, text in (("a", a), ("b", b)):
            (tmp_path / name).write_text(text)
        given_ = ("compare", tmp_path / "a", tmp_path / "b", "--json")
        code, out, err = call(*given_, **given)
        assert code == 0, err
        return json.loads(out)

    return compare


FINE = f"{NUMBERS} eight nine ten"


@pytest.mark.parametrize(
    ("a", "b", "given", "which"),
    [
        (FINE, NUMBERS, {}, "B"),
        (FINE, FINE, {"SIMHASH_MIN_FEATURES": 10}, "A"),
        (NUMBERS, f"{NUMBERS} eight", {"SIMHASH_MAX_TEXT": 35, "SIMHASH_MIN_FEATURES": 1}, "B"),
        ("", FINE, {}, "A"),
        (FINE, "<p>a b" * 110_000, {}, "B"),
        (FINE, "<p>" + "a" * (5 << 20), {}, "B"),
        (FINE, f"<nav>{NUMBERS}</nav><p>{NUMBERS} eight", {"SIMHASH_MAX_TEXT": 60}, "B"),
    ],
    ids=["features", "more features", "characters", "nothing", "tags", "bytes", "page's text"],
)
def test_what_a_crawl_does_not_look_at_is_not_compared(compare, a, b, given, which) -> None:
    result = compare(a, b, **given)
    assert result["verdict"] == (
        f"not compared: the main text of {which} is missing, too short, too long or a footer"
    )
    assert (result["distance"], result["similarity"], result["difference"]) == (None, None, [])


@pytest.mark.parametrize("changes", range(5))
def test_compare_decides_as_the_index_does(compare, changes: int) -> None:
    """Also on texts with too few features for a distance to mean anything."""
    for words in (5, 8, 9, 30):
        a = [f"w{random.Random(number).randrange(10**6)}" for number in range(words)]
        b = [f"other{number}" if number < changes else word for number, word in enumerate(a)]
        one, other = " ".join(a), " ".join(b)
        # At a similarity of 0.7 words in other places are near enough.
        result = compare(one, other, SIMHASH_SIMILARITY=0.7, SIMHASH_MIN_FEATURES=1)
        # Which of the barely similar pairs blocks miss depends on the secret.
        options = {"candidates": "blocks", "secret": "compare and the index"}
        with Index("sqlite://", rule=Rule(similarity=0.7), **options) as index:
            index.claim(one, key="1")
            kind = index.claim(other, key="2").kind
        assert result["verdict"] == {"duplicate": "near-duplicates", "unique": "different"}[kind]

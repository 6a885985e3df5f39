"""`compare` gives two texts the verdict that a crawl would give."""

from __future__ import annotations

import json
import random

import pytest

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.item.facts import Facts


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


@pytest.mark.parametrize("changes", range(5))
def test_compare_decides_as_the_index_does(compare, changes: int) -> None:
    """Also on texts with too few features for a distance to mean anything."""
    for words in (5, 8, 9, 30):
        a = [f"w{random.Random(number).randrange(10**6)}" for number in range(words)]
        b = [f"other{number}" if number < changes else word for number, word in enumerate(a)]
        one, other = " ".join(a), " ".join(b)
        # At a similarity of 0.7 words in other places are near enough.
        result = compare(one, other, SIMHASH_SIMILARITY=0.7, SIMHASH_MIN_FEATURES=1)
        # Which of the barely similar pairs are missed depends on the secret.
        rule, secret = Rule(similarity=0.7), "compare and the index"
        with Index("sqlite://", rule=rule, secret=secret) as index:
            for number, text in enumerate((one, other)):
                url = f"https://a.com/{number}"
                document = index.document(text, key=url, url=url, facts=Facts())
                (verdict,) = index.execute(claims=[document])
        kind = "different items" if verdict.differs else verdict.kind
        kind = {"duplicate": "near-duplicates", "unique": "different"}.get(kind, kind)
        assert result["verdict"].partition(":")[0] == kind

"""Similarities of candidates: exact where texts are kept, estimated elsewhere."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from claims import article
from decided import facts_of
from servers import ENGINES

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index import comparing
from scrapy_simhash.index.comparing import Texts
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.keys.plan import HOT_KEY
from scrapy_simhash.simhash.measure import candidate_limit, distance, jaccard
from scrapy_simhash.simhash.scheme import Sketch, load_scheme
from scrapy_simhash.text.packed import pack_text

SCHEME = load_scheme()

on_every_engine = pytest.mark.parametrize("engine", ENGINES)


def edited(text: str, edits: int, seed: int = 0) -> str:
    """With so many words replaced, each of which takes two shingles with it."""
    words, chance = text.split(), random.Random(seed)
    for place in chance.sample(range(len(words)), edits):
        words[place] = f"new{place}"
    return " ".join(words)


def similarity(one: str, other: str) -> float:
    return jaccard(SCHEME.sketch(one).shingles, SCHEME.sketch(other).shingles)


# In an index


@on_every_engine
def test_where_texts_are_kept_a_match_has_the_true_similarity(db: Database) -> None:
    index = Index(db, rule=Rule(similarity=0.8))
    texts = [edited(article(0, 300), edits) for edits in (0, 4, 12, 15)]
    verdicts = index.claim_many({"text": text, "key": text} for text in texts)
    assert [verdict.kind for verdict in verdicts] == ["unique", *["duplicate"] * 3]
    for text, verdict in zip(texts[1:], verdicts[1:], strict=True):
        assert verdict.match.similarity == pytest.approx(similarity(texts[0], text))
        assert not verdict.match.estimated
    (later,) = index.claim_many([{"text": texts[2], "key": "in another batch"}])
    assert later.match.similarity == pytest.approx(similarity(texts[0], texts[2]))
    assert not later.match.estimated


@on_every_engine
def test_where_no_text_is_kept_it_is_an_estimate_and_marked_as_one(db: Database) -> None:
    index = Index(db, rule=Rule(similarity=0.8), text_budget=0)
    text = article(0, 300)
    index.claim(text, key="a")
    for edits, kind in ((0, "duplicate"), (6, "unique")):
        verdict = index.claim(edited(text, edits), key=f"copy {edits}")
        match = verdict.match
        assert (verdict.kind, match.estimated) == (kind, True)
        assert verdict.differs == (None if kind == "duplicate" else "(not compared)")
        assert match.similarity == pytest.approx(similarity(text, edited(text, edits)), abs=0.1)


@on_every_engine
def test_what_is_near_by_its_distance_and_not_by_its_shingles_is_unique(db: Database) -> None:
    """Bits can agree by chance; what is asked for is a similarity of the texts."""
    for budget in (1 << 20, 0):
        index = Index(db, text_budget=budget, namespace=str(budget))
        first = index.document(article(0, 300), key="a")
        index.execute([first])
        other = index.scheme.sketch(edited(article(0, 300), 25)).shingles
        near = index.document(article(1), key="b")
        near.sketch = Sketch(first.sketch.fingerprint, other.size, other)
        assert 0.7 < jaccard(first.sketch.shingles, other) < 0.88
        (verdict,) = index.execute([near])
        assert verdict.kind == "unique"
        assert verdict.match is None


def product(index: Index, number: int, key: str = "") -> Document:
    """One of the things of a site that have a text in common."""
    facts = facts_of({"name": str(number)})
    key = key or f"p{number}"
    return index.document(article(0), key=key, url=f"http://a.com/{key}", facts=facts)


@on_every_engine
def test_things_with_one_text_and_hot_keys_are_distinguished_and_their_copies_found(
    db: Database,
) -> None:
    """All their keys are hot; only their equal text finds them."""
    index, count = Index(db), HOT_KEY + 60
    for start in range(0, count, 40):
        verdicts = index.execute([product(index, n) for n in range(start, start + 40)])
        assert {verdict.kind for verdict in verdicts} == {"unique"}
        assert {verdict.differs for verdict in verdicts} <= {None, "name"}
    for number in (0, HOT_KEY - 1, HOT_KEY + 1, count - 1):
        (copy,) = index.execute([product(index, number, f"copy of {number}")])
        assert (copy.kind, copy.match.key) == ("duplicate", f"p{number}")
        assert copy.match.similarity == 1


def test_of_texts_above_the_similarity_asked_for_hardly_one_is_not_compared() -> None:
    """Measured on 3,700 such pairs of .9 to .93: .002 to .009 share no band, none is too far."""
    index = Index("sqlite://")
    keys, limit = index.lookup.keys, candidate_limit(0.9)
    lost = pairs = 0
    for seed in range(400):
        one = SCHEME.sketch(article(seed, 200))
        other = SCHEME.sketch(edited(article(seed, 200), 4 + seed % 2, seed))
        if jaccard(one.shingles, other.shingles) >= 0.9:
            pairs += 1
            shares_key = (keys.keys(one) == keys.keys(other)).any()
            lost += not shares_key or distance(one.fingerprint, other.fingerprint) > limit
    index.close()
    assert pairs > 300
    assert lost <= 0.02 * pairs


# The memory of the judge


class Stored:
    """Reads the texts of claims from a dict, and notes for which it was asked."""

    def __init__(self, texts: dict[int, str]) -> None:
        self._packed = {claim: pack_text(text) for claim, text in texts.items()}
        self.asked: list[int] = []

    def of(self, claims: Iterable[int]) -> dict[int, bytes]:
        wanted = list(claims)
        self.asked += wanted
        return {claim: self._packed[claim] for claim in wanted if claim in self._packed}


def read(cache: Texts, texts: Stored, claims: Iterable[int]) -> None:
    if unknown := cache.missing(claims):
        cache.add(texts.of(unknown))


def new_cache() -> Texts:
    return Texts(SCHEME, lambda: None)


def test_the_caches_of_all_namespaces_have_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "_kept", comparing._Kept())
    monkeypatch.setattr(comparing, "_MOST_BYTES", 2500)
    reader, caches = Stored({number: article(number) for number in range(10)}), []
    for number in range(10):
        caches.append(new_cache())
        caches[-1].trim()
        read(caches[-1], reader, [number])
    assert comparing._kept.bytes < 4000
    assert [cache.missing([number]) for number, cache in enumerate(caches)][-2:] == [[], []]
    assert caches[0].missing([0]) == [0]
    assert caches[-1].missing([8]) == [8], "of another namespace"

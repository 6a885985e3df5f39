"""A corpus is decided on as an index does it that takes its documents in that order."""

from __future__ import annotations

import random

import numpy as np
import pytest
from corpora import documents_of, items, sketches_of
from loopback import prose

from scrapy_simhash import native
from scrapy_simhash.corpus.greedy import decide_corpus
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.db.values import secret_of
from scrapy_simhash.index import candidates
from scrapy_simhash.index.index import Index
from scrapy_simhash.simhash.shingles import Shingles

GIVEN = "correct horse battery"
SECRET = secret_of(GIVEN)


def kept_by_index(documents, order, **options):
    """What an index keeps, and of what each of the others is a duplicate; and what it counted."""
    kept, matches, claims, stored = [], [], {}, []
    with Index("sqlite://", secret=GIVEN, **options) as index:
        for number in order:
            if documents[number] is None:
                kept.append(number)
                continue
            (verdict,) = index.execute(claims=[documents[number]], confirm=stored)
            stored = [verdict.claim] if verdict.claim else []
            if verdict.kind == "duplicate":
                matches.append((number, claims[verdict.match.claim], verdict.match.similarity))
            else:
                kept.append(number)
                claims[verdict.claim.id] = number
        return sorted(kept), sorted(matches), index.lookup.counts


def compare(count: int, seed: int, order=None, **options):
    """Decide in both ways; gives what was decided, and what the index has counted."""
    plan = Plan.make(Shingles(), SECRET, **options)
    documents = documents_of(plan, items(count, seed))
    order = list(range(count)) if order is None else order
    made = decide_corpus(sketches_of(documents, plan), plan, np.array(order, np.uint32))
    kept, matches, counts = kept_by_index(documents, order, **options)
    assert np.flatnonzero(made.kept).tolist() == kept
    dropped = np.flatnonzero(~made.kept).tolist()
    found = [(number, made.matches[number], made.similarities[number]) for number in dropped]
    assert [pair[:2] for pair in found] == [pair[:2] for pair in matches]
    assert np.allclose([pair[2] for pair in found], [pair[2] for pair in matches])
    return made, counts


@pytest.mark.slow
def test_five_thousand_documents_are_decided_on_as_by_the_index():
    made, counts = compare(5000, seed=1)
    assert counts.hot_keys
    assert 500 < (~made.kept).sum() < 4500
    assert {"title", "price", "(address)"} <= set(made.reasons)


@pytest.mark.parametrize(
    "options",
    [
        {"similarity": 0.8},
        {"similarity": 0.95, "facts": "always"},
        {"facts": "never"},
        {"distance": 6},
        {"candidates": "blocks"},
    ],
)
def test_whatever_is_asked_for_is_decided_as_by_the_index(options, monkeypatch):
    # A corpus has all texts at hand; an index reads those of the nearest claims.
    monkeypatch.setattr(candidates, "TEXTS", 1000)
    compare(600, seed=2, **options)


@pytest.mark.parametrize("options", [{}, {"similarity": 0.8}, {"distance": 6}])
def test_the_core_decides_as_python_does(monkeypatch, options):
    plan = Plan.make(Shingles(), SECRET, **options)
    # Nothing but their texts keeps these apart.
    texts = [{"text": item["text"]} for item in items(900, 7) if "text" in item]
    sketches = sketches_of(documents_of(plan, texts), plan)
    made = decide_corpus(sketches, plan)
    monkeypatch.setattr(native, "core", None)
    pure = decide_corpus(sketches, plan)
    assert 100 < (~made.kept).sum() < len(texts) - 100
    for name in ("kept", "matches", "similarities"):
        np.testing.assert_array_equal(getattr(made, name), getattr(pure, name))
    assert [made.reasons[n] for n in made.differs] == [pure.reasons[n] for n in pure.differs]


def test_in_another_order_too():
    order = list(range(800))
    random.Random(5).shuffle(order)
    compare(800, seed=3, order=order)


def test_without_texts_that_are_near_all_are_kept():
    plan = Plan.make(Shingles(), SECRET)
    given = [{"text": prose(number, 40)} for number in range(50)] + [{}]
    made = decide_corpus(sketches_of(documents_of(plan, given), plan), plan)
    assert made.kept.all()
    assert (made.matches == -1).all()


def test_an_empty_corpus_is_decided_on():
    plan = Plan.make(Shingles(), SECRET)
    assert decide_corpus(sketches_of([], plan), plan).kept.size == 0

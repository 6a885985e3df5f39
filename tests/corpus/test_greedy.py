"""A corpus is decided on as an index does it that takes its documents in that order."""

from __future__ import annotations

import random

import numpy as np
import pytest
from loopback import prose

from scrapy_simhash.corpus.greedy import decide_corpus
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import Sketches, make_part
from scrapy_simhash.feed.documents import ItemReader, What
from scrapy_simhash.index.index import Index
from scrapy_simhash.simhash.shingles import Shingles

SECRET = bytes(range(16))


def items(count: int, seed: int):
    """Items of many kinds, in groups of all sizes.

    Copies with more or fewer changes, other facts, on other sites; short texts; rows without a
    text; things that a page lists; and pages of a template, which crowd their bands.
    """
    chance = random.Random(seed)
    texts = [prose(f"{seed} {number}", chance.choice([6, 12, 60, 120])) for number in range(40)]
    template = prose(f"{seed} template", 150)
    for number in range(count):
        site, kind = chance.choice("abcd"), chance.random()
        item = {"url": f"http://{site}.test/{chance.randrange(count)}"}
        if kind < 0.1:
            yield item | {"name": f"Ann {chance.randrange(20)}", "age": chance.randrange(3)}
            continue
        if kind < 0.2:
            item |= {"url": f"http://{site}.test/list", "link": f"/thing/{chance.randrange(200)}"}
            item["text"] = f"{template} {prose(number, 3)}"
        elif kind < 0.35:
            item["text"] = f"{template} {prose(number, 20)}"
        elif kind < 0.6:
            item["text"] = prose(f"{seed} alone {number}", 60)
        else:
            words = chance.choice(texts).split()
            for _ in range(chance.choice([0, 0, 1, 2, 4, 8])):
                words[chance.randrange(len(words))] = f"other{chance.randrange(50)}"
            item["text"] = " ".join(words)
        if chance.random() < 0.3:
            item["title"] = f"Title {chance.randrange(3)}"
        if chance.random() < 0.2:
            item["price"] = f"{chance.randrange(3)}.50 EUR"
        yield item


def documents_of(plan: Plan, given):
    reader = ItemReader("feed", plan.scheme, What(), plan.secret, min_features=8, max_text=10**6)
    return [reader.document(item, number) for number, item in enumerate(given)]


def sketches_of(documents, plan: Plan) -> Sketches:
    return Sketches.of(make_part(documents, [()] * len(documents), plan))


def kept_by_index(documents, order, **options):
    """What an index keeps, and of what each of the others is a duplicate; and what it counted."""
    kept, matches, claims, stored = [], [], {}, []
    with Index("sqlite://", secret=SECRET.hex(), **options) as index:
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


def test_five_thousand_documents_are_decided_on_as_by_the_index():
    made, counts = compare(5000, seed=1)
    assert counts.crowded
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
def test_whatever_is_asked_for_is_decided_as_by_the_index(options):
    compare(600, seed=2, **options)


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

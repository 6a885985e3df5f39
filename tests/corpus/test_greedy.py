"""A corpus is decided on as an index does it that takes its documents in that order."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pytest
from corpora import documents_of, items, sketches_of
from loopback import prose

from scrapy_simhash import corpus, native
from scrapy_simhash.corpus import greedy
from scrapy_simhash.corpus.greedy import decide_corpus
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.db.values import secret_of
from scrapy_simhash.index import comparing, decide, lookup
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule

GIVEN = "correct horse battery"
SECRET = secret_of(GIVEN)


def kept_by_index(documents, order, rule):
    """What an index keeps, and of what each of the others is a duplicate; and what it counted."""
    kept, matches, claims, stored = [], [], {}, []
    with Index("sqlite://", secret=GIVEN, rule=rule) as index:
        for number in order:
            if documents[number] is None:
                kept.append(number)
                continue
            document = documents[number]
            (verdict,) = index.execute(claims=[document], confirm=stored)
            stored = [verdict]
            if verdict.claim is None:
                matches.append((number, claims[verdict.match.claim], verdict.match.similarity))
            else:
                kept.append(number)
                claims[verdict.claim.id] = number
        return sorted(kept), sorted(matches), index.lookup.counts


def compare(count: int, seed: int, order=None, **options):
    """Decide in both ways; gives what was decided, and what the index has counted.

    Without what was dropped, as only a corpus returns to it.
    """
    rule = Rule(**options)
    plan = Plan.make(rule, SECRET)
    documents = documents_of(plan, items(count, seed))
    order = list(range(count)) if order is None else order
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus.greedy, "same_site", lambda *_: True)
        patch.setattr(lookup, "may_be_one_site", lambda *_: True)
        # A corpus has all texts at hand; an index reads those of the nearest claims.
        patch.setattr(comparing, "NEAREST", 1000)
        made = decide_corpus(sketches_of(documents, plan), plan, np.array(order, np.uint32))
        kept, matches, counts = kept_by_index(documents, order, rule)
    assert np.flatnonzero(made.kept).tolist() == kept
    dropped = np.flatnonzero(~made.kept).tolist()
    found = [(number, made.matches[number], made.similarities[number]) for number in dropped]
    assert [pair[:2] for pair in found] == [pair[:2] for pair in matches]
    assert np.allclose([pair[2] for pair in found], [pair[2] for pair in matches])
    return made, counts


@pytest.mark.slow
def test_two_thousand_documents_are_decided_on_as_by_the_index():
    made, counts = compare(2000, seed=1)
    assert counts["index/hot_keys"]
    assert 200 < (~made.kept).sum() < 1800
    assert {"title", "price", "(address)"} <= set(made.reasons)


@pytest.mark.parametrize(
    "options",
    [
        {"similarity": 0.8},
        {"similarity": 0.95, "facts": "always"},
        {"facts": "never"},
        {"distance": 6},
    ],
)
def test_whatever_is_asked_for_is_decided_as_by_the_index(options):
    compare(600, seed=2, **options)


@pytest.mark.parametrize("options", [{}, {"similarity": 0.8}, {"distance": 6}])
def test_the_core_decides_as_python_does(monkeypatch, options):
    plan = Plan.make(Rule(**options), SECRET)
    # Nothing but their texts keeps these apart: words, short numbers, and long ones.
    chance = random.Random(7)
    texts = [
        {
            "url": item["url"],
            "text": item["text"].replace("other", chance.choice(["o", "", "12345"])),
        }
        for item in items(900, 7)
        if "text" in item
    ]
    sketches = sketches_of(documents_of(plan, texts), plan)
    made = decide_corpus(sketches, plan)
    monkeypatch.setattr(native, "core", None)
    pure = decide_corpus(sketches, plan)
    assert 100 < (~made.kept).sum() < len(texts) - 100
    for name in ("kept", "matches", "similarities"):
        np.testing.assert_array_equal(getattr(made, name), getattr(pure, name))
    assert [made.reasons[n] for n in made.differs] == [pure.reasons[n] for n in pure.differs]


@pytest.mark.parametrize(
    ("towns", "kept"),
    [(("Bath", "York"), 2), (("Bath, Somerset", "York, Yorkshire"), 2), (("Ely", "Rye"), 1)],
)
def test_on_two_sites_a_value_in_the_text_keeps_an_item_in_a_corpus(towns, kept):
    text = f"{prose('a job', 60)} in {{}} {prose('we hire', 60)}"
    jobs = [
        {"url": f"http://{site}.test/1", "city": town, "text": text.format(word)}
        for site, town, word in zip("ab", towns, ("Bath", "York"), strict=True)
    ]
    plan = Plan.make(Rule(), SECRET)
    # Two spiders may write the name of a field differently.
    for second in (jobs[1], {name.title(): value for name, value in jobs[1].items()}):
        documents = documents_of(plan, [jobs[0], second | {"url": jobs[1]["url"]}])
        made = decide_corpus(sketches_of(documents, plan), plan)
        assert made.kept.sum() == kept
        assert made.reasons[made.differs[1]].lower() == ("city" if kept == 2 else "")


def variants(count, seed):
    """Items of one site, nearly all with one text: each with some values, and a few copies."""
    chance = random.Random(seed)
    text = prose("a shirt", 90)
    for number in range(count):
        item = {"url": f"http://a.test/{number}", "text": text}
        if chance.random() < 0.3:
            item["text"] = f"{text} {prose(chance.randrange(40), 5)}"
        if number > 400 and chance.random() < 0.1:
            item["url"] = chance.choice(["http://b.test/1", "", "http://a.test/7"])
        for name in ("name", "price", "sku", "date", "views", "category", "size"):
            if chance.random() < 0.7:
                item[name] = {
                    "name": f"Shirt {chance.randrange(9)}",
                    "price": f"{chance.choice('€$')}{chance.randrange(9)}.50",
                    "sku": f"AB-{chance.randrange(30)}",
                    "date": chance.choice(["2024-03-04", "03/04/2024", "04/03/2024", "5 May"]),
                }.get(name, f"{chance.randrange(3)}")
        yield item


@pytest.mark.parametrize(
    ("seed", "options"),
    [(1, {}), (3, {"facts": "always"})],
)
def test_the_original_is_one_of_the_nearest(monkeypatch, seed, options):
    plan = Plan.make(Rule(**options), SECRET)
    sketches = sketches_of(documents_of(plan, variants(500, seed)), plan)
    made = decide_corpus(sketches, plan)
    monkeypatch.setattr(decide, "NEAREST", 10**6)
    each = decide_corpus(sketches, plan)
    # Each that only the rest of the claims would find is stored once more.
    assert (made.kept >= each.kept).all()
    dropped, found = (~each.kept).sum(), (~made.kept).sum()
    assert 30 < 0.9 * dropped < found


def test_in_another_order_too():
    order = list(range(800))
    random.Random(5).shuffle(order)
    compare(800, seed=3, order=order)


def teaser(site: str, number: int, **more) -> dict:
    """One of several things behind one text."""
    url = f"http://{site}.test/{number}"
    return {"url": url, "title": f"Thing {site}{number}", "text": prose(1, 60), **more}


ONE = [teaser("a", 1), teaser("b", 1), teaser("b", 2), teaser("b", 3)]
#: Each with what must be kept of it.
SHARED = [
    ([*ONE[:3]], 3),
    ([*ONE, teaser("b", 1), teaser("b", 2, url="http://b.test/9")], 4),
    ([*ONE, teaser("a", 1, url="http://b.test/9")], 4),
    ([teaser(site, 1) for site in "abc"], 1),
    ([teaser(site, number) for site in "abc" for number in (1, 2)], 6),
    ([*(teaser(site, 1, date=day) for site, day in zip("abb", "123", strict=True))], 3),
]


@pytest.mark.parametrize(("given", "kept"), SHARED)
@pytest.mark.parametrize("step", [1, 64])
def test_a_text_of_two_things_of_a_site_makes_no_copies_in_whatever_order(
    monkeypatch, given, kept, step
):
    monkeypatch.setattr(greedy, "STEP", step)
    plan = Plan.make(Rule(), SECRET)
    sketches = sketches_of(documents_of(plan, given), plan)
    orders = list(permutations(np.arange(len(given), dtype=np.uint32)))
    for order in random.Random(1).sample(orders, min(len(orders), 120)):
        made = decide_corpus(sketches, plan, np.array(order))
        assert made.kept.sum() == kept, order
        matches = made.matches[~made.kept]
        assert made.kept[matches].all()
        assert all(map(np.less, np.argsort(order)[matches], np.argsort(order)[~made.kept]))

"""Claims that a fact surely keeps apart are left out of comparisons, and no verdict changes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from claims import article

from scrapy_simhash.index import apart
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document, Match, Verdict
from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.folding import Folded

SITES = ("http://a.com", "http://a.com", "http://www.a.com")
VIEWS = ("", "", "", "?print=1", "?lang=de")
# The fields of items: the kinds and the number of values to choose from.
FIELDS = {
    "name": ((Evidence.TITLE,), 40),
    "code": ((Evidence.TEXT,), 60),
    "price": ((Evidence.AMOUNT, Evidence.AMOUNT + 1, Evidence.TEXT), 9),
    "date": ((Evidence.DATE,), 5),
    "tag": ((Evidence.SECTION, Evidence.TEXT), 3),
    "stock": ((Evidence.STOCK,), 2),
    "page:value.Colour": ((Evidence.TEXT,), 4),
}


def drawn(index: Index, rng: random.Random, elsewhere: float) -> Document:
    """A document with one of a few texts, and some facts."""
    number = rng.randrange(120)
    words = article(0, 150).split()
    words[rng.randrange(150)] = rng.choice(("one", "two", "1", "2", words[0]))
    values = {
        name: Folded(
            rng.choice(kinds),
            f"t:0{1 + rng.randrange(count)}-03|03-04"
            if name == "date"
            else str(rng.randrange(count)),
            ("2024", "", "", "") if name == "date" else (),
        )
        for name, (kinds, count) in FIELDS.items()
        if rng.random() < 0.8
    }
    host = "http://b.com" if rng.random() < elsewhere else rng.choice(SITES)
    url = f"{host}/{number}{rng.choice(VIEWS)}"
    more: dict[str, Any] = {"digest": bytes([number % 40]) * 16} if rng.random() < 0.2 else {}
    return index.document(
        " ".join(words),
        key=f"{url}#{rng.randrange(2)}",
        url=url,
        facts=Facts.of(values),
        **more,
    )


def told(verdict: Verdict) -> tuple[Any, ...]:
    """What a verdict says, without what depends on the process."""
    match: Match | None = verdict.match
    claim = verdict.claim and (verdict.claim.id, verdict.claim.origin)
    found = match and (match.claim, match.differs, match.jaccard, match.estimated, match.group)
    before = verdict.before and verdict.before.id
    return verdict.kind, verdict.status, verdict.differs, claim, found, before, verdict.replaces


def visits(url: str, rule: Rule, elsewhere: float) -> list[tuple[Any, ...]]:
    """The verdicts of three visits, of which the first ones store nearly everything."""
    rng, found = random.Random(7), list[tuple[Any, ...]]()
    for _ in range(3):
        with Index(url, rule=rule, secret="the same secret for both") as index:
            before: list[Verdict] = []
            for _ in range(3):
                documents = [drawn(index, rng, elsewhere) for _ in range(24)]
                is_stored = [rng.random() < 0.9 for _ in before]
                pairs = list(zip(before, is_stored, strict=True))
                before = index.execute(
                    documents,
                    confirm=[verdict for verdict, stored in pairs if stored],
                    release=[verdict for verdict, stored in pairs if not stored],
                )
                found += map(told, before)
            index.confirm(*before)
    return found


@pytest.mark.parametrize(("known", "elsewhere"), [(None, 0.02), ("pass", 0), ("drop", 0)])
def test_verdicts_are_those_of_a_comparison_with_every_claim(
    known: Any, elsewhere: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule, compared = Rule(known=known), list[int]()
    real = apart.Apart.of

    def of(self: apart.Apart, number: int, near: Any) -> set[int]:
        found = real(self, number, near)
        compared.append(len(found))
        return found

    monkeypatch.setattr(apart.Apart, "of", of)
    found = visits(f"sqlite:///{tmp_path}/some.db", rule, elsewhere)
    assert sum(compared) > 200
    assert len({kind for kind, *_ in found}) > 1
    monkeypatch.setattr(apart.Apart, "of", lambda *_: set())
    assert found == visits(f"sqlite:///{tmp_path}/every.db", rule, elsewhere)

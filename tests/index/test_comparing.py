"""Documents are compared before the lock is taken, and never with more than a bounded number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from claims import article
from servers import ENGINES

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index import comparing, decide
from scrapy_simhash.index.decide import NEAREST, NOT_COMPARED
from scrapy_simhash.index.index import Index
from scrapy_simhash.item.facts import Facts

on_every_engine = pytest.mark.parametrize("engine", ENGINES)
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"])


def alike(number: int, words: int = 800) -> str:
    """One of the pages of a manual in many versions: all but a passage of 16 words is the same."""
    text = article(0, words).split()
    text[400:416] = article(1000 + number, 16).split()
    return " ".join(text)


def documents(index: Index, numbers: range) -> list[Any]:
    facts = Facts.of({})
    return [
        index.document(alike(number), key=str(number), url=f"http://a.com/{number}", facts=facts)
        for number in numbers
    ]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each pair of texts that is looked at for where it differs."""
    calls: list[int] = []
    real = comparing.changes_of

    def changes_of(new: str, old: str, **how: bool) -> Any:
        calls.append(len(new))
        return real(new, old, **how)

    monkeypatch.setattr(comparing, "changes_of", changes_of)
    return calls


@on_every_engine
def test_while_texts_are_compared_others_write(db: Database) -> None:
    """Also on SQLite, which has one lock for all namespaces, and in the same namespace."""
    index = Index(db)
    index.execute(documents(index, range(3)))
    kinds: list[str] = []
    with Index(db.url, timeout=0.5) as same, Index(db.url, namespace="b", timeout=0.5) as other:

        def write() -> None:
            for one in (same, other):
                number = len(kinds)
                kinds.append(one.claim(article(number + 1), key=f"other {number}").kind)

        index.lookup.texts._note_work = write
        (verdict,) = index.execute(documents(index, range(3, 4)))
    assert (verdict.kind, verdict.differs) == ("unique", "(passage)")
    assert len(kinds) >= 6
    assert set(kinds) == {"unique"}


@on_every_engine
def test_what_others_claim_after_the_comparison_is_seen_under_the_lock(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index(db.url) as index, Index(db.url) as other:
        index.claim(article(1), key="a")
        read = index.lookup.read

        def read_and_be_overtaken(*arguments: Any) -> Any:
            monkeypatch.setattr(index.lookup, "read", read)
            found = read(*arguments)
            other.claim(article(2), key="b")
            return found

        monkeypatch.setattr(index.lookup, "read", read_and_be_overtaken)
        verdict = index.claim(article(2), key="c")
        assert (verdict.kind, verdict.match.key) == ("duplicate", "b")
        assert not verdict.match.estimated


@on_sqlite
def test_a_document_is_compared_with_a_bounded_number_of_texts(
    db: Database, compared: list[int]
) -> None:
    index = Index(db)
    worked: list[int] = []
    for start in range(0, 96, 32):
        index.execute(documents(index, range(start, start + 32)))
    fresh = Index(db)  # which has read no text yet
    fresh.lookup.texts._note_work = lambda: worked.append(1)
    compared.clear()
    (verdict,) = fresh.execute(documents(fresh, range(500, 501)))
    assert verdict.kind == "unique"
    assert 1 < len(compared) <= NEAREST
    # The similarity of each pair, and where it differs.
    assert len(worked) <= 2 * NEAREST
    # The true original is among those that are compared.
    (copy,) = fresh.execute([fresh.document(alike(7), key="c", url="http://b.com/")])
    assert (copy.kind, copy.match.key) == ("duplicate", "7")


@on_sqlite
def test_a_batch_compares_a_bounded_number_of_words_but_each_document_with_its_nearest(
    db: Database, compared: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index(db)
    monkeypatch.setattr(decide.Budget, "__init__", budget_of(5000))
    verdicts = index.execute(documents(index, range(20)))
    assert {verdict.kind for verdict in verdicts} == {"unique"}
    reasons = [verdict.differs for verdict in verdicts]
    assert reasons[0] is None
    # Three pairs beside the nearest of each, and then the nearest alone.
    assert 19 <= len(compared) <= 19 + 3
    assert set(reasons[1:]) <= {"(passage)", NOT_COMPARED}


def budget_of(words: int) -> Callable[..., None]:
    def set_up(budget: Any) -> None:
        budget.words, budget.is_first = words, True

    return set_up

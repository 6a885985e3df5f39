"""Groups: what is stored first, its versions, and all that are near-duplicates of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claims import article, edited
from servers import ENGINES, cleared_database

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import Document


@pytest.fixture(params=ENGINES)
def index(request: Any, tmp_path: Path) -> Iterator[Index]:
    with Index(cleared_database(request.param, tmp_path)) as opened:
        yield opened


def document(index: Index, text: str, key: str) -> Document:
    return Document(index.scheme.sketch(text), key, text=text)


def twice(text: str) -> str:
    return edited(edited(text).replace("changed", "word0 changed"))


@pytest.mark.parametrize("together", [True, False])
def test_versions_and_their_copies_are_of_the_first_one(index: Index, together: bool) -> None:
    text = article(1)
    first = index.execute(claims=[document(index, text, "a")])
    index.confirm(*first)
    asked = [
        document(index, edited(text), "a"),
        document(index, edited(text), "copy"),
        document(index, twice(text), "a"),
        document(index, twice(text), "other copy"),
        document(index, article(2), "other"),
    ]
    parts = [asked] if together else [[one] for one in asked]
    verdicts = [verdict for part in parts for verdict in index.execute(claims=part)]
    kinds = ["same", "duplicate", "same", "duplicate", "unique"]
    assert [verdict.kind for verdict in verdicts] == kinds
    assert {verdict.group for verdict in verdicts[:4]} == {first[0].group}
    assert verdicts[4].group not in {None, first[0].group}


def test_who_makes_a_claim_again_makes_it_in_its_group(index: Index) -> None:
    """Somebody took this run for dead, and released what it had claimed."""
    (first,) = index.execute(claims=[document(index, article(1), "a")])
    index.confirm(first)
    (second,) = index.execute(claims=[document(index, article(2), "a")])
    index.release(second)
    index.confirm(second)
    index.release(first)
    (copy,) = index.execute(claims=[document(index, article(2), "copy")])
    assert (copy.kind, copy.match.claim) == ("duplicate", second.claim.id)
    assert copy.group == first.group


def test_a_similar_text_with_other_facts_is_a_group_of_its_own(index: Index) -> None:
    documents = [document(index, article(1), str(number)) for number in (1, 2)]
    for one in documents:
        # Two items that one page lists.
        one.listing = 7
    first, second = index.execute(claims=documents)
    assert (second.kind, second.differs) == ("unique", "(address)")
    assert second.match.group == first.group != second.group

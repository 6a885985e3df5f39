"""Documents that are compared as a whole, on every engine that there is a server of."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from claims import article
from servers import ENGINES

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document, Verdict
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.keys.plan import HOT_KEY
from scrapy_simhash.simhash.scheme import Sketch

pytestmark = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture(params=[None, 3], ids=["bands", "blocks"])
def open_(db: Database, request: pytest.FixtureRequest) -> Callable[..., Index]:
    """Opens an index with either kind of keys."""
    return lambda **arguments: Index(db, rule=Rule(distance=request.param), **arguments)


def digest(number: int) -> int:
    return random.Random(f"digest {number}").getrandbits(128)


def row(number: int, page: str = "", key: str = "") -> Document:
    """A row of a table, identified by its content; some name their page."""
    content = digest(number) ^ digest(hash(page)) if page else digest(number)
    return whole(content, key or f"row {number}")


def whole(content: int, key: str) -> Document:
    return Document(
        Sketch(content, 0, None),
        key,
        facts=Facts(),
        digest=content.to_bytes(16, "big"),
        exact=True,
    )


def ask(index: Index, *documents: Document) -> list[Verdict]:
    return index.execute(documents)


def kinds(index: Index, *documents: Document) -> list[str]:
    return [verdict.kind for verdict in ask(index, *documents)]


def test_an_equal_one_is_found_and_one_that_differs_in_a_bit_is_not(
    open_: Callable[..., Index],
) -> None:
    index = open_()
    (first,) = ask(index, row(1, key="a"))
    (copy,) = ask(index, row(1, key="b"))
    assert (copy.kind, copy.match.key, copy.match.distance) == ("duplicate", "a", 0)
    assert (copy.match.similarity, copy.match.estimated) == (1, False)
    assert copy.match.pending
    index.confirm(first)
    assert not ask(index, row(1, key="b"))[0].match.pending
    assert kinds(index, whole(digest(1) ^ 1 << 40, "c")) == ["unique"]


def test_a_text_of_the_same_fingerprint_is_not_equal_to_one(open_: Callable[..., Index]) -> None:
    index = open_(namespace="mixed")
    text = index.document(article(1), key="text")
    assert kinds(index, text, whole(text.sketch.fingerprint, "row")) == ["unique", "unique"]
    (copy,) = ask(index, index.document(article(1), key="copy"))
    assert copy.match.key == "text"
    again = whole(text.sketch.fingerprint, "another")
    assert ask(index, again)[0].match.key == "row"


def test_more_equal_ones_than_make_a_hot_key_are_all_found(db: Database) -> None:
    """The same row on many pages that it names."""
    index = Index(db)
    pages = [f"/{number}" for number in range(HOT_KEY + 40)]
    for start in range(0, len(pages), 20):
        index.confirm(*ask(index, *(row(1, page, page) for page in pages[start : start + 20])))
    assert len(index) == len(pages)
    copies = ask(index, *(row(1, page, f"copy of {page}") for page in pages[::7]))
    assert [copy.match.key for copy in copies] == pages[::7]

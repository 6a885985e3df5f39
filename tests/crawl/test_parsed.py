"""The trees of pages that have been read: what a crawl holds of them, and for how long."""

from __future__ import annotations

import gc
from weakref import ref

import pytest
from scrapy.http import HtmlResponse, Response

from scrapy_simhash.crawl.parsed import SpentTrees, has_tree


def page(body: bytes = b"<p>text") -> HtmlResponse:
    made = HtmlResponse("http://a.example/", body=body, encoding="utf-8")
    assert made.css("p::text").get()
    return made


@pytest.fixture(autouse=True)
def no_collector():
    gc.disable()
    yield
    gc.enable()


def spend(trees: SpentTrees, response: HtmlResponse) -> ref:
    """Give the tree of a response away, and return what tells whether it is there."""
    tree = ref(response.selector.root)
    trees.add(response)
    assert not has_tree(response)
    assert response._cached_ubody is None
    return tree


@pytest.mark.parametrize(("size", "together"), [(10, 32), (100_000, 11), (2 << 20, 1)])
def test_a_few_go_together_and_no_more_are_held(size: int, together: int) -> None:
    trees = SpentTrees()
    for _ in range(2):
        held = [spend(trees, page(b"<p>" + b"a" * size)) for _ in range(together - 1)]
        assert all(tree() is not None for tree in held)
        held.append(spend(trees, page(b"<p>" + b"a" * size)))
        assert all(tree() is None for tree in held)


def test_the_response_may_go() -> None:
    trees, response = SpentTrees(), page()
    tree = spend(trees, response)
    gone = ref(response)
    del response
    assert gone() is None
    assert tree() is not None


def test_whoever_asks_once_more_has_a_tree_of_his_own() -> None:
    response = page(b"<p>asked twice")
    spend(SpentTrees(), response)
    assert response.css("p::text").get() == "asked twice"


def test_what_has_no_tree_holds_no_place() -> None:
    trees = SpentTrees()
    tree = spend(trees, page())
    for _ in range(100):
        trees.add(HtmlResponse("http://a.example/", body=b"<p>a" * 1_000_000))
        trees.add(Response("http://a.example/", body=b"0" * (2 << 20)))
        trees.add(None)
    assert tree() is not None

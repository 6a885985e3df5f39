"""The trees of pages that have been read: nothing holds them, nor their responses."""

from __future__ import annotations

import gc
from weakref import ref

import pytest
from scrapy.http import HtmlResponse, Response

from scrapy_simhash.crawl.parsed import forget_tree, has_tree


@pytest.fixture(autouse=True)
def no_collector():
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def page() -> HtmlResponse:
    made = HtmlResponse("http://a.example/", body=b"<p>text", encoding="utf-8")
    assert made.css("p::text").get() == "text"
    return made


def test_a_tree_goes_at_once(page: HtmlResponse) -> None:
    tree = ref(page.selector.root)
    assert has_tree(page)
    forget_tree(page)
    assert tree() is None
    assert not has_tree(page)
    assert page._cached_ubody is None


def test_the_response_may_go() -> None:
    def gone(is_forgotten: bool) -> bool:
        page = HtmlResponse("http://a.example/", body=b"<p>text", encoding="utf-8")
        assert page.css("p")
        if is_forgotten:
            forget_tree(page)
        here = ref(page)
        del page
        return here() is None

    assert gone(is_forgotten=True)
    # The collector alone finds it otherwise.
    assert not gone(is_forgotten=False)


def test_whoever_asks_once_more_has_a_tree_of_his_own(page: HtmlResponse) -> None:
    forget_tree(page)
    assert page.css("p::text").get() == "text"


def test_what_has_no_tree_is_left_as_it_is() -> None:
    forget_tree(None)
    for other in (Response("http://a.example/", body=b"0"), HtmlResponse("http://a.example/")):
        assert not has_tree(other)
        forget_tree(other)
        assert not has_tree(other)

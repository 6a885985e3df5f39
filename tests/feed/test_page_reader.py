"""Pages of an archive: which of them are compared, and by what."""

from __future__ import annotations

import pytest
from loopback import article, prose

from scrapy_simhash.feed.documents import PageReader
from scrapy_simhash.feed.warc import WarcPage
from scrapy_simhash.simhash.shingles import Shingles
from scrapy_simhash.text.page import load_extractor

URL = "http://a.example/1"


@pytest.fixture
def read():
    reader = PageReader(Shingles(), bytes(16), load_extractor("density"), 8, 2000)
    return lambda html=None, text=None: reader.document(WarcPage(URL, html, text), 7)


def test_a_page_is_compared_by_its_main_text_and_its_declared_facts(read):
    found = read(article("a").replace(b"<body>", b"<head><title>The title</title></head><body>"))
    assert (found.text, found.key, found.url) == (prose("a"), "item:7", URL)
    assert "page:title" in found.facts.names.values()
    assert found.page_sketch


def test_of_a_page_whose_text_is_given_nothing_else_is_known(read):
    found = read(text=prose("a"))
    assert found.text == prose("a")
    assert found.page_sketch is None
    assert set(found.facts.names.values()) <= {"(numbers)"}


LINKS = "".join(f"<div><a href=/{n}>{prose(n, 4)}</a></div>" for n in range(60))


@pytest.mark.parametrize(
    "html",
    [
        b"",
        b"<!-- nothing else -->",
        b"<p>Four words of text",
        article("a", prose("more", 400)),
        article("a") + b" " * (5 << 20),
        b"<p " + b"".join(b"a%d=1 " % n for n in range(20_000)) + b">" + article("a"),
        f"<html><body>{LINKS}<p>© 2026 Someone, all rights reserved</p></body></html>".encode(),
    ],
    ids=["empty", "comment", "short", "shows too much", "large", "complex", "footer"],
)
def test_what_a_crawl_would_not_compare_has_no_document(read, html):
    assert read(html) is None

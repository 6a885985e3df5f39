"""Whatever bytes or trees a page is, it is read; and it is left as it was."""

from __future__ import annotations

from typing import Any

from fuzz.grammar import PAGE, bodies, characters, trees
from fuzz.target import target
from hypothesis import strategies as st
from lxml import etree

from scrapy_simhash import page_text
from scrapy_simhash.item.content import read_item
from scrapy_simhash.text.html import decode, is_too_complex, parse_html
from scrapy_simhash.text.page import containment, load_extractor, read_page
from scrapy_simhash.text.page_facts import page_facts

NAMES = ("density", "body")


@target(bodies, examples=120)
def test_pages_from_bytes(body: bytes) -> None:
    page = decode(body)
    assert is_too_complex(page, is_parsed=False) or not is_too_complex(page, is_parsed=True)
    root = parse_html(page)
    texts = {name: page_text(body, extractor=name) for name in NAMES}
    assert texts == {name: page_text(body, extractor=name) for name in NAMES}
    if root is None:
        assert set(texts.values()) == {""}
    elif isinstance(root.tag, str):
        look_at(root)


@target(trees(), examples=100)
def test_pages_from_trees(root: Any) -> None:
    look_at(root)


@target(st.text(characters | st.sampled_from(list("<>/= p")), max_size=200), examples=60)
def test_pages_from_str(source: str) -> None:
    for name in NAMES:
        page_text(source, extractor=name)


def look_at(root: Any) -> None:
    stood = etree.tostring(root)
    for name in NAMES:
        extractor = load_extractor(name)
        page_content = read_page(root, extractor)
        assert page_content is not None
        assert page_content.text == page_text(root, extractor=name)
        assert_collapsed(page_content.text)
        assert not (page_content.is_representative and not page_content.text)
        assert containment(page_content.page_sketch, page_content.page_sketch) in {0.0, 1.0}
        assert read_page(root, extractor, most=-1) is None
    facts = page_facts(root)
    assert facts == page_facts(root)
    for name, value in facts.items():
        assert name.startswith("page:")
        assert 0 < len(value) <= 256
        assert value == " ".join(value.split())
    item_content = read_item(facts, page_url=PAGE, since=0.0, now=0.0)
    assert item_content.digest is not None
    assert etree.tostring(root) == stood


def assert_collapsed(text: str) -> None:
    assert "\0" not in text
    for line in text.split("\n") if text else ():
        assert line
        assert line == " ".join(line.split())

"""What was dropped counts: two different items of a site can't be copies of one elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from claims import article
from decided import facts_of
from servers import ENGINES, cleared_database

from scrapy_simhash.index import queries
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document

TEXT, OTHER_TEXT = article(1), article(2)


@pytest.fixture(params=ENGINES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return cleared_database(request.param, tmp_path)


def document(index: Index, url: str, title: str, text: str = TEXT) -> Document:
    return index.document(text, key=url, url=url, facts=facts_of({"title": title}))


def claim(index: Index, url: str, title: str, *, text: str = TEXT) -> str:
    (verdict,) = index.execute(claims=[document(index, url, title, text)])
    index.confirm(verdict)
    return verdict.kind


@pytest.mark.parametrize("known", [None, "drop"])
def test_a_later_process_knows_what_was_dropped(url: str, known: str | None) -> None:
    with Index(url, rule=Rule(known=known)) as index:
        assert claim(index, "http://a.com/wall", "A wall") == "unique"
        assert claim(index, "http://b.com/1", "A story") == "duplicate"
    with Index(url, rule=Rule(known=known)) as index:
        assert claim(index, "http://b.com/2", "Another story") == "unique"
        assert claim(index, "http://c.com/1", "A third story") == "duplicate"


def test_many_copies_of_one_item_do_not_hide_those_of_another(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "COPIES", 3)
    monkeypatch.setattr(queries, "copies", queries.copies.limit(3))
    with Index(url) as index:
        for text, place, title in (
            (OTHER_TEXT, "a.com/original", "A report"),
            *((OTHER_TEXT, f"b.com/{number}", "A report") for number in range(4)),
            (TEXT, "a.com/wall", "A wall"),
            (TEXT, "b.com/story", "A story"),
        ):
            claim(index, f"http://{place}", title, text=text)
    with Index(url) as index:
        report = document(index, "http://b.com/5", "A report", OTHER_TEXT)
        story = document(index, "http://b.com/other-story", "Another story", TEXT)
        verdicts = index.execute(claims=[report, story])
        assert [verdict.kind for verdict in verdicts] == ["duplicate", "unique"]


def test_another_url_of_a_copy_is_no_second_item(url: str) -> None:
    with Index(url) as index:
        pages = ("a.com/", "b.com/1", "b.com/1?sid=4", "b.com/print/1")
        kinds = [claim(index, f"http://{page}", "A story") for page in pages]
    assert kinds == ["unique"] + ["duplicate"] * 3


def test_a_later_process_compares_with_the_copies_on_the_same_site(url: str) -> None:
    recipe, other = (f"{TEXT} Take {grams} g of flour." for grams in (250, 750))
    with Index(url) as index:
        assert claim(index, "http://a.com/mirror", "A cake", text=recipe) == "unique"
        assert claim(index, "http://b.com/1", "A cake", text=recipe) == "duplicate"
    with Index(url) as index:
        assert claim(index, "http://b.com/1/print", "A cake", text=recipe) == "duplicate"
        assert claim(index, "http://c.com/1", "A cake", text=other) == "duplicate"
        assert claim(index, "http://b.com/2", "A cake", text=other) == "unique"

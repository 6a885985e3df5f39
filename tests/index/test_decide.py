"""What makes a document a different item than a claim whose text is near: one case a test."""

from __future__ import annotations

from dataclasses import replace

import pytest
from decided import Namespace, Thing, kinds, one
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.features.shingles import shingles
from scrapy_simhash.index.decide import REST
from scrapy_simhash.text.page import containment, sketch

A, B = "http://a.com/", "http://b.com/"
PROSE = " ".join(f"word{number}" for number in range(400))


# Facts


def test_a_print_view_of_a_page_may_lack_what_its_items_of_a_list_may_not() -> None:
    full = (("date", "May"), ("title", "one"))
    printed = Thing("a", facts=full[1:], url="http://a.com/1/print")
    page = Thing("b", facts=full, url="http://a.com/1")
    for first, second, differs in (
        (printed, page, None),
        (printed, replace(page, url="http://a.com/2"), "date"),
        # What a list has, or the answers to a form, is at one URL.
        (replace(printed, alone=False), replace(page, alone=False), "date"),
        (replace(printed, url=page.url), page, "date"),
    ):
        namespace = Namespace()
        namespace.meet(first)
        assert one(namespace, second)[2] == differs


@pytest.mark.parametrize(
    ("mode", "here", "there"),
    [
        ("auto", ["title", "price"], [None, "price"]),
        ("always", ["title", "price"], ["title", "price"]),
        ("never", [None, None], [None, None]),
    ],
)
def test_facts_count_on_one_site_and_prices_everywhere_by_default(
    mode: str, here: list[str | None], there: list[str | None]
) -> None:
    facts = {"title": "one", "price": "€1"}
    for url, expected in (("http://www.a.com/x", here), (B, there)):
        for name, value, differs in zip(facts, ("two", "€2"), expected, strict=True):
            namespace = Namespace(facts=mode)
            namespace.meet(Thing("a", facts=tuple(facts.items()), url=A))
            new = tuple((facts | {name: value}).items())
            kind = "unique" if differs else "duplicate"
            assert one(namespace, Thing("b", facts=new, url=url)) == (
                kind,
                kind == "unique",
                differs,
            )


# The rest of the page


def shown(words: int, other: int = 0) -> bytes:
    """A page that shows so many words that others show too, and so many of its own."""
    own = [f"own{number}" for number in range(other)]
    return sketch(shingles(" ".join(PROSE.split()[:words] + own)))


@pytest.mark.parametrize(("url", "kind"), [(A, "unique"), (B, "duplicate")])
def test_on_one_site_the_rest_of_the_page_has_to_agree(url: str, kind: str) -> None:
    contents, more = shown(40, 300), " ".join(f"more{number}" for number in range(300))
    other = sketch(shingles(more))
    assert containment(contents, other) < REST
    namespace = Namespace()
    namespace.meet(Thing("a", page_sketch=contents))
    decided = one(namespace, Thing("b", page_sketch=other, url=url))
    assert decided == (kind, kind == "unique", "(rest of the page)" if kind == "unique" else None)


def test_a_print_view_shows_less_and_is_a_duplicate() -> None:
    namespace = Namespace()
    namespace.meet(Thing("a", page_sketch=shown(400, 40)))
    assert one(namespace, Thing("b", page_sketch=shown(380)))[0] == "duplicate"
    assert one(namespace, Thing("c", page_sketch=None))[0] == "duplicate", "an item's own text"
    namespace = Namespace()
    namespace.meet(Thing("a", page_sketch=None))
    assert one(namespace, Thing("b", page_sketch=shown(400)))[0] == "duplicate", "likewise"


@pytest.mark.parametrize(("by_page", "kind"), [(False, "duplicate"), (True, "unique")])
def test_where_pages_speak_for_items_equal_items_say_nothing(by_page: bool, kind: str) -> None:
    """Their texts are far apart."""
    items = (
        Thing(name, text, digest=b"what both items say", by_page=by_page)
        for name, text in (("a", 10), ("b", 90))
    )
    assert kinds(Namespace(), *items) == ["unique", kind]


# Copies of a claim on the site of a document


@pytest.mark.parametrize("batch", [1, 4])
def test_what_differs_from_a_copy_on_its_own_site_is_no_copy_of_another_site(batch: int) -> None:
    """A mirror was met first: only the page that it shows is its copy."""

    def flat(name: str, url: str, rooms: str, title: str) -> Thing:
        return Thing(name, facts=(("rooms", rooms), ("title", title)), url=url)

    mirror, page = flat("m", B, "3", "A flat, mirrored"), flat("a", f"{A}1", "3", "A flat")
    printed, other = flat("p", f"{A}1/print", "3", "A flat"), flat("b", f"{A}2", "4", "A flat")
    quoted = flat("q", f"{A}3", "3", "A flat, mirrored")
    namespace = Namespace()
    kept = namespace.kept(mirror, page, printed, other, quoted, batch=batch)
    assert kept == [mirror, other]


# A text that several items of a site have


def titled(number: int, url: str = A) -> Thing:
    return Thing(f"{url}{number}", facts=(("title", str(number)),), url=url)


@pytest.mark.parametrize("name", ["title", "date", "price", "isbn", "uid", "author"])
def test_other_titles_days_and_prices_make_two_things_and_other_fields_may_not(name) -> None:
    """An id may be random."""
    namespace = Namespace()
    here = [Thing(f"a{number}", facts=((name, str(number)),)) for number in range(2)]
    assert len(namespace.kept(*here)) == 2
    assert one(namespace, Thing("b", facts=((name, "7"),), url=B))[0] == (
        "duplicate" if name in ("isbn", "uid", "author") else "unique"
    )


@given(
    st.permutations(range(8)), st.sampled_from([1, 2, 8]), st.sampled_from([None, "pass", "drop"])
)
def test_of_items_of_two_sites_under_one_text_at_most_one_is_dropped(order, batch, known):
    """A teaser, a consent wall or a pasted comment, whichever site is met first."""
    both = [titled(100 * (number % 2) + number, (A, B)[number % 2]) for number in order]
    kept = Namespace(known=known).kept(*both, batch=batch)
    assert len(kept) >= len(both) - 1

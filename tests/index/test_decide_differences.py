"""What makes a document another thing than a claim whose text is near: one case a test."""

from __future__ import annotations

from dataclasses import replace

import pytest
from decided import Namespace, Thing, facts_of, kinds, one
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.index.decide import REST, decide
from scrapy_simhash.index.verdict import Match
from scrapy_simhash.text.page import containment, sketch

A, B = "http://a.com/", "http://b.com/"
PROSE = " ".join(f"word{number}" for number in range(400))


# Things that are listed together


def test_a_thing_that_another_page_lists_under_another_address_is_a_duplicate() -> None:
    namespace = Namespace()
    namespace.meet(Thing("/a", 10, listing=5))
    assert kinds(namespace, Thing("/b", 10, listing=6), Thing("/c", 10)) == ["duplicate"] * 2


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


def test_where_nothing_is_known_beside_the_text_it_decides_alone() -> None:
    titled = (("title", "one"),)
    assert kinds(Namespace(), Thing("a", facts=None), Thing("b", facts=titled)) == [
        "unique",
        "duplicate",
    ]
    assert kinds(Namespace(), Thing("a", facts=titled), Thing("b", facts=None)) == [
        "unique",
        "duplicate",
    ]


def test_stored_facts_differ_by_the_names_of_the_new_ones() -> None:
    """Of a claim the names are gone; a name that only it knows is never needed."""
    namespace = Namespace()
    namespace.meet(Thing("a", facts=(("colour", "red"), ("size", "L"))))
    assert one(namespace, Thing("b", facts=(("colour", "blue"), ("size", "M"))))[2] == "colour"


# The rest of the page


def shown(words: int, other: int = 0) -> bytes:
    """A page that shows so many words that others show too, and so many of its own."""
    return sketch(" ".join(PROSE.split()[:words] + [f"own{number}" for number in range(other)]))


@pytest.mark.parametrize(("url", "kind"), [(A, "unique"), (B, "duplicate")])
def test_on_one_site_the_rest_of_the_page_has_to_agree(url: str, kind: str) -> None:
    contents, other = shown(40, 300), sketch(" ".join(f"more{number}" for number in range(300)))
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


def test_what_is_from_nowhere_may_be_from_the_same_site() -> None:
    namespace = Namespace()
    namespace.meet(titled(1, ""))
    assert one(namespace, titled(2)) == ("unique", True, "title")
    namespace = Namespace()
    namespace.meet(titled(1))
    assert one(namespace, titled(2, "")) == ("unique", True, "title")


def test_the_rest_of_the_page_does_not_count_where_facts_never_do() -> None:
    namespace = Namespace(facts="never")
    namespace.meet(Thing("a", page_sketch=shown(10, 300)))
    assert one(namespace, Thing("b", page_sketch=shown(400)))[0] == "duplicate"


# A text that several things of a site have


def titled(number: int, url: str = A) -> Thing:
    return Thing(f"{url}{number}", facts=(("title", str(number)),), url=url)


def test_a_text_that_is_common_on_one_site_is_copied_between_two_others() -> None:
    namespace = Namespace()
    namespace.kept(*map(titled, range(2)), titled(7, B))
    assert one(namespace, titled(8, "http://c.com/"))[0] == "duplicate"


@pytest.mark.parametrize("name", ["title", "date", "price", "isbn", "uid", "author"])
def test_other_titles_days_and_prices_make_two_things_and_other_fields_may_not(name) -> None:
    """An id may be random."""
    namespace = Namespace()
    here = [Thing(f"a{number}", facts=((name, str(number)),)) for number in range(2)]
    assert len(namespace.kept(*here)) == 2
    assert one(namespace, Thing("b", facts=((name, "7"),), url=B))[0] == (
        "duplicate" if name in ("isbn", "uid", "author") else "unique"
    )


def test_what_was_dropped_as_a_copy_counts_where_it_is_known() -> None:
    namespace = Namespace()
    namespace.meet(titled(0))
    facts = [facts_of({"title": "2"})]
    copy, mine = (namespace.row(titled(number, B), facts[0]) for number in (1, 2))
    copy = copy._replace(facts=facts_of({"title": "1"}).packed())
    for known, kind in (((), "duplicate"), ((copy,), "unique")):
        near = [Match(claim, 0, 1.0, copies=known) for claim in namespace.claims.values()]
        (decision,) = decide(
            [mine], facts, [near], lambda *_: (), rule=namespace.rule, seen=namespace.seen()
        )
        assert decision.kind == kind


@given(
    st.permutations(range(8)), st.sampled_from([1, 2, 8]), st.sampled_from([None, "pass", "drop"])
)
def test_of_items_of_two_sites_under_one_text_at_most_one_is_dropped(order, batch, known):
    """A teaser, a consent wall or a pasted comment, whichever site is met first."""
    both = [titled(100 * (number % 2) + number, (A, B)[number % 2]) for number in order]
    kept = Namespace(known=known).kept(*both, batch=batch)
    assert len(kept) >= len(both) - 1


def test_facts_that_can_not_be_read_are_an_error_and_no_verdict() -> None:
    namespace = Namespace()
    namespace.meet(Thing("a"))
    ((number, row),) = namespace.claims.items()
    namespace.claims[number] = row._replace(facts=b"odd")
    with pytest.raises(ValueError, match="bytes a field"):
        namespace.meet(Thing("b"))

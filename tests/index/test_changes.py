"""What an index does with the places where two similar texts differ."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from claims import article
from decided import facts_of
from servers import ENGINES

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.item.facts import Facts

on_every_engine = pytest.mark.parametrize("engine", ENGINES)
WORDS = article(0, 600).split()
HERE, SAME_SITE, ELSEWHERE = "http://a.com/1", "http://www.a.com/2", "http://b.com/1"


def spliced(place: int, gone: int, *words: str) -> str:
    return " ".join([*WORDS[:place], *words, *WORDS[place + gone :]])


def named(name: str) -> str:
    return " ".join(name if place % 40 == 7 else word for place, word in enumerate(WORDS))


OWN = [f"own{chr(97 + number)}" for number in range(16)]
PLAIN = " ".join(WORDS)
REPLACED = spliced(100, 16, *OWN)


def decided(
    index: Index, texts: Sequence[str], urls: Sequence[str], titles: Sequence[str] = ("", "")
) -> list[tuple[str, str | None]]:
    documents = [
        index.document(
            text,
            key=f"{url} {number}",
            url=url,
            facts=facts_of({"title": title} if title else {}),
        )
        for number, (text, url, title) in enumerate(zip(texts, urls, titles, strict=True))
    ]
    verdicts = [index.execute(claims=[document])[0] for document in documents]
    return [(verdict.kind, verdict.differs) for verdict in verdicts]


@on_every_engine
@pytest.mark.parametrize("url", [SAME_SITE, ELSEWHERE])
@pytest.mark.parametrize(
    ("first", "second", "differs"),
    [
        (PLAIN, REPLACED, "(passage)"),
        (PLAIN, spliced(100, 0, *OWN), None),
        (PLAIN, spliced(100, 16), None),
        (named("acorn"), named("birch"), "(names)"),
    ],
)
def test_a_passage_for_another_and_exchanged_names_are_kept(
    db: Database, first: str, second: str, url: str, differs: str | None
) -> None:
    found = decided(Index(db), (first, second), (HERE, url))
    assert found[1] == ("unique" if differs else "duplicate", differs)


def test_in_one_batch_it_is_decided_as_in_two() -> None:
    for text, differs in ((REPLACED, "(passage)"), (spliced(100, 0, *OWN), None)):
        with Index("sqlite://") as index:
            documents = [
                index.document(one, key=url, url=url, facts=Facts())
                for one, url in ((PLAIN, HERE), (text, ELSEWHERE))
            ]
            assert index.execute(claims=documents)[1].differs == differs


@pytest.mark.parametrize("url", [SAME_SITE, ELSEWHERE])
@pytest.mark.parametrize("titles", [("A", "A"), ("A", "B")])
def test_under_one_title_too_a_passage_for_another_is_kept(
    url: str, titles: tuple[str, str]
) -> None:
    with Index("sqlite://") as index:
        assert decided(index, (PLAIN, REPLACED), (HERE, url), titles)[1][0] == "unique"


def test_under_one_title_an_exchanged_name_is_another_thing() -> None:
    for url in (SAME_SITE, ELSEWHERE):
        with Index("sqlite://") as index:
            texts = named("acorn"), named("birch")
            assert decided(index, texts, (HERE, url), ("A", "A"))[1][1] == "(names)"


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("235185", "243922", "unique"),
        ("2025", "2026", "duplicate"),
        ("98765", "143922", "duplicate"),
    ],
)
def test_on_two_sites_a_reference_for_another_one_counts(old: str, new: str, kind: str) -> None:
    texts = [spliced(50, 1, f"R-{number}") for number in (old, new)]
    with Index("sqlite://") as index:
        assert decided(index, texts, (HERE, ELSEWHERE))[1][0] == kind


@pytest.mark.parametrize("other", ["https://m.a.com/1/", "http://a.com/1?utm_source=x#top"])
def test_at_one_place_a_passage_is_an_edit(other: str) -> None:
    with Index("sqlite://") as index:
        assert decided(index, (PLAIN, REPLACED), (HERE, other))[1] == ("duplicate", None)


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        (spliced(50, 1, "7"), spliced(50, 1, "8"), "(numbers)"),
        (PLAIN, spliced(50, 1, "8"), "(numbers)"),
        (spliced(50, 1, "8"), PLAIN, None),
        (spliced(50, 2, "5", "march"), spliced(50, 2, "5", "april"), "(numbers)"),
    ],
)
def test_on_one_site_a_number_counts_where_the_new_text_has_it(
    old: str, new: str, differs: str | None
) -> None:
    for url, expected in ((SAME_SITE, differs), (ELSEWHERE, None)):
        with Index("sqlite://") as index:
            kind = "unique" if expected else "duplicate"
            assert decided(index, (old, new), (HERE, url))[1] == (kind, expected)


def test_where_a_text_is_no_longer_kept_an_own_passage_keeps_a_text() -> None:
    with Index("sqlite://", text_budget=0) as index:
        assert decided(index, (PLAIN, REPLACED), (HERE, ELSEWHERE))[1][0] == "unique"


def test_facts_never_compares_neither_passages_nor_numbers() -> None:
    with Index("sqlite://", rule=Rule(facts="never")) as index:
        assert decided(index, (PLAIN, REPLACED), (HERE, SAME_SITE))[1][0] == "duplicate"

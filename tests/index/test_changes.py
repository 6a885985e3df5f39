"""What an index does with the places where two similar texts differ."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from claims import article

from scrapy_simhash.index.index import Index
from scrapy_simhash.item.facts import Facts

WORDS = article(0, 600).split()
HERE, SAME_SITE, ELSEWHERE = "http://a.com/1", "http://www.a.com/2", "http://b.com/1"


def spliced(place: int, gone: int, *words: str) -> str:
    return " ".join([*WORDS[:place], *words, *WORDS[place + gone :]])


def named(name: str) -> str:
    return " ".join(name if place % 40 == 7 else word for place, word in enumerate(WORDS))


OWN = [f"own{chr(97 + number)}" for number in range(16)]
PLAIN = " ".join(WORDS)
REPLACED = spliced(100, 16, *OWN)


def decided(texts: Sequence[str], urls: Sequence[str]) -> tuple[str, str | None]:
    """What the second of two pages is, and why."""
    with Index("sqlite://") as index:
        for text, url in zip(texts, urls, strict=True):
            document = index.document(text, key=url, url=url, facts=Facts())
            (verdict,) = index.execute(claims=[document])
    return verdict.kind, verdict.differs


@pytest.mark.parametrize(
    ("old", "new", "here", "there"),
    [
        (PLAIN, REPLACED, "(passage)", "(passage)"),
        (PLAIN, spliced(100, 0, *OWN), "(added passage)", None),
        (PLAIN, spliced(600, 0, *OWN), "(added passage)", None),
        (PLAIN, spliced(100, 0, *OWN[:11]), None, None),
        (PLAIN, spliced(100, 16), None, None),
        (named("acorn"), named("birch"), "(names)", "(names)"),
        # What tells only the state of a page is no difference.
        (f"{PLAIN}. 12 comments", f"{PLAIN}. 14 comments", None, None),
        # On one site a number counts where the new text has it.
        (spliced(50, 1, "7"), spliced(50, 1, "8"), "(numbers)", None),
        (PLAIN, spliced(50, 1, "8"), "(numbers)", None),
        (spliced(50, 1, "8"), PLAIN, None, None),
        (spliced(50, 1, "L28781"), spliced(50, 1, "L79923"), "(numbers)", None),
        (spliced(50, 1, "A4"), spliced(50, 1, "A5"), None, None),
        (spliced(50, 2, "5", "march"), spliced(50, 2, "5", "april"), "(numbers)", None),
    ],
)
def test_what_differs_between_two_similar_texts_of_one_site_and_of_two(
    old: str, new: str, here: str | None, there: str | None
) -> None:
    for url, differs in ((SAME_SITE, here), (ELSEWHERE, there)):
        kind = "unique" if differs else "duplicate"
        assert decided((old, new), (HERE, url)) == (kind, differs)


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
    assert decided(texts, (HERE, ELSEWHERE))[0] == kind


@pytest.mark.parametrize("other", ["https://m.a.com/1/", "http://a.com/1?utm_source=x#top"])
def test_at_one_place_a_passage_is_an_edit(other: str) -> None:
    assert decided((PLAIN, REPLACED), (HERE, other)) == ("duplicate", None)

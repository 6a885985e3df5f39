"""Pages made so that they pass for a rival's: what a stranger can do, with the secret and without.

`forger` makes them: with the secret nearly all are similar, and make the chosen keys hot.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

import pytest
from forger import Forger
from loopback import prose

from scrapy_simhash.db.values import secret_of
from scrapy_simhash.features.shingles import shingles
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import Verdict
from scrapy_simhash.keys.bands import bands_for
from scrapy_simhash.simhash.measure import candidate_limit, jaccard
from scrapy_simhash.text.page import containment, sketch

KNOWN = "what the forger knows"
BANDS = bands_for(0.9)
PAGES, SHOWN = 200, 25


@pytest.fixture(autouse=True)
def drawn_secrets() -> None:
    """Really random secrets: the assertions hold for any."""


@pytest.fixture(scope="module")
def rivals() -> list[str]:
    return [prose(number, 110) for number in range(PAGES)]


@pytest.fixture(scope="module")
def forge(rivals: Sequence[str]) -> Callable[[int], list[str]]:
    """Forges a number of pages; each takes 20 ms once."""
    forger, forged = Forger(secret_of(KNOWN)), list[str]()

    def forge(count: int) -> list[str]:
        forged.extend(forger.near(text, BANDS) for text in rivals[len(forged) : count])
        return forged[:count]

    return forge


def kinds(index: Index, forged: Sequence[str], rivals: Sequence[str]) -> list[str]:
    """The kinds of :func:`verdicts_on`."""
    return [verdict.kind for verdict in verdicts_on(index, forged, rivals)]


def verdicts_on(index: Index, forged: Sequence[str], rivals: Sequence[str]) -> list[Verdict]:
    """The verdicts on the rivals' pages after the forged ones, which must all be unique."""
    with index:
        pages = [{"text": text, "key": f"forged {number}"} for number, text in enumerate(forged)]
        assert {verdict.kind for verdict in index.claim_many(pages)} == {"unique"}
        pages = [{"text": text, "key": f"rival {number}"} for number, text in enumerate(rivals)]
        return index.claim_many(pages)


def test_who_knows_the_secret_makes_a_rival_similar_whose_text_is_not_kept(
    forge: Callable[[int], list[str]], rivals: list[str]
) -> None:
    """The forger is worth something: the tests below would say little otherwise."""
    for page, text in zip(forge(SHOWN), rivals, strict=False):
        assert jaccard(shingles(page), shingles(text)) < 0.06
    index = Index("sqlite://", secret=KNOWN, text_budget=0)
    verdicts = verdicts_on(index, forge(SHOWN), rivals[:SHOWN])
    assert {verdict.kind for verdict in verdicts} == {"unique"}
    assert [verdict.differs for verdict in verdicts].count("(not compared)") > 0.9 * SHOWN


def test_the_true_similarity_stops_what_is_forged_with_the_secret(
    forge: Callable[[int], list[str]], rivals: list[str]
) -> None:
    index = Index("sqlite://", secret=KNOWN)
    verdicts = kinds(index, forge(SHOWN), rivals[:SHOWN])
    assert verdicts == ["unique"] * SHOWN
    assert index.lookup.counts["index/candidates"] >= 0.9 * SHOWN


@pytest.mark.parametrize("pages", [SHOWN, pytest.param(PAGES, marks=pytest.mark.slow)])
@pytest.mark.parametrize("secret", [None, "what the forger does not know"])
def test_without_the_secret_nothing_is_dropped_or_even_near(
    forge: Callable[[int], list[str]], rivals: list[str], secret: str | None, pages: int
) -> None:
    index = Index("sqlite://", secret=secret, text_budget=0)
    assert kinds(index, forge(pages), rivals[:pages]) == ["unique"] * pages
    # A few words in common lead to some pages; none of these is near.
    assert index.lookup.counts["index/candidates"] <= max(0.02 * pages, 2)
    prints = [index.scheme.sketch(text).fingerprint for text in (*forge(pages), *rivals[:pages])]
    apart = [(a ^ b).bit_count() for a, b in zip(prints, prints[pages:], strict=False)]
    assert min(apart) > candidate_limit(0.9) + 5


def copies_with_hot_keys(secret: str | None) -> tuple[list[str], int]:
    """The verdicts on copies of an article whose bands somebody tried to make hot.

    Returns:
        the kinds of the verdicts on the copies, and how many texts had a hot key.
    """
    text = prose("article", 400)
    filling = Forger(secret_of(KNOWN)).with_hot_keys(text, BANDS, 130)
    # One word in a hundred is another.
    words = text.split()
    copies = [" ".join([*words[:place], "new", *words[place + 1 :]]) for place in range(9, 390, 20)]
    with Index("sqlite://", secret=secret) as index:
        for number, page in enumerate([*filling, text]):
            assert index.claim(page, key=f"page {number}").kind == "unique"
        kinds = [index.claim(copy, key=f"copy {n}").kind for n, copy in enumerate(copies)]
        return kinds, index.lookup.counts["index/hot_keys"]


def test_who_knows_the_secret_hides_an_article_from_its_copies() -> None:
    kinds, hot_keys = copies_with_hot_keys(KNOWN)
    assert hot_keys > 20
    assert kinds.count("unique") > 5


@pytest.mark.parametrize("secret", [None, "what the forger does not know"])
def test_without_the_secret_no_key_becomes_hot(secret: str | None) -> None:
    kinds, hot_keys = copies_with_hot_keys(secret)
    assert hot_keys == 0
    assert set(kinds) == {"duplicate"}


def test_sketches_of_pages_are_made_with_the_secret_too() -> None:
    text = prose("page", 300)
    one, other = (sketch(shingles(text, key)) for key in (secret_of(KNOWN), b"another"))
    assert containment(one, one) == 1
    assert containment(one, other) == containment(sketch(shingles(text)), other) == 0


FORKED = """
import os
from scrapy_simhash.index.verdict import random_number

there, here = os.pipe()
random_number()
child = os.fork()
if not child:
    os.write(here, str(random_number()).encode())
    os._exit(0)
os.waitpid(child, 0)
print(random_number() == int(os.read(there, 99)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_process_draws_other_numbers():
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False\n"

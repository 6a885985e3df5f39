"""A site of long pages that are alike, beside crawls that have nothing to do with it."""

from __future__ import annotations

import random

import pytest
from loopback import serve
from servers import ENGINES, empty_database
from torture.pages import PATHS, Pages, group_of
from torture.scene import Scene

pytestmark = pytest.mark.slow

#: Pages of a manual in many versions, each with other numbers and a passage of its own.
COUNT, WORDS, NUMBERS, OWN = 80, 40_000, 500, 40


def versions() -> dict[str, bytes]:
    chance = random.Random(1)
    vocabulary = ["".join(chance.choices("abcdefghijklmnopqrst", k=6)) for _ in range(9000)]
    words = chance.choices(vocabulary, k=WORDS)
    pages = {}
    for number in range(COUNT):
        mine = words.copy()
        for place in chance.sample(range(WORDS), NUMBERS):
            mine[place] = str(chance.randrange(10**6))
        place = chance.randrange(WORDS - OWN)
        mine[place : place + OWN] = chance.choices(vocabulary, k=OWN)
        paragraphs = (" ".join(mine[start : start + 80]) for start in range(0, WORDS, 80))
        body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
        pages[f"/{number}"] = f"<main>{body}</main>".encode()
    return pages


@pytest.mark.parametrize("engine", ENGINES)
def test_nobody_beside_a_site_of_long_pages_that_are_alike_goes_unchecked(
    engine, tmp_path, site, pages
):
    """Neither a crawl in the namespace of that site nor one in another of the same database."""
    shown = versions()
    with empty_database(engine, tmp_path) as database, serve(shown) as alike:
        scene = Scene(tmp_path / "others", site, pages, database)
        large = Scene(tmp_path / "alike", alike, Pages(), database)
        # The time that a crawl has by default.
        short = {"SIMHASH_TIMEOUT": 10}
        run = large.start(0, tuple(shown), **short)
        run.wait_for("crawl.start] INFO: Index")
        with scene.together():
            others = [scene.start(1, **short), scene.start(2, SIMHASH_NAMESPACE="b", **short)]
        for one in (run, *others):
            one.wait()
        assert [one.unchecked() for one in (run, *others)] == [[], [], []]
        groups = sorted({*map(group_of, PATHS)})
        for one in others:
            assert sorted(map(group_of, one.delivered)) == groups
        assert len(run.delivered) == COUNT

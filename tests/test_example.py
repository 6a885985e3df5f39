from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[1] / "example_project"
TOKEN = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+")


@pytest.fixture(autouse=True)
def example_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)


def shingles(text: str) -> set[tuple[str, str]]:
    return set(itertools.pairwise(TOKEN.findall(text.lower())))


def jaccard(a: set[tuple[str, str]], b: set[tuple[str, str]]) -> float:
    return len(a & b) / len(a | b)


@pytest.fixture
def pages() -> Any:
    from website.catalogue import catalogue

    return catalogue()


def test_pages_of_one_group_say_the_same_and_others_do_not(pages) -> None:
    """The manifest against the texts themselves, over every pair of pages of one language."""
    pages = [page for page in pages if page.story]
    texts = {page.url: shingles("\n".join(page.story.paragraphs)) for page in pages}
    for a, b in itertools.combinations(pages, 2):
        if a.outlet.language != b.outlet.language:
            continue
        similarity = jaccard(texts[a.url], texts[b.url])
        if a.group == b.group:
            assert similarity >= 0.93, (a.url, b.url)
        else:
            assert similarity < 0.5, (a.url, b.url)


def test_score_counts_what_is_kept_twice_and_what_is_lost() -> None:
    from demo import score

    groups = {"a": ["a1", "a2", "a3"], "b": ["b1"], "c": ["c1", "c2"]}
    good = score(["a2", "b1", "c1"], groups)
    assert (good.duplicates_found, good.wrongly_kept, good.wrongly_dropped) == (3, [], [])
    bad = score(["a1", "a3", "c1", "list"], groups)
    assert bad.duplicates_found == 2
    assert bad.wrongly_kept == ["list", "a3"]
    assert bad.wrongly_dropped == ["b1"]
    again = score(["c2"], groups, before=frozenset({"a1", "b1", "c1"}))
    assert again.wrongly_kept == ["c2"]
    assert again.wrongly_dropped == []

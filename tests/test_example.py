from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
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


@pytest.mark.slow
def test_demo_finds_every_duplicate_and_loses_nothing(tmp_path: Path) -> None:
    """The demo itself, in a copy of the project: three crawls, and 0 only if all are right."""
    project = shutil.copytree(
        EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns(".scrapy", "__pycache__")
    )
    finished = subprocess.run(
        [sys.executable, "demo.py"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    for field in ("price", "size", "date", "version"):
        assert re.search(rf"\b{field} \(\d+\)", finished.stdout), field
    assert f"Report: {project / '.scrapy/report.html'}" in finished.stderr
    truth = json.loads((project / ".scrapy/manifest.json").read_text("utf-8"))
    groups = truth["groups"]
    feeds = [
        {json.loads(line).get("url") for line in feed.read_text("utf-8").splitlines()} - {None}
        for feed in (project / ".scrapy" / f"news-{number}.jsonl" for number in (1, 2, 3))
    ]
    # In another order, another copy comes first.
    for feed in feeds[:2]:
        assert all(len(feed.intersection(urls)) == 1 for urls in groups.values())
        assert len(feed) == len(groups)
    assert feeds[2] == set()
    assert things(project, 1) == {frozenset(labels): 1 for labels in truth["others"].values()}
    assert things(project, 2) == things(project, 1)
    prices = {"http://quayside.example/offer/4", "http://yuhang.example/offer/3"}
    assert things(project, 3) == {frozenset({url}): 1 for url in prices}


def things(project: Path, number: int) -> Counter[frozenset[str]]:
    """How often each thing that is no story was stored, by its labels in the manifest."""
    truth = json.loads((project / ".scrapy/manifest.json").read_text("utf-8"))
    group = {label: frozenset(labels) for labels in truth["others"].values() for label in labels}
    lines = [
        json.loads(line)
        for name in ("news", "town", "manual")
        for line in (project / f".scrapy/{name}-{number}.jsonl").read_text("utf-8").splitlines()
    ]
    return Counter(
        group[item.get("url") or ", ".join(item.values())] for item in lines if "text" not in item
    )

"""The sets for other tools, built from small sites, and their scorer."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.accuracy_parts.others import matchers
from benchmarks.accuracy_parts.packages import Site
from benchmarks.accuracy_parts.wording import Writer
from benchmarks.near_duplicates import baselines, build, score

WRITER = Writer("near duplicates")


def site_in(folder: Path, name: str, texts: dict[str, str], around: str) -> tuple[Site, Path]:
    """A site of pages whose content is in one element."""
    for path, text in texts.items():
        page = (
            f"<html><head><title>{path}</title></head><body>{around}<div id=c>{text}</div></body>"
        )
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / f"{path}.html").write_text(page)
    return Site(name, "pip", name, ("1", "2"), "", "//*[@id='c']"), folder / name


@pytest.fixture(scope="module")
def syndicated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sites")
    sources = []
    for name in ("one", "two", "three"):
        texts = {n: f"<p>{'</p><p>'.join(WRITER.prose(60) for _ in '123')}" for n in "abcdef"}
        menu = f"<ul>{''.join(f'<li><a href=/>{name} {n} of the menu</a>' for n in range(9))}</ul>"
        site, pages = site_in(folder, name, texts, menu)
        sources += build.sources_of(site, "en", pages)
    assert build.write(build.syndicated(sources), folder / "set") > 18
    return folder / "set"


class TestSyndicated:
    def test_tools_get_no_truth(self, syndicated: Path) -> None:
        for line in (syndicated / "pages.jsonl").read_text().splitlines():
            assert json.loads(line).keys() == {"id", "url", "html"}

    def test_baselines_write_a_row_for_each_tool(
        self, syndicated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out = tmp_path / "results.md"
        monkeypatch.setattr(sys, "argv", ["baselines", str(syndicated), "--out", str(out)])
        baselines.main()
        rows = {
            cells[1]: cells[2:]
            for line in out.read_text().split("\n\n")[3].splitlines()
            if len(cells := [cell.strip() for cell in line.split("|")]) > 4
        }
        assert rows["this package"][0].startswith("1.000 of ")
        assert rows["this package"][2] == "0"
        for tool in matchers().keys() - {"this"}:
            assert f"{tool}, text of density" in rows


KNOWN = [
    score.Known("1", "x", "", "", {}),
    score.Known("2", "x", "", "", {"1": 1.0}),
    score.Known("3", "x", "", "", {"1": 0.95, "2": 0.6}),
    score.Known("4", "y", "", "", {"3": 0.7}),
    score.Known("5", "y", "", "", {}),
]


class TestScore:
    def test_counts(self) -> None:
        groups = {"1": "a", "2": "a", "3": "b", "4": "b", "5": "b"}
        scores = score.score(KNOWN, groups)
        assert scores["x"] == score.Score(pages=3, copies=2, found=1, drops=1, lost=0)
        assert scores["y"] == score.Score(pages=2, copies=0, found=0, drops=2, lost=1)
        assert scores[score.ALL].row() == ["0.500 of 2", "0.333 of 3", 1, 1]

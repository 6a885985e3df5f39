"""The sets for other tools, built from small sites, and their scorer."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.accuracy_parts.others import matchers
from benchmarks.accuracy_parts.packages import Site
from benchmarks.accuracy_parts.sites import alike_before
from benchmarks.accuracy_parts.wording import Writer
from benchmarks.near_duplicates import baselines, build, score
from scrapy_simhash.features.shingles import shingles

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
    def test_articles_are_put_into_pages_of_other_sites(self, syndicated: Path) -> None:
        truth = score.read_truth(syndicated)
        pages = {visit.kind: visit for visit in baselines.read_pages(syndicated)}
        assert [page.id for page in truth] == list(pages)
        composed = [page for page in truth if page.kind == "syndicated"]
        assert len(composed) == 18 * 3
        for page in composed:
            origin = pages[next(iter(page.alike))]
            menus = [f"{name} 1 of the menu".encode() for name in ("one", "two", "three")]
            shown = [
                [menu in (one.page or b"") for menu in menus] for one in (pages[page.id], origin)
            ]
            assert sum(shown[0]) == sum(shown[1]) == 1
            assert shown[0] != shown[1]

    def test_every_page_is_there_once_whatever_its_language(self, tmp_path: Path) -> None:
        sources = []
        for name in ("one", "two", "three"):
            texts = {f"p{n}": f"<p>{WRITER.prose(150)}" for n in range(6)}
            site, pages = site_in(tmp_path, name, texts, "")
            sources += build.sources_of(site, "zh" if name == "one" else "en", pages)
        kinds = "original", "template"
        pages_once = [one.html for one in build.syndicated(sources) if one.kind in kinds]
        assert len(pages_once) == len(set(pages_once)) == 18

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

    def test_pages_without_one_large_content_are_no_sources(self, tmp_path: Path) -> None:
        texts = {"small": "a few words", "long": WRITER.prose(200), "two": "<p id=c>b"}
        site, pages = site_in(tmp_path, "x", texts, "")
        names = [source.name for source in build.sources_of(site, "en", pages)]
        assert names == ["x-en-long-html"]


class TestVersions:
    def test_similarities_are_those_of_the_contents(self, tmp_path: Path) -> None:
        words = WRITER.prose(120).split()
        old = {"a": " ".join(words), "b": WRITER.prose(90)}
        new = {"a": " ".join([*words[:-2], "other", "words"]), "b": WRITER.prose(90)}
        site, first = site_in(tmp_path / "old", "x", old, "<p>The old menu</p>")
        _, second = site_in(tmp_path / "new", "x", new, "<p>The new menu</p>")
        entries = list(build.versions([(site, [first, second])], 9))
        kinds = [(entry.kind, entry.url.split("/")[-1]) for entry in entries[:4]]
        assert kinds == [
            *(("old version", f"{name}.html") for name in "ab"),
            *(("new version", f"{name}.html") for name in "ab"),
        ]
        assert [list(entry.alike) for entry in entries[:4]] == [[], [], [entries[0].id], []]
        assert 0.9 < entries[2].alike[entries[0].id] < 1
        for entry in entries[4:]:
            assert max(entry.alike.values()) == 1

    def test_a_page_that_two_sites_have_is_a_copy_in_the_second(self, tmp_path: Path) -> None:
        texts = {"a": WRITER.prose(90)}
        sites = [site_in(tmp_path, name, texts, "") for name in ("en", "zh")]
        entries = list(build.versions([(site, [at, at]) for site, at in sites], 9))
        (first, other) = (
            next(entry for entry in entries if entry.id == name) for name in ("en--0", "zh--0")
        )
        assert other.alike[first.id] == 1
        assert first.part != other.part

    def test_similarities_are_exact(self) -> None:
        hashes = [shingles(text) for text in ("a b c d e", "a b c d f", "x y", "a b c d e")]
        assert list(alike_before(hashes, 0.5)) == [{}, {0: 0.6}, {}, {0: 1.0, 1: 0.6}]
        assert list(alike_before(hashes, 0.7))[3] == {0: 1.0}


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

    def test_any_earlier_copy_in_the_group_counts_and_no_later_one(self) -> None:
        assert score.score(KNOWN, {"1": "a", "2": "a", "3": "a"})["x"].found == 2
        assert score.score(KNOWN, {"2": "a", "3": "a"})["x"].found == 0

    def test_missing_pages_are_kept(self) -> None:
        assert score.score(KNOWN, {})[score.ALL] == score.Score(5, 2, 0, 0, 0)

    @pytest.mark.parametrize(
        "text",
        ["id,group\n1,a\n2,b\n", '{"id": 1, "group": "a"}\n\n{"id": "2", "group": "b", "x": 0}\n'],
    )
    def test_formats(self, text: str, tmp_path: Path) -> None:
        (tmp_path / "groups").write_text(text)
        assert score.read_groups(tmp_path / "groups") == {"1": "a", "2": "b"}

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("id,cluster\n1,a\n", "row 1: there must be an id and a group"),
            ("id,group\n1,a\n1,b\n", "row 2: the id '1' was there before"),
            ("id,group\n6,a\n", "no page of the set has the id '6'"),
        ],
    )
    def test_errors_name_the_row(
        self,
        text: str,
        message: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        (tmp_path / "groups").write_text(text)
        with (tmp_path / "truth.jsonl").open("w") as file:
            file.writelines(json.dumps(page._asdict()) + "\n" for page in KNOWN)
        monkeypatch.setattr(sys, "argv", ["score", str(tmp_path), str(tmp_path / "groups")])
        with pytest.raises(SystemExit):
            score.main()
        assert message in capsys.readouterr().err

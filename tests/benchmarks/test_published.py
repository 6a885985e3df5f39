"""Small sets in the formats of those that others marked."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from benchmarks import published
from benchmarks.accuracy_parts.others import extractors, matchers, text_of
from benchmarks.accuracy_parts.wording import Writer

WRITER = Writer("published")
ARTICLES = [[WRITER.prose(60) for _ in range(4)] for _ in range(4)]
TEXTS = [" ".join(article) for article in ARTICLES]
SCORER = """
def evaluate(truth, said, n_bootstrap):
    assert truth.keys() == said.keys()
    right = sum(truth[name]["articleBody"] == said[name]["articleBody"] for name in truth)
    return {"f1": right / len(truth)}
"""


def page_of(number: int) -> str:
    return f"<nav>The menu of all</nav><p>{'<p>'.join(ARTICLES[number])}"


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    truth = {}
    for number in range(4):
        truth[f"f{number}"] = {"articleBody": "\n".join(ARTICLES[number]), "url": "http://a/"}
        write(tmp_path / f"html/f{number}.html.gz", gzip.compress(page_of(number).encode()))
    write(tmp_path / "ground-truth.json", json.dumps(truth))
    write(tmp_path / "evaluate.py", SCORER)
    return tmp_path


class TestMarked:
    def test_clean_eval_has_a_url_tags_entities_and_empty_pages(self, tmp_path: Path) -> None:
        golds = {
            "1": "URL: http://a/\n\n<h>A title\n<p>one &amp;\n<l>two",
            "2": "<!-- no article -->",
            "3": "no page",
            "4": "in UTF-16".encode("utf-16"),
        }
        for name, gold in golds.items():
            write(tmp_path / f"GoldStandard/{name}.txt", gold)
        for name in "124":
            write(tmp_path / f"input/{name}.html", f"page {name}")
        pages = published.read_cleaned(tmp_path)
        assert [(one.name, one.page, one.text.split()) for one in pages] == [
            ("1", b"page 1", ["A", "title", "one", "&", "two"]),
            ("4", b"page 4", ["in", "UTF-16"]),
        ]

    def test_dragnet_has_comments_at_the_end(self, tmp_path: Path) -> None:
        write(tmp_path / "GoldStandard/1.txt", "the text, 1 < 2\n\n!@#$%^&*()  COMMENTS\nMe too\n")
        write(tmp_path / "input/1.html", "")
        assert published.read_cleaned(tmp_path)[0].text.strip() == "the text, 1 < 2"

    def test_l3s_marks_texts_by_the_class_of_a_span(self, tmp_path: Path) -> None:
        folder = tmp_path / "page-signal-master"
        spans = {1: "head", 2: "full <b>no</b>text", 3: "more", 4: "other story", 5: "comment"}
        gold = "".join(f'<p><span class="x-nc-sel{n}">{t}</span>' for n, t in spans.items())
        write(folder / "GoldStandard/1.txt", f"<title>no</title>{gold}")
        write(folder / "input/1.html", "")
        assert published.read_cleaned(folder)[0].text.split() == ["head", "full", "text", "more"]

    def test_score_is_of_shingles_of_four_words(self) -> None:
        assert published.f1("a b c d e", "a b, c d e!") == 1
        assert published.f1("a b c d e", "b c d e f g") == pytest.approx(2 / 5)
        assert published.f1("a b", "a c") == 0
        assert published.f1("a b", "") == 0
        assert published.f1("", "") == 1

    def test_articles_are_scored_by_the_scorer_that_comes_with_them(self, articles: Path) -> None:
        pages = published.read_articles(articles)
        score = published.own_scorer(articles)
        figures = published.measure_texts(pages, score, ["density", "body"], 1)
        assert figures["pages"] == 4
        assert figures["results"] == {
            "density": {"f1": 1.0, "held out": 1.0, "failed": 0},
            "body": {"f1": 0.0, "held out": 0.0, "failed": 0},
        }

    def test_a_page_that_an_extractor_cannot_read_has_no_text(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> str:
            raise ValueError

        monkeypatch.setattr(published, "text_of", fail)
        assert published.extract("density", b"page") is None

    @pytest.mark.parametrize("name", extractors())
    def test_every_extractor_finds_an_article(self, name: str) -> None:
        """One in English, as some know stop words."""
        line = "In the {} of the year we were at sea, and it was a good time for all of us who had "
        line += "come to see what is left of the old harbour and of the boats that were in it. "
        paragraphs = [line.format(at) * 3 for at in ("spring", "summer", "autumn", "winter")]
        page = f"<html><body><p>{'</p><p>'.join(paragraphs)}</p></body></html>"
        assert published.f1(" ".join(paragraphs), text_of(name, page.encode())) > 0.8


COPY = TEXTS[0].replace(" the ", " that ", 1)
DOCUMENTS = [
    published.Document(name, text, frozenset(copies))
    for name, text, copies in (
        ("a", TEXTS[0], "b"), ("b", COPY, "a"), ("c", TEXTS[1], ""), ("d", TEXTS[2], "")
    )
]  # fmt: skip


class TestNearDuplicates:
    def test_core(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        rows = [(1, TEXTS[0], ["2"]), (2, COPY, ["1"]), (3, TEXTS[1], None)]
        names = "core_id", "processed_title", "processed_abstract", "labelled_duplicates"
        lines = [
            json.dumps(dict(zip(names, (number, "Title", *row), strict=True)))
            for number, *row in rows
        ]
        path = tmp_path / "core.jsonl"
        write(path, "\n".join(lines))
        documents = published.read_core(path)
        assert documents[0] == ("1", f"Title {TEXTS[0]}", frozenset({"2"}))
        assert documents[2] == ("3", f"Title {TEXTS[1]}", frozenset())
        monkeypatch.setattr(sys, "argv", ["published", "--core", str(path)])
        published.main()
        results = json.loads(capsys.readouterr().out)["CORE"]["results"]
        assert results.keys() == matchers().keys()
        assert results["this"] == {"macro f1": 1, "accuracy": 1}

    def test_news_copy_groups_what_pairs_connect(self, tmp_path: Path) -> None:
        rows = {name: {"article": f"text {name}", "date": ""} for name in "abcde"}
        write(tmp_path / "test_inf_data.json", json.dumps(rows))
        write(tmp_path / "full_test_gt.json", json.dumps(["ab", "cd", "bc"]))
        found = {
            one.name: "".join(sorted(one.copies)) for one in published.read_news_copy(tmp_path)
        }
        assert found == {"a": "bcd", "b": "acd", "c": "abd", "d": "abc", "e": ""}

    def test_spotsigs_has_a_folder_a_cluster(self, tmp_path: Path) -> None:
        for name, number in (("x/1.html", 0), ("x/2.html", 0), ("y/1.html", 1)):
            write(tmp_path / name, page_of(number))
        write(tmp_path / "README", "")
        documents = published.read_spotsigs(tmp_path)
        assert [(one.name, set(one.copies)) for one in documents] == [
            ("x/1.html", {"x/2.html"}), ("x/2.html", {"x/1.html"}), ("y/1.html", set())
        ]  # fmt: skip
        assert documents[2].text == "\n".join(ARTICLES[1])

    @pytest.mark.parametrize("name", matchers())
    def test_every_matcher_groups_copies(self, name: str) -> None:
        assert published.groups_of(DOCUMENTS, matchers()[name]()) == [0, 0, 2, 3]

    @pytest.mark.parametrize(
        ("groups", "ari", "f1", "macro", "accuracy"),
        [
            ([0, 0, 2, 3], 1, 1, 1, 1),
            ([0, 1, 2, 3], 0, 0, 0.25, 0.5),  # half of those without a match have none
            ([0, 0, 0, 3], 1 / 3, 0.5, (2 / 3 + 1) / 2, 0.25),
            ([0, 1, 2, 2], -0.2, 0, 0, 0),
        ],
    )
    def test_figures(
        self, groups: list[int], ari: float, f1: float, macro: float, accuracy: float
    ) -> None:
        pairs = published.pair_figures(DOCUMENTS, groups)
        assert pairs == pytest.approx({"ari": ari, "f1 of pairs": f1})
        core = published.core_figures(DOCUMENTS, groups)
        assert core == pytest.approx({"macro f1": macro, "accuracy": accuracy})


def test_results_are_printed_as_json_or_written_as_tables(
    articles: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--articles", str(articles), "--extractors", "density", "--jobs", "1"]
    monkeypatch.setattr(sys, "argv", ["published", *arguments])
    published.main()
    figures = json.loads(capsys.readouterr().out)["article-extraction-benchmark"]
    assert figures["results"]["density"]["f1"] == 1
    out = tmp_path / "out.md"
    monkeypatch.setattr(sys, "argv", ["published", *arguments, "--out", str(out)])
    published.main()
    assert "| article-extraction-benchmark | 4 | 1.000 (1.000) |" in out.read_text()


def test_tables_have_what_was_measured() -> None:
    result = {"f1": 0.5, "held out": 0.25, "failed": 2}
    text = published.as_tables(
        {
            "one": {"pages": 1234, "results": {"a": result}},
            "two": {"pages": 9, "results": {"b": {**result, "failed": 0}}},
            "three": {"documents": 7, "results": {"a": {"ari": 0.75}}},
        }
    )
    assert "| set | pages | a | b |" in text
    assert "| one | 1,234 | 0.500 (0.250, 2 failed) | - |" in text
    assert "| two | 9 | - | 0.500 (0.250) |" in text
    assert "three, 7 documents:\n\n|  | ari |\n| --- | --- |\n| a | 0.75 |" in text

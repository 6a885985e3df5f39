"""Small sets in the formats of those that others marked."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from benchmarks import published
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


COPY = TEXTS[0].replace(" the ", " that ", 1)
DOCUMENTS = [
    published.Document(name, text, frozenset(copies))
    for name, text, copies in (
        ("a", TEXTS[0], "b"), ("b", COPY, "a"), ("c", TEXTS[1], ""), ("d", TEXTS[2], "")
    )
]  # fmt: skip


class TestNearDuplicates:
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

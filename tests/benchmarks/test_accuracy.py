"""What benchmarks/accuracy.py takes for true, and how it counts."""

from __future__ import annotations

import io
import json
import sys
import tarfile
from pathlib import Path

import pytest

from benchmarks import accuracy
from benchmarks.accuracy_parts.short import measure_class
from benchmarks.accuracy_parts.visits import HALVES, Judged, Tally, Visit, tally
from benchmarks.accuracy_parts.wording import Writer

WRITER = Writer("tests")
ARTICLES = [[WRITER.prose(60) for _ in range(4)] for _ in range(8)]


def page_of(number: int, *, beside: str = "", name: str = "story") -> str:
    """A page with an article of four paragraphs; each has a template of its own."""
    paragraphs = "".join(f"<p>{text}</p>" for text in ARTICLES[number])
    return (
        f"<html><head><title>Site {'abcdefgh'[number]}</title></head><body class='of{number}'>"
        f"<ul>{''.join(f'<li><a href=/{n}>section {number} {n}</a></li>' for n in range(5))}</ul>"
        f"<div class='{name}{number}'>{paragraphs}</div><div>{beside}</div></body></html>"
    )


def archive_of(folder: Path, pages: dict[str, str]) -> Path:
    path = folder / "pages.tar"
    with tarfile.open(path, "w") as archive:
        for name, page in pages.items():
            member = tarfile.TarInfo(name)
            member.size = len(page.encode())
            archive.addfile(member, io.BytesIO(page.encode()))
    return path


def visit(thing: str, text: str = "", *, kind: str = "page", half: str = HALVES[0]) -> Visit:
    return Visit(f"https://{thing}.example/", thing, kind, half, None, text)


class TestTally:
    def test_copies_are_right_or_wrong_by_what_they_match(self) -> None:
        visits = [visit("a"), visit("b"), visit("a"), visit("a"), visit("a"), visit("c")]
        judged = [Judged(match) for match in (None, None, 0, 1, None, 0)]
        assert tally(visits, judged, ()) == {
            (): Tally(copies=3, found=1, visits=6, wrong=2, things=3, lost=1)
        }


def test_every_part_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = archive_of(tmp_path, {f"pages/en/{n}.html": page_of(n) for n in range(8)})
    text = " ".join(ARTICLES[0])
    row = {"lang": "en", "length": "50-200", "a": text, "b": text, "jaccard": 1.0}
    (tmp_path / "pairs.jsonl").write_text(f"{json.dumps(row)}\n")
    arguments = ["--pages", archive, "--pairs", tmp_path / "pairs.jsonl", "--sites", tmp_path]
    parts = ["syndication", "generated", "pairs", "edits", "main text"]
    some = ["--only", *parts, "--judges", "this", "--limit", 2, "--jobs", 1]
    monkeypatch.setattr(sys, "argv", ["accuracy", *map(str, (*arguments, *some))])
    accuracy.main()
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line.startswith("## ")] == [
        f"## {part}" for part in parts
    ]
    assert measure_class(8, 10, 1, 50) == (1, 1, 0, 0)  # few shingles

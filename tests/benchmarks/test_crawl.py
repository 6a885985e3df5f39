from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path
from shutil import which

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "crawl.py"
PAGE = "<html><head><title>{0}</title></head><body><h1>{0}</h1><p>{1}</p></body></html>"
TEXTS = {
    "tide": "The ebb leaves the mud flats bare for six hours, and herons walk out to the wreck.",
    "bread": "Rye dough wants a warm corner, a long night, and somebody who does not look at it.",
    "été": "Un train de nuit traverse la plaine pendant que les voyageurs dorment sous le toit.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages = tmp_path / "pages"
    (pages / "more").mkdir(parents=True)
    for name, text in TEXTS.items():
        (pages / "more" / f"{name}.html").write_text(PAGE.format(name, text), encoding="utf-8")
    (pages / "notes.txt").write_text("not a page")
    return pages


def run(*arguments: object) -> str:
    finished = subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_archive_is_crawled_with_the_plugin_and_its_drops_are_listed(folder: Path) -> None:
    for name in ("first", "second"):
        (folder / f"{name}.html").write_text(PAGE.format("same", " ".join(TEXTS.values())))
    archive = folder.parent / "pages.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(folder, arcname="pages")
    output = run(
        archive, "--only", "pure", "--rounds", 1, "--drops", "--set", "SIMHASH_SIMILARITY=0.95"
    )
    assert "pure: 4 stored, 1 dropped" in output
    assert "/pages/first.html" in output
    assert "/pages/second.html" in output


def test_figures_of_crawls_with_errors_are_refused(folder: Path) -> None:
    """A plugin that cannot open its index passes every page, which would look like a low cost."""
    finished = subprocess.run(
        [
            sys.executable, SCRIPT, folder, "--rounds", "1",
            "--set", "SIMHASH_DATABASE_URL=sqlite:////no/such/folder.sqlite",
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    assert finished.returncode == 1
    assert "these figures mean nothing" in finished.stderr


def test_instructions_are_counted_in_parts() -> None:
    if which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    output = run("--small", 10, "--instructions", "--spider", "none")
    assert "8 pages after 2" in output
    rows = [line.strip("| ").split(" | ") for line in output.splitlines()[-2:]]
    figures = {name: [float(figure) for figure in row] for name, *row in rows}
    bare, *parts_of_bare = figures["bare"]
    everything, added, documents, thread, rest = figures["compiled"]
    assert bare > 1
    assert parts_of_bare == [0, 0, 0, 0]
    assert documents > 0.1
    assert thread > 0.1
    assert added == pytest.approx(everything - bare, abs=0.02)
    assert added == pytest.approx(documents + thread + rest, abs=0.02)


def test_instructions_need_valgrind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    finished = subprocess.run(
        [sys.executable, SCRIPT, "--small", "10", "--instructions"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 1
    assert finished.stderr == "--instructions needs valgrind, which is not installed\n"

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

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

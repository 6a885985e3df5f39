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
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_folder_is_crawled_bare_twice_in_every_round(folder: Path) -> None:
    output = run(folder, "--only", "bare again", "--rounds", 2)
    assert "3 pages, 2 rounds, spider: selectors\n" in output
    assert output.count("\nround ") == 2
    assert output.count("\n| bare ") == 2
    assert all(line.endswith("| 0 |") for line in output.splitlines() if line.startswith("| bare "))


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


@pytest.mark.parametrize(
    "url", ["sqlite:////no/such/folder.sqlite", "postgresql+psycopg://127.0.0.1:1/none"]
)
def test_figures_of_crawls_with_errors_are_refused(folder: Path, url: str) -> None:
    """A plugin that cannot open its index passes every page, which would look like a low cost."""
    finished = subprocess.run(
        [
            sys.executable, SCRIPT, folder, "--rounds", "1",
            "--set", f"SIMHASH_DATABASE_URL={url}",
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    assert finished.returncode == 1
    assert "these figures mean nothing" in finished.stderr


def test_setting_without_a_value_is_refused(folder: Path) -> None:
    finished = subprocess.run(
        [sys.executable, SCRIPT, folder, "--set", "SIMHASH_SIMILARITY"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert finished.returncode == 2
    assert "'SIMHASH_SIMILARITY' is not NAME=VALUE" in finished.stderr

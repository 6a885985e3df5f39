"""The page on the architecture names what is there, and every folder; links lead somewhere."""

from __future__ import annotations

import ast
import pkgutil
import re
from pathlib import Path

import pytest
from test_layers import FLOOR, ORDER

from scrapy_simhash.crawl.settings import DEFAULTS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "scrapy_simhash"
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PICTURE = (ROOT / "docs" / "architecture.svg").read_text("utf-8")

SPANS = set(re.findall(r"`([^`\n]+)`", PAGE))
FILE = r"[\w.]+\.(?:py|toml)"
NAMED_PATHS = {span for span in SPANS if "/" in span or re.fullmatch(FILE, span)}
NAMED_OBJECTS = {span for span in SPANS if re.fullmatch(r"\w+(\.\w+)+", span)} - NAMED_PATHS
NAMED_TESTS = {span for span in SPANS if re.fullmatch(r"test_\w+", span)}
DRAWN_PATHS = set(re.findall(r"\b[\w/]+(?:/(?!\w)|/\w+\.py)", re.sub(r"<[^>]*>", "\n", PICTURE)))


def is_there(path: str) -> bool:
    found = next((place for place in (PACKAGE / path, ROOT / path) if place.exists()), None)
    return found is not None and (found.is_dir() or not path.endswith("/"))


def resolves(name: str) -> bool:
    try:
        pkgutil.resolve_name(f"scrapy_simhash.{name}")
    except (ImportError, AttributeError):
        return False
    return True


def test_every_path_on_the_page_and_in_its_picture_exists():
    assert len(NAMED_PATHS) > 50
    assert len(DRAWN_PATHS) > 10
    assert [path for path in sorted(NAMED_PATHS | DRAWN_PATHS) if not is_there(path)] == []


def test_every_name_on_the_page_exists():
    assert len(NAMED_OBJECTS) > 50
    assert [name for name in sorted(NAMED_OBJECTS) if not resolves(name)] == []


def test_every_test_on_the_page_exists():
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    there = {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, functions)
    }
    assert len(NAMED_TESTS) > 20
    assert NAMED_TESTS - there == set()


def test_every_setting_and_every_make_target_on_the_page_exists():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE)
    assert set(re.findall(r"`make ([\w-]+)`", PAGE)) <= set(targets)
    assert set(re.findall(r"SIMHASH_\w+", PAGE + PICTURE)) <= set(DEFAULTS)


def test_every_folder_and_file_beside_the_folders_is_on_the_page():
    folders = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert folders | {path.name for path in PACKAGE.glob("*.py")} <= SPANS


def test_the_rooms_stand_in_the_order_in_which_they_import():
    assert ORDER in " ".join(PAGE.split())
    _, table = re.split(r"^\| room \|.*$", PAGE, flags=re.MULTILINE)
    rooms = re.findall(r"^\| `(\w+)/` \|", table, flags=re.MULTILINE)
    assert [FLOOR[room] for room in rooms] == sorted(FLOOR[room] for room in rooms)
    assert set(rooms) == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def headings(page: Path) -> set[str]:
    """What links can lead to, as GitHub names it."""
    found = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not heading or heading in headings(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_or_a_heading(page):
    links = re.findall(r"\]\(([^)]+)\)", page.read_text("utf-8"))
    ours = [link for link in links if not link.startswith("https:")]
    assert [link for link in ours if not leads_somewhere(page, link)] == []

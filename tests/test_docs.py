"""What the pages name exists: links, paths, names, tests, settings, commands and messages."""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
import re
import shlex
from functools import cache
from pathlib import Path
from typing import get_args

from scrapy.settings import Settings as ScrapySettings
from sources import DOCS, PACKAGE, PAGES, ROOT, blocks, text_of, trees
from test_layers import FLOOR

from benchmarks.accuracy_parts.figure import RESULTS as RESULTS_OF_ACCURACY
from benchmarks.accuracy_parts.figure import draw, panels_of
from scrapy_simhash.crawl.document import Reason
from scrapy_simhash.crawl.settings import DEFAULTS, Settings
from scrapy_simhash.history.record import Record

#: A variable of the environment: it is about the machine, not about a project.
ENVIRONMENT = {"SIMHASH_NATIVE"}

ARCHITECTURE = text_of(DOCS / "architecture.md")
PICTURE = text_of(DOCS / "architecture.svg")
SPANS = set(re.findall(r"`([^`\n]+)`", ARCHITECTURE))
FILE = r"[\w.]+\.(?:py|toml)"
NAMED_PATHS = {span for span in SPANS if "/" in span or re.fullmatch(FILE, span)}
NAMED_OBJECTS = {span for span in SPANS if re.fullmatch(r"\w+(\.\w+)+", span)} - NAMED_PATHS
NAMED_TESTS = {span for span in SPANS if re.fullmatch(r"test_\w+", span)}
DRAWN_PATHS = set(re.findall(r"\b[\w/]+(?:/(?!\w)|/\w+\.py)", re.sub(r"<[^>]*>", "\n", PICTURE)))


def listed(found: list[tuple[Path, object]]) -> str:
    return "\n".join(f"{page.relative_to(ROOT)}: {what}" for page, what in found)


def is_there(path: str) -> bool:
    found = next((place for place in (PACKAGE / path, ROOT / path) if place.exists()), None)
    return found is not None and (found.is_dir() or not path.endswith("/"))


def resolves(name: str) -> bool:
    try:
        pkgutil.resolve_name(f"scrapy_simhash.{name}")
    except (ImportError, AttributeError):
        return False
    return True


class TestArchitecture:
    def test_every_path_on_the_page_and_in_its_picture_exists(self):
        assert NAMED_PATHS
        assert DRAWN_PATHS
        assert [path for path in sorted(NAMED_PATHS | DRAWN_PATHS) if not is_there(path)] == []

    def test_every_name_exists(self):
        assert NAMED_OBJECTS
        assert [name for name in sorted(NAMED_OBJECTS) if not resolves(name)] == []

    def test_every_test_exists(self):
        found = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)
        tests = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
        assert NAMED_TESTS
        assert NAMED_TESTS - {name for text in tests for name in found.findall(text)} == set()

    def test_every_make_target_exists(self):
        makefile = (ROOT / "Makefile").read_text("utf-8")
        targets = re.findall(r"^([\w-]+):", makefile, flags=re.MULTILINE)
        assert set(re.findall(r"`make ([\w-]+)`", ARCHITECTURE)) <= set(targets)

    def test_every_folder_and_file_beside_the_folders_is_on_the_page(self):
        folders = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
        assert folders | {path.name for path in PACKAGE.glob("*.py")} <= SPANS

    def test_the_rooms_stand_in_the_order_in_which_they_import(self):
        rooms = re.findall(r"^- `(\w+)/`: ", ARCHITECTURE, flags=re.MULTILINE)
        assert [FLOOR[room] for room in rooms] == sorted(FLOOR[room] for room in rooms)
        assert set(rooms) == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


@cache
def headings(page: Path) -> set[str]:
    """The anchors that links can name, as GitHub and Sphinx make them."""
    found = re.findall(r"^#+ (.+)$", text_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not heading or heading in headings(target))


def test_every_link_leads_to_a_file_or_a_heading():
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\(([^)]+)\)", text_of(page))]
    ours = [(page, link) for page, link in links if not link.startswith("https:")]
    assert ours
    wrong = [(page, link) for page, link in ours if not leads_somewhere(page, link)]
    assert not wrong, listed(wrong)


NUMBER = r"(?<![\d,])\.?\d+(?:[.,]\d+)*"
#: Files of figures that commands write.
RESULTS = "accuracy_parts/results.md", "near_duplicates/results.md", "noisy.md", "published.md"


def test_figures_of_accuracy_are_results_of_its_benchmarks():
    """All of its tables, and all of its text that has three digits."""
    results = "".join(text_of(ROOT / "benchmarks" / name) for name in RESULTS)
    page, _, _ = text_of(DOCS / "accuracy.md").partition("## Repeat it")
    rows = "".join(re.findall(r"^\|.*$", page, re.MULTILINE))
    figures = set(re.findall(NUMBER, rows))
    figures |= {number for number in re.findall(NUMBER, page) if len(re.sub(r"\D", "", number)) > 2}
    assert len(figures) > 50
    assert figures - set(re.findall(NUMBER, results)) == set()


def test_the_figure_of_accuracy_shows_the_results():
    assert text_of(DOCS / "accuracy.svg") == draw(panels_of(text_of(RESULTS_OF_ACCURACY)))


class TestSettings:
    def test_every_setting_that_a_page_names_exists(self):
        named = [
            (page, name)
            for page in [*PAGES, DOCS / "architecture.svg"]
            if page.name != "CHANGELOG.md"
            for name in re.findall(r"SIMHASH_[A-Z_]*[A-Z]\b", text_of(page))
        ]
        wrong = [(page, name) for page, name in named if name not in {*DEFAULTS, *ENVIRONMENT}]
        assert not wrong, listed(wrong)

    def test_every_setting_is_described_with_its_default(self):
        described = {}
        found = re.findall(
            r"^### (SIMHASH_.+)\n+Default: (.+)$", text_of(DOCS / "settings.md"), re.MULTILINE
        )
        for heading, default in found:
            values = re.findall(r"`([^`]+)`", default)
            names = re.findall(r"SIMHASH_\w+", heading)
            described |= dict(zip(names, map(ast.literal_eval, values), strict=False))
        assert described == DEFAULTS

    def test_every_reason_for_which_something_is_not_compared_is_described(self):
        _, reasons = text_of(DOCS / "settings.md").split("The reasons in `simhash/skipped/`:")
        assert set(re.findall(r"^- `(\w+)`: ", reasons, re.MULTILINE)) == set(get_args(Reason))

    def test_settings_in_examples_are_taken(self):
        given = [
            (page, values)
            for page in PAGES
            for block in blocks(page, "python")
            if (values := settings_in(block))
        ]
        assert given
        wrong = [(page, error) for page, values in given if (error := refusal(values))]
        assert not wrong, listed(wrong)


def settings_in(block: str) -> dict[str, object]:
    """The settings of this package that a block assigns literal values to."""
    return {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in ast.parse(block).body
        if isinstance(statement, ast.Assign)
        and statement.targets[0].id.startswith("SIMHASH_")
        and not any(isinstance(node, ast.Name | ast.Call) for node in ast.walk(statement.value))
    }


def refusal(values: dict[str, object]) -> object:
    """Why a crawl with these settings would not start."""
    # Its packages, or classes of the reader's project, are not installed here.
    given = {
        name: value
        for name, value in values.items()
        if name != "SIMHASH_EXTRACTOR" and "shop.items" not in str(value)
    }
    try:
        Settings.read(ScrapySettings(given))
    except Exception as error:  # noqa: BLE001 - any of them would stop a crawl
        return error
    return set(values) - set(DEFAULTS)


def test_every_block_of_python_is_python():
    wrong = []
    for page in PAGES:
        for block in blocks(page, "python"):
            try:
                compile(block, page.name, "exec")
            except SyntaxError as error:
                wrong.append((page, error))
    assert not wrong, listed(wrong)


def writer(name):
    """A program that writes a page, as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_evidence_is_the_one_that_decides():
    evidence = writer("evidence")
    assert evidence.PAGE.read_text("utf-8") == evidence.page(), "run docs/evidence.py"
    assert "\n| amount of money | yes |" in evidence.page()


class TestCommands:
    @staticmethod
    def commands():
        return writer("commands")

    def test_every_command_of_the_pages_is_one(self, capsys):
        wrong, parser_of = [], self.commands().parser_of
        line_of = re.compile(r"^(?: {4})?(?:\$ )?scrapy simhash ([a-z].*)$", re.MULTILINE)
        for page in PAGES:
            for line in line_of.findall(text_of(page)):
                given = line.replace(" ...", " 1").partition(" > ")[0]
                command, *arguments = shlex.split(given, comments=True)
                try:
                    parser = parser_of(command)
                    parser.add_argument("-s", action="append")
                    parser.parse_args(arguments)
                except (SystemExit, KeyError):
                    wrong.append((page, f"{line} {capsys.readouterr().err}"))
        assert not wrong, listed(wrong)

    def test_the_page_of_the_commands_is_what_they_say(self):
        commands = self.commands()
        assert commands.PAGE.read_text("utf-8") == commands.page(), "run docs/commands.py"
        assert list(commands.NAMES) == list(Record("kept", "").as_json())


WORDS = re.compile(r"\w{2,}")


def template(node: ast.expr) -> str:
    """The fixed words of a message, with … for its arguments."""
    match node:
        case ast.Constant(value=str(text)):
            return re.sub(r"%[-.\d]*[a-z%]", "…", text)
        case ast.JoinedStr(values=parts):
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts
            )
    return ""


class TestTroubleshooting:
    """The messages on the page are messages of the code."""

    @staticmethod
    @cache
    def shown() -> list[str]:
        """Where their lines begin: what readers search for."""
        page = text_of(DOCS / "troubleshooting.md")
        starts = re.findall(r"^- ((?:`[^`]+`(?:, )?)+):", page, re.MULTILINE)
        found = [span for start in starts for span in re.findall(r"`([^`]+)`", start)]
        return found + re.findall(r"one line begins with `([^`]+)`", page)

    def test_every_message_on_the_page_is_one_of_the_code(self):
        strings = " ".join(
            template(node)
            for tree in trees().values()
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant | ast.JoinedStr)
        )
        shown = self.shown()
        assert len(shown) > 10
        pieces = {
            piece.rstrip(": ") for span in shown for piece in span.split("…") if WORDS.search(piece)
        }
        assert [piece for piece in sorted(pieces) if piece not in strings] == []

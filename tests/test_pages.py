"""What the pages show can be done as it is written there."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from loopback import Page, article, serve
from scrapy.settings import Settings as ScrapySettings

from scrapy_simhash.crawl.settings import DEFAULTS, Settings

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]

spec = importlib.util.spec_from_file_location("commands", DOCS / "commands.py")
commands = importlib.util.module_from_spec(spec)
spec.loader.exec_module(commands)


def blocks(page: Path, *languages: str) -> list[str]:
    """The fenced blocks of these languages."""
    fence = rf"^```(?:{'|'.join(languages)})\n(.*?)^```$"
    return re.findall(fence, page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def settings_in(block: str) -> dict[str, object]:
    """The settings of this package that a block assigns literal values to."""
    return {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in ast.parse(block).body
        if isinstance(statement, ast.Assign)
        and statement.targets[0].id.startswith("SIMHASH_")
        and not any(isinstance(node, ast.Name | ast.Call) for node in ast.walk(statement.value))
    }


GIVEN = [
    (page.name, values)
    for page in PAGES
    for block in blocks(page, "python")
    if (values := settings_in(block))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_python_is_python(page):
    for block in blocks(page, "python"):
        compile(block, page.name, "exec")


@pytest.mark.parametrize(("page", "values"), GIVEN, ids=[page for page, _ in GIVEN])
def test_settings_of_the_pages_are_taken(page, values):
    # What needs a package or a project of the reader's is there in neither.
    values.pop("SIMHASH_EXTRACTOR", None)
    per_class = {name for name, value in values.items() if "shop.items" in str(value)}
    given = {name: value for name, value in values.items() if name not in per_class}
    Settings.read(ScrapySettings(given))
    assert set(values) <= set(DEFAULTS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_the_pages_is_one(page):
    text = page.read_text("utf-8")
    for line in re.findall(r"^(?: {4})?(?:\$ )?scrapy simhash ([a-z].*)$", text, re.MULTILINE):
        command, *arguments = shlex.split(line.replace(" ...", " 1"), comments=True)
        parser = commands.parser_of(command)
        parser.add_argument("-s", action="append")
        parser.parse_args(arguments)


def test_the_page_of_the_commands_is_what_they_say():
    assert commands.PAGE.read_text("utf-8") == commands.page(), "run docs/commands.py"


def run(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments],
        cwd=cwd, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_the_first_page_does_what_it_says(tmp_path):
    """A project is begun, and its files are those of the page; the site is another one."""
    run("startproject", "news", ".", cwd=tmp_path)
    links = "".join(f'<a href="/{name}">{name}</a>' for name in ("a", "b", "c", "a-copy"))
    pages = {
        "/robots.txt": Page(b"", status=404),
        "/": f"<body>{links}</body>".encode(),
        "/a": article("a"),
        "/b": article("b"),
        "/c": article("c"),
        "/a-copy": article("a", extra="Print"),
    }
    with serve(pages) as site:
        for block in blocks(DOCS / "start.md", "python"):
            path, code = re.fullmatch(r"# ([\w/.]+)\n(.*)", block, re.DOTALL).groups()
            file = tmp_path / path
            if file.exists():
                name = code.partition(" = ")[0]
                before = file.read_text("utf-8")
                assert f"\n{name} = {{}}\n" in before, (
                    f"{name} is no empty setting of a new project"
                )
                code = before.replace(f"\n{name} = {{}}\n", f"\n{code}")
                code = code.replace("DOWNLOAD_DELAY = 1\n", "")
            code = code.replace("https://example.com", site).replace("example.com", "127.0.0.1")
            file.write_text(code, "utf-8")
        lines = "\n".join(blocks(DOCS / "start.md", "console")).splitlines()
        said = [shlex.split(line.removeprefix("$ ")) for line in lines]
        crawls = [words[1:] for words in said if words[:2] == ["scrapy", "crawl"]]
        first, again = (run(*arguments, cwd=tmp_path) for arguments in crawls)
    lines = (tmp_path / "pages.jsonl").read_text("utf-8").splitlines()
    kept = [json.loads(line)["url"] for line in lines]
    assert len(kept) == 3
    assert {url.rpartition("/")[2] for url in kept} > {"b", "c"}
    assert "0 claims; near is" in first
    assert "4 checked, 3 kept, 1 dropped: 3 unique, 1 near-duplicate" in first
    assert "4 checked, 0 kept, 4 dropped" in again
    (back,) = (words[1:] for words in said if "restore" in words)
    run(*back, cwd=tmp_path)
    assert len((tmp_path / "back.jsonl").read_text("utf-8").splitlines()) == 5

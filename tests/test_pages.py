"""The commands on the pages work as shown."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from loopback import Page, article, serve
from sources import DOCS, blocks


def test_python_block_runs_and_prints_what_its_comments_say(capsys):
    page = DOCS / "api.md"
    exec(compile(blocks(page, "python")[-1], str(page), "exec"), {})
    kind, again = capsys.readouterr().out.splitlines()
    assert kind == "unique"
    assert again == "duplicate https://example.com/story"


def run(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments],
        cwd=cwd, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_commands_of_the_first_page_work(tmp_path):
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
            found = re.fullmatch(r"# ([\w/.]+)\n(.*)", block, re.DOTALL)
            if found is None:  # of a project that has more
                continue
            path, code = found.groups()
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
        commands = [shlex.split(line.removeprefix("$ ")) for line in lines]
        crawls = [words[1:] for words in commands if words[:2] == ["scrapy", "crawl"]]
        (back,) = (words[1:] for words in commands if "restore" in words)
        first, again = (run(*arguments, cwd=tmp_path) for arguments in crawls[:2])
        run(*back, cwd=tmp_path)
        (counting,) = (run(*arguments, cwd=tmp_path) for arguments in crawls[2:])
    lines = (tmp_path / "pages.jsonl").read_text("utf-8").splitlines()
    kept = [json.loads(line)["url"] for line in lines]
    assert len(kept) == 3
    assert {url.rpartition("/")[2] for url in kept} > {"b", "c"}
    assert "0 stored items; similarity 0.9 or more" in first
    assert "4 items: 3 stored (3 new), 1 left out (1 copy)" in first
    assert "4 items: 0 stored, 4 left out (" in again
    assert "4 items: 4 stored (" in counting
    # What is left out as unchanged is stored already.
    (restored,) = (tmp_path / "back.jsonl").read_text("utf-8").splitlines()
    (dropped,) = (
        pages.keys() - {"/", "/robots.txt"} - {f"/{url.rpartition('/')[2]}" for url in kept}
    )
    assert json.loads(restored)["url"].endswith(dropped)

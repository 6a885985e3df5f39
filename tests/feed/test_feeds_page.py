"""The examples of the page on files work, and print what it shows."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from corpora import archive, feed_of, jsonl
from loopback import article, prose
from sources import DOCS, blocks

PAGE = DOCS / "feeds.md"
CHINESE = "镇上没有人知道是谁在前一天晚上关上了水闸，潮水退去以后，人们才看见堤坝上的裂缝。"


def examples() -> list[tuple[str, str]]:
    """The commands, each with the output that the page shows."""
    found = []
    for block in blocks(PAGE, "console"):
        for command in block.removeprefix("$ ").split("\n$ "):
            line, _, output = command.partition("\n")
            found.append((line, output))
    return found


def table(*rows: tuple[str, ...], delimiter: str = ",") -> str:
    return "".join(delimiter.join(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that the page names."""
    items, _ = feed_of(9)
    stories = [{"title": f"Title {n // 3}", "text": one["text"]} for n, one in enumerate(items)]
    lamp, chair, morning = prose("lamp", 60), prose("chair", 60), "2030-01-31 07:24:43"
    products = [
        ("title", "text", "price", "loaded"),
        ("Lamp", lamp, "9.50", morning),
        ("Lamp", lamp, "9.50", "2030-01-31 07:46:05"),
        ("Lamp", lamp, "9.50", morning),
        ("Lamp", lamp, "9.50", "2030-01-31 07:59:31"),
        ("Chair", chair, "19.90", morning),
        ("Chair", chair, "19.90", "2030-01-31 08:02:17"),
        ("Chair", chair, "24.90", morning),
    ]
    told = ("标题", "正文")
    texts = {
        "products.csv": table(*products, delimiter=";").encode(),
        "stories.csv": table(told, *3 * [("一", CHINESE)]).encode("gb18030"),
        "articles.csv": table(
            ("title", "text"), *[(one["title"], one["text"]) for one in stories]
        ).encode(),
        "articles.jsonl": jsonl(stories),
        "articles.jsonl.gz": gzip.compress(jsonl(stories)),
        "items.json": json.dumps(stories).encode(),
        "new.jsonl": jsonl(stories),
        "crawl.warc.gz": b"".join(
            gzip.compress(archive((f"http://{n}.example.com/", article(seed))))
            for n, seed in enumerate("aba")
        ),
    }
    for name, content in texts.items():
        (tmp_path / name).write_bytes(content)
    for name in ("archive", "corpus", "more"):
        (tmp_path / name).mkdir()
    (tmp_path / "archive/old.jsonl").write_bytes(jsonl(stories[:4]))
    return tmp_path


def write_tables(folder: Path) -> None:
    pa, pq = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    found = pa.Table.from_pylist(feed_of(3)[0])
    for name in ("corpus/a", "more/b", "last-week"):
        pq.write_table(found, folder / f"{name}.parquet")


@pytest.mark.parametrize(("command", "output"), examples(), ids=lambda text: text[:60])
def test_a_command_of_the_page_prints_what_it_shows(call, folder, monkeypatch, command, output):
    if "parquet" in command:
        write_tables(folder)
    if "warc" in command:
        pytest.importorskip("fastwarc")
    monkeypatch.chdir(folder)
    if "|" in command:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path}
        printed = subprocess.check_output(command, shell=True, env=environment, text=True)
        code = 0
    else:
        name, *arguments = shlex.split(command, comments=True)[2:]
        settings = dict(one.split("=") for one in arguments if one.startswith("SIMHASH_"))
        arguments = [
            one for one in arguments if one not in {"-s", *map("=".join, settings.items())}
        ]
        code, printed, _ = call(name, *arguments, **settings)
    assert code == 0
    assert printed.strip() == output.strip() or not output

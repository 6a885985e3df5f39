"""The way of one page through the package: calls, files, and how often the file changes.

    python benchmarks/way.py
    python benchmarks/way.py --trace      # and the files as they are entered

Crawls generated pages one at a time, with default settings and SQLite: each original is claimed
and confirmed, its copy dropped. A page has an item and a link that the crawl has seen. What is
printed is the last page of each kind, when nothing happens for the first time any more.

A call is an entry into a function of the package, in any thread. A coroutine or generator that
goes on where it stopped is entered again, and counts again. Lambdas and comprehensions are part
of the function they stand in and count as nothing, and so does what has no file, as the __init__
of a dataclass. Calls across files: the caller, the nearest function of the package on the stack,
stands in another file. Changes of file: the entry before, in the same thread, was into another
file. To return is not to enter: only what a function calls after it counts as back in its file.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import threading
from itertools import groupby, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NamedTuple

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

import scrapy_simhash

PACKAGE = f"{Path(scrapy_simhash.__file__).parent}/"
KINDS = {"original": "an original (claimed, confirmed)", "copy": "its copy (dropped)"}
PAIRS = 4
APART = 1.0  # seconds between two pages: outcomes wait less, to be written with what comes next


class Entry(NamedTuple):
    """An entry into a function; files are named by their path in the package."""

    is_main: bool
    file: str
    function: str
    caller: str | None


def file_of(frame: FrameType | None) -> str | None:
    """The file of the nearest frame that is the package's."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            return frame.f_code.co_filename.removeprefix(PACKAGE)
        frame = frame.f_back
    return None


def article(seed: int, title: str) -> str:
    """A page with the text of a seed."""
    chosen = random.Random(seed)
    words = ("".join(chosen.choices("abcdeghiklmnoprstu", k=6)) for _ in range(120))
    body = f"<article><p>{' '.join(words)}</p></article>"
    return f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{body}</body></html>"


def crawl(folder: Path) -> dict[str, list[list[Entry]]]:
    """What is entered for each page, by its kind, in order."""
    ways: dict[str, list[list[Entry]]] = {kind: [] for kind in KINDS}
    entries: list[Entry] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_ours = code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<")
        if event == "call" and is_ours and (file := file_of(frame)):
            is_main = threading.current_thread() is threading.main_thread()
            entries.append(Entry(is_main, file, code.co_qualname, file_of(frame.f_back)))

    class Pages(Spider):
        name = "pages"

        async def start(self) -> Any:
            for seed in range(PAIRS):
                for kind in KINDS:
                    path = folder / f"{kind}{seed}.html"
                    path.write_text(article(seed, kind), "utf-8")
                    entries.clear()
                    yield Request(path.as_uri())
                    await asyncio.sleep(APART)
                    ways[kind].append(entries.copy())

        def parse(self, response: Response, **kwargs: Any) -> Any:
            yield {"url": response.url, "title": response.css("title::text").get()}
            yield response.follow(response.url)

    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_simhash.Addon": 500},
            "SIMHASH_DATABASE_URL": f"sqlite:///{folder}/index.db",
            "FEEDS": {f"{folder}/items.jsonl": {"format": "jsonlines"}},
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "ERROR",
        }
    )
    process.crawl(Pages)
    threading.setprofile(profile)
    sys.setprofile(profile)
    process.start()
    sys.setprofile(None)
    return ways


def figures(way: list[Entry]) -> list[int]:
    """Calls, files and functions; of each thread its calls, those across files, and changes."""
    row = [len(way), len({entry.file for entry in way}), len({entry[1:3] for entry in way})]
    for is_main in (True, False):
        entries = [entry for entry in way if entry.is_main == is_main]
        across = sum(entry.caller not in {None, entry.file} for entry in entries)
        row += [len(entries), across, sum(a.file != b.file for a, b in pairwise(entries))]
    return row


def main() -> None:
    """Print a table, and the files if they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trace", action="store_true", help="print the files as they are entered")
    trace: bool = parser.parse_args().trace
    with TemporaryDirectory() as folder:
        ways = crawl(Path(folder))
    head = ("calls", "files", "functions", *2 * ("calls", "across files", "changes"))
    print(f"{'':59}{'main thread':30}worker thread")
    print(f"{'one page':32}  {'  '.join(head)}")
    for kind, name in KINDS.items():
        *_, before, last = map(figures, ways[kind])
        cells = (f"{number:>{len(title)}}" for number, title in zip(last, head, strict=True))
        print(f"{name:32}  {'  '.join(cells)}{'' if before == last else '  not steady'}")
    for kind, name in KINDS.items() if trace else ():
        for is_main, thread in ((True, "main thread"), (False, "worker thread")):
            files = (entry.file for entry in ways[kind][-1] if entry.is_main == is_main)
            print(f"\n{name}, {thread}:", *(file for file, _ in groupby(files)), sep="\n  ")


if __name__ == "__main__":
    main()

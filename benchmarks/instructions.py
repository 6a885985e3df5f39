"""What a page costs a crawl in instructions, as valgrind counts them: `crawl.py --instructions`.

Where the clock of a machine shows no single per cents, instructions do: two counts of one tree
differ by less than .5 %. The whole crawl is one process without a network. It is counted with
60 pages and with the first 12 of them, and what is printed is a 48th of the difference: imports,
start-up and warm-up are left out, storing is in, and a part of closing. Of a source with more
pages, 60 are taken that are evenly spread over it. Hashes and the secret of the database are fixed.

Documents are what becomes of an item, and of its page, before it is compared: text, facts and
fingerprint, and the freeing of the page's tree. What Python's collector then saves is in the rest,
which may be negative. The database's thread and the event loop take turns, or speed would decide
how many claims share a transaction, and valgrind is 50 times slower: the thread always gets four
(14 at most in a crawl of a local server, 1.4 behind a network), and the loop waits for it. So what
two threads cost each other over the GIL is not in the figures, nor is any waiting.
"""

from __future__ import annotations

import ctypes
import math
import os
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from threading import Semaphore
from typing import Any, ClassVar, NamedTuple

from crawl import Contestant, crawl

PAGES = 60
WARM_UP = 5  # one page of so many
CLAIMS = 4  # of a turn of the database's thread
IDLE = 3.0  # seconds of nearly no CPU, after which it takes fewer
FIXED = {
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONHASHSEED": "0",
}
VALGRIND = (
    "valgrind",
    "--tool=callgrind",
    "--instr-atstart=no",
    "--separate-threads=yes",
    "--compress-strings=no",
)
C_LIBRARY = ctypes.CDLL(None)  # each makes a class, which must not be counted
COMPARISON = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class Count(NamedTuple):
    """The instructions of a crawl."""

    total: int
    documents: int
    thread: int  # all threads but that of the event loop


class PagesHandler:
    """A download handler that has all pages."""

    lazy = False
    pages: ClassVar[Mapping[str, bytes]]  # by URL
    is_counted: ClassVar[bool]

    def __init__(self) -> None:
        """Have callgrind count from now on, as it makes the imports before slow."""
        if not self.is_counted:
            return
        vgdb = subprocess.Popen(["vgdb", f"--pid={os.getpid()}", "instrumentation", "on"])
        while vgdb.poll() is None:
            """Valgrind listens while something runs."""

    async def download_request(self, request: Any) -> Any:
        """The page of a request."""
        from scrapy.http import HtmlResponse

        body, headers = self.pages[request.url], {"Content-Type": "text/html"}
        return HtmlResponse(request.url, body=body, headers=headers)

    async def close(self) -> None:
        """Nothing to close."""


def in_sort(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called as a comparison by the C library's qsort.

    Callgrind knows no functions of Python, but what this one costs with all it calls. Nothing else
    sorts with it while pages are crawled.
    """
    calls: list[Callable[[], Any]] = []
    results: list[Any] = []
    two, size = ctypes.create_string_buffer(2), ctypes.c_size_t(1)

    @COMPARISON
    def compare(*_: object) -> int:
        results.append(calls.pop()())
        return 0

    @wraps(function)
    def sort(*arguments: Any) -> Any:
        calls.append(partial(function, *arguments))
        C_LIBRARY.qsort(two, ctypes.c_size_t(2), size, compare)
        return results.pop()

    return sort


def take_turns() -> None:
    """Have the database's thread do so many claims at a time, while the event loop waits."""
    from scrapy.utils.asyncio import call_later

    from scrapy_simhash.crawl import thread
    from scrapy_simhash.index import runs

    # There would be one each few pages.
    runs.HEARTBEAT = math.inf
    thread._PAUSE, thread._GATHER, thread._GATHER_FIRST = 1e6, 0.0, 0.0
    put, look_after = thread.DatabaseThread.put, thread.DatabaseThread._look_after
    is_done, asked, is_planned = Semaphore(0), 0, False

    def put_and_wait(self: Any, job: thread.Job) -> None:
        nonlocal asked
        asked += not job.is_outcome
        if job.method == "call" or asked >= CLAIMS:
            asked = 0
            put(self, job)
            self._is_asked.set()
            is_done.acquire()
        else:
            self._jobs.append(job)
            if not is_planned:
                plan(self)

    def plan(self: Any) -> None:
        nonlocal is_planned
        is_planned = True
        call_later(IDLE, take_if_idle, self, time.process_time())

    def take_if_idle(self: Any, before: float) -> None:
        nonlocal asked, is_planned
        is_planned = False
        if time.process_time() - before >= IDLE / 100:
            plan(self)  # it is not idle, but slow
        elif asked:
            asked = 0
            self._is_asked.set()
            is_done.acquire()

    def look_after_and_tell(self: Any, work: Callable[[], object]) -> None:
        look_after(self, work)
        if work == self._tidy:  # the last of a turn
            is_done.release()

    thread.DatabaseThread.put = put_and_wait  # type: ignore[method-assign]
    thread.DatabaseThread._look_after = look_after_and_tell  # type: ignore[method-assign]


def crawl_once(folder: str) -> None:
    """Crawl in this process."""
    job = pickle.loads(Path(folder, "job").read_bytes())
    PagesHandler.pages, PagesHandler.is_counted, settings, kind = job
    settings["DOWNLOAD_HANDLERS"] = {"http": PagesHandler}
    if "ADDONS" in settings:
        from scrapy_simhash.crawl.document import DocumentMaker

        for name in ("draft", "of_item"):
            setattr(DocumentMaker, name, in_sort(getattr(DocumentMaker, name)))
        take_turns()
        settings |= {"SIMHASH_SECRET": "the same in each run", "SIMHASH_TIMEOUT": 600}
    result = crawl(list(PagesHandler.pages), Contestant(settings), kind, folder)
    if result.errors or result.received < len(PagesHandler.pages):
        raise SystemExit(f"{result.errors} errors in {folder}: these figures mean nothing")


def run(
    pages: Mapping[str, bytes], contestant: Contestant, kind: str, *, is_counted: bool = True
) -> Count:
    """Crawl pages in a process."""
    with TemporaryDirectory() as folder:
        job = (dict(pages), is_counted, dict(contestant.settings), kind)
        Path(folder, "job").write_bytes(pickle.dumps(job))
        valgrind = (*VALGRIND, f"--callgrind-out-file={folder}/counted") if is_counted else ()
        finished = subprocess.run(
            [*valgrind, sys.executable, __file__, folder],
            capture_output=True,
            check=False,
            env={**os.environ, **FIXED, **contestant.environment},
            text=True,
        )
        if finished.returncode:
            raise SystemExit(finished.stderr)
        threads = [
            file.read_text(encoding="latin-1") for file in sorted(Path(folder).glob("counted-*"))
        ]
    totals = [int(re.findall(r"^totals: (\d+)", text, re.MULTILINE)[-1]) for text in threads]
    documents = re.findall(
        r"^cfn=_*qsort_r\ncalls=.*\n\S+ (\d+)", "".join(threads[:1]), re.MULTILINE
    )
    return Count(sum(totals), sum(map(int, documents)), sum(totals[1:]))


def print_instructions(
    pages: Mapping[str, bytes], crawlers: Mapping[str, Contestant], kind: str
) -> None:
    """Count what each crawl costs, and print it: a row for each contestant, in Markdown."""
    if which("valgrind") is None:
        raise SystemExit("--instructions needs valgrind, which is not installed")
    spread = list(pages.items())[:: max(1, len(pages) // PAGES)][:PAGES]
    every = {f"http://127.0.0.1{path}": body for path, body in spread}
    first = dict(list(every.items())[: len(every) // WARM_UP])
    if len(first) < 2:
        raise SystemExit(f"--instructions: {len(every)} pages are too few")
    with TemporaryDirectory() as compiled, ThreadPoolExecutor(os.cpu_count()) as pool:
        caching = {"PYTHONPYCACHEPREFIX": compiled}
        named = {
            name: Contestant(one.settings, {**one.environment, **caching})
            for name, one in crawlers.items()
        }
        # Modules are compiled before anything is counted.
        for one in named.values():
            run(first, one, kind, is_counted=False)
        jobs = ((part, one, kind) for one in named.values() for part in (first, every))
        counts = list(pool.map(lambda job: run(*job), jobs))
    counted = len(every) - len(first)
    print(f"{counted} pages after {len(first)}, spider: {kind}; millions of instructions a page\n")
    print("| crawl | all | added | documents | database thread | rest |\n|---|---|---|---|---|---|")
    bare = None
    for name, few, many in zip(named, counts[::2], counts[1::2], strict=True):
        all_, documents, thread = (
            (more - less) / counted / 1e6 for less, more in zip(few, many, strict=True)
        )
        bare = bare or (all_, thread)
        added, thread = all_ - bare[0], thread - bare[1]
        parts = (all_, added, documents, thread, added - documents - thread)
        print(f"| {name} | {' | '.join(f'{part:.2f}' for part in parts)} |")


if __name__ == "__main__":
    crawl_once(*sys.argv[1:])

"""What an item passes from the pipeline to its verdict is what docs/architecture.md lists."""

from __future__ import annotations

import re
import sys
from types import FrameType

import pytest
from loopback import PageSpider, article, crawl, serve
from scrapy.utils.defer import deferred_f_from_coro_f
from sources import PACKAGE, text_of

from scrapy_simhash import native
from scrapy_simhash.crawl.components import SimhashPipeline
from scrapy_simhash.crawl.thread import DatabaseThread

#: A folder of the package, and in brackets the files there that an item passes.
LISTED = re.compile(r"^- `(\w+/)`: .* \[([\w, ]+)\]$", re.MULTILINE)


def listed() -> set[str]:
    page = text_of(PACKAGE.parent / "docs" / "architecture.md")
    folders = LISTED.findall(page)
    return {f"{folder}{name}.py" for folder, names in folders for name in names.split(", ")}


@pytest.mark.skipif(native.in_use == "pure", reason="without the compiled core more files run")
@deferred_f_from_coro_f
async def test_an_item_passes_the_files_that_are_listed(settings, monkeypatch):
    """All that the last item and its copy pass is listed, and all that is listed is passed once.

    What is prepared for the first items alone need not be listed. Statements are prepared again
    where a transaction has other outcomes in it, which is a matter of time.
    """
    passed, passed_last, items = set[str](), set[str](), []
    start = f"{PACKAGE}/"
    process, do = SimhashPipeline.process_item, DatabaseThread.do
    ways = {process.__code__, do.__code__}

    def profile(frame: FrameType | None, event: str, _: object) -> None:
        if event != "call" or frame.f_code.co_name.startswith("<"):
            return
        name = frame.f_code.co_filename
        while frame is not None and frame.f_code not in ways:
            frame = frame.f_back
        if frame is not None and name.startswith(start):
            (passed_last if len(items) > 2 else passed).add(name.removeprefix(start))

    async def process_watched(self, item):
        items.append(item)
        sys.setprofile(profile)
        try:
            return await process(self, item)
        finally:
            sys.setprofile(None)

    def do_watched(self, jobs):
        # Not where it closes.
        sys.setprofile(profile if jobs[0].method != "call" or not items else None)
        try:
            return do(self, jobs)
        finally:
            sys.setprofile(None)

    monkeypatch.setattr(SimhashPipeline, "process_item", process_watched)
    monkeypatch.setattr(DatabaseThread, "do", do_watched)
    pages = {f"/{number}/{copy}": article(number) for number in range(2) for copy in range(2)}
    with serve(pages) as site:
        done = await crawl(
            PageSpider, settings | {"CONCURRENT_REQUESTS": 1}, [site + path for path in pages]
        )
    assert (done.stats["unique"], done.stats["duplicates"]) == (2, 2)
    on_page = {*listed(), "visible.py"}
    assert sorted(passed_last - on_page) == []
    assert sorted(on_page - passed_last - passed) == []

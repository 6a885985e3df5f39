"""Several crawls at once that meet the same entries in lists of their own."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hosts import proxied, serve_hosts
from site_pages import layout, sentences, title
from visits import claims_in, on_both_engines

CRAWLER = Path(__file__).parents[1] / "torture" / "crawler.py"
PROCESSES, GROUPS, PER_PAGE = 4, 60, 10
#: No process lives longer, whatever happens to it.
HARD_KILL = 90


def lists(process: int) -> dict[str, bytes]:
    """Each entry is in two of the lists of a site, under two addresses, in an order of its own."""
    pages = {}
    for turn in range(2):
        order = list(range(GROUPS))
        random.Random(f"{process} {turn}").shuffle(order)
        for start in range(0, GROUPS, PER_PAGE):
            entries = "".join(
                f"<div class='entry'><a href='/{turn}/{group}'>{title(group)}</a>"
                f"<p>{sentences(group, 60)}</p></div>"
                for group in order[start : start + PER_PAGE]
            )
            pages[f"/list/{turn}/{start}"] = layout(f"site {process}", "List", entries)
    return pages


class Together(dict[str, dict[str, bytes]]):
    """Sites that answer once all were asked: all crawls have opened the index by then.

    Crawls that follow each other are visits of their own, which store the same entries again.
    """

    def __init__(self, sites: dict[str, dict[str, bytes]]) -> None:
        super().__init__(sites)
        self._asked: set[str] = set()
        self._are_all_asked = threading.Event()

    def get(self, host: str, default: Any = None) -> Any:
        self._asked.add(host)
        if self._asked == self.keys():
            self._are_all_asked.set()
        assert self._are_all_asked.wait(60)
        return super().get(host, default)


@pytest.mark.slow
@on_both_engines
def test_entries_of_lists_that_four_processes_meet_at_once_are_kept_once(settings, tmp_path):
    hosts = Together({f"site-{process}.example": lists(process) for process in range(PROCESSES)})
    feeds, crawls, logs = [], [], []
    with serve_hosts(hosts) as through:
        for host, pages in hosts.items():
            feeds.append(tmp_path / f"{host}.jsonl")
            plan = tmp_path / f"{host}.plan"
            chosen = {
                "SIMHASH_DATABASE_URL": settings["SIMHASH_DATABASE_URL"],
                "SIMHASH_TIMEOUT": 60,
                "FEEDS": {str(feeds[-1]): {"format": "jsonlines"}},
            }
            urls = [f"http://{host}{path}" for path in pages]
            plan.write_text(
                json.dumps({"urls": urls, "settings": chosen, "stats": f"{plan}.stats"})
            )
            crawls.append(
                subprocess.Popen(
                    [sys.executable, CRAWLER, plan],
                    cwd=tmp_path,
                    env=proxied(through),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        try:
            logs = [crawl.communicate(timeout=HARD_KILL)[0] for crawl in crawls]
        finally:
            for crawl in crawls:
                crawl.kill()
                crawl.wait()
    items = [json.loads(line) for feed in feeds for line in feed.read_text("utf-8").splitlines()]
    kept = Counter(item["title"] for item in items)
    assert [log for log in logs if "ERROR" in log] == []
    assert set(map(title, range(GROUPS))) - kept.keys() == set(), "lost"
    assert {name: count for name, count in kept.items() if count > 1} == {}, "kept twice"
    assert claims_in(settings) == GROUPS

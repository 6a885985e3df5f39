"""The site that the crawls of the suite fetch: known groups of duplicates, and lists of them."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loopback import article
from site_pages import layout, sentences, title
from torture.crawler import fate_of

GROUPS, COPIES = 40, 3
PATHS = [f"/{group}/{copy}" for group in range(GROUPS) for copy in range(COPIES)]
#: Lists of four entries, among which no two are of one group: such ones would both be kept.
ENTRIES = 4
LISTS = [f"/list/{number}" for number in range(len(PATHS) // ENTRIES)]


def group_of(path: str) -> str:
    return path.split("/")[1]


def is_list(path: str) -> bool:
    return path.startswith("/list/")


def lists() -> dict[str, bytes]:
    chance = random.Random(2)
    entries = [
        f"<div class='entry'><a href='/{group}/{copy}'>{title(group)}</a>"
        f"<p>{sentences(group, 60)}</p></div>"
        for copy in range(COPIES)
        for group in chance.sample(range(GROUPS), GROUPS)
    ]
    return {
        path: layout("site", "List", "".join(entries[number * ENTRIES :][:ENTRIES]))
        for number, path in enumerate(LISTS)
    }


EVERY = {group_of(path) for path in PATHS}
DELIVERABLE = {group_of(path) for path in PATHS if fate_of(f"http://x{path}") == "stored"}


class Pages(dict):
    """The site; it counts requests, so that tests can wait for a number of them."""

    def __init__(self) -> None:
        super().__init__({path: article(group_of(path), path) for path in PATHS} | lists())
        self._moments: list[tuple[int, threading.Event]] = []
        self._lock = threading.Lock()
        self._delay = random.Random(1)
        self._is_open = threading.Event()
        self._is_open.set()

    def get(self, path: str, default: Any = None) -> Any:
        self._is_open.wait()
        with self._lock:
            moments = [(left - 1, event) for left, event in self._moments]
            self._moments = [(left, event) for left, event in moments if left > 0]
            delay = self._delay.random() * 0.03
        for left, event in moments:
            if left <= 0:
                event.set()
        time.sleep(delay)
        return super().get(path, default)

    def after(self, count: int) -> threading.Event:
        """An event that is set after a number of further requests."""
        event = threading.Event()
        with self._lock:
            self._moments.append((count, event))
        return event

    @contextmanager
    def held(self) -> Iterator[None]:
        """No request is answered meanwhile."""
        self._is_open.clear()
        try:
            yield
        finally:
            self._is_open.set()

"""What changed since earlier crawls, as items, signals and the end of a crawl tell it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.verdict import Change

#: The statuses of responses by which a site says that a page is gone.
GONE = (404, 410)

# A retry of a failed response or download: "503 Service Unavailable", "twisted.internet...".
_FAILED = re.compile(r"[45]\d\d |\w+\.")


def written(change: Change) -> dict[str, Any]:
    """A change as items and signals carry it: plain values, without what it does not have."""
    since = datetime.fromtimestamp(change.since, UTC).isoformat(timespec="seconds")
    more: dict[str, Any] = {
        "from": change.origin,
        "fields": {name: list(values) for name, values in change.fields.items()},
        "back": change.is_back,
    }
    found: dict[str, Any] = {"status": change.status, "since": since}
    if change.similarity is not None:
        found["similarity"] = round(change.similarity, 4)
    return found | {name: value for name, value in more.items() if value}


class Completeness:
    """Whether a crawl met everything that it was to meet, and which pages the site says are gone.

    Args:
        crawler: the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.gone: set[int] = set()

    def response_received(self, response: Response, request: Request) -> None:
        """Handle the signal."""
        fingerprinter = self._crawler.request_fingerprinter
        if response.status in GONE and fingerprinter is not None:
            self.gone.add(identity_hash(fingerprinter.fingerprint(request).hex()))

    def has_failed(self) -> bool:
        """Whether a request, a callback or a check has failed for good."""
        stats = self._crawler.stats.get_stats() if self._crawler.stats else {}
        return bool(
            stats.get("spider_exceptions/count")
            or stats.get("simhash/failed_open")
            or _failures(stats) > 0
        )


def _failures(stats: Mapping[str, Any]) -> int:
    """Responses and downloads that failed, and were not tried again.

    Scrapy counts each attempt; what the spider or robots.txt left out is no failure.
    """
    failed = 0
    for name, value in stats.items():
        kind, _, which = str(name).rpartition("/")
        is_bad = which.isdigit() and int(which) >= 400 and int(which) not in GONE
        is_error = not which.endswith(".IgnoreRequest")
        if (kind == "downloader/response_status_count" and is_bad) or (
            kind == "downloader/exception_type_count" and is_error
        ):
            failed += value
        elif kind == "retry/reason_count" and _FAILED.match(which):
            failed -= value
    return failed

"""Requests that are not made because an earlier crawl has made them."""

from __future__ import annotations

from scrapy import Request, signals
from scrapy.crawler import Crawler

from scrapy_simhash.crawl.scrapy_internals import may_know_requests


class FilteredRequests:
    """Sees whether the filter of duplicates drops requests that this crawl has not made.

    A filter remembers those of earlier crawls in a JOBDIR that is used again, or where a
    DUPEFILTER_CLASS stores them. Nothing is recorded of crawls whose filter begins empty.
    """

    def __init__(self, crawler: Crawler) -> None:
        #: Whether it has dropped one.
        self.is_known = False
        self._crawler = crawler
        self._made: set[bytes] = set()
        self._is_new = False
        crawler.signals.connect(self._spider_opened, signals.spider_opened)

    def _spider_opened(self) -> None:
        if may_know_requests(self._crawler):
            self._crawler.signals.connect(self._request_scheduled, signals.request_scheduled)
            self._crawler.signals.connect(self._request_dropped, signals.request_dropped)

    def _request_scheduled(self, request: Request) -> None:
        """Handle the signal: a request is about to be filtered."""
        fingerprinter = self._crawler.request_fingerprinter
        if self.is_known or request.dont_filter or fingerprinter is None:
            return
        fingerprint = fingerprinter.fingerprint(request)
        self._is_new = fingerprint not in self._made
        self._made.add(fingerprint)

    def _request_dropped(self, request: Request) -> None:
        """Handle the signal, which follows at once if the request was filtered."""
        if self._is_new and not request.dont_filter:
            self.is_known = True
            self._made.clear()

"""Monitors for Spidermon: what a crawl dropped and kept, also compared with its last crawls.

Enable :class:`SimhashMonitorSuite` in ``SPIDERMON_SPIDER_CLOSE_MONITORS``. Limits are settings; 1
turns a limit off.
"""

from __future__ import annotations

from contextlib import closing
from statistics import median
from typing import Any

from scrapy import Spider
from spidermon import MonitorSuite, monitors
from spidermon.contrib.scrapy.monitors.base import BaseScrapyMonitor

from scrapy_simhash.crawl.settings import Settings

#: The limits, as shares of the items that were checked, with their defaults.
LIMITS = {
    # How many may be duplicates.
    "SPIDERMON_SIMHASH_MAX_DUPLICATES": 0.5,
    # How many may be kept for one field although another item is similar.
    "SPIDERMON_SIMHASH_MAX_KEPT": 0.2,
    # How far the shares of duplicates and of new items may be from those of the last crawls.
    "SPIDERMON_SIMHASH_MAX_CHANGE": 0.2,
}

# Crawls to compare with; and the least number of them, and of items, for a share to mean something.
_LAST, _CRAWLS, _ITEMS = 10, 3, 20


@monitors.name("Near-duplicates")
class SimhashMonitor(BaseScrapyMonitor):  # type: ignore[misc]
    """Checks what was dropped and kept."""

    @monitors.name("every item was checked, and every duplicate recorded")
    def test_index(self) -> None:
        stats = self.data.stats
        unchecked = stats.get("simhash/failed_open", 0) + stats.get("simhash/quarantine/failed", 0)
        self.assertEqual(unchecked, 0, f"{unchecked} items were stored without a check")

    @monitors.name("not too many are duplicates")
    def test_duplicates(self) -> None:
        share, most = _share(self.data.stats, "duplicates"), self._limit("MAX_DUPLICATES")
        self.assertLessEqual(share, most, f"{share:.0%} of the items are duplicates")

    @monitors.name("no field keeps copies")
    def test_fields(self) -> None:
        prefix, most = "kept/other_facts/", self._limit("MAX_KEPT")
        names = [name.removeprefix("simhash/") for name in self.data.stats if isinstance(name, str)]
        shares = {
            name.removeprefix(prefix): _share(self.data.stats, name)
            for name in names
            if name.startswith(prefix)
        }
        found = [f"{name} ({share:.0%})" for name, share in shares.items() if share > most]
        self.assertFalse(
            found,
            f"kept although another item is similar, because a field differs: {', '.join(found)}; "
            "scrapy simhash drops --kept shows both values",
        )

    @monitors.name("the shares of duplicates and of new items are those of the last crawls")
    def test_change(self) -> None:
        last = [stats for stats in self._read_last() if _checked(stats) >= _ITEMS]
        if len(last) < _CRAWLS or _checked(self.data.stats) < _ITEMS:
            self.skipTest("not enough crawls to compare with")
        for name, what in (("duplicates", "duplicates"), ("changes/new", "new")):
            share = _share(self.data.stats, name)
            usual = median(_share(stats, name) for stats in last)
            message = f"{share:.0%} {what}; in the last crawls {usual:.0%}"
            self.assertLessEqual(abs(share - usual), self._limit("MAX_CHANGE"), message)

    def _read_last(self) -> list[dict[str, Any]]:
        """The stats of the last crawls of this spider, the newest first."""
        # Slow to import, and only needed once the crawl has ended.
        from scrapy_simhash.history.namespaces import read_stats  # noqa: PLC0415

        spider: Spider = self.data.spider
        with closing(Settings.of(self.data.crawler).open_database()) as database:
            return read_stats(database, spider.name, limit=_LAST)

    def _limit(self, name: str) -> float:
        setting = f"SPIDERMON_SIMHASH_{name}"
        limit: float = self.data.crawler.settings.getfloat(setting, LIMITS[setting])
        return limit


class SimhashMonitorSuite(MonitorSuite):  # type: ignore[misc]
    """All monitors of this package."""

    monitors = (SimhashMonitor,)


def _checked(stats: Any) -> int:
    return int(stats.get("simhash/checked", 0))


def _share(stats: Any, name: str) -> float:
    """The share of the checked items that a stat counts."""
    return float(stats.get(f"simhash/{name}", 0)) / max(1, _checked(stats))

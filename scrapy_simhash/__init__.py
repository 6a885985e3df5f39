"""Near-duplicate detection for Scrapy.

Enable it with ``ADDONS = {"scrapy_simhash.Addon": 500}``; without a crawl, use the functions and
the :class:`Index` below.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from scrapy_simhash.exceptions import (
    FingerprintMismatch,
    IndexUnavailable,
    SettingError,
    TableVersionMismatch,
)

if TYPE_CHECKING:
    from scrapy_simhash.crawl.components import (
        Addon,
        SimhashDownloaderMiddleware,
        SimhashLogStats,
        SimhashPipeline,
        SimhashSpiderMiddleware,
    )
    from scrapy_simhash.crawl.stats import NearDuplicateItem
    from scrapy_simhash.index.index import Index
    from scrapy_simhash.index.rule import Rule
    from scrapy_simhash.index.verdict import Match, Verdict
    from scrapy_simhash.simhash.measure import distance, similarity
    from scrapy_simhash.simhash.shingles import fingerprint
    from scrapy_simhash.text.page import page_text

__version__ = "0.1.0"

__all__ = [
    "Addon",
    "FingerprintMismatch",
    "Index",
    "IndexUnavailable",
    "Match",
    "NearDuplicateItem",
    "Rule",
    "SettingError",
    "SimhashDownloaderMiddleware",
    "SimhashLogStats",
    "SimhashPipeline",
    "SimhashSpiderMiddleware",
    "TableVersionMismatch",
    "Verdict",
    "distance",
    "fingerprint",
    "page_text",
    "similarity",
]

# The modules of the public names that are not imported above.
_MODULES = {
    "Addon": "crawl.components",
    "Index": "index.index",
    "Match": "index.verdict",
    "NearDuplicateItem": "crawl.stats",
    "Rule": "index.rule",
    "SimhashDownloaderMiddleware": "crawl.components",
    "SimhashLogStats": "crawl.components",
    "SimhashPipeline": "crawl.components",
    "SimhashSpiderMiddleware": "crawl.components",
    "Verdict": "index.verdict",
    "distance": "simhash.measure",
    "fingerprint": "simhash.shingles",
    "page_text": "text.page",
    "similarity": "simhash.measure",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: every `scrapy` command imports this package."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value

"""Keys to claims, claims to verdicts."""

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import Match, Verdict

__all__ = ["Index", "Match", "Verdict"]

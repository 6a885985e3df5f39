"""The index: stored documents, and verdicts on new ones."""

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import Match, Verdict

__all__ = ["Index", "Match", "Verdict"]

"""What keeps two documents with near texts apart, in words."""

from __future__ import annotations

from scrapy_simhash.visible import shortened

__all__ = ["in_words"]

_SPECIAL = {
    "(address)": "one page lists them under addresses of their own",
    "(numbers)": "the numbers in the text differ",
    "(others)": "another field differs",
    "(page)": "they stand on different pages",
    "(rest of the page)": "the rest of the page differs",
}


def in_words(differs: str) -> str:
    """Say what differs: "`price` differs". See `Verdict.differs` for what is given."""
    return _SPECIAL.get(differs) or f"`{shortened(differs, 80)}` differs"

"""What is wrong with the files that somebody has named."""

from __future__ import annotations

__all__ = ["FeedError"]


class FeedError(ValueError):
    """A feed, its output or the note of its progress is not what it has to be."""

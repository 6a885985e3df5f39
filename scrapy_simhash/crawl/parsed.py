"""What Scrapy keeps of a page that was asked for its tree, as long as the response lives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import TextResponse

if TYPE_CHECKING:
    from scrapy.http import Response

__all__ = ["forget_tree", "has_tree"]


def has_tree(response: Response) -> bool:
    """Whether somebody has asked for the tree, so that asking again costs nothing."""
    return getattr(response, "_cached_selector", None) is not None


def forget_tree(response: Response | None) -> None:
    """Let go of the tree of a page, and of its text, before the response goes.

    Both take many times the bytes of the page, which waits for its verdict. A response and its
    selector hold each other, so that they would stay until the garbage collector comes, which then
    holds the event loop while it frees many at a time. Whoever asks once more has them made anew.

    They go as soon as they are read: the pieces of a tree, thousands, are then still in the caches
    of the processor.
    """
    if isinstance(response, TextResponse):
        response._cached_selector = None
        response._cached_ubody = None

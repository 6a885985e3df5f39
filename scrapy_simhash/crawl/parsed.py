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

    Both take many times the bytes of the page. Pages wait for their verdicts, and while they hold
    the memory, the next ones are parsed into memory that is in no cache of the processor: that
    costs more than a fifth of the parsing. Whoever asks for them once more has them made anew.
    """
    if isinstance(response, TextResponse):
        response._cached_selector = None
        response._cached_ubody = None

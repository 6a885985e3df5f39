"""What Scrapy keeps of a page that was asked for its tree, as long as the response lives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import TextResponse

if TYPE_CHECKING:
    from typing import Any

    from scrapy.http import Response

__all__ = ["SpentTrees", "has_tree"]

#: Bytes of pages, and pages, whose trees go at once. To free those of a megabyte takes some 5 ms.
_BYTES, _PAGES = 1 << 20, 32


def has_tree(response: Response) -> bool:
    """Whether somebody has asked for the tree, so that asking again costs nothing."""
    return getattr(response, "_cached_selector", None) is not None


class SpentTrees:
    """Lets go of the trees of pages, and of their texts, before the responses go.

    Both take many times the bytes of the page, which waits for its verdict. A response and its
    selector hold each other, so that they would stay until the garbage collector comes, which then
    holds the event loop while it frees many at a time. Whoever asks once more has them made anew.

    A few go together. A tree consists of thousands of small pieces; where it goes alone, the next
    is made of its holes, and finding these takes longer than making a tree where there is room.
    """

    def __init__(self) -> None:
        self._trees: list[Any] = []
        self._bytes = 0

    def add(self, response: Response | None) -> None:
        """Take the tree of a page that has been read from its response."""
        if not isinstance(response, TextResponse):
            return
        response._cached_ubody = None
        if (selector := response._cached_selector) is None:
            return
        response._cached_selector = None
        # The selector holds the response, which may go.
        self._trees.append(selector.root)
        self._bytes += len(response.body)
        if self._bytes >= _BYTES or len(self._trees) >= _PAGES:
            self._trees.clear()
            self._bytes = 0

"""The exception that drops an item."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem

if TYPE_CHECKING:
    from scrapy_simhash.index.verdict import Match

__all__ = ["NearDuplicateItem"]


class NearDuplicateItem(DropItem):
    """An item was dropped because its page is known already.

    Attributes:
        match: the :class:`~scrapy_simhash.Match` that it is a near-duplicate of.
    """

    def __init__(self, message: str, match: Match, log_level: str = "DEBUG") -> None:
        super().__init__(message, log_level=log_level)
        self.match = match

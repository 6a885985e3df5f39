"""The errors that this package raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem

if TYPE_CHECKING:
    from scrapy_simhash.index.verdict import Match

__all__ = [
    "IndexUnavailable",
    "NearDuplicateItem",
    "SchemaMismatch",
    "SchemeMismatch",
    "SettingError",
]


class SettingError(ValueError):
    """A ``SIMHASH_*`` setting has a value that it can't have."""


class SchemeMismatch(ValueError):
    """An index was opened with another scheme, or other keys, than it was made with."""


class SchemaMismatch(RuntimeError):
    """The tables in the database were made by a version that this one can't work with."""


class IndexUnavailable(RuntimeError):
    """The database did not answer, or refused to, within the time it was given."""


class NearDuplicateItem(DropItem):
    """An item was dropped because its page is known already.

    Attributes:
        match: the :class:`~scrapy_simhash.index.verdict.Match` that it is a near-duplicate of.
    """

    def __init__(self, message: str, match: Match, log_level: str = "DEBUG") -> None:
        super().__init__(message, log_level=log_level)
        self.match = match

"""The errors that this package raises. The one that drops an item needs Scrapy: `crawl.errors`."""

from __future__ import annotations

__all__ = [
    "IndexUnavailable",
    "IndexUnusable",
    "NamespaceGone",
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


class IndexUnusable(IndexUnavailable):
    """The database can't be used, and waiting will not change that."""


class NamespaceGone(IndexUnavailable):
    """The namespace was reset by somebody else."""

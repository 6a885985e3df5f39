"""The errors of this package; `crawl.stats` has the one that needs Scrapy."""

from __future__ import annotations


class SettingError(ValueError):
    """A ``SIMHASH_*`` setting has an invalid value."""


class IndexMismatch(Exception):
    """The index was created differently; the subclasses tell in which way."""


class FingerprintMismatch(IndexMismatch, ValueError):
    """An index was opened with a different scheme, or different keys, than it was created with."""


class TableVersionMismatch(IndexMismatch, RuntimeError):
    """The tables in the database were created by a version that is not compatible."""


class IndexUnavailable(RuntimeError):
    """The database did not answer in time, or refused to."""


class IndexUnusable(IndexUnavailable):
    """The database can't be used, and waiting would not help."""


class NamespaceGone(IndexUnavailable):
    """The namespace was reset by another process."""


class NotFound(LookupError):
    """There is no such namespace, run or page; or there are several namespaces to choose from."""

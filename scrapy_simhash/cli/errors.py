"""What a command can't do because of what it was given, or of where it runs."""

from __future__ import annotations

from scrapy_simhash.exceptions import (
    IndexUnavailable,
    SchemaMismatch,
    SchemeMismatch,
    SettingError,
)
from scrapy_simhash.feed.files import FeedError
from scrapy_simhash.history.namespaces import NotFound

__all__ = ["TROUBLE", "CommandError"]


class CommandError(Exception):
    """Trouble that the user can put right: the message says in one line what is wrong."""


#: What lies with the user, the project or the machine. Whatever else comes up is ours, and is shown
#: as that: a plain LookupError or TypeError must never read as if the user had erred.
TROUBLE = (
    CommandError,
    FeedError,
    IndexUnavailable,
    NotFound,
    OSError,
    SchemaMismatch,
    SchemeMismatch,
    SettingError,
)

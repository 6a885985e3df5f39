"""Hides the passwords of a database URL and its options in messages, also those of the driver."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from scrapy_simhash.visible import is_secret, without_passwords

if TYPE_CHECKING:
    from sqlalchemy.engine import URL


def shown_url(url: URL) -> str:
    """A URL without any of its passwords."""
    return without_passwords(url.render_as_string(hide_password=False))


class Passwords:
    """The passwords of a URL and of options for :func:`sqlalchemy.create_engine`."""

    def __init__(self, url: URL, options: Mapping[str, Any]) -> None:
        passwords = {*_passwords([{"password": str(url.password or "")}, url.query, options])}
        forms = {
            form
            for password in passwords - {""}
            for form in (password, quote(password, ""), quote_plus(password), repr(password)[1:-1])
        }
        alternatives = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
        # Whole words only: a password may be "a", which occurs in most words.
        self._found = re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)" if forms else r"(?!)")

    def hide(self, text: str) -> str:
        """The text with asterisks in place of passwords."""
        return without_passwords(self._found.sub("***", text))

    def cause(self, error: BaseException) -> BaseException | None:
        """The error, to be raised from; None if it or one of its causes shows a password."""
        # Without lines of code.
        shown = "".join(traceback.format_exception(error, limit=0))
        return None if self._found.search(shown) else error


def _passwords(given: object, *, inside: bool = False) -> Iterator[str]:
    """The values whose name, or the name of a mapping they are in, sounds like a password."""
    if isinstance(given, Mapping):
        for name, value in given.items():
            yield from _passwords(value, inside=inside or is_secret(str(name)))
    elif isinstance(given, (str, bytes, int)):
        if inside:
            yield given.decode("utf-8", "replace") if isinstance(given, bytes) else str(given)
    elif isinstance(given, Sequence):
        for value in given:
            yield from _passwords(value, inside=inside)

"""What nobody is to see of a database's URL and options, nor of what its driver says of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from scrapy_simhash.visible import is_secret, without_passwords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sqlalchemy.engine import URL

__all__ = ["Passwords", "shown_url"]


def shown_url(url: URL) -> str:
    """A URL without its passwords, wherever they stand."""
    return without_passwords(url.render_as_string(hide_password=False))


class Passwords:
    """The passwords of a URL and of options for :func:`sqlalchemy.create_engine`."""

    def __init__(self, url: URL, options: Mapping[str, Any]) -> None:
        found = {str(url.password)} if url.password else set()
        found |= {*_passwords(url.query), *_passwords(options)} - {""}
        forms = {form for one in found for form in (one, quote(one, safe=""), quote_plus(one))}
        forms |= {repr(one)[1:-1] for one in found}
        any_of_them = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
        # A password that is a part of a word is none: "a" may be one, and is in most words.
        self._found = re.compile(rf"(?<!\w)(?:{any_of_them})(?!\w)" if forms else r"(?!)")

    def hide(self, text: str) -> str:
        """A text in which they are asterisks."""
        return without_passwords(self._found.sub("***", text))

    def cause(self, error: BaseException) -> BaseException | None:
        """An error, as the cause of another; None where it, or what led to it, says one of them."""
        seen: list[BaseException] = []
        left: list[object] = [error]
        while left:
            one = left.pop()
            if not isinstance(one, BaseException) or one in seen:
                continue
            if self._found.search(str(one)):
                return None
            seen.append(one)
            left += [one.__cause__, one.__context__, getattr(one, "orig", None)]
        return error


def _passwords(given: object, *, inside: bool = False) -> Iterator[str]:
    """The values that have a name to be hidden, or are inside of one that has."""
    if isinstance(given, Mapping):
        for name, value in given.items():
            yield from _passwords(value, inside=inside or is_secret(str(name)))
    elif isinstance(given, (str, bytes)):
        if inside:
            yield given if isinstance(given, str) else given.decode("utf-8", "replace")
    elif isinstance(given, Sequence):
        for value in given:
            yield from _passwords(value, inside=inside)
    elif inside and type(given) is int:
        yield str(given)

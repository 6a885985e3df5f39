"""What people look at: texts of others, made harmless, without passwords; numbers of things."""

from __future__ import annotations

import re

__all__ = ["is_secret", "plural", "shortened", "visible", "without_passwords"]

# Control characters move the cursor or ring bells, bidirectional controls make a text read as
# something else, and lone surrogates can't be printed at all. U+FEFF and the tags hide text.
_UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)

# Each of these takes no more time than the text is long, whatever it is.
_USER = re.compile(r"(?<=://)([^/?#\s:@\\\"<>]*):[^/?#\s\\\"<>]*@")
_QUERY = re.compile(r"(?<=[?&;])([^=?&;#\s\\\"<>]*)=([^&;#\s\\\"<>]+)")
_SECRET = re.compile(
    r"pass|pwd|secret|token|credential|signature|(api|access|private|account|ssl)[-_.]?key|conninfo"
    r"|^auth$|^dsn$|^sig$",
    re.IGNORECASE,
)


def visible(text: str) -> str:
    r"""A text with control and bidirectional characters shown as their escapes, such as \u202e.

    Line feeds stay. JSON is the same document afterwards: the escapes are its own.
    """
    return _UNSAFE.sub(_escape, text)


def shortened(text: str, length: int = 300) -> str:
    """One visible line of a text without its passwords, cut to a length."""
    # What is cut could not be recognised any more.
    text = without_passwords(text)
    line = visible(text[: length + 1]).replace("\n", " ")
    return line if len(text) <= length else f"{line[: length - 1]}…"


def without_passwords(text: str) -> str:
    """A text in which the passwords of URLs, before the host or in the query, are asterisks."""
    return _QUERY.sub(_hide_value, _USER.sub(r"\1:***@", text))


def plural(count: float, thing: str) -> str:
    """What so many of a thing are called."""
    return thing if count == 1 else f"{thing}s"


def is_secret(name: str) -> bool:
    """Whether what has this name, in a query or among options, is to be seen by nobody."""
    return _SECRET.search(name) is not None


def _hide_value(found: re.Match[str]) -> str:
    return f"{found[1]}=***" if is_secret(found[1]) else found[0]


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))

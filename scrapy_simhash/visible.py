"""Text for people: foreign text without control characters and passwords, plurals, times."""

from __future__ import annotations

import re
from datetime import UTC, datetime

# Control characters move the cursor or ring bells, bidirectional controls reorder text, U+FEFF and
# the tags hide it, and lone surrogates can't be printed.
_UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)

# Both take linear time, whatever the text is.
_USER = re.compile(r"(?<=://)([^/?#\s:@\\\"<>]*):[^/?#\s\\\"<>]*@")
_QUERY = re.compile(r"(?<=[?&;])([^=?&;#\s\\\"<>]*)=([^&;#\s\\\"<>]+)")
_SECRET = re.compile(
    r"pass|pwd|secret|token|credential|signature|(api|access|private|account|ssl)[-_.]?key|conninfo"
    r"|^auth$|^dsn$|^sig$",
    re.IGNORECASE,
)


def visible(text: str) -> str:
    r"""A text with control and bidirectional characters shown as their escapes, such as \u202e.

    Line feeds stay. A JSON document stays the same document, as the escapes are JSON's.
    """
    return _UNSAFE.sub(_escape, text)


def shortened(text: str, length: int = 300) -> str:
    """A text as one visible line without passwords, cut to a length."""
    # Before the cut, which could leave a part of one that is not recognised.
    text = without_passwords(text)
    line = visible(text[: length + 1]).replace("\n", " ")
    return line if len(text) <= length else f"{line[: length - 1]}…"


def without_passwords(text: str) -> str:
    """A text with ``***`` for the passwords of its URLs, before the host or in the query."""
    # Most texts have neither, and the searches take longer than these two.
    if "@" in text:
        text = _USER.sub(r"\1:***@", text)
    return _QUERY.sub(_hide_value, text) if "=" in text else text


def plural(count: float, thing: str) -> str:
    """The noun, in the plural unless the count is 1."""
    return thing if count == 1 else f"{thing}s"


def format_time(seconds: float | None) -> str:
    """Seconds since the epoch as UTC, to the second; "-" for None."""
    if seconds is None:
        return "-"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


def iso_time(seconds: float) -> str:
    """Seconds since the epoch as UTC in the notation of ISO 8601, to the second."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def is_secret(name: str) -> bool:
    """Whether a parameter or option of this name has a secret value."""
    return _SECRET.search(name) is not None


def _hide_value(found: re.Match[str]) -> str:
    return f"{found[1]}=***" if is_secret(found[1]) else found[0]


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))

"""Text for people: without hidden characters and passwords; plurals and times."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from functools import lru_cache

# Controls, formats, surrogates, and separators of lines and paragraphs: they move the cursor,
# reorder or hide text, or can't be printed.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Letters without a shape.
_FILLERS = "\u115f\u1160\u3164\uffa0"
# Line feeds and joiners.
_NEEDED = "\n\u200c\u200d"

# A URL in a URL is percent-encoded, once or several times: "%3D", "%253D".
_PERCENT = "%(?:25){0,3}"
_PARAMETER = re.compile(
    rf"([?&;#]|{_PERCENT}(?:3f|26|3b|23))"
    rf"((?:(?!{_PERCENT}(?:3f|26|3b|23|3d))[^=?&;#\s\"<>])*+)(=|{_PERCENT}3d)",
    re.IGNORECASE,
)
# "=" and the value before one of these signs. Behind "%3D" or "%253D", the value also ends before a
# sign that is encoded as often or less.
_VALUE_BEFORE = (
    r"(?:=|%(?P<up>(?:25){{0,3}})3d)"
    r"(?:(?(up)(?!%(?:(?P=up))?(?:{codes})))[^{signs}\s\"<>])++"
)
_VALUE = re.compile(_VALUE_BEFORE.format(signs="&;#", codes="26|3b|23"), re.IGNORECASE)
# The value of a parameter in a path, behind ";".
_VALUE_IN_PATH = re.compile(
    _VALUE_BEFORE.format(signs="&;#?/", codes="26|3b|23|3f|2f"), re.IGNORECASE
)
# Names, passwords and tokens before a host. All of these regular expressions take linear time.
_USER = re.compile(r"(?<=//)([^/?#\s:@\"<>]*)(:[^/?#\s\"<>]*)?@")
_ENCODED_USER = re.compile(
    r"(%(?P<up>(?:25){0,3})2f%(?P=up)2f(?:(?!%(?P=up)(?:2f|3f|23|3a|40))[^/?#\s:@\"<>])*+"
    r"%(?P=up)3a)(?:(?!%(?P=up)(?:2f|3f|23))[^/?#\s\"<>])*(?=%(?P=up)40)",
    re.IGNORECASE,
)
_SECRET = re.compile(
    r"pass|pwd|secret|token|credential|signature|conninfo|authori[sz]ation|bearer|csrf|hmac|jwt"
    r"|sess(?:ion)?[-_.]?id|(?:access|account|api|auth|private|sess(?:ion)?|ssl)[-_.]?key"
    r"|(?:access|auth|login|reset|verification)[-_.]?code"
    r"|(?:^|[-_.[])(?:auth|dsn|otp|pin|pw|sas|sig|ticket)(?:$|\])|^(?:code|key|session)$",
    re.IGNORECASE,
)
# Characters of a name that are read: the last ones.
_LONGEST_NAME = 100
# Characters of the shortest name before a host that may be a token.
_SHORTEST_TOKEN = 20
_SESSION = re.compile(rf"s(?:id)?(?:=|{_PERCENT}3d)[0-9a-f]{{16}}", re.IGNORECASE)


def visible(text: str) -> str:
    r"""A text with escapes such as \u202e in place of invisible characters.

    Line feeds stay, as do joiners, which scripts and emojis need. The escapes are those of JSON, so
    the meaning of a JSON document does not change.

    >>> visible("abc\u202edef")
    'abc\\u202edef'
    """
    # Faster than a set of all characters.
    plain = text.replace("\n", "").replace("\xa0", "").replace("\u3000", "")
    if plain.isprintable() and not any(map(text.__contains__, _FILLERS)):
        return text
    for character in filter(_is_hidden, set(text)):
        text = text.replace(character, _escape(character))
    return text


@lru_cache(maxsize=4096)
def _is_hidden(character: str) -> bool:
    if character in _FILLERS:
        return True
    # Signs around Arabic numbers are visible, though their category is hidden.
    is_seen = character in _NEEDED or unicodedata.bidirectional(character) == "AN"
    return unicodedata.category(character) in _HIDDEN and not is_seen


def shortened(text: str, length: int = 300) -> str:
    """A text as one visible line without passwords, cut to a length."""
    # Before the cut, which could leave a part of a password that is not recognised.
    text = without_passwords(text)
    line = visible(text[: length + 1]).replace("\n", " ")
    return line if len(text) <= length else f"{line[: length - 1]}…"


def without_passwords(text: str) -> str:
    """A text with ``***`` for the passwords and tokens of its URLs.

    These are before the host, or in the query, the path or the fragment as the value of a parameter
    with a name such as "token", also in URLs that are parameters of URLs.

    >>> without_passwords("https://ann:secret@example.com/?id=7&token=abc")
    'https://ann:***@example.com/?id=7&token=***'
    """
    # Most texts have neither, and the searches take longer than this.
    if "@" in text:
        text = _USER.sub(_hide_user, text)
    is_encoded = "%" in text
    if is_encoded:
        text = _ENCODED_USER.sub(r"\1***", text)
    return _without_values(text) if is_encoded or "=" in text else text


def _hide_user(match: re.Match[str]) -> str:
    user, password = match.groups()
    # A token may be in place of the name, as in URLs of GitHub.
    is_token = (
        len(user) >= _SHORTEST_TOKEN and len(password or ":") == 1 and any(map(str.isdigit, user))
    )
    return f"{'***' if is_token else user}{':***' if password else ''}@"


def _without_values(text: str) -> str:
    """A text with ``***`` for the values of secret parameters."""
    parts, done, end = [], 0, 0
    while parameter := _PARAMETER.search(text, end):
        end = parameter.end()
        sign, name, _ = parameter.groups()
        if is_secret(name[-_LONGEST_NAME:]) or _SESSION.match(text, parameter.start(2)):
            is_in_path = sign == ";" or sign[-2:].lower() == "3b"
            regex = _VALUE_IN_PATH if is_in_path else _VALUE
            if value := regex.match(text, parameter.start(3)):
                parts += [text[done:end], "***"]
                done = end = value.end()
    return "".join([*parts, text[done:]])


def plural(count: float, noun: str) -> str:
    """A noun, in the plural unless the count is 1."""
    return noun if count == 1 else f"{noun}s"


def format_time(seconds: float | None) -> str:
    """Seconds since the epoch as UTC, to the second; "-" for None."""
    if seconds is None:
        return "-"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


def iso_time(seconds: float) -> str:
    """Seconds since the epoch as UTC in ISO 8601, to the second."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


@lru_cache(maxsize=1024)
def is_secret(name: str) -> bool:
    """Whether the value of a parameter or option of this name is secret."""
    return _SECRET.search(name) is not None


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))

"""Text for people: foreign text without hidden characters and passwords, plurals, times."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from functools import lru_cache

# Controls, formats, surrogates, and separators of lines and paragraphs: they move the cursor,
# reorder or hide text, or can't be printed. The fillers are letters without a shape.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_FILLERS = "\u115f\u1160\u3164\uffa0"
_VIRAMA = 9
_JOINER = re.compile("(.?)([\u200c\u200d])(?=(.?))", re.DOTALL)

# A URL in a URL is percent-encoded, once or several times: "%3D", "%253D".
_UP = "%(?:25){0,3}"
_PARAMETER = re.compile(
    rf"([?&;#]|{_UP}(?:3f|26|3b|23))"
    rf"((?:(?!{_UP}(?:3f|26|3b|23|3d))[^=?&;#\s\"<>])*+)(=|{_UP}3d)",
    re.IGNORECASE,
)
# The value behind "=", "%3D", "%253D" and so on ends where it is encoded no more; of a parameter in
# a path, behind ";", also at the end of the segment.
_VALUE = re.compile(
    r"(?:=|%(?P<up>(?:25){0,3})3d)"
    r"(?:(?(up)(?!%(?:(?P=up))?(?:26|3b|23)))[^&;#\s\"<>])++",
    re.IGNORECASE,
)
_VALUE_IN_PATH = re.compile(
    r"(?:=|%(?P<up>(?:25){0,3})3d)"
    r"(?:(?(up)(?!%(?:(?P=up))?(?:26|3b|23|3f|2f)))[^&;#?/\s\"<>])++",
    re.IGNORECASE,
)
# Names, passwords and tokens before a host. All of these take linear time, whatever the text is.
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
# Characters of a name that are looked at.
_LONGEST = 100
# The shortest name before a host that is taken for a token.
_TOKEN = 20
_SESSION = re.compile(rf"s(?:id)?(?:=|{_UP}3d)[0-9a-f]{{16}}", re.IGNORECASE)


def visible(text: str) -> str:
    r"""A text with characters that nobody sees shown as their escapes, such as \u202e.

    Line feeds stay, and joiners where a script or an emoji needs them. A JSON document stays the
    same document, as the escapes are JSON's.
    """
    # A set of all characters takes longer than these.
    plain = text.replace("\n", "").replace("\xa0", "").replace("\u3000", "")
    if plain.isprintable() and not any(map(text.__contains__, _FILLERS)):
        return text
    hidden = [*filter(_is_hidden, set(text))]
    if not {"\u200c", "\u200d"}.isdisjoint(hidden):
        text = _JOINER.sub(_show_joiner, text)
    for character in hidden:
        if character not in "\u200c\u200d":
            text = text.replace(character, _escape(character))
    return text


@lru_cache(maxsize=4096)
def _is_hidden(character: str) -> bool:
    if character in _FILLERS:
        return True
    # Signs around Arabic numbers are of a hidden category, and are seen.
    is_seen = character == "\n" or unicodedata.bidirectional(character) == "AN"
    return unicodedata.category(character) in _HIDDEN and not is_seen


def _show_joiner(found: re.Match[str]) -> str:
    """Escape a joiner unless it may change what is seen.

    It does so behind a virama, and between letters of scripts that join (which are neither wide nor
    have cases), their marks, and the parts of an emoji. Elsewhere it only makes equal texts differ.
    """
    before, joiner, after = found.groups()
    if before and (unicodedata.combining(before) == _VIRAMA or (_joins(before) and _joins(after))):
        return found[0]
    return before + _escape(joiner)


def _joins(character: str) -> bool:
    category = unicodedata.category(character) if character else ""
    is_narrow = category in {"Lo", "Mn", "Mc"} and unicodedata.east_asian_width(character) != "W"
    return is_narrow or category in {"So", "Sk"}


def shortened(text: str, length: int = 300) -> str:
    """A text as one visible line without passwords, cut to a length."""
    # Before the cut, which could leave a part of one that is not recognised.
    text = without_passwords(text)
    line = visible(text[: length + 1]).replace("\n", " ")
    return line if len(text) <= length else f"{line[: length - 1]}…"


def without_passwords(text: str) -> str:
    """A text with ``***`` for the passwords and tokens of its URLs.

    They stand before the host, or in the query, the path or the fragment as the value of a
    parameter with a name such as "token"; also in a URL that is a parameter of another one.
    """
    # Most texts have neither, and the searches take longer than this.
    if "@" in text:
        text = _USER.sub(_hide_user, text)
    is_encoded = "%" in text
    if is_encoded:
        text = _ENCODED_USER.sub(r"\1***", text)
    return _without_values(text) if is_encoded or "=" in text else text


def _hide_user(found: re.Match[str]) -> str:
    user, password = found.groups()
    # A token may be all that stands there, as in those of GitHub.
    is_token = len(user) >= _TOKEN and len(password or ":") == 1 and any(map(str.isdigit, user))
    return f"{'***' if is_token else user}{':***' if password else ''}@"


def _without_values(text: str) -> str:
    parts, place, end = [], 0, 0
    while found := _PARAMETER.search(text, end):
        end = found.end()
        mark, name, _ = found.groups()
        if is_secret(name[-_LONGEST:]) or _SESSION.match(text, found.start(2)):
            is_in_path = mark == ";" or mark[-2:].lower() == "3b"
            value = _VALUE_IN_PATH if is_in_path else _VALUE
            if hidden := value.match(text, found.start(3)):
                parts += [text[place:end], "***"]
                place = end = hidden.end()
    return "".join([*parts, text[place:]])


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


@lru_cache(maxsize=1024)
def is_secret(name: str) -> bool:
    """Whether a parameter or option of this name has a secret value."""
    return _SECRET.search(name) is not None


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))

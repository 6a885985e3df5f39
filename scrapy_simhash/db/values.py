"""Values that are stored, for those who need no database: this module imports no SQLAlchemy."""

from __future__ import annotations

from enum import IntEnum
from hashlib import blake2b

from scrapy_simhash.visible import shortened


class State(IntEnum):
    """The state of a claim: confirmed once its item is stored."""

    PENDING = 0
    CONFIRMED = 1


class ComparedBy(IntEnum):
    """What a claim was compared by: its text, the whole item exactly, or the text of its page."""

    TEXT = 0
    EXACT = 1
    PAGE = 2


#: The action on a page that had not changed since its last visit; see `Duplicate`.
SAME = "same"
#: That on an item that was restored: it is left out no more.
RESTORED = "restored"

#: Characters that fit into a Text column of MariaDB if each takes four bytes.
TEXT_LENGTH = 16_383

SECRET_BYTES = 16
_LEAST_SECRET_CHARACTERS = 16


def storable(text: str, length: int | None = None) -> str:
    """The text without NUL and lone surrogates, cut to a length: every engine can store it."""
    return text[:length].replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def check_name(name: str) -> str:
    """Return the name of a namespace if every engine can store it.

    Raises:
        ValueError: it is empty, too long, or has a character that can't be stored.
    """
    if not 0 < len(name) <= 255 or storable(name) != name:
        raise ValueError(
            f"namespace {shortened(repr(name))}: allowed are 1 to 255 characters, without NUL and "
            "lone surrogates"
        )
    return name


def secret_of(given: str) -> bytes:
    """The 16 bytes derived from a string of 16 characters or more.

    Raises:
        ValueError: it is not a string, or is shorter. The message does not repeat it.
    """
    if not isinstance(given, str) or len(given) < _LEAST_SECRET_CHARACTERS:
        raise ValueError(f"a string of {_LEAST_SECRET_CHARACTERS} characters or more is wanted")
    encoded = given.encode("utf-8", "surrogatepass")
    return blake2b(encoded, digest_size=SECRET_BYTES, person=b"simhash secret").digest()

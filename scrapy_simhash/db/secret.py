"""The secret of a database: what the hashes in it hang on, so that no stranger can tell them."""

from __future__ import annotations

import re
from hashlib import blake2b
from secrets import token_bytes
from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from scrapy_simhash.db import schema

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["read_secret", "secret_of"]

_BYTES = 16
_LEAST = 16  # characters
_NAME = "secret"
_stored = select(schema.meta.c.value).where(schema.meta.c.name == _NAME)


def secret_of(given: str) -> bytes:
    """The 16 bytes that a string stands for.

    Args:
        given: 16 characters or more, of which a hash is taken; or these bytes as 32 hexadecimal
            digits, as a database holds them in its table ``simhash_meta``.

    Raises:
        ValueError: it is no string, or shorter. Does not repeat it.
    """
    if not isinstance(given, str) or len(given) < _LEAST:
        raise ValueError(f"a string of {_LEAST} characters or more is wanted")
    if re.fullmatch(rf"[0-9a-f]{{{2 * _BYTES}}}", given):
        return bytes.fromhex(given)
    said = given.encode("utf-8", "surrogatepass")
    return blake2b(said, digest_size=_BYTES, person=b"simhash secret").digest()


def read_secret(connection: Connection, given: bytes | None = None) -> bytes:
    """The secret of a database; the first who comes gives it one.

    Args:
        connection: in a transaction.
        given: for a database that has none yet; drawn if nothing is given.

    Raises:
        IntegrityError: somebody else has given it one at the same moment. It is there the next
            time.
    """
    found = connection.scalar(_stored)
    if found is not None:
        return bytes.fromhex(found)
    made = token_bytes(_BYTES) if given is None else given
    connection.execute(insert(schema.meta).values(name=_NAME, value=made.hex()))
    return made

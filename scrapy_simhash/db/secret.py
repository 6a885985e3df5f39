"""The secret of a database: all hashes stored in it depend on it, so nobody can forge them."""

from __future__ import annotations

from hashlib import blake2b
from secrets import token_bytes

from sqlalchemy import Connection, insert, select

from scrapy_simhash.db import schema

_BYTES = 16
_MIN_CHARACTERS = 16
_NAME = "secret"
_stored = select(schema.meta.c.value).where(schema.meta.c.name == _NAME)


def secret_of(given: str) -> bytes:
    """The 16 bytes derived from a string of 16 characters or more.

    Raises:
        ValueError: it is not a string, or is shorter. The message does not repeat it.
    """
    if not isinstance(given, str) or len(given) < _MIN_CHARACTERS:
        raise ValueError(f"a string of {_MIN_CHARACTERS} characters or more is wanted")
    encoded = given.encode("utf-8", "surrogatepass")
    return blake2b(encoded, digest_size=_BYTES, person=b"simhash secret").digest()


def read_secret(connection: Connection, given: bytes | None = None) -> bytes:
    """The secret of a database; a database without one gets the given or a random one.

    Raises:
        IntegrityError: another process has stored one at the same moment. It is found on the next
            attempt.
    """
    found = connection.scalar(_stored)
    if found is not None:
        return bytes.fromhex(found)
    made = token_bytes(_BYTES) if given is None else given
    connection.execute(insert(schema.meta).values(name=_NAME, value=made.hex()))
    return made

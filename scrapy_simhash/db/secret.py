"""The secret of a database: all hashes stored in it depend on it, so nobody can forge them."""

from __future__ import annotations

from secrets import token_bytes

from sqlalchemy import Connection, insert, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.values import SECRET_BYTES

_NAME = "secret"
_stored = select(schema.meta.c.value).where(schema.meta.c.name == _NAME)


def read_secret(connection: Connection, given: bytes | None = None) -> bytes:
    """The secret of a database; a database without one gets the given or a random one.

    If another process stores one at the same moment, an IntegrityError is raised; the next attempt
    finds it.
    """
    found = connection.scalar(_stored)
    if found is not None:
        return bytes.fromhex(found)
    made = token_bytes(SECRET_BYTES) if given is None else given
    connection.execute(insert(schema.meta).values(name=_NAME, value=made.hex()))
    return made

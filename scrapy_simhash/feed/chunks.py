"""The records of a file by the many, as they are sent to another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

__all__ = ["BYTES", "Chunk", "chunks_of"]

#: Bytes of a chunk, or somewhat more.
BYTES = 1 << 20

_RECORDS = 512


class Chunk(NamedTuple):
    """Records that follow each other.

    Attributes:
        length: how many they are.
        packed: the records themselves, or where they are.
    """

    length: int
    packed: Any


def chunks_of(records: Iterable[tuple[Any, int]]) -> Generator[Chunk]:
    """Put records together.

    Args:
        records: each with about its size.
    """
    part: list[Any] = []
    size = 0
    for record, length in records:
        part.append(record)
        size += length
        if len(part) == _RECORDS or size >= BYTES:
            yield Chunk(len(part), part)
            part, size = [], 0
    if part:
        yield Chunk(len(part), part)

"""Texts and items as the few bytes that are kept of them."""

from __future__ import annotations

import zlib

__all__ = ["TooLarge", "pack_bytes", "pack_text", "unpack_bytes", "unpack_text"]

#: Nothing is packed that is longer, so that nothing need be unpacked any further: a few bytes in a
#: damaged database may stand for a thousand times as many.
_MOST = 64 << 20

#: Bits of the window in which repetitions are looked for. With 15, the default, texts are .1 %
#: smaller, and take a third longer.
_WINDOW = 14


class TooLarge(ValueError):
    """It is too large to be kept."""


def pack_bytes(content: bytes, level: int) -> bytes:
    """Compress bytes.

    Raises:
        TooLarge: they are more than 64 MiB.
    """
    if len(content) > _MOST:
        raise TooLarge(f"{len(content):,} bytes")
    packer = zlib.compressobj(level, wbits=_WINDOW)
    return packer.compress(content) + packer.flush()


def unpack_bytes(packed: bytes) -> bytes:
    """What `pack_bytes` was given.

    Raises:
        ValueError: it was never that.
    """
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(packed, _MOST)
    except (zlib.error, TypeError) as error:
        raise ValueError(f"it can't be unpacked: {error}") from error
    # More of it, less of it, or something behind it.
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("it can't be unpacked: its end is not where it should be")
    return content


def pack_text(text: str) -> bytes | None:
    """Compress a text, quickly rather than well; lone surrogates become question marks.

    Returns:
        None for one that is too large to be kept.
    """
    try:
        return pack_bytes(text.encode("utf-8", "replace"), 1)
    except TooLarge:
        return None


def unpack_text(packed: bytes) -> str | None:
    """The text that `pack_text` was given; None if it can't be read, as in a damaged database."""
    try:
        return unpack_bytes(packed).decode("utf-8", "replace")
    except ValueError:
        return None

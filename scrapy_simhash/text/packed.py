"""A text as the few bytes that are kept of it."""

from __future__ import annotations

import zlib

__all__ = ["pack_text", "unpack_text"]


def pack_text(text: str) -> bytes:
    """Compress a text, quickly rather than well; lone surrogates become question marks."""
    return zlib.compress(text.encode("utf-8", "replace"), 1)


def unpack_text(packed: bytes) -> str:
    """The text that `pack_text` was given."""
    return zlib.decompress(packed).decode("utf-8", "replace")

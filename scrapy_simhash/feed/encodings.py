"""Text in any encoding, read as UTF-8: told by its first bytes, or by the user."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from scrapy_simhash.feed.compressed import open_unpacked
from scrapy_simhash.feed.source import CHUNK_BYTES, FeedError, Source

#: What to do about text in another encoding.
NAME_IT = "name its encoding, as in --encoding gb18030, big5, shift_jis or cp1252"

_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
# Bytes that tell an encoding.
_HEAD = 4


def text_encoding(name: str) -> str:
    """The name of an encoding, checked.

    Raises:
        ValueError: Python has no encoding of text with that name.
    """
    try:
        "".encode(name)
        return codecs.lookup(name).name
    except (LookupError, ValueError) as error:
        raise ValueError(
            f"{name!r}: unknown encoding; names are utf-8, utf-16, cp1252, gb18030, big5, "
            "shift_jis, euc-kr and others that Python knows"
        ) from error


class TextFile(Source):
    """A file of text.

    Attributes:
        named: the encoding of the file, unless its first bytes tell another one; None for UTF-8.
    """

    def __init__(self, path: Path, named: str | None = None) -> None:
        super().__init__(path)
        self.named = named

    @cached_property
    def encoding(self) -> str:
        """The encoding: that of the byte order mark, the one that was named, or UTF-8.

        Text in UTF-16 or UTF-32 without a mark begins with an ASCII character, thus with a zero.
        """
        told = json.detect_encoding(self._head)
        return told if self.has_mark else self.named or told

    @property
    def has_mark(self) -> bool:
        """Whether the file begins with a byte order mark."""
        return self._head.startswith(_MARKS)

    @cached_property
    def _head(self) -> bytes:
        with open_unpacked(self.path) as stream:
            return stream.read(_HEAD)

    @property
    def unreadable(self) -> str:
        """What is wrong with a record that is not in this encoding, and what to do."""
        return f"not {self.encoding.upper()}; {NAME_IT}"

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the file to read it in UTF-8, without a byte order mark.

        Bytes that are not in its encoding stay as they are.

        Raises:
            FeedError: the file is damaged; raised also by reads inside the block.
        """
        with open_unpacked(self.path) as stream:
            if self.encoding == "utf-8":
                yield stream
                return
            try:
                yield io.BufferedReader(_Recoded(stream, self.encoding), CHUNK_BYTES)
            except UnicodeDecodeError as error:
                raise FeedError(f"{self.path}: {self.unreadable}") from error


class _Recoded(io.RawIOBase):
    """Reads text in some encoding as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream = stream
        is_wide = encoding.startswith(("utf-16", "utf-32"))
        self._errors = "surrogatepass" if is_wide else "surrogateescape"
        self._decoder = codecs.getincrementaldecoder(encoding)(self._errors)
        self._left, self._ended = b"", False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left and not self._ended:
            block = self._stream.read(CHUNK_BYTES)
            self._ended = not block
            text = self._decoder.decode(block, final=self._ended)
            self._left = text.encode("utf-8", self._errors)
        part, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

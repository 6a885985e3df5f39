"""Text in any encoding, which its first bytes or the user tell, read as UTF-8."""

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

#: The advice for text that is not in the expected encoding.
NAME_IT = "name its encoding, as in --encoding gb18030, big5, shift_jis or cp1252"

_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
# Bytes that are read to find the encoding.
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
        named: the encoding of the file, unless it has a byte order mark; None for UTF-8.
    """

    def __init__(self, path: Path, named: str | None = None) -> None:
        super().__init__(path)
        self.named = named

    @cached_property
    def encoding(self) -> str:
        """The encoding: that of the byte order mark, else the named one, else UTF-8.

        UTF-16 and UTF-32 are found without a mark, if the text begins with an ASCII character.
        """
        detected = json.detect_encoding(self._head)
        return detected if self.has_mark else self.named or detected

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
        """The message about a record that is not in this encoding."""
        return f"not {self.encoding.upper()}; {NAME_IT}"

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the file to read it in UTF-8, without a byte order mark.

        Bytes that are not in its encoding stay as they are.

        Raises:
            FeedError: the file is damaged. Reads inside the block raise it too.
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
    """Reads text in any encoding as UTF-8."""

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
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size

"""Text in any encoding, which its first bytes or the user tell; else it is UTF-8, or a guess."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TextIO

from scrapy_simhash.feed.compression import open_unpacked
from scrapy_simhash.feed.source import FeedError, Source

# Encodings that are guessed, with what is written in them.
_GUESSED = {
    "gb18030": "Chinese",
    "big5": "Chinese",
    "cp932": "Japanese",
    "euc_jp": "Japanese",
    "cp949": "Korean",
    "cp1252": "Western European",
    "cp1250": "Central European",
    "cp1254": "Turkish",
    "cp1251": "Russian",
    "koi8_r": "Russian",
    "cp1253": "Greek",
    "cp1255": "Hebrew",
    "cp1256": "Arabic",
    "cp874": "Thai",
}
_NAMES = ", ".join(f"{name} ({language})" for name, language in _GUESSED.items())
#: The advice for text that is not in the expected encoding.
NAME_IT = f"name its encoding, as in --encoding {_NAMES}"

# In these, most letters are ASCII, so the same text can be read in each; its language decides.
_LATIN = {"cp1252", "cp1250", "cp1254", "iso8859-1", "iso8859-15"}
_OF_LANGUAGES = {"Turkish": "cp1254"} | dict.fromkeys(
    ("Croatian", "Czech", "Hungarian", "Polish", "Romanian", "Slovak", "Slovene"), "cp1250"
)
# Four letters that are not ASCII make no word of those languages.
_NOT_LATIN = re.compile(rb"[\xc0-\xff]{4}")
_CHINESE = re.compile("[\u4e00-\u9fff]")

_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
# Bytes that are read to find the encoding.
_HEAD = 1 << 16
# Beginnings of files that are no text, whatever their names are.
_NO_TEXT = {
    b"PK\x03\x04": "a spreadsheet (.xlsx) or ZIP file: save it as CSV",
    b"\xd0\xcf\x11\xe0": "a spreadsheet (.xls): save it as CSV",
    b"\x1f\x8b": "compressed: add .gz to its name",
    b"PAR1": "a Parquet file: name it .parquet",
}
_UNDECODED = re.compile("[\udc80-\udcff]")
_NOT_ASCII = re.compile(r'[^\0-\x7f][^\n\r,;\t"]{0,19}')


def text_encoding(name: str) -> str:
    """The name of an encoding that Python knows; ValueError for any other."""
    try:
        "".encode(name)
        return codecs.lookup(name).name
    except (LookupError, ValueError) as error:
        raise ValueError(
            f"{name!r}: unknown encoding; Python knows utf-8, {_NAMES} and others"
        ) from error


def _guessed(text: bytes) -> str | None:
    """The encoding of a text that is not in UTF-8, by charset-normalizer; None if unknown."""
    from charset_normalizer import from_bytes  # noqa: PLC0415 - few files need it

    for match in from_bytes(text, cp_isolation=[*_GUESSED], preemptive_behaviour=False):
        if match.encoding in _LATIN:
            return None if _NOT_LATIN.search(text) else _OF_LANGUAGES.get(match.language, "cp1252")
        # Where few letters take two bytes, only known words tell one encoding from another; and
        # Chinese reads as Korean with many Chinese characters.
        wide = len(text) - len(str(match))
        is_plausible = match.encoding != "cp949" or 4 * len(_CHINESE.findall(str(match))) < wide
        if is_plausible and (wide >= 4 or match.coherence):
            return str(match.encoding)
    return None


class TextFile(Source):
    """A file of text.

    Attributes:
        named: the encoding of the file, unless it has a byte order mark; None if unknown.
    """

    def __init__(self, path: Path, named: str | None = None) -> None:
        super().__init__(path)
        self.named = named

    @cached_property
    def encoding(self) -> str:
        """The encoding: that of the byte order mark, else the named one, else UTF-8, else a guess.

        UTF-16 and UTF-32 are found without a mark, if the text begins with an ASCII character.
        """
        declared = json.detect_encoding(self._head)
        if self._head.startswith(_MARKS):
            return declared
        return self.named or self._guess or declared

    @property
    def notes(self) -> Sequence[str]:
        """What the bytes look like, if they are not in UTF-8."""
        if (guess := self._guess) is None or {self.named, guess} <= _LATIN:
            return ()
        looks, text = f"{guess} ({_GUESSED[guess]})", self._head.decode(guess, "replace")
        if self.named is None:
            found = _NOT_ASCII.search(text)
            sample = "" if found is None else f", as in {found[0]!r}"
            return [f"{self.path}: not UTF-8, read as {looks}{sample}; --encoding names another"]
        if self._head.decode(self.named, "replace") == text:
            return ()
        return [f"{self.path}: read as {self.named}, but it looks like {looks}"]

    @cached_property
    def _head(self) -> bytes:
        """The beginning of the file, without a character that is cut off."""
        with open_unpacked(self.path) as stream:
            head = stream.read(_HEAD)
        for start, problem in _NO_TEXT.items():
            if head.startswith(start):
                raise FeedError(f"{self.path}: no text, but {problem}")
        end = max(map(head.rfind, (b"\n", b'"', b",", b" "))) + 1
        return head[:end] if len(head) == _HEAD and end else head

    @cached_property
    def _guess(self) -> str | None:
        """What the encoding seems to be, unless it is declared or is UTF-8 with few damages."""
        if self._head.startswith(_MARKS) or json.detect_encoding(self._head) != "utf-8":
            return None
        text = self._head.decode("utf-8", "surrogateescape")
        damaged = len(_UNDECODED.findall(text))
        others = len(text) - len(text.encode("ascii", "ignore"))
        return _guessed(self._head) if 2 * damaged > others else None

    @property
    def unreadable(self) -> str:
        """The message about a record that is not in this encoding."""
        return f"not {self.encoding.upper()}; {NAME_IT}"

    @contextmanager
    def text(self, newline: str = "", errors: str = "surrogateescape") -> Iterator[TextIO]:
        """Open the text of the file; bytes that are not in its encoding become lone surrogates.

        Raises:
            FeedError: the file is damaged, or not in its encoding. Reads inside the block raise it.
        """
        try:
            with open_unpacked(self.path) as stream:
                yield io.TextIOWrapper(stream, self.encoding, errors, newline)
        except UnicodeDecodeError as error:
            raise FeedError(f"{self.path}: {self.unreadable}") from error

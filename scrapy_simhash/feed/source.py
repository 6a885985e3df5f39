"""Files of records: compression, encoding, and what all formats have in common."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import json
import lzma
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import cached_property
from importlib import import_module
from itertools import compress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

#: Approximate size of a chunk, in bytes.
CHUNK_BYTES = 1 << 20
# The most records of a chunk.
_CHUNK_RECORDS = 512
# Bytes that any file may unpack to, and how many times its size it may beyond these.
_FREE = 1 << 30
_RATIO = 1000
# Bytes that are kept in memory of each record.
_PER_RECORD = 1 << 10

#: The most bytes of a record, or characters, and the most values or cells. One takes up to 300 MB.
MOST_BYTES = 16 << 20
MOST_VALUES = 500_000
#: What is wrong with a larger record.
TOO_LARGE = "more than 16 MiB or 500,000 values"

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


class FeedError(ValueError):
    """A file can't be read or written."""


class RecordError(FeedError):
    """A record is no item; the records after it can be read."""


def optional(module: str, extra: str) -> Any:
    """Import a module that only one format needs.

    Raises:
        FeedError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        needs = f"pip install 'scrapy-simhash[{extra}]'"
        raise FeedError(f"this format needs an optional package: {needs}") from error


def _zstd() -> Any:
    try:
        return import_module("compression.zstd")  # since Python 3.14
    except ImportError:
        return optional("backports.zstd", "zstd")


# What opens a stream to read or to write. Without a time in gzip, equal contents make equal files.
_OPENERS: dict[str, Callable[[Any, Any], Any]] = {
    ".gz": lambda stream, mode: gzip.GzipFile("", mode, 6, stream, mtime=0),
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda stream, mode: _zstd().open(stream, mode),
}
# Formats with a compression of their own.
_AS_A_WHOLE = {".parquet", ".warc", ".wet"}
# The errors for damaged and truncated files; bz2 raises OSError without errno.
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, OSError)


def format_of(path: Path) -> str:
    """The suffix that tells the format, without that of a compression, in lower case.

    A compressed archive is a format of its own: each record is compressed.

    >>> format_of(Path("items.jsonl.gz")), format_of(Path("pages.warc.gz"))
    ('.jsonl', '.warc.gz')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    found = next((suffix for suffix in reversed(suffixes) if suffix not in _OPENERS), "")
    return "".join(suffixes[-2:]) if found in _AS_A_WHOLE and found != suffixes[-1] else found


@contextmanager
def open_unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read its decompressed content.

    Raises:
        FeedError: the file is damaged or truncated. Reads inside the block raise it too.
    """
    damaged = (*_DAMAGED, _zstd().ZstdError) if path.suffix.lower() == ".zst" else _DAMAGED
    try:
        with path.open("rb") as stream, compressing(stream, path, "rb") as unpacked:
            yield unpacked
    except damaged as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise FeedError(f"{path}: can't be decompressed: {error}") from error


def compressing(stream: BinaryIO, path: Path, mode: str = "wb") -> AbstractContextManager[BinaryIO]:
    """Compress what is written, or decompress what is read, if the suffix of the path says so."""
    opener = _OPENERS.get(path.suffix.lower())
    return opener(stream, mode) if opener else nullcontext(stream)


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


class FeedRecord(NamedTuple):
    """What stands for an item in a file. It can be sent to another process.

    Attributes:
        place: its number, or that of its last line, from 1.
        content: a line, the cells of a row, or a value.
        size: its approximate size, in bytes.
    """

    place: int
    content: Any
    size: int


class Output(NamedTuple):
    """A file to write.

    Attributes:
        path: its name, which selects the format and the compression.
        stream: where to write.
        others: whether to copy what is neither an item nor a page as well.
    """

    path: Path
    stream: BinaryIO
    others: bool = False


class Source(ABC):
    """A file of records. It can be pickled.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    @abstractmethod
    def suffixes(self) -> Collection[str]:
        """The suffixes of files of this format, which `write` writes; see `format_of`."""

    @property
    @abstractmethod
    def form(self) -> str:
        """The format with its columns: files of equal forms can be written to one file."""

    @property
    def notes(self) -> Sequence[str]:
        """What was assumed about the file, for its user."""
        return ()

    @abstractmethod
    def records(self) -> Generator[FeedRecord]:
        """Yield the records of the file.

        Raises:
            FeedError: the file can't be read; the message says where.
        """

    def chunks(self) -> Generator[list[FeedRecord]]:
        """Yield the records in groups.

        Raises:
            FeedError: as `records`, or the file unpacks to too much.
        """
        part, size, left = list[FeedRecord](), 0, _FREE + _RATIO * self.path.stat().st_size
        with closing(self.records()) as records:
            for record in records:
                part.append(record)
                size += record.size
                left -= record.size + _PER_RECORD
                if left < 0:
                    raise FeedError(f"{self.path}: unpacks to 1 GiB and 1,000 times its size")
                if len(part) == _CHUNK_RECORDS or size >= CHUNK_BYTES:
                    yield part
                    part, size = [], 0
        if part:
            yield part

    def item(self, record: FeedRecord) -> Any:
        """The item, or page, that a record stands for.

        Raises:
            RecordError: the record is no item; the message says where it is.
        """
        return record.content

    @abstractmethod
    def write(self, sources: Sequence[Any], wanted: Iterator[bool], output: Output) -> None:
        """Write the wanted records to a new file, also those that are no items.

        Args:
            sources: files of this form.
            wanted: for each record of these files, in order, whether it is written.
            output: the new file.
        """


def chosen(
    sources: Iterable[Source], wanted: Iterator[bool]
) -> Iterator[tuple[Source, FeedRecord]]:
    """Yield the wanted records, each with its source."""
    for source in sources:
        with closing(source.records()) as records:
            # compress takes the record first, so at the end of a file no flag is lost.
            for record in compress(records, wanted):
                yield source, record


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

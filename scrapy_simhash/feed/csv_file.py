"""CSV in the dialects that spreadsheets and databases write."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from scrapy_simhash.feed.compressed import compressing, without_suffix
from scrapy_simhash.feed.encodings import TextFile
from scrapy_simhash.feed.source import (
    MOST_BYTES,
    MOST_VALUES,
    TOO_LONG,
    TOO_MANY,
    Chunk,
    FeedError,
    Output,
    RecordError,
    chunks_of,
)
from scrapy_simhash.visible import shortened

#: The delimiters of new files by their suffixes.
DELIMITERS = {".csv": ",", ".tsv": "\t"}

# Characters that are read to find the dialect.
_SAMPLE = 1 << 16
_DELIMITERS = ",;\t|"
# The usual quotation mark and escape, and others.
_USUAL = ('"', None)
_QUOTES = (('"', "\\"), ("'", None), ("'", "\\"), (None, None), (None, "\\"))
# What a wrong dialect leaves in the names of columns.
_QUOTED = re.compile(r"""^["']|["'\\]$""")
# Excel writes the delimiter above the header if it is not that of the country.
_SEPARATOR = re.compile(r'"?sep=(.)"?\r?\n?', re.IGNORECASE)
# A quotation mark at the beginning of a cell.
_OPENING = re.compile(r"""[,;\t|\r\n] ?["']""")
# One at the end of a cell.
_CLOSING = re.compile(r"""["'](?:[,;\t|\r\n]|\Z)""")
_UNDECODED = re.compile("[\udc80-\udcff]")
# In the header of a single column, these are unknown delimiters, or delimiters in quotation marks.
_SUSPICIOUS = re.compile("[,;\t|^~\x01\x1f]")


class Dialect(NamedTuple):
    """How the cells of a row are written; see `csv.Dialect`."""

    delimiter: str = ","
    quotechar: str | None = '"'
    escapechar: str | None = None
    skipinitialspace: bool = False

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Read rows."""
        options: dict[str, Any] = self._asdict()
        if self.quotechar is None:
            options["quoting"] = csv.QUOTE_NONE
        return csv.reader(lines, **options)

    def header(self, text: str) -> list[str]:
        """The cells of the first row that is not blank; none if there is no row."""
        return next(filter(None, self.rows(io.StringIO(text, newline=""))), [])

    def grammar(self, *, is_whole: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """The regular expressions of a cell, and of a row as a program writes it.

        A quotation mark may stay open only where the text is cut off. If backslashes are no
        escapes, no row has one before a quotation mark.
        """
        end, sign = re.escape(self.delimiter), self.quotechar or '"'
        close = sign if is_whole else rf"(?:{sign}|\Z)"
        if self.escapechar:
            plain = rf"(?:[^{end}\r\n{sign}\\]++|\\.)*+"
            quoted = rf"{sign}(?:[^{sign}\\]++|\\.)*+{close}"
        else:
            # Without quotation marks, a cell may begin with one, but not end with a second one.
            rest = "" if self.quotechar else rf"[^{end}\r\n]*{sign}(?:[{end}\r\n]|\Z)"
            plain = rf"(?!{sign}{rest})(?:(?!\\{sign})[^{end}\r\n])*+"
            quoted = rf"{sign}(?:[^{sign}]++|{sign}{sign})*+{close}"
        cell = plain if self.quotechar is None else f"(?:{quoted}|{plain})"
        return (
            re.compile(rf"(?:\A|{end})({cell})", re.DOTALL),
            re.compile(rf"({cell}(?:{end}{cell})*+)(?:\r?\n|\r|\Z)", re.DOTALL),
        )


class _Row(NamedTuple):
    """The cells of a row, the number of its last line, and how it is written."""

    line: int
    cells: list[str]
    text: str


class CsvFile(TextFile):
    """A table whose first row names the columns. Its records are rows with their last lines.

    Columns without a name, and with the name of a column before them, are named as by pandas:
    `Unnamed: 0` for the first column, `price.1` for the second `price`.
    """

    @property
    def form(self) -> str:
        """CSV with its dialect and the names of its columns."""
        return f"CSV {self._dialect.delimiter.join(self._names)} {self._dialect[1:]}"

    def can_write(self, path: Path) -> bool:
        """Any CSV file whose suffix does not stand for a different delimiter."""
        delimiter = DELIMITERS.get(without_suffix(path))
        return delimiter in (",", self._dialect.delimiter)

    def records(self) -> Generator[tuple[int, list[str]]]:
        """Yield the rows behind the header."""
        with closing(self._rows()) as rows:
            for row in rows:
                yield row[:2]

    def chunks(self) -> Generator[Chunk]:
        """Yield the rows behind the header."""
        with closing(self.records()) as rows:
            yield from chunks_of(
                (record, sum(map(len, record[1]), len(record[1]))) for record in rows
            )

    def item(self, record: tuple[int, list[str]]) -> dict[str, Any]:
        """The cells of a row by the names of their columns."""
        number, cells = record
        place, names = f"{self.path}, line {number}", self._names
        try:
            "".join(cells).encode()
        except UnicodeEncodeError as error:  # undecodable bytes became lone surrogates
            raise RecordError(f"{place}: {self.unreadable}") from error
        # Some programs end each row with a delimiter.
        if not _is_even(cells, len(names)):
            count = f"{len(cells):,} {'cells' if len(cells) > 1 else 'cell'}"
            raise RecordError(f"{place}: {count}, but the header has {len(names):,}")
        return dict(zip(names, cells, strict=False))

    def write(self, sources: Sequence[CsvFile], wanted: Iterator[bool], output: Output) -> None:
        """Copy the header and the wanted rows as they are written, in UTF-8."""
        header = self._header.text
        end = "\r\n" if header.endswith("\r\n") else header[-1:] if header[-1:] == "\r" else "\n"
        with compressing(output.stream, output.path) as packed:
            packed.write(codecs.BOM_UTF8 if self.has_mark else b"")
            packed.write(_bytes(header))
            for source in sources:
                with closing(source._rows()) as rows:
                    for row in compress(rows, wanted):
                        packed.write(_bytes(row.text))
                        if not row.text.endswith(("\n", "\r")):
                            packed.write(end.encode())

    @cached_property
    def _names(self) -> list[str]:
        """The names of the columns; none in an empty file."""
        names: dict[str, None] = {}
        for place, cell in enumerate(self._header.cells):
            name = given = cell or f"Unnamed: {place}"
            count = 0
            while name in names:
                name = f"{given}.{(count := count + 1)}"
            names[name] = None
        return list(names)

    @cached_property
    def _header(self) -> _Row:
        """The first row, with the line above it that names the delimiter."""
        with closing(self._read()) as rows:
            header = next(rows, _Row(0, [], ""))
        if _UNDECODED.search(header.text):
            raise FeedError(f"{self.path}, line {header.line}: {self.unreadable}")
        if len(header.cells) == 1 and _SUSPICIOUS.search(header.cells[0]):
            raise FeedError(
                f"{self.path}: the header has a single column, {shortened(header.cells[0], 80)!r}; "
                "allowed delimiters are comma, semicolon, tab and |, outside of quotation marks"
            )
        return header

    @cached_property
    def _dialect(self) -> Dialect:
        with self._text() as text:
            sample = part = text.read(_SAMPLE)
            if named := _SEPARATOR.match(sample):
                return Dialect(named[1])
            before = ""
            # Nothing else shows whether cells are quoted, or begin with an inch or a lone mark.
            while len(part) == _SAMPLE and not _OPENING.search(part):
                before, part = part[-_SAMPLE // 2 :], text.read(_SAMPLE)
            if before:
                rows = (before + part + text.read(_SAMPLE)).partition("\n")[2]
                sample = sample[: sample.rfind("\n") + 1] + rows
            # A mark that is open where the sample ends is one that nothing closes in the rest.
            last, is_whole = "", True
            while is_whole and (part := text.read(_SAMPLE)):
                is_whole, last = not _CLOSING.search(last + part), part[-1]
        return dialect_of(sample, is_whole=is_whole)

    @contextmanager
    def _text(self) -> Iterator[TextIO]:
        """Open the text of the file; bytes that are not in its encoding become lone surrogates."""
        with (
            self.opened() as stream,
            io.TextIOWrapper(stream, "utf-8", errors="surrogateescape", newline="") as text,
        ):
            yield text

    def _rows(self) -> Generator[_Row]:
        """Yield the rows behind the header, without headers of crawls that appended to the file."""
        header = self._header.cells
        with closing(self._read()) as rows:
            next(rows, None)
            # In a list of words, a word may equal the header.
            yield from (row for row in rows if row.cells != header or len(header) < 2)

    def _read(self) -> Generator[_Row]:
        """Yield all rows, each with the blank lines before it, of limited size."""
        dialect, number, size, cells = self._dialect, 0, 0, 0
        # A list of short lines would take thirty times their size.
        read = io.StringIO()

        def checked(line: str) -> str:
            nonlocal number, size, cells
            number += 1
            size += len(line)
            cells += line.count(dialect.delimiter)
            if size > MOST_BYTES or cells > MOST_VALUES:
                problem = TOO_LONG if size > MOST_BYTES else TOO_MANY
                raise FeedError(f"{self.path}, line {number}: {problem}")
            read.write(line)
            return "" if number == 1 and _SEPARATOR.fullmatch(line) else line

        # By default csv refuses cells of 128 KiB.
        limit = csv.field_size_limit(MOST_BYTES)
        try:
            with self._text() as text:
                # A row continues as long as a quotation mark is open.
                lines = iter(lambda: text.readline(MOST_BYTES + 1 - size), "")
                for row in dialect.rows(map(checked, lines)):
                    if row:
                        yield _Row(number, row, read.getvalue())
                        read = io.StringIO()
                    size = cells = 0
        except csv.Error as error:
            raise FeedError(f"{self.path}, line {number}: {error}") from error
        finally:
            csv.field_size_limit(limit)


def dialect_of(sample: str, *, is_whole: bool) -> Dialect:
    """The dialect of a table, given its beginning.

    It is the dialect in which the most text is in rows that a program would write so, with as many
    cells as the header. If several dialects are equal, it is the one with the most columns, and
    then the most usual one.
    """

    def fit(dialect: Dialect) -> tuple[int, int]:
        names, fitting, place = dialect.header(sample), 0, 0
        if len(names) < 2:
            return 0, len(names)
        if any(map(_QUOTED.search, names)):
            return 0, 0
        cell, row = dialect.grammar(is_whole=is_whole)
        while place < len(sample):
            if not (match := row.match(sample, place)):
                place = sample.find("\n", place) + 1 or len(sample)
                continue
            cells, size = cell.findall(match[1]), match.end() - place
            place += size
            is_cut = place == len(sample) and not is_whole and len(cells) < len(names)
            if is_cut or _is_even(cells, len(names)):
                fitting += size if len(cells) > len(names) else 2 * size
        return fitting, len(names)

    unusual = [signs for signs in _QUOTES if all(s is None or s in sample for s in signs)]
    dialects = (
        Dialect(delimiter, *signs) for signs in [_USUAL, *unusual] for delimiter in _DELIMITERS
    )
    best = max(dialects, key=fit)
    names = best.header(sample)
    is_spaced = len(names) > 1 and all(name.startswith(" ") for name in names[1:])
    return best._replace(skipinitialspace=is_spaced)


def _is_even(cells: Sequence[str], width: int) -> bool:
    """Whether a row has as many cells as the header, not counting empty cells at its end."""
    return len(cells) >= width and not any(cells[width:])


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")

"""CSV in the dialects that spreadsheets and databases write; a new file has the usual one."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from scrapy_simhash.feed.json_file import to_json
from scrapy_simhash.feed.source import (
    MOST_BYTES,
    MOST_VALUES,
    TOO_LARGE,
    FeedError,
    FeedRecord,
    Output,
    RecordError,
    TextFile,
    chosen,
    compressing,
    format_of,
)
from scrapy_simhash.visible import plural, shortened

#: The delimiters of new files by their suffixes.
DELIMITERS = {".csv": ",", ".tsv": "\t"}

# In the header of a single column, these are unknown delimiters, or delimiters in quotation marks.
_SUSPICIOUS = re.compile("[,;\t|^~\x01\x1f]")
# Cells of items, not of a header: an address, a date, a sentence.
_VALUE = re.compile(
    r"https?://|\d{4}[-/.年]\d\d?(?:[-/.月]\d\d?|\b)|\d\d?[-/.]\d\d?[-/.](?:\d\d){1,2}\b|(?:\S+\s+){9}"
    "|.{9,}[，。、；]"
)

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


class Dialect(NamedTuple):
    """How the cells of a row are written; see `csv.Dialect`."""

    delimiter: str = ","
    quotechar: str | None = '"'
    escapechar: str | None = None
    skipinitialspace: bool = False

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Read rows."""
        # By default csv refuses cells of 128 KiB.
        csv.field_size_limit(MOST_BYTES)
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


class CsvFile(TextFile):
    """A table whose first row names the columns. Its records are rows with their last lines.

    Columns without a name, and with the name of a column before them, are named as by pandas:
    `Unnamed: 0` for the first column, `price.1` for the second `price`.

    Attributes:
        has_header: whether the first row names the columns; else none has a name.
    """

    suffixes = DELIMITERS

    def __init__(self, path: Path, named: str | None = None, *, has_header: bool = True) -> None:
        super().__init__(path, named)
        self.has_header = has_header

    @property
    def form(self) -> str:
        """CSV with the names of its columns."""
        return f"CSV {to_json(self._names)}"

    @property
    def notes(self) -> Sequence[str]:
        """Also whether the first row seems to be an item."""
        value = next(filter(_VALUE.match, self._first), None) if self.has_header else None
        if value is None:
            return super().notes
        told = f"the first row names the columns, but has {shortened(value, 40)!r}"
        return [*super().notes, f"{self.path}: {told}; if it is an item, use --no-header"]

    def records(self) -> Generator[FeedRecord]:
        """Yield the rows without the header, which stands again where a crawl has appended."""
        header = self._first if self.has_header else []
        with closing(self._rows()) as rows:
            if header:
                next(rows)
            # In a list of words, a word may equal the header.
            yield from (row for row in rows if row[1] != header or len(header) < 2)

    def item(self, record: FeedRecord) -> dict[str, Any]:
        """The cells of a row by the names of their columns."""
        cells, names = self._decoded(record), self._names
        # Some programs end each row with a delimiter.
        if not _is_even(cells, len(names)):
            count = (
                f"{len(cells):,} {plural(len(cells), 'cell')}, but the header has {len(names):,}"
            )
            raise RecordError(f"{self.path}, line {record.place}: {count}")
        return dict(zip(names, cells, strict=False))

    def write(self, sources: Sequence[CsvFile], wanted: Iterator[bool], output: Output) -> None:
        """Write the header and the wanted rows."""
        with _writing(output, "surrogateescape") as writer:
            if self.has_header and self._first:
                writer.writerow(self._first)
            writer.writerows(record.content for _, record in chosen(sources, wanted))

    @cached_property
    def _names(self) -> list[str]:
        """The names of the columns; none in an empty file."""
        names: dict[str, None] = {}
        for place, cell in enumerate(self._first):
            name = given = (self.has_header and cell) or f"Unnamed: {place}"
            count = 0
            while name in names:
                name = f"{given}.{(count := count + 1)}"
            names[name] = None
        return list(names)

    @cached_property
    def _first(self) -> list[str]:
        """The cells of the first row, which is the header."""
        with closing(self._rows()) as rows:
            cells = self._decoded(next(rows, FeedRecord(0, [], 0)))
        if len(cells) == 1 and _SUSPICIOUS.search(cells[0]):
            raise FeedError(
                f"{self.path}: the header has a single column, {shortened(cells[0], 80)!r}; "
                "allowed delimiters are comma, semicolon, tab and |, outside of quotation marks"
            )
        return cells

    @cached_property
    def _dialect(self) -> Dialect:
        with self.text() as text:
            return _find_dialect(text)

    def _decoded(self, record: FeedRecord) -> list[str]:
        cells: list[str] = record.content
        try:
            "".join(cells).encode()
        except UnicodeEncodeError as error:  # undecodable bytes became lone surrogates
            place = f"{self.path}, line {record.place}"
            raise RecordError(f"{place}: {self.unreadable}") from error
        return cells

    def _rows(self) -> Generator[FeedRecord]:
        """Yield all rows that are not blank, of limited size."""
        dialect, number, size = self._dialect, 0, 0

        def lines() -> Generator[str]:
            nonlocal number, size
            # A row continues as long as a quotation mark is open.
            while line := text.readline(MOST_BYTES + 1 - size):
                number += 1
                size += len(line)
                if size > MOST_BYTES or size > MOST_VALUES < line.count(dialect.delimiter):
                    raise FeedError(f"{self.path}, line {number}: {TOO_LARGE}")
                if number > 1 or not _SEPARATOR.fullmatch(line):
                    yield line

        try:
            with self.text() as text:
                for row in dialect.rows(lines()):
                    if row:
                        yield FeedRecord(number, row, size)
                    size = 0
        except csv.Error as error:
            raise FeedError(f"{self.path}, line {number}: {error}") from error


def write_csv(
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[str],
    output: Output,
    *,
    for_people: bool = False,
) -> None:
    """Write rows as a table of texts, with lists and dicts as JSON; see `files.write_table`."""
    cell = _safe_cell if for_people else _cell
    # JSON may have lone surrogates, which are no UTF-8.
    with _writing(output, "backslashreplace") as writer:
        writer.writerow(map(cell, columns))
        writer.writerows([cell(row.get(name)) for name in columns] for row in rows)


@contextmanager
def _writing(output: Output, errors: str) -> Iterator[Any]:
    with compressing(output.stream, output.path) as packed:
        text = io.TextIOWrapper(packed, "utf-8", errors, newline="")
        yield csv.writer(text, delimiter=DELIMITERS.get(format_of(output.path), ","))
        text.detach()


def _cell(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return to_json(value) if isinstance(value, (dict, list)) else str(value)


def _safe_cell(value: Any) -> str | None:
    """A cell that no spreadsheet runs as a formula."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else _cell(value)


def _find_dialect(text: TextIO) -> Dialect:
    """The dialect of a table, by its beginning and, if that has no quoted cell, more of it."""
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
    return _best_dialect(sample, is_whole=is_whole)


def _best_dialect(sample: str, *, is_whole: bool) -> Dialect:
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

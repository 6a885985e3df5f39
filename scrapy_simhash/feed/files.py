"""Find and open files in the format that their suffixes select, and write rows in any format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from glob import glob
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

from scrapy_simhash.feed.csv_file import DELIMITERS, CsvFile, write_csv
from scrapy_simhash.feed.json_file import ARRAY, JSON_LINES, json_file, write_json
from scrapy_simhash.feed.parquet import PARQUET, ParquetTable, write_parquet
from scrapy_simhash.feed.source import FeedError, Output, Source, format_of
from scrapy_simhash.feed.warc import ARCHIVES, WarcFile

Rows = Callable[[], Iterable[Mapping[str, Any]]]

_TABLES = {*JSON_LINES, ARRAY, *DELIMITERS, PARQUET}
_KNOWN = {*_TABLES, *ARCHIVES}


def open_source(path: Path, encoding: str | None = None, *, has_header: bool = True) -> Source:
    """Open a file in the format that its suffixes select.

    Args:
        path: the file.
        encoding: that of JSON and CSV without a byte order mark; None if unknown.
        has_header: whether the first row of CSV names the columns.

    Raises:
        FeedError: the format is unknown, or the file is damaged.
    """
    format_ = format_of(path)
    if format_ == PARQUET:
        return ParquetTable(path)
    if format_ in ARCHIVES:
        return WarcFile(path)
    if format_ in DELIMITERS:
        return CsvFile(path, encoding, has_header=has_header)
    if format_ in {*JSON_LINES, ARRAY}:
        return json_file(path, encoding)
    raise FeedError(
        f"{path}: unknown format; the name must end in .jsonl, .json, .csv, .tsv, .parquet or "
        ".warc, perhaps with .gz behind it"
    )


def find_files(name: str) -> list[Path]:
    """The files that a path, a folder or a pattern names, sorted by name.

    Of a folder these are the files of a known format that are not hidden.

    Raises:
        FeedError: there are none, or the path is that of a pipe or a device.
    """
    path = Path(name)
    if path.is_dir():
        shown = (file for file in path.rglob("*") if file.is_file() and file.name[0] != ".")
        files = [file for file in shown if format_of(file) in _KNOWN]
    elif path.is_file():
        files = [path]
    elif path.exists():
        raise FeedError(f"{name} is not a regular file")
    else:
        files = [file for file in map(Path, glob(name, recursive=True)) if file.is_file()]  # noqa: PTH207
    if not files:
        raise FeedError(f"{name} does not exist, or has no file of a known format")
    return sorted(files)


def identity_of(sources: Sequence[Source]) -> str:
    """A digest of the beginnings and the sizes of files."""
    digest = blake2b(digest_size=12)
    for source in sources:
        with source.path.open("rb") as stream:
            digest.update(stream.read(1 << 20))
        digest.update(b"%d;" % source.path.stat().st_size)
    return digest.hexdigest()


def is_table(path: Path) -> bool:
    """Whether the name is that of JSON, CSV or Parquet."""
    return format_of(path) in _TABLES


def write_table(
    rows: Rows,
    output: Output,
    *,
    types: Mapping[str, str] | None = None,
    for_people: bool = False,
) -> None:
    """Write rows as JSON, CSV or Parquet.

    Args:
        rows: returns the rows; called twice if the columns are unknown.
        output: the new file; its suffixes select the format and the compression.
        types: the columns with their types in Arrow; None to find them in the rows.
        for_people: keeps spreadsheets from running cells of a CSV file as formulas.

    Raises:
        FeedError: a value can't be written in this format.
    """
    if format_of(output.path) == PARQUET:
        write_parquet(rows, output.stream, types)
    elif format_of(output.path) in DELIMITERS:
        columns = list(types or dict.fromkeys(chain.from_iterable(rows())))
        write_csv(rows(), columns, output, for_people=for_people)
    else:
        write_json(rows(), output)

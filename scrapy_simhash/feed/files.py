"""Find and open files in the format that their suffixes select, and write rows in any format."""

from __future__ import annotations

import base64
import codecs
import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from glob import glob
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from scrapy_simhash.feed.arrays import json_file
from scrapy_simhash.feed.compressed import compressing, without_suffix
from scrapy_simhash.feed.csv_file import DELIMITERS, CsvFile
from scrapy_simhash.feed.json_lines import ARRAY, JSON_LINES, write_array
from scrapy_simhash.feed.parquet import ParquetTable, pyarrow, write_rows
from scrapy_simhash.feed.source import FeedError, Source
from scrapy_simhash.feed.warc import ARCHIVES, WarcFile

Rows = Callable[[], Iterable[Mapping[str, Any]]]

_TEXTS = {*JSON_LINES, ARRAY, *DELIMITERS}
_KNOWN = {*_TEXTS, ".parquet", *ARCHIVES}
# Rows whose types are inferred together.
_ROWS = 1024


def open_source(path: Path, encoding: str | None = None) -> Source:
    """Open a file in the format that its suffixes select.

    Args:
        path: the file.
        encoding: that of JSON and CSV without a byte order mark; None for UTF-8.

    Raises:
        FeedError: the format is unknown, or the file is damaged.
    """
    format_, last = without_suffix(path), path.suffix.lower()
    if last == ".parquet":
        return ParquetTable(path)
    if format_ in ARCHIVES and last in {format_, ".gz"}:
        return WarcFile(path)
    if format_ in DELIMITERS:
        return CsvFile(path, encoding)
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
        FeedError: there are none.
    """
    path = Path(name)
    if path.is_dir():
        files = [file for file in path.rglob("*") if file.is_file() and _is_known(file)]
    elif path.exists() or not set("*?[") & set(name):
        files = [path]
    else:
        files = [file for file in map(Path, glob(name, recursive=True)) if file.is_file()]  # noqa: PTH207
    if not files:
        raise FeedError(f"{name}: no file of a known format found")
    return sorted(files)


def _is_known(path: Path) -> bool:
    return without_suffix(path) in _KNOWN and not path.name.startswith(".")


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
    return path.suffix.lower() == ".parquet" or without_suffix(path) in _TEXTS


def write_table(
    rows: Rows,
    path: Path,
    stream: BinaryIO,
    *,
    types: Mapping[str, str] | None = None,
    for_people: bool = False,
) -> None:
    """Write rows as JSON, CSV or Parquet.

    In CSV, and in Parquet columns without a common type, values are texts, lists and dicts JSON.

    Args:
        rows: returns the rows; called twice if the columns are unknown.
        path: its suffixes select the format and the compression.
        stream: where to write.
        types: the columns with their types in Arrow; None to find them in the rows.
        for_people: keeps spreadsheets from running cells of a CSV file as formulas.

    Raises:
        FeedError: a value can't be written in this format.
    """
    if path.suffix.lower() == ".parquet":
        _write_parquet(rows, stream, types)
        return
    format_ = without_suffix(path)
    with compressing(stream, path) as packed:
        if format_ == ARRAY:
            write_array(packed, (_json(row).encode() for row in rows()))
            return
        if format_ in JSON_LINES:
            for row in rows():
                packed.write(_json(row).encode() + b"\n")
            return
        columns = list(types or dict.fromkeys(chain.from_iterable(rows())))
        cell = _safe_cell if for_people else _cell
        # JSON may have lone surrogates, which are no UTF-8.
        text = codecs.getwriter("utf-8")(packed, "backslashreplace")
        writer = csv.writer(text, delimiter=DELIMITERS[format_])
        writer.writerow(map(cell, columns))
        writer.writerows([cell(row.get(name)) for name in columns] for row in rows())


def _write_parquet(rows: Rows, stream: BinaryIO, types: Mapping[str, str] | None) -> None:
    library = pyarrow()
    try:
        if types is None:
            columns = _inferred(rows())
        else:
            columns = {name: library.type_for_alias(kind) for name, kind in types.items()}
        texts = {name for name, kind in columns.items() if library.types.is_string(kind)}
        typed = (
            {name: _cell(value) if name in texts else value for name, value in row.items()}
            for row in rows()
        )
        write_rows(stream, typed, library.schema(columns.items()))
    except (library.ArrowException, OverflowError, UnicodeError) as error:
        raise FeedError(f"can't be written as Parquet: {error}") from error


def _inferred(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns of rows with their types."""
    types: dict[str, Any] = {}
    left = iter(rows)
    while part := list(islice(left, _ROWS)):
        for name in dict.fromkeys(chain.from_iterable(part)):
            types[name] = _common_type(types.get(name), [row.get(name) for row in part])
    return types


def _common_type(known: Any, values: Sequence[Any]) -> Any:
    """The type of a column with further values; that of texts if there is no common type."""
    library = pyarrow()
    try:
        kind = library.array(values).type
        if known is not None:
            schemas = [library.schema({"": type_}) for type_ in (known, kind)]
            kind = library.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (library.ArrowException, OverflowError, UnicodeError):
        return library.string()
    item = kind.value_type if library.types.is_list(kind) else kind
    return library.string() if library.types.is_nested(item) else kind


def _cell(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return _json(value) if isinstance(value, (dict, list)) else str(value)


def _safe_cell(value: Any) -> str | None:
    """A cell that no spreadsheet runs as a formula; see `quoted` in `report.js`."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else _cell(value)


def _json(value: Any) -> str:
    return json.dumps(value, default=_as_text)


def _as_text(value: Any) -> str:
    """A value of a Parquet table that JSON has no type for."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)

"""Find files, and choose the format of each by its name."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob
from hashlib import blake2b
from pathlib import Path

from scrapy_simhash.feed.compressed import without_suffix
from scrapy_simhash.feed.lines import JSON_LINES, CsvFile, JsonLines
from scrapy_simhash.feed.parquet import ParquetTable
from scrapy_simhash.feed.source import FeedError, Source
from scrapy_simhash.feed.warc import ARCHIVES, WarcFile

_KNOWN = {*JSON_LINES, ".csv", ".parquet", *ARCHIVES}


def open_source(path: Path) -> Source:
    """The file of that name, in the format that its suffixes name.

    Raises:
        FeedError: the format is unknown.
    """
    format_, last = without_suffix(path), path.suffix.lower()
    if last == ".parquet":
        return ParquetTable(path)
    if format_ in ARCHIVES and last in {format_, ".gz"}:
        return WarcFile(path)
    if format_ == ".csv":
        return CsvFile(path)
    if format_ in JSON_LINES:
        return JsonLines(path)
    raise FeedError(
        f"{path}: unknown format; the name must end in .jsonl, .jl, .csv, .parquet or .warc, "
        "perhaps with .gz behind it"
    )


def find_files(given: str) -> list[Path]:
    """The files that a path, a folder or a pattern names, sorted by name.

    Of a folder only files of a known format are taken, hidden ones excluded.

    Raises:
        FeedError: there are none.
    """
    path = Path(given)
    if path.is_dir():
        found = [one for one in path.rglob("*") if one.is_file() and _is_known(one)]
    elif path.exists() or not set("*?[") & set(given):
        found = [path]
    else:
        found = [Path(one) for one in glob(given, recursive=True) if Path(one).is_file()]  # noqa: PTH207
    if not found:
        raise FeedError(f"{given}: no file of a known format found")
    return sorted(found)


def identity_of(sources: Sequence[Source]) -> str:
    """A digest of the beginnings and the sizes of some files."""
    identities = [_identity(source.path) for source in sources]
    if len(identities) == 1:
        return identities[0]
    return blake2b("".join(identities).encode(), digest_size=12).hexdigest()


def _identity(path: Path) -> str:
    with path.open("rb") as stream:
        beginning = stream.read(1 << 20)
    size = path.stat().st_size
    return blake2b(beginning + str(size).encode(), digest_size=12).hexdigest()


def _is_known(path: Path) -> bool:
    return without_suffix(path) in _KNOWN and not path.name.startswith(".")

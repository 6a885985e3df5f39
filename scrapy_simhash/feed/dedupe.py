"""Near-duplicates left out of an existing feed, in one pass, in bounded memory, resumable.

A part of the feed is claimed, written, then confirmed together with the claims of the next part,
and only then noted down as done. Whatever stops it in between, the next call cuts the output back
to what was noted and goes on from there; an item that was confirmed by then meets its own claim,
and is kept again.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

from scrapy_simhash.index.verdict import Document
from scrapy_simhash.text.density import item_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from scrapy_simhash.index.index import Index
    from scrapy_simhash.index.verdict import Claim, Verdict

__all__ = ["Counts", "Feed", "dedupe"]

# Items between two notes of the progress, and in one transaction.
_PART = 256


@dataclass(slots=True)
class Counts:
    """What became of the items.

    Attributes:
        read: items read.
        kept: those written to the output.
        dropped: near-duplicates.
        unchecked: those kept without a check, because their text has too little to say.
    """

    read: int = 0
    kept: int = 0
    dropped: int = 0
    unchecked: int = 0


class Feed:
    """A file of items: JSON Lines or CSV by its name, compressed if that ends in ``.gz``.

    Raises:
        ValueError: its name says nothing known.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        suffixes = [suffix.lower() for suffix in path.suffixes]
        self.is_compressed = suffixes[-1:] == [".gz"]
        kind = suffixes[-2:-1] if self.is_compressed else suffixes[-1:]
        if not kind or kind[0] not in {".jsonl", ".jl", ".ndjson", ".csv"}:
            raise ValueError(f"{path}: wanted is a name that ends in .jsonl, .jl or .csv, or .gz")
        self.is_csv = kind == [".csv"]

    def header(self) -> bytes:
        """What stands before the first item."""
        if not self.is_csv:
            return b""
        with self._open() as stream, _text(stream) as text:
            return _line_of(next(csv.reader(text), []))

    def items(self) -> Generator[tuple[dict[str, Any], bytes]]:
        """The items, each with the line that says the same.

        Raises:
            ValueError: a line is no item; says which.
        """
        with self._open() as stream:
            if self.is_csv:
                with _text(stream) as text:
                    yield from self._rows(text)
                return
            for number, line in enumerate(stream, 1):
                if line.isspace():
                    continue
                try:
                    item = json.loads(line)
                except ValueError as error:
                    raise ValueError(f"{self.path}, line {number}: no JSON ({error})") from error
                if not isinstance(item, dict):
                    raise ValueError(  # noqa: TRY004 - it is the file that is wrong
                        f"{self.path}, line {number}: an object is wanted"
                    )
                yield item, line if line.endswith(b"\n") else line + b"\n"

    def _rows(self, text: TextIO) -> Generator[tuple[dict[str, Any], bytes]]:
        reader = csv.reader(text)
        # A field may be as long as the texts of the feed are.
        limit = csv.field_size_limit(1 << 30)
        try:
            names = next(reader, [])
            for row in reader:
                if row:
                    yield dict(zip(names, row, strict=False)), _line_of(row)
        except csv.Error as error:
            raise ValueError(f"{self.path}, line {reader.line_num}: {error}") from error
        finally:
            csv.field_size_limit(limit)

    def identity(self) -> str:
        """Tells it from other feeds, and from what it was before it changed."""
        with self.path.open("rb") as stream:
            beginning = stream.read(1 << 20)
        size = self.path.stat().st_size
        return blake2b(beginning + str(size).encode(), digest_size=12).hexdigest()

    def _open(self) -> BinaryIO:
        if self.is_compressed:
            return cast("BinaryIO", gzip.open(self.path, "rb"))
        return self.path.open("rb")


class _Output:
    """A file that grows by whole parts, and is cut back to what is known of it."""

    def __init__(self, path: Path, length: int, header: bytes) -> None:
        self._compressed = path.suffix.lower() == ".gz"
        self._stream = path.open("r+b" if path.exists() else "w+b")
        self._stream.seek(length)
        self._stream.truncate()
        if not length and header:
            self.write(header)

    def write(self, lines: bytes) -> None:
        # Members of gzip that follow each other are one file: it can be cut between any two.
        self._stream.write(gzip.compress(lines, 6) if self._compressed and lines else lines)

    def sync(self) -> int:
        """Wait until it is stored; its length."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return self._stream.tell()

    def close(self) -> None:
        self._stream.close()


@dataclass(slots=True)
class _Progress:
    """What is done for good: counts, and the lengths of the outputs at that point."""

    feed: str
    fields: list[str]
    counts: Counts
    lengths: list[int]

    @classmethod
    def load(cls, path: Path, feed: str, fields: Sequence[str], outputs: int) -> _Progress:
        try:
            noted = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return cls(feed, list(fields), Counts(), [0] * outputs)
        progress = cls(**{**noted, "counts": Counts(**noted["counts"])})
        if (progress.feed, progress.fields, len(progress.lengths)) != (
            feed,
            list(fields),
            outputs,
        ):
            raise ValueError(
                f"{path} belongs to an earlier call that was interrupted and had another input or "
                "other options; repeat that one, or remove this file to begin anew"
            )
        return progress

    def save(self, path: Path) -> None:
        beside = path.with_name(f"{path.name}.new")
        beside.write_text(json.dumps(asdict(self)), encoding="utf-8")
        beside.replace(path)


def dedupe(
    index: Index,
    source: Feed,
    outputs: Sequence[Path],
    fields: Sequence[str],
    progress_file: Path,
    *,
    min_features: int = 8,
    advance: Callable[[Counts], None] = lambda counts: None,
) -> Counts:
    """Write the items of a feed that are no near-duplicates of earlier ones.

    Args:
        index: where the items are claimed; one with the run it works in.
        source: the feed.
        outputs: where to write what is kept and, if there is a second one, what is dropped.
        fields: the fields that are compared.
        progress_file: where the progress is noted; gone when all is done.
        min_features: what has fewer is kept without a check.
        advance: called with the counts after each part.

    Raises:
        ValueError: a line is no item, or no item has the fields.
        IndexUnavailable: the database did not answer in time; a further call goes on from there.
    """
    feed = source.identity()
    progress = _Progress.load(progress_file, feed, fields, len(outputs))
    counts = replace(progress.counts)
    header = source.header()
    with ExitStack() as stack:
        items = islice(stack.enter_context(closing(source.items())), counts.read, None)
        files = []
        for path, length in zip(outputs, progress.lengths, strict=True):
            files.append(_Output(path, length, header))
            stack.callback(files[-1].close)
        stored: list[Claim] = []
        while part := list(islice(items, _PART)):
            documents = _documents(index, part, fields, feed, counts.read)
            verdicts, claims = _claim(index, documents, stored, min_features)
            kept = [verdict is None or verdict.kind != "duplicate" for verdict in verdicts]
            # Not before what it claimed is confirmed is a part done for good.
            progress.save(progress_file)
            for file, chosen in zip(files, (True, False), strict=False):
                file.write(
                    b"".join(
                        line for (_, line), keep in zip(part, kept, strict=True) if keep is chosen
                    )
                )
            progress.lengths = [file.sync() for file in files]
            counts.read += len(part)
            counts.kept += sum(kept)
            counts.dropped += len(part) - sum(kept)
            counts.unchecked += verdicts.count(None)
            progress.counts = replace(counts)
            stored = claims
            advance(counts)
        index.execute(confirm=stored)
    progress_file.unlink(missing_ok=True)
    return counts


def _documents(
    index: Index,
    part: Sequence[tuple[dict[str, Any], bytes]],
    fields: Sequence[str],
    feed: str,
    first: int,
) -> list[Document]:
    documents = []
    for number, (item, _) in enumerate(part, first):
        text = item_text(item, fields)
        if not text and not any(field in item for field in fields):
            raise ValueError(
                f"item {number + 1} has none of the fields {', '.join(fields)}; it has "
                f"{', '.join(map(str, item)) or 'none'}"
            )
        url = item.get("url")
        documents.append(
            Document(
                index.scheme.sketch(text),
                f"{feed}:{number}",
                url if isinstance(url, str) else "",
            )
        )
    return documents


def _claim(
    index: Index, documents: Sequence[Document], stored: Sequence[Claim], min_features: int
) -> tuple[list[Verdict | None], list[Claim]]:
    """The verdicts on a part, None where there is too little to check, and what it claims."""
    checked = [document for document in documents if document.sketch.size >= min_features]
    verdicts = iter(index.execute(claims=checked, confirm=stored))
    decided = [
        next(verdicts) if document.sketch.size >= min_features else None for document in documents
    ]
    return decided, [verdict.claim for verdict in decided if verdict and verdict.claim]


def _text(stream: BinaryIO) -> TextIO:
    return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def _line_of(row: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(row)
    return text.getvalue().encode()

"""Near-duplicates left out of an existing feed, in one pass, in bounded memory, resumable.

A part of the feed is claimed, written, then confirmed together with the claims of the next part,
and only then noted down as done. Whatever stops it in between, the next call cuts the output back
to what was noted and goes on from there; an item that was confirmed by then meets its own claim,
and is kept again. An output that is not what was noted is left alone, and the call ends.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_simhash.feed.files import FeedError
from scrapy_simhash.feed.output import Output
from scrapy_simhash.feed.progress import Progress
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.item.values import item_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from scrapy_simhash.feed.files import Feed
    from scrapy_simhash.feed.progress import FeedCounts
    from scrapy_simhash.index.index import Index
    from scrapy_simhash.index.verdict import Claim, Verdict

__all__ = ["dedupe"]

# Items between two notes of the progress, and in one transaction.
_PART = 256


def dedupe(
    index: Index,
    source: Feed,
    outputs: Sequence[Path],
    fields: Sequence[str],
    progress_file: Path,
    *,
    min_features: int = 8,
    advance: Callable[[FeedCounts], None] = lambda counts: None,
) -> FeedCounts:
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
        FeedError: a line is no item, an item has none of the fields, or an output is not what an
            earlier call has left.
        IndexUnavailable: the database did not answer in time; a further call goes on from there.
    """
    feed = source.identity()
    header = source.header()
    progress = Progress.load(progress_file, feed, fields, len(outputs))
    counts = replace(progress.counts)
    with ExitStack() as stack:
        noted = zip(outputs, progress.lengths, progress.digests, strict=True)
        files = [
            stack.enter_context(closing(Output(path, progress_file, length, digest, header)))
            for path, length, digest in noted
        ]
        items = islice(stack.enter_context(closing(source.items())), counts.read, None)
        stored: list[Claim] = []
        while part := list(islice(items, _PART)):
            documents = _documents(index, part, fields, feed, counts.read)
            verdicts, claims = _claim(index, documents, stored, min_features)
            kept = [verdict is None or verdict.kind != "duplicate" for verdict in verdicts]
            # Not before what it claimed is confirmed is a part done for good.
            progress.save(progress_file)
            _write(files, [line for _, line in part], kept)
            progress.lengths = [file.sync() for file in files]
            progress.digests = [file.digest for file in files]
            counts.add(kept, unchecked=verdicts.count(None))
            progress.counts = replace(counts)
            stored = claims
            advance(counts)
        index.execute(confirm=stored)
        if not counts.read:
            # An empty feed makes empty outputs.
            _write(files, [], [])
    progress_file.unlink(missing_ok=True)
    return counts


def _write(files: Sequence[Output], lines: Sequence[bytes], kept: Sequence[bool]) -> None:
    """What is kept goes to the first file, what is dropped to the second one, if there is one."""
    for file, wanted in zip(files, (True, False), strict=False):
        file.write(b"".join(line for line, keep in zip(lines, kept, strict=True) if keep is wanted))


def _documents(
    index: Index,
    part: Sequence[tuple[dict[str, Any], bytes]],
    fields: Sequence[str],
    feed: str,
    first: int,
) -> list[Document]:
    documents = []
    for number, (item, _) in enumerate(part, first):
        try:
            text = item_text(item, fields)
        except RecursionError as error:
            raise FeedError(f"item {number + 1} is nested too deeply") from error
        if not text and not any(field in item for field in fields):
            raise FeedError(
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

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

from scrapy_simhash.durable import sync_folder
from scrapy_simhash.feed.documents import ItemReader, What
from scrapy_simhash.feed.output import Output
from scrapy_simhash.feed.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from scrapy_simhash.feed.files import Feed
    from scrapy_simhash.feed.progress import FeedCounts
    from scrapy_simhash.index.index import Index
    from scrapy_simhash.index.verdict import Claim, Document, Verdict

__all__ = ["dedupe"]

# Items between two notes of the progress, and in one transaction.
_PART = 256


def dedupe(
    index: Index,
    source: Feed,
    outputs: Sequence[Path],
    fields: Sequence[str] | None,
    progress_file: Path,
    *,
    ignore: Sequence[str] = (),
    key: Sequence[str] | None = None,
    min_features: int = 8,
    max_text: int = 1_000_000,
    advance: Callable[[FeedCounts], None] = lambda counts: None,
) -> FeedCounts:
    """Write the items of a feed that are no near-duplicates of earlier ones.

    Args:
        index: where the items are claimed; one with the run it works in.
        source: the feed.
        outputs: where to write what is kept and, if there is a second one, what is dropped.
        fields: these alone say what an item is; None for all.
        progress_file: where the progress is noted; gone when all is done.
        ignore: fields that say nothing.
        key: fields that identify an item among others of its page; None for its own address.
        min_features: a text of fewer says nothing; such an item is compared as a whole.
        max_text: so is one whose text has more characters.
        advance: called with the counts after each part.

    Raises:
        FeedError: a line is no item, an item has none of the fields, or an output is not what an
            earlier call has left.
        IndexUnavailable: the database did not answer in time; a further call goes on from there.
    """
    feed = source.identity()
    what = What(fields, ignore, key)
    reader = ItemReader(
        feed,
        index.scheme,
        what,
        index.database.secret,
        min_features=min_features,
        max_text=max_text,
    )
    options = [*what.noted(), str(index.lookup.rule)]
    progress = Progress.load(progress_file, feed, options, len(outputs))
    counts = replace(progress.counts)
    with ExitStack() as stack:
        files = _open(stack, outputs, progress_file, progress, source.header())
        items = islice(stack.enter_context(closing(source.items())), counts.read, None)
        stored: list[Claim] = []
        while part := list(islice(items, _PART)):
            documents = [
                reader.document(item, number) for number, (item, _) in enumerate(part, counts.read)
            ]
            verdicts, claims = _claim(index, documents, stored)
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
        if not counts.read:  # an empty feed makes empty outputs
            _write(files, [], [])
    progress_file.unlink(missing_ok=True)
    # Before its index may go.
    sync_folder(progress_file.parent)
    return counts


def _open(
    stack: ExitStack, outputs: Sequence[Path], progress_file: Path, noted: Progress, header: bytes
) -> list[Output]:
    """The outputs as they are noted, open as long as the stack is."""
    return [
        stack.enter_context(closing(Output(path, progress_file, length, digest, header)))
        for path, length, digest in zip(outputs, noted.lengths, noted.digests, strict=True)
    ]


def _write(files: Sequence[Output], lines: Sequence[bytes], kept: Sequence[bool]) -> None:
    """What is kept goes to the first file, what is dropped to the second one, if there is one."""
    for file, wanted in zip(files, (True, False), strict=False):
        file.write(b"".join(line for line, keep in zip(lines, kept, strict=True) if keep is wanted))


def _claim(
    index: Index, documents: Sequence[Document | None], stored: Sequence[Claim]
) -> tuple[list[Verdict | None], list[Claim]]:
    """The verdicts on a part, None where there is nothing to check, and what it claims."""
    verdicts = iter(index.execute(claims=[one for one in documents if one], confirm=stored))
    decided = [next(verdicts) if document else None for document in documents]
    return decided, [verdict.claim for verdict in decided if verdict and verdict.claim]

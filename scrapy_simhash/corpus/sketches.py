"""The sketches of a corpus: all that is needed of its documents to decide which are duplicates.

They are collected in temporary files, so a corpus may be larger than the memory. The shingles, most
of all this, are read when they are needed; everything else is mapped into memory.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash import native
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.db.values import ComparedBy, State, storable
from scrapy_simhash.features.changes import Changes
from scrapy_simhash.features.tokens import fold_table
from scrapy_simhash.index.batch import exact_key, how_compared, identity_hash
from scrapy_simhash.index.verdict import ClaimRow, Document
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.state import without_state
from scrapy_simhash.simhash.measure import FEW_FEATURES, common

#: Stands for what a document is compared by, if it has nothing to compare.
NOTHING = -1
#: The same, if it is no document at all.
UNREADABLE = -2

#: Records that can't be read and are reported one by one.
MOST_PROBLEMS = 10

_DIGEST = 16
# The number of cached texts: those of a template are compared with each other.
_CACHED_TEXTS = 64
_NO_SHINGLES = np.empty(0, np.uint64)


def row_type(plan: Plan) -> np.dtype[np.void]:
    """What is stored of each document beside its keys.

    `shingles` is the place of its shingles among those of all documents, `hashes` their number.
    `details` is the place, in bytes, of its text in UTF-8 among the details of all documents, and
    `length` the size of that text; behind it, in `rest` bytes, is what `_rest_of` returns.
    `is_text` is True where nothing but the texts can keep two documents apart.
    """
    return np.dtype(
        [
            ("fingerprint", f"V{plan.width}"),
            ("digest", f"V{_DIGEST}"),
            ("identity", np.int64),
            ("listing", np.int64),
            ("shingles", np.int64),
            ("details", np.int64),
            ("rank", np.int64, (len(plan.prefer),)),
            ("size", np.int32),
            ("hashes", np.int32),
            ("length", np.int32),
            ("rest", np.int32),
            ("compared_by", np.int8),
            ("has_digest", np.bool_),
            ("is_text", np.bool_),
        ]
    )


def make_sketches(documents: Sequence[Document | None], plan: Plan) -> Sketches:
    """Make the sketches of documents; None stands for one with nothing to compare."""
    slots = plan.keys.slots
    keys = np.zeros((len(documents), slots + 1), np.int32)
    shingles, details = [_NO_SHINGLES], list[bytes]()
    names = dict[int, str]()
    ranks = (0,) * len(plan.prefer)
    nothing = bytes(plan.width), bytes(_DIGEST), 0, 0, 0, 0, ranks, 0, 0, 0, 0
    rows: list[tuple[Any, ...]] = [(*nothing, NOTHING, False, False)] * len(documents)
    for number, document in enumerate(documents):
        if document is None:
            continue
        if not document.exact:
            keys[number, :slots] = plan.keys.keys(document.sketch)
        if document.digest is not None:
            keys[number, slots] = exact_key(document.digest)
        mine = _NO_SHINGLES if document.sketch.shingles is None else document.sketch.shingles
        shingles.append(mine)
        text = (document.text or "").encode("utf-8", "replace")
        facts, values = None, dict[str, str]()
        if document.facts is not None:
            facts = document.facts.packed()
            names.update(document.facts.names)
            values = document.facts.short
        rest = marshal.dumps((storable(document.url), facts, document.page_sketch, values))
        details += [text, rest]
        digest = document.digest
        rows[number] = (
            (document.sketch.fingerprint or 0).to_bytes(plan.width, "big"),
            digest or bytes(_DIGEST),
            identity_hash(document.key),
            document.listing,
            *(0, 0),
            tuple(criterion.rank(document) for criterion in plan.prefer),
            document.sketch.size,
            mine.size,
            len(text),
            len(rest),
            how_compared(document),
            digest is not None,
            digest is not None and _is_text(document),
        )
    made = np.array(rows, row_type(plan))
    # Places among these.
    sizes = {"shingles": made["hashes"], "details": made["length"] + made["rest"]}
    for name, size in sizes.items():
        made[name] = np.cumsum(size, dtype=np.int64) - size
    return Sketches(made, keys, np.concatenate(shingles).tobytes(), b"".join(details), names)


def _is_text(document: Document) -> bool:
    """Whether it has no facts, and is one of its kind on its page."""
    return (
        how_compared(document) == ComparedBy.TEXT
        and document.sketch.shingles is not None
        and document.facts is not None
        and document.page_sketch is None
        and not document.listing
        and document.sketch.size >= FEW_FEATURES
        and not document.facts.records
    )


class SketchStore:
    """Collects sketches in temporary files, which vanish with the process, even if it is killed."""

    def __init__(self, folder: Path) -> None:
        self._streams = {
            name: TemporaryFile(dir=folder)  # noqa: SIM115 - closed by close()
            for name in ("rows", "keys", "shingles", "details")
        }
        self._names: dict[int, str] = {}
        self.count = 0
        self._problems: list[str] = []

    def append(self, part: Sketches) -> None:
        """Store the sketches of further documents."""
        part.rows["shingles"] += self._streams["shingles"].tell() // 8
        part.rows["details"] += self._streams["details"].tell()
        for name, stream in self._streams.items():
            stream.write(getattr(part, name))
        self._names.update(part.names)
        self._problems += part.problems[: MOST_PROBLEMS - len(self._problems)]
        self.count += len(part.rows)

    def read(self, plan: Plan) -> Sketches:
        """All sketches; usable until the store is closed."""

        def mapped(name: str) -> mmap | bytes:
            stream = self._streams[name]
            stream.flush()
            # An empty file can't be mapped.
            return mmap(stream.fileno(), 0, access=ACCESS_READ) if stream.tell() else b""

        return Sketches(
            np.frombuffer(mapped("rows"), row_type(plan)),
            np.frombuffer(mapped("keys"), np.int32).reshape(-1, plan.keys.slots + 1),
            mapped("shingles"),
            mapped("details"),
            self._names,
            self._problems,
        )

    def close(self) -> None:
        """Remove the files."""
        for stream in self._streams.values():
            stream.close()


@dataclass(eq=False)
class Sketches:
    """The sketches of the documents of a corpus, or of a part of it. They can be pickled.

    Attributes:
        rows: shape (documents,), of :func:`row_type`.
        keys: shape (documents, slots + 1), int32: the keys of the text, then that of the item as a
            whole; 0 for a missing one.
        shingles: of all documents, concatenated.
        details: of all documents, concatenated.
        names: of facts, by their hashes.
        problems: what is wrong with the first records that can't be read.
    """

    rows: NDArray[np.void]
    keys: NDArray[np.int32]
    shingles: bytes | mmap
    details: bytes | mmap
    names: Mapping[int, str]
    problems: Sequence[str] = ()

    def __post_init__(self) -> None:
        self._text = lru_cache(_CACHED_TEXTS)(self._read_text)
        self._rest = lru_cache(_CACHED_TEXTS)(lambda number: without_state(self._text(number)))
        # Each pair is looked up twice: with its state, then without it.
        self._changes = lru_cache(1)(lambda *pair: Changes.of(*map(self._text, pair)))

    def __reduce__(self) -> tuple[type[Sketches], tuple[Any, ...]]:
        made = self.rows, self.keys, self.shingles, self.details, self.names, self.problems
        return Sketches, made

    def fingerprints(self, *numbers: NDArray[np.uint32]) -> Iterator[NDArray[np.uint8]]:
        """The fingerprints of some documents, and of others: shape (documents, bytes)."""
        column = self.rows["fingerprint"]
        for some in numbers:
            yield column[some].view(np.uint8).reshape(len(some), column.dtype.itemsize)

    def __len__(self) -> int:
        return len(self.rows)

    def _shingles_of(self, number: int) -> NDArray[np.uint64]:
        start, count = (int(self.rows[name][number]) for name in ("shingles", "hashes"))
        return np.frombuffer(self.shingles[8 * start : 8 * (start + count)], np.uint64)

    def common(
        self, number: np.uint32, others: NDArray[np.uint32], least: float
    ) -> Sequence[int] | NDArray[np.int64]:
        """What a document has in common with others, as `simhash.measure.common` does."""
        if native.core is None:
            mine, *theirs = (self._shingles_of(int(one)) for one in (number, *others))
            return common(mine, theirs, least)
        return self.compare(np.full(len(others), number), others, least, texts=False)[:, 0]

    def compare(
        self,
        one: NDArray[np.uint32],
        other: NDArray[np.uint32],
        least: float,
        *,
        texts: bool = True,
    ) -> NDArray[np.int64]:
        """Compare pairs of documents in the core.

        Returns two columns: what a pair has in common, as `simhash.measure.common` does, and 2 if
        the texts surely differ in nothing that keeps two items apart, 1 if in nothing that keeps
        items of two sites apart. Without `texts` it is 0.
        """
        rows = self.rows[np.stack([one, other], axis=1)]
        sizes = (8 * rows["shingles"], 8 * rows["hashes"], rows["details"], rows["length"] * texts)
        places = np.concatenate(sizes, axis=1, dtype=np.int64)
        core = cast("native.Core", native.core)
        found = core.compare(places, self.shingles, self.details, fold_table(), least)
        return np.frombuffer(found, np.int64).reshape(-1, 2)

    def text(self, number: int) -> str | None:
        """The text of a document; None if it has none."""
        return self._text(number) or None

    def _read_text(self, number: int) -> str:
        mine = self.rows[number]
        start = int(mine["details"])
        return self.details[start : start + int(mine["length"])].decode("utf-8", "replace")

    def changes(self, number: int, earlier: int, *, with_state: bool = False) -> Changes:
        """How the text of a document differs from that of an earlier one, as `changes_of` does."""
        changes = self._changes(number, earlier)
        if with_state or not changes.touches_numbers:
            return changes
        new, old = self._rest(number), self._rest(earlier)
        is_same = (new, old) == (self._text(number), self._text(earlier))
        return changes if is_same else Changes.of(new, old)

    def order(self, reference: int = 0) -> NDArray[np.uint32]:
        """The numbers of the documents, preferred ones first; see `corpus.plan`.

        The first document of a group is the one that is kept; the reference comes before all.
        """
        ranks = self.rows["rank"]
        order = np.arange(len(ranks), dtype=np.uint32)
        if ranks.shape[1]:
            # lexsort is stable, and sorts by the last key first.
            order[reference:] = reference + np.lexsort(ranks[reference:].T[::-1])
        return order

    def url(self, number: int) -> str:
        """The URL of a document."""
        return self._rest_of(self._row(number))[0]

    def values(self, *numbers: int) -> list[Mapping[str, str]]:
        """The short values of documents, by field."""
        return [self._rest_of(self._row(number))[-1] for number in numbers]

    def facts(self, row: ClaimRow) -> Facts | None:
        """The facts of a row made by :meth:`row`, with their names."""
        return None if row.facts is None else Facts(Facts.unpack(row.facts).records, self.names)

    def row(self, number: int, place: int) -> ClaimRow:
        """A document, at its place in the order, as a stored row of an index: all are one visit."""
        mine = self._row(number)
        url, facts, page_sketch, _ = self._rest_of(mine)
        same = ("identity", "listing", "compared_by", "fingerprint", "size")
        return ClaimRow(
            id=place,
            state=State.CONFIRMED,
            url=url,
            digest=mine["digest"] if mine["has_digest"] else None,
            facts=facts,
            page_sketch=page_sketch,
            **{name: mine[name] for name in same},
        )

    def _row(self, number: int) -> dict[str, Any]:
        return dict(zip(self.rows.dtype.names or (), self.rows[number].item(), strict=True))

    def _rest_of(
        self, mine: dict[str, Any]
    ) -> tuple[str, bytes | None, bytes | None, dict[str, str]]:
        """URL, facts, page sketch and short values; nothing where there is no document."""
        start = mine["details"] + mine["length"]
        packed = self.details[start : start + mine["rest"]]
        # This process, or one that it has started, has written them.
        return marshal.loads(packed) if packed else ("", None, None, {})  # noqa: S302

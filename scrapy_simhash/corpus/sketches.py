"""What is kept of a corpus to decide on it: columns in files, that grow by whole parts.

They are read through the memory of the system, so a corpus may be larger than that.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from scrapy_simhash.db.schema import CONFIRMED
from scrapy_simhash.db.statements import storable
from scrapy_simhash.durable import open_new, open_own
from scrapy_simhash.index.batch import Row, basis_of, digest_of, keys_of, owner_of
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.merits import ranks_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from scrapy_simhash.corpus.plan import Plan
    from scrapy_simhash.index.verdict import Document
    from scrapy_simhash.item.merits import Criterion

__all__ = ["NOTHING", "Part", "SketchFiles", "Sketches", "make_part", "row_type"]

#: The basis of what has nothing to compare.
NOTHING = -1

_DIGEST = 16
_FILES = ("rows", "keys", "shingles", "said")


def row_type(width: int, criteria: int) -> np.dtype[np.void]:
    """What is kept of each document beside its keys, in bytes of one length.

    `shingles` and `said` say where what belongs to it ends in the files of these names. In the
    latter are its facts, the rest of its page and its address; -1 is the length of what it has not.
    """
    return np.dtype(
        [
            ("fingerprint", f"V{width}"),
            ("digest", f"V{_DIGEST}"),
            ("owner", np.int64),
            ("fetch", np.int64),
            ("shingles", np.int64),
            ("said", np.int64),
            ("rank", np.int64, (criteria,)),
            ("size", np.int32),
            ("facts", np.int32),
            ("rest", np.int32),
            ("basis", np.int8),
            ("has_digest", np.bool_),
        ]
    )


class _Packed(NamedTuple):
    """A row of that type."""

    fingerprint: bytes
    digest: bytes
    owner: int
    fetch: int
    shingles: int
    said: int
    rank: Any
    size: int
    facts: int
    rest: int
    basis: int
    has_digest: bool


class Part(NamedTuple):
    """The sketches of some documents that follow each other.

    Attributes:
        rows: shape (documents,), see `row_type`.
        keys: shape (documents, slots + 1), int32: those of the text, and that of the item as a
            whole. 0 where there is none, which the row says.
        shingles: of all of them, one after the other.
        said: likewise, in bytes.
        names: of facts, by their hashes.
    """

    rows: NDArray[np.void]
    keys: NDArray[np.int32]
    shingles: NDArray[np.uint64]
    said: bytes
    names: dict[int, str]


def make_part(
    documents: Sequence[Document | None], plan: Plan, criteria: Sequence[Criterion] = ()
) -> Part:
    """Pack documents.

    Args:
        documents: None for what has nothing to compare.
        plan: what they are compared by.
        criteria: which of them are wanted more.
    """
    rows = np.zeros(len(documents), row_type(plan.width, len(criteria)))
    keys = np.zeros((len(documents), plan.keys.slots + 1), np.int32)
    shingles, said, names = [np.empty(0, np.uint64)], list[bytes](), dict[int, str]()
    ends = [0, 0]
    for number, document in enumerate(documents):
        row = rows[number]
        row["basis"] = NOTHING
        if document is not None:
            _fill(row, document, plan.width)
            row["rank"] = ranks_of(criteria, document.merits)
            for slot, key in keys_of(document, plan.keys):
                keys[number, slot] = key
            facts = None if document.facts is None else document.facts.packed()
            blob = (facts, document.rest, storable(document.url).encode())
            row["facts"], row["rest"] = (-1 if one is None else len(one) for one in blob[:2])
            said += filter(None, blob)
            ends[1] += sum(len(one or b"") for one in blob)
            if document.facts is not None:
                names.update(document.facts.names)
            if document.sketch.shingles is not None:
                shingles.append(document.sketch.shingles)
                ends[0] += document.sketch.shingles.size
        row["shingles"], row["said"] = ends
    return Part(rows, keys, np.concatenate(shingles), b"".join(said), names)


def _fill(row: Any, document: Document, width: int) -> None:
    row["fingerprint"] = (document.sketch.fingerprint or 0).to_bytes(width, "big")
    if (digest := digest_of(document)) is not None:
        row["digest"] = digest
        row["has_digest"] = True
    row["owner"] = owner_of(document.key)
    row["fetch"] = document.fetch
    row["size"] = document.sketch.size
    row["basis"] = basis_of(document)


@dataclass(slots=True)
class Lengths:
    """How much of each file is there for good, in bytes; and how many documents that is."""

    documents: int = 0
    rows: int = 0
    keys: int = 0
    shingles: int = 0
    said: int = 0
    names: dict[str, str] = field(default_factory=dict)


class SketchFiles:
    """The files of a folder, to append to.

    Args:
        folder: theirs.
        noted: what an earlier call has noted; what was written after that is cut off.
    """

    def __init__(self, folder: Path, noted: Lengths) -> None:
        self.lengths = noted
        self._streams: dict[str, BinaryIO] = {}
        for name in _FILES:
            path = folder / name
            stream = open_own(path) if path.exists() else open_new(path)
            stream.truncate(getattr(noted, name))
            stream.seek(0, os.SEEK_END)
            self._streams[name] = stream

    def append(self, part: Part) -> None:
        """Write a part behind those before it."""
        lengths = self.lengths
        part.rows["shingles"] += lengths.shingles // 8
        part.rows["said"] += lengths.said
        for name in _FILES:
            value = getattr(part, name)
            packed = value if isinstance(value, bytes) else value.tobytes()
            self._streams[name].write(packed)
            setattr(lengths, name, getattr(lengths, name) + len(packed))
        lengths.documents += len(part.rows)
        lengths.names.update({str(key): name for key, name in part.names.items()})

    def sync(self) -> None:
        """Wait until all is on the disk."""
        for stream in self._streams.values():
            stream.flush()
            os.fsync(stream.fileno())

    def close(self) -> None:
        """Close the files."""
        for stream in self._streams.values():
            stream.close()


class Sketches:
    """The sketches of a corpus, to read. Document i has row i.

    Attributes:
        rows, keys: see :class:`Part`.
    """

    def __init__(
        self,
        rows: NDArray[np.void],
        keys: NDArray[np.int32],
        shingles: NDArray[np.uint64],
        said: NDArray[np.uint8],
        names: Mapping[int, str],
    ) -> None:
        self.rows = rows
        self.keys = keys
        self._shingles = shingles
        self._said = said
        self._names = names
        self._ends = rows["said"]

    @classmethod
    def open(cls, folder: Path, lengths: Lengths, plan: Plan, criteria: int) -> Self:
        """Those in the files of a folder."""

        def mapped(name: str, kind: Any) -> NDArray[Any]:
            path = folder / name
            count = getattr(lengths, name) // np.dtype(kind).itemsize
            # What is empty can't be mapped.
            return np.memmap(path, kind, "r", shape=(count,)) if count else np.empty(0, kind)

        return cls(
            mapped("rows", row_type(plan.width, criteria)),
            mapped("keys", np.int32).reshape(-1, plan.keys.slots + 1),
            mapped("shingles", np.uint64),
            mapped("said", np.uint8),
            {int(key): name for key, name in lengths.names.items()},
        )

    @classmethod
    def of(cls, part: Part) -> Self:
        """Those of a single part."""
        said = np.frombuffer(part.said, np.uint8)
        return cls(part.rows, part.keys, part.shingles, said, part.names)

    @property
    def fingerprints(self) -> NDArray[np.uint8]:
        """Shape (documents, bytes), big-endian: a copy, in memory."""
        packed = np.ascontiguousarray(self.rows["fingerprint"]).view(np.uint8)
        return packed.reshape(len(self.rows), self.rows.dtype["fingerprint"].itemsize)

    def __len__(self) -> int:
        return len(self.rows)

    def shingles(self, number: int) -> NDArray[np.uint64]:
        """The shingles of a document; none for one that has none."""
        start = int(self.rows["shingles"][number - 1]) if number else 0
        return self._shingles[start : int(self.rows["shingles"][number])]

    @property
    def order(self) -> NDArray[np.uint32]:
        """The numbers of documents, those that are wanted most first; see `item.merits`.

        The first of a group is the one that is kept.
        """
        ranks = self.rows["rank"]
        if not ranks.shape[1]:
            return np.arange(len(ranks), dtype=np.uint32)
        # The last key is the first to sort by; what is equal stays in its order.
        return np.lexsort(ranks.T[::-1]).astype(np.uint32)

    def url(self, number: int) -> str:
        """Where a document was found."""
        return self._blobs(number, _Packed._make(self.rows[number].item()))[2].decode()

    def facts(self, row: Row) -> Facts | None:
        """The facts of a row of :meth:`row`, with their names."""
        return None if row.facts is None else Facts(Facts.unpack(row.facts).records, self._names)

    def row(self, number: int, place: int) -> Row:
        """A document as a claim: all of a corpus is of one visit, and what is claimed is stored.

        Args:
            number: of the document.
            place: when it is decided on, from 0 on.
        """
        mine = _Packed._make(self.rows[number].item())
        facts, rest, url = self._blobs(number, mine)
        return Row(
            namespace=0,
            id=place + 1,
            owner=mine.owner,
            token=place,
            visit=0,
            generation=0,
            fetch=mine.fetch,
            run=0,
            state=CONFIRMED,
            basis=mine.basis,
            fingerprint=mine.fingerprint,
            size=mine.size,
            nearest=None,
            created=0.0,
            seen=0.0,
            key="",
            url=url.decode(),
            packed_keys=None,
            digest=mine.digest if mine.has_digest else None,
            facts=facts,
            minhash=None,
            rest=rest,
            beside=None,
            differs=None,
        )

    def _blobs(self, number: int, mine: _Packed) -> tuple[bytes | None, bytes | None, bytes]:
        start = int(self._ends[number - 1]) if number else 0
        said = self._said[start : mine.said].tobytes()
        first = max(mine.facts, 0)
        second = first + max(mine.rest, 0)
        return (
            None if mine.facts < 0 else said[:first],
            None if mine.rest < 0 else said[first:second],
            said[second:],
        )

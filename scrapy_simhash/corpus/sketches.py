"""What is kept of a corpus to decide on it: columns in files, that grow by whole parts.

Shingles, which are most of it, each process writes to a file of its own. They are read where they
are asked for, all else through the memory of the system: a corpus may be larger than that.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from scrapy_simhash.corpus.stored import Part, StoredShingles
from scrapy_simhash.db.schema import CONFIRMED
from scrapy_simhash.db.statements import storable
from scrapy_simhash.durable import open_new, open_own, sync_file
from scrapy_simhash.index.batch import basis_of, digest_of, owner_of, whole_key
from scrapy_simhash.index.verdict import Row
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.quality import ranks_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from scrapy_simhash.corpus.plan import Plan
    from scrapy_simhash.corpus.stored import Stored
    from scrapy_simhash.index.verdict import Document
    from scrapy_simhash.item.quality import Criterion

__all__ = [
    "NOTHING",
    "SketchFiles",
    "Sketches",
    "make_part",
    "row_type",
]

#: The basis of what has nothing to compare.
NOTHING = -1

_DIGEST = 16
_FILES = ("rows", "keys", "said")
_NO_SHINGLES = np.empty(0, np.uint64)


def row_type(width: int, criteria: int) -> np.dtype[np.void]:
    """What is kept of each document beside its keys, in bytes of one length.

    `shingles` says where those begin in the file of the number `file`, `hashes` how many they are.
    `said` says where its facts, the rest of its page and its address end, one behind the other; -1
    is the length of what it has not.
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
            ("hashes", np.int32),
            ("facts", np.int32),
            ("rest", np.int32),
            ("file", np.int16),
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
    hashes: int
    facts: int
    rest: int
    file: int
    basis: int
    has_digest: bool


def make_part(
    documents: Sequence[Document | None], plan: Plan, criteria: Sequence[Criterion] = ()
) -> Part:
    """Pack documents.

    Args:
        documents: None for what has nothing to compare.
        plan: what they are compared by.
        criteria: which of them are wanted more.
    """
    width, slots = plan.width, plan.keys.slots
    keys = np.zeros((len(documents), slots + 1), np.int32)
    shingles, said, names = [_NO_SHINGLES], list[bytes](), dict[int, str]()
    packed, start, end = list[_Packed](), 0, 0
    for number, document in enumerate(documents):
        if document is None:
            packed.append(_nothing(width, (0,) * len(criteria), start, end))
            continue
        rank = ranks_of(criteria, document.merits)
        if not document.exact:
            keys[number, :slots] = plan.keys.keys(document.sketch)
        if (whole := whole_key(document)) is not None:
            keys[number, slots] = whole
        facts = None if document.facts is None else document.facts.packed()
        url = storable(document.url).encode()
        said += [facts or b"", document.rest or b"", url]
        end += sum(map(len, said[-3:]))
        if document.facts is not None:
            names.update(document.facts.names)
        mine = _NO_SHINGLES if document.sketch.shingles is None else document.sketch.shingles
        packed.append(_packed(document, width, rank, facts, (start, mine.size, end)))
        shingles.append(mine)
        start += mine.size
    rows = np.array(packed, row_type(width, len(criteria)))
    return Part(rows, keys, np.concatenate(shingles), b"".join(said), names)


def _nothing(width: int, rank: Any, start: int, end: int) -> _Packed:
    unknown = (bytes(width), bytes(_DIGEST), 0, 0)
    return _Packed(*unknown, start, end, rank, 0, 0, -1, -1, 0, NOTHING, has_digest=False)


def _packed(
    document: Document, width: int, rank: Any, facts: bytes | None, places: tuple[int, int, int]
) -> _Packed:
    digest = digest_of(document)
    return _Packed(
        fingerprint=(document.sketch.fingerprint or 0).to_bytes(width, "big"),
        digest=digest or bytes(_DIGEST),
        owner=owner_of(document.key),
        fetch=document.fetch,
        shingles=places[0],
        said=places[2],
        rank=rank,
        size=document.sketch.size,
        hashes=places[1],
        facts=-1 if facts is None else len(facts),
        rest=-1 if document.rest is None else len(document.rest),
        file=0,
        basis=basis_of(document),
        has_digest=digest is not None,
    )


@dataclass(slots=True)
class Lengths:
    """How much of each file is there for good, in bytes; and how many documents that is.

    The files of shingles have names, by whose places they are numbered; rows say what is in them.
    """

    documents: int = 0
    rows: int = 0
    keys: int = 0
    said: int = 0
    shingles: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)


class SketchFiles:
    """The files of a folder, to append to.

    Args:
        folder: theirs.
        noted: what an earlier call has noted; what was written after that is cut off.
    """

    def __init__(self, folder: Path, noted: Lengths) -> None:
        self.lengths = noted
        self._folder = folder
        self._streams: dict[str, BinaryIO] = {}
        for name in _FILES:
            path = folder / name
            stream = open_own(path) if path.exists() else open_new(path)
            stream.truncate(getattr(noted, name))
            stream.seek(0, os.SEEK_END)
            self._streams[name] = stream

    def append(self, stored: Stored) -> None:
        """Write a part behind those before it."""
        lengths, part = self.lengths, stored.part
        if stored.file not in lengths.shingles:
            lengths.shingles.append(stored.file)
        part.rows["file"] = lengths.shingles.index(stored.file)
        part.rows["said"] += lengths.said
        for name in _FILES:
            written = memoryview(getattr(part, name)).cast("B")
            self._streams[name].write(written)
            setattr(lengths, name, getattr(lengths, name) + len(written))
        lengths.documents += len(part.rows)
        lengths.names.update({str(key): name for key, name in part.names.items()})

    def sync(self) -> None:
        """Wait until all is on the disk."""
        for stream in self._streams.values():
            stream.flush()
            os.fsync(stream.fileno())
        for name in self.lengths.shingles:
            sync_file(self._folder / name)

    def close(self) -> None:
        """Close the files."""
        for stream in self._streams.values():
            stream.close()


class Sketches:
    """The sketches of a corpus, to read. Document i has row i.

    Attributes:
        rows, keys: see :class:`~scrapy_simhash.corpus.stored.Part`.
    """

    def __init__(
        self,
        rows: NDArray[np.void],
        keys: NDArray[np.int32],
        shingles: Sequence[NDArray[np.uint64] | StoredShingles],
        said: NDArray[np.uint8],
        names: Mapping[int, str],
    ) -> None:
        self.rows = rows
        self.keys = keys
        self._shingles = shingles
        self._said = said
        self._names = names
        self._ends = rows["said"]
        self._begins = [rows[name] for name in ("file", "shingles", "hashes")]

    @classmethod
    def open(cls, folder: Path, lengths: Lengths, plan: Plan, criteria: int) -> Self:
        """Those in the files of a folder."""

        def mapped(name: str, kind: Any) -> NDArray[Any]:
            path = folder / name
            count = getattr(lengths, name) // np.dtype(kind).itemsize
            # What is empty can't be mapped; and to index what knows that it is takes far longer.
            mapping = np.memmap(path, kind, "r", shape=(count,)) if count else np.empty(0, kind)
            return np.asarray(mapping)

        return cls(
            mapped("rows", row_type(plan.width, criteria)),
            mapped("keys", np.int32).reshape(-1, plan.keys.slots + 1),
            [StoredShingles(folder / name) for name in lengths.shingles],
            mapped("said", np.uint8),
            {int(key): name for key, name in lengths.names.items()},
        )

    @classmethod
    def of(cls, part: Part) -> Self:
        """Those of a single part."""
        said = np.frombuffer(part.said, np.uint8)
        return cls(part.rows, part.keys, [part.shingles], said, part.names)

    @property
    def fingerprints(self) -> NDArray[np.uint8]:
        """Shape (documents, bytes), big-endian: a copy, in memory."""
        packed = np.ascontiguousarray(self.rows["fingerprint"]).view(np.uint8)
        return packed.reshape(len(self.rows), self.rows.dtype["fingerprint"].itemsize)

    def __len__(self) -> int:
        return len(self.rows)

    def shingles(self, number: int) -> NDArray[np.uint64]:
        """The shingles of a document; none for one that has none."""
        file, start, count = (int(column.item(number)) for column in self._begins)
        found: NDArray[np.uint64] = self._shingles[file][start : start + count]
        return found

    @property
    def order(self) -> NDArray[np.uint32]:
        """The numbers of documents, those that are wanted most first; see `item.quality`.

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

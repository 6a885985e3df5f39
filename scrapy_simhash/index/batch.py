"""Documents that are looked up together: all that can be done before the lock is taken.

Pure arithmetic: fingerprints, keys, what to look up, and who is near whom inside the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_simhash.db.schema import PENDING
from scrapy_simhash.simhash.measure import FEW_FEATURES, hamming
from scrapy_simhash.simhash.scheme import Sketch
from scrapy_simhash.text.packed import pack_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.verdict import Document, Duplicate
    from scrapy_simhash.keys.bands import Bands
    from scrapy_simhash.keys.blocks import Blocks
    from scrapy_simhash.simhash.scheme import Scheme

__all__ = [
    "Batch",
    "KeyRow",
    "Row",
    "bare_sketch",
    "clean",
    "duplicate_row",
    "exact_key",
    "key_row",
    "make_batch",
    "owner_of",
    "pack_fingerprints",
    "slotted",
]


class KeyRow(NamedTuple):
    """A key of a document, in its slot."""

    slot: int
    key: int


class Row(NamedTuple):
    """A row of the claims table, as it would be written if its document were claimed."""

    namespace: int
    id: int
    owner: int
    position: int
    visit: int
    run: int
    state: int
    fingerprint: bytes
    size: int
    nearest: int | None
    created: float
    seen: float
    key: str
    url: str
    packed_keys: bytes | None


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents that are looked up together: row i of each belongs to document i.

    Attributes:
        fingerprints: shape (documents, bytes), big-endian.
        keys: that they are stored under, shape (slots,) each.
        asked: every key to look up, with its slot (see `slotted`), in ascending order.
        asker: which document asks for it.
        rows: what is stored of them if they are claimed.
        twins: distance and number of those before each that are within the limit.
        texts: compressed; None where none is kept.
    """

    fingerprints: NDArray[np.uint8]
    keys: Sequence[NDArray[np.int32]]
    asked: NDArray[np.int64]
    asker: NDArray[np.intp]
    rows: Sequence[Row]
    twins: Sequence[Sequence[tuple[int, int]]]
    texts: Sequence[bytes | None]

    def __len__(self) -> int:
        return len(self.rows)


def make_batch(
    documents: Sequence[Document],
    *,
    namespace: int,
    run: int,
    keys: Bands | Blocks,
    flips: Sequence[NDArray[np.int32]],
    width: int,
    limit: int,
    keep_texts: bool,
) -> Batch:
    """Prepare documents that have a fingerprint.

    Args:
        documents: 64 at most: each is compared with each.
        namespace: their claims are of.
        run: that claims them.
        keys: that they are stored under.
        flips: for each slot, what a key is combined with to give those to look up.
        width: of a fingerprint, in bytes.
        limit: the distance up to which two of them are twins.
        keep_texts: whether their texts are compressed, to be kept.
    """
    fingerprints = pack_fingerprints(documents, width)
    own = [keys.keys(document.sketch) for document in documents]
    rows = [
        Row(
            namespace=namespace,
            id=0,
            owner=owner_of(document.key),
            position=document.position,
            visit=document.visit,
            run=run,
            state=PENDING,
            fingerprint=fingerprint.tobytes(),
            size=document.sketch.size,
            nearest=None,
            created=0.0,
            seen=0.0,
            key=clean(document.key),
            url=clean(document.url),
            packed_keys=mine.astype("<i4").tobytes() if keys.needs_shingles else None,
        )
        for document, fingerprint, mine in zip(documents, fingerprints, own, strict=True)
    ]
    texts = [
        pack_text(document.text) if keep_texts and document.text is not None else None
        for document in documents
    ]
    return Batch(fingerprints, own, *_probes(own, flips), rows, _twins(fingerprints, limit), texts)


def pack_fingerprints(documents: Sequence[Document], width: int) -> NDArray[np.uint8]:
    """The fingerprints of documents that have one: shape (documents, width), big-endian."""
    packed = b"".join(
        document.sketch.fingerprint.to_bytes(width, "big")
        for document in documents
        if document.sketch.fingerprint is not None
    )
    return np.frombuffer(packed, np.uint8).reshape(-1, width)


def bare_sketch(fingerprint: int | None, scheme: Scheme, keys: Bands | Blocks) -> Sketch:
    """What stands for a text of which no more than the fingerprint is known.

    Raises:
        TypeError: it is no fingerprint, or the keys are made of shingles.
        ValueError: it is negative or wider than the scheme's.
    """
    if fingerprint is None:
        return Sketch(None, 0, None)
    if not isinstance(fingerprint, int):
        raise TypeError(f"a text or a fingerprint is wanted, not {fingerprint!r}")
    if keys.needs_shingles:
        raise TypeError(
            "this index finds its candidates by min-wise bands, which are made of a text's "
            "shingles: give the text, or open the index with candidates='blocks'"
        )
    if not 0 <= fingerprint < 1 << scheme.bits:
        raise ValueError(
            f"fingerprint {fingerprint:#x}: allowed is 0 to 2**{scheme.bits} - 1, the "
            f"width of {scheme.id!r}"
        )
    # Nothing is known of its features: as many as it takes to be compared by distance.
    return Sketch(fingerprint, FEW_FEATURES, None)


def duplicate_row(
    duplicate: Duplicate, *, namespace: int, run: int, width: int, now: float, keep_text: bool
) -> tuple[dict[str, Any], bytes | None]:
    """What is remembered of a near-duplicate, and its text, compressed."""
    document, match = duplicate.document, duplicate.match
    row = {
        "namespace": namespace,
        "id": duplicate.id,
        "run": run,
        "created": now,
        "owner": owner_of(document.key),
        "key": clean(document.key),
        "url": clean(document.url),
        "fingerprint": pack_fingerprints([document], width).tobytes(),
        "size": document.sketch.size,
        "claim": match.claim,
        "distance": match.distance,
        "action": duplicate.action,
        "item_type": duplicate.item_type,
        "item": duplicate.item,
    }
    return row, _text(document) if keep_text else None


def _twins(fingerprints: NDArray[np.uint8], limit: int) -> list[list[tuple[int, int]]]:
    """For each the distance and the number of those before it that are near enough."""
    twins: list[list[tuple[int, int]]] = [[] for _ in fingerprints]
    if len(fingerprints) < 2:
        return twins
    distances = hamming(fingerprints[:, None, :], fingerprints[None, :, :])
    for number, other in np.argwhere(np.tril(distances <= limit, -1)).tolist():
        twins[number].append((int(distances[number, other]), other))
    return twins


def _probes(
    keys: Sequence[NDArray[np.int32]], flips: Sequence[NDArray[np.int32]]
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Every key to look up, slot first, in ascending order; and which document asks for it."""
    if not keys:
        return np.empty(0, np.int64), np.empty(0, np.intp)
    stored = np.stack(keys)
    asked = np.concatenate(
        [slotted(slot, stored[:, slot, None] ^ one).ravel() for slot, one in enumerate(flips)]
    )
    numbers = np.arange(len(keys))
    asker = np.concatenate([np.repeat(numbers, len(one)) for one in flips])
    order = np.argsort(asked, kind="stable")
    return asked[order], asker[order]


def slotted(slot: int | NDArray[np.int64], keys: NDArray[Any]) -> NDArray[Any]:
    """One number for a slot and a key, in which the slot comes first."""
    return np.int64(slot) << 32 | (keys.astype(np.int64) & 0xFFFFFFFF)


def key_row(number: int) -> KeyRow:
    """The reverse of :func:`slotted`."""
    slot, key = number >> 32, number & 0xFFFFFFFF
    return KeyRow(slot, key - (key >> 31 << 32))


def owner_of(key: str) -> int:
    """The 64 signed bits by which an owner key is looked up."""
    digest = blake2b(key.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def exact_key(fingerprint: bytes) -> int:
    """The key under which a document all of whose bands are crowded is found all the same."""
    return int.from_bytes(fingerprint[-4:], "big", signed=True)


def _text(document: Document) -> bytes | None:
    return None if document.text is None else pack_text(document.text)


def clean(text: str) -> str:
    """What every engine can store: neither NUL nor lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()

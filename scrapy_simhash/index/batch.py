"""Prepares documents for a look-up: everything that can be done before the lock is taken.

Pure arithmetic: fingerprints, keys, rows, and which documents of the batch are near each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.db.values import ComparedBy, storable
from scrapy_simhash.features.shingles import minhash
from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.index.verdict import ClaimRow, Document, Sighting
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.plan import HOT_KEY, Blocks
from scrapy_simhash.simhash.measure import FEW_FEATURES, hamming
from scrapy_simhash.simhash.scheme import Scheme, Sketch
from scrapy_simhash.text.packed import pack_text

# Facts by which an item of a family is found.
_FAMILY_FACTS = 16


class KeyRow(NamedTuple):
    """A key of a document, in its slot."""

    slot: int
    key: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents that are looked up together: entry i of each list belongs to document i."""

    documents: Sequence[Document]
    #: Shape (documents, bytes), big-endian.
    fingerprints: NDArray[np.uint8]
    #: The keys they are stored under.
    keys: Sequence[Sequence[KeyRow]]
    #: Every key to look up, with its slot (see `slotted`), in ascending order; and who asks for it.
    asked: NDArray[np.int64]
    asker: NDArray[np.intp]
    #: What is stored if they are claimed.
    rows: Sequence[ClaimRow]
    #: By numbers what documents are unchanged from, whatever their texts: these have no keys.
    known: Mapping[int, Sighting]
    #: Distance and number of each earlier document of the batch within the limit.
    in_batch: Sequence[Sequence[tuple[int, int]]]


def keys_of(document: Document, keys: Bands | Blocks) -> list[KeyRow]:
    """The keys of a document: those of its text, and one of the item as a whole."""
    stored: list[KeyRow] = []
    if document.reason is not None:
        return stored
    if not document.exact:
        stored += map(KeyRow, range(keys.slots), keys.keys(document.sketch).tolist())
    if (whole := whole_key(document)) is not None:
        stored.append(KeyRow(keys.slots, whole))
    return stored


def whole_key(document: Document) -> int | None:
    """The key of the item as a whole, if it has one."""
    if document.exact:
        return exact_key(cast("int", document.sketch.fingerprint).to_bytes(20, "big"))
    return exact_key(document.digest) if document.digest else None


def document_row(document: Document, claimant: ClaimRow, width: int) -> ClaimRow:
    """The row of the claim of a document, not yet numbered, without its keys."""
    shingles = document.sketch.shingles
    return claimant._replace(
        identity=identity_hash(document.key),
        listing=document.listing,
        alone=document.alone,
        compared_by=how_compared(document),
        fingerprint=cast("int", document.sketch.fingerprint).to_bytes(width, "big"),
        size=document.sketch.size,
        key=storable(document.key),
        url=storable(document.url),
        digest=digest_of(document),
        facts=None if document.facts is None else document.facts.packed(),
        minhash=None if shingles is None or not shingles.size else minhash(shingles),
        page_sketch=document.page_sketch,
        text_digest=text_digest_of(document),
    )


def equal_at_once(document: Document, was: Sequence[Sighting]) -> Sighting | None:
    """What shows that a document is unchanged, whatever its text: an equal item of its identity.

    An item that has nothing but its page's text is unchanged if its page is.
    """
    if document.digest is None:
        return None
    is_bare = document.facts is not None and not document.facts.own_kinds
    if not document.downloaded_in and is_bare and document.page_sketch is not None:
        return None
    # Of a page that was not modified, made of its download, and found to be so since.
    run = document.downloaded_in
    for one in was:
        is_of_download = not run or (one.of_claim and one.made <= run <= one.run)
        if one.digest == document.digest and is_of_download:
            return one
    return None


def known_row(document: Document, before: Sighting, claimant: ClaimRow, width: int) -> ClaimRow:
    """The row of a document that shows what was shown before."""
    return claimant._replace(
        identity=before.identity,
        listing=document.listing,
        alone=document.alone,
        compared_by=before.compared_by,
        fingerprint=bytes(width),
        key=storable(document.key),
        url=storable(document.url),
        digest=before.digest,
        facts=before.facts,
        text_digest=before.text_digest,
    )


def statement_size(key: str, url: str | None, item: bytes | None = None) -> int:
    """The bytes that a row with these values takes in a statement, at most.

    Characters take up to four, and a byte two if it is escaped.
    """
    return 4 * (len(key) + len(url or "")) + 2 * len(item or b"")


def digest_of(document: Document) -> bytes | None:
    """Equal for equal items; for a document compared as a whole, its fingerprint."""
    if document.exact and document.digest is None:
        return cast("int", document.sketch.fingerprint).to_bytes(20, "big")[-16:]
    return document.digest


def text_digest_of(document: Document) -> int:
    """64 bits that tell a text's words and their order; 0 where there is no text."""
    if document.text is None:
        return 0
    if document.sketch.digest is not None:
        return document.sketch.digest
    data = " ".join(tokens(document.text)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little", signed=True)


def how_compared(document: Document) -> int:
    """What a document is compared by: its text, its page, or all of it."""
    if document.exact:
        return ComparedBy.EXACT
    return ComparedBy.TEXT if document.page_sketch is None else ComparedBy.PAGE


def pack_keys(keys: Sequence[KeyRow]) -> bytes:
    """The keys of the slots from 0 on, as they are stored in a claim's row."""
    return np.array([row.key for row in keys], "<i4").tobytes()


def bare_sketch(fingerprint: int | None, scheme: Scheme, keys: Bands | Blocks) -> Sketch:
    """A sketch for a text of which only the fingerprint is known; raises as `Index.claim` does."""
    if fingerprint is None:
        return Sketch(None, 0, None)
    if not isinstance(fingerprint, int):
        raise TypeError(f"a text or a fingerprint is wanted, not {fingerprint!r}")
    if keys.needs_shingles:
        raise TypeError(
            "this index finds candidates by MinHash bands, which are computed from a text's "
            "shingles: pass the text, or open the index with candidates='blocks'"
        )
    if not 0 <= fingerprint < 1 << scheme.bits:
        raise ValueError(
            f"fingerprint {fingerprint:#x}: allowed is 0 to 2**{scheme.bits} - 1, the "
            f"width of {scheme.id!r}"
        )
    # The number of features is unknown: assume as many as a comparison by distance needs.
    return Sketch(fingerprint, FEW_FEATURES, None)


def near_in_batch(
    fingerprints: NDArray[np.uint8],
    rows: Sequence[ClaimRow],
    limit: int,
    stored: Sequence[Sequence[KeyRow]],
) -> list[list[tuple[int, int]]]:
    """For each, distance and number of the earlier ones that are near enough, or equal items.

    Those without keys are compared with none. Of a family each is compared with what its identity
    shows and equal items, and with the nearest, as many as a hot key leads to.
    """
    in_batch: list[list[tuple[int, int]]] = [[] for _ in rows]
    if sum(map(bool, stored)) < 2:
        return in_batch
    distances = hamming(fingerprints[:, None, :], fingerprints[None, :, :])
    near = distances <= limit
    equal = defaultdict[bytes, list[int]](list)
    for number, row in enumerate(rows):
        if row.digest is not None:
            if others := equal[row.digest]:
                near[number, others] = True
            others.append(number)
    # Each is near itself; usually there are no other pairs.
    if np.count_nonzero(near) > len(near):
        for number, other in np.argwhere(np.tril(near, -1)).tolist():
            if stored[number] and stored[other]:
                in_batch[number].append((int(distances[number, other]), other))
    for row, earlier in zip(rows, in_batch, strict=True):
        if len(earlier) > HOT_KEY:
            earlier.sort(key=partial(_nearness, rows, row))
            del earlier[HOT_KEY:]
    return in_batch


def _nearness(
    rows: Sequence[ClaimRow], row: ClaimRow, earlier: tuple[int, int]
) -> tuple[bool, int, int]:
    other = rows[earlier[1]]
    is_same = row.identity == other.identity or (row.digest and row.digest == other.digest)
    return not is_same, *earlier


def probes(
    stored: Sequence[Sequence[KeyRow]], flips: Sequence[NDArray[np.int32]]
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Every key to look up, slot first, in ascending order; and the document that asks for it."""
    slots = len(flips)
    by_text = [number for number, keys in enumerate(stored) if keys and keys[0].slot == 0]
    keys = np.array([[row.key for row in stored[number][:slots]] for number in by_text], np.int32)
    # A row for each document, and a column for each flip of each slot.
    slot_of = np.repeat(np.arange(slots), [len(masks) for masks in flips])
    probes = slotted(slot_of, keys.reshape(-1, slots)[:, slot_of] ^ np.concatenate(flips))
    whole = [number for number, keys in enumerate(stored) if keys and keys[-1].slot == slots]
    of_whole = slotted(slots, np.array([stored[number][-1].key for number in whole], np.int64))
    asked = np.concatenate([probes.ravel(), of_whole])
    askers = np.array([*by_text, *whole], np.intp)
    asker = np.repeat(askers, [len(slot_of)] * len(by_text) + [1] * len(whole))
    order = np.argsort(asked, kind="stable")
    return asked[order], asker[order]


def slotted(slot: int | NDArray[np.int64], keys: NDArray[Any]) -> NDArray[Any]:
    """Slot and key as one number, the slot in the high bits."""
    return np.int64(slot) << 32 | (keys.astype(np.int64) & 0xFFFFFFFF)


def key_rows(keys: NDArray[np.int64]) -> frozenset[KeyRow]:
    """The reverse of :func:`slotted`."""
    return frozenset(map(KeyRow, (keys >> 32).tolist(), keys.astype(np.int32).tolist()))


def identity_hash(key: str) -> int:
    """The signed 64 bits by which an identity key is looked up."""
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def exact_key(digest: bytes) -> int:
    """The key by which equal digests are found."""
    return int.from_bytes(digest[-4:], "big", signed=True)


def family_keys(row: ClaimRow, *, is_full: bool) -> list[int]:
    """More keys of a text that many share, so that some of its bands are hot.

    By its facts an item is found among the others. If the bands are hot in full, equal fingerprints
    are found, too. That key is a hash: hot keys come from similar pages, whose fingerprints have
    most bits in common.
    """
    facts = Facts.unpack(row.facts or b"").identifying[:_FAMILY_FACTS]
    # The last bits of a date tell its notation.
    keys = [exact_key((value >> 2 & 0xFFFFFFFF).to_bytes(4, "big")) for value in facts]
    equal = exact_key(blake2b(row.fingerprint, digest_size=4).digest())
    return [*dict.fromkeys([*keys, equal] if is_full else keys)]


def packed_text(document: Document) -> bytes | None:
    """The compressed text of a document, made once; None if it has no text to store."""
    if document.packed is None and document.text is not None:
        document.packed = pack_text(document.text, document.values)
    return document.packed

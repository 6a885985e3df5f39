"""Prepares documents for a look-up: everything that can be done before the lock is taken.

Pure arithmetic: fingerprints, keys and rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import cast

import numpy as np

from scrapy_simhash.db.values import TEXT_LENGTH, ComparedBy, storable
from scrapy_simhash.features.shingles import minhash
from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.index.verdict import ClaimRow, Document, Sighting
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.plan import Blocks
from scrapy_simhash.simhash.measure import FEW_FEATURES
from scrapy_simhash.simhash.scheme import Scheme, Sketch
from scrapy_simhash.text.packed import pack_text

# Facts by which an item of a family is found.
_FAMILY_FACTS = 16


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents that are looked up together: entry i of each list belongs to document i."""

    documents: Sequence[Document]
    #: The keys they are stored under, see :func:`slotted`.
    keys: Sequence[Sequence[int]]
    #: Every key to look up.
    asked: Sequence[int]
    #: What is stored if they are claimed.
    rows: Sequence[ClaimRow]
    #: By numbers what documents are unchanged from, whatever their texts: these have no keys.
    known: Mapping[int, Sighting]


def slotted(slot: int, key: int) -> int:
    """A key of 32 bits with its slot, which is in the high bits."""
    return slot << 32 | (key & 0xFFFFFFFF)


def keys_of(document: Document, keys: Bands | Blocks) -> list[int]:
    """The keys of a document: those of its text, and one of the item as a whole."""
    stored: list[int] = []
    if document.reason is not None:
        return stored
    if not document.exact:
        stored += map(slotted, range(keys.slots), keys.keys(document.sketch).tolist())
    if document.digest is not None:
        stored.append(slotted(keys.slots, exact_key(document.digest)))
    return stored


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
        key=storable(document.key, TEXT_LENGTH),
        url=storable(document.url, TEXT_LENGTH),
        digest=document.digest,
        facts=None if document.facts is None else document.facts.packed(),
        minhash=None if shingles is None or not shingles.size else minhash(shingles),
        page_sketch=document.page_sketch,
        text_digest=text_digest_of(document),
    )


def equal_at_once(document: Document, was: Sequence[Sighting]) -> Sighting | None:
    """What shows that a document is unchanged: an equal item of its identity, on an equal page.

    A page that was not modified is what it was.
    """
    if document.digest is None or not was:
        return None
    # Made of its download, and found to be so since.
    run = document.downloaded_in
    facts = None if document.facts is None else document.facts.packed()
    page = None if document.page_sketch is None else (text_digest_of(document), facts)
    for one in was:
        is_of_download = one.of_claim and one.made <= run <= one.run
        is_same = is_of_download if run else page in (None, (one.text_digest, one.facts))
        if is_same and one.digest == document.digest:
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
        key=storable(document.key, TEXT_LENGTH),
        url=storable(document.url, TEXT_LENGTH),
        digest=before.digest,
        facts=before.facts,
        text_digest=before.text_digest,
    )


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


def pack_keys(keys: Sequence[int]) -> bytes:
    """The keys of the slots from 0 on, as they are stored in a claim's row."""
    return np.array(keys, "<i8").view("<i4")[::2].tobytes()


def bare_sketch(fingerprint: int | None, scheme: Scheme, keys: Bands | Blocks) -> Sketch:
    """A sketch for a text of which only the fingerprint is known; raises as `Index.claim` does."""
    if fingerprint is None:
        return Sketch(None, 0, None)
    if not isinstance(fingerprint, int):
        raise TypeError(f"a text or a fingerprint is wanted, not {fingerprint!r}")
    if keys.needs_shingles:
        raise TypeError(
            "this index finds candidates by MinHash bands, which are computed from a text's "
            "shingles: pass the text, or open the index with a distance"
        )
    if not 0 <= fingerprint < 1 << scheme.bits:
        raise ValueError(
            f"fingerprint {fingerprint:#x}: allowed is 0 to 2**{scheme.bits} - 1, the "
            f"width of {scheme.id!r}"
        )
    # The number of features is unknown: assume as many as a comparison by distance needs.
    return Sketch(fingerprint, FEW_FEATURES, None)


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

"""The documents an index is asked about, and its answers."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Literal, NamedTuple

from scrapy_simhash.db.values import PENDING, TEXT
from scrapy_simhash.item.facts import Facts

if TYPE_CHECKING:
    from scrapy_simhash.simhash.scheme import Sketch

Kind = Literal["unique", "duplicate", "same", "skipped", "failed_open"]
Known = Literal["pass", "drop"]
Status = Literal["new", "changed", "moved", "unchanged", "copy"]
FactsMode = Literal["always", "auto", "never"]

#: The name of a text among the fields that changed.
OF_TEXT = "(text)"


def group_name(namespace: int, origin: int) -> str:
    """The name of a group, unique within a database."""
    return f"{namespace}-{origin}"


@dataclass(frozen=True, slots=True)
class Match:
    """The claim that a document is a near-duplicate, or a new version, of.

    Attributes:
        key: its identity key.
        url: the URL of its page.
        distance: Hamming distance of the two fingerprints, in bits.
        similarity: Jaccard similarity of the two texts' shingles, 0 to 1. If the index was opened
            with a distance, and for bare fingerprints, the similarity that the distance means.
        first_seen: when the claim was made.
        claim: its number in the namespace.
        run: the run that made it.
        pending: whether its item was not yet stored at the time of the comparison.
        estimated: whether the similarity is an estimate, because the claim's text is not stored.
        origin: the first claim of its group.
        namespace: the number of the namespace.
    """

    key: str
    url: str
    distance: int
    similarity: float
    first_seen: datetime
    claim: int
    run: int
    pending: bool
    estimated: bool = False
    origin: int = 0
    namespace: int = 0

    @property
    def group(self) -> str:
        """See `Verdict.group`."""
        return group_name(self.namespace, self.origin)


class Row(NamedTuple):
    """A row of the claims table, in the order of its columns; or of a document to be claimed."""

    namespace: int = 0
    id: int = 0
    identity: int = 0
    token: int = 0
    visit: int = 0
    epoch: int = 0
    listing: int = 0
    run: int = 0
    state: int = PENDING
    compared_by: int = TEXT
    fingerprint: bytes = b""
    size: int = 0
    nearest: int | None = None
    created: float = 0.0
    seen: float = 0.0
    key: str = ""
    url: str = ""
    packed_keys: bytes | None = None
    digest: bytes | None = None
    facts: bytes | None = None
    minhash: bytes | None = None
    page_sketch: bytes | None = None
    beside: int | None = None
    differs: str | None = None
    origin: int = 0
    text_digest: int = 0
    met: int = 0


#: What changes if a claim stands for a later document.
TOUCHED = ("identity", "token", "visit", "epoch", "listing", "met")


class Place(NamedTuple):
    """What is known of an identity that was a duplicate when it was last met: see its table."""

    id: int
    identity: int
    claim: int
    digest: bytes | None
    text_digest: int
    facts: bytes | None
    compared_by: int
    created: float


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """A claim that can be confirmed or released."""

    id: int
    #: If another process declares this one dead and releases the claim, and the item is stored all
    #: the same, confirming makes the claim again.
    row: Row = field(repr=False)
    #: The row as an earlier visit left it, if an unchanged item was found again: releasing the
    #: claim restores it.
    before: Row | None = field(default=None, repr=False)
    #: The name of its run, see :func:`~.recovery.register`: numbers start again in a new database.
    process: str = field(default="", repr=False)

    @property
    def group(self) -> str:
        """See `Verdict.group`."""
        return group_name(self.row.namespace, self.row.origin)


@dataclass(frozen=True, slots=True)
class Change:
    """What an item is, compared with earlier visits.

    Attributes:
        status: "new"; "changed"; "moved", unchanged under another address of its site;
            "unchanged"; or "copy" of another item.
        since: when this content was first seen at its place, in seconds since the epoch.
        origin: the URL where it was found before, if that was another.
        similarity: of the text to that of before, if it changed.
        fields: the short values that changed, by field: the old one and the new one, None where
            there is none.
        is_back: whether it was said to be gone.
        is_equal: whether the item is exactly what it was.
    """

    status: Status
    since: float
    origin: str | None = None
    similarity: float | None = None
    fields: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    is_back: bool = False
    is_equal: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The index's answer about a document.

    Attributes:
        kind: "unique"; "duplicate" of `match`; "same", a new version of an earlier document of the
            same identity (`match`); "skipped", it has no fingerprint; or, in a crawl only,
            "failed_open", the index did not answer.
        match: see `kind`; for a unique document, the claim with a similar text that it would be a
            duplicate of, if not for `differs`.
        claim: the new claim: always for "unique"; for "same" if the new version has to be
            remembered; otherwise None.
        reason: why it was skipped; in a crawl it is then compared with its own past only.
        differs: why a unique document is not a duplicate of `match`: the name of a field, or
            "(numbers)", "(passage)" or "(names)" in the text, "(address)", "(rest of the page)".
        change: what it is, compared with earlier visits; None if nothing was compared.
    """

    kind: Kind
    match: Match | None = None
    claim: Claim | None = None
    reason: str | None = None
    differs: str | None = None
    change: Change | None = None

    @property
    def group(self) -> str | None:
        """Identifies all near-duplicates and versions of one item, as long as the database exists.

        It is the same for every crawl that asks. None if nothing was compared.
        """
        if self.claim is not None:
            return self.claim.group
        return None if self.match is None else self.match.group


class Claimant(NamedTuple):
    """The run that claims: its number and its crawl epoch, the namespace, and the time."""

    run: int
    epoch: int
    namespace: int = 0
    now: float = 0.0


# The system's random numbers take a system call, which releases the GIL. Nobody can seed this one.
_numbers = Random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_numbers.seed)


def random_number() -> int:
    """63 random bits, unique across threads and processes."""
    return _numbers.getrandbits(63)


def _duplicate_id() -> int:
    """Milliseconds with 12 bits of fractions, and 10 random bits."""
    return ((time.time_ns() << 12) // 1_000_000 << 10) | _numbers.getrandbits(10)


@dataclass(slots=True, eq=False)
class Document:
    """A document to be claimed.

    Attributes:
        sketch: fingerprint and features; the digest of a document that is compared as a whole.
        key: the identity key.
        url: the URL of its page.
        visit: two documents of one visit may be duplicates of each other; a document of an earlier
            visit with the same identity is an earlier version. None for the crawl epoch.
        listing: identifies a listing page, whose items are different because they have different
            addresses; 0 for any other page.
        text: stored to explain verdicts and to compute similarities; None to store none.
        facts: values compared besides the text; None to compare the text only.
        page_sketch: a sketch of all visible text of the page, if the page's text is compared.
        digest: 16 bytes that are equal for equal items; None for a document that is not an item.
        exact: whether it is compared as a whole, exactly, and not by its text.
        token: a number that identifies this document.
        published: when the item was published, in seconds since the epoch; of a corpus only.
        canonical: whether the page declares its URL to be the canonical one; of a corpus only.
        packed: the compressed text, if at hand; by default it is compressed when needed.
        alias: the key that it would have as one of several items of a page.
        values: short values by field, kept with the text to tell what changed.
        reason: why it is compared with its own earlier versions only; None if with others, too.
    """

    sketch: Sketch
    key: str
    url: str = ""
    visit: int | None = field(default_factory=random_number)
    listing: int = 0
    text: str | None = None
    facts: Facts | None = None
    page_sketch: bytes | None = None
    digest: bytes | None = None
    exact: bool = False
    token: int = field(default_factory=random_number)
    published: int | None = None
    canonical: bool = False
    packed: bytes | None = None
    alias: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None


@dataclass(slots=True, eq=False)
class Duplicate:
    """A near-duplicate to be recorded, with the item that was dropped.

    `since` is when it was first a duplicate, in seconds since the epoch; None for now.
    """

    document: Document
    match: Match
    action: str
    item: bytes | None = None
    item_type: str | None = None
    since: float | None = None
    id: int = field(default_factory=_duplicate_id)

"""What is asked of an index, and what it answers."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Literal, NamedTuple

from scrapy_simhash.item.quality import QualitySignals, address_of

if TYPE_CHECKING:
    from datetime import datetime

    from scrapy_simhash.item.facts import Facts
    from scrapy_simhash.simhash.scheme import Sketch

__all__ = [
    "Claim",
    "Claimant",
    "Document",
    "Duplicate",
    "FactsMode",
    "Kind",
    "Match",
    "Row",
    "SameUrl",
    "Verdict",
    "group_name",
    "random_number",
]

Kind = Literal["unique", "duplicate", "same", "skipped", "failed_open"]
SameUrl = Literal["pass", "drop"]
FactsMode = Literal["always", "auto", "never"]


def group_name(namespace: int, origin: int) -> str:
    """The name of a group: no other namespace of a database ever has the same."""
    return f"{namespace}-{origin}"


@dataclass(frozen=True, slots=True)
class Match:
    """The claim that a document is a near-duplicate, or a new version, of.

    Attributes:
        key: its owner key.
        url: where its page was found.
        distance: Hamming distance of the two fingerprints, in bits.
        similarity: the Jaccard similarity of the two texts' shingles, 0 to 1. Where a distance is
            what was asked for, and for bare fingerprints, what similarity that distance means.
        first_seen: when the claim was made.
        claim: its number in the namespace.
        run: the run that made it.
        pending: whether its item was not stored yet when it was met.
        estimated: whether the similarity is an estimate, because the claim's text is not kept.
        group: names what is near to this claim or another version of it, see `Verdict.group`.
        merits: what may make a copy of it the better one.
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
    group: str = ""
    merits: QualitySignals = field(default=QualitySignals(), repr=False)


class Row(NamedTuple):
    """A row of the claims table; of a document what would be written if it were claimed."""

    namespace: int
    id: int
    owner: int
    token: int
    visit: int
    generation: int
    fetch: int
    run: int
    state: int
    basis: int
    fingerprint: bytes
    size: int
    nearest: int | None
    created: float
    seen: float
    key: str
    url: str
    packed_keys: bytes | None
    digest: bytes | None
    facts: bytes | None
    minhash: bytes | None
    rest: bytes | None
    beside: int | None
    differs: str | None
    merits: bytes = b""
    origin: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """A claim that was made and can be confirmed or released.

    It carries its row to the caller and back: somebody may take this process for dead and release
    the claim meanwhile, and what it stands for is stored all the same; confirming it then makes it
    again.
    """

    id: int
    row: Row = field(repr=False)

    @property
    def group(self) -> str:
        """See `Verdict.group`."""
        return group_name(self.row.namespace, self.row.origin)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the index says of a document.

    Attributes:
        kind: "unique"; "duplicate" of `match`; "same", a version of what its own owner claimed
            before (`match`); "skipped", because it has no fingerprint; or, in a crawl alone,
            "failed_open", because the index did not answer.
        match: see `kind`; of a unique document the one whose text is near, if `differs` says what
            makes them different things all the same.
        claim: what was claimed: always for "unique"; for "same" where the new version is worth
            remembering; None otherwise.
        reason: why it was skipped.
        differs: the field, or "(numbers)" in the text, "(address)", "(rest of the page)", that
            makes a unique document another thing than `match`.
    """

    kind: Kind
    match: Match | None = None
    claim: Claim | None = None
    reason: str | None = None
    differs: str | None = None

    @property
    def group(self) -> str | None:
        """Names what it is a copy or a version of, as long as the database lasts.

        All that are near-duplicates of one thing have the same, whoever asks and whenever; so do
        all versions of that thing. None where nothing was compared.
        """
        if self.claim is not None:
            return self.claim.group
        return None if self.match is None else self.match.group


class Claimant(NamedTuple):
    """Who claims.

    Attributes:
        run: its number.
        generation: the number that it shares with the runs that were open together with it.
    """

    run: int
    generation: int


# To ask the system for each number gives the interpreter away. Nobody can seed this one.
_numbers = Random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_numbers.seed)


def random_number() -> int:
    """63 bits that tell something from all others, of other threads and processes too."""
    return _numbers.getrandbits(63)


def _number_of_duplicate() -> int:
    """Milliseconds, in fractions of 12 bits, and 10 bits that tell it from others of the time."""
    return ((time.time_ns() << 12) // 1_000_000 << 10) | _numbers.getrandbits(10)


@dataclass(slots=True, eq=False)
class Document:
    """What a claim is asked for.

    Attributes:
        sketch: fingerprint and features; of a document that is compared as a whole, the digest.
        key: the owner key.
        url: where it was found.
        visit: which visit of the owner this is: two documents of one visit may be duplicates of
            each other, one of an earlier visit is the owner's own version. None for the crawl, and
            all that are open together with it.
        fetch: the page on which several things are listed under addresses of their own, which are
            different things for that; 0 for any other.
        text: kept to explain verdicts, and to judge by; None to keep none.
        facts: what it says beside the text; None where nothing but the text is compared.
        rest: a sketch of all that its page shows, where the page's text is what is compared.
        digest: 16 bytes that are equal for equal items; None for what is no item.
        exact: whether it is compared as a whole, to the letter, and by no text.
        token: tells it from every other document.
        published: when the thing itself was published, in seconds since the epoch.
        canonical: whether it says that its address is the canonical one.
        packed: the text as it is kept, if that was made before; by default it is when it is needed.
    """

    sketch: Sketch
    key: str
    url: str = ""
    visit: int | None = field(default_factory=random_number)
    fetch: int = 0
    text: str | None = None
    facts: Facts | None = None
    rest: bytes | None = None
    digest: bytes | None = None
    exact: bool = False
    token: int = field(default_factory=random_number)
    published: int | None = None
    canonical: bool = False
    packed: bytes | None = None

    @property
    def merits(self) -> QualitySignals:
        """What may make it better than a copy of it."""
        address = address_of(self.key, self.url)
        return QualitySignals(address, len(self.text or ""), self.published, self.canonical)


@dataclass(slots=True, eq=False)
class Duplicate:
    """A near-duplicate to be remembered, with the item that was dropped."""

    document: Document
    match: Match
    action: str
    item: bytes | None = None
    item_type: str | None = None
    id: int = field(default_factory=_number_of_duplicate)

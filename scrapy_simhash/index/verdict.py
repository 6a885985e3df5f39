"""What is asked of an index, and what it answers."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from scrapy_simhash.simhash.scheme import Sketch

__all__ = ["Claim", "Document", "Duplicate", "Kind", "Match", "SameUrl", "Verdict"]

Kind = Literal["unique", "duplicate", "same", "skipped", "failed_open"]
SameUrl = Literal["pass", "drop"]


@dataclass(frozen=True, slots=True)
class Match:
    """The claim that a document is a near-duplicate, or a new version, of.

    Attributes:
        key: its owner key.
        url: where its page was found.
        distance: Hamming distance of the two fingerprints, in bits.
        similarity: the Jaccard similarity of the features that this distance means, 0 to 1.
        first_seen: when the claim was made.
        claim: its number in the namespace.
        run: the run that made it.
        pending: whether its item was not stored yet when it was met.
    """

    key: str
    url: str
    distance: int
    similarity: float
    first_seen: datetime
    claim: int
    run: int
    pending: bool


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """A claim that was made and can be confirmed or released.

    It carries its row to the caller and back: somebody may take this process for dead and release
    the claim meanwhile, and what it stands for is stored all the same; confirming it then makes it
    again.
    """

    id: int
    row: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the index says of a document.

    Attributes:
        kind: "unique"; "duplicate" of `match`; "same", a version of what its own owner claimed
            before (`match`); "skipped", because it has no fingerprint; or, in a crawl alone,
            "failed_open", because the index did not answer.
        match: see `kind`.
        claim: what was claimed: always for "unique"; for "same" where the new version is worth
            remembering; None otherwise.
        reason: why it was skipped.
    """

    kind: Kind
    match: Match | None = None
    claim: Claim | None = None
    reason: str | None = None


@dataclass(slots=True, eq=False)
class Document:
    """What a claim is asked for.

    Attributes:
        sketch: fingerprint and features.
        key: the owner key.
        url: where it was found.
        position: of the item in its page, where items are compared.
        visit: which visit of the owner this is: two documents of one visit may be duplicates of
            each other, one of an earlier visit is the owner's own version.
        text: kept to explain verdicts, compressed; None to keep none.
    """

    sketch: Sketch
    key: str
    url: str = ""
    position: int = 0
    visit: int = field(default_factory=lambda: secrets.randbits(63))
    text: str | None = None


@dataclass(slots=True, eq=False)
class Duplicate:
    """A near-duplicate to be remembered, with the item that was dropped."""

    document: Document
    match: Match
    action: str
    item: bytes | None = None
    item_type: str | None = None
    id: int = field(
        default_factory=lambda: time.time_ns() // 1_000_000 << 22 | secrets.randbits(22)
    )

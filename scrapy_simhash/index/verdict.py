"""The documents an index is asked about, and its answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from scrapy_simhash.db.values import ComparedBy, State
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.keys import UNIDENTIFIED, item_url, untracked
from scrapy_simhash.simhash.measure import BITS, similarity_at

if TYPE_CHECKING:
    from scrapy_simhash.features.changes import Changes
    from scrapy_simhash.simhash.scheme import Sketch

Kind = Literal["unique", "duplicate", "same", "skipped", "failed_open"]
Known = Literal["pass", "drop"]
Status = Literal["new", "changed", "moved", "unchanged", "copy"]
FactsMode = Literal["always", "auto", "never"]

#: The name of a text among the fields that changed.
OF_TEXT = "(text)"
#: What keeps an item apart that has a passage more; at a new URL it may be a revision.
ADDED_PASSAGE = "(added passage)"
#: What keeps a claim beside the one it was a copy of: it was restored.
BY_HAND = "(restored)"


def group_name(namespace: int, origin: int) -> str:
    """The name of a group, unique within a database."""
    return f"{namespace}-{origin}"


class ClaimRow(NamedTuple):
    """A row of the claims table, in the order of its columns; or of a document to be claimed."""

    namespace: int = 0
    id: int = 0
    identity: int = 0
    listing: int = 0
    alone: bool = True
    run: int = 0
    state: int = State.PENDING
    compared_by: int = ComparedBy.TEXT
    fingerprint: bytes = b""
    size: int = 0
    nearest: int | None = None
    created: float = 0.0
    key: str = ""
    url: str = ""
    packed_keys: bytes | None = None
    digest: bytes | None = None
    facts: bytes | None = None
    minhash: bytes | None = None
    page_sketch: bytes | None = None
    similar_claim: int | None = None
    differs: str | None = None
    origin: int = 0
    text_digest: int = 0
    came_of: bytes | None = None


class Sighting(NamedTuple):
    """What a visit met: under which identity, where, and what it showed; see the table.

    Attributes:
        made: the run that made its claim.
        of_claim: whether its text is that of its claim.
        is_complete: whether its run met all that it was to meet.
        is_absent: whether it was found to be missing or gone since.
    """

    id: int
    identity: int
    claim: int
    run: int
    visit: int
    status: str
    meets: int
    listing: int
    origin: int
    since: float
    compared_by: int
    before: int
    source: int
    key: str
    url: str
    digest: bytes | None
    text_digest: int
    facts: bytes | None
    made: int = 0
    item_bytes: int = 0
    of_claim: bool = True
    is_complete: bool = False
    is_absent: bool = False

    @property
    def content(self) -> int:
        """The number of the text that it showed."""
        return self.claim if self.of_claim else self.id


@dataclass(frozen=True, slots=True)
class Match:
    """A claim that a document was compared with: in a verdict, the one that it is similar to.

    Attributes:
        row: the row of the claim.
        distance: Hamming distance of the two fingerprints, in bits.
        jaccard: Jaccard similarity of the two texts' shingles, 0 to 1; None if it is unknown: the
            index was opened with a distance, or has a bare fingerprint.
        estimated: whether this is an estimate, because the claim's text is not stored.
        bits: the width of the fingerprints.
        differs: why the document is not a duplicate of it, although the texts are similar.
        changes: returns how the document's text differs, which may take long, also in its state if
            the argument `with_state` is True; None if a text is damaged. None in its place if a
            text is not at hand, and in a verdict.
        values: returns the short values of the document, and those kept with the claim's text, by
            field. None in its place in a verdict.
        copies: what was dropped as copies of the claim, as far as it is known; none in a verdict.
    """

    row: ClaimRow
    distance: int
    jaccard: float | None
    estimated: bool = False
    bits: int = BITS
    differs: str | None = None
    changes: Callable[..., Changes | None] | None = field(default=None, repr=False)
    values: Callable[[], Sequence[Mapping[str, str]]] | None = field(default=None, repr=False)
    copies: tuple[ClaimRow, ...] = field(default=(), repr=False)

    @property
    def similarity(self) -> float:
        """The Jaccard similarity of the two texts; if that is unknown, what the distance means."""
        return similarity_at(self.distance, self.bits) if self.jaccard is None else self.jaccard

    @property
    def key(self) -> str:
        """The identity key of the claim."""
        return self.row.key

    @property
    def url(self) -> str:
        """The URL of its page."""
        return self.row.url

    @property
    def first_seen(self) -> datetime:
        """When the claim was made."""
        return datetime.fromtimestamp(self.row.created, UTC)

    @property
    def claim(self) -> int:
        """The number of the claim in its namespace."""
        return self.row.id

    @property
    def run(self) -> int:
        """The run that made it."""
        return self.row.run

    @property
    def pending(self) -> bool:
        """Whether its item was not yet stored at the time of the comparison."""
        return self.row.state == State.PENDING

    @property
    def group(self) -> str:
        """See `Verdict.group`."""
        return group_name(self.row.namespace, self.row.origin)

    @classmethod
    def of(cls, sighting: Sighting, namespace: int) -> Match:
        """The match with what a sighting has shown, for an item that equals it."""
        claim = ClaimRow(
            namespace=namespace,
            id=sighting.claim,
            identity=sighting.identity,
            state=State.CONFIRMED,
            compared_by=sighting.compared_by,
            created=sighting.since,
            key=sighting.key,
            url=sighting.url,
            digest=sighting.digest,
            origin=sighting.origin,
        )
        return cls(claim, 0, 1.0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The index's answer about a document.

    Attributes:
        kind: "unique"; "duplicate" of `match`; "same", a document of an identity that is known;
            "skipped", it has no fingerprint; or, in a crawl only, "failed_open", the index did not
            answer.
        match: the claim that stands for a document which is not stored, or what it was before; for
            a unique document, the claim with a similar text that it would be a duplicate of, if not
            for `differs`.
        claim: the claim of a document that is stored: its own, or that of an earlier visit, which
            it equals; otherwise None.
        reason: why it was skipped; in a crawl it is then compared with its own past only.
        differs: why a unique document is not a duplicate of `match`: the name of a field, or
            "(numbers)", "(passage)", "(names)" or "(added passage)" in the text, "(address)",
            "(rest of the page)".
        status: what it is, compared with earlier visits: "new"; "changed"; "moved", unchanged at
            another URL of its site; "unchanged"; or "copy" of another item. None if nothing was
            compared.
        fields: the short values that changed, by field: the old one and the new one, None where
            there is none.
        row: what would be stored of the document; its number is that of the sighting.
        before: what was shown before, at this URL or another one.
        came_of: what its match has come of so far, with what this document was before.
    """

    kind: Kind
    match: Match | None = None
    claim: ClaimRow | None = field(default=None, repr=False)
    reason: str | None = None
    differs: str | None = None
    status: Status | None = None
    fields: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    row: ClaimRow | None = field(default=None, repr=False)
    before: Sighting | None = field(default=None, repr=False)
    came_of: bytes | None = field(default=None, repr=False)

    @property
    def group(self) -> str | None:
        """Identifies all near-duplicates and versions of one item, as long as the database exists.

        It is the same for every crawl that asks. None if nothing was compared.
        """
        row = self.claim if self.match is None else self.claim or self.match.row
        return None if row is None else group_name(row.namespace, row.origin)

    @property
    def new_claim(self) -> ClaimRow | None:
        """The claim that is made of a document: of what is stored, or has another text now."""
        row = self.claim or (self.match and self.match.row)
        return row if row and self.row and row.id == self.row.id else None

    @property
    def has_old_claim(self) -> bool:
        """Whether its claim is that of an earlier visit, which stays whatever becomes of it."""
        return self.claim is not None and self.new_claim is None

    @property
    def since(self) -> float | None:
        """When this content was first seen at its URL, in seconds since the epoch."""
        if self.status == "unchanged" and self.before is not None:
            return self.before.since
        return None if self.row is None else self.row.created

    @property
    def similarity(self) -> float | None:
        """The similarity of a text that changed to that of before."""
        match, before = self.match, self.before
        if self.status != "changed" or match is None or before is None:
            return None
        if match.jaccard is None or match.row.id != before.claim:
            return None
        # Its claim may have another text, of which it was a copy.
        is_same = self.row is not None and self.row.text_digest == before.text_digest
        return 1.0 if is_same else match.jaccard

    @property
    def moved_from(self) -> str | None:
        """The URL where it was found before, if that was another."""
        if self.row is None or self.before is None or self.status not in ("changed", "moved"):
            return None
        return former_url(self.row, self.before)

    @property
    def is_back(self) -> bool:
        """Whether the item was said to be gone."""
        return self.before is not None and self.before.is_absent

    @property
    def is_equal(self) -> bool:
        """Whether the item is exactly what it was."""
        if self.before is None or self.row is None or self.row.digest is None:
            return False
        return self.row.digest == self.before.digest


def former_url(row: ClaimRow, before: Sighting) -> str | None:
    """The URL where a document was found before, if that was another.

    None of an entry without a URL: the page of a list is no place of it.
    """
    if row.key.startswith(UNIDENTIFIED):
        return None
    old, new = item_url(before.key, before.url), item_url(row.key, row.url)
    # An entry of a list may be known by its page, and later by its own URL.
    is_known = before.identity == row.identity
    pairs = [(old, new), (before.url, row.url)] if is_known else [(old, new)]
    return None if any(untracked(a) == untracked(b) for a, b in pairs) else old


# The system's random numbers take a system call, which releases the GIL. Nobody can seed this one.
_numbers = Random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_numbers.seed)


def random_number() -> int:
    """63 random bits, unique across threads and processes."""
    return _numbers.getrandbits(63)


@dataclass(slots=True, eq=False)
class Document:
    """A document to be claimed.

    Attributes:
        sketch: fingerprint and features; of a document compared as a whole, bits of its digest.
        key: the identity key.
        url: the URL of its page.
        listing: identifies a listing page, whose items are different because they have different
            addresses; 0 for any other page.
        alone: whether its page has no other item.
        text: stored to explain verdicts and to compute similarities; None to store none.
        facts: values compared besides the text; None to compare the text only.
        page_sketch: a sketch of all visible text of the page, if the page's text is compared.
        digest: 16 bytes that are equal for equal items; None for a document that is not an item.
        exact: whether it is compared as a whole, by its digest, and not by its text.
        downloaded_in: the run that downloaded its page, if that was not modified since: it is then
            unchanged, or not compared. 0 for a page of this crawl.
        published: when the item was published, in seconds since the epoch; of a corpus only.
        canonical: whether the page declares its URL to be the canonical one; of a corpus only.
        packed: the compressed text, if at hand; by default it is compressed when needed.
        values: short values by field, kept with the text to tell what changed.
        reason: why it is compared with its own earlier versions only; None if with others, too.
    """

    sketch: Sketch
    key: str
    url: str = ""
    listing: int = 0
    alone: bool = True
    text: str | None = None
    facts: Facts | None = None
    page_sketch: bytes | None = None
    digest: bytes | None = None
    exact: bool = False
    downloaded_in: int = 0
    published: int | None = None
    canonical: bool = False
    packed: bytes | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None


@dataclass(slots=True, eq=False)
class LeftOut:
    """What a crawl does with an item that it does not store, to be noted at its sighting.

    `action` is "drop", "report" if it is stored after all, or "same" if it is left out as known.
    """

    verdict: Verdict
    action: str
    item: bytes | None = None
    item_type: str | None = None


#: Claims that another one came of, at most.
_MOST_CAME_OF = 16


def came_of(claim: ClaimRow) -> list[int]:
    """The numbers of the claims that one came of."""
    numbers: list[int] = np.frombuffer(claim.came_of or b"", "<i8").tolist()
    return numbers


def packed_numbers(numbers: Iterable[int]) -> bytes:
    """The numbers of claims that another one came of, the latest first, as they are stored.

    Of many the oldest are kept as well, which copies may still show.
    """
    latest, half = [*dict.fromkeys(numbers)], _MOST_CAME_OF // 2
    kept = latest[:half] + latest[half:][-half:]
    return np.array(kept, "<i8").tobytes()

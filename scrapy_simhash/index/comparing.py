"""Compares the documents of a batch with the claims that were found, and with each other.

Texts are compared exactly if both are at hand, otherwise by an estimate.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import cast

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.features.changes import Changes
from scrapy_simhash.features.shingles import distinct, similarities_of
from scrapy_simhash.index.batch import Batch, KeyRow, family_keys
from scrapy_simhash.index.decide import NEAREST, WORDS, decide, nearest
from scrapy_simhash.index.rule import Rule, are_equal, compare
from scrapy_simhash.index.seen import Seen
from scrapy_simhash.index.verdict import ClaimRow, Document, Match, Sighting, Verdict
from scrapy_simhash.item.state import without_state
from scrapy_simhash.keys.plan import HOT_KEY
from scrapy_simhash.simhash.measure import jaccards
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.text.packed import unpack_text

# Bits of a claim number; the bits above hold a document's number in its batch.
_CLAIM_BITS = 56


@dataclass
class BatchCandidates:
    """The claims that the keys and identities of a batch led to."""

    batch: Batch
    #: The distance within which claims are compared.
    limit: int
    #: What the identities of the batch have shown lately.
    of_identities: Sequence[Sighting] = ()
    #: Shape (pairs, 3): a document of the batch, given by its number, a claim that may be near, and
    #: the distance of their fingerprints.
    pairs: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 3), np.int64))
    hot_keys: frozenset[KeyRow] = frozenset()
    #: The sightings of the compared claims in this visit.
    meeting: Sequence[Sighting] = ()
    #: The rows of the compared claims, by their numbers.
    rows: dict[int, ClaimRow] = field(default_factory=dict)
    #: By claim some of its dropped copies, for claims of other sites.
    copies: Mapping[int, Sequence[ClaimRow]] = field(default_factory=dict)

    @cached_property
    def compared(self) -> list[dict[int, int | None]]:
        """For each document the claims to compare it with, with their distances if known.

        Those within the limit, equal items, which may be on pages with other texts, and what each
        identity was shown, even if no key leads to it.
        """
        compared: list[dict[int, int | None]] = [{} for _ in self.batch.rows]
        for number, near, distance in self.pairs[self.pairs[:, 2] <= self.limit].tolist():
            compared[number][near] = distance
        by_digest = defaultdict[bytes | None, list[ClaimRow]](list)
        for claim in self.rows.values():
            by_digest[claim.digest].append(claim)
        for number, row in enumerate(self.batch.rows):
            if number not in self.batch.known:
                equal = (one.id for one in by_digest[row.digest] if are_equal(row, one))
                for shown in (*equal, *self.shown.get(row.identity, ())):
                    compared[number].setdefault(shown, None)
        return compared

    @cached_property
    def beyond(self) -> dict[int, int]:
        """For each document the distance of the nearest claim that is not within the limit."""
        nearest: dict[int, int] = {}
        for number, _, distance in self.pairs[self.pairs[:, 2] > self.limit].tolist():
            nearest[number] = min(distance, nearest.get(number, distance))
        return nearest

    def family_keys(self, number: int, row: ClaimRow, slots: int) -> list[int]:
        """The keys of a document beside its bands, if some of these are hot; see `family_keys`."""
        if not self.hot_keys:
            return []
        bands = [key for key in self.batch.keys[number] if key.slot < slots]
        if self.hot_keys.isdisjoint(bands):
            return []
        return family_keys(row, is_full=self.hot_keys.issuperset(bands))

    @cached_property
    def shown(self) -> Mapping[int, set[int]]:
        """The claims that identities were shown lately."""
        shown = defaultdict[int, set[int]](set)
        for one in self.of_identities:
            shown[one.identity].add(one.claim)
        return shown


def with_texts(candidates: BatchCandidates) -> set[int]:
    """The claims whose texts are read: of each document the nearest, as far as it is allowed."""
    claims, wanted, left = candidates.rows, set[int](), WORDS
    for row, compared in zip(candidates.batch.rows, candidates.compared, strict=True):
        # Those with the same facts first: others are no copies, whatever their texts.
        others = [
            (claims[claim].facts != row.facts, distance or 0, claim)
            for claim, distance in compared.items()
            if claim in claims
        ]
        nearest = (claim for *_, claim in sorted(others) if not are_equal(row, claims[claim]))
        for rank, claim in enumerate(islice(nearest, NEAREST)):
            left -= row.size + claims[claim].size
            if rank and left < 0:
                break
            wanted.add(claim)
    return wanted


def joined(
    asked: NDArray[np.int64], asker: NDArray[np.intp], hits: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The equi-join of the keys that were asked for and the hits, as distinct pairs.

    With keys 5, 5, 8 asked by the documents 0, 1, 1 and the hits (5, claim 70) and (8, claim 71)
    the pairs are (0, 70), (1, 70), (1, 71).

    `asked` is in ascending order.
    """
    left = np.searchsorted(asked, hits[:, 0], "left")
    count = np.searchsorted(asked, hits[:, 0], "right") - left
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    documents = asker[np.repeat(left, count) + within]
    # Each pair as one number, which sorts faster than rows. A batch has 64 documents at most.
    pairs = distinct(np.sort(np.repeat(hits[:, 1], count) | documents << _CLAIM_BITS))
    return np.stack([pairs >> _CLAIM_BITS, pairs & (1 << _CLAIM_BITS) - 1], axis=1)


def hot_keys(hits: NDArray[np.int64]) -> NDArray[np.int64]:
    """The keys that led to too many claims."""
    asked = distinct(np.sort(hits[:, 0]))
    count = np.bincount(np.searchsorted(asked, hits[:, 0]))
    return asked[count >= HOT_KEY]


# Of all texts together, with their shingles: hundreds of texts.
_MOST_BYTES = 8 << 20


class _Kept(threading.local):
    """What all caches keep, by cache and claim; each crawl of a process compares in one thread."""

    def __init__(self) -> None:
        #: Compressed texts, the least recently used first; shingles of those that were compared.
        self.texts: OrderedDict[tuple[Texts, int], bytes] = OrderedDict()
        self.shingles: dict[tuple[Texts, int], NDArray[np.uint64] | None] = {}
        self.bytes = 0


_kept = _Kept()


def changes_of(new: str, old: str, *, with_state: bool = False) -> Changes:
    """How a text differs from an earlier one; the numbers that tell its state may be left out."""
    changes = Changes.of(new, old)
    if with_state or not changes.touches_numbers:  # as in most copies
        return changes
    rest, old_rest = without_state(new), without_state(old)
    return changes if rest is new and old_rest is old else Changes.of(rest, old_rest)


class Texts:
    """The texts that documents are compared with: of a namespace's claims, and of their batch.

    What takes long is cached until :meth:`trim`, as a batch may be decided on twice; `note_work` is
    called after each text that was read, and after each that was compared word by word.

    Attributes:
        in_batch: the documents of the batch, by the numbers that their claims would have.
    """

    def __init__(self, scheme: Scheme, note_work: Callable[[], None]) -> None:
        self._scheme, self._note_work, self.bits = scheme, note_work, scheme.bits
        self.in_batch: Mapping[int, Document] = {}
        # By the tokens of a document and of an earlier one, or the number of a claim.
        self._changes: dict[tuple[int, int, bool], Changes | None] = {}

    def missing(self, claims: Iterable[int]) -> list[int]:
        """The claims whose texts are not cached."""
        return [claim for claim in claims if (self, claim) not in _kept.texts]

    def add(self, texts: Mapping[int, bytes]) -> None:
        """Add the compressed texts of claims, by the claims' numbers."""
        for claim, packed in texts.items():
            if len(packed) < _MOST_BYTES:
                _kept.texts[self, claim] = packed
                _kept.bytes += len(packed)

    def values(self, content: int) -> Mapping[str, str] | None:
        """The short values kept with a text; None if it is not at hand, or damaged."""
        packed = _kept.texts.get((self, content))
        return None if packed is None else unpack_text(packed)[1]

    def trim(self) -> None:
        """Forget what was compared, and the least recently used texts if there are too many."""
        self._changes.clear()
        self.in_batch = {}
        while _kept.bytes > _MOST_BYTES:
            claim, packed = _kept.texts.popitem(last=False)
            shingles = _kept.shingles.pop(claim, None)
            _kept.bytes -= len(packed) + (0 if shingles is None else shingles.nbytes)

    def similarities(
        self, document: Document, row: ClaimRow, claims: Sequence[ClaimRow]
    ) -> list[tuple[float | None, bool]]:
        """The Jaccard similarities of a document and claims, and whether each is an estimate.

        A similarity is None if it is unknown, because the scheme has no shingles.
        """
        shingles = document.sketch.shingles
        found: list[tuple[float | None, bool]] = [(None, False)] * len(claims)
        if shingles is None or row.minhash is None:
            return found
        texts, sketches = dict[int, NDArray[np.uint64]](), dict[int, bytes]()
        for place, claim in enumerate(claims):
            if claim.minhash is not None:
                if (stored := self._shingles_of(claim.id)) is not None:
                    texts[place] = stored
                else:
                    sketches[place] = claim.minhash
        exact = jaccards(shingles, list(texts.values()))
        estimates = similarities_of(row.minhash, list(sketches.values()))
        for places, values, is_estimated in ((texts, exact, False), (sketches, estimates, True)):
            for place, similarity in zip(places, values, strict=True):
                found[place] = similarity, is_estimated
        return found

    def changes(self, document: Document, claim: int) -> Callable[..., Changes | None] | None:
        """See `Match.changes`."""
        other = self.in_batch.get(claim)
        is_stored = (self, claim) in _kept.texts if other is None else other.text is not None
        has_texts = document.text is not None and is_stored
        return partial(self._find_changes, document, claim) if has_texts else None

    def _find_changes(
        self, document: Document, claim: int, *, with_state: bool = False
    ) -> Changes | None:
        other = self.in_batch.get(claim)
        pair = document.token, claim if other is None else other.token, with_state
        if pair not in self._changes:
            new, old = cast("str", document.text), self._text_of(claim)
            self._changes[pair] = (
                None if old is None else changes_of(new, old, with_state=with_state)
            )
            self._note_work()
        return self._changes[pair]

    def _text_of(self, claim: int) -> str | None:
        other = self.in_batch.get(claim)
        return unpack_text(_kept.texts[self, claim])[0] if other is None else other.text

    def _shingles_of(self, claim: int) -> NDArray[np.uint64] | None:
        if (other := self.in_batch.get(claim)) is not None:
            return other.sketch.shingles
        key = self, claim
        if key not in _kept.texts:
            return None
        _kept.texts.move_to_end(key)
        if key not in _kept.shingles:
            # A damaged text counts as not stored.
            text = self._text_of(claim)
            shingles = None if text is None else self._scheme.sketch(text).shingles
            _kept.shingles[key] = shingles
            _kept.bytes += 0 if shingles is None else shingles.nbytes
            self._note_work()
        return _kept.shingles[key]


def decide_batch(
    rule: Rule, texts: Texts, candidates: BatchCandidates, seen: Seen, first_number: int
) -> list[Verdict]:
    """Decide on a batch, given what its keys and identities led to, and what was sighted.

    The claims that the documents would get are numbered from `first_number` on.
    """
    batch = candidates.batch
    rows = [
        row._replace(id=number, origin=number)
        for number, row in enumerate(batch.rows, first_number)
    ]
    texts.in_batch = dict(enumerate(batch.documents, first_number))

    def own_text(number: int, sighting: Sighting) -> Match | None:
        """The match of a document with the text that a sighting has beside its claim."""
        changes = texts.changes(batch.documents[number], sighting.content)
        return changes and Match(ClaimRow(id=sighting.content), 0, None, changes=changes)

    return decide(
        rows,
        [document.facts for document in batch.documents],
        partial(matches_of, texts, candidates),
        rule=rule,
        seen=seen,
        own_text=own_text,
        known=batch.known,
    )


def nearest_claims(texts: Texts, candidates: BatchCandidates, count: int) -> list[Match]:
    """The nearest claims that the keys of a batch of one document lead to."""
    order = np.argsort(candidates.pairs[:, 2], kind="stable")[:count]
    found = [(candidates.rows[claim], far) for _, claim, far in candidates.pairs[order].tolist()]
    return list(map(final, _matches(texts, candidates, 0, found, is_all=True)))


def final(match: Match) -> Match:
    """A match without what only the rule needs: texts, and the copies of its claim."""
    return replace(match, changes=None, copies=())


def matches_of(
    texts: Texts, candidates: BatchCandidates, number: int, claimed: Mapping[int, ClaimRow]
) -> list[Match]:
    """A document's matches with the nearest claims within the limit.

    Among them are what its identity was shown, and the earlier documents that were `claimed`.
    """
    rows = candidates.rows
    found = [
        (rows[claim], distance)
        for claim, distance in candidates.compared[number].items()
        if claim in rows
    ]
    earlier = candidates.batch.in_batch[number]
    found += [(claimed[other], distance) for distance, other in earlier if other in claimed]
    return _matches(texts, candidates, number, found) if found else []


def _matches(
    texts: Texts,
    candidates: BatchCandidates,
    number: int,
    found: Sequence[tuple[ClaimRow, int | None]],
    *,
    is_all: bool = False,
) -> list[Match]:
    """A document's matches with the nearest of some claims, or all; with distances, if known."""
    row, document = candidates.batch.rows[number], candidates.batch.documents[number]
    claims = [claim for claim, _ in found]
    similarities = texts.similarities(document, row, claims)
    likeness = [
        (not is_estimated, -float(distance or 0) if jaccard is None else jaccard)
        for (_, distance), (jaccard, is_estimated) in zip(found, similarities, strict=True)
    ]
    shown = candidates.shown.get(row.identity, ())
    return [
        compare(
            row,
            claim,
            texts.bits,
            distance=found[place][1],
            jaccard=similarities[place][0],
            estimated=similarities[place][1],
            changes=texts.changes(document, claim.id),
            copies=tuple(candidates.copies.get(claim.id, ())),
        )
        for place in (range(len(claims)) if is_all else nearest(row, claims, likeness, shown))
        for claim in [claims[place]]
    ]

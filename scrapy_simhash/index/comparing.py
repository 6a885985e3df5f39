"""Compares the documents of a batch with the claims that were found, and with each other.

Texts are compared exactly if both are at hand, otherwise by an estimate.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.features.changes import Changes
from scrapy_simhash.features.shingles import similarities_of
from scrapy_simhash.index.batch import Batch
from scrapy_simhash.index.decide import NEAREST, Budget, decide, nearest
from scrapy_simhash.index.rule import Rule, are_equal, compare, fingerprint_distance
from scrapy_simhash.index.seen import Seen, sighting_of
from scrapy_simhash.index.verdict import ClaimRow, Document, Match, Verdict
from scrapy_simhash.item.state import without_state
from scrapy_simhash.simhash.measure import hamming, jaccards
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.text.packed import unpack_text


@dataclass
class BatchCandidates:
    """What the documents of a batch are compared with."""

    batch: Batch
    #: The rows of the documents, with the numbers that their claims would have, and their keys.
    documents: list[ClaimRow]
    keys: list[Sequence[int]]
    #: By claims that bands led to, the documents that have these.
    askers: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    #: By numbers, the rows of claims, also of documents once they are claimed.
    rows: dict[int, ClaimRow] = field(default_factory=dict)
    hot_keys: frozenset[int] = frozenset()
    #: By the numbers of documents, what each is compared with, with the distance if known.
    compared: dict[int, dict[int, int | None]] = field(default_factory=dict)
    #: By claim what was dropped as copies of it, in the batch and, on other sites, before.
    copies: dict[int, list[ClaimRow]] = field(default_factory=dict)

    def choose(self, seen: Seen, limit: int) -> None:
        """Choose what each document is compared with, given the claims that the keys led to.

        Of these, and of the earlier documents, that is those within a distance, and equal items,
        which may be on pages with other texts; and what its identity was shown.
        """
        claims = [self.rows[number] for number in sorted(self.rows)]
        asking = [number for number, keys in enumerate(self.keys) if keys]
        self.compared = {
            row.id: {} if number in self.batch.known else dict.fromkeys(seen.shown(row.identity))
            for number, row in enumerate(self.documents)
        }
        by_digest: defaultdict[bytes | None, list[ClaimRow]] = defaultdict(list)
        for claim in claims:
            by_digest[claim.digest].append(claim)
        for row in map(self.documents.__getitem__, asking):
            if row.digest is not None:
                equal = (one.id for one in by_digest[row.digest] if are_equal(row, one))
                self.compared[row.id] |= dict.fromkeys(equal)
                by_digest[row.digest].append(row)
        if len(claims) + len(asking) > 1:
            self._choose_near(asking, claims, limit)

    def _choose_near(self, asking: Sequence[int], claims: Sequence[ClaimRow], limit: int) -> None:
        """Choose by the distances; note that of the nearest claim which is too far."""
        others = [*claims, *(self.documents[number] for number in asking)]
        packed = b"".join(row.fingerprint for row in others)
        prints = np.frombuffer(packed, np.uint8).reshape(len(others), -1)
        distances = hamming(prints[len(claims) :, None], prints[None])
        is_near = distances <= limit
        # Texts that have nothing in common differ in half of the bits.
        most = 8 * prints.shape[1] // 3
        far = np.where(is_near, most, distances)[:, : len(claims)].min(axis=1, initial=most)
        for number, distance in zip(asking, far.tolist(), strict=True):
            if distance < most:
                self.documents[number] = self.documents[number]._replace(nearest=distance)
        # Of the documents, the earlier ones; of what bands led to, what shares one.
        is_near[:, len(claims) :] &= np.tri(len(asking), k=-1, dtype=bool)
        if self.askers:
            places = {self.documents[number].id: place for place, number in enumerate(asking)}
            is_asked = np.zeros((len(asking), len(claims)), bool)
            for place, claim in enumerate(claims):
                is_asked[[places[number] for number in self.askers[claim.id]], place] = True
            is_near[:, : len(claims)] &= is_asked
        pairs = np.argwhere(is_near).tolist()
        for (place, other), distance in zip(pairs, distances[is_near].tolist(), strict=True):
            self.compared[others[len(claims) + place].id][others[other].id] = distance

    def add(self, verdict: Verdict) -> None:
        """Add a document of the batch for those behind it, by its verdict."""
        if verdict.row is None:
            return
        if claim := verdict.claim or verdict.new_claim:
            self.rows[verdict.row.id] = claim
        elif verdict.match is not None:
            number = verdict.match.row.id
            self.copies.setdefault(number, []).append(verdict.row)
            if verdict.came_of and number in self.rows:
                self.rows[number] = self.rows[number]._replace(came_of=verdict.came_of)


def with_texts(candidates: BatchCandidates) -> set[int]:
    """The claims whose texts are read: of each document the nearest, as far as it is allowed."""
    claims, wanted, budget = candidates.rows, set[int](), Budget()
    for row in candidates.documents:
        # Those with the same facts first: others are no copies, whatever their texts.
        others = [
            (claims[claim].facts != row.facts, distance or 0, claim)
            for claim, distance in candidates.compared[row.id].items()
            if claim in claims
        ]
        nearest = (claim for *_, claim in sorted(others) if not are_equal(row, claims[claim]))
        budget.is_first = True
        wanted.update(
            claim
            for claim in islice(nearest, NEAREST)
            if budget.allows(row.size + claims[claim].size)
        )
    return wanted


# Of all texts together, with their shingles: hundreds of texts.
_MOST_BYTES = 8 << 20


@dataclass(slots=True)
class _StoredText:
    packed: bytes
    #: Once it was compared.
    shingles: NDArray[np.uint64] | None = None

    @property
    def bytes(self) -> int:
        return len(self.packed) + (0 if self.shingles is None else self.shingles.nbytes)


class _Kept(threading.local):
    """What all caches keep, by cache and claim; each crawl of a process compares in one thread."""

    def __init__(self) -> None:
        #: The least recently used first.
        self.texts: OrderedDict[tuple[Texts, int], _StoredText] = OrderedDict()
        self.bytes = 0


_kept = _Kept()


# A text is compared with several.
_without_state = lru_cache(maxsize=8)(without_state)


def changes_of(new: str, old: str, *, with_state: bool = False) -> Changes:
    """How a text differs from an earlier one; the numbers that tell its state may be left out."""
    changes = Changes.of(new, old)
    if with_state or not changes.touches_numbers:  # as in most copies
        return changes
    rest, old_rest = _without_state(new), _without_state(old)
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
        self._changes = cache(self._compare)

    def missing(self, claims: Iterable[int]) -> list[int]:
        """The claims whose texts are not cached."""
        return [claim for claim in claims if (self, claim) not in _kept.texts]

    def add(self, texts: Mapping[int, bytes]) -> None:
        """Add the compressed texts of claims, by the claims' numbers."""
        for claim, packed in texts.items():
            if len(packed) < _MOST_BYTES:
                _kept.texts[self, claim] = _StoredText(packed)
                _kept.bytes += len(packed)

    def values(self, content: int) -> Mapping[str, str] | None:
        """The short values kept with a text; None if it is not at hand, or damaged."""
        if (document := self.in_batch.get(content)) is not None:
            return document.values
        stored = _kept.texts.get((self, content))
        return None if stored is None else unpack_text(stored.packed)[1]

    def both_values(self, document: Document, claim: int) -> Sequence[Mapping[str, str]]:
        """See `Match.values`."""
        return document.values, self.values(claim) or {}

    def trim(self) -> None:
        """Forget what was compared, and the least recently used texts if there are too many."""
        self._changes.cache_clear()
        self.in_batch = {}
        while _kept.bytes > _MOST_BYTES:
            _kept.bytes -= _kept.texts.popitem(last=False)[1].bytes

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
        if document.text is None or not is_stored:
            return None
        return partial(self._changes, document, claim if other is None else other)

    def _compare(
        self, document: Document, other: Document | int, *, with_state: bool = False
    ) -> Changes | None:
        """How a text differs from that of an earlier document of the batch, or of a claim."""
        if isinstance(other, Document):
            old = other.text
        else:
            old = unpack_text(_kept.texts[self, other].packed)[0]
        changes = (
            None if old is None else changes_of(document.text or "", old, with_state=with_state)
        )
        self._note_work()
        return changes

    def _shingles_of(self, claim: int) -> NDArray[np.uint64] | None:
        if (other := self.in_batch.get(claim)) is not None:
            return other.sketch.shingles
        if (stored := _kept.texts.get((self, claim))) is None:
            return None
        _kept.texts.move_to_end((self, claim))
        # A damaged text counts as not stored.
        if stored.shingles is None and (text := unpack_text(stored.packed)[0]) is not None:
            stored.shingles = shingles = self._scheme.sketch(text).shingles
            _kept.bytes += 0 if shingles is None else shingles.nbytes
            self._note_work()
        return stored.shingles


def decide_batch(
    rule: Rule, texts: Texts, candidates: BatchCandidates, seen: Seen
) -> list[Verdict]:
    """Decide on the documents of a batch in their order, given what was found and sighted.

    Duplicates within the batch: a and b are equal and new. a is unique and claimed; b is compared
    with that claim, though it is not in the table yet, and is a duplicate of a.
    """
    batch, verdicts, budget = candidates.batch, list[Verdict](), Budget()
    pairs = [*zip(candidates.documents, batch.documents, strict=True)]
    texts.in_batch = {row.id: document for row, document in pairs}
    for number, (row, document) in enumerate(pairs):
        if before := batch.known.get(number):
            stands = Match.of(before, row.namespace)
            verdict = Verdict("same", stands, status="unchanged", row=row, before=before)
        else:
            verdict = decide(
                row,
                document.facts,
                matches_of(texts, candidates, seen, row, document),
                rule=rule,
                seen=seen,
                texts=partial(texts.changes, document),
                budget=budget,
            )
            candidates.add(verdict)
        seen.add(sighting_of(verdict, seen, rule))
        verdicts.append(verdict)
    return verdicts


def final(match: Match) -> Match:
    """A match without what only the rule needs: texts, and the copies of its claim."""
    return replace(match, changes=None, values=None, copies=())


def matches_of(
    texts: Texts, candidates: BatchCandidates, seen: Seen, row: ClaimRow, document: Document
) -> list[Match]:
    """A document's matches with the nearest of what it is compared with."""
    rows, found = candidates.rows, dict[int, tuple[ClaimRow, int]]()
    for number, computed in candidates.compared[row.id].items():
        if number in rows:
            # A document that is claimed may have the claim of an earlier visit.
            claim = rows[rows[number].id]
            distance = fingerprint_distance(row, claim) if computed is None else computed
            found.setdefault(claim.id, (claim, distance))
    if not found:
        return []
    near = [*found.values()]
    claims = [claim for claim, _ in near]
    similarities = texts.similarities(document, row, claims)
    likeness = [
        (not is_estimated, -float(distance) if jaccard is None else jaccard)
        for (_, distance), (jaccard, is_estimated) in zip(near, similarities, strict=True)
    ]

    def match(
        claim: ClaimRow, distance: int, similarity: float | None, is_estimated: bool
    ) -> Match:
        return Match(
            *(claim, distance, similarity, is_estimated, texts.bits),
            changes=texts.changes(document, claim.id),
            values=partial(texts.both_values, document, claim.id),
            copies=tuple(candidates.copies.get(claim.id, ())),
        )

    places = nearest(row, claims, likeness, seen.shown(row.identity))
    return [compare(row, match(*near[place], *similarities[place])) for place in places]

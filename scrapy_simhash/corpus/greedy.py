"""Decide on a corpus: one document after another, with the rule of an index.

Each document is compared with the earlier ones that were kept and share a key with it, and
`index.decide.decide` decides what it is. An index that has all texts differs in how those documents
are found: in a database, not by sorting in memory. And it can't return to what it has dropped, once
another thing of the same site has the text too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash import native
from scrapy_simhash.corpus.candidates import Candidates, KeptByKey
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import Sketches
from scrapy_simhash.index.decide import decide, nearest, sharing_sites
from scrapy_simhash.index.rule import compare, fingerprint_distance
from scrapy_simhash.index.verdict import ClaimRow, Match
from scrapy_simhash.index.visits import may_be_one_site
from scrapy_simhash.item.urls import same_site, site
from scrapy_simhash.simhash.measure import hamming

#: The number of documents whose pairs are compared in one call of the core.
STEP = 4096
_CACHED_ROWS = 1 << 14
# Copies of one document and site that the next one is compared with.
_COPIES = 4
#: The slots and keys of a document that many share.
Keys = Sequence[tuple[int, int]]
#: A document, and the similarity of its text if that is known.
Similar = tuple[int, float | None]
# What two documents have in common, and whether one is surely a copy, if that is not known.
_UNKNOWN = -2, 0

_RESULT = np.dtype([("kept", "?"), ("match", "i8"), ("similarity", "f4"), ("differs", "u2")])


@dataclass(frozen=True, slots=True)
class Decisions:
    """Entry i of each array is about document i.

    Attributes:
        kept: bool.
        matches: int64: the document of which this one is a near-duplicate or, if it is kept, whose
            text is similar although they differ; -1 for none.
        similarities: float32: of the two texts; NaN without a match.
        differs: uint16: index in `reasons` of what makes them differ; 0 for nothing.
        reasons: names of facts, after "".
    """

    kept: NDArray[np.bool_]
    matches: NDArray[np.int64]
    similarities: NDArray[np.float32]
    differs: NDArray[np.uint16]
    reasons: list[str]


def decide_corpus(
    sketches: Sketches,
    plan: Plan,
    order: NDArray[np.uint32] | None = None,
    *,
    advance: Callable[[int], None] = lambda place: None,
    reference: int = 0,
) -> Decisions:
    """Decide on a corpus.

    Args:
        sketches: of the documents.
        plan: how they are compared.
        order: their numbers in the order of the decisions; None for ascending.
        advance: called now and then with the number of documents done.
        reference: how many of the first documents are kept, whatever they are.
    """
    order = np.arange(len(sketches), dtype=np.uint32) if order is None else order
    return _Greedy(sketches, plan, order, reference).decide(advance)


class _Copies:
    """Copies of documents of other sites that have facts: they may turn out to be none.

    Attributes:
        known: of each document, by their sites, the copies with their keys.
    """

    def __init__(self) -> None:
        self.known: dict[int, dict[str, dict[int, Keys]]] = {}

    def add(self, mine: ClaimRow, original: ClaimRow, keys: Keys) -> None:
        """Note a copy, if it is such a one."""
        if mine.facts and mine.url and original.url and not same_site(mine.url, original.url):
            of_sites = self.known.setdefault(original.id, {})
            of_sites.setdefault(site(mine.url), {})[mine.id] = keys

    def some(self, original: int, url: str) -> list[int]:
        """Some copies of a document that are of the site of a URL."""
        of_sites = self.known.get(original)
        return list(islice(of_sites.get(site(url), ()), _COPIES)) if of_sites else []

    def take(self, original: ClaimRow, shared: Collection[str]) -> list[tuple[int, Keys]]:
        """Remove and return the copies of a document where it, or they, are of one of the sites."""
        of_sites = self.known.pop(original.id, {})
        is_shared = site(original.url) in shared
        left = {name: of for name, of in of_sites.items() if not (is_shared or name in shared)}
        if left:
            self.known[original.id] = left
        return sorted(pair for name in of_sites.keys() - left for pair in of_sites[name].items())


class _Greedy:
    """Decides on one document after another, each given by its place in the order."""

    def __init__(
        self, sketches: Sketches, plan: Plan, numbers: NDArray[np.uint32], reference: int
    ) -> None:
        self._sketches, self._plan, self._numbers = sketches, plan, numbers
        self._reference = reference
        self._candidates = Candidates.find(sketches, plan, numbers)
        # What a document has in common with each of some others, and whether it is surely a copy.
        self._pairs: dict[int, dict[int, tuple[int, int]]] = {}
        self._results = np.empty(len(numbers), _RESULT)
        self._results[:] = (True, -1, np.nan, 0)
        self._kept = self._results["kept"]
        self._reasons = {"": 0}
        self._least = max(0.0, (plan.rule.threshold or 0.0) - 1e-9)
        self._by_key = KeptByKey(sketches, plan)
        # The latest kept version of each listed item, by its identity.
        self._latest: dict[int, int] = {}
        self._copies = _Copies()
        self._row = lru_cache(_CACHED_ROWS)(lambda place: sketches.row(int(numbers[place]), place))

    def decide(self, advance: Callable[[int], None]) -> Decisions:
        """All decisions."""
        found = self._candidates
        has_some = found.shared.any(axis=1) | found.listed
        has_some[found.pairs[:, 0]] = True
        starts = range(0, len(self._numbers), STEP)
        ends = np.searchsorted(found.pairs[:, 0], [*starts, len(self._numbers)])
        for start, (first, last) in zip(starts, pairwise(ends.tolist()), strict=True):
            self._compare(found.pairs[first:last], start)
            for place in np.flatnonzero(has_some[start : start + STEP]).tolist():
                self._decide(start + place)
            advance(min(len(self._numbers), start + STEP))
        by_number = np.empty_like(self._results)
        by_number[self._numbers] = self._results
        kept, match, similarity, differs = (by_number[name] for name in _RESULT.names or ())
        return Decisions(kept, match, similarity, differs, list(self._reasons))

    def _compare(self, pairs: NDArray[np.uint32], start: int) -> None:
        """Compare the pairs of documents from a place on in the core, if it is there."""
        self._pairs = defaultdict(dict)
        pairs = pairs[(pairs[:, 1] >= start) | self._kept[pairs[:, 1]]]
        for place, other in pairs.tolist():
            self._pairs[place][other] = _UNKNOWN
        if native.core is None or not len(pairs):
            return
        one, other = self._numbers[pairs.T]
        rows = self._sketches.rows
        is_plain = rows["is_text"][one] & rows["is_text"][other]
        is_plain &= hamming(*self._sketches.fingerprints(one, other)) <= self._plan.rule.limit
        are_equal = rows["digest"][one] == rows["digest"][other]
        made = self._sketches.compare(one, other, self._least)
        hashes = rows["hashes"]
        union = hashes[one] + hashes[other] - made[:, 0]
        # Equal sets of shingles may stand in another order, then numbers count.
        surely = is_plain * np.where(are_equal, 2, made[:, 1] * (made[:, 0] < union))
        found = zip(pairs.tolist(), made[:, 0].tolist(), surely.tolist(), strict=True)
        for (place, other), shared, sure in found:
            self._pairs[place][other] = shared, sure

    def _decide(self, place: int) -> None:
        """Decide on the document at a place."""
        number = int(self._numbers[place])
        shared = np.flatnonzero(self._candidates.shared[place]).tolist()
        keys = self._by_key.keys(number, shared) if shared else []
        if place < self._reference:
            self._keep(place, keys)
            return
        candidates = {other for other in self._pairs.get(place, ()) if self._kept[other]}
        if keys:
            candidates.update(self._near(place, keys), self._by_key.equal(keys))
        if self._candidates.listed[place]:
            # Two versions of a listed item are compared even if they share no key.
            latest = self._latest.get(self._row(place).identity)
            candidates.update(() if latest is None else (latest,))
        similar = self._similar(place, sorted(candidates))
        if len(similar) == 1 and self._is_copy(place, similar[0][0]):
            ((other, similarity),) = similar
            self._results[place] = (False, self._numbers[other], similarity, 0)
            return
        if not similar:
            self._keep(place, keys)
            return
        row = self._row(place)
        matches = [self._match(place, row, *pair) for pair in self._nearest(place, row, similar)]
        if any(match.row.id in self._copies.known for match in matches):
            again = self._return_to_copies(row, matches)
            matches += [self._match(place, row, *pair) for pair in self._similar(place, again)]
        original = self._judge(place, row, matches)
        if original is None:
            self._keep(place, keys)
        # A copy that has nothing but its text can't turn out to be none.
        elif self._plan.rule.facts == "auto" and not self._sketches.rows["is_text"][number]:
            self._copies.add(row, original, keys)

    def _is_copy(self, place: int, other: int) -> bool:
        """Whether the core has found that a document is a copy of another one."""
        surely = self._pairs.get(place, {}).get(other, _UNKNOWN)[1]
        if surely != 1:
            return surely > 0
        url, original = (self._sketches.url(n) for n in self._numbers[[place, other]].tolist())
        is_other = self._plan.rule.facts == "auto" and not may_be_one_site(url, original)
        return is_other and not self._copies.some(other, url)

    def _judge(self, place: int, row: ClaimRow, matches: Sequence[Match]) -> ClaimRow | None:
        """Decide on the document at a place; returns what it is a copy of, if it is one."""
        if not matches:
            return None
        facts, rule = self._sketches.facts(row), self._plan.rule
        verdict = decide(row, facts, matches, rule=rule)
        if (match := verdict.match) is None:
            return None
        differs = self._reasons.setdefault(verdict.differs or "", len(self._reasons))
        other, is_kept = self._numbers[match.row.id], verdict.kind != "duplicate"
        self._results[place] = is_kept, other, match.similarity, differs
        return None if is_kept else match.row

    def _return_to_copies(self, row: ClaimRow, matches: Sequence[Match]) -> list[int]:
        """Decide again on copies of other sites, if one of the two has two things of that text.

        Returns those that are kept now.
        """
        shared = sharing_sites(row, self._sketches.facts(row), matches)
        kept = [match.row.id for match in matches]
        # What shows that a site has two things may be later than the copy.
        sharing = (row, *(item for match in matches for item in (*match.copies, match.row)))
        for match in matches if shared else ():
            for place, keys in self._copies.take(match.row, shared):
                copy = self._row(place)
                self._results[place] = (True, -1, np.nan, 0)
                similar = self._similar(place, sorted(other for other in kept if other < place))
                again = [self._match(place, copy, *pair) for pair in similar]
                original = self._judge(place, copy, [replace(one, copies=sharing) for one in again])
                if original is None:
                    self._keep(place, keys)
                    kept.append(place)
                elif shared.isdisjoint({site(copy.url), site(original.url)}):
                    self._copies.add(copy, original, keys)
        return sorted(kept[len(matches) :])

    def _near(self, place: int, keys: Iterable[tuple[int, int]]) -> list[int]:
        """Kept documents with a key of its text and a close enough fingerprint."""
        if not (found := np.array([*self._by_key.under(keys)], np.intp)).size:
            return []
        both = self._sketches.fingerprints(self._numbers[[place]], self._numbers[found])
        near: list[int] = found[hamming(*both) <= self._plan.rule.limit].tolist()
        return near

    def _similar(self, place: int, candidates: list[int]) -> list[Similar]:
        """Those whose text is similar enough, or that may be equal, each with its similarity.

        The similarity of a text without shingles is unknown.
        """
        if not candidates:
            return []
        numbers = self._numbers[[place, *candidates]]
        known = self._pairs.get(place, {})
        shared = np.array([known.get(one, _UNKNOWN)[0] for one in candidates])
        if (unknown := shared == _UNKNOWN[0]).any():
            others = numbers[1:][unknown]
            shared[unknown] = self._sketches.common(numbers[0], others, self._least)
        hashes, wholes = self._sketches.rows["hashes"][numbers], self._sketches.keys[numbers, -1]
        is_known = np.minimum(hashes[0], hashes[1:]) > 0
        chosen = np.flatnonzero((wholes[1:] == wholes[0]) | (shared >= 0) | ~is_known)
        union = hashes[0] + hashes[1:] - shared
        similarities = np.divide(shared, union, where=is_known, out=np.full(len(shared), np.nan))
        return [
            (candidates[turn], similarity if known else None)
            for turn, similarity, known in zip(
                chosen.tolist(),
                similarities[chosen].tolist(),
                is_known[chosen].tolist(),
                strict=True,
            )
        ]

    def _nearest(self, place: int, row: ClaimRow, similar: list[Similar]) -> list[Similar]:
        """The similar documents that may be the original."""
        rows = [self._row(other) for other, _ in similar]
        likeness = [(True, similarity or 0.0) for _, similarity in similar]
        return [similar[chosen] for chosen in nearest(row, rows, likeness)]

    def _match(self, place: int, row: ClaimRow, other: int, jaccard: float | None) -> Match:
        numbers = self._numbers[[place, other]].tolist()
        has_texts = self._sketches.rows["length"][numbers].all()
        original = self._row(other)
        match = Match(
            original,
            fingerprint_distance(row, original),
            jaccard,
            bits=self._plan.scheme.bits,
            changes=partial(self._sketches.changes, *numbers) if has_texts else None,
            values=partial(self._sketches.values, *numbers),
            copies=tuple(map(self._row, self._copies.some(other, row.url))),
        )
        return compare(row, match)

    def _keep(self, place: int, keys: Iterable[tuple[int, int]]) -> None:
        self._by_key.add(keys, place)
        if self._candidates.listed[place]:
            self._latest[self._row(place).identity] = place

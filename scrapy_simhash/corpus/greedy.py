"""Decide on a corpus: one document after another, with the rule of an index.

Each document is compared with the earlier ones that were kept and share a key with it, and
`index.decide.decide` decides what it is. An index that has all texts differs in how those documents
are found: in a database, not by sorting in memory. And it can't return to what it has dropped, once
another thing of the same site has the text too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash import native
from scrapy_simhash.corpus.candidates import KeyTable
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import Sketches
from scrapy_simhash.index.batch import fingerprint_key
from scrapy_simhash.index.decide import decide, sharing_sites
from scrapy_simhash.index.rule import compare
from scrapy_simhash.index.verdict import ClaimRow, Match
from scrapy_simhash.index.visits import may_be_one_site
from scrapy_simhash.item.facts import Facts, without
from scrapy_simhash.item.urls import same_site, site
from scrapy_simhash.keys.plan import HOT_KEY
from scrapy_simhash.simhash.measure import hamming

#: The most documents to decide on together.
STEP = 4096
_CACHED_ROWS = 1 << 14
# Copies of one document and site that the next one is compared with.
_COPIES = 4

# The slots and keys of a document that many share.
_Keys = Sequence[tuple[int, int]]

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
    ignore: Sequence[str] = (),
) -> Decisions:
    """Decide on a corpus at once.

    Args:
        sketches: of the documents.
        plan: how they are compared.
        order: their numbers in the order of the decisions; None for ascending.
        advance: called now and then with the number of documents done.
        reference: how many of the first documents are kept, whatever they are.
        ignore: fields whose facts are not compared.
    """
    order = np.arange(len(sketches), dtype=np.uint32) if order is None else order
    greedy = Greedy(plan, sketches.hashes_of(ignore))
    for start in range(0, len(order), STEP):
        greedy.add(sketches, order[start : start + STEP], reference)
        advance(min(len(order), start + STEP))
    return greedy.decisions()


class Greedy:
    """Decides on one document after another; facts whose names have given hashes are ignored."""

    def __init__(self, plan: Plan, ignored: Collection[int] = ()) -> None:
        self._plan, self._ignored = plan, ignored
        self._candidates = KeyTable(plan)
        self._compared: dict[tuple[int, int], tuple[int, int]] = {}
        self._numbers = np.empty(0, np.uint32)
        self._results = np.empty(0, _RESULT)
        self._reasons = {"": 0}
        self._least = max(0.0, (plan.rule.threshold or 0.0) - 1e-9)
        self._by_key: dict[tuple[int, int], list[int]] = {}
        self._latest: dict[int, tuple[int, ...]] = {}
        self._copies = _Copies()
        self._row = lru_cache(_CACHED_ROWS)(self._read_row)

    def add(self, sketches: Sketches, numbers: NDArray[np.uint32], reference: int = 0) -> None:
        """Decide on further documents.

        Args:
            sketches: of all documents so far.
            numbers: of the next documents in the order of the decisions.
            reference: how many of the first documents of all are kept, whatever they are.
        """
        self._sketches, first = sketches, len(self)
        self._numbers.resize(first + len(numbers), refcheck=False)
        self._results.resize(first + len(numbers), refcheck=False)
        self._numbers[first:], self._results[first:] = numbers, (True, -1, np.nan, 0)
        self._kept = self._results["kept"]
        self._found = self._candidates.add(sketches, self._numbers, first)
        self._compare(first)
        for place in self._found.places:
            self._decide(place, reference)

    def __len__(self) -> int:
        """How many documents were decided on."""
        return len(self._numbers)

    def decisions(self) -> Decisions:
        """All decisions."""
        by_number = np.empty_like(self._results)
        by_number[self._numbers] = self._results
        kept, match, similarity, differs = (by_number[name] for name in _RESULT.names or ())
        return Decisions(kept, match, similarity, differs, list(self._reasons))

    def _compare(self, first: int) -> None:
        """Compare the pairs of documents from a place on in the core, if it is there."""
        self._compared = {}
        pairs = np.array(
            [
                (place, other)
                for place, others in self._found.pairs.items()
                for other in set(others)
                if other >= first or self._kept[other]
            ],
            np.uint32,
        ).reshape(-1, 2)
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
        self._compared = {(a, b): (shared, sure) for (a, b), shared, sure in found}

    def _decide(self, place: int, reference: int) -> None:
        """Decide on the document at a place."""
        rule, rows, keys = self._plan.rule, self._sketches.rows, self._keys(place)
        if place < reference:
            self._keep(place, keys)
            return
        candidates = {other for other in self._found.pairs.get(place, ()) if self._kept[other]}
        if keys:
            candidates.update(self._near(place, keys), self._equal(keys))
        if place in self._found.listed:
            # Two versions of a listed thing are compared even if they share no key.
            candidates.update(self._latest_of(place))
        similar = [*self._similar(place, sorted(candidates))] if candidates else []
        if len(similar) == 1 and self._is_copy(place, similar[0][0]):
            ((other, similarity),) = similar
            self._results[place] = (False, self._numbers[other], similarity, 0)
            return
        if not similar:
            self._keep(place, keys)
            return
        row = self._row(place)
        matches = [self._match(place, row, *pair) for pair in similar]
        if any(match.row.token in self._copies.known for match in matches):
            again = self._return_to_copies(row, matches)
            matches += [self._match(place, row, *pair) for pair in self._similar(place, again)]
        original = self._judge(place, row, matches)
        if original is None:
            self._keep(place, keys)
        elif rule.facts == "auto" and not rows["is_text"][self._numbers[place]]:
            self._copies.add(row, original, keys)

    def _is_copy(self, place: int, other: int) -> bool:
        """Whether the core has found that a document is a copy of another one."""
        surely = self._compared[place, other][1]
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
        (verdict,) = decide([row], [facts], [matches], _none_in_flight, rule=rule, made={})
        if (match := verdict.match) is None:
            return None
        differs = self._reasons.setdefault(verdict.differs or "", len(self._reasons))
        other, is_kept = self._numbers[match.row.token], verdict.kind != "duplicate"
        self._results[place] = is_kept, other, match.similarity, differs
        return None if is_kept else match.row

    def _return_to_copies(self, row: ClaimRow, matches: Sequence[Match]) -> list[int]:
        """Decide again on copies of other sites, if one of the two has two things of that text.

        Returns those that are kept now.
        """
        shared = sharing_sites(row, self._sketches.facts(row), matches)
        kept = [match.row.token for match in matches]
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

    def _keys(self, place: int) -> list[tuple[int, int]]:
        """The slots and keys of a document that many share; see `index.batch.keys_of`.

        If all its bands are hot keys, its fingerprint is one more.
        """
        if not (shared := self._found.shared.get(place, ())):
            return []
        slots, number = self._plan.keys.slots, int(self._numbers[place])
        own = self._sketches.keys[number]
        keys = []
        for slot in shared:
            keys.append(key := (slot, int(own[slot])))
            if key not in self._by_key:
                earlier = self._candidates.earlier(place, slot)
                self._by_key[key] = [other for other in earlier if self._kept[other]][::-1]
        if sum(slot < slots and self._is_hot((slot, key)) for slot, key in keys) == slots:
            fingerprint = self._sketches.rows["fingerprint"][number].tobytes()
            keys.append((slots + 1, fingerprint_key(fingerprint)))
        return keys

    def _is_hot(self, key: tuple[int, int]) -> bool:
        can_be_hot = self._plan.keys.needs_shingles or key[0] >= self._plan.keys.slots
        return can_be_hot and len(self._by_key.get(key, ())) >= HOT_KEY

    def _near(self, place: int, keys: Iterable[tuple[int, int]]) -> list[int]:
        """Kept documents with a key of its text and a close enough fingerprint."""
        plan = self._plan
        under = [
            self._by_key.get((slot, probe), ())
            for slot, key in keys
            if slot < plan.keys.slots
            for probe in (plan.flips[slot] ^ np.int32(key)).tolist()
        ]
        if not (found := np.array([*{*chain(*under)}], np.intp)).size:
            return []
        both = self._sketches.fingerprints(self._numbers[[place]], self._numbers[found])
        near: list[int] = found[hamming(*both) <= plan.rule.limit].tolist()
        return near

    def _equal(self, keys: Iterable[tuple[int, int]]) -> Iterable[int]:
        """Kept documents that may equal it as a whole."""
        for key in keys:
            if key[0] >= self._plan.keys.slots and not self._is_hot(key):
                yield from self._by_key.get(key, ())

    def _similar(self, place: int, candidates: list[int]) -> Iterator[tuple[int, float | None]]:
        """Those whose text is similar enough, or that may be equal, each with its similarity.

        The similarity of a text without shingles is unknown.
        """
        if unknown := [other for other in candidates if (place, other) not in self._compared]:
            number, *others = self._numbers[[place, *unknown]]
            counts = self._sketches.common(number, others, self._least)
            self._compared |= {(place, o): (n, 0) for o, n in zip(unknown, counts, strict=True)}
        numbers = self._numbers[[place, *candidates]]
        size, *sizes = self._sketches.rows["hashes"][numbers].tolist()
        whole, *wholes = self._sketches.keys[numbers, -1].tolist()
        for other, theirs, its in zip(candidates, sizes, wholes, strict=True):
            shared, known = self._compared[place, other][0], size and theirs
            if its == whole or shared >= 0 or not known:
                yield other, shared / (size + theirs - shared) if known else None

    def _match(self, place: int, row: ClaimRow, other: int, jaccard: float | None) -> Match:
        numbers = self._numbers[[place, other]].tolist()
        has_texts = self._sketches.rows["length"][numbers].all()
        return compare(
            row,
            self._row(other),
            self._plan.scheme.bits,
            jaccard=lambda: (jaccard, False),
            changes=partial(self._sketches.changes, *numbers) if has_texts else None,
            copies=tuple(map(self._row, self._copies.some(other, row.url))),
        )

    def _latest_of(self, place: int) -> tuple[int, ...]:
        """The latest kept document that is a version of the same listed thing, if there is one."""
        identity = self._row(place).identity
        if identity not in self._latest:
            earlier = self._candidates.earlier(place, self._plan.keys.slots + 1)
            versions = (
                one for one in earlier if self._kept[one] and self._row(one).identity == identity
            )
            self._latest[identity] = tuple(islice(versions, 1))
        return self._latest[identity]

    def _keep(self, place: int, keys: Iterable[tuple[int, int]]) -> None:
        for key in keys:
            if not self._is_hot(key):
                self._by_key.setdefault(key, []).append(place)
        if place in self._found.listed:
            self._latest[self._row(place).identity] = (place,)

    def _read_row(self, place: int) -> ClaimRow:
        number = int(self._numbers[place])
        row, text = self._sketches.row(number, place), self._sketches.text(number)
        if text and row.facts is not None:
            facts = Facts.unpack(row.facts).with_numbers(text, self._plan.secret)
            row = row._replace(facts=facts.packed())
        if self._ignored and row.facts:
            row = row._replace(facts=without(row.facts, self._ignored))
        return row


class _Copies:
    """Copies of documents of other sites that have facts: they may turn out to be none.

    Attributes:
        known: of each document, by their sites, the copies with their keys.
    """

    def __init__(self) -> None:
        self.known: dict[int, dict[str, dict[int, _Keys]]] = {}

    def add(self, mine: ClaimRow, original: ClaimRow, keys: _Keys) -> None:
        """Note a copy, if it is such a one."""
        if mine.facts and mine.url and original.url and not same_site(mine.url, original.url):
            of_sites = self.known.setdefault(original.token, {})
            of_sites.setdefault(site(mine.url), {})[mine.token] = keys

    def some(self, original: int, url: str) -> list[int]:
        """Some copies of a document that are of the site of a URL."""
        of_sites = self.known.get(original)
        return list(islice(of_sites.get(site(url), ()), _COPIES)) if of_sites else []

    def take(self, original: ClaimRow, shared: Collection[str]) -> list[tuple[int, _Keys]]:
        """Remove and return the copies of a document where it, or they, are of one of the sites."""
        of_sites = self.known.pop(original.token, {})
        is_shared = site(original.url) in shared
        left = {name: of for name, of in of_sites.items() if not (is_shared or name in shared)}
        if left:
            self.known[original.token] = left
        return sorted(pair for name in of_sites.keys() - left for pair in of_sites[name].items())


def _none_in_flight(_number: int, _claimed: Mapping[int, ClaimRow]) -> Sequence[Match]:
    """No in-flight duplicates: documents come one at a time."""
    return ()

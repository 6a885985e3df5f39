"""Decides again on stored documents, at other thresholds."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import EXACT
from scrapy_simhash.features.changes import Changes
from scrapy_simhash.features.hashes import similarity_of
from scrapy_simhash.history.documents import Documents
from scrapy_simhash.history.pages import read_texts
from scrapy_simhash.history.query import NamespaceRow
from scrapy_simhash.index.decide import decide, stands_for
from scrapy_simhash.index.learned import LearnedField
from scrapy_simhash.index.rule import Met, Rule
from scrapy_simhash.index.similarity_cache import changes_of
from scrapy_simhash.index.verdict import Row
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.urls import host_of
from scrapy_simhash.simhash.measure import SIMILARITIES, candidate_limit, hamming, jaccard
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.text.markup import PAGE_FACTS

# The numbers of two documents; their similarity, None if unknown, and whether it is an estimate.
Pair = tuple[int, int]
Known = tuple[float | None, bool]


# Documents decided on at a time, as in a batch of the index; bounds the memory.
_BATCH = 32

# Stored documents that one is compared with at most; its own versions and equal facts come first.
_MOST = 32

# An estimate may be off by this much: its standard error is at most .03.
_ERROR = 0.15

# Shingles that are cached, of all texts together (32 MiB); pairs whose texts are read at once.
_MOST_SHINGLES, _PAIRS = 4 << 20, 64

#: Names that the rule treats specially; the index stores only hashes of names.
_PAGE_FACTS = {name_of(name).key: name for name in PAGE_FACTS}


class Level(NamedTuple):
    """A value of the setting to try; `similarity` is None where the distance alone decides."""

    threshold: str
    limit: int
    similarity: float | None = None


def levels(rule: Rule, bits: int) -> tuple[list[Level], int]:
    """The thresholds to try, the loosest first, and the position of the present one."""
    if rule.similarity is not None:
        tried = sorted({*SIMILARITIES, rule.similarity})
        named = [Level(f"{one:g}", candidate_limit(one), one) for one in tried]
        return named, tried.index(rule.similarity)
    around = range(min(rule.limit + 4, bits // 2), max(rule.limit - 4, 0) - 1, -1)
    return [Level(str(one), one) for one in around], around.index(rule.limit)


class Similarities:
    """Similarities of stored documents: true where both texts are kept, estimated elsewhere.

    Estimates far below the least similarity that matters are not checked.
    """

    def __init__(
        self,
        database: Database,
        namespace: NamespaceRow,
        scheme: Scheme,
        documents: Documents,
        least: float = 0.0,
    ) -> None:
        self._database = database
        self._namespace = namespace
        self._scheme = scheme
        self._documents = documents
        self._least = least - _ERROR
        # The least recently used first. None for a text that is not kept.
        self._shingles: OrderedDict[int, NDArray[np.uint64] | None] = OrderedDict()
        self._held = 0
        self._changes: dict[Pair, Changes | None] = {}

    def __call__(self, pairs: Iterable[Pair]) -> dict[Pair, Known]:
        """The similarity of each pair."""
        self._changes.clear()
        found = {pair: self._estimate(*pair) for pair in pairs}
        unsure = sorted(
            pair
            for pair, (similarity, is_estimate) in found.items()
            if is_estimate and similarity is not None and similarity >= self._least
        )
        for start in range(0, len(unsure), _PAIRS):
            part = unsure[start : start + _PAIRS]
            self._read({number for pair in part for number in pair})
            for pair in part:
                a, b = (self._shingles[number] for number in pair)
                if a is not None and b is not None:
                    found[pair] = (jaccard(a, b), False)
            while self._held > _MOST_SHINGLES:
                self._held -= _size(self._shingles.popitem(last=False)[1])
        return found

    def changes(self, number: int, other: int) -> Changes | None:
        """How the text of a document differs from that of an earlier one; None if not kept."""
        pair = number, other
        if pair not in self._changes:
            places = [self._documents.places[one] for one in pair]
            texts = read_texts(self._database, self._namespace, places)
            new, old = map(texts.get, places)
            self._changes[pair] = None if new is None or old is None else changes_of(new, old)
        return self._changes[pair]

    def _estimate(self, one: int, other: int) -> Known:
        a, b = self._documents.rows[one], self._documents.rows[other]
        if a.minhash is None or b.minhash is None:
            return None, False
        if (a.minhash, a.fingerprint, a.size) == (b.minhash, b.fingerprint, b.size):
            return 1.0, False
        return similarity_of(a.minhash, b.minhash), True

    def _read(self, numbers: set[int]) -> None:
        """Cache the shingles of these documents."""
        for number in numbers & self._shingles.keys():
            self._shingles.move_to_end(number)
        unknown = {n: self._documents.places[n] for n in numbers - self._shingles.keys()}
        texts = read_texts(self._database, self._namespace, unknown.values())
        for number, place in unknown.items():
            text = texts.get(place)
            shingles = None if text is None else self._scheme.sketch(text).shingles
            self._shingles[number] = shingles
            self._held += _size(shingles)


def _size(shingles: NDArray[np.uint64] | None) -> int:
    return 1 if shingles is None else shingles.size


def replay(
    documents: Documents,
    tried: Sequence[Level],
    measure: Callable[[Iterable[Pair]], Mapping[Pair, Known]],
    rule: Rule,
    changes: Callable[[int, int], Changes | None] = lambda number, other: None,
    *,
    learned: Sequence[LearnedField] = (),
    advance: Callable[[int], None] = lambda count: None,
) -> list[Replay]:
    """Decide on the documents again, in their order, at each level.

    The rule and the batches are those of the index. But each document is compared with all that
    were stored before it, so this finds near-duplicates that the keys of an index may miss.

    `changes` returns how the text of a document differs from that of an earlier one, `advance` is
    called with the number of documents done.
    """
    rows = documents.rows
    ignored = _ignored(documents, learned)
    replays = [Replay(len(rows), level, rule, changes, ignored) for level in tried]
    columns = _Columns.of(rows)
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        stored = np.any([one.stored[:start] for one in replays], axis=0)
        near = _near(columns, start, len(batch), np.flatnonzero(stored), tried)
        chosen = [one.choose(near, start) for one in replays]
        similarities: Mapping[Pair, Known] = {}
        if any(level.similarity is not None for level in tried):
            similarities = measure({(one, other) for pairs in chosen for one, other, _ in pairs})
        facts = [_facts(row) for row in batch]
        for one, pairs in zip(replays, chosen, strict=True):
            one.decide(rows, start, facts, pairs, similarities)
        advance(len(batch))
    return replays


def _facts(row: Row) -> Facts | None:
    """The facts of a document, with the names that matter."""
    if row.facts is None or row.compared_by == EXACT:
        return None
    return Facts(Facts.unpack(row.facts).records, _PAGE_FACTS)


def _ignored(
    documents: Documents, learned: Sequence[LearnedField]
) -> Callable[[Row], Collection[int]]:
    """Returns the fields that were not compared when a document was decided on."""
    # Of a duplicate, only the number of the next claim is known.
    numbers: list[float] = [math.inf]
    for claim, duplicate in reversed(documents.places):
        numbers.append(numbers[-1] if duplicate else claim)
    numbers.reverse()
    of_hosts: dict[str, list[LearnedField]] = {}
    for one in learned:
        of_hosts.setdefault(one.host, []).append(one)

    def ignored(document: Row) -> Collection[int]:
        number, here = numbers[document.id - 1], of_hosts.get(host_of(document.url) or "", ())
        return {one.field for one in here if one.since is not None and one.since < number}

    return ignored


class _Columns(NamedTuple):
    """Columns that tell which pairs are worth comparing."""

    fingerprints: NDArray[np.uint8]
    identities: NDArray[np.int64]
    facts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _Columns:
        packed = np.frombuffer(b"".join(row.fingerprint for row in rows), np.uint8)
        return cls(
            packed.reshape(len(rows), -1) if rows else packed.reshape(0, 1),
            np.array([row.identity for row in rows], np.int64),
            np.array([hash(row.facts) for row in rows], np.int64),
        )


def _near(
    columns: _Columns, start: int, count: int, before: NDArray[np.intp], tried: Sequence[Level]
) -> NDArray[np.int64]:
    """The pairs that the loosest level would compare, for each document by their importance.

    Three rows: documents of the batch, earlier ones, distances.
    """
    candidates = np.append(before, np.arange(start, start + count))
    prints = columns.fingerprints
    apart = hamming(prints[start : start + count, None], prints[None, candidates])
    places, others = np.nonzero(apart <= max(level.limit for level in tried))
    pairs = np.array([places + start, candidates[others], apart[places, others]], np.int64)
    documents, others, distances = pairs = pairs[:, pairs[1] < pairs[0]]
    importance = np.where(columns.facts[documents] == columns.facts[others], 1, 2)
    importance[columns.identities[documents] == columns.identities[others]] = 0
    return pairs[:, np.lexsort((distances, importance, documents))]


class Replay:
    """What one level decides.

    Later documents are compared with those stored; `matches` has, by its number, what a dropped one
    is a duplicate of.
    """

    def __init__(
        self,
        count: int,
        level: Level,
        rule: Rule,
        changes: Callable[[int, int], Changes | None],
        ignored: Callable[[Row], Collection[int]],
    ) -> None:
        self.kept = np.zeros(count, bool)
        self.stored = np.zeros(count, bool)
        self.matches: dict[int, Met] = {}
        self._find_changes, self._ignored = changes, ignored
        self._rule = Rule(level.limit, level.similarity, rule.facts)
        # Stored rows that stand for a later document by now.
        self._taken: dict[int, Row] = {}

    def choose(self, near: NDArray[np.int64], start: int) -> list[list[int]]:
        """The pairs to decide by: document, earlier one, distance."""
        documents, others, distances = near
        is_old = others < start
        wanted = (distances <= self._rule.limit) & (self.stored[others] | ~is_old)
        old = np.flatnonzero(wanted & is_old)
        # How many pairs of the same document come before each.
        place = np.arange(len(old)) - np.searchsorted(documents[old], documents[old])
        chosen = np.append(old[place < _MOST], np.flatnonzero(wanted & ~is_old))
        pairs: list[list[int]] = near[:, chosen].T.tolist()
        return pairs

    def decide(
        self,
        rows: Sequence[Row],
        start: int,
        facts: Sequence[Facts | None],
        pairs: Iterable[Sequence[int]],
        similarities: Mapping[Pair, Known],
    ) -> None:
        """Decide on the documents from `start`, whose facts are given."""
        batch = rows[start : start + len(facts)]
        met: list[list[Met]] = [[] for _ in batch]
        in_batch: list[list[tuple[int, Met]]] = [[] for _ in batch]
        for number, other, distance in pairs:
            known = similarities.get((number, other), (None, False))
            claim = self._taken.get(other, rows[other])
            one = Met(distance, *known, claim, partial(self._find_changes, number, other))
            if other < start:
                met[number - start].append(one)
            else:
                in_batch[number - start].append((other - start, one))
        decisions = decide(
            batch,
            facts,
            met,
            lambda number, standing: [one for other, one in in_batch[number] if other in standing],
            rule=self._rule,
            made={},
            learned=self._ignored,
        )
        for number, (row, (kind, match, claims, *_)) in enumerate(
            zip(batch, decisions, strict=True), start
        ):
            self.stored[number] = claims
            self.kept[number] = kind != "duplicate"
            if match is not None and kind == "same":
                self._taken[match.claim.id - 1] = stands_for(match.claim, row)
            elif match is not None and kind == "duplicate":
                self.matches[number] = match

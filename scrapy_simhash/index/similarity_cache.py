"""Compares texts with stored ones: exactly if the text is at hand, otherwise by an estimate."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.features.changes import Changes
from scrapy_simhash.features.shingles import similarities_of
from scrapy_simhash.item.state import without_state
from scrapy_simhash.simhash.measure import jaccards
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.text.packed import unpack_text

if TYPE_CHECKING:
    from scrapy_simhash.index.verdict import ClaimRow, Document

# Of all texts together, with their shingles: hundreds of texts.
_MOST_BYTES = 8 << 20


class _Kept(threading.local):
    """What all caches keep, by cache and claim; each crawl of a process compares in one thread."""

    def __init__(self) -> None:
        #: Compressed texts, the least recently used first; shingles of those that were compared.
        self.texts: OrderedDict[tuple[SimilarityCache, int], bytes] = OrderedDict()
        self.shingles: dict[tuple[SimilarityCache, int], NDArray[np.uint64] | None] = {}
        self.bytes = 0


_kept = _Kept()


def changes_of(new: str, old: str, *, with_state: bool = False) -> Changes:
    """How a text differs from an earlier one; the numbers that tell its state may be left out."""
    changes = Changes.of(new, old)
    if with_state or not changes.touches_numbers:  # as in most copies
        return changes
    rest, old_rest = without_state(new), without_state(old)
    return changes if rest is new and old_rest is old else Changes.of(rest, old_rest)


class SimilarityCache:
    """Compares documents with the texts of the claims of a namespace, and keeps these for a while.

    What takes long is cached until :meth:`trim`, as a batch may be decided on twice; `note_work` is
    called after each text that was read, and after each that was compared word by word.
    """

    def __init__(self, scheme: Scheme, note_work: Callable[[], None]) -> None:
        self._scheme, self._note_work = scheme, note_work
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

    def trim(self) -> None:
        """Forget what was compared, and the least recently used texts if there are too many."""
        self._changes.clear()
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
        if shingles is None or row.minhash is None:
            return [(None, False)] * len(claims)
        found: list[tuple[float | None, bool]] = [(None, False)] * len(claims)
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

    def changes(
        self, document: Document, claim: int, *, with_state: bool = False
    ) -> Changes | None:
        """How a document's text differs from that of a claim, which is cached.

        None if the claim's text is damaged.
        """
        pair = document.token, claim, with_state
        return self._changes_of(pair, document, lambda: unpack_text(_kept.texts[self, claim])[0])

    def changes_in_batch(
        self, document: Document, earlier: Document, *, with_state: bool = False
    ) -> Changes | None:
        """How a document's text differs from that of an earlier document of its batch."""
        return self._changes_of(
            (document.token, earlier.token, with_state), document, lambda: earlier.text
        )

    def _changes_of(
        self, pair: tuple[int, int, bool], document: Document, read: Callable[[], str | None]
    ) -> Changes | None:
        if pair not in self._changes:
            new, old = cast("str", document.text), read()
            self._changes[pair] = None if old is None else changes_of(new, old, with_state=pair[2])
            self._note_work()
        return self._changes[pair]

    def _shingles_of(self, claim: int) -> NDArray[np.uint64] | None:
        key = self, claim
        if (packed := _kept.texts.get(key)) is None:
            return None
        _kept.texts.move_to_end(key)
        if key not in _kept.shingles:
            # A damaged text counts as not stored.
            text, _ = unpack_text(packed)
            shingles = None if text is None else self._scheme.sketch(text).shingles
            _kept.shingles[key] = shingles
            _kept.bytes += 0 if shingles is None else shingles.nbytes
            self._note_work()
        return _kept.shingles[key]

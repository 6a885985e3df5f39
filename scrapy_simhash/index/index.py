"""The index: claims on fingerprints, made and looked up in SQL.

A claim holds a fingerprint for its owner. It is *pending* until what it stands for is stored, then
*confirmed*; or it is *released*, as if it had never been made. Candidates come from key rows, the
judge is always the Hamming distance of the whole fingerprints, computed here and not in SQL.
"""

from __future__ import annotations

import logging
import time
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import Integer, bindparam, func, insert, literal_column, select, union_all
from sqlalchemy.exc import IntegrityError

from scrapy_simhash.db import schema
from scrapy_simhash.db.engine import check_url
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.schema import CONFIRMED, PENDING
from scrapy_simhash.db.statements import CompiledStatement, is_in, list_parameter
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import IndexUnavailable, SchemeMismatch
from scrapy_simhash.index.runs import HEARTBEAT, Run
from scrapy_simhash.index.verdict import Claim, Document, Match, Verdict
from scrapy_simhash.index.writer import KeyRow, Writer
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.blocks import Blocks, blocks_for
from scrapy_simhash.keys.plan import choose_keys, choose_limits, load_keys
from scrapy_simhash.simhash.measure import FEW_FEATURES, similarity_at
from scrapy_simhash.simhash.scheme import Sketch, load_scheme

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import Any, Literal, Self

    from numpy.typing import NDArray
    from sqlalchemy import ColumnElement, Connection, Select
    from sqlalchemy.engine import URL

    from scrapy_simhash.db.lock import LockedNamespace
    from scrapy_simhash.index.verdict import Duplicate
    from scrapy_simhash.simhash.scheme import Scheme

__all__ = ["BATCH", "CROWD", "Index", "LookupCounts"]

logger = logging.getLogger(__name__)

#: As many documents share one transaction at most: more would make the others wait too long.
BATCH = 64

#: A band that as many claims share says little: no more are stored under it, or a template that is
#: in every page of a site would make every claim read all of them.
CROWD = 100

# A plan is called unfit after so many claims that met so many times as many candidates as planned.
_ENOUGH_CLAIMS, _TOO_MANY = 1000, 3.0

# Fewer candidates than that cost next to nothing.
_FEW_CANDIDATES = 100.0

# Bands that find a smaller share of what is asked for are worth a warning.
_LEAST_RECALL = 0.95


@dataclass(slots=True)
class LookupCounts:
    """What an index has met since it was opened; a transaction that is repeated counts again.

    Attributes:
        claims: documents that were looked up.
        candidates: claims that they were compared with.
        crowded: documents some of whose bands were crowded and did not get them. They are found by
            the others, a little less surely.
        exact_only: documents all of whose bands were crowded: nothing but a document with the very
            same fingerprint is found to be a duplicate of theirs.
    """

    claims: int = 0
    candidates: int = 0
    crowded: int = 0
    exact_only: int = 0


class _Candidates(NamedTuple):
    documents: NDArray[np.intp]
    claims: NDArray[np.int64]
    distances: NDArray[np.int64]
    crowded: frozenset[KeyRow] = frozenset()


_NO_CANDIDATES = _Candidates(np.empty(0, np.intp), *(np.empty(0, np.int64),) * 2)


class _PlanChanged(Exception):
    """The keys of the namespace were made anew by somebody else."""

    def __init__(self, held: LockedNamespace) -> None:
        super().__init__(held.plan)
        self.held = held


class Index:
    """The claims of one namespace.

    Args:
        database: an SQLAlchemy URL, or a :class:`Database` that several indexes share.
        namespace: claims are compared only inside one.
        similarity: Jaccard similarity of the features from which two documents are
            near-duplicates, 0.7 to 1.
        distance: instead, the Hamming distance up to which they are.
        candidates: "bands", "blocks", or "auto": bands where the scheme has shingles and a
            similarity is asked for, blocks otherwise.
        scheme: name or import path of the scheme, or a scheme.
        scheme_options: options for a scheme given by name.
        same_url: "pass" claims a changed version of an owner's own document, "drop" only one that
            is no near-duplicate of its newest version.
        engine_options: for :func:`sqlalchemy.create_engine`.
        timeout: seconds until a call gives up.
        run: the run whose claims these are; one of its own, closed with the index, by default.
        text_budget: bytes of compressed text kept in the namespace; 0 keeps none.
        item_budget: bytes of dropped items kept in the namespace.
        expected_size: how many documents there will be, to choose the keys of a new namespace by;
            one that exists keeps those it has.

    Attributes:
        counts: what was met so far.

    Raises:
        ValueError: an argument is out of its range, or the URL can't be read.
        SchemeMismatch: the namespace was made with another scheme or other keys.
        IndexUnavailable: the database does not answer.
    """

    def __init__(
        self,
        database: str | URL | Database,
        *,
        namespace: str = "default",
        similarity: float = 0.9,
        distance: int | None = None,
        candidates: Literal["auto", "bands", "blocks"] = "auto",
        scheme: str | Scheme = "shingles",
        scheme_options: Mapping[str, Any] | None = None,
        same_url: Literal["pass", "drop"] = "pass",
        engine_options: Mapping[str, Any] | None = None,
        timeout: float = 10.0,
        run: Run | None = None,
        text_budget: int = 256 << 20,
        item_budget: int = 1 << 30,
        expected_size: int = 1_000_000,
    ) -> None:
        self.scheme = load_scheme(scheme, scheme_options) if isinstance(scheme, str) else scheme
        self.keys = choose_keys(
            self.scheme,
            similarity,
            distance,
            candidates,
            expected_size=expected_size,
            engine=database.dialect if isinstance(database, Database) else _engine_of(database),
        )
        if not 0 < len(namespace) <= 255:
            raise ValueError(f"namespace {namespace!r}: allowed are 1 to 255 characters")
        self.namespace = namespace
        self._limit_of_64, self.limit = choose_limits(self.scheme, similarity, distance)
        self._similarity = similarity
        self.counts = LookupCounts()
        self._expected_size = expected_size
        self._radius = 0
        self._planned = np.inf
        self.same_url = same_url
        self.text_budget = text_budget
        self.item_budget = item_budget
        self._bytes = -(-self.scheme.bits // 8)
        self._owns_database = not isinstance(database, Database)
        self.database = (
            database
            if isinstance(database, Database)
            else Database(database, options=engine_options, timeout=timeout)
        )
        try:
            self._use(self.keys, 0)
            self.id = self._open_namespace()
        except BaseException:
            if self._owns_database:
                self.database.close()
            raise
        self._run = run
        self._owns_run = run is None
        self._next_beat = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of claims, pending and confirmed."""
        size = self.database.read(
            lambda connection: connection.scalar(
                select(schema.namespaces.c.size).where(schema.namespaces.c.id == self.id)
            )
        )
        return size or 0

    def close(self) -> None:
        """Close what the index opened itself: its run, settling it, and its database."""
        try:
            if self._owns_run and self._run is not None:
                self._run.close(settled=True, reason="closed")
        finally:
            if self._owns_database:
                self.database.close()

    def radius(self, blocks: Blocks) -> int:
        """The distance on the bits of these blocks within which they have to miss nothing."""
        return self._limit_of_64 if blocks.bits <= 64 else self.limit

    def best_blocks(self) -> Blocks:
        """The blocks that would cost least for the present number of claims.

        Raises:
            ValueError: every plan takes too many lookups.
        """
        bits = 64 if self._limit_of_64 != self.limit else self.scheme.bits
        size = max(1, len(self))
        return blocks_for(bits, self._limit_of_64, size, self.database.dialect)

    @property
    def run(self) -> Run:
        """The run that makes the claims."""
        if self._run is None:
            self._run = Run.open(self.database)
        return self._run

    # Claims

    def claim(
        self,
        content: str | int | None,
        *,
        key: str,
        url: str = "",
    ) -> Verdict:
        """Claim a text, or a bare fingerprint, for an owner.

        Args:
            content: a text; or a fingerprint, which needs an index with exact blocks; None is
                what a text without a fingerprint has.
            key: the owner key.
            url: where it was found.

        Raises:
            TypeError: a bare fingerprint where the index has bands.
            ValueError: a fingerprint that is negative or wider than the scheme's.
            IndexUnavailable: the database did not answer in time; nothing was claimed, or what
                was claimed is released when this run is recovered.
        """
        return self.execute(claims=[self.document(content, key=key, url=url)])[0]

    def claim_many(self, documents: Iterable[Mapping[str, Any]]) -> list[Verdict]:
        """Claim many documents, in order: the first of a group of twins gets the claim.

        Args:
            documents: mappings with "text" or "fingerprint", "key" and, if known, "url".

        Returns:
            a verdict for each, in the same order.

        Raises:
            KeyError, TypeError, ValueError, IndexUnavailable: see :meth:`claim`. Documents are
                claimed 64 at a time; those before the one that failed stay claimed.
        """
        prepared = [
            self.document(
                given["text"] if "text" in given else given["fingerprint"],
                key=given["key"],
                url=given.get("url", ""),
            )
            for given in documents
        ]
        return [
            verdict
            for start in range(0, len(prepared), BATCH)
            for verdict in self.execute(claims=prepared[start : start + BATCH])
        ]

    def confirm(self, *verdicts: Verdict) -> None:
        """What these verdicts claimed is stored."""
        self.execute(confirm=[verdict.claim for verdict in verdicts if verdict.claim])

    def release(self, *verdicts: Verdict) -> None:
        """What these verdicts claimed was not stored: nobody is its duplicate any more."""
        self.execute(release=[verdict.claim for verdict in verdicts if verdict.claim])

    def document(
        self, content: str | int | None, *, key: str, url: str = "", **more: Any
    ) -> Document:
        """Prepare a text or a fingerprint for :meth:`execute`; raises as :meth:`claim` does."""
        if isinstance(content, str):
            return Document(self.scheme.sketch(content), key, url, text=content, **more)
        return Document(self._bare(content), key, url, **more)

    def _bare(self, fingerprint: int | None) -> Sketch:
        if fingerprint is None:
            return Sketch(None, 0, None)
        if not isinstance(fingerprint, int):
            raise TypeError(f"a text or a fingerprint is wanted, not {fingerprint!r}")
        if self.keys.needs_shingles:
            raise TypeError(
                "this index finds its candidates by min-wise bands, which are made of a text's "
                "shingles: give the text, or open the index with candidates='blocks'"
            )
        if not 0 <= fingerprint < 1 << self.scheme.bits:
            raise ValueError(
                f"fingerprint {fingerprint:#x}: allowed is 0 to 2**{self.scheme.bits} - 1, the "
                f"width of {self.scheme.id!r}"
            )
        # Nothing is known of its features: as many as it takes to be compared by distance.
        return Sketch(fingerprint, FEW_FEATURES, None)

    def nearest(self, content: str | int, limit: int = 5) -> list[Match]:
        """The nearest claims that the keys lead to, whether near enough to be duplicates or not.

        With exact blocks none within the index's distance is missed; farther ones come as the keys
        happen to meet. Takes no lock and claims nothing.

        Raises:
            TypeError, ValueError, IndexUnavailable: as :meth:`claim`.
        """
        document = self.document(content, key="")
        document.text = None
        if document.sketch.fingerprint is None:
            return []

        def look_up(connection: Connection) -> list[Match]:
            row = connection.execute(
                select(schema.namespaces).where(schema.namespaces.c.id == self.id)
            ).one_or_none()
            if row is not None and (row.plan, row.first_slot) != (self.keys.id, self._first_slot):
                self._use(load_keys(row.plan), row.first_slot)
            work = self._batch([document], run=0)
            found = self._candidates(connection, work)
            order = np.argsort(found.distances, kind="stable")[:limit]
            rows = self._details(connection, found.claims[order])
            return [
                self._match(rows[claim], int(distance))
                for claim, distance in zip(
                    found.claims[order].tolist(), found.distances[order], strict=True
                )
                if claim in rows
            ]

        return self.database.read(look_up)

    def execute(
        self,
        claims: Sequence[Document] = (),
        confirm: Sequence[Claim] = (),
        release: Sequence[Claim] = (),
        duplicates: Sequence[Duplicate] = (),
    ) -> list[Verdict]:
        """Do all of this in one transaction, in this order: release, confirm, claim, remember.

        Returns:
            the verdicts on `claims`, in their order.

        Raises:
            IndexUnavailable: nothing of it is known to have been done.
        """
        wanted = [document for document in claims if document.sketch.fingerprint is not None]
        verdicts: list[Verdict] = []

        def write(work: _Batch, connection: Connection, retried: bool) -> list[Verdict]:
            held = self._lock(connection, len(wanted))
            writer = Writer(connection, self.id, held)
            if release:
                writer.forget([_packed(claim.row) for claim in release], orphaned=True)
            if confirm:
                writer.confirm([claim.row for claim in confirm])
            decided = self._claim(connection, writer, work, held, retried) if wanted else []
            if duplicates:
                writer.remember(self._rows(duplicates, work.run), retried=retried)
            writer.book(self.text_budget, self.item_budget)
            return decided

        if wanted or confirm or release or duplicates:
            try:
                verdicts = self.database.transact(partial(write, self._batch(wanted, self.run.id)))
            except _PlanChanged as change:
                self._use(load_keys(change.held.plan), change.held.first_slot)
                return self.execute(claims, confirm, release, duplicates)
            self._after(len(wanted))
        answers = iter(verdicts)
        return [
            Verdict("skipped", reason="no_text")
            if document.sketch.fingerprint is None
            else next(answers)
            for document in claims
        ]

    def _after(self, claims: int) -> None:
        """What is not part of the transaction: signs of life, and a look at the cost."""
        if self._owns_run and time.monotonic() > self._next_beat:
            self._next_beat = time.monotonic() + HEARTBEAT
            self.run.beat()
        self.counts.claims += claims
        if self.counts.claims >= _ENOUGH_CLAIMS and self._planned < self.counts.candidates / (
            _TOO_MANY * self.counts.claims
        ):
            logger.warning(
                "Namespace %r: a claim is compared with %.0f candidates where %.0f were planned. "
                "There are more documents than expected, or they are much alike: the keys can be "
                "made anew for more of them (scrapy simhash rebuild)",
                self.namespace,
                self.counts.candidates / self.counts.claims,
                self._planned,
            )
            self._planned = np.inf

    # Looking up

    def _lock(self, connection: Connection, new_claims: int) -> LockedNamespace:
        held = lock(connection, self.id, new_claims)
        if (held.plan, held.first_slot) != (self.keys.id, self._first_slot):
            raise _PlanChanged(held)
        return held

    def _batch(self, documents: Sequence[Document], run: int) -> _Batch:
        """Everything about documents that can be done before the lock is taken."""
        fingerprints = self._fingerprints(documents)
        keys = [self.keys.keys(document.sketch) for document in documents]
        rows = [
            _Row(
                namespace=self.id,
                id=0,
                owner=document.owner,
                position=document.position,
                visit=document.visit,
                run=run,
                state=PENDING,
                fingerprint=fingerprint.tobytes(),
                size=document.sketch.size,
                nearest=None,
                created=0.0,
                seen=0.0,
                key=_clean(document.key),
                url=_clean(document.url),
                packed_keys=own.astype("<i4").tobytes() if self.keys.needs_shingles else None,
            )
            for document, fingerprint, own in zip(documents, fingerprints, keys, strict=True)
        ]
        # A batch is small enough to compare each with each.
        among_us = np.bitwise_count(fingerprints[:, None, :] ^ fingerprints[None, :, :]).sum(
            axis=2, dtype=np.int64
        )
        twins: list[list[tuple[int, int]]] = [[] for _ in documents]
        for number, other in np.argwhere(np.tril(among_us <= self.limit, -1)).tolist():
            twins[number].append((int(among_us[number, other]), other))
        texts = [self._compress(document.text) for document in documents]
        return _Batch(documents, fingerprints, keys, *self._probes(keys), rows, twins, texts, run)

    def _fingerprints(self, documents: Sequence[Document]) -> NDArray[np.uint8]:
        packed = b"".join(
            document.sketch.fingerprint.to_bytes(self._bytes, "big")
            for document in documents
            if document.sketch.fingerprint is not None
        )
        return np.frombuffer(packed, np.uint8).reshape(-1, self._bytes)

    def _candidates(self, connection: Connection, work: _Batch) -> _Candidates:
        """Every claim that a key of the batch leads to, with its distance; a pair once."""
        asked, owner = work.asked, work.owner
        hits = self._hits(connection, asked, range(self.keys.slots))
        crowded = frozenset[KeyRow]()
        if self.keys.needs_shingles and len(hits) >= CROWD:
            met, count = np.unique(hits[:, 0], return_counts=True)
            crowded = frozenset(_key_row(number) for number in met[count >= CROWD].tolist())
            alone = [
                number
                for number, keys in enumerate(work.keys)
                if crowded.issuperset(map(KeyRow._make, enumerate(keys.tolist())))
            ]
            if alone:
                # These may stand under their fingerprint.
                last = self.keys.slots
                exact = _slotted(last, np.array([_exact(work, number) for number in alone]))
                order = np.argsort(exact)
                asked = np.concatenate([asked, exact[order]])
                owner = np.concatenate([owner, np.array(alone)[order]])
                hits = np.concatenate([hits, self._hits(connection, exact, range(last, last + 1))])
        if not len(hits):
            return _NO_CANDIDATES
        left = np.searchsorted(asked, hits[:, 0], "left")
        count = np.searchsorted(asked, hits[:, 0], "right") - left
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        pairs = np.stack(
            [owner[np.repeat(left, count) + within], np.repeat(hits[:, 1], count)], axis=1
        )
        pairs = np.unique(pairs, axis=0)
        ids, place = np.unique(pairs[:, 1], return_inverse=True)
        parameters = {
            "namespace": self.id,
            "ids": list_parameter(self.database.dialect, ids.tolist()),
        }
        rows = self._statements.fingerprints.run(connection, parameters).fetchall()
        stored: dict[int, bytes] = {row.id: row.fingerprint for row in rows}
        if len(stored) < len(ids):
            # Whoever only reads holds no lock: a claim may go between the two queries.
            pairs = pairs[np.isin(pairs[:, 1], list(stored))]
            ids, place = np.unique(pairs[:, 1], return_inverse=True)
        packed = b"".join(map(stored.__getitem__, ids.tolist()))
        claimed = np.frombuffer(packed, np.uint8).reshape(-1, self._bytes)
        differing = np.bitwise_count(work.fingerprints[pairs[:, 0]] ^ claimed[place])
        self.counts.candidates += len(pairs)
        distances = differing.sum(axis=1, dtype=np.int64)
        return _Candidates(pairs[:, 0], pairs[:, 1], distances, crowded)

    def _hits(
        self, connection: Connection, asked: NDArray[np.int64], slots: range
    ) -> NDArray[np.int64]:
        """The key rows that are there, as pairs of what was asked and a claim."""
        distinct = np.unique(asked)
        edges = np.searchsorted(distinct, [slot << 32 for slot in (*slots, slots.stop)])
        parameters: dict[str, Any] = {"namespace": self.id}
        keys = distinct.astype(np.int32)
        for slot, (start, stop) in zip(slots, pairwise(edges), strict=True):
            parameters[f"keys{slot}"] = list_parameter(
                self.database.dialect, keys[start:stop].tolist()
            )
        which = "candidates" if len(slots) == self.keys.slots else "exact"
        statement: CompiledStatement = getattr(self._statements, which)
        rows = statement.run(connection, parameters).fetchall()
        if not rows:
            return np.empty((0, 2), np.int64)
        hits = np.array(list(map(tuple, rows)), dtype=np.int64)
        return np.stack([_slotted(hits[:, 0] - self._first_slot, hits[:, 1]), hits[:, 2]], axis=1)

    def _probes(
        self, keys: Sequence[NDArray[np.int32]]
    ) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Every key to look up, slot first, in ascending order; and which document asks for it."""
        if not keys:
            return np.empty(0, np.int64), np.empty(0, np.intp)
        stored = np.stack(keys)
        asked = np.concatenate(
            [
                _slotted(slot, stored[:, slot, None] ^ flips).ravel()
                for slot, flips in enumerate(self._flips)
            ]
        )
        numbers = np.arange(len(keys))
        owner = np.concatenate([np.repeat(numbers, len(flips)) for flips in self._flips])
        order = np.argsort(asked, kind="stable")
        return asked[order], owner[order]

    def _details(self, connection: Connection, claims: NDArray[np.int64]) -> dict[int, Any]:
        if not claims.size:
            return {}
        found = self._statements.details.run(
            connection,
            {
                "namespace": self.id,
                "ids": list_parameter(self.database.dialect, np.unique(claims).tolist()),
            },
        )
        return {row.id: row for row in found}

    def _match(self, row: Any, distance: int) -> Match:
        return Match(
            key=row.key,
            url=row.url,
            distance=distance,
            similarity=similarity_at(distance, self.scheme.bits),
            first_seen=datetime.fromtimestamp(row.created, UTC),
            claim=row.id,
            run=row.run,
            pending=row.state == PENDING,
        )

    # Deciding

    def _newest(self, connection: Connection, work: _Batch) -> dict[tuple[int, int], int]:
        """The newest claim of each owner and position of the batch."""
        owners = list_parameter(self.database.dialect, {row.owner for row in work.rows})
        rows = self._statements.newest.run(connection, {"namespace": self.id, "owners": owners})
        return {(row.owner, row.position): row.id for row in rows}

    def _done_before(self, connection: Connection, work: _Batch) -> dict[int, Any]:
        """The claims of this very batch that an attempt whose answer was lost did commit."""
        owners = list_parameter(self.database.dialect, {row.owner for row in work.rows})
        rows = self._statements.own.run(connection, {"namespace": self.id, "owners": owners})
        mine = {(row.owner, row.visit, row.position): row for row in rows}
        tokens = [(row.owner, row.visit, row.position) for row in work.rows]
        return {number: mine[token] for number, token in enumerate(tokens) if token in mine}

    def _claim(
        self,
        connection: Connection,
        writer: Writer,
        work: _Batch,
        held: LockedNamespace,
        retried: bool,
    ) -> list[Verdict]:
        """Decide on a batch, and write what it claims."""
        done = self._done_before(connection, work) if retried else {}
        found = self._candidates(connection, work)
        first = held.last - len(work.documents) + 1
        verdicts = self._decide(connection, work, found, first, done)
        made = [
            (verdict.claim, work.texts[number])
            for number, verdict in enumerate(verdicts)
            if verdict.claim is not None and number not in done
        ]
        writer.insert([claim.row for claim, _ in made], found.crowded)
        writer.keep_texts([(claim.id, 0, text) for claim, text in made if text is not None])
        writer.touch(
            [
                verdict.match.claim
                for verdict in verdicts
                if verdict.kind == "same" and verdict.claim is None and verdict.match
            ],
            self.database.now(),
        )
        return verdicts

    def _packed_keys(self, work: _Batch, number: int, found: _Candidates) -> bytes | None:
        """The keys to remember: for a document all whose bands are crowded its fingerprint too."""
        packed = work.rows[number].packed_keys
        if found.crowded and packed is not None:
            keys = work.keys[number].tolist()
            full = [KeyRow(slot, key) in found.crowded for slot, key in enumerate(keys)]
            self.counts.crowded += any(full)
            if all(full):
                self.counts.exact_only += 1
                return packed + np.array([_exact(work, number)], "<i4").tobytes()
        return packed

    def _decide(
        self,
        connection: Connection,
        work: _Batch,
        found: _Candidates,
        first: int,
        done: Mapping[int, Any],
    ) -> list[Verdict]:
        newest = self._newest(connection, work)
        near = found.distances <= self.limit
        wanted = np.concatenate([found.claims[near], np.fromiter(newest.values(), np.int64)])
        rows = self._details(connection, wanted)
        met: list[list[tuple[int, Any]]] = [[] for _ in work.documents]
        nearest: list[int | None] = [None] * len(work.documents)
        for number, claim, distance, is_near in zip(
            found.documents.tolist(),
            found.claims.tolist(),
            found.distances.tolist(),
            near.tolist(),
            strict=True,
        ):
            if not is_near:
                known = nearest[number]
                nearest[number] = distance if known is None else min(known, distance)
            elif (row := rows.get(claim)) is not None:
                met[number].append((distance, row))
        # An owner's newest version is compared with even where no key meets.
        for number, mine in enumerate(work.rows):
            last = rows.get(newest.get((mine.owner, mine.position), 0)) if newest else None
            if last is not None and all(last.id != other.id for _, other in met[number]):
                distance = _distance(mine.fingerprint, last.fingerprint)
                met[number].append((distance, last))
        now = self.database.now()
        verdicts: list[Verdict] = []
        fresh: dict[int, _Row] = {}
        for number, mine in enumerate(work.rows):
            twins = [
                (distance, fresh[other]) for distance, other in work.twins[number] if other in fresh
            ]
            matches = [
                (distance, row)
                for distance, row in met[number] + twins
                if distance <= self._allowed(mine.size, row.size)
                # What an earlier attempt claimed for this batch is judged in its own turn.
                and (row.owner, row.visit, row.position) != (mine.owner, mine.visit, mine.position)
            ]
            if made := done.get(number):
                # It was decided when nothing newer was there.
                matches = [(distance, row) for distance, row in matches if row.id < made.id]
            verdict, claims = self._judge(mine, matches, newest)
            if made:
                claim = Claim(made.id, made._asdict())
                verdict = Verdict(verdict.kind, match=verdict.match, claim=claim)
            elif claims:
                row = mine._replace(
                    id=first + number,
                    nearest=nearest[number],
                    created=now,
                    seen=now,
                    packed_keys=self._packed_keys(work, number, found),
                )
                fresh[number] = row
                claim = Claim(row.id, row._asdict())
                verdict = Verdict(verdict.kind, match=verdict.match, claim=claim)
            verdicts.append(verdict)
        return verdicts

    def _allowed(self, size: int, other: int) -> int:
        return self.limit if min(size, other) >= FEW_FEATURES else 0

    def _judge(
        self,
        mine: _Row,
        matches: Sequence[tuple[int, Any]],
        newest: Mapping[tuple[int, int], int],
    ) -> tuple[Verdict, bool]:
        """The verdict, and whether a claim is to be made."""
        if not matches:
            return Verdict("unique"), True
        own = [
            (distance, row)
            for distance, row in matches
            if row.owner == mine.owner and row.visit != mine.visit
        ]
        # Its own version comes first, however near another page is; then one that is stored for
        # sure, so that nobody waits for an outcome without need; then the nearest, the oldest.
        distance, row = min(
            own or matches,
            key=lambda met: (met[1].state == PENDING, met[0], met[1].id),
        )
        match = self._match(row, distance)
        if not own:
            return Verdict("duplicate", match=match), False
        if self.same_url == "drop":
            last = newest.get((row.owner, row.position), row.id)
            unchanged = any(other.id >= last for _, other in own)
        else:
            unchanged = any(
                other.fingerprint == row.fingerprint and distance == 0 and other.state == CONFIRMED
                for distance, other in own
            )
        return Verdict("same", match=match), not unchanged

    # Writing

    def _compress(self, text: str | None) -> bytes | None:
        if text is None or not self.text_budget:
            return None
        return zlib.compress(text.encode("utf-8", "replace"), 1)

    def _rows(
        self, duplicates: Sequence[Duplicate], run: int
    ) -> list[tuple[dict[str, Any], bytes | None]]:
        """What is remembered of duplicates, and their texts."""
        now = self.database.now()
        return [
            (
                {
                    "namespace": self.id,
                    "id": duplicate.id,
                    "run": run,
                    "created": now,
                    "owner": duplicate.document.owner,
                    "key": _clean(duplicate.document.key),
                    "url": _clean(duplicate.document.url),
                    "fingerprint": self._fingerprints([duplicate.document]).tobytes(),
                    "size": duplicate.document.sketch.size,
                    "claim": duplicate.match.claim,
                    "distance": duplicate.match.distance,
                    "action": duplicate.action,
                    "item_type": duplicate.item_type,
                    "item": duplicate.item,
                },
                self._compress(duplicate.document.text),
            )
            for duplicate in duplicates
        ]

    def _open_namespace(self) -> int:
        """Find or make the namespace's row."""

        def open_(connection: Connection, _retried: bool) -> int:
            row = connection.execute(
                select(schema.namespaces).where(schema.namespaces.c.name == self.namespace)
            ).one_or_none()
            if row is None:
                made = connection.execute(
                    insert(schema.namespaces).values(
                        name=self.namespace,
                        scheme=self.scheme.id,
                        plan=self.keys.id,
                        created=self.database.now(),
                    )
                )
                return int(made.inserted_primary_key[0])  # type: ignore[index]
            if row.scheme != self.scheme.id:
                raise SchemeMismatch(
                    f"namespace {self.namespace!r} of {self.database} holds fingerprints of the "
                    f"scheme {row.scheme!r}, this one is {self.scheme.id!r}: they can't be "
                    "compared. Use another namespace, the old scheme, or reset the namespace"
                )
            self._adopt(load_keys(row.plan), row.first_slot)
            return int(row.id)

        try:
            return self.database.transact(open_)
        except IndexUnavailable as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            # Somebody else made it at the same moment.
            return self.database.transact(open_)

    def _adopt(self, keys: Bands | Blocks, first_slot: int) -> None:
        """Work with the keys that the namespace was made with, where that is possible."""
        if keys.needs_shingles != self.keys.needs_shingles:
            raise SchemeMismatch(
                f"namespace {self.namespace!r} of {self.database} is indexed by {keys.id!r}, this "
                f"one by {self.keys.id!r}. Use another namespace, the old setting, or reset the "
                "namespace"
            )
        if isinstance(keys, Bands) and (recall := keys.recall(self._similarity)) < _LEAST_RECALL:
            logger.warning(
                "Namespace %r was made for pages that are more alike: with its %s no more than "
                "%.0f %% of those of similarity %g are found. Reset the namespace, or use another, "
                "to find them all",
                self.namespace,
                keys.id,
                100 * recall,
                self._similarity,
            )
        self._use(keys, first_slot)

    def _use(self, keys: Bands | Blocks, first_slot: int) -> None:
        """Look up and store by these keys.

        Raises:
            ValueError: they take too many lookups for the distance asked for.
        """
        self._planned = np.inf
        # With bands a document is looked up by the very keys that it is stored under.
        self._flips = [np.zeros(1, np.int32)] * keys.slots
        if isinstance(keys, Blocks):
            self._radius = self.radius(keys)
            self._flips = keys.flips(self._radius)
            candidates = keys.candidates(self._radius, self._expected_size)
            self._planned = max(_FEW_CANDIDATES, candidates)
        self.keys = keys
        self._first_slot = first_slot
        self._statements = _statements(self.database.dialect, keys.slots, first_slot)


class _Row(NamedTuple):
    """A row of the claims table that is about to be written."""

    namespace: int
    id: int
    owner: int
    position: int
    visit: int
    run: int
    state: int
    fingerprint: bytes
    size: int
    nearest: int | None
    created: float
    seen: float
    key: str
    url: str
    packed_keys: bytes | None


@dataclass(slots=True)
class _Batch:
    """Documents that are looked up together: row i of each belongs to document i.

    Attributes:
        documents: that have a fingerprint.
        fingerprints: an array of shape (documents, bytes).
        keys: that they are stored under.
        asked: every key to look up, with its slot, in ascending order.
        owner: which document asks for it.
        rows: what is stored of them if they are claimed.
        twins: the distance and number of those before them that are near enough.
        texts: compressed.
        run: that claims them.
    """

    documents: Sequence[Document]
    fingerprints: NDArray[np.uint8]
    keys: Sequence[NDArray[np.int32]]
    asked: NDArray[np.int64]
    owner: NDArray[np.intp]
    rows: Sequence[_Row]
    twins: Sequence[Sequence[tuple[int, int]]]
    texts: Sequence[bytes | None]
    run: int


class _Statements:
    """What is executed, for a dialect, a number of slots and the first of them."""

    def __init__(self, dialect: str, slots: int, first_slot: int) -> None:
        claims = schema.claims.c
        here = claims.namespace == bindparam("namespace")
        ids = is_in(dialect, claims.id, "ids")
        owners = is_in(dialect, claims.owner, "owners")
        arms = [_keys_of_slot(dialect, slot, first_slot) for slot in range(slots + 1)]
        self.candidates = CompiledStatement(union_all(*arms[:slots]))
        self.exact = CompiledStatement(arms[slots])
        self.fingerprints = CompiledStatement(
            select(claims.id, claims.fingerprint).where(here, ids)
        )
        self.details = CompiledStatement(select(schema.claims).where(here, ids))
        self.newest = CompiledStatement(
            select(claims.owner, claims.position, func.max(claims.id).label("id"))
            .where(here, owners)
            .group_by(claims.owner, claims.position)
        )
        self.own = CompiledStatement(select(schema.claims).where(here, owners))


def _keys_of_slot(dialect: str, slot: int, first_slot: int) -> Select[Any]:
    keys = schema.keys.c
    number: ColumnElement[int] = literal_column(str(first_slot + slot), Integer)
    return select(number.label("slot"), keys.key, keys.claim).where(
        keys.namespace == bindparam("namespace"),
        keys.slot == number,
        is_in(dialect, keys.key, f"keys{slot}"),
    )


_statements = cache(_Statements)


def _engine_of(url: str | URL) -> str:
    return check_url(url).get_backend_name()


def _packed(row: Mapping[str, Any]) -> tuple[int, bytes | None, bytes]:
    """What it takes to forget a claim."""
    return row["id"], row["packed_keys"], row["fingerprint"]


def _exact(work: _Batch, number: int) -> int:
    """The key of a document's very fingerprint."""
    return int.from_bytes(work.fingerprints[number, -4:].tobytes(), "big", signed=True)


def _key_row(slotted: int) -> KeyRow:
    """The reverse of :func:`_slotted`."""
    slot, key = slotted >> 32, slotted & 0xFFFFFFFF
    return KeyRow(slot, key - (key >> 31 << 32))


def _slotted(slot: int | NDArray[np.int64], keys: NDArray[Any]) -> NDArray[Any]:
    """One number for a slot and a key, in which the slot comes first."""
    return np.int64(slot) << 32 | (keys.astype(np.int64) & 0xFFFFFFFF)


def _distance(one: bytes, other: bytes) -> int:
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()


def _clean(text: str) -> str:
    """What every engine can store: neither NUL nor lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()

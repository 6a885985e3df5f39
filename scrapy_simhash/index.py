"""The index: claims on fingerprints, made and looked up in SQL.

A claim holds a fingerprint for its owner. It is *pending* until what it stands for is stored, then
*confirmed*; or it is *released*, as if it had never been made. Candidates come from key rows, the
judge is always the Hamming distance of the whole fingerprints, computed here and not in SQL.
"""

from __future__ import annotations

import random
import time
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from sqlalchemy import bindparam, delete, func, insert, literal, select, union_all
from sqlalchemy.exc import IntegrityError

from scrapy_simhash import schema
from scrapy_simhash.database import Database, among, lock, values
from scrapy_simhash.exceptions import IndexUnavailable, SchemeMismatch
from scrapy_simhash.keys import Bands, Blocks, load_keys
from scrapy_simhash.runs import Run
from scrapy_simhash.schema import CONFIRMED, PENDING
from scrapy_simhash.scheme import Scheme, Sketch, load_scheme
from scrapy_simhash.simhash import limits, similarity_at
from scrapy_simhash.storage import Writer, unpack_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from numpy.typing import NDArray
    from sqlalchemy import Connection
    from sqlalchemy.engine import URL

__all__ = ["BATCH", "Claim", "Document", "Duplicate", "Index", "Match", "Verdict"]

#: As many documents share one transaction at most: more would make the others wait too long.
BATCH = 64

#: Below as many distinct features an estimate says nothing: only an equal fingerprint counts.
FEW_FEATURES = 8

Kind = Literal["unique", "duplicate", "same", "skipped", "failed_open"]


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
    """A claim that was made and can be confirmed or released."""

    id: int
    row: Mapping[str, Any] = field(repr=False)
    keys: NDArray[np.int32] = field(repr=False)


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


def owner_of(key: str) -> int:
    """The 64 signed bits by which an owner key is looked up."""
    digest = blake2b(key.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


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
    visit: int = field(default_factory=lambda: random.getrandbits(63))
    text: str | None = None

    @property
    def owner(self) -> int:
        """What the owner key is looked up by."""
        return owner_of(self.key)


@dataclass(slots=True, eq=False)
class Duplicate:
    """A near-duplicate to be remembered, with the item that was dropped."""

    document: Document
    match: Match
    action: str
    item: bytes | None = None
    item_type: str | None = None
    id: int = field(
        default_factory=lambda: time.time_ns() // 1_000_000 << 22 | random.getrandbits(22)
    )


class _Candidates(NamedTuple):
    documents: NDArray[np.intp]
    claims: NDArray[np.int64]
    distances: NDArray[np.int64]


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
    ) -> None:
        self.scheme = load_scheme(scheme, scheme_options) if isinstance(scheme, str) else scheme
        self.keys = choose_keys(self.scheme, similarity, distance, candidates)
        if not 0 < len(namespace) <= 255:
            raise ValueError(f"namespace {namespace!r}: allowed are 1 to 255 characters")
        self.namespace = namespace
        self._radius, self.limit = choose_limits(self.scheme, similarity, distance)
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
        self._statements = _Statements(self.database.dialect, self.keys.slots)
        try:
            self.id = self._open_namespace()
        except BaseException:
            if self._owns_database:
                self.database.close()
            raise
        self._run = run

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
        if self._owns_database:
            if self._run is not None:
                self._run.close(settled=True, reason="closed")
            self.database.close()

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
        if document.sketch.fingerprint is None:
            return []
        work = _Batch(
            [document], self._fingerprints([document]), [self.keys.keys(document.sketch)], []
        )

        def look_up(connection: Connection) -> list[Match]:
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
        if wanted or confirm or release or duplicates:
            work = _Batch(
                wanted,
                self._fingerprints(wanted),
                [self.keys.keys(document.sketch) for document in wanted],
                [self._compress(document.text) for document in wanted],
            )
            run = self.run.id

            def write(connection: Connection, retried: bool) -> list[Verdict]:
                held = lock(connection, self.id, len(wanted))
                writer = Writer(connection, self.id, held)
                if release:
                    writer.forget([(claim.id, claim.keys) for claim in release], orphaned=True)
                if confirm:
                    writer.confirm([(claim.row, claim.keys) for claim in confirm])
                decided: list[Verdict] = []
                if wanted:
                    done = self._done_before(connection, work) if retried else {}
                    decided = self._decide(connection, work, held.first, run, done)
                    self._write(writer, decided, work, done)
                if duplicates:
                    writer.remember(self._rows(duplicates, run), retried=retried)
                writer.book(self.text_budget, self.item_budget)
                return decided

            verdicts = self.database.transact(write)
        answers = iter(verdicts)
        return [
            Verdict("skipped", reason="no_text")
            if document.sketch.fingerprint is None
            else next(answers)
            for document in claims
        ]

    # Looking up

    def _fingerprints(self, documents: Sequence[Document]) -> NDArray[np.uint8]:
        packed = b"".join(
            document.sketch.fingerprint.to_bytes(self._bytes, "big")
            for document in documents
            if document.sketch.fingerprint is not None
        )
        return np.frombuffer(packed, np.uint8).reshape(-1, self._bytes)

    def _candidates(self, connection: Connection, work: _Batch) -> _Candidates:
        """Every claim that a key of the batch leads to, with its distance; a pair once."""
        asked, owner = self._probes(work)
        distinct = np.unique(asked)
        parameters: dict[str, Any] = {"namespace": self.id}
        for slot in range(self.keys.slots):
            of_slot = distinct[distinct >> 32 == slot].astype(np.int32)
            parameters[f"keys{slot}"] = values(self.database.dialect, of_slot.tolist())
        rows = connection.execute(self._statements.candidates, parameters).fetchall()
        if not rows:
            return _Candidates(*(np.empty(0, np.int64),) * 3)
        hits = np.array(rows, dtype=np.int64).reshape(-1, 3)
        met = _slotted(hits[:, 0], hits[:, 1])
        left = np.searchsorted(asked, met, "left")
        count = np.searchsorted(asked, met, "right") - left
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        pairs = np.stack(
            [owner[np.repeat(left, count) + within], np.repeat(hits[:, 2], count)], axis=1
        )
        pairs = np.unique(pairs, axis=0)
        ids, place = np.unique(pairs[:, 1], return_inverse=True)
        stored = {
            row[0]: row[1]
            for row in connection.execute(
                self._statements.fingerprints,
                {"namespace": self.id, "ids": values(self.database.dialect, ids.tolist())},
            )
        }
        # A key row may outlive its claim by a crash between two transactions of a pruning.
        alive = np.array([claim in stored for claim in ids.tolist()], bool)[place]
        pairs, place = pairs[alive], place[alive]
        blank = bytes(self._bytes)
        packed = b"".join(bytes(stored.get(claim, blank)) for claim in ids.tolist())
        claimed = np.frombuffer(packed, np.uint8).reshape(-1, self._bytes)
        differing = np.bitwise_count(work.fingerprints[pairs[:, 0]] ^ claimed[place])
        return _Candidates(pairs[:, 0], pairs[:, 1], differing.sum(axis=1, dtype=np.int64))

    def _probes(self, work: _Batch) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Every key to look up, slot first, in ascending order; and which document asks for it."""
        if self.keys.needs_shingles:
            # A document is looked up by the very keys that it would be stored under.
            stored = np.stack(work.keys)
            asked = _slotted(np.arange(self.keys.slots), stored).ravel()
            owner = np.repeat(np.arange(len(work.keys)), self.keys.slots)
        else:
            probes = [
                (number, _slotted(slot, keys))
                for number, document in enumerate(work.documents)
                for slot, keys in enumerate(self.keys.probes(document.sketch, self._radius))
            ]
            asked = np.concatenate([keys for _, keys in probes])
            owner = np.repeat([number for number, _ in probes], [len(keys) for _, keys in probes])
        order = np.argsort(asked, kind="stable")
        return asked[order], owner[order]

    def _details(self, connection: Connection, claims: NDArray[np.int64]) -> dict[int, Any]:
        if not claims.size:
            return {}
        found = connection.execute(
            self._statements.details,
            {
                "namespace": self.id,
                "ids": values(self.database.dialect, np.unique(claims).tolist()),
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
        owners = values(self.database.dialect, {document.owner for document in work.documents})
        rows = connection.execute(self._statements.newest, {"namespace": self.id, "owners": owners})
        return {(row.owner, row.position): row.id for row in rows}

    def _done_before(self, connection: Connection, work: _Batch) -> dict[int, Any]:
        """The claims of this very batch that an attempt whose answer was lost did commit."""
        owners = values(self.database.dialect, {document.owner for document in work.documents})
        rows = connection.execute(self._statements.own, {"namespace": self.id, "owners": owners})
        mine = {(row.owner, row.visit, row.position): row for row in rows}
        tokens = [(d.owner, d.visit, d.position) for d in work.documents]
        return {number: mine[token] for number, token in enumerate(tokens) if token in mine}

    def _decide(
        self,
        connection: Connection,
        work: _Batch,
        first: int,
        run: int,
        done: Mapping[int, Any],
    ) -> list[Verdict]:
        found = self._candidates(connection, work)
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
        for number, document in enumerate(work.documents):
            row = rows.get(newest.get((document.owner, document.position), 0))
            if row is not None and all(row.id != other.id for _, other in met[number]):
                met[number].append((_distance(document.sketch, row.fingerprint), row))
        # Twins inside the batch: it is small enough to compare each with each.
        among_us = np.bitwise_count(
            work.fingerprints[:, None, :] ^ work.fingerprints[None, :, :]
        ).sum(axis=2, dtype=np.int64)
        now = self.database.now()
        verdicts: list[Verdict] = []
        fresh: dict[int, _Row] = {}
        for number, document in enumerate(work.documents):
            if number in done:
                claim = Claim(done[number].id, done[number]._asdict(), work.keys[number])
                verdicts.append(Verdict("unique", claim=claim))
                continue
            twins = np.flatnonzero(among_us[number, :number] <= self.limit).tolist()
            matches = [
                (distance, row)
                for distance, row in met[number]
                + [(int(among_us[number, twin]), fresh[twin]) for twin in twins if twin in fresh]
                if distance <= self._allowed(document.sketch.size, row.size)
                # What an earlier attempt claimed for this batch is judged in its own turn.
                and not (row.visit == document.visit and row.position == document.position)
            ]
            verdict, claims = self._judge(document, matches, newest)
            if claims:
                row = _Row(
                    id=first + number,
                    owner=document.owner,
                    position=document.position,
                    visit=document.visit,
                    run=run,
                    state=PENDING,
                    fingerprint=work.fingerprints[number].tobytes(),
                    size=document.sketch.size,
                    nearest=nearest[number],
                    created=now,
                    seen=now,
                    key=_clean(document.key),
                    url=_clean(document.url),
                )
                fresh[number] = row
                claim = Claim(row.id, row._asdict(), work.keys[number])
                verdict = Verdict(verdict.kind, match=verdict.match, claim=claim)
            verdicts.append(verdict)
        return verdicts

    def _allowed(self, size: int, other: int) -> int:
        return self.limit if min(size, other) >= FEW_FEATURES else 0

    def _judge(
        self,
        document: Document,
        matches: Sequence[tuple[int, Any]],
        newest: Mapping[tuple[int, int], int],
    ) -> tuple[Verdict, bool]:
        """The verdict, and whether a claim is to be made."""
        own = [
            (distance, row)
            for distance, row in matches
            if row.owner == document.owner and row.visit != document.visit
        ]
        # Its own version comes first, however near another page is; then one that is stored for
        # sure, so that nobody waits for an outcome without need; then the nearest, the oldest.
        distance, row = min(
            own or matches,
            key=lambda met: (met[1].state == PENDING, met[0], met[1].id),
            default=(0, None),
        )
        if row is None:
            return Verdict("unique"), True
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

    def _write(
        self, writer: Writer, verdicts: Sequence[Verdict], work: _Batch, done: Mapping[int, Any]
    ) -> None:
        made = [
            (verdict.claim, work.texts[number])
            for number, verdict in enumerate(verdicts)
            if verdict.claim is not None and number not in done
        ]
        writer.insert([(claim.row, claim.keys) for claim, _ in made])
        writer.keep_texts([(claim.id, 0, text) for claim, text in made if text is not None])
        writer.touch(
            [
                verdict.match.claim
                for verdict in verdicts
                if verdict.kind == "same" and verdict.claim is None and verdict.match
            ],
            self.database.now(),
        )

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
            self._adopt(row.plan)
            return int(row.id)

        try:
            return self.database.transact(open_)
        except IndexUnavailable as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            # Somebody else made it at the same moment.
            return self.database.transact(open_)

    def _adopt(self, stored: str) -> None:
        """Work with the keys that the namespace was made with, where that is possible."""
        if stored == self.keys.id:
            return
        keys = load_keys(stored)
        if keys.needs_shingles != self.keys.needs_shingles:
            raise SchemeMismatch(
                f"namespace {self.namespace!r} of {self.database} is indexed by {stored!r}, this "
                f"one by {self.keys.id!r}. Use another namespace, the old setting, or reset the "
                "namespace"
            )
        self.keys = keys
        self._statements = _Statements(self.database.dialect, keys.slots)


def choose_limits(scheme: Scheme, similarity: float, distance: int | None) -> tuple[int, int]:
    """The distances within which blocks are searched, and up to which documents are duplicates.

    Raises:
        ValueError: the distance is out of range, or a similarity is asked of a scheme that has
            another measure.
    """
    if distance is None:
        if scheme.bits != 128:
            raise ValueError(
                f"a similarity is defined for fingerprints of 128 bits, {scheme.id!r} has "
                f"{scheme.bits}: a distance is wanted"
            )
        return limits(similarity)
    if not 0 <= distance <= scheme.bits // 2:
        raise ValueError(
            f"distance {distance}: allowed is 0 to {scheme.bits // 2}, half the bits of "
            f"{scheme.id!r}"
        )
    return distance, distance


def choose_keys(
    scheme: Scheme, similarity: float, distance: int | None, candidates: str
) -> Bands | Blocks:
    """The keys for what is asked for.

    Raises:
        ValueError: bands are asked for where there are no shingles or no similarity.
    """
    has_shingles = scheme.id.startswith("shingles/")
    match candidates:
        case "auto" | "bands" | "blocks":
            pass
        case _:
            raise ValueError(f"candidates {candidates!r}: allowed are 'auto', 'bands', 'blocks'")
    if candidates == "bands" and (distance is not None or not has_shingles):
        raise ValueError(
            "bands find texts by the similarity of their shingles: they need the scheme "
            "'shingles' and a similarity, not a distance"
        )
    if candidates == "bands" or (candidates == "auto" and has_shingles and distance is None):
        return Bands()
    return Blocks()


class _Row(NamedTuple):
    """A row of the claims table that is about to be written."""

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


@dataclass(slots=True)
class _Batch:
    """Documents that are looked up together: row i of each belongs to document i."""

    documents: Sequence[Document]
    fingerprints: NDArray[np.uint8]
    keys: Sequence[NDArray[np.int32]]
    texts: Sequence[bytes | None]


class _Statements:
    """Prepared once: building them anew for each call costs more than running them."""

    def __init__(self, dialect: str, slots: int) -> None:
        claims, keys = schema.claims.c, schema.keys.c
        here = claims.namespace == bindparam("namespace")
        ids = among(dialect, claims.id, "ids")
        owners = among(dialect, claims.owner, "owners")
        self.candidates = union_all(
            *(
                select(literal(slot).label("slot"), keys.key, keys.claim).where(
                    keys.namespace == bindparam("namespace"),
                    keys.slot == slot,
                    among(dialect, keys.key, f"keys{slot}"),
                )
                for slot in range(slots)
            )
        )
        self.fingerprints = select(claims.id, claims.fingerprint).where(here, ids)
        self.details = select(schema.claims).where(here, ids)
        self.newest = (
            select(claims.owner, claims.position, func.max(claims.id).label("id"))
            .where(here, owners)
            .group_by(claims.owner, claims.position)
        )
        self.own = select(schema.claims).where(here, owners)


def _slotted(slot: int | NDArray[np.int64], keys: NDArray[Any]) -> NDArray[Any]:
    """One number for a slot and a key, in which the slot comes first."""
    return np.int64(slot) << 32 | (keys.astype(np.int64) & 0xFFFFFFFF)


def _distance(sketch: Sketch, stored: bytes) -> int:
    return ((sketch.fingerprint or 0) ^ int.from_bytes(stored, "big")).bit_count()


def _clean(text: str) -> str:
    """What every engine can store: neither NUL nor lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def reset_namespace(database: Database, name: str) -> None:
    """Forget a namespace with everything in it.

    Raises:
        IndexUnavailable: the database did not answer in time.
    """

    def reset(connection: Connection, _retried: bool) -> None:
        number = connection.scalar(
            select(schema.namespaces.c.id).where(schema.namespaces.c.name == name)
        )
        if number is None:
            return
        lock(connection, number)
        for table in (schema.keys, schema.texts, schema.duplicates, schema.claims):
            connection.execute(delete(table).where(table.c.namespace == number))
        connection.execute(delete(schema.namespaces).where(schema.namespaces.c.id == number))

    database.transact(reset)


def expire_claims(index: Index, before: float) -> int:
    """Forget the claims that were neither made nor met again by their owner since then.

    Args:
        index: whose claims.
        before: seconds since the epoch.

    Returns:
        how many were forgotten.

    Raises:
        IndexUnavailable: the database did not answer in time.
    """
    row = schema.claims.c
    position = 0
    forgotten = 0

    def expire(connection: Connection, _retried: bool) -> tuple[int | None, int]:
        held = lock(connection, index.id)
        # Their numbers grow with time: the first one made since ends the search.
        rows = connection.execute(
            select(row.id, row.packed_keys, row.created, row.seen)
            .where(row.namespace == index.id, row.id > position)
            .order_by(row.id)
            .limit(1000)
        ).all()
        old = [found for found in rows if found.created < before]
        writer = Writer(connection, index.id, held)
        gone = [(found.id, unpack_keys(found.packed_keys)) for found in old if found.seen < before]
        writer.forget(gone, orphaned=False)
        writer.book()
        return old[-1].id if old and len(old) == len(rows) else None, len(gone)

    while True:
        last, count = index.database.transact(expire)
        forgotten += count
        if last is None:
            return forgotten
        position = last

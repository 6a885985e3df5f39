"""One transaction: claims are released, confirmed and made, and duplicates recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from sqlalchemy import Connection

from scrapy_simhash.db import schema
from scrapy_simhash.db.engine import LARGEST_ROW
from scrapy_simhash.db.lock import Sizes, first_number, lock
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import State, storable
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index.batch import (
    KeyRow,
    document_row,
    fingerprint_key,
    pack_keys,
    packed_text,
    statement_size,
)
from scrapy_simhash.index.budgets import largest
from scrapy_simhash.index.candidates import BatchCandidates
from scrapy_simhash.index.comparing import decide_batch, final
from scrapy_simhash.index.decide import stands_for
from scrapy_simhash.index.journal import entries, forget, read_changes, record
from scrapy_simhash.index.lookup import Lookup, Outdated
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import ClaimRow, Document, Duplicate, Verdict
from scrapy_simhash.index.writer import Writer
from scrapy_simhash.item.keys import item_url
from scrapy_simhash.text.packed import TooLarge

# The columns that claims and duplicates have in common.
_SHARED = [name for name in ClaimRow._fields if name in schema.duplicates.c]


class Work:
    """The work of one transaction, see :meth:`Index.execute`.

    The documents are compared and decided on before the lock is taken. Under the lock this is done
    again only if anything was written since, and then only new claims have to be compared.

    `budgets` are the bytes of texts and of items that the namespace may store.
    """

    def __init__(
        self,
        database: Database,
        run: Run,
        lookup: Lookup,
        budgets: tuple[float, float],
        *,
        claims: Sequence[Document],
        confirm: Sequence[Verdict],
        release: Sequence[Verdict],
        duplicates: Sequence[Duplicate],
    ) -> None:
        most = database.connections.largest_row
        self._database, self._run, self._lookup, self._budgets = database, run, lookup, budgets
        self._namespace = namespace = lookup.namespace.id
        # The same for each attempt.
        self._now = now = database.now()
        claimant = run.claimant._replace(namespace=namespace, created=now, seen=now)
        self._decide = partial(decide_batch, lookup, run.visits)
        self._reasons = [_reason_to_skip(document, most) for document in claims]
        pairs = zip(claims, self._reasons, strict=True)
        wanted = [document for document, reason in pairs if not reason]
        self._largest_text = min(largest(budgets[0]), most // 2)
        self._batch = lookup.batch(wanted, claimant) if wanted else None
        # Without those of an earlier namespace of this name.
        confirmed = [verdict.claim for verdict in confirm if verdict.claim]
        self._confirm = [claim for claim in confirmed if claim.namespace == namespace]
        self._release: list[ClaimRow] = []
        #: Claims of unchanged items that were not stored after all, with their rows of before.
        self._restore: list[tuple[ClaimRow, ClaimRow]] = []
        for verdict in release:
            if (claim := verdict.claim) is None or claim.namespace != namespace:
                continue
            if verdict.has_old_claim and isinstance(verdict.before, ClaimRow):
                self._restore.append((claim, verdict.before))
            else:
                self._release.append(claim)
        self._texts = _compressed(wanted, keep=budgets[0] > 0)
        texts = _compressed([duplicate.document for duplicate in duplicates], keep=budgets[0] > 0)
        rows = [_duplicate_row(duplicate, claimant, lookup) for duplicate in duplicates]
        #: Rows, each with its compressed text.
        self._duplicates = list(zip(rows, texts, strict=True))
        sizes = [
            statement_size(row["key"] + row["original"], row["url"], row["item"]) for row in rows
        ]
        if max(sizes, default=0) > most or sum(sizes) > LARGEST_ROW:
            raise TooLarge(f"duplicates of {sum(sizes):,} bytes; a row may have {most:,}")

    def do(self) -> list[Verdict]:
        """Do it; returns the verdicts on the documents to be claimed."""
        lookup, batch = self._lookup, self._batch
        try:
            candidates = counter = None
            verdicts: list[Verdict] = []
            if batch is not None:
                candidates = self._database.read(lambda connection: lookup.read(connection, batch))
                for claim in self._confirm:
                    if row := candidates.rows.get(claim.id):
                        candidates.rows[claim.id] = row._replace(state=State.CONFIRMED)
                counter = candidates.counter
                verdicts = self._decide(candidates, first_number(counter))
            work = partial(self._execute, candidates, verdicts)
            verdicts = self._run.transact(work)
        except TooLarge as error:
            if self._reasons or self._duplicates:
                raise
            # Outcomes are small: it must be something else, and they must not be lost.
            raise IndexUnavailable(str(error)) from error.__cause__
        lookup.counts["quarantine/pushed_out"] += self._evicted["items"]
        lookup.counts["quarantine/orphans_pushed_out"] += self._evicted["orphans"]
        lookup.counts["index/texts_pushed_out"] += self._evicted["texts"]
        for number in lookup.replaced_by(row.id for row in self._release):
            del lookup.outdated[number]
        lookup.replace(self._outdated)
        lookup.copies.note(self._copies)
        answers = iter(verdicts)
        return [
            Verdict("skipped", reason=reason) if reason else next(answers)
            for reason in self._reasons
        ]

    def _execute(
        self, candidates: BatchCandidates | None, verdicts: list[Verdict], connection: Connection
    ) -> list[Verdict]:
        """Take the lock and do the work, given what was decided before."""
        lookup, batch = self._lookup, self._batch
        new_claims = len(batch.documents) if batch else 0
        held = lock(connection, self._namespace, new_claims, self._foreseen(verdicts))
        writer = Writer(connection, self._namespace, held, self._budgets)
        writer.largest_text = self._largest_text
        writer.delete(self._release, orphaned=True)
        for claim, before in self._restore:
            writer.restore(claim, before)
        writer.meet(lookup.replaced_by(row.id for row in self._release), self._run.id)
        gone = [*self._release, *(claim for claim, _ in self._restore)]
        forget(connection, self._namespace, [row.token for row in gone])
        was_made_again = writer.confirm(self._confirm)
        self._outdated: dict[int, Outdated] = {}
        self._copies: list[tuple[ClaimRow, ClaimRow]] = []
        if batch is not None and candidates is not None:
            if held.counter != candidates.counter or gone or was_made_again:
                candidates = lookup.read(connection, batch)
                verdicts = self._decide(candidates, writer.numbers.start)
            verdicts = self._claim(connection, writer, candidates, verdicts)
        writer.record_duplicates(self._duplicates)
        writer.record()
        self._evicted = writer.evicted
        return verdicts

    def _foreseen(self, verdicts: Sequence[Verdict]) -> Sizes:
        """What is stored if nobody else writes and no duplicate was recorded before."""
        claimed = [number for number, verdict in enumerate(verdicts) if verdict.claim]
        texts = [text for _, text in self._duplicates]
        texts += [self._texts[number] for number in claimed]
        return Sizes(
            len(claimed),
            sum(len(text) for text in texts if text and len(text) <= self._largest_text),
            sum(row["item_bytes"] for row, _ in self._duplicates),
        )

    def _claim(
        self,
        connection: Connection,
        writer: Writer,
        candidates: BatchCandidates,
        verdicts: list[Verdict],
    ) -> list[Verdict]:
        """Write the claims of a batch."""
        lookup = self._lookup
        lookup.counts["index/candidates"] += len(candidates.pairs)
        fresh = {
            number: _claim_row(verdict, verdict.claim)
            for number, verdict in enumerate(verdicts)
            if verdict.claim
        }
        written = self._write(writer, candidates, fresh)
        # A changed version has a claim of its own; the old claim stays as it is.
        touched = {
            number: stands_for(verdict.match.row, verdict.row)
            for number, verdict in enumerate(verdicts)
            if verdict.kind == "same" and verdict.match and verdict.row and not verdict.claim
        }
        writer.touch(list(touched.values()), self._now)
        changes = read_changes(connection, lookup, candidates.batch.documents, verdicts)
        record(connection, list(chain.from_iterable(map(entries, verdicts, changes))))
        self._outdated = _outdated(verdicts)
        self._copies = [
            (verdict.match.row, verdict.row)
            for verdict in verdicts
            if verdict.kind == "duplicate" and verdict.match and verdict.row
        ]
        claims = (touched if lookup.rule.known == "pass" else {}) | written
        return [
            replace(
                verdict,
                match=final(verdict.match) if verdict.match else None,
                claim=claims.get(number),
                process=self._run.process,
                **change,
            )
            for number, (verdict, change) in enumerate(zip(verdicts, changes, strict=True))
        ]

    def _write(
        self, writer: Writer, candidates: BatchCandidates, fresh: Mapping[int, ClaimRow]
    ) -> dict[int, ClaimRow]:
        """Write the claims of some documents of a batch, given by their numbers."""
        batch = candidates.batch
        nearest = _nearest(candidates, self._lookup.rule.limit)
        keys: list[Sequence[KeyRow]] = []
        rows: dict[int, ClaimRow] = {}
        texts: dict[int, bytes] = {}
        for number, row in fresh.items():
            own = _keys_of(self._lookup, number, candidates)
            keys.append(own)
            packed = row.packed_keys
            if packed is not None and len(own) > len(batch.keys[number]):
                packed += pack_keys(own[-1:])
            far = nearest.get(number)
            # Copying a row of so many fields is slow, and rarely necessary.
            is_done = far is None and packed is row.packed_keys
            rows[number] = row if is_done else row._replace(nearest=far, packed_keys=packed)
            if (text := self._texts[number]) is not None:
                texts[row.id] = text
        writer.insert(list(rows.values()), keys, candidates.hot_keys, texts)
        return rows


def _compressed(documents: Sequence[Document], *, keep: bool) -> list[bytes | None]:
    """The compressed texts of documents; None for those that are not stored."""
    return [packed_text(document) if keep else None for document in documents]


def _duplicate_row(duplicate: Duplicate, claimant: ClaimRow, lookup: Lookup) -> dict[str, Any]:
    """The row of a near-duplicate, but for what depends on the present state of its claim."""
    match, row = duplicate.match, document_row(duplicate.document, claimant, lookup.width)
    is_here = match.row.namespace == lookup.namespace.id
    return {
        **{name: getattr(row, name) for name in _SHARED},
        "url": None if row.url == row.key else row.url,
        "created": row.created if duplicate.since is None else duplicate.since,
        "id": duplicate.id,
        # The numbers of claims of an earlier namespace of this name are not valid here.
        "claim": match.row.id if is_here else 0,
        "origin": match.row.origin if is_here else 0,
        "original": item_url(match.key, match.url),
        "distance": match.distance,
        "similarity": match.similarity,
        "estimated": match.estimated,
        "action": duplicate.action,
        "item_type": duplicate.item_type and storable(duplicate.item_type, 255),
        "item": duplicate.item,
        "item_bytes": len(duplicate.item or b""),
    }


def _reason_to_skip(document: Document, largest_row: int) -> str | None:
    if document.sketch.fingerprint is None:
        return "no_text"
    return "too_large" if statement_size(document.key, document.url) > largest_row else None


def _outdated(verdicts: Sequence[Verdict]) -> dict[int, Outdated]:
    """The claims that are outdated once the run has ended."""
    return {
        row.id: Outdated(
            row.epoch,
            keeps_text=verdict.status == "changed" and row is verdict.before,
            by=verdict.row.id if verdict.row and verdict.claim else 0,
        )
        for verdict in verdicts
        for row in verdict.outdated
    }


def _claim_row(verdict: Verdict, claim: ClaimRow) -> ClaimRow:
    """The row of a claim with its age, and the similar claim and difference, if any."""
    if verdict.status == "unchanged" and verdict.before is not None:
        # It has been there since then.
        claim = claim._replace(created=verdict.before.created)
    if verdict.differs is None or verdict.match is None:
        return claim
    return claim._replace(
        similar_claim=verdict.match.row.id, differs=storable(verdict.differs, 255)
    )


def _keys_of(lookup: Lookup, number: int, candidates: BatchCandidates) -> Sequence[KeyRow]:
    """The keys to store; if all bands are hot, the fingerprint is a key too."""
    batch, hot_keys = candidates.batch, candidates.hot_keys
    keys = batch.keys[number]
    slots = lookup.keys.slots
    if hot_keys and keys and keys[0].slot == 0:
        full = [row in hot_keys for row in keys[:slots]]
        lookup.counts["index/hot_keys"] += any(full)
        if all(full):
            lookup.counts["index/exact_only"] += 1
            return [*keys, KeyRow(slots, fingerprint_key(batch.rows[number].fingerprint))]
    return keys


def _nearest(candidates: BatchCandidates, limit: int) -> dict[int, int]:
    """For each document the distance of the nearest claim beyond the limit."""
    nearest: dict[int, int] = {}
    beyond = candidates.pairs[candidates.pairs["distance"] > limit]
    for number, distance in beyond[["document", "distance"]].tolist():
        nearest[number] = min(distance, nearest.get(number, distance))
    return nearest

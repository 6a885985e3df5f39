"""One transaction: claims are released, confirmed and made, and duplicates recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection

from scrapy_simhash.db.connections import LARGEST_ROW
from scrapy_simhash.db.lock import ask_lock
from scrapy_simhash.db.pipeline import Answer
from scrapy_simhash.db.statements import storable
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index.batch import (
    Batch,
    KeyRow,
    duplicate_row,
    fingerprint_key,
    pack_keys,
    packed_text,
    statement_size,
)
from scrapy_simhash.index.budgets import UsageCounters
from scrapy_simhash.index.comparing import compared, compared_in_batch, match_of
from scrapy_simhash.index.decide import Decision, decide, of_group, stands_for
from scrapy_simhash.index.lookup import Lookup
from scrapy_simhash.index.queries import Found, Hits
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import Claim, Document, Duplicate, Row, Verdict
from scrapy_simhash.index.writer import Writer, ask_present, ask_to_confirm, deletion_row
from scrapy_simhash.text.packed import TooLarge


class _Asked(NamedTuple):
    """The answers to what is asked together with the lock.

    Attributes:
        confirmed: to the confirmation.
        hits: to :meth:`Lookup.ask`.
        present: which claims of the duplicates still exist.
    """

    confirmed: Answer | None
    hits: Answer | None
    present: Answer | None


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one transaction, prepared before the lock is taken.

    Attributes:
        lookup: of the namespace.
        budgets: bytes of texts and of items that it may store.
        largest_row: see :class:`Connections`.
        run: the run that claims.
        now: seconds since the epoch, the same for each attempt.
        batch: the documents to be claimed, if any.
        confirm: rows of claims.
        release: rows of claims.
        duplicates: rows of duplicates, each with its compressed text.
    """

    lookup: Lookup
    budgets: tuple[float, float]
    largest_row: int
    run: Run
    now: float
    batch: Batch | None
    confirm: Sequence[Row]
    release: Sequence[Row]
    duplicates: Sequence[tuple[dict[str, Any], bytes | None]]

    def execute(self, connection: Connection, retried: bool) -> tuple[list[Verdict], UsageCounters]:
        """Take the lock and do the work; `retried` if an earlier attempt may be committed."""
        namespace = self.lookup.namespace.id
        new_claims = len(self.batch.documents) if self.batch else 0
        locking = ask_lock(connection, namespace, new_claims)
        # Releasing comes first, and depends on the answer to the lock.
        asked = None if self.release else self._ask(connection)
        writer = Writer(connection, namespace, locking(), self.budgets)
        writer.usage.largest_text = min(writer.usage.largest_text, self.largest_row // 2)
        writer.delete([deletion_row(row) for row in self.release], orphaned=True)
        asked = asked or self._ask(connection)
        if writer.make_again(self.confirm, asked.confirmed):
            asked = self._ask(connection)
        verdicts: list[Verdict] = []
        if self.batch is not None and asked.hits is not None:
            made = self.lookup.made_before(connection, self.batch, self.now) if retried else {}
            hits = self.lookup.hits(asked.hits)
            verdicts = self._claim(connection, writer, self.batch, hits, made, retried=retried)
        if asked.present is not None:
            writer.record_duplicates(self.duplicates, asked.present, retried=retried)
        writer.usage.record()
        if retried:
            # The server may have been down to be restored from a backup.
            self.run.check(connection)
        return verdicts, writer.usage

    def _claim(
        self,
        connection: Connection,
        writer: Writer,
        batch: Batch,
        hits: Hits,
        made: dict[int, Row],
        *,
        retried: bool,
    ) -> list[Verdict]:
        """Decide on the batch, and write its claims; `made` are those of an earlier attempt."""
        lookup = self.lookup
        found = lookup.candidates(connection, batch, hits)
        lookup.counts.candidates += len(found.claims)
        if learns := lookup.rule.learn:
            lookup.learned.refresh(connection, lookup.namespace.id, hits.learned)
        wanted = [
            row._replace(id=number, origin=number)
            for row, number in zip(batch.rows, writer.numbers, strict=True)
        ]
        decisions = decide(
            wanted,
            [document.facts for document in batch.documents],
            compared(connection, lookup, batch, found, hits.newest),
            partial(compared_in_batch, batch),
            rule=lookup.rule,
            newest=hits.newest,
            made=made,
            learned=lookup.learned.ignored,
        )
        # An earlier attempt may have counted them.
        if learns and not retried:
            pairs = [
                (mine, document.facts, decision.pair.claim)
                for mine, document, decision in zip(wanted, batch.documents, decisions, strict=True)
                if decision.pair is not None and document.facts is not None
            ]
            lookup.learned.note(connection, lookup.namespace.id, pairs, writer.numbers.stop - 1)
        fresh = {
            number: _beside(wanted[number], decision)
            for number, decision in enumerate(decisions)
            if decision.claims and number not in made
        }
        written = made | _write(writer, lookup, batch, found, fresh)
        writer.touch(
            [
                stands_for(decision.match.claim, wanted[number])
                for number, decision in enumerate(decisions)
                # A changed version has a claim of its own; the old claim stays as it is.
                if decision.kind == "same" and decision.match and not decision.claims
            ],
            self.now,
        )
        return [
            _verdict(decision, written.get(number), lookup.bits)
            for number, decision in enumerate(decisions)
        ]

    def _ask(self, connection: Connection) -> _Asked:
        """Confirm, and ask for everything that does not depend on another answer."""
        namespace = self.lookup.namespace.id
        confirmed = ask_to_confirm(connection, namespace, self.confirm)
        hits = None if self.batch is None else self.lookup.ask(connection, self.batch)
        claims = {row["claim"] for row, _ in self.duplicates}
        present = ask_present(connection, namespace, claims) if claims else None
        return _Asked(confirmed, hits, present)


def execute(
    database: Database,
    run: Run,
    lookup: Lookup,
    budgets: tuple[float, float],
    claims: Sequence[Document],
    **given: Any,
) -> list[Verdict]:
    """Do the work of one transaction; see :meth:`Index.execute`."""
    most = database.connections.largest_row
    reasons = [_reason_to_skip(document, most) for document in claims]
    wanted = [document for document, reason in zip(claims, reasons, strict=True) if not reason]
    work = _prepare(lookup, budgets, most, run, database.now(), documents=wanted, **given)
    try:
        decided, usage = database.transact_once(work.execute, lookup.namespace.id, in_pipeline=True)
    except TooLarge as error:
        if claims or given["duplicates"]:
            raise
        # Outcomes are small: it must be something else, and they must not be lost.
        raise IndexUnavailable(str(error)) from error.__cause__
    lookup.note(len(wanted), usage)
    answers = iter(decided)
    return [Verdict("skipped", reason=reason) if reason else next(answers) for reason in reasons]


def _reason_to_skip(document: Document, largest_row: int) -> str | None:
    if document.sketch.fingerprint is None:
        return "no_text"
    is_too_large = statement_size(document.key, document.url) > largest_row
    return "too_large" if is_too_large else None


def _prepare(
    lookup: Lookup,
    budgets: tuple[float, float],
    largest_row: int,
    run: Run,
    now: float,
    *,
    documents: Sequence[Document],
    confirm: Sequence[Claim],
    release: Sequence[Claim],
    duplicates: Sequence[Duplicate],
) -> Work:
    """Prepare the work of one transaction; see :meth:`Index.execute`.

    Raises:
        TooLarge: a duplicate, or all of them together.
    """
    keeps, claimant = budgets[0] > 0, run.claimant
    namespace = lookup.namespace

    def mine(claims: Sequence[Claim]) -> list[Row]:
        """Without those of an earlier namespace of this name."""
        return [claim.row for claim in claims if claim.row.namespace == namespace.id]

    def recorded(duplicate: Duplicate) -> tuple[dict[str, Any], bytes | None]:
        row = duplicate_row(
            duplicate, namespace=namespace.id, claimant=claimant, width=lookup.width, now=now
        )
        if duplicate.match.first_seen.timestamp() < namespace.created:
            # The claim belonged to an earlier namespace of this name: its number is not valid here.
            row["claim"] = 0
        return row, packed_text(duplicate.document) if keeps else None

    rows = list(map(recorded, duplicates))
    sizes = [statement_size(row["key"], row["url"], row["item"]) for row, _ in rows]
    if max(sizes, default=0) > largest_row or sum(sizes) > LARGEST_ROW:
        raise TooLarge(f"duplicates of {sum(sizes):,} bytes; a row may have {largest_row:,}")
    return Work(
        lookup,
        budgets,
        largest_row,
        run,
        now,
        lookup.batch(documents, claimant, now=now, keep_texts=keeps) if documents else None,
        mine(confirm),
        mine(release),
        rows,
    )


def _verdict(decision: Decision, row: Row | None, bits: int) -> Verdict:
    match = match_of(decision.match, bits) if decision.match else None
    claim = Claim(row.id, row) if row else None
    return Verdict(decision.kind, match=match, claim=claim, differs=decision.differs)


def _beside(row: Row, decision: Decision) -> Row:
    """The row of a claim with its group, and the similar claim and difference, if any."""
    row = of_group(row, decision)
    if decision.differs is None or decision.match is None:
        return row
    return row._replace(beside=decision.match.claim.id, differs=storable(decision.differs, 255))


def _write(
    writer: Writer, lookup: Lookup, batch: Batch, found: Found, fresh: Mapping[int, Row]
) -> dict[int, Row]:
    """Write the claims of some documents of a batch, given by their numbers."""
    nearest = _nearest(found, lookup.rule.limit)
    keys: list[Sequence[KeyRow]] = []
    rows: dict[int, Row] = {}
    texts: dict[int, bytes] = {}
    for number, row in fresh.items():
        own = _keys_of(lookup, batch, number, found)
        keys.append(own)
        packed = row.packed_keys
        if packed is not None and len(own) > len(batch.keys[number]):
            packed += pack_keys(own[-1:])
        far = nearest.get(number)
        # Copying a row of so many fields is slow, and rarely necessary.
        is_done = far is None and packed is row.packed_keys
        rows[number] = row if is_done else row._replace(nearest=far, packed_keys=packed)
        if (text := batch.texts[number]) is not None:
            texts[row.id] = text
    writer.insert(list(rows.values()), keys, found.hot_keys, texts)
    return rows


def _keys_of(lookup: Lookup, batch: Batch, number: int, found: Found) -> Sequence[KeyRow]:
    """The keys to store; if all bands are hot, the fingerprint is a key too."""
    keys = batch.keys[number]
    slots = lookup.keys.slots
    if found.hot_keys and keys[0].slot == 0:
        full = [row in found.hot_keys for row in keys[:slots]]
        lookup.counts.hot_keys += any(full)
        if all(full):
            lookup.counts.exact_only += 1
            return [*keys, KeyRow(slots, fingerprint_key(batch.rows[number].fingerprint))]
    return keys


def _nearest(found: Found, limit: int) -> dict[int, int]:
    """For each document the distance of the nearest claim beyond the limit."""
    nearest: dict[int, int] = {}
    beyond = found.distances > limit
    for number, distance in zip(
        found.documents[beyond].tolist(), found.distances[beyond].tolist(), strict=True
    ):
        nearest[number] = min(distance, nearest.get(number, distance))
    return nearest

"""One transaction: claims are released, confirmed and made, and duplicates recorded."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection

from scrapy_simhash.db.connections import LARGEST_ROW
from scrapy_simhash.db.lock import ask_lock
from scrapy_simhash.db.pipeline import Answer
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import storable
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index import writer_statements as sql
from scrapy_simhash.index.batch import (
    Batch,
    KeyRow,
    duplicate_row,
    fingerprint_key,
    pack_keys,
    packed_text,
    statement_size,
    with_aliases,
)
from scrapy_simhash.index.budgets import UsageCounters
from scrapy_simhash.index.comparing import compared, compared_in_batch, match_of
from scrapy_simhash.index.decide import decide, of_group, stands_for
from scrapy_simhash.index.journal import entries, forget, record
from scrapy_simhash.index.lookup import Lookup, Outdated, ask_rows, prefetch
from scrapy_simhash.index.past import changes_of_batch, places_of
from scrapy_simhash.index.queries import NOT_PREFETCHED, Found, Prefetched
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import Change, Claim, Document, Duplicate, Row, Verdict
from scrapy_simhash.index.visits import NO_VISITS, Decision, Visits
from scrapy_simhash.index.writer import Writer, ask_to_confirm, deletion_row
from scrapy_simhash.text.packed import TooLarge


class _Asked(NamedTuple):
    """The answers to what is asked together with the lock."""

    confirmed: Answer | None
    hits: Answer | None
    #: What was looked up before the lock.
    ahead: Prefetched
    #: Which claims of the duplicates exist, and what earlier visits recorded of their identities.
    present: Answer | None
    earlier: Answer | None


class _Done(NamedTuple):
    """What a transaction did, and when it got the lock, after how many seconds."""

    verdicts: list[Verdict]
    usage: UsageCounters
    outdated: dict[int, Outdated]
    waited: float
    locked_at: float


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one transaction, prepared before the lock is taken."""

    lookup: Lookup
    #: Bytes of texts and of items that the namespace may store.
    budgets: tuple[float, float]
    largest_row: int
    run: Run
    #: The same for each attempt.
    now: float
    batch: Batch | None
    confirm: Sequence[Row]
    release: Sequence[Row]
    #: Claims of unchanged items that were not stored after all.
    restore: Sequence[Claim]
    #: Rows, each with its compressed text.
    duplicates: Sequence[tuple[dict[str, Any], bytes | None]]

    @property
    def visits(self) -> Visits:
        """Which claims are current."""
        return self.run.visits if self.lookup.rule.known else NO_VISITS

    def execute(self, connection: Connection, retried: bool) -> _Done:
        """Take the lock and do the work; `retried` if an earlier attempt may be committed."""
        namespace = self.lookup.namespace.id
        new_claims = len(self.batch.documents) if self.batch else 0
        ahead = prefetch(connection, self.lookup, self.batch) if self.batch else NOT_PREFETCHED
        asked_at = time.monotonic()
        locking = ask_lock(connection, namespace, new_claims)
        # Releasing comes first, and depends on the answer to the lock.
        asked = None if self.release or self.restore else self._ask(connection, ahead)
        held, locked_at = locking(), time.monotonic()
        writer = Writer(connection, namespace, held, self.budgets)
        writer.usage.largest_text = min(writer.usage.largest_text, self.largest_row // 2)
        writer.delete([deletion_row(row) for row in self.release], orphaned=True)
        writer.restore(self.restore)
        writer.meet(self.lookup.replaced_by(row.id for row in self.release), self.run.id)
        forget(connection, namespace, [row.token for row in self.release])
        forget(connection, namespace, [claim.row.token for claim in self.restore])
        asked = asked or self._ask(connection, ahead)
        if writer.make_again(self.confirm, asked.confirmed):
            asked = self._ask(connection, ahead)
        verdicts: list[Verdict] = []
        outdated: dict[int, Outdated] = {}
        if self.batch is not None and asked.hits is not None:
            made = self.lookup.made_before(connection, self.batch, self.now) if retried else {}
            outdated, verdicts = self._claim(
                connection, writer, self.batch, asked, made, retried=retried
            )
        if asked.present is not None and asked.earlier is not None:
            writer.record_duplicates(self.duplicates, asked.present, asked.earlier, retried=retried)
        writer.usage.record()
        if retried:
            # The server may have been down to be restored from a backup.
            self.run.check(connection)
        return _Done(verdicts, writer.usage, outdated, locked_at - asked_at, locked_at)

    def _claim(
        self,
        connection: Connection,
        writer: Writer,
        batch: Batch,
        asked: _Asked,
        made: dict[int, Row],
        *,
        retried: bool,
    ) -> tuple[dict[int, Outdated], list[Verdict]]:
        """Decide on the batch and write its claims; `made` are those of an earlier attempt."""
        lookup = self.lookup
        hits = lookup.hits(cast("Answer", asked.hits))
        batch = with_aliases(batch, hits.newest)
        found = lookup.candidates(connection, batch, hits, asked.ahead)
        lookup.counts.candidates += len(found.claims)
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
            visits=self.visits,
            places=places_of(connection, lookup, hits),
            made=made,
        )
        fresh = {
            number: _beside(wanted[number], decision)
            for number, decision in enumerate(decisions)
            if decision.claims and number not in made
        }
        written = made | _write(writer, lookup, batch, found, fresh)
        writer.touch(
            [
                stands_for(decision.match.claim, mine)
                for mine, decision in zip(wanted, decisions, strict=True)
                # A changed version has a claim of its own; the old claim stays as it is.
                if decision.kind == "same" and decision.match and not decision.claims
            ],
            self.now,
        )
        changes = changes_of_batch(connection, lookup, batch.documents, wanted, decisions)
        decided = list(zip(wanted, decisions, changes, strict=True))
        new = [mine for number, mine in enumerate(decided) if number not in made]
        rows = [row for mine in new for row in entries(*mine)]
        record(connection, rows, retried=retried)
        return _outdated(wanted, decisions), [
            self._verdict(*mine, written.get(number)) for number, mine in enumerate(decided)
        ]

    def _verdict(self, mine: Row, decision: Decision, change: Change, row: Row | None) -> Verdict:
        found = decision.match
        claim = Claim(row.id, row) if row else None
        if decision.kind == "same" and claim is None and found and self.lookup.rule.known == "pass":
            claim = Claim(found.claim.id, stands_for(found.claim, mine), before=found.claim)
        return Verdict(
            decision.kind,
            match=match_of(found, self.lookup.bits) if found else None,
            claim=claim,
            differs=decision.differs,
            change=change,
        )

    def _ask(self, connection: Connection, ahead: Prefetched) -> _Asked:
        """Confirm, and ask for everything that does not depend on another answer."""
        namespace = self.lookup.namespace.id
        confirmed = ask_to_confirm(connection, namespace, self.confirm)
        hits = None if self.batch is None else self.lookup.ask(connection, self.batch)
        ahead = ahead._replace(rows=ask_rows(connection, self.lookup, ahead.ids))
        if not self.duplicates:
            return _Asked(confirmed, hits, ahead, None, None)
        claims, identities = (
            {"here": namespace, "numbers": {row[name] for row, _ in self.duplicates}}
            for name in ("claim", "identity")
        )
        present = sql.present.ask(connection, claims)
        earlier = sql.known.ask(connection, identities)
        return _Asked(confirmed, hits, ahead, present, earlier)


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
        done = database.transact_once(work.execute, lookup.namespace.id, in_pipeline=True)
    except TooLarge as error:
        if claims or given["duplicates"]:
            raise
        # Outcomes are small: it must be something else, and they must not be lost.
        raise IndexUnavailable(str(error)) from error.__cause__
    # SQLite has no server that could answer while somebody else has the lock.
    held = time.monotonic() - done.locked_at
    lookup.is_contended = database.dialect != "sqlite" and done.waited > held
    lookup.note(len(wanted), done.usage)
    for number in lookup.replaced_by(row.id for row in work.release):
        del lookup.outdated[number]
    lookup.outdated |= done.outdated
    answers = iter(done.verdicts)
    return [Verdict("skipped", reason=reason) if reason else next(answers) for reason in reasons]


def _reason_to_skip(document: Document, largest_row: int) -> str | None:
    if document.sketch.fingerprint is None:
        return "no_text"
    return "too_large" if statement_size(document.key, document.url) > largest_row else None


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
    """Prepare the work of one transaction; raises TooLarge, see :meth:`Index.execute`."""
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
        mine([claim for claim in release if claim.before is None]),
        [claim for claim in release if claim.before and claim.row.namespace == namespace.id],
        rows,
    )


def _outdated(wanted: Sequence[Row], decisions: Sequence[Decision]) -> dict[int, Outdated]:
    """The claims that are outdated once the run has ended."""
    return {
        row.id: Outdated(
            row.epoch,
            keeps_text=decision.status == "changed" and row is decision.before,
            by=mine.id if decision.claims else 0,
        )
        for mine, decision in zip(wanted, decisions, strict=True)
        for row in decision.outdated
    }


def _beside(row: Row, decision: Decision) -> Row:
    """The row of a claim with its group, and the similar claim and difference, if any."""
    row = of_group(row, decision)
    if decision.status == "unchanged" and decision.before is not None:
        # It has been there since then.
        row = row._replace(created=decision.before.created)
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
    if found.hot_keys and keys and keys[0].slot == 0:
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

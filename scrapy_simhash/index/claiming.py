"""One transaction: claims are released, confirmed and made, and duplicates recorded."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection

from scrapy_simhash.db import schema
from scrapy_simhash.db.engine import LARGEST_ROW
from scrapy_simhash.db.lock import ask_lock
from scrapy_simhash.db.statements import Answer
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import storable
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index.batch import (
    Batch,
    KeyRow,
    document_row,
    fingerprint_key,
    pack_keys,
    packed_text,
    share_of,
    statement_size,
    with_aliases,
)
from scrapy_simhash.index.comparing import compared, compared_in_batch, match_of, places_of
from scrapy_simhash.index.decide import decide, of_group, stands_for
from scrapy_simhash.index.journal import changes_of_batch, entries, forget, record
from scrapy_simhash.index.lookup import Ahead, Lookup, Outdated, ask_rows, prefetch
from scrapy_simhash.index.queries import Found
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import Change, Claim, Claimant, Document, Duplicate, Row, Verdict
from scrapy_simhash.index.visits import NO_VISITS, Decision
from scrapy_simhash.index.writer import Writer, ask_for_duplicates, ask_to_confirm
from scrapy_simhash.text.packed import TooLarge

# The columns that claims and duplicates have in common.
_SHARED = [name for name in Row._fields if name in schema.duplicates.c]


class _Asked(NamedTuple):
    """The answers to what is asked together with the lock."""

    confirmed: Answer | None
    hits: Answer | None
    ahead: Ahead
    duplicates: tuple[Answer, Answer] | None


class Work:
    """The work of one transaction, prepared before the lock is taken; see :meth:`Index.execute`.

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
        confirm: Sequence[Claim],
        release: Sequence[Claim],
        duplicates: Sequence[Duplicate],
    ) -> None:
        self._database, self._run, self._lookup, self._budgets = database, run, lookup, budgets
        self._largest_row = most = database.connections.largest_row
        self._namespace = namespace = lookup.namespace.id
        # The same for each attempt.
        claimant = run.claimant._replace(namespace=namespace, now=database.now())
        self._now = claimant.now
        self._reasons = [_reason_to_skip(document, most) for document in claims]
        wanted = [one for one, reason in zip(claims, self._reasons, strict=True) if not reason]
        keeps = budgets[0] > 0
        self._batch = lookup.batch(wanted, claimant, keep_texts=keeps) if wanted else None
        # Without those of an earlier namespace of this name.
        self._confirm = [claim.row for claim in confirm if claim.row.namespace == namespace]
        release = [claim for claim in release if claim.row.namespace == namespace]
        self._release = [claim.row for claim in release if claim.before is None]
        #: Claims of unchanged items that were not stored after all.
        self._restore = [claim for claim in release if claim.before]
        #: Rows, each with its compressed text.
        self._duplicates = [
            (
                _duplicate_row(duplicate, claimant, lookup),
                packed_text(duplicate.document) if keeps else None,
            )
            for duplicate in duplicates
        ]
        sizes = [statement_size(row["key"], row["url"], row["item"]) for row, _ in self._duplicates]
        if max(sizes, default=0) > most or sum(sizes) > LARGEST_ROW:
            raise TooLarge(f"duplicates of {sum(sizes):,} bytes; a row may have {most:,}")

    def do(self) -> list[Verdict]:
        """Do it; returns the verdicts on the documents to be claimed."""
        lookup = self._lookup
        try:
            verdicts = self._database.transact_once(
                self._execute, self._namespace, in_pipeline=True
            )
        except TooLarge as error:
            if self._reasons or self._duplicates:
                raise
            # Outcomes are small: it must be something else, and they must not be lost.
            raise IndexUnavailable(str(error)) from error.__cause__
        held = time.monotonic() - self._locked_at
        # SQLite has no server that could answer while somebody else has the lock.
        is_server = self._database.dialect != "sqlite"
        lookup.is_contended = is_server and self._locked_at - self._asked_at > held
        lookup.counts.claims += self._reasons.count(None)
        lookup.counts.items += self._evicted["items"]
        lookup.counts.orphans += self._evicted["orphans"]
        lookup.counts.texts += self._evicted["texts"]
        for number in lookup.replaced_by(row.id for row in self._release):
            del lookup.outdated[number]
        lookup.outdated |= self._outdated
        answers = iter(verdicts)
        return [
            Verdict("skipped", reason=reason) if reason else next(answers)
            for reason in self._reasons
        ]

    def _execute(self, connection: Connection, retried: bool) -> list[Verdict]:
        """Take the lock and do the work; `retried` if an earlier attempt may be committed."""
        lookup, batch = self._lookup, self._batch
        known = prefetch(connection, lookup, batch)
        self._asked_at = time.monotonic()
        new_claims = len(batch.documents) if batch else 0
        locking = ask_lock(connection, self._namespace, new_claims)
        # Releasing comes first, and depends on the answer to the lock.
        asked = None if self._release or self._restore else self._ask(connection, known)
        held, self._locked_at = locking(), time.monotonic()
        writer = Writer(connection, self._namespace, held, self._budgets)
        writer.largest_text = min(writer.largest_text, self._largest_row // 2)
        writer.delete(self._release, orphaned=True)
        writer.restore(self._restore)
        writer.meet(lookup.replaced_by(row.id for row in self._release), self._run.id)
        gone = [*self._release, *(claim.row for claim in self._restore)]
        forget(connection, self._namespace, [row.token for row in gone])
        asked = asked or self._ask(connection, known)
        if writer.make_again(self._confirm, asked.confirmed):
            asked = self._ask(connection, known)
        verdicts: list[Verdict] = []
        self._outdated: dict[int, Outdated] = {}
        if batch is not None and asked.hits is not None:
            made = lookup.made_before(connection, batch, self._now) if retried else {}
            verdicts = self._claim(connection, writer, batch, asked, made, retried=retried)
        if asked.duplicates is not None:
            writer.record_duplicates(self._duplicates, asked.duplicates)
        writer.record()
        self._evicted = writer.evicted
        if retried:
            # The server may have been down to be restored from a backup.
            self._run.check(connection)
        return verdicts

    def _claim(
        self,
        connection: Connection,
        writer: Writer,
        batch: Batch,
        asked: _Asked,
        made: dict[int, Row],
        *,
        retried: bool,
    ) -> list[Verdict]:
        """Decide on the batch and write its claims; `made` are those of an earlier attempt."""
        lookup = self._lookup
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
            visits=self._run.visits if lookup.rule.known else NO_VISITS,
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
            self._now,
        )
        changes = changes_of_batch(connection, lookup, batch.documents, wanted, decisions)
        decided = list(zip(wanted, decisions, changes, strict=True))
        new = [mine for number, mine in enumerate(decided) if number not in made]
        rows = [row for mine in new for row in entries(*mine)]
        record(connection, rows, retried=retried)
        self._outdated = _outdated(wanted, decisions)
        return [self._verdict(*mine, written.get(number)) for number, mine in enumerate(decided)]

    def _verdict(self, mine: Row, decision: Decision, change: Change, row: Row | None) -> Verdict:
        found, known = decision.match, self._lookup.rule.known
        claim = Claim(row.id, row) if row else None
        if decision.kind == "same" and claim is None and found and known == "pass":
            claim = Claim(found.claim.id, stands_for(found.claim, mine), before=found.claim)
        return Verdict(
            decision.kind,
            match=match_of(found, self._lookup.bits) if found else None,
            claim=claim,
            differs=decision.differs,
            change=change,
        )

    def _ask(self, connection: Connection, known: Collection[int]) -> _Asked:
        """Confirm, and ask for everything that does not depend on another answer."""
        lookup = self._lookup
        confirmed = ask_to_confirm(connection, self._namespace, self._confirm)
        hits = None if self._batch is None else lookup.ask(connection, self._batch)
        ahead = Ahead(known, ask_rows(connection, lookup, known))
        rows = [row for row, _ in self._duplicates]
        recorded = ask_for_duplicates(connection, self._namespace, rows) if rows else None
        return _Asked(confirmed, hits, ahead, recorded)


def _duplicate_row(duplicate: Duplicate, claimant: Claimant, lookup: Lookup) -> dict[str, Any]:
    """The row of a near-duplicate, but for what depends on the present state of its claim."""
    match, mine = duplicate.match, document_row(duplicate.document, claimant, lookup.width)
    # The number of a claim of an earlier namespace of this name is not valid here.
    is_here = match.first_seen.timestamp() >= lookup.namespace.created
    return {
        **{name: getattr(mine, name) for name in _SHARED},
        "url": None if mine.url == mine.key else mine.url,
        "created": mine.created if duplicate.since is None else duplicate.since,
        "id": duplicate.id,
        "claim": match.claim if is_here else 0,
        "distance": match.distance,
        "similarity": match.similarity,
        "estimated": match.estimated,
        "action": duplicate.action,
        "item_type": duplicate.item_type and storable(duplicate.item_type, 255),
        "item": duplicate.item,
        "item_bytes": len(duplicate.item or b""),
        "site": share_of(mine.url),
    }


def _reason_to_skip(document: Document, largest_row: int) -> str | None:
    if document.sketch.fingerprint is None:
        return "no_text"
    return "too_large" if statement_size(document.key, document.url) > largest_row else None


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

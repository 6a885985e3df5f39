"""One transaction: claims are released, confirmed and made, and duplicates recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Connection

from scrapy_simhash.db import schema
from scrapy_simhash.db.engine import LARGEST_ROW
from scrapy_simhash.db.lock import Sizes, first_number, lock
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import storable
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
from scrapy_simhash.index.candidates import Candidates
from scrapy_simhash.index.comparing import decide_batch, match_of
from scrapy_simhash.index.decide import of_group, stands_for
from scrapy_simhash.index.journal import changes_of_batch, entries, forget, record
from scrapy_simhash.index.lookup import Lookup, Outdated
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import Change, Claim, Claimant, Document, Duplicate, Row, Verdict
from scrapy_simhash.index.visits import Decision
from scrapy_simhash.index.writer import Writer
from scrapy_simhash.item.addresses import address_of
from scrapy_simhash.text.packed import TooLarge

# The columns that claims and duplicates have in common.
_SHARED = [name for name in Row._fields if name in schema.duplicates.c]


class Jobs(NamedTuple):
    """What one transaction does: see :meth:`Index.execute`."""

    claims: Sequence[Document]
    confirm: Sequence[Claim]
    release: Sequence[Claim]
    duplicates: Sequence[Duplicate]


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
        jobs: Jobs,
    ) -> None:
        claims, confirm, release, duplicates = jobs
        self._database, self._run, self._lookup, self._budgets = database, run, lookup, budgets
        most = database.connections.largest_row
        self._namespace = namespace = lookup.namespace.id
        # The same for each attempt.
        claimant = run.claimant._replace(namespace=namespace, now=database.now())
        self._now = claimant.now
        self._reasons = [_reason_to_skip(document, most) for document in claims]
        wanted = [one for one, reason in zip(claims, self._reasons, strict=True) if not reason]
        keeps = budgets[0] > 0
        self._largest_text = min(largest(budgets[0]), most // 2)
        self._batch = lookup.batch(wanted, claimant, keep_texts=keeps) if wanted else None
        # Without those of an earlier namespace of this name.
        self._confirm = [claim.row for claim in confirm if claim.row.namespace == namespace]
        gone = [claim for claim in release if claim.row.namespace == namespace]
        self._release = [claim.row for claim in gone if claim.before is None]
        #: Claims of unchanged items that were not stored after all.
        self._restore = [claim for claim in gone if claim.before]
        #: Rows, each with its compressed text.
        self._duplicates = [
            (
                _duplicate_row(duplicate, claimant, lookup),
                packed_text(duplicate.document) if keeps else None,
            )
            for duplicate in duplicates
        ]
        sizes = [
            statement_size(row["key"] + row["original"], row["url"], row["item"])
            for row, _ in self._duplicates
        ]
        if max(sizes, default=0) > most or sum(sizes) > LARGEST_ROW:
            raise TooLarge(f"duplicates of {sum(sizes):,} bytes; a row may have {most:,}")

    def do(self) -> list[Verdict]:
        """Do it; returns the verdicts on the documents to be claimed."""
        lookup, batch = self._lookup, self._batch
        try:
            ahead = counter = None
            if batch is not None:
                found = self._database.read(lambda connection: lookup.read(connection, batch))
                counter = found.counter
                ahead = self._decide(found, first_number(counter))
            work = partial(self._execute, ahead)
            verdicts = self._database.transact_once(work, self._namespace, counter)
        except TooLarge as error:
            if self._reasons or self._duplicates:
                raise
            # Outcomes are small: it must be something else, and they must not be lost.
            raise IndexUnavailable(str(error)) from error.__cause__
        lookup.counts.claims += self._reasons.count(None)
        lookup.counts.items += self._evicted["items"]
        lookup.counts.orphans += self._evicted["orphans"]
        lookup.counts.texts += self._evicted["texts"]
        for number in lookup.replaced_by(row.id for row in self._release):
            del lookup.outdated[number]
        lookup.replace(self._outdated)
        lookup.copies.note(self._copies)
        answers = iter(verdicts)
        return [
            Verdict("skipped", reason=reason) if reason else next(answers)
            for reason in self._reasons
        ]

    def _decide(
        self, found: Candidates, first: int, made: Mapping[int, Row] = MappingProxyType({})
    ) -> _Decided:
        visits = self._run.visits
        return _Decided(found, *decide_batch(self._lookup, found, visits, first, made))

    def _execute(
        self, ahead: _Decided | None, connection: Connection, retried: bool
    ) -> list[Verdict]:
        """Take the lock and do the work; `retried` if an earlier attempt may be committed."""
        lookup, batch = self._lookup, self._batch
        new_claims = len(batch.documents) if batch else 0
        held = lock(connection, self._namespace, new_claims, self._foreseen(ahead))
        writer = Writer(connection, self._namespace, held, self._budgets)
        writer.largest_text = self._largest_text
        writer.delete(self._release, orphaned=True)
        writer.restore(self._restore)
        writer.meet(lookup.replaced_by(row.id for row in self._release), self._run.id)
        gone = [*self._release, *(claim.row for claim in self._restore)]
        forget(connection, self._namespace, [row.token for row in gone])
        was_made_again = writer.confirm(self._confirm)
        verdicts: list[Verdict] = []
        self._outdated: dict[int, Outdated] = {}
        self._copies: list[tuple[Row, Row]] = []
        if batch is not None and ahead is not None:
            before = ahead.found.counter
            made = lookup.made_before(connection, batch, before) if retried else {}
            is_same = held.counter == before and not (gone or was_made_again or made)
            if not is_same or any(row.id in ahead.found.rows for row in self._confirm):
                found = lookup.read(connection, batch)
                ahead = self._decide(found, writer.numbers.start, made)
            verdicts = self._claim(connection, writer, ahead, made, retried=retried)
        writer.record_duplicates(self._duplicates, retried=retried)
        writer.record()
        self._evicted = writer.evicted
        if retried:
            # The server may have been down to be restored from a backup.
            self._run.check(connection)
        return verdicts

    def _foreseen(self, ahead: _Decided | None) -> Sizes:
        """What is stored if nobody else writes and no duplicate was recorded before."""
        texts = [text for _, text in self._duplicates]
        claimed: list[int] = []
        if ahead is not None:
            claimed = [number for number, one in enumerate(ahead.decisions) if one.claims]
            texts += [ahead.found.batch.texts[number] for number in claimed]
        return Sizes(
            len(claimed),
            sum(len(text) for text in texts if text and len(text) <= self._largest_text),
            sum(row["item_bytes"] for row, _ in self._duplicates),
        )

    def _claim(
        self,
        connection: Connection,
        writer: Writer,
        decided: _Decided,
        made: dict[int, Row],
        *,
        retried: bool,
    ) -> list[Verdict]:
        """Write the claims of a batch; `made` are those of an earlier attempt."""
        lookup, (found, wanted, decisions) = self._lookup, decided
        lookup.counts.candidates += len(found.claims)
        fresh = {
            number: _beside(wanted[number], decision)
            for number, decision in enumerate(decisions)
            if decision.claims and number not in made
        }
        written = made | _write(writer, lookup, found, fresh)
        writer.touch(
            [
                stands_for(decision.match.claim, mine)
                for mine, decision in zip(wanted, decisions, strict=True)
                # A changed version has a claim of its own; the old claim stays as it is.
                if decision.kind == "same" and decision.match and not decision.claims
            ],
            self._now,
        )
        changes = changes_of_batch(connection, lookup, found.batch.documents, wanted, decisions)
        every = list(zip(wanted, decisions, changes, strict=True))
        new = [mine for number, mine in enumerate(every) if number not in made]
        rows = [row for mine in new for row in entries(*mine)]
        record(connection, rows, retried=retried)
        self._outdated = _outdated(wanted, decisions)
        self._copies = [
            (decision.match.claim, mine)
            for mine, decision in zip(wanted, decisions, strict=True)
            if decision.kind == "duplicate" and decision.match
        ]
        return [self._verdict(*mine, written.get(number)) for number, mine in enumerate(every)]

    def _verdict(self, mine: Row, decision: Decision, change: Change, row: Row | None) -> Verdict:
        found, known = decision.match, self._lookup.rule.known
        process = self._run.process
        claim = Claim(row.id, row, process=process) if row else None
        if decision.kind == "same" and claim is None and found and known == "pass":
            claim = Claim(found.claim.id, stands_for(found.claim, mine), found.claim, process)
        return Verdict(
            decision.kind,
            match=match_of(found, self._lookup.bits) if found else None,
            claim=claim,
            differs=decision.differs,
            change=change,
        )


class _Decided(NamedTuple):
    """A batch that was decided on: what was found, the rows to be claimed, and the decisions."""

    found: Candidates
    wanted: list[Row]
    decisions: list[Decision]


def _duplicate_row(duplicate: Duplicate, claimant: Claimant, lookup: Lookup) -> dict[str, Any]:
    """The row of a near-duplicate, but for what depends on the present state of its claim."""
    match, mine = duplicate.match, document_row(duplicate.document, claimant, lookup.width)
    is_here = match.namespace == lookup.namespace.id
    return {
        **{name: getattr(mine, name) for name in _SHARED},
        "url": None if mine.url == mine.key else mine.url,
        "created": mine.created if duplicate.since is None else duplicate.since,
        "id": duplicate.id,
        # The numbers of claims of an earlier namespace of this name are not valid here.
        "claim": match.claim if is_here else 0,
        "origin": match.origin if is_here else 0,
        "original": address_of(match.key, match.url),
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
    writer: Writer, lookup: Lookup, found: Candidates, fresh: Mapping[int, Row]
) -> dict[int, Row]:
    """Write the claims of some documents of a batch, given by their numbers."""
    batch = found.batch
    nearest = _nearest(found, lookup.rule.limit)
    keys: list[Sequence[KeyRow]] = []
    rows: dict[int, Row] = {}
    texts: dict[int, bytes] = {}
    for number, row in fresh.items():
        own = _keys_of(lookup, number, found)
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


def _keys_of(lookup: Lookup, number: int, found: Candidates) -> Sequence[KeyRow]:
    """The keys to store; if all bands are hot, the fingerprint is a key too."""
    batch = found.batch
    keys = batch.keys[number]
    slots = lookup.keys.slots
    if found.hot_keys and keys and keys[0].slot == 0:
        full = [row in found.hot_keys for row in keys[:slots]]
        lookup.counts.hot_keys += any(full)
        if all(full):
            lookup.counts.exact_only += 1
            return [*keys, KeyRow(slots, fingerprint_key(batch.rows[number].fingerprint))]
    return keys


def _nearest(found: Candidates, limit: int) -> dict[int, int]:
    """For each document the distance of the nearest claim beyond the limit."""
    nearest: dict[int, int] = {}
    beyond = found.distances > limit
    for number, distance in zip(
        found.documents[beyond].tolist(), found.distances[beyond].tolist(), strict=True
    ):
        nearest[number] = min(distance, nearest.get(number, distance))
    return nearest

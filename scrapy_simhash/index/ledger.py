"""The claims of one namespace, read and written one transaction at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sqlalchemy import select

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import LockedNamespace, ask_lock
from scrapy_simhash.index.batch import duplicate_row
from scrapy_simhash.index.budgets import PushedOut, UsageCounters
from scrapy_simhash.index.claiming import claim_batch
from scrapy_simhash.index.deletion import deletion_row
from scrapy_simhash.index.verdict import Verdict
from scrapy_simhash.index.writer import Writer, ask_standing, ask_to_confirm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection

    from scrapy_simhash.db.pipeline import Answer
    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.index.batch import Batch
    from scrapy_simhash.index.lookup import Lookup
    from scrapy_simhash.index.namespace import OpenNamespace
    from scrapy_simhash.index.verdict import Claim, Claimant, Document, Duplicate, Row

    T = TypeVar("T")

__all__ = ["Ledger"]


class _PlanChanged(Exception):
    """The keys of the namespace were made anew by somebody else."""

    def __init__(self, held: LockedNamespace) -> None:
        super().__init__(held.plan)
        self.held = held


class _Asked(NamedTuple):
    """What is asked for together with the lock.

    Attributes:
        confirmed: whether what was to be confirmed is.
        first: the keys of a batch that are there, and what its owners claimed.
        standing: the claims of duplicates.
    """

    confirmed: Answer | None
    first: Answer | None
    standing: Answer | None


class Ledger:
    """Reads and writes the claims of a namespace.

    Args:
        database: where they are.
        namespace: its row.
        lookup: how they are looked up.
        text_budget: bytes of compressed text kept in it; 0 keeps none.
        item_budget: bytes of dropped items kept in it.
    """

    def __init__(
        self,
        database: Database,
        namespace: OpenNamespace,
        lookup: Lookup,
        text_budget: int,
        item_budget: int,
    ) -> None:
        self._database = database
        self._namespace = namespace.id
        self._created = namespace.created
        self._lookup = lookup
        self._budgets = text_budget, item_budget
        self._keeps_texts = text_budget > 0

    def look_up(
        self,
        document: Document,
        claimant: Claimant,
        work: Callable[[Connection, Lookup, Batch], T],
    ) -> T:
        """Do what only reads, with a document by itself, and without the lock.

        Raises:
            IndexUnavailable: the database did not answer in time.
        """

        def read(connection: Connection) -> T:
            row = connection.execute(
                select(schema.namespaces).where(schema.namespaces.c.id == self._namespace)
            ).one_or_none()
            if row is not None and (row.plan, row.first_slot) != self._lookup.in_force:
                self._lookup.use(row.plan, row.first_slot)
            now = self._database.now()
            batch = self._lookup.batch([document], claimant, now=now, keep_texts=False)
            return work(connection, self._lookup, batch)

        return self._database.read(read)

    def execute(
        self,
        claimant: Claimant,
        claims: Sequence[Document],
        confirm: Sequence[Claim],
        release: Sequence[Claim],
        duplicates: Sequence[Duplicate],
    ) -> list[Verdict]:
        """Do all of this in one transaction, in this order: release, confirm, claim, remember.

        Returns:
            the verdicts on `claims`, in their order.

        Raises:
            NamespaceGone: the namespace was reset.
            IndexUnavailable: nothing of it is known to have been done.
        """
        wanted = [document for document in claims if document.sketch.fingerprint is not None]
        now, batch = self._database.now(), None
        if wanted:
            keeps = self._keeps_texts
            batch = self._lookup.batch(wanted, claimant, now=now, keep_texts=keeps)
        stored = self._mine(confirm)
        dropped = [self._row(one, claimant.run, now) for one in duplicates]

        def write(connection: Connection, retried: bool) -> tuple[list[Verdict], PushedOut]:
            locking = ask_lock(connection, self._namespace, len(wanted))
            ask = partial(self._ask, connection, confirm=stored, batch=batch, duplicates=dropped)
            # What is released hangs on what the lock brings, and goes before all else.
            asked = None if release else ask()
            held = locking()
            if (held.plan, held.first_slot) != self._lookup.in_force:
                raise _PlanChanged(held)
            usage = UsageCounters(connection, self._namespace, held, *self._budgets)
            writer = Writer(connection, self._namespace, held, usage)
            writer.forget([deletion_row(row) for row in self._mine(release)], orphaned=True)
            asked = asked or ask()
            if writer.make_again(stored, asked.confirmed):
                asked = ask()
            decided: list[Verdict] = []
            if batch is not None and asked.first is not None:
                decide = partial(claim_batch, connection, self._lookup, writer, batch, held)
                decided = decide(asked=asked.first, now=now, retried=retried)
            if asked.standing is not None:
                writer.remember(dropped, asked.standing, retried=retried)
            return decided, usage.record()

        try:
            decided, pushed_out = self._database.transact_once(
                write, self._namespace, in_pipeline=True
            )
        except _PlanChanged as change:
            self._lookup.use(change.held.plan, change.held.first_slot)
            return self.execute(claimant, claims, confirm, release, duplicates)
        answers = iter(decided)
        self._lookup.counts.note(pushed_out)
        if wanted:
            self._lookup.note(len(wanted))
        nothing = Verdict("skipped", reason="no_text")
        return [
            nothing if document.sketch.fingerprint is None else next(answers) for document in claims
        ]

    def _ask(
        self,
        connection: Connection,
        *,
        confirm: Sequence[Row],
        batch: Batch | None,
        duplicates: Sequence[tuple[Mapping[str, Any], bytes | None]],
    ) -> _Asked:
        """Confirm, and ask for all that hangs on no other answer."""
        confirmed = ask_to_confirm(connection, self._namespace, confirm)
        first = None if batch is None else self._lookup.reader.ask(connection, batch)
        claims = {row["claim"] for row, _ in duplicates}
        stand = ask_standing(connection, self._namespace, claims) if duplicates else None
        return _Asked(confirmed, first, stand)

    def _mine(self, claims: Sequence[Claim]) -> list[Row]:
        """The rows of claims, but for those of a namespace of this name that was reset since."""
        return [claim.row for claim in claims if claim.row.namespace == self._namespace]

    def _row(
        self, duplicate: Duplicate, run: int, now: float
    ) -> tuple[dict[str, Any], bytes | None]:
        """What is remembered of a duplicate, and its text."""
        if duplicate.match.first_seen.timestamp() < self._created:
            # That claim went with a namespace of this name that was reset: its number is another's.
            duplicate = replace(duplicate, match=replace(duplicate.match, claim=0))
        return duplicate_row(
            duplicate,
            namespace=self._namespace,
            run=run,
            width=self._lookup.width,
            now=now,
            keep_text=self._keeps_texts,
        )

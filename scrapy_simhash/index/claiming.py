"""One transaction: claims are released, confirmed and made, and what was met is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection

from scrapy_simhash.db import schema
from scrapy_simhash.db.engine import LARGEST_ROW
from scrapy_simhash.db.lock import first_number, lock
from scrapy_simhash.db.statements import insert_rows
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import State, storable
from scrapy_simhash.exceptions import IndexUnavailable, NotFound
from scrapy_simhash.index.batch import (
    Batch,
    KeyRow,
    identity_hash,
    pack_keys,
    packed_text,
    statement_size,
)
from scrapy_simhash.index.candidates import BatchCandidates
from scrapy_simhash.index.comparing import decide_batch, final
from scrapy_simhash.index.lookup import Lookup
from scrapy_simhash.index.recording import changed_fields, sighting_row
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.seen import NO_VISITS, Seen
from scrapy_simhash.index.verdict import ClaimRow, Document, LeftOut, Sighting, Verdict
from scrapy_simhash.index.visits import came_of, packed_numbers
from scrapy_simhash.index.writer import Writer, largest
from scrapy_simhash.text.packed import TooLarge


class _Decided(NamedTuple):
    """The verdicts on a batch, given what was read for it without the lock or behind it.

    `counter` is that of the namespace when it was read. The batch has the documents at `places`:
    all but changed ones of pages that were not modified.
    """

    counter: int
    places: Sequence[int]
    candidates: BatchCandidates
    verdicts: Sequence[Verdict]
    seen: Seen


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
        left_out: Sequence[LeftOut],
    ) -> None:
        most = database.connections.largest_row
        self._database, self._run, self._lookup, self._budgets = database, run, lookup, budgets
        self._namespace = namespace = lookup.namespace.id
        self._claimant = run.claimant._replace(
            # The same for each attempt.
            namespace=namespace,
            created=database.now(),
        )
        self._visits = run.visits_in(namespace) if lookup.rule.known else NO_VISITS
        self._reasons = [_reason_to_skip(document, most) for document in claims]
        pairs = zip(claims, self._reasons, strict=True)
        self._documents = [document for document, reason in pairs if not reason]
        self._batch: Batch | None = None
        self._largest_text = min(largest(budgets[0]), most // 2)
        # Without those of an earlier namespace of this name.
        confirmed = [verdict.claim for verdict in confirm if verdict.claim]
        self._confirm = [claim for claim in confirmed if claim.namespace == namespace]
        released = [one for one in release if one.row and one.row.namespace == namespace]
        self._released = [one.row.id for one in released if one.row]
        self._release = [one.claim for one in released if one.claim and not one.has_old_claim]
        self._old = [one.claim.id for one in released if one.claim and one.has_old_claim]
        self._left_out = _items(left_out, namespace)
        sizes = [statement_size("", None, one[1]) for one in self._left_out.values()]
        if max(sizes, default=0) > most or sum(sizes) > LARGEST_ROW:
            raise TooLarge(f"items of {sum(sizes):,} bytes; a row may have {most:,}")

    def do(self) -> list[Verdict | None]:
        """Do it; returns the verdicts on the documents to be claimed."""
        database, lookup = self._database, self._lookup
        decided = None
        try:
            if self._documents:
                read = database.read(self._read)
                elsewhere = partial(lookup.read_elsewhere, visits=self._visits)
                decided = self._decide(
                    *read,
                    first_number(read[0]),
                    lambda claim: database.read(partial(elsewhere, claim=claim)),
                )
            verdicts = self._run.transact(partial(self._execute, decided))
        except TooLarge as error:
            if self._reasons or self._left_out:
                raise
            # Outcomes are small: it must be something else, and they must not be lost.
            raise IndexUnavailable(str(error)) from error.__cause__
        lookup.counts["quarantine/pushed_out"] += self._evicted["items"]
        lookup.counts["quarantine/orphans_pushed_out"] += self._evicted["orphans"]
        lookup.counts["index/texts_pushed_out"] += self._evicted["texts"]
        answers = (verdicts.get(place) for place, _ in enumerate(self._documents))
        return [
            Verdict("skipped", reason=reason) if reason else next(answers)
            for reason in self._reasons
        ]

    def _read(self, connection: Connection) -> tuple[int, Sequence[int], BatchCandidates]:
        """Read what the documents are compared with, see :class:`_Decided`."""
        lookup, visits = self._lookup, self._visits
        identities = [identity_hash(document.key) for document in self._documents]
        counter, shown = lookup.read_identities(connection, identities, visits)
        seen, known = Seen(visits, shown), dict[int, Sighting]()
        places: list[int] = []
        for place, document in enumerate(self._documents):
            was = seen.was(identities[place]) if lookup.rule.known == "drop" else ()
            if before := _equal_at_once(document, was):
                known[len(places)] = before
            if before or not document.downloaded_in:
                places.append(place)
        if self._batch is None or self._batch.known.keys() != known.keys():
            documents = [self._documents[place] for place in places]
            self._batch = lookup.batch(documents, self._claimant, known)
        candidates = lookup.read(connection, self._batch, shown, visits)
        for claim in self._confirm:
            if row := candidates.rows.get(claim.id):
                candidates.rows[claim.id] = row._replace(state=State.CONFIRMED)
        return counter, places, candidates

    def _decide(
        self,
        counter: int,
        places: Sequence[int],
        candidates: BatchCandidates,
        first: int,
        elsewhere: Callable[[int], Sequence[Sighting]],
    ) -> _Decided:
        """Decide on the documents; their numbers begin with `first`."""
        lookup = self._lookup
        seen = Seen(self._visits, candidates.of_identities, candidates.meeting, elsewhere)
        verdicts = decide_batch(lookup.rule, lookup.texts, candidates, seen, first)
        return _Decided(counter, places, candidates, verdicts, seen)

    def _execute(self, decided: _Decided | None, connection: Connection) -> dict[int, Verdict]:
        """Take the lock and do the work, given what was decided before.

        Returns the verdicts by the places of the documents.
        """
        lookup = self._lookup
        held = lock(connection, self._namespace, len(self._documents))
        writer = Writer(connection, self._namespace, held, self._budgets)
        writer.largest_text = self._largest_text
        writer.release(self._released, self._old, self._claimant.run)
        writer.delete(self._release, orphaned=True)
        was_made_again = writer.confirm(self._confirm)
        verdicts = dict[int, Verdict]()
        if decided is not None:
            if held.counter != decided.counter or self._released or was_made_again:
                elsewhere = partial(lookup.read_elsewhere, connection, visits=self._visits)
                decided = self._decide(*self._read(connection), writer.numbers.start, elsewhere)
            verdicts = dict(
                zip(decided.places, self._write(connection, writer, decided), strict=True)
            )
        writer.leave_out(self._left_out)
        writer.record()
        self._evicted = writer.evicted
        return verdicts

    def _texts(self, decided: _Decided) -> dict[int, bytes]:
        """The compressed texts to store, by their numbers: those that no claim has yet."""
        texts = dict[int, bytes]()
        if not self._budgets[0]:
            return texts
        documents = decided.candidates.batch.documents
        for document, verdict in zip(documents, decided.verdicts, strict=True):
            number = verdict.row.id if verdict.row else 0
            is_stored = _has_own_claim(verdict) or not decided.seen.added[number].of_claim
            if is_stored and (text := packed_text(document)) is not None:
                texts[number] = text
        return texts

    def _write(
        self, connection: Connection, writer: Writer, decided: _Decided
    ) -> Sequence[Verdict]:
        """Write the claims and the sightings of the documents; returns the final verdicts."""
        _, _, candidates, verdicts, seen = decided
        self._lookup.counts["index/candidates"] += len(candidates.pairs)
        claims = self._write_claims(writer, candidates, verdicts)
        writer.add_texts(self._texts(decided))
        documents = candidates.batch.documents
        fields = changed_fields(connection, self._lookup, documents, verdicts)
        done = [
            replace(
                verdict,
                claim=claims.get(verdict.claim.id, verdict.claim) if verdict.claim else None,
                match=final(verdict.match) if verdict.match else None,
                fields=fields.get(number, {}),
                process=self._run.process,
            )
            for number, verdict in enumerate(verdicts)
        ]
        rows = [sighting_row(one, seen, self._run.visit) for one in done]
        insert_rows(connection, schema.sightings, rows)
        for verdict in verdicts:
            if verdict.replaces and (match := verdict.match):
                known = [*verdict.replaces, *came_of(match.row)]
                writer.extend(match.row, packed_numbers(known))
        self._delete_old(writer, seen)
        return done

    def _write_claims(
        self, writer: Writer, candidates: BatchCandidates, verdicts: Sequence[Verdict]
    ) -> dict[int, ClaimRow]:
        """Write the claims of the documents of a batch; returns them by their numbers."""
        batch = candidates.batch
        nearest = _nearest(candidates, self._lookup.rule.limit)
        keys: list[Sequence[KeyRow]] = []
        rows: list[ClaimRow] = []
        for number, verdict in enumerate(verdicts):
            if verdict.claim is None or verdict.has_old_claim:
                continue
            row, own = _claim_row(verdict, verdict.claim), self._keys_of(number, candidates)
            keys.append(own)
            packed = row.packed_keys
            if packed is not None and len(own) > len(batch.keys[number]):
                packed += pack_keys(own[len(batch.keys[number]) :])
            far = nearest.get(number)
            # Copying a row of so many fields is slow, and rarely necessary.
            is_done = far is None and packed is row.packed_keys
            rows.append(row if is_done else row._replace(nearest=far, packed_keys=packed))
        writer.insert(rows, keys, candidates.hot_keys)
        return {row.id: row for row in rows}

    def _keys_of(self, number: int, candidates: BatchCandidates) -> Sequence[KeyRow]:
        """The keys to store, also those of an item whose text many share."""
        batch, slots = candidates.batch, self._lookup.keys.slots
        keys = batch.keys[number]
        more = candidates.family_keys(number, batch.rows[number], slots)
        self._lookup.counts["index/hot_keys"] += not candidates.hot_keys.isdisjoint(keys)
        return [*keys, *(KeyRow(slots, key) for key in more)] if more else keys

    def _delete_old(self, writer: Writer, seen: Seen) -> None:
        """Delete sightings that tell nothing any more, and claims that nobody was shown last."""
        old, kept = list[Sighting](), set[int]()
        for identity in seen.identities:
            if more := seen.old(identity):
                old += more
                kept.update(one.claim for one in (*seen.was(identity), *seen.here(identity)))
        gone = [one for one in old if one.status == "unchanged" or seen.visits.visit is None]
        # Most have neither an item nor a text of their own.
        has_more = [one.id for one in gone if one.item_bytes or not one.of_claim]
        writer.delete_sightings([one.id for one in gone], has_more)
        writer.delete_unshown({one.claim for one in old} - kept, self._visits)


def _equal_at_once(document: Document, was: Sequence[Sighting]) -> Sighting | None:
    """What shows that a document is unchanged, whatever its text: an equal item of its identity.

    An item that has nothing but its page's text is unchanged if its page is.
    """
    if document.digest is None:
        return None
    is_bare = document.facts is not None and not document.facts.own_kinds
    if not document.downloaded_in and is_bare and document.page_sketch is not None:
        return None
    # Of a page that was not modified, made of its download, and found to be so since.
    run = document.downloaded_in
    for one in was:
        is_of_download = not run or (one.of_claim and one.made <= run <= one.run)
        if one.digest == document.digest and is_of_download:
            return one
    return None


def _items(left_out: Sequence[LeftOut], namespace: int) -> dict[int, tuple[Any, ...]]:
    """What is noted at sightings of items that are left out, by their numbers: see `ITEM`."""
    items = dict[int, tuple[Any, ...]]()
    for one in left_out:
        row = one.verdict.row
        if row is None or row.namespace != namespace:
            raise NotFound("the namespace was reset since the item was looked up")
        kind = one.item_type and storable(one.item_type, 255)
        items[row.id] = one.action, one.item, kind, len(one.item or b"")
    return items


def _reason_to_skip(document: Document, largest_row: int) -> str | None:
    if document.sketch.fingerprint is None and not document.downloaded_in:
        return "no_text"
    return "too_large" if statement_size(document.key, document.url) > largest_row else None


def _has_own_claim(verdict: Verdict) -> bool:
    return verdict.claim is not None and not verdict.has_old_claim


def _claim_row(verdict: Verdict, claim: ClaimRow) -> ClaimRow:
    """The row of a claim with its age, and the similar claim and difference, if any."""
    if verdict.status == "unchanged" and verdict.before is not None:
        # It has been there since then.
        claim = claim._replace(created=verdict.before.since)
    if verdict.differs is None or verdict.match is None:
        return claim
    return claim._replace(
        similar_claim=verdict.match.row.id, differs=storable(verdict.differs, 255)
    )


def _nearest(candidates: BatchCandidates, limit: int) -> dict[int, int]:
    """For each document the distance of the nearest claim beyond the limit."""
    nearest: dict[int, int] = {}
    beyond = candidates.pairs[candidates.pairs["distance"] > limit]
    for number, distance in beyond[["document", "distance"]].tolist():
        nearest[number] = min(distance, nearest.get(number, distance))
    return nearest

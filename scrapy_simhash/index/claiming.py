"""One transaction: claims are released, confirmed and made, and what was met is recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection

from scrapy_simhash.db.lock import Sizes, first_number, lock
from scrapy_simhash.db.values import State, storable
from scrapy_simhash.exceptions import NotFound
from scrapy_simhash.index.batch import (
    Batch,
    equal_at_once,
    identity_hash,
    packed_text,
)
from scrapy_simhash.index.comparing import BatchCandidates, decide_batch, final
from scrapy_simhash.index.lookup import Lookup
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.seen import NO_VISITS, Seen
from scrapy_simhash.index.verdict import OF_TEXT, ClaimRow, Document, LeftOut, Sighting, Verdict
from scrapy_simhash.index.writer import Writer, largest
from scrapy_simhash.item.facts import OTHERS, Facts, changed_facts, keys_of
from scrapy_simhash.item.fields import FEW_SPACES
from scrapy_simhash.item.folding import are_state
from scrapy_simhash.item.keys import item_url
from scrapy_simhash.text.packed import pack_bytes

# Characters of the URL of an original that are stored.
_LONGEST_URL = 2000

# Where a sighting has its URL, and how many columns behind it tell what it showed.
_URL = Sighting._fields.index("url")
_SHOWN = 3


class _Decided(NamedTuple):
    """The verdicts on a batch, given what was read for it without the lock or behind it.

    `counter` is that of the namespace when it was read.
    """

    counter: int
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
        run: Run,
        lookup: Lookup,
        budgets: tuple[float, float],
        *,
        claims: Sequence[Document],
        confirm: Sequence[Verdict],
        release: Sequence[Verdict],
        left_out: Sequence[LeftOut],
    ) -> None:
        self._run, self._lookup, self._budgets = run, lookup, budgets
        self._database, self._namespace = lookup.database, lookup.namespace.id
        # The same for each attempt.
        self._claimant = ClaimRow(self._namespace, run=run.id, created=self._database.now())
        self._visits = run.visits_in(self._namespace) if lookup.rule.known else NO_VISITS
        self._claims, self._batch = claims, cast("Batch | None", None)
        self._reasons = [_reason_to_skip(document) for document in claims]
        # Without those of an earlier namespace of this name.
        confirmed = [verdict.claim for verdict in confirm if verdict.claim]
        self._confirm = [claim for claim in confirmed if claim.namespace == self._namespace]
        released = [one for one in release if one.row and one.row.namespace == self._namespace]
        self._released = [one.row for one in released if one.row]
        self._release = [one.claim for one in released if one.claim and not one.has_old_claim]
        self._old = [one.claim.id for one in released if one.claim and one.has_old_claim]
        self._left_out = _items(left_out, self._namespace)

    def do(self) -> list[Any]:
        """Do it; returns the verdicts on the documents to be claimed."""
        is_asked = not all(self._reasons)
        decided = self._decide(self._database.read) if is_asked else None
        verdicts = self._run.transact(partial(self._execute, decided))
        self._lookup.counts.update(self._evicted)
        return [
            Verdict("skipped", reason=reason) if reason else verdicts.get(document)
            for document, reason in zip(self._claims, self._reasons, strict=True)
        ]

    def _decide(self, ask: Callable[[Callable[..., Any]], Any], first: int = 0) -> _Decided:
        """Decide on the documents, given what executes a query.

        Their numbers begin with `first`, by default with what they are if nobody else writes.
        """
        lookup, visits = self._lookup, self._visits
        elsewhere = partial(lookup.read_elsewhere, visits=visits)
        seen = Seen(visits, lambda claim: ask(partial(elsewhere, claim=claim)))
        counter, candidates = ask(partial(self._read, seen, first))
        verdicts = decide_batch(lookup.rule, lookup.texts, candidates, seen)
        return _Decided(counter, candidates, verdicts, seen)

    def _read(self, seen: Seen, first: int, connection: Connection) -> tuple[int, BatchCandidates]:
        """Read the counter, what was seen, and what the documents are compared with.

        Changed ones of pages that were not modified are left out of the batch.
        """
        lookup, known = self._lookup, dict[int, Sighting]()
        asked = {
            document: identity_hash(document.key)
            for document, reason in zip(self._claims, self._reasons, strict=True)
            if not reason
        }
        counter, shown = lookup.read_identities(connection, asked.values(), seen.visits)
        seen.add_shown(shown)
        documents: list[Document] = []
        for document, identity in asked.items():
            was = seen.was(identity) if lookup.rule.known == "drop" else ()
            if before := equal_at_once(document, was):
                known[len(documents)] = before
            if before or not document.downloaded_in:
                documents.append(document)
        if self._batch is None or self._batch.known != known:
            self._batch = lookup.batch(documents, self._claimant, known)
        candidates = lookup.read(connection, self._batch, seen, first or first_number(counter))
        for claim in self._confirm:
            if row := candidates.rows.get(claim.id):
                candidates.rows[claim.id] = row._replace(state=State.CONFIRMED)
        return counter, candidates

    def _execute(self, decided: _Decided | None, connection: Connection) -> dict[Document, Verdict]:
        """Take the lock and do the work, given what was decided before; returns the verdicts."""
        held = lock(connection, self._namespace, len(self._claims), self._foreseen(decided))
        writer = Writer(connection, self._namespace, held, self._budgets)
        writer.release(self._released, self._old, self._claimant.run, self._run.visit)
        writer.delete(self._release, orphaned=True)
        was_made_again = writer.confirm(self._confirm)
        verdicts: dict[Document, Verdict] = {}
        if decided is not None:
            if held.counter != decided.counter or self._released or was_made_again:
                decided = self._decide(lambda work: work(connection), writer.numbers.start)
            verdicts = self._write(connection, writer, decided)
        writer.leave_out(self._left_out)
        writer.record()
        self._evicted = writer.evicted
        return verdicts

    def _foreseen(self, decided: _Decided | None) -> Sizes:
        """What is stored if nobody else writes: no more answers are waited for behind the lock."""
        texts = self._texts(decided).values() if decided else ()
        return Sizes(
            sum(one.new_claim is not None for one in (decided.verdicts if decided else ())),
            sum(map(len, texts)),
            sum(one[-1] for one in self._left_out.values()),
        )

    def _texts(self, decided: _Decided) -> dict[int, bytes]:
        """The compressed texts to store, by their numbers: those that no claim has yet."""
        texts: dict[int, bytes] = {}
        if not self._budgets[0]:
            return texts
        documents = decided.candidates.batch.documents
        for document, verdict in zip(documents, decided.verdicts, strict=True):
            number = verdict.row.id if verdict.row else 0
            is_stored = verdict.new_claim or not decided.seen.added[number].of_claim
            text = packed_text(document) if is_stored else None
            if text is not None and len(text) <= largest(self._budgets[0]):
                texts[number] = text
        return texts

    def _write(
        self, connection: Connection, writer: Writer, decided: _Decided
    ) -> dict[Document, Verdict]:
        """Write the claims and the sightings; returns the final verdicts."""
        _, candidates, verdicts, seen = decided
        self._write_claims(writer, candidates, verdicts)
        writer.add_texts(self._texts(decided))
        documents = candidates.batch.documents
        fields = _changed_fields(connection, self._lookup, documents, verdicts)
        done = {
            document: replace(
                verdict,
                match=final(verdict.match) if verdict.match else None,
                fields=fields.get(number, {}),
            )
            for number, (document, verdict) in enumerate(zip(documents, verdicts, strict=True))
        }
        writer.store([_sighting_row(one, seen, self._run.visit) for one in done.values()])
        for verdict in verdicts:
            if verdict.came_of and (match := verdict.match):
                writer.extend(match.row, verdict.came_of)
        self._delete_old(writer, seen)
        return done

    def _write_claims(
        self, writer: Writer, candidates: BatchCandidates, verdicts: Sequence[Verdict]
    ) -> None:
        """Write the claims of the documents of a batch, with their keys."""
        rows, keys = list[ClaimRow](), list[Sequence[int]]()
        for verdict, own in zip(verdicts, candidates.keys, strict=True):
            if (claim := verdict.new_claim) is not None:
                rows.append(claim)
                keys.append(own)
        hot = sum(not candidates.hot_keys.isdisjoint(own) for own in keys)
        self._lookup.counts["index/hot_keys"] += hot
        writer.insert(rows, keys, candidates.hot_keys)

    def _delete_old(self, writer: Writer, seen: Seen) -> None:
        """Delete sightings that tell nothing any more, and claims that nobody was shown last."""
        old, kept = list[Sighting](), set[int]()
        for identity in {one.identity for one in seen.added.values()}:
            if more := seen.old(identity):
                old += more
                kept.update(one.claim for one in (*seen.was(identity), *seen.here(identity)))
        gone = [one for one in old if one.status == "unchanged" or seen.visits.visit is None]
        item_bytes = sum(one.item_bytes for one in gone)
        writer.delete_sightings([one.id for one in gone], item_bytes)
        claims = writer.delete_unshown({one.claim for one in old} - kept, self._visits)
        # Most sightings have no text of their own.
        had_text: list[ClaimRow | Sighting] = [*claims, *(one for one in gone if not one.of_claim)]
        identities = {one.identity for one in had_text}
        writer.delete_texts([one.id for one in had_text], unneeded_by=identities)


def _items(left_out: Sequence[LeftOut], namespace: int) -> dict[int, tuple[Any, ...]]:
    """What is noted at sightings of items that are left out, by their numbers: see `ITEM`."""
    items: dict[int, tuple[Any, ...]] = {}
    for one in left_out:
        row = one.verdict.row
        if row is None or row.namespace != namespace:
            raise NotFound("the namespace was reset since the item was looked up")
        kind = one.item_type and storable(one.item_type, 255)
        items[row.id] = one.action, one.item, kind, len(one.item or b"")
    return items


def _reason_to_skip(document: Document) -> str | None:
    is_empty = document.sketch.fingerprint is None and not document.downloaded_in
    return "no_text" if is_empty else None


def _sighting_row(verdict: Verdict, seen: Seen, visit: int) -> tuple[Any, ...]:
    """The row of the sighting of a document, in the order of the table."""
    row, match = cast("ClaimRow", verdict.row), verdict.match
    one = seen.added[row.id]._replace(visit=visit)
    original, compared = verdict.moved_from, None
    if verdict.claim is None and match is not None:
        compared = match
        if verdict.status not in ("changed", "moved"):
            original = item_url(match.key, match.url)
    elif match is not None and verdict.similarity is not None:
        compared = replace(match, jaccard=verdict.similarity)
    return (
        row.namespace,
        *one[:_URL],
        None if one.url == one.key else one.url,
        *((None,) * _SHOWN if one.of_claim else one[_URL + 1 : _URL + 1 + _SHOWN]),
        row.created,
        compared and compared.distance,
        compared and compared.similarity,
        bool(compared and compared.estimated),
        original and storable(original, _LONGEST_URL),
        pack_bytes(json.dumps(verdict.fields).encode(), 1) if verdict.fields else None,
        verdict.is_back,
        *("", False, None, None, 0),
    )


def _changed(
    verdict: Verdict,
    document: Document,
    old: Mapping[str, str] | None,
    ignored: Collection[int],
) -> dict[str, tuple[str | None, str | None]]:
    """The short values of a document that changed, by field: the old one and the new one."""
    row, before = cast("ClaimRow", verdict.row), cast("Sighting", verdict.before)
    # Without its old values, nothing is known of the fields.
    new, old = document.values, document.values if old is None else old
    both = {name: (old.get(name), new.get(name)) for name in {**old, **new}}
    has_text = row.text_digest != before.text_digest
    names = [
        name
        for name, (a, b) in both.items()
        # What a few more words make a text is no value that came or went.
        if not (has_text and None in (a, b) and (a or b or "").count(" ") > FEW_SPACES)
        and not (a == b or are_state(name, (a, b)))
    ]
    if document.facts and row.facts and before.facts:
        # Other notations of one value are no change.
        changed = changed_facts(Facts.unpack(row.facts), Facts.unpack(before.facts), ignored)
        names = [name for name in names if not changed.isdisjoint(keys_of(name))]
        # Long values are not kept.
        known = document.facts.names
        names += {known[key] for key in changed & known.keys()}.difference(both)
    if not names and verdict.similarity in {None, 1.0}:
        # Another order of the words, or what is not kept: the rest of a value that is cut.
        cut = [name for name, (_, value) in both.items() if value and value.endswith("…")]
        names = [OF_TEXT] if has_text else cut if len(cut) == 1 else [OTHERS]
        return dict.fromkeys(names, (None, None))
    return {name: both.get(name, (None, None)) for name in sorted(names)}


def _changed_fields(
    connection: Connection,
    lookup: Lookup,
    documents: Sequence[Document],
    verdicts: Sequence[Verdict],
) -> dict[int, dict[str, tuple[str | None, str | None]]]:
    """The short values that changed of the documents that did, by their numbers."""
    changed = {
        number: verdict.before.content
        for number, verdict in enumerate(verdicts)
        if verdict.before and verdict.status == "changed"
    }
    lookup.read_texts(connection, {*changed.values()})
    texts, ignored = lookup.texts, lookup.rule.ignored_keys
    return {
        number: _changed(verdicts[number], documents[number], texts.values(then), ignored)
        for number, then in changed.items()
    }

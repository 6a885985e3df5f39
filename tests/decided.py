"""Decides on things without a database, as if all keys of an index matched; for tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import count
from typing import Any

from scrapy_simhash.db.values import ComparedBy, State
from scrapy_simhash.index.decide import decide, stands_for
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import ClaimRow, Match, Verdict
from scrapy_simhash.index.visits import NO_VISITS, Visits
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.folding import fold
from scrapy_simhash.item.names import name_of

#: How far apart texts may be: at .9 a similarity of .92 is enough and one of .88 is not.
NEAR = 2
_STEP = 0.04


@dataclass(frozen=True)
class Thing:
    """A document. Two texts are .04 less similar for each step between their places.

    Attributes:
        identity: its identity key.
        text: the place of its text; of one that is compared as a whole, its digest.
        facts: values by their names, those that begin with "€" amounts; None for none known.
        url: where it was found.
        download: of its page.
        epoch: of the web.
        listing: the page that lists it with others.
        exact: whether it is compared as a whole.
        size: its features.
        page_sketch: a sketch of its page.
    """

    identity: str
    text: int = 0
    facts: tuple[tuple[str, str], ...] | None = ()
    url: str = "http://a.com/"
    download: int = 1
    epoch: int = 1
    listing: int = 0
    exact: bool = False
    size: int = 100
    page_sketch: bytes | None = None

    @property
    def content(self) -> object:
        """Things with equal content are duplicates."""
        return self.text, self.facts, self.exact

    def again(self, epoch: int = 2) -> Thing:
        """The same thing at a later visit of the web."""
        return replace(self, download=self.download + 1000 * epoch, epoch=epoch)


def facts_of(values: Mapping[str, str]) -> Facts:
    folded = {name: fold(name_of(name), value) for name, value in values.items()}
    return Facts.of({name: one for name, one in folded.items() if one is not None})


def similarity(one: bytes, other: bytes) -> float:
    return max(0.0, 1 - _STEP * _apart(one, other))


def _digest(thing: Thing) -> bytes | None:
    """Of what is compared as a whole: one that names its page is another on another page."""
    if not thing.exact:
        return None
    return blake2b(repr((thing.text, thing.facts)).encode(), digest_size=16).digest()


def _apart(one: bytes, other: bytes) -> int:
    return abs(int.from_bytes(one, "big") - int.from_bytes(other, "big"))


class Seen:
    """The claims of a namespace.

    Args:
        measured: whether the similarity of texts is known.
        rule: what differs from the usual rule.
    """

    def __init__(self, *, measured: bool = True, **rule: Any) -> None:
        self.rule = replace(Rule(known="pass"), **rule)
        self.claims: dict[int, ClaimRow] = {}
        self._measured = measured
        self._numbers = count(1)
        self._tokens = count(1)
        self._outdated: dict[int, int] = {}
        self._copies = defaultdict[int, list[ClaimRow]](list)

    def meet(self, *things: Thing) -> list[Verdict]:
        """Decide on a batch of things, see :meth:`commit`."""
        return self.commit(*self.ask(*things))

    def ask(self, *things: Thing) -> tuple[list[ClaimRow], list[Facts | None]]:
        """Things as they are asked for: these get their tokens, and numbers when they are tried."""
        facts = [None if one.facts is None else facts_of(dict(one.facts)) for one in things]
        pairs = zip(things, facts, strict=True)
        return [self._row(thing, content) for thing, content in pairs], facts

    def commit(self, asked: Sequence[ClaimRow], facts: Sequence[Facts | None]) -> list[Verdict]:
        """Decide on a batch, and note what is claimed and what is the same again."""
        numbers = [next(self._numbers) for _ in asked]
        numbered = [
            row._replace(id=number, origin=number)
            for row, number in zip(asked, numbers, strict=True)
        ]
        verdicts = decide(
            numbered,
            facts,
            [[self._match(row, claim) for claim in self.claims.values()] for row in numbered],
            lambda number, claimed: [
                self._match(numbered[number], other) for other in claimed.values()
            ],
            rule=self.rule,
            visits=Visits(asked[0].epoch) if self.rule.known and asked else NO_VISITS,
        )
        for verdict in verdicts:
            if verdict.claim:
                self.claims[verdict.claim.id] = verdict.claim
        for row, verdict in zip(numbered, verdicts, strict=True):
            self._outdated |= {old.id: old.epoch for old in verdict.outdated}
            if verdict.kind == "duplicate" and verdict.match:
                self._copies[verdict.match.row.id].append(row)
            if verdict.kind == "same" and verdict.match and not verdict.claim:
                claim = verdict.match.row
                touched = stands_for(claim, row)
                self.claims[claim.id] = self.claims[claim.id]._replace(
                    token=touched.token,
                    download=touched.download,
                    epoch=touched.epoch,
                    listing=touched.listing,
                    identity=touched.identity,
                    last_run=touched.last_run,
                )
        return verdicts

    def confirm(self) -> None:
        """All that was claimed is stored."""
        self.claims = {id_: row._replace(state=State.CONFIRMED) for id_, row in self.claims.items()}

    def settle(self) -> None:
        """The crawl has ended: what it replaced is deleted."""
        for id_, epoch in self._outdated.items():
            if id_ in self.claims and self.claims[id_].epoch == epoch:
                del self.claims[id_]
        self._outdated.clear()

    def kept(self, *things: Thing, batch: int = 64) -> list[Thing]:
        """Decide, so many at a time, and store: those that are not dropped."""
        stored = []
        for start in range(0, len(things), batch):
            part = things[start : start + batch]
            for thing, verdict in zip(part, self.meet(*part), strict=True):
                is_same = verdict.kind == "same" and self.rule.known == "pass"
                if is_same or verdict.claim:
                    stored.append(thing)
            self.confirm()
        return stored

    def _match(self, row: ClaimRow, claim: ClaimRow) -> Match:
        apart = _apart(row.fingerprint, claim.fingerprint)
        known = self._measured and row.compared_by == claim.compared_by == ComparedBy.TEXT
        alike = similarity(row.fingerprint, claim.fingerprint) if known else None
        copies = tuple(self._copies[claim.id])
        return Match(claim, min(128, 3 * apart), alike, copies=copies)

    def _row(self, thing: Thing, facts: Facts | None) -> ClaimRow:
        token = next(self._tokens)
        return ClaimRow(
            namespace=1,
            identity=hash(thing.identity),
            token=token,
            download=thing.download,
            epoch=thing.epoch,
            listing=thing.listing,
            run=thing.epoch,
            compared_by=ComparedBy.EXACT if thing.exact else ComparedBy.TEXT,
            fingerprint=thing.text.to_bytes(16, "big"),
            size=thing.size,
            created=float(token),
            key=thing.identity,
            url=thing.url,
            digest=_digest(thing),
            facts=None if facts is None else facts.packed(),
            page_sketch=thing.page_sketch,
            text_digest=thing.text,
            last_run=thing.epoch,
        )


def kinds(seen: Seen, *things: Thing) -> list[str]:
    return [verdict.kind for verdict in seen.meet(*things)]


def one(seen: Seen, thing: Thing) -> tuple[str, bool, str | None]:
    """What one thing is, whether it is claimed, and what makes it differ from its match."""
    (verdict,) = seen.meet(thing)
    return verdict.kind, verdict.claim is not None, verdict.differs

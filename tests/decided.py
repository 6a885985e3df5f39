"""Decides on items without a database, as if all keys of an index matched; for tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import count
from typing import Any

from scrapy_simhash.db.values import ComparedBy, State
from scrapy_simhash.index.decide import decide
from scrapy_simhash.index.queries import Sighting
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.seen import Seen, Visits, sighting_of
from scrapy_simhash.index.verdict import ClaimRow, Match, Verdict
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
        listing: the page that lists it with others.
        alone: whether its page has no other item.
        exact: whether it is compared as a whole.
        by_page: whether it is compared by the text of its page.
        page_sketch: a sketch of its page.
        digest: equal for equal items; by default only of one that is compared as a whole.
    """

    identity: str
    text: int = 0
    facts: tuple[tuple[str, str], ...] | None = ()
    url: str = "http://a.com/"
    listing: int = 0
    alone: bool = True
    exact: bool = False
    by_page: bool = False
    page_sketch: bytes | None = None
    digest: bytes | None = None

    @property
    def content(self) -> object:
        """Documents with equal content are duplicates."""
        return self.text, self.facts, self.exact


def facts_of(values: Mapping[str, str]) -> Facts:
    folded = {name: fold(name_of(name), value) for name, value in values.items()}
    return Facts.of({name: one for name, one in folded.items() if one is not None})


def similarity(one: bytes, other: bytes) -> float:
    return max(0.0, 1 - _STEP * _apart(one, other))


def _compared_by(thing: Thing) -> ComparedBy:
    if thing.exact:
        return ComparedBy.EXACT
    return ComparedBy.PAGE if thing.by_page else ComparedBy.TEXT


def _digest(thing: Thing) -> bytes | None:
    """Of what is compared as a whole: one that names its page is another on another page."""
    if not thing.exact:
        return thing.digest
    return blake2b(repr((thing.text, thing.facts)).encode(), digest_size=16).digest()


def _apart(one: bytes, other: bytes) -> int:
    return abs(int.from_bytes(one, "big") - int.from_bytes(other, "big"))


class Namespace:
    """The claims and the sightings of a namespace.

    Args:
        rule: what differs from the usual rule.

    Attributes:
        visit: the number of the visit that goes on.
    """

    def __init__(self, **rule: Any) -> None:
        self.rule = replace(Rule(known="pass"), **rule)
        self.claims: dict[int, ClaimRow] = {}
        self.visit = 1
        self._sightings: list[Sighting] = []
        self._numbers = count(1)
        self._copies = defaultdict[int, list[ClaimRow]](list)

    def meet(self, *things: Thing) -> list[Verdict]:
        """Decide on a batch of documents; claims are made, and what was met is noted."""
        seen, verdicts = self.seen(), list[Verdict]()
        for thing in things:
            facts = None if thing.facts is None else facts_of(dict(thing.facts))
            row = self.row(thing, facts)
            matches = [self.match(row, one) for one in self.claims.values()]
            verdict = decide(row, facts, matches, rule=self.rule, seen=seen)
            seen.add(sighting_of(verdict, seen, self.rule))
            verdicts.append(verdict)
            if verdict.claim:
                self.claims.setdefault(verdict.claim.id, verdict.claim)
            elif verdict.kind == "duplicate" and verdict.match:
                self._copies[verdict.match.row.id].append(row)
            if verdict.came_of and verdict.match:
                claim = self.claims[verdict.match.row.id]
                self.claims[claim.id] = claim._replace(came_of=verdict.came_of)
        self._sightings += seen.added.values()
        return verdicts

    def seen(self) -> Seen:
        """What was met so far; earlier visits have met everything."""
        if self.rule.known is None:
            seen = Seen(Visits())
            seen.add_shown(self._sightings)
            return seen
        shown = [one._replace(is_complete=one.visit < self.visit) for one in self._sightings]
        meeting = [one for one in shown if one.meets and one.visit == self.visit]
        last = {one.identity: one.visit for one in shown if one.visit < self.visit}

        def elsewhere(claim: int) -> list[Sighting]:
            known = [one for one in shown if last.get(one.identity) == one.visit]
            return [one for one in known if one.claim == claim]

        seen = Seen(Visits(self.visit), elsewhere)
        seen.add_shown(shown)
        seen.add_meeting(meeting)
        return seen

    def confirm(self) -> None:
        """All that was claimed is stored."""
        self.claims = {id_: row._replace(state=State.CONFIRMED) for id_, row in self.claims.items()}

    def kept(self, *things: Thing, batch: int = 64) -> list[Thing]:
        """Decide, so many at a time, and store; returns those that are stored."""
        stored = []
        for start in range(0, len(things), batch):
            part = things[start : start + batch]
            pairs = zip(part, self.meet(*part), strict=True)
            stored += [thing for thing, verdict in pairs if verdict.claim]
            self.confirm()
        return stored

    def match(self, row: ClaimRow, claim: ClaimRow) -> Match:
        apart = _apart(row.fingerprint, claim.fingerprint)
        known = row.compared_by == claim.compared_by == ComparedBy.TEXT
        alike = similarity(row.fingerprint, claim.fingerprint) if known else None
        since = self.visit if self.rule.known == "pass" else 0
        copies = tuple(one for one in self._copies[claim.id] if one.run >= since)
        return Match(claim, min(128, 3 * apart), alike, copies=copies)

    def row(self, thing: Thing, facts: Facts | None) -> ClaimRow:
        """The row that a document would get, with a number of its own."""
        number = next(self._numbers)
        return ClaimRow(
            namespace=1,
            id=number,
            identity=hash(thing.identity),
            listing=thing.listing,
            alone=thing.alone,
            run=self.visit,
            compared_by=_compared_by(thing),
            fingerprint=thing.text.to_bytes(16, "big"),
            size=100,
            created=float(number),
            key=thing.identity,
            url=thing.url,
            digest=_digest(thing),
            facts=None if facts is None else facts.packed(),
            page_sketch=thing.page_sketch,
            origin=number,
            text_digest=thing.text,
        )


def kinds(namespace: Namespace, *things: Thing) -> list[str]:
    return [verdict.kind for verdict in namespace.meet(*things)]


def one(namespace: Namespace, thing: Thing) -> tuple[str, bool, str | None]:
    """What one document is, whether it is claimed, and what makes it differ from its match."""
    (verdict,) = namespace.meet(thing)
    return verdict.kind, verdict.claim is not None, verdict.differs

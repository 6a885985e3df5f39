"""Sightings: what each visit met, as the rule asks for it.

A sighting is one item that a visit met: "new", "changed", "moved", "unchanged", or a "copy" of a
claim. What a crawl found to be "missing", or "gone" as its site says, is a sighting too; so is what
was "released", as a later pipeline dropped it: that was met, and no more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, cast

from scrapy_simhash.index.verdict import ClaimRow, Sighting
from scrapy_simhash.item.keys import UNIDENTIFIED

if TYPE_CHECKING:
    from scrapy_simhash.index.rule import Rule
    from scrapy_simhash.index.verdict import Match, Verdict

#: What a sighting says that met nothing.
ABSENT = ("missing", "gone")
RELEASED = "released"


class Visits(NamedTuple):
    """Which sightings are those of now."""

    #: The number of this visit; None without visits: every sighting is one of this visit.
    visit: int | None = None
    #: The last complete visit before it, of the same spider and arguments; 0 if there is none.
    before: int = 0
    #: The runs of the last visits of other spiders.
    others: frozenset[int] = frozenset()


#: Those of an index that is not used by crawls.
NO_VISITS = Visits()


class Seen:
    """The sightings that decide on the documents of a batch, and those of the batch so far.

    Args:
        visits: which of them are those of now.
        elsewhere: returns where a claim was last met, given its number.
    """

    def __init__(
        self, visits: Visits, elsewhere: Callable[[int], Sequence[Sighting]] = lambda _: ()
    ) -> None:
        self.visits, self._elsewhere = visits, elsewhere
        #: Those of the batch, by their numbers.
        self.added: dict[int, Sighting] = {}
        self._of_identities: defaultdict[int, list[Sighting]] = defaultdict(list)
        self._meeting: defaultdict[int, list[Sighting]] = defaultdict(list)
        self._absent: defaultdict[int, int] = defaultdict(int)

    def add_shown(self, sightings: Iterable[Sighting]) -> None:
        """Add what identities have shown lately."""
        for one in sightings:
            if one.status in ABSENT:
                self._absent[one.identity] = max(one.visit, self._absent[one.identity])
            else:
                self._of_identities[one.identity].append(one)

    def add_meeting(self, sightings: Iterable[Sighting]) -> None:
        """Add the sightings by which claims are met now."""
        for one in sightings:
            self._meeting[one.claim].append(one)

    def add(self, sighting: Sighting) -> None:
        """Add what was met just now."""
        self.added[sighting.id] = sighting
        self._of_identities[sighting.identity].append(sighting)
        if sighting.meets:
            self.add_meeting([sighting])

    def shown(self, identity: int) -> set[int]:
        """The claims that an identity was shown lately."""
        return {one.claim for one in self._of_identities.get(identity, ())}

    def own_texts(self) -> set[int]:
        """The numbers of the texts that identities were shown beside those of claims."""
        known = chain.from_iterable(self._of_identities.values())
        return {one.content for one in known if not one.of_claim}

    def here(self, identity: int) -> list[Sighting]:
        """What this visit was shown under an identity."""
        return [one for one in self._of_identities.get(identity, ()) if self.is_here(one)]

    def was(self, identity: int) -> list[Sighting]:
        """What the last visit that met an identity, before this one, was shown under it.

        If it was incomplete, what it did not meet of the visit before still counts.
        """
        last, before = self._lately(identity)
        absent = self._absent[identity]
        return [
            one._replace(is_absent=True) if absent >= one.visit else one
            for one in (*last, *unmet(before, last))
        ]

    def _lately(self, identity: int) -> tuple[list[Sighting], list[Sighting]]:
        """The sightings of the last visit, and of the one before it if that was incomplete."""
        known = self._of_identities.get(identity)
        if not known or self.visits.visit is None:
            return [], []
        # What is known by its digest alone is gone as soon as it shows anything else.
        since = self.visits.before if known[0].key.startswith(UNIDENTIFIED) else 0
        by_visit: defaultdict[int, list[Sighting]] = defaultdict(list)
        for one in known:
            if since <= one.visit < self.visits.visit:
                by_visit[one.visit].append(one)
        visits = sorted(by_visit)
        last = by_visit[visits[-1]] if visits else []
        is_whole = len(visits) < 2 or all(one.is_complete for one in last)
        return last, [] if is_whole else by_visit[visits[-2]]

    def old(self, identity: int) -> list[Sighting]:
        """What an identity was shown in visits that no longer matter.

        Without visits, what it was shown again meanwhile.
        """
        if self.visits.visit is None:
            known = self._of_identities.get(identity, ())
            again = {one.claim for one in known if one.id in self.added}
            earlier = [one for one in known if one.claim in again and one.id not in self.added]
            return [one for one in earlier if one.status == "copy" and not one.item_bytes]
        kept = {one.id for one in chain(self.here(identity), *self._lately(identity))}
        return [
            one
            for one in self._of_identities.get(identity, ())
            if one.id not in kept and one.run not in self.visits.others
        ]

    def meeting(self, claim: ClaimRow) -> Sequence[Sighting]:
        """The sightings by which a claim is met now."""
        is_always_met = self.visits.visit is None
        return [_sighting_of(claim)] if is_always_met else self._meeting.get(claim.id, ())

    def met(self, claim: ClaimRow, identity: int) -> Sighting | None:
        """The sighting by which a claim is met now; if there are several, one of an identity."""
        found = self.meeting(claim)
        last = found[-1] if found else None
        return next((one for one in found if one.identity == identity), last)

    def elsewhere(self, claim: int, identity: int) -> list[Sighting]:
        """Where a claim is what other identities were last shown, before this visit."""
        return [one for one in self._elsewhere(claim) if one.identity != identity]

    def is_here(self, sighting: Sighting) -> bool:
        """Whether a sighting is one of this visit."""
        return self.visits.visit in (None, sighting.visit)


def unmet(earlier: Sequence[Sighting], later: Sequence[Sighting]) -> list[Sighting]:
    """The earlier sightings that no later one equals, or has come from."""
    return [
        one
        for one in earlier
        if not any(
            one.content in (other.content, other.before)
            or (one.digest is not None and one.digest == other.digest)
            for other in later
        )
    ]


def sighting_of(verdict: Verdict, seen: Seen, rule: Rule) -> Sighting:
    """The sighting of a document, by its verdict."""
    row, before = cast("ClaimRow", verdict.row), verdict.before
    claim = verdict.claim or cast("Match", verdict.match).row
    number, origin, made = claim.id, claim.origin, claim.run
    of_claim = (row.text_digest, row.facts, row.digest) == (
        *(claim.text_digest, claim.facts, claim.digest),
    )
    is_as_before = verdict.claim is None and verdict.status in ("unchanged", "moved")
    if is_as_before and before and (rule.known != "drop" or number == before.claim):
        # It is what it was, whatever stands for it in this visit.
        number, origin, made = before.claim, before.origin, before.made
        of_claim = before.of_claim and (row.text_digest, row.facts, row.digest) == (
            *(before.text_digest, before.facts, before.digest),
        )
    is_met = verdict.claim is not None
    if rule.known == "drop" and verdict.status != "copy":
        # One of each claim is enough in a visit, however many pages show it.
        is_met = is_met or not any(map(seen.is_here, seen.meeting(claim)))
    before_it = (0, 0) if before is None else (before.content, before.identity)
    if verdict.status == "new" and verdict.match is not None:
        # What it may have been: `changes` looks whether that went.
        before_it = 0, verdict.match.row.identity
    since = row.created if verdict.since is None else verdict.since
    return Sighting._make(
        (
            *(row.id, row.identity, number, row.run, seen.visits.visit or 0),
            *(verdict.status or "copy", int(is_met), row.listing, origin, since, row.compared_by),
            *(*before_it, row.key, row.url, row.digest, row.text_digest, row.facts),
            *(made, 0, of_claim, False, False),
        )
    )


def _sighting_of(claim: ClaimRow) -> Sighting:
    """A claim as it was met when it was made."""
    return Sighting._make(
        (
            *(claim.id, claim.identity, claim.id, claim.run, 0, "new", 1, claim.listing),
            *(claim.origin, claim.created, claim.compared_by, 0, 0, claim.key, claim.url),
            *(claim.digest, claim.text_digest, claim.facts, claim.run, 0, True, False, False),
        )
    )

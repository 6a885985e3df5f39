"""The rule of visits: what an item is to the crawl that met it, and to the crawls before.

A visit is one crawl of a site, or several that were open together. An item is judged by what its
identity *was*: what the last visit that met it was shown. It is judged, too, by what is *met*: what
this visit has met but for copies, and the last visit of each other spider. A claim *came of* those
that it was stored in place of: as a change, with other state, or moved to a known URL. The first
row that holds decides:

=====================================================================  =========  =============
the item                                                               is         "drop" stores
=====================================================================  =========  =============
1. is known, and equals one of what it was                             unchanged  no
2. is known, and is covered by a claim that came of what it was,       copy       no
   shows all that has changed, and is met or what another identity
   was last shown; or it was shown in this visit already
3. is known, otherwise                                                 changed    yes, unless
                                                                                  this visit met
                                                                                  it as new
4. is covered by a claim that is met                                   copy       no
5. is covered by a claim that another identity was last shown:
   a) of its site, and equal to it: at another URL                     moved      no
      at the same URL                                                  unchanged  no
   b) of its site, also if it has a passage more                       changed    yes
   c) of another site                                                  new, copy  no
6. is anything else                                                    new        yes
=====================================================================  =========  =============

"pass" stores an item if and only if no claim that is met covers it, as a first crawl would; what
row 2 calls a copy has changed if it is stored, and 5c is new. Items that the last visit of another
spider stored cover neither a changed version of themselves, nor an unchanged or moved item that
this spider has stored before. An item that was restored by hand is stored again while it is
unchanged, although a claim covers it, and covers no other item. An item may be unchanged although
its page has another text now, which its claim does not cover. With "drop" it then gets a claim of
that text, for its copies.

Examples, each a second visit; "a: X" means that URL a shows the content X:

- *a page changes its URL* (a: X, then b: X): moved, 5a. If a shows X too, b is a copy of it, or a
  is unchanged, by which is met first: "pass" stores X once, as a first crawl does.
- *two URLs swap* (a: X, b: Y, then a: Y, b: X): both changed, row 3.
- *a price returns* (10, then 9, then 10): changed twice, row 3.
- *a copy outlives its original* (a: X, b: X, then b: X): unchanged, row 1.
- *a story and its copy are corrected* (a: X, b: X, then b: X', a: X'): b has changed, a is a copy,
  row 2: the change is known already.
- *one URL shows two prices* in each visit: each equals one of what it was, row 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from scrapy_simhash.db.values import State, storable
from scrapy_simhash.index.rule import Compared, Rule, has_values, is_unchanged, shows, tells_change
from scrapy_simhash.index.seen import Seen, unmet
from scrapy_simhash.index.verdict import (
    ADDED_PASSAGE,
    BY_HAND,
    ClaimRow,
    Kind,
    Match,
    Sighting,
    Status,
    Verdict,
    came_of,
    former_url,
    packed_numbers,
)
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.urls import same_site


def judge(
    row: ClaimRow,
    compared: Compared,
    similar: Sequence[Match],
    seen: Seen,
    *,
    rule: Rule,
) -> Verdict:
    """The verdict on a document by the table of this module.

    `similar` are the claims with a similar text, the best first, each with what keeps it apart.
    """
    was, here = seen.was(row.identity), seen.here(row.identity)
    copies = [match for match in similar if match.differs is None]
    same = equal_to(row, was, compared, rule)
    covering = _covering(row, same, compared, copies, seen=seen, rule=rule)
    is_known = bool(was or here)

    def verdict(status: Status, **how: Any) -> Verdict:
        return _verdict(row, status, rule, compared, covering, is_known=is_known, **how)

    if same:
        stands = compared.get(same.claim)
        if has_values(row) and all(match.row.id != same.claim for match in copies):
            stands = next(iter(covering), None)
        return verdict("unchanged", replaces=[same], match=stands)
    # What is not met yet of what it was, the most similar first.
    replaced = _by_likeness(unmet(was, here), row, compared) or here[-1:]
    again = equal_to(row, here, compared, rule)
    stands = (
        compared.get(again.claim)
        if again
        else _known_change(row, was, compared, copies, seen=seen, rule=rule)
    )
    if was and stands:
        return verdict("copy", replaces=replaced, match=stands)
    if was or (here and not covering):
        met = [(match, seen.met(match.row, row.identity)) for match in covering]
        new = [match for match, one in met if one and one.status == "new" and seen.is_here(one)]
        stands = next(iter(new or covering), None)
        # What has moved to a known URL is not missing at its former one.
        unmet_copies = [match for match in copies if not seen.meeting(match.row)]
        _, of_site = _elsewhere(row, unmet_copies, seen)
        equal = [one for one in of_site if equal_to(row, [one], compared, rule)]
        return verdict("changed", replaces=[*replaced, *equal], stores=not new, match=stands)
    if covering:
        return verdict("copy")
    last, of_site = _elsewhere(row, copies, seen)
    # Its URL may be different at each visit, beside a URL that stays.
    if equal := [one for one in of_site if equal_to(row, [one], compared, rule)]:
        # Its page may have had other items, or none, and it another identity there.
        status: Status = "moved" if former_url(row, equal[0]) else "unchanged"
        return verdict(status, replaces=equal, match=compared[equal[0].claim])
    shorter, replaced = (None, of_site) if of_site else _shorter(row, similar, seen)
    if replaced:
        return verdict("changed", replaces=replaced, stores=True, match=shorter)
    if last and rule.known == "drop":
        return verdict("copy", match=compared[last[0].claim])
    nearest = _nearest(row, similar, seen, rule)
    return verdict("new", stores=True, match=nearest, origin=last[0].origin if last else row.origin)


def _covering(
    row: ClaimRow,
    same: Sighting | None,
    compared: Compared,
    copies: Sequence[Match],
    *,
    seen: Seen,
    rule: Rule,
) -> list[Match]:
    """The claims that cover a document and are met."""
    met = [match for match in copies if seen.meeting(match.row)]
    if rule.known != "pass" or not met:
        return met
    is_restored = is_by_hand(same and compared.get(same.claim))
    if seen.visits.others and not (same or seen.was(row.identity) or seen.here(row.identity)):
        same = equal_to(row, _elsewhere(row, copies, seen)[1], compared, rule)
    stays = same and same.meets and same.run not in seen.visits.others

    def counts(one: Sighting, match: Match) -> bool:
        is_here = seen.is_here(one)
        if one.identity == row.identity:
            return is_here or (not is_restored and bool(equal_to(row, [one], compared, rule)))
        return (is_here or not stays) and not (is_restored or is_by_hand(match))

    return [match for match in met if any(counts(one, match) for one in seen.meeting(match.row))]


def _verdict(
    row: ClaimRow,
    status: Status,
    rule: Rule,
    compared: Compared,
    covering: Sequence[Match],
    *,
    is_known: bool,
    replaces: Sequence[Sighting] = (),
    stores: bool = False,
    match: Match | None = None,
    origin: int = 0,
) -> Verdict:
    """The verdict by a row of the table; `match` is what stands for an item that is not stored.

    Of what it `replaces` the first is what was there before.
    """
    if rule.known != "drop":
        stores = not covering
    if status == "copy" and stores:
        status = "changed"
    before = replaces[0] if replaces else None
    then = None if before is None else compared.get(before.claim)
    numbers = tuple(dict.fromkeys(one.claim for one in replaces))
    own = _replacing(row._replace(origin=before.origin if before else origin), numbers, compared)
    if stores:
        # A run that is taken for alive may be dead, and its claims go with it.
        is_sure = before is not None and (is_known or before.is_complete)
        is_same = is_sure and status in ("unchanged", "moved")
        stays = then is not None and is_same and shows(then.row, row)
        if status == "unchanged" and before is not None:
            own = _as_before(own, before, then)
        elif match is not None and match.differs:
            # `changes` tells a new item if the visit still meets the former URL.
            differs = storable(match.differs, 255) if status == "new" else None
            own = own._replace(differs=differs, similar_claim=match.row.id)
        nearest = match if status == "new" else then
        return Verdict(
            "same" if is_known or stays else "unique",
            nearest,
            claim=then.row if stays and then else own,
            differs=nearest.differs if nearest and status == "new" else None,
            status=status,
            row=row,
            before=before,
        )
    # The "same" as its own past, or a "duplicate". Without visits a known identity is enough.
    is_unchanged = rule.known == "drop" and status == "unchanged"
    kind: Kind = "same" if is_unchanged or (rule.known is None and is_known) else "duplicate"
    if rule.known != "drop":
        match = covering[0]
    elif before and status == "unchanged" and match is None:
        # Others are compared with what it shows now.
        own = _as_before(own._replace(state=State.CONFIRMED), before, then)
        match = Match(own, 0, 1.0)
    match = match or covering[0]
    extends = numbers and status == "changed"
    stands_for = packed_numbers([*numbers, *came_of(match.row)]) if extends else None
    return Verdict(kind, match, status=status, row=row, before=before, came_of=stands_for)


def _replacing(row: ClaimRow, claims: Sequence[int], compared: Compared) -> ClaimRow:
    """The row of a claim that came of others, and of what those came of."""
    earlier = (came_of(compared[one].row) for one in claims if one in compared)
    known = [*claims, *chain.from_iterable(earlier)]
    return row._replace(came_of=packed_numbers(known)) if known else row


def _as_before(row: ClaimRow, before: Sighting, then: Match | None) -> ClaimRow:
    """The row of an unchanged item: it has been there since it was first stored."""
    row = row._replace(created=before.since)
    if then and is_by_hand(then):
        row = row._replace(differs=BY_HAND, similar_claim=then.row.similar_claim)
    return row


def is_by_hand(match: Match | None) -> bool:
    """Whether a claim stands for an item that was restored."""
    return match is not None and match.row.differs == BY_HAND


def equal_to(
    row: ClaimRow, sightings: Iterable[Sighting], compared: Compared, rule: Rule
) -> Sighting | None:
    """What shows what a document shows, but for its state; exactly, if there is such a one.

    Of several that do, one that was restored.
    """
    equal = (
        one
        for one in sightings
        if is_unchanged(row, one, compared.shown(one), rule)
        # Small edits add up: within the tolerance is what is near what was stored.
        or (
            one.status == "unchanged"
            and rule.change_similarity < 1
            and is_unchanged(row, one, compared.get(one.claim), rule)
        )
    )
    return max(
        equal,
        key=lambda one: (one.digest == row.digest, is_by_hand(compared.get(one.claim))),
        default=None,
    )


def _known_change(
    row: ClaimRow,
    was: Sequence[Sighting],
    compared: Compared,
    copies: Sequence[Match],
    *,
    seen: Seen,
    rule: Rule,
) -> Match | None:
    """What has the change of a known item already: row 2.

    It is not what the identity was shown: of two claims at one URL one may have come of the other.
    """
    old, digests = {one.claim for one in was}, {one.digest for one in was}
    for match in copies:
        claim = match.row
        if claim.id in old or (claim.digest and claim.digest in digests):
            continue
        is_told = any(
            one.claim in came_of(claim) and tells_change(row, one, compared.shown(one), match, rule)
            for one in was
        )
        if is_told and (seen.met(claim, row.identity) or seen.elsewhere(claim.id, row.identity)):
            return match
    return None


def _elsewhere(
    row: ClaimRow, copies: Sequence[Match], seen: Seen
) -> tuple[list[Sighting], list[Sighting]]:
    """The last sightings of the claims that cover a document, and those of its site.

    The latest first, copies last.
    """
    found = [one for match in copies for one in seen.elsewhere(match.row.id, row.identity)]
    found.sort(key=lambda one: (one.status != "copy", one.visit, one.id), reverse=True)
    return found, [one for one in found if may_be_one_site(row.url, one.url)]


def _shorter(
    row: ClaimRow, similar: Sequence[Match], seen: Seen
) -> tuple[Match | None, list[Sighting]]:
    """What is not met and lacks but a passage of a document, and where it was last on its site."""
    for match in similar:
        if match.differs == ADDED_PASSAGE and not seen.meeting(match.row):
            _, of_site = _elsewhere(row, [match], seen)
            if of_site:
                return match, of_site
    return None, []


def _by_likeness(
    sightings: Sequence[Sighting], row: ClaimRow, compared: Compared
) -> Sequence[Sighting]:
    """Sightings, the most similar to a document first, and of those the latest."""
    if len(sightings) < 2:
        return sightings

    def likeness(one: Sighting) -> tuple[float, int, int]:
        match = compared.get(one.claim)
        similarity = 0.0 if match is None else match.similarity
        return similarity, in_common(row, one), one.visit

    return sorted(sightings, key=likeness, reverse=True)


def preference(match: Match, common: int = 0) -> tuple[bool, float, int, int, int]:
    """Orders matches: those that are stored first, as nobody waits for them, and the nearest.

    Ties go to those with more facts in common.
    """
    return match.pending, -(match.jaccard or 0.0), match.distance, -common, match.row.id


def _nearest(row: ClaimRow, similar: Sequence[Match], seen: Seen, rule: Rule) -> Match | None:
    """The most similar claim; ties go to the most facts in common, then to the latest not met."""

    def place(match: Match) -> tuple[list[float], bool, int]:
        *nearness, number = preference(match, in_common(row, match.row) if rule.known else 0)
        is_met = rule.known is None or seen.met(match.row, row.identity) is not None
        return nearness, is_met, number if is_met else -number

    return min(similar, key=place, default=None)


def in_common(row: ClaimRow, shown: ClaimRow | Sighting) -> int:
    """The number of facts that a document shares with a claim or a sighting."""
    facts = Facts.unpack(row.facts or b"").known
    return len(facts & Facts.unpack(shown.facts or b"").known)


def may_be_one_site(one: str, other: str) -> bool:
    """Whether two URLs are of one site; True if one is unknown: the stricter rule."""
    return not (one and other) or same_site(one, other)

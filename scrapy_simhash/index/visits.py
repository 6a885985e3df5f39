"""Visits: what an item is to the crawl that met it, and to the crawls before. Pure functions.

A visit is one crawl of a site, or several that were open together. A claim is *current* if it was
met in this visit, or in the last visit of another spider. Two sentences hold:

- "pass" stores what a first crawl of the same pages, in the same order, would store: only current
  claims make an item a copy, and earlier ones only say what changed.
- "drop" stores what is new or changed, compared with everything stored so far.

The first of these rules that holds decides on a document:

==================================================================  =========  ================
the document                                                        pass       drop
==================================================================  =========  ================
1. was met in this visit, and is unchanged since                    unchanged  left out
   ... or changed                                                   changed    changed
2. adds nothing to another, current claim                           copy       copy, unless its
                                                                               own last version
                                                                               is similar
3. has earlier versions, and equals one of them                     unchanged  left out
   ... or none                                                      changed    changed
4. was a copy, and is unchanged since                               unchanged  left out
   ... or changed, but adds nothing to what it was a copy of        changed    copy
   ... or changed                                                   changed    changed
5. is unknown, and adds nothing to an old claim of the same site    moved      left out
   ... in its facts, but in its text                                changed    changed
6. is similar to an old claim of another site                       new        copy
7. is anything else                                                 new        new
==================================================================  =========  ================

Examples, each a second visit; "a: X" means that address a shows the content X:

- *a page changes its address* (a: X, then b: X): moved, rule 5. If a shows X too, in this
  visit, it is a copy of b: the feed has X once, as in a first crawl.
- *two addresses swap* (a: X, b: Y, then a: Y, b: X): both changed, rule 3: the last version of
  a is X, although Y is known.
- *a price returns* (10, then 9, then 10): changed twice, rule 3. Old versions are deleted when
  the run that replaced them has ended.
- *a copy outlives its original* (a: X, b: X, then b: X): rule 4, unchanged. "pass" stores it,
  "drop" has it already.
- *a listing shows one address at two prices* in each visit: each equals one of the earlier
  versions, rule 3.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from scrapy_simhash.db.values import CONFIRMED, EXACT, PAGE, PENDING
from scrapy_simhash.index.rule import Met, Rule, are_equal
from scrapy_simhash.index.verdict import Place, Row, Status
from scrapy_simhash.item.addresses import same_site
from scrapy_simhash.item.evidence import PAGE_BIT, Evidence
from scrapy_simhash.item.facts import REST_KEY, Facts, changed_facts


class Visits(NamedTuple):
    """Which claims are current."""

    #: The crawl epoch of this visit; None without visits: every claim counts as current.
    epoch: int | None = None
    #: The runs of the last visits of other spiders.
    others: frozenset[int] = frozenset()
    #: The runs of this visit that crashed: what they met may not be stored.
    dead: frozenset[int] = frozenset()

    def is_current(self, claim: Row) -> bool:
        """Whether a claim was met in this visit, or in the last one of another spider."""
        return self.is_here(claim) or claim.met in self.others

    def is_here(self, claim: Row) -> bool:
        """Whether a claim was met in this visit."""
        return self.epoch is None or (claim.epoch == self.epoch and claim.met not in self.dead)


#: Those of an index that is not used by crawls.
NO_VISITS = Visits()


class Decision(NamedTuple):
    """The decision on a document; see :class:`~scrapy_simhash.Verdict` for what is not said."""

    kind: Literal["unique", "duplicate", "same"]
    match: Met | None
    #: Whether a claim is made for it.
    claims: bool
    differs: str | None = None
    status: Status = "new"
    #: The group that it belongs to, if it is known.
    origin: int | None = None
    #: What it was when it was met before, here or at another address.
    before: Row | Place | None = None
    #: The claims that the new one replaces when this run has ended.
    outdated: tuple[Row, ...] = ()


def judge(
    mine: Row,
    near: Sequence[Met],
    versions: Sequence[Met],
    place: Place | None,
    *,
    rule: Rule,
    visits: Visits,
) -> Decision:
    """The decision on a document by the rules of this module, which has worked cases.

    `near` are the claims with a similar text, `versions` those with its identity, similar or not;
    `place` is what is known of its identity if it was a duplicate when it was last met.
    """
    own = [one for one in near if is_own(mine, one.claim)]
    copies = [one for one in near if one.differs is None and one not in own]
    met_here, earlier = _versions([*versions, *own], mine, visits)
    outdated = tuple(met.claim for met in earlier)
    if here := [one for one in own if visits.is_here(one.claim)]:
        last = max(met_here, key=lambda met: met.claim.id)
        if rule.known == "drop":
            here = [one for one in here if one.claim.id == last.claim.id]
        return _version(mine, (here, here), last, outdated, rule)
    current = [one for one in copies if visits.is_current(one.claim)]
    if current and not (own and rule.known == "drop"):
        match = best(current)
        return Decision("duplicate", match, False, status="copy", outdated=outdated)
    if last_met := met_here or earlier:
        # Those of the last visit that met it.
        last = max(last_met, key=lambda met: (met.claim.met, met.claim.id))
        own, known = (
            [one for one in some if one.claim.epoch == last.claim.epoch]
            for some in (own, last_met if _has_values(mine) else own)
        )
        return _version(mine, (own, known), last, outdated, rule)
    if place is not None and (decision := _placed(mine, near, place, rule)) is not None:
        return decision
    if not copies:
        # Something new, or a known address that shows something else.
        # What it was a copy of is gone from the index: it is nobody's copy any more.
        is_new = place is None or is_unchanged(mine, place, None, rule)
        status: Status = "new" if is_new else "changed"
        if not near:
            return Decision("unique", None, claims=True, status=status, before=place)
        nearest = best(near)
        return Decision("unique", nearest, True, nearest.differs, status, before=place)
    met = {one.claim.origin for one in near if visits.is_here(one.claim)}
    return _known_elsewhere(mine, copies, place, rule, met)


def is_own(mine: Row, claim: Row) -> bool:
    """Whether a claim belongs to an earlier version of the document, or to an equal item."""
    if claim.token == mine.token:
        # An earlier attempt of this batch has assigned it to this document.
        return True
    if claim.identity == mine.identity:
        return claim.visit != mine.visit
    # An item that was alone on a page may be one of several at the next visit, and vice versa.
    # Pages are identified by their URLs only: equal ones are copies.
    is_listed = claim.visit == claim.epoch or mine.visit == mine.epoch
    return is_listed and claim.epoch != mine.epoch and are_equal(mine, claim)


def best(near: Sequence[Met]) -> Met:
    """Prefers a match without differences, and then as :func:`preference`."""
    return min(near, key=lambda one: (one.differs is not None, *preference(one)))


def preference(one: Met) -> tuple[bool, float, int, int]:
    """Orders matches: those that are stored first, as nobody waits for them, and the nearest."""
    return one.claim.state == PENDING, -(one.similarity or 0.0), one.distance, one.claim.id


def is_unchanged(mine: Row, old: Row | Place, met: Met | None, rule: Rule) -> bool:
    """Whether a document has the content that an earlier version had, but for its state.

    `met` is that version, if it is a claim.
    """
    is_of_page, is_bare = _has_values(mine), _is_bare(mine)
    if not is_bare and mine.digest is not None and mine.digest == old.digest:
        return True
    if EXACT in (mine.compared_by, old.compared_by) or mine.compared_by != old.compared_by:
        return False
    is_same = is_of_page or mine.text_digest == old.text_digest
    if not is_same and not (met and _is_same_text(met, rule)):
        return False
    return _has_same_facts(mine, old, rule, with_page=not is_of_page)


def _has_same_facts(mine: Row, old: Row | Place, rule: Rule, *, with_page: bool = True) -> bool:
    if mine.facts is None or old.facts is None:
        return mine.facts == old.facts
    changed = changed_facts(Facts.unpack(mine.facts), Facts.unpack(old.facts), rule.ignored)
    if not with_page:
        changed = {key for key in changed if not key & PAGE_BIT}
    return not (changed if rule.change_similarity == 1 else changed - {REST_KEY})


def _has_values(mine: Row) -> bool:
    """Whether an item that is compared by its page's text has values of its own, but no text.

    Boxes beside these are no part of it, whatever the text.
    """
    own = Facts.unpack(mine.facts or b"").own_kinds
    return mine.compared_by == PAGE and bool(own) and Evidence.REST not in own


def _is_bare(mine: Row) -> bool:
    """Whether an item has nothing but URL, title and state, and stands for the text of its page."""
    return mine.compared_by == PAGE and not Facts.unpack(mine.facts or b"").own_kinds


def _is_same_text(met: Met, rule: Rule) -> bool:
    """Whether a text that is not equal differs in its state only, or hardly and in no number."""
    changes = met.changes() if met.changes else None
    if changes is not None and not changes:
        return True
    if met.similarity is None or rule.change_similarity == 1:
        return False
    is_close = met.similarity >= rule.change_similarity
    return is_close and not (changes is not None and changes.has_numbers)


def adds_text(mine: Row, met: Met) -> bool:
    """Whether a text has pairs of words that a similar one lacks."""
    if met.similarity is None or met.estimated:
        return met.claim.text_digest != mine.text_digest
    changes = met.changes() if met.changes else None
    if changes is not None and not any(change.new for change in changes.all):
        return False  # but for its state
    # From the Jaccard similarity and both sizes.
    common = met.similarity * (mine.size + met.claim.size) / (1 + met.similarity)
    return common < mine.size - 0.5


def _versions(met: Sequence[Met], mine: Row, visits: Visits) -> tuple[Sequence[Met], Sequence[Met]]:
    """The versions of a document among claims, each once: of this visit, and earlier ones."""
    own = {one.claim.id: one for one in met if is_own(mine, one.claim)}.values()
    here = [one for one in own if visits.is_here(one.claim)]
    return here, [one for one in own if one not in here]


def _version(
    mine: Row,
    versions: tuple[Sequence[Met], Sequence[Met]],
    last: Met,
    earlier: tuple[Row, ...],
    rule: Rule,
) -> Decision:
    """The decision on a version of what was met before, in this visit or an earlier one.

    `versions` are those with a similar text, and all that count. A claim that no later crawl will
    confirm can't stand for an item that is stored.
    """
    similar, known = versions
    equal = [
        one
        for one in known
        if is_unchanged(mine, one.claim, one, rule)
        and (rule.known == "drop" or one.claim.state == CONFIRMED)
    ]
    match = best(equal or similar) if equal or similar else last
    claim = match.claim
    # Later items of this visit must be compared with what it shows now.
    stays = bool(equal) and (rule.known == "drop" or _is_identical(mine, claim))
    return Decision(
        "same",
        match,
        claims=not stays,
        status="unchanged" if equal else "changed",
        origin=claim.origin,
        before=claim,
        outdated=tuple(row for row in earlier if not (stays and row.id == claim.id)),
    )


def _is_identical(mine: Row, claim: Row) -> bool:
    if not may_be_one_site(mine.url, claim.url) or mine.compared_by != claim.compared_by:
        return False
    if mine.compared_by == EXACT:
        return mine.digest == claim.digest
    return mine.text_digest == claim.text_digest and mine.facts == claim.facts


def _placed(mine: Row, near: Sequence[Met], place: Place, rule: Rule) -> Decision | None:
    """The decision on what was a copy when it was last met, and has nothing current beside it.

    None if what it was a copy of is no longer similar.
    """
    of_group = [one for one in near if one.claim.id == place.claim]
    if not of_group:
        return None
    original = of_group[0]
    adds = original.differs is not None or adds_text(mine, original)
    unchanged = is_unchanged(mine, place, None, rule) or (
        not adds and _has_same_facts(mine, place, rule)
    )
    if rule.known == "drop" and (unchanged or not adds):
        status: Status = "unchanged" if unchanged else "copy"
        return Decision("duplicate", original, claims=False, status=status, before=place)
    is_other = original.differs is not None
    return Decision(
        "unique",
        original if is_other else None,
        claims=True,
        differs=original.differs,
        status="unchanged" if unchanged else "changed",
        origin=None if is_other else original.claim.origin,
        before=place,
    )


def _known_elsewhere(
    mine: Row, copies: Sequence[Met], place: Place | None, rule: Rule, met: Collection[int]
) -> Decision:
    """The decision on what only earlier visits met, at other addresses.

    `met` are the groups that this visit met.
    """
    moved = [
        one
        for one in copies
        if place is None
        and one.claim.origin not in met
        and may_be_one_site(mine.url, one.claim.url)
    ]
    if not moved:
        old = best(copies)
        if rule.known == "drop":
            return Decision("duplicate", old, claims=False, status="copy")
        origin = None if old.claim.origin in met else old.claim.origin
        status: Status = "new" if place is None else "changed"
        return Decision("unique", None, True, status=status, origin=origin, before=place)
    old = best(moved)
    adds = adds_text(mine, old)
    if rule.known == "drop" and not adds:
        return Decision("duplicate", old, claims=False, status="moved", before=old.claim)
    return Decision(
        "unique",
        None,
        claims=True,
        status="changed" if adds else "moved",
        origin=old.claim.origin,
        before=old.claim,
        outdated=(old.claim,) if rule.known == "pass" else (),
    )


def may_be_one_site(one: str, other: str) -> bool:
    """Whether two URLs are of one site; True if one is unknown, which is the stricter rule."""
    return not (one and other) or same_site(one, other)

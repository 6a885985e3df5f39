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
   ... or its stock, as an entry of a list at the URL of its page   changed    changed
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
from typing import NamedTuple

from scrapy_simhash.db.values import ComparedBy, State
from scrapy_simhash.index.rule import Rule, are_equal
from scrapy_simhash.index.verdict import ClaimRow, LastDuplicate, Match, Status, Verdict
from scrapy_simhash.item.evidence import PAGE_BIT, Evidence
from scrapy_simhash.item.facts import REST_KEY, Facts, changed_facts
from scrapy_simhash.item.urls import same_site


class Visits(NamedTuple):
    """Which claims are current."""

    #: The crawl epoch of this visit; None without visits: every claim counts as current.
    epoch: int | None = None
    #: The runs of the last visits of other spiders.
    others: frozenset[int] = frozenset()
    #: The runs of this visit that crashed: what they met may not be stored.
    dead: frozenset[int] = frozenset()

    def is_current(self, claim: ClaimRow) -> bool:
        """Whether a claim was met in this visit, or in the last one of another spider."""
        return self.is_here(claim) or claim.last_run in self.others

    def is_here(self, claim: ClaimRow) -> bool:
        """Whether a claim was met in this visit."""
        return self.epoch is None or (claim.epoch == self.epoch and claim.last_run not in self.dead)


#: Those of an index that is not used by crawls.
NO_VISITS = Visits()


def judge(
    row: ClaimRow,
    similar: Sequence[Match],
    versions: Sequence[Match],
    last_duplicate: LastDuplicate | None,
    *,
    rule: Rule,
    visits: Visits,
) -> Verdict:
    """The verdict on a document by the rules of this module, which has worked cases.

    `similar` are the claims with a similar text, `versions` those with its identity, similar or
    not; `last_duplicate` is what is known of its identity if it was a duplicate when it was last
    met. If the document is to be claimed, the verdict has its row as the claim.
    """
    similar_versions = [match for match in similar if is_own(row, match.row)]
    copies = [match for match in similar if match.differs is None and match not in similar_versions]
    versions_here, earlier_versions = _versions([*versions, *similar_versions], row, visits)
    outdated = tuple(match.row for match in earlier_versions)
    if similar_here := [match for match in similar_versions if visits.is_here(match.row)]:
        newest = max(versions_here, key=lambda match: match.row.id)
        if rule.known == "drop":
            similar_here = [match for match in similar_here if match.row.id == newest.row.id]
        return _version(row, (similar_here, similar_here), newest, outdated, rule)
    current_copies = [match for match in copies if visits.is_current(match.row)]
    if similar_versions and rule.known == "drop":
        # A version, whatever it is a copy of; unless two lists have the entry.
        current_copies = [match for match in current_copies if match.row.identity == row.identity]
    if current_copies:
        return Verdict("duplicate", best(current_copies), status="copy", row=row, outdated=outdated)
    if all_versions := versions_here or earlier_versions:
        # Those of the last visit that met it.
        newest = max(all_versions, key=lambda match: (match.row.last_run, match.row.id))
        of_visit = newest.row.epoch
        similar_then = [match for match in similar_versions if match.row.epoch == of_visit]
        versions_then = [match for match in all_versions if match.row.epoch == of_visit]
        counted = versions_then if _has_values(row) else similar_then
        return _version(row, (similar_then, counted), newest, outdated, rule)
    if last_duplicate is not None:
        verdict = _former_duplicate(row, similar, last_duplicate, rule)
        if verdict is not None:
            return verdict
    if not copies:
        # Something new, or a known URL that shows something else.
        # What it was a copy of is gone from the index: it is nobody's copy any more.
        is_new = last_duplicate is None or is_unchanged(row, last_duplicate, None, rule)
        nearest = best(similar) if similar else None
        return Verdict(
            "unique",
            nearest,
            claim=row,
            differs=None if nearest is None else nearest.differs,
            status="new" if is_new else "changed",
            row=row,
            before=last_duplicate,
        )
    groups_here = {match.row.origin for match in similar if visits.is_here(match.row)}
    return _known_elsewhere(row, copies, last_duplicate, rule, groups_here)


def is_own(row: ClaimRow, claim: ClaimRow) -> bool:
    """Whether a claim belongs to an earlier version of the document, or to an equal item."""
    if claim.identity == row.identity:
        return claim.download != row.download
    # An item that was alone on a page may be one of several at the next visit, and vice versa.
    # Pages are identified by their URLs only: equal ones are copies.
    is_listed = claim.download == claim.epoch or row.download == row.epoch
    return is_listed and claim.epoch != row.epoch and are_equal(row, claim)


def best(matches: Sequence[Match]) -> Match:
    """Prefers a match without differences, and then as :func:`preference`."""
    return min(matches, key=lambda match: (match.differs is not None, *preference(match)))


def preference(match: Match) -> tuple[bool, float, int, int]:
    """Orders matches: those that are stored first, as nobody waits for them, and the nearest."""
    return order(match.row, match.jaccard, match.distance)


def order(claim: ClaimRow, jaccard: float | None, distance: int) -> tuple[bool, float, int, int]:
    """Orders claims as :func:`preference` orders matches."""
    return claim.state == State.PENDING, -(jaccard or 0.0), distance, claim.id


def is_unchanged(
    row: ClaimRow, old: ClaimRow | LastDuplicate, match: Match | None, rule: Rule
) -> bool:
    """Whether a document has the content that an earlier version had, but for its state.

    `match` is that version, if it is a claim.
    """
    is_of_page, is_bare = _has_values(row), _is_bare(row)
    if not is_bare and row.digest is not None and row.digest == old.digest:
        return True
    if ComparedBy.EXACT in (row.compared_by, old.compared_by) or row.compared_by != old.compared_by:
        return False
    is_same = is_of_page or row.text_digest == old.text_digest
    if not is_same and not (match and _is_same_text(match, rule)):
        return False
    return _has_same_facts(row, old, rule, with_page=not is_of_page)


def _has_same_facts(
    row: ClaimRow, old: ClaimRow | LastDuplicate, rule: Rule, *, with_page: bool = True
) -> bool:
    if row.facts is None or old.facts is None:
        return row.facts == old.facts
    changed = changed_facts(Facts.unpack(row.facts), Facts.unpack(old.facts), rule.ignored_keys)
    if not with_page:
        changed = {key for key in changed if not key & PAGE_BIT}
    return not (changed if rule.change_similarity == 1 else changed - {REST_KEY})


def _has_values(row: ClaimRow) -> bool:
    """Whether an item that is compared by its page's text has values of its own, but no text.

    Boxes beside these are no part of it, whatever the text.
    """
    own_kinds = Facts.unpack(row.facts or b"").own_kinds
    return row.compared_by == ComparedBy.PAGE and bool(own_kinds) and Evidence.REST not in own_kinds


def _has_other_stock(row: ClaimRow, old: ClaimRow) -> bool:
    """Whether both items tell their stock, which keeps only versions of one item apart."""
    new, stored = (Facts.unpack(one.facts or b"").values for one in (row, old))
    return any(
        kind == Evidence.STOCK and stored.get(name, (kind, value)) != (kind, value)
        for name, (kind, value) in new.items()
    )


def _is_bare(row: ClaimRow) -> bool:
    """Whether an item has nothing but URL, title and state, and stands for the text of its page."""
    return row.compared_by == ComparedBy.PAGE and not Facts.unpack(row.facts or b"").own_kinds


def _is_same_text(match: Match, rule: Rule) -> bool:
    """Whether a text that is not equal differs in its state only, or hardly and in no number."""
    changes = match.changes() if match.changes else None
    if changes is not None and not changes:
        return True
    if match.jaccard is None or rule.change_similarity == 1:
        return False
    is_close = match.jaccard >= rule.change_similarity
    return is_close and not (changes and changes.has_numbers)


def adds_text(row: ClaimRow, match: Match) -> bool:
    """Whether a text has pairs of words that a similar one lacks."""
    if match.jaccard is None or match.estimated:
        return match.row.text_digest != row.text_digest
    changes = match.changes() if match.changes else None
    if changes is not None and not any(change.new for change in changes.all):
        return False  # but for its state
    # From the Jaccard similarity and both sizes.
    common = match.jaccard * (row.size + match.row.size) / (1 + match.jaccard)
    return common < row.size - 0.5


def _versions(
    matches: Sequence[Match], row: ClaimRow, visits: Visits
) -> tuple[Sequence[Match], Sequence[Match]]:
    """The versions of a document among claims, each once: of this visit, and earlier ones."""
    versions = {match.row.id: match for match in matches if is_own(row, match.row)}.values()
    here = [match for match in versions if visits.is_here(match.row)]
    return here, [match for match in versions if match not in here]


def _version(
    row: ClaimRow,
    versions: tuple[Sequence[Match], Sequence[Match]],
    newest: Match,
    earlier: tuple[ClaimRow, ...],
    rule: Rule,
) -> Verdict:
    """The verdict on a version of what was met before, in this visit or an earlier one.

    `versions` are those with a similar text, and all that count. A claim that no later crawl will
    confirm can't stand for an item that is stored.
    """
    similar, counted = versions
    equal = [
        match
        for match in counted
        if is_unchanged(row, match.row, match, rule)
        and (rule.known == "drop" or match.row.state == State.CONFIRMED)
    ]
    match = best(equal or similar) if equal or similar else newest
    claim = match.row
    # Later items of this visit must be compared with what it shows now.
    stays = bool(equal) and (rule.known == "drop" or _is_identical(row, claim))
    return Verdict(
        "same",
        match,
        claim=None if stays else row._replace(origin=claim.origin),
        status="unchanged" if equal else "changed",
        row=row,
        before=claim,
        outdated=tuple(version for version in earlier if not (stays and version.id == claim.id)),
    )


def _is_identical(row: ClaimRow, claim: ClaimRow) -> bool:
    if not may_be_one_site(row.url, claim.url) or row.compared_by != claim.compared_by:
        return False
    if row.compared_by == ComparedBy.EXACT:
        return row.digest == claim.digest
    return row.text_digest == claim.text_digest and row.facts == claim.facts


def _former_duplicate(
    row: ClaimRow, similar: Sequence[Match], last_duplicate: LastDuplicate, rule: Rule
) -> Verdict | None:
    """The verdict on what was a copy when it was last met, and has nothing current beside it.

    None if what it was a copy of is no longer similar.
    """
    originals = [match for match in similar if match.row.id == last_duplicate.claim]
    if not originals:
        return None
    original = originals[0]
    is_other = original.differs is not None
    adds = is_other or adds_text(row, original)
    unchanged = is_unchanged(row, last_duplicate, None, rule) or (
        not adds and _has_same_facts(row, last_duplicate, rule)
    )
    if rule.known == "drop" and (unchanged or not adds):
        status: Status = "unchanged" if unchanged else "copy"
        return Verdict("duplicate", original, status=status, row=row, before=last_duplicate)
    return Verdict(
        "unique",
        original if is_other else None,
        claim=row if is_other else row._replace(origin=original.row.origin),
        differs=original.differs,
        status="unchanged" if unchanged else "changed",
        row=row,
        before=last_duplicate,
    )


def _known_elsewhere(
    row: ClaimRow,
    copies: Sequence[Match],
    last_duplicate: LastDuplicate | None,
    rule: Rule,
    groups_here: Collection[int],
) -> Verdict:
    """The verdict on what only earlier visits met, at other URLs.

    `groups_here` are those that this visit met.
    """
    moved = [
        match
        for match in copies
        if last_duplicate is None
        and match.row.origin not in groups_here
        and may_be_one_site(row.url, match.row.url)
    ]
    if not moved:
        old = best(copies)
        if rule.known == "drop":
            return Verdict("duplicate", old, status="copy", row=row)
        is_new_group = old.row.origin in groups_here
        return Verdict(
            "unique",
            claim=row if is_new_group else row._replace(origin=old.row.origin),
            status="new" if last_duplicate is None else "changed",
            row=row,
            before=last_duplicate,
        )
    # The last version, unless an earlier one has the text.
    newest = max(moved, key=lambda match: (match.row.last_run, match.row.id))
    old = best(moved) if adds_text(row, newest) else newest
    # An entry of a list without a URL of its own is at the URL of its page, as it was before.
    is_entry = old is newest and row.url == old.row.url
    has_other_stock = is_entry and _has_other_stock(row, old.row)
    adds = has_other_stock or adds_text(row, old)
    if rule.known == "drop" and not adds:
        return Verdict("duplicate", old, status="moved", row=row, before=old.row)
    return Verdict(
        "unique",
        claim=row._replace(origin=old.row.origin),
        status="changed" if adds else "moved",
        row=row,
        before=old.row,
        outdated=(old.row,) if rule.known == "pass" or has_other_stock else (),
    )


def may_be_one_site(one: str, other: str) -> bool:
    """Whether two URLs are of one site; True if one is unknown, which is the stricter rule."""
    return not (one and other) or same_site(one, other)

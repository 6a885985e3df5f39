"""The rule: the verdict on a document, given the claims it was compared with. Pure functions.

A document is a duplicate only if its text is similar to that of a claim *and* it contains no value
that the claim's item does not. `Index.claim`, and with it every crawl, `dedupe`, `compare` and
`tune` decide here and nowhere else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from scrapy_simhash.db.schema import CONFIRMED, EXACT, PENDING
from scrapy_simhash.index.rule import Met, Rule, are_equal
from scrapy_simhash.index.verdict import Row
from scrapy_simhash.item.facts import (
    NUMBERS_OF_TEXT,
    Facts,
    are_one_thing,
    conflict,
    equal_titles,
)
from scrapy_simhash.item.urls import host_of, same_site, site, view_of
from scrapy_simhash.simhash.measure import FEW_FEATURES
from scrapy_simhash.text.page_sketch import containment

#: Two pages of one site are duplicates only if the larger one contains this share of the smaller
#: one's visible text. Tables of contents of one manual have .11 to .60 in common, print views .97,
#: session copies .81.
REST = 0.65

#: An estimated similarity of two texts is not less: without the texts, nobody can see where they
#: differ.
UNSEEN = 0.9

#: A text that this many different items of a site share does not indicate a copy on other sites.
COMMON = 3


class Decision(NamedTuple):
    """The decision on a document.

    Attributes:
        kind: see :class:`~scrapy_simhash.Verdict`.
        match: see :class:`~scrapy_simhash.Verdict`.
        claims: whether a claim is made for it.
        differs: why a unique document is not a duplicate of `match`.
        pair: the newest claim that is surely an earlier version of the same thing, if any: fields
            are learned from it.
    """

    kind: Literal["unique", "duplicate", "same"]
    match: Met | None
    claims: bool
    differs: str | None = None
    pair: Met | None = None


class _Near(NamedTuple):
    met: Met
    differs: str | None


def decide(
    asked: Sequence[Row],
    facts: Sequence[Facts | None],
    met: Sequence[Sequence[Met]],
    in_batch: Callable[[int, Mapping[int, Row]], Sequence[Met]],
    *,
    rule: Rule,
    newest: Mapping[int, int],
    made: Mapping[int, Row],
    learned: Callable[[Row], Collection[int]] = lambda document: (),
) -> list[Decision]:
    """Decide on a batch of documents, in their order.

    The first similar claim found decides, in this order: of the same identity in this crawl epoch
    (the page was fetched again: "same"); of others in this epoch ("duplicate"); of the same
    identity in an earlier epoch ("same"); of others in earlier epochs ("duplicate"). So a claim
    belongs to one document of each epoch, and a second crawl keeps the items that the first one
    kept. Cases that are easy to get wrong:

    1. *Duplicates within the batch.* a and b are equal and new. a is unique and claimed; b is
       compared with that claim, though it is not in the table yet, and is a duplicate of a.
    2. *A changed version.* An identity claimed v1 in an earlier visit and now has v2, which is
       similar. v2 is "same", never a duplicate; it is claimed, because later documents have to be
       compared with it. If v2 equals v1 exactly and v1 is confirmed, no claim is needed.
    3. *Another item with the same text.* Two products of one shop have the manufacturer's text and
       different prices. The second is unique; `differs` is "price".
    4. *A lost answer.* The transaction was committed, the connection broke, and the batch is
       decided on again. Each document is now compared with its own claim (`made`) and with later
       ones, which did not exist at the first attempt: all of these are ignored.

    Args:
        asked: the documents, with the numbers that their claims would have.
        facts: of each, with the names of the fields; None to compare the text only.
        met: for each, the claims that it was compared with.
        in_batch: returns the earlier documents of the batch that are near a document, given its
            number and those that were claimed.
        rule: see there.
        newest: the newest claim of each identity.
        made: the claims that an earlier attempt of this batch has committed, by document.
        learned: returns the fields that are not compared on a document's host, by their hashes.
    """
    decisions: list[Decision] = []
    standing: dict[int, Row] = {}
    taken: dict[int, Row] = {}
    for number, mine in enumerate(asked):
        others = (
            other._replace(claim=taken.get(other.claim.id, other.claim))
            for other in (*met[number], *in_batch(number, standing))
            if _counted(number, other.claim, made)
        )
        near = [other for other in others if _is_near(mine, other, rule)]
        decision = _decision(mine, facts[number], near, newest, rule=rule, ignored=learned(mine))
        if decision.claims:
            # The claim of an earlier attempt was read from the table.
            if number not in made:
                standing[number] = of_group(mine, decision)
        elif decision.kind == "same" and (match := decision.match):
            taken[match.claim.id] = stands_for(match.claim, mine)
        decisions.append(decision)
    return decisions


def _decision(
    mine: Row,
    facts: Facts | None,
    near: Sequence[Met],
    newest: Mapping[int, int],
    *,
    rule: Rule,
    ignored: Collection[int],
) -> Decision:
    """The decision on a document, given the claims with similar texts; see :func:`decide`."""
    pair = _one_thing(mine, facts, near) if rule.learn and facts is not None and near else None
    strict, beside, host = _common(near), facts, host_of(mine.url)
    if ignored and facts is not None:
        facts, mine = facts.without(ignored), _without(ignored, mine)
        near = [one._replace(claim=_without(ignored, one.claim)) for one in near]
    checked = [
        _Near(met, difference(mine, given, met, rule, strict))
        for met in near
        for given in [facts if host_of(met.claim.url) == host else beside]
    ]
    return _verdict(mine, checked, newest, rule)._replace(pair=pair)


def _without(ignored: Collection[int], row: Row) -> Row:
    facts = None if row.facts is None else Facts.unpack(row.facts).without(ignored).packed()
    return row._replace(facts=facts)


def of_group(mine: Row, decision: Decision) -> Row:
    """The row of a new claim with its group: that of an earlier version, or a new one."""
    earlier = decision.match if decision.kind == "same" else None
    origin = mine.id if earlier is None else earlier.claim.origin
    return mine if mine.origin == origin else mine._replace(origin=origin)


def stands_for(claim: Row, mine: Row) -> Row:
    """A claim that now belongs to a document of this visit."""
    return claim._replace(
        identity=mine.identity,
        token=mine.token,
        visit=mine.visit,
        epoch=mine.epoch,
        listing=mine.listing,
    )


def _counted(number: int, claim: Row, made: Mapping[int, Row]) -> bool:
    """Whether a claim existed when an earlier attempt, if any, decided on a document."""
    if number in made and claim.id >= made[number].id:
        return False
    return all(claim.id != row.id for other, row in made.items() if other >= number)


def _is_near(mine: Row, other: Met, rule: Rule) -> bool:
    claim = other.claim
    if are_equal(mine, claim):
        return True
    if EXACT in (mine.compared_by, claim.compared_by):
        return False
    few = min(mine.size, claim.size) < FEW_FEATURES
    if other.distance > (0 if few else rule.limit):
        return False
    if rule.similarity is None or other.similarity is None:
        return True
    least = max(rule.similarity, UNSEEN) if other.estimated else rule.similarity
    # The estimate for an equal text may be slightly below 1.
    return other.similarity >= least - 1e-9


def difference(
    mine: Row, facts: Facts | None, met: Met, rule: Rule, strict: frozenset[str] = frozenset()
) -> str | None:
    """Why a document is not a duplicate of a claim with a similar text; None if it is.

    `facts` are those of the document, with the names of the fields. On the sites in `strict` the
    text is common: their documents must agree in every fact, also with claims of other sites.
    """
    other = met.claim
    if mine.listing and mine.listing == other.listing and mine.identity != other.identity:
        return "(address)"
    if are_equal(mine, other):
        return None
    if rule.facts == "never" or facts is None:
        return None
    # Without a URL, assume the same site: the stricter rule.
    here = not (mine.url and other.url) or same_site(mine.url, other.url)
    together = here or any(site(url) in strict for url in (mine.url, other.url) if strict)
    # Equal sets of pairs may stand in another order.
    changes = None if met.similarity == 1 else met.changes()
    stored = None if other.facts is None else Facts.unpack(other.facts)
    view = view_of(mine.url, other.url) if mine.url else None
    if stored is not None and (
        name := conflict(
            facts,
            stored,
            same_site=together,
            mode=rule.facts,
            numbers=changes is None,
            state=mine.identity == other.identity,
            # Items of one list, and answers to forms, share a URL and are different things.
            view=view if mine.url != other.url and _are_alone(mine, other) else None,
        )
    ):
        return name
    if changes is not None and not view:
        is_strict = together or rule.facts == "always"
        if changes.has_numbers() if is_strict else changes.replaces_reference():
            return NUMBERS_OF_TEXT
        title = None if stored is None else equal_titles(facts, stored)
        are_close = met.similarity is not None and met.similarity >= UNSEEN
        # On one site, what stands under one title is the same thing in another version. Below
        # that, with another title, what was added may be what it is about.
        if (not (here and title and are_close) and changes.replaces_passage()) or (
            title is False and not are_close and changes.adds_passage()
        ):
            return "(passage)"
        if changes.renames():
            return "(names)"
    if (
        here
        and mine.page_sketch
        and other.page_sketch
        and containment(mine.page_sketch, other.page_sketch) < REST
    ):
        return "(rest of the page)"
    return None


def _are_alone(*rows: Row) -> bool:
    """Whether the items are each alone on a page."""
    return all(row.visit != row.epoch for row in rows)


def _one_thing(mine: Row, facts: Facts, near: Sequence[Met]) -> Met | None:
    """The newest claim that is surely an earlier version of a document, with nearly its text.

    Its page was fetched again, maybe under tracking parameters; or a listed item is found again. An
    identity that several listed items have is none.
    """
    alone = _are_alone(mine)
    origins = {met.claim.origin for met in near if met.claim.identity == mine.identity}
    earlier = [
        met
        for met in near
        if (claim := met.claim).visit != mine.visit
        and claim.facts is not None
        and EXACT not in (mine.compared_by, claim.compared_by)
        and host_of(mine.url) == host_of(claim.url)
        and (
            claim.identity == mine.identity
            or (alone and _are_alone(claim) and view_of(claim.url, mine.url) == "shown")
        )
    ]
    if not earlier or (not alone and len(origins) > 1):
        return None
    met = max(earlier, key=lambda met: met.claim.id)
    if met.estimated or met.similarity is None or met.similarity < UNSEEN:
        return None
    changes = None if met.similarity == 1 else met.changes()
    if changes is not None and (changes.replaces_passage() or changes.renames()):
        return None
    return met if are_one_thing(facts, Facts.unpack(met.claim.facts or b"")) else None


def _common(near: Sequence[Met]) -> frozenset[str]:
    """The sites on which several different items share the text."""
    if len(near) < COMMON:
        return frozenset()
    facts_of: dict[str, set[bytes | None]] = defaultdict(set)
    for other in near:
        facts_of[site(other.claim.url)].add(other.claim.facts)
    return frozenset(name for name, facts in facts_of.items() if len(facts) >= COMMON)


def _verdict(mine: Row, near: Sequence[_Near], newest: Mapping[int, int], rule: Rule) -> Decision:
    if not near:
        return Decision("unique", None, claims=True)
    own = [one for one in near if _is_own(mine, one.met.claim)]
    others = [one for one in near if one.differs is None and one not in own]
    for current in (True, False):
        of_then = (one.met.claim.epoch == mine.epoch for one in own)
        mine_then = [one for one, then in zip(own, of_then, strict=True) if then is current]
        if mine_then:
            return _same(mine, _best(mine_then), own, newest, rule)
        theirs = [one for one in others if (one.met.claim.epoch == mine.epoch) is current]
        if theirs:
            return Decision("duplicate", _best(theirs).met, claims=False)
    best = _best(near)
    return Decision("unique", best.met, claims=True, differs=best.differs)


def _is_own(mine: Row, claim: Row) -> bool:
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


def _best(near: Sequence[_Near]) -> _Near:
    """Prefers a match without differences, then one that is stored, so that nobody waits for it."""

    def order(one: _Near) -> tuple[bool, bool, float, int, int]:
        distance, similarity, _, claim, _ = one.met
        return (
            one.differs is not None,
            claim.state == PENDING,
            -(similarity or 0.0),
            distance,
            claim.id,
        )

    return min(near, key=order)


def _same(
    mine: Row, best: _Near, own: Sequence[_Near], newest: Mapping[int, int], rule: Rule
) -> Decision:
    """The decision on a new version: it is claimed unless it is unchanged."""
    if EXACT in (mine.compared_by, best.met.claim.compared_by):
        unchanged = best.met.claim.state == CONFIRMED
    elif rule.same_url == "drop":
        last = newest.get(best.met.claim.identity, best.met.claim.id)
        unchanged = any(one.met.claim.id >= last and one.differs is None for one in own)
    else:
        unchanged = any(
            one.met.claim.fingerprint == mine.fingerprint
            and one.met.claim.facts == mine.facts
            and one.met.claim.state == CONFIRMED
            for one in own
        )
    return Decision("same", best.met, claims=not unchanged)

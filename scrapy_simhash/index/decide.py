"""The rule: the verdict on a document, given the claims it was compared with. Pure functions.

A document is a duplicate only if its text is similar to that of a claim *and* it contains no value
that the claim's item does not. `Index.claim`, and with it every crawl, `dedupe`, `compare` and
`tune` decide here and nowhere else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scrapy_simhash.db.schema import CONFIRMED, EXACT, PAGE, PENDING
from scrapy_simhash.features.changes import Changes
from scrapy_simhash.index.verdict import FactsMode, Row, SameUrl
from scrapy_simhash.item.facts import NUMBERS_OF_TEXT, Facts, conflict, equal_titles
from scrapy_simhash.item.urls import place, same_site, site
from scrapy_simhash.keys.plan import choose_limits
from scrapy_simhash.simhash.measure import FEW_FEATURES, candidate_limit
from scrapy_simhash.simhash.scheme import Scheme, has_shingles, own_distance
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


@dataclass(frozen=True, slots=True)
class Rule:
    """When two documents are near-duplicates.

    Attributes:
        limit: the largest Hamming distance of their fingerprints.
        similarity: the smallest Jaccard similarity of their shingles; None if the distance decides.
        facts: when facts make documents with similar texts different: "always"; "auto", all facts
            on one site and prices across sites; "never".
        same_url: "pass" claims a changed version of a document with the same identity, "drop" only
            if it is not a near-duplicate of the newest version.
    """

    limit: int
    similarity: float | None = None
    facts: FactsMode = "auto"
    same_url: SameUrl = "pass"

    @classmethod
    def of(
        cls,
        scheme: Scheme,
        similarity: float,
        distance: int | None,
        *,
        facts: FactsMode,
        same_url: SameUrl,
    ) -> Rule:
        """The rule for a similarity or a distance; similarities need a scheme with shingles.

        Raises:
            ValueError: see :func:`choose_limits`.
        """
        limit = choose_limits(scheme, similarity, distance)[1]
        by_similarity = distance is None and own_distance(scheme) is None and has_shingles(scheme)
        if not by_similarity:
            return cls(limit, None, facts, same_url)
        return cls(candidate_limit(similarity), similarity, facts, same_url)


class Met(NamedTuple):
    """A claim that a document was compared with.

    Attributes:
        distance: of the two fingerprints, in bits.
        similarity: of the two texts; None if unknown.
        estimated: whether the similarity is an estimate.
        claim: its row: of the table, or of an earlier document of the batch.
        changes: returns how the document's text differs; None where a text is not at hand.
    """

    distance: int
    similarity: float | None
    estimated: bool
    claim: Row
    changes: Callable[[], Changes | None] = lambda: None


def met_with(
    mine: Row,
    claim: Row,
    distance: int,
    similarity: Callable[[], tuple[float | None, bool]],
    changes: Callable[[], Changes | None] = lambda: None,
) -> Met:
    """Compare a document with a claim.

    `similarity` returns that of the two texts, and whether it is an estimate; it is not called for
    equal items.
    """
    if are_equal(mine, claim):
        return Met(0, 1.0, False, claim)
    return Met(distance, *similarity(), claim, changes)


class Decision(NamedTuple):
    """The decision on a document.

    Attributes:
        kind: see :class:`~scrapy_simhash.Verdict`.
        match: see :class:`~scrapy_simhash.Verdict`.
        claims: whether a claim is made for it.
        differs: why a unique document is not a duplicate of `match`.
    """

    kind: Literal["unique", "duplicate", "same"]
    match: Met | None
    claims: bool
    differs: str | None = None


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
        beside, strict = facts[number], _common(near)
        checked = [_Near(one, difference(mine, beside, one, rule, strict)) for one in near]
        decision = _verdict(mine, checked, newest, rule)
        if decision.claims:
            # The claim of an earlier attempt was read from the table.
            if number not in made:
                standing[number] = of_group(mine, decision)
        elif decision.kind == "same" and (match := decision.match):
            taken[match.claim.id] = stands_for(match.claim, mine)
        decisions.append(decision)
    return decisions


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


def apart(mine: Row, claim: Row) -> int:
    """The distance of the fingerprints of two documents."""
    one, two = (int.from_bytes(row.fingerprint, "big") for row in (mine, claim))
    return (one ^ two).bit_count()


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


def are_equal(mine: Row, claim: Row) -> bool:
    """Whether two items are exactly equal; False if they are compared by their pages."""
    if mine.compared_by == claim.compared_by == PAGE or mine.digest is None:
        return False
    return mine.digest == claim.digest


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
    if stored is not None and (
        name := conflict(
            facts,
            stored,
            same_site=together,
            mode=rule.facts,
            numbers=changes is None,
            state=mine.identity == other.identity,
        )
    ):
        return name
    if changes is not None and not (mine.url and place(mine.url) == place(other.url)):
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

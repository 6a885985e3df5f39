"""The rule: what a document is, given the claims that it was compared with. Pure.

A document is dropped only if its text is near that of a claim *and* it says nothing that the
claim's item does not. `Index.claim`, and with it every crawl and `dedupe`, decides here and nowhere
else, and so do `compare` and `tune`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from scrapy_simhash.db.schema import CONFIRMED, EXACT, PAGE, PENDING
from scrapy_simhash.item.facts import Facts, conflict
from scrapy_simhash.item.urls import same_site, site
from scrapy_simhash.keys.plan import choose_limits
from scrapy_simhash.simhash.measure import FEW_FEATURES, candidate_limit
from scrapy_simhash.simhash.scheme import has_shingles, own_distance
from scrapy_simhash.text.page_sketch import containment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scrapy_simhash.index.verdict import FactsMode, Row, SameUrl
    from scrapy_simhash.simhash.scheme import Scheme

__all__ = [
    "Decision",
    "Met",
    "Rule",
    "apart",
    "are_equal",
    "decide",
    "difference",
    "met_with",
    "of_group",
    "stands_for",
]

#: The share of what the smaller of two pages of one site shows that the larger one must show too.
#: Tables of contents of one manual have .11 to .60, print views .97, session copies .81.
REST = 0.65

#: A text that as many different things of a site have is no sign of a copy on another site either.
COMMON = 3


@dataclass(frozen=True, slots=True)
class Rule:
    """What makes two documents near-duplicates.

    Attributes:
        limit: the Hamming distance of their fingerprints up to which they may be.
        similarity: the Jaccard similarity of their shingles from which they are; None where the
            distance alone decides.
        facts: where facts keep documents apart that have near texts: "always"; "auto", all facts
            on one site, prices alone across sites; "never".
        same_url: "pass" claims a changed version of an owner's own document, "drop" only one that
            is no near-duplicate of its newest version.
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
        """The rule for what is asked for: true similarities where there are shingles to judge by.

        Raises:
            ValueError: see :func:`choose_limits`.
        """
        limit = choose_limits(scheme, similarity, distance)[1]
        is_judged = distance is None and own_distance(scheme) is None and has_shingles(scheme)
        if not is_judged:
            return cls(limit, None, facts, same_url)
        return cls(candidate_limit(similarity), similarity, facts, same_url)


class Met(NamedTuple):
    """A claim that a document was compared with.

    Attributes:
        distance: of the two fingerprints, in bits.
        similarity: of the two texts, or None where it is not known.
        estimated: whether it is an estimate.
        claim: its row: one of the table, or one of the batch that was decided on before.
    """

    distance: int
    similarity: float | None
    estimated: bool
    claim: Row


def met_with(
    mine: Row, claim: Row, distance: int, similarity: Callable[[], tuple[float | None, bool]]
) -> Met:
    """A claim as a document meets it.

    Args:
        mine: the document.
        claim: what it is compared with.
        distance: of the two fingerprints.
        similarity: gives that of the two texts, and whether it is an estimate; of equal items it
            need not be known.
    """
    if are_equal(mine, claim):
        return Met(0, 1.0, False, claim)
    return Met(distance, *similarity(), claim)


class Decision(NamedTuple):
    """What a document is.

    Attributes:
        kind: see :class:`~scrapy_simhash.Verdict`.
        match: the claim that it is a near-duplicate, or a version, of; of a unique document the one
            that it would be if it did not differ.
        claims: whether a claim is made for it.
        differs: what makes a unique document another thing than `match`.
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
    twins: Callable[[int, Mapping[int, Row]], Sequence[Met]],
    *,
    rule: Rule,
    newest: Mapping[int, int],
    made: Mapping[int, Row],
) -> list[Decision]:
    """Decide on a batch of documents, in their order.

    What a document meets is asked for in this order: its own version of this very visit of the web
    (it was fetched again: "same"), what others showed in this visit ("duplicate"), its own version
    of an earlier visit ("same"), what others showed earlier ("duplicate"). So a claim stands for
    one document of each visit, and a second crawl keeps what the first one kept. Cases that are
    easy to get wrong:

    1. *A twin in the batch.* a and b are equal, and neither was met before. a is unique and claims;
       b meets that claim, though no table has it yet, and is a duplicate of a.
    2. *A changed version.* An owner claimed v1 on an earlier visit and now shows v2, which is near
       it. v2 is "same", never a duplicate; it is claimed, since what comes next has to be compared
       with it. If v2 is v1 to the letter, and v1 is confirmed, there is nothing to claim.
    3. *Another thing with the same text.* Two products of one shop have the maker's text and
       different prices. The second is unique; `differs` is "price".
    4. *An answer that was lost.* The transaction was committed, the connection broke, and the batch
       is decided on again. Each of its documents now meets the claim that it made itself, and those
       that came after. Its own claim (`made`) is no match, and later ones did not count then.

    Args:
        asked: the documents, with the numbers that their claims would have.
        facts: of each, with the names of the fields; None where nothing but the text counts.
        met: for each, the claims that it was compared with.
        twins: gives, for a document, those before it in the batch that are near, of those that
            were claimed: by their numbers.
        rule: what is near, and what keeps things apart.
        newest: the last claim of an owner.
        made: the claims that an earlier attempt of this very batch has committed, by document.
    """
    decisions: list[Decision] = []
    standing: dict[int, Row] = {}
    taken: dict[int, Row] = {}
    for number, mine in enumerate(asked):
        others = (
            other._replace(claim=taken.get(other.claim.id, other.claim))
            for other in (*met[number], *twins(number, standing))
            if _counted(number, other.claim, made)
        )
        near = [other for other in others if _is_near(mine, other, rule)]
        beside, strict = facts[number], _common(near)
        judged = [_Near(one, difference(mine, beside, one.claim, rule, strict)) for one in near]
        decision = _judge(mine, judged, newest, rule)
        if decision.claims:
            # What an earlier attempt claimed for it is met as any other claim.
            if number not in made:
                standing[number] = of_group(mine, decision)
        elif decision.kind == "same" and (match := decision.match):
            taken[match.claim.id] = stands_for(match.claim, mine)
        decisions.append(decision)
    return decisions


def of_group(mine: Row, decision: Decision) -> Row:
    """A document that is claimed, in its group: that of its earlier version, or one of its own."""
    earlier = decision.match if decision.kind == "same" else None
    origin = mine.id if earlier is None else earlier.claim.origin
    return mine if mine.origin == origin else mine._replace(origin=origin)


def stands_for(claim: Row, mine: Row) -> Row:
    """A claim once it stands for a document of this visit."""
    return claim._replace(
        owner=mine.owner,
        token=mine.token,
        visit=mine.visit,
        generation=mine.generation,
        fetch=mine.fetch,
    )


def apart(mine: Row, claim: Row) -> int:
    """The distance of the fingerprints of two documents."""
    one, two = (int.from_bytes(row.fingerprint, "big") for row in (mine, claim))
    return (one ^ two).bit_count()


def _counted(number: int, claim: Row, made: Mapping[int, Row]) -> bool:
    """Whether a claim was there when an earlier attempt, if any, decided on a document."""
    if number in made and claim.id >= made[number].id:
        return False
    return all(claim.id != row.id for other, row in made.items() if other >= number)


def _is_near(mine: Row, other: Met, rule: Rule) -> bool:
    claim = other.claim
    if are_equal(mine, claim):
        return True
    if EXACT in (mine.basis, claim.basis):
        return False
    few = min(mine.size, claim.size) < FEW_FEATURES
    if other.distance > (0 if few else rule.limit):
        return False
    if rule.similarity is None or other.similarity is None:
        return True
    # An estimate of an equal text may fall short by rounding.
    return other.similarity >= rule.similarity - 1e-9


def are_equal(mine: Row, claim: Row) -> bool:
    """Whether two items are, to the letter; where their pages speak for them that says nothing."""
    if mine.basis == claim.basis == PAGE or mine.digest is None:
        return False
    return mine.digest == claim.digest


def difference(
    mine: Row, facts: Facts | None, other: Row, rule: Rule, strict: frozenset[str] = frozenset()
) -> str | None:
    """What makes a document another thing than a claim with a near text, if anything does.

    Args:
        mine: the document.
        facts: its own, with the names of the fields.
        other: the claim.
        rule: see there.
        strict: sites where the text is common: what is theirs agrees in every fact with a claim of
            any site, or is something else.
    """
    if mine.fetch and mine.fetch == other.fetch and mine.owner != other.owner:
        return "(address)"
    if are_equal(mine, other):
        return None
    if rule.facts == "never" or facts is None:
        return None
    # What is from nowhere may be from anywhere.
    here = not (mine.url and other.url) or same_site(mine.url, other.url)
    together = here or any(site(url) in strict for url in (mine.url, other.url) if strict)
    if other.facts is not None and (
        name := conflict(facts, Facts.unpack(other.facts), same_site=together, mode=rule.facts)
    ):
        return name
    if here and mine.rest and other.rest and containment(mine.rest, other.rest) < REST:
        return "(rest of the page)"
    return None


def _common(near: Sequence[Met]) -> frozenset[str]:
    """The sites of which several different things have a text."""
    if len(near) < COMMON:
        return frozenset()
    said: dict[str, set[bytes | None]] = defaultdict(set)
    for other in near:
        said[site(other.claim.url)].add(other.claim.facts)
    return frozenset(name for name, facts in said.items() if len(facts) >= COMMON)


def _judge(mine: Row, near: Sequence[_Near], newest: Mapping[int, int], rule: Rule) -> Decision:
    if not near:
        return Decision("unique", None, claims=True)
    own = [one for one in near if _is_own(mine, one.met.claim)]
    others = [one for one in near if one.differs is None and one not in own]
    for current in (True, False):
        of_then = (one.met.claim.generation == mine.generation for one in own)
        mine_then = [one for one, then in zip(own, of_then, strict=True) if then is current]
        if mine_then:
            return _same(mine, _best(mine_then), own, newest, rule)
        theirs = [one for one in others if (one.met.claim.generation == mine.generation) is current]
        if theirs:
            return Decision("duplicate", _best(theirs).met, claims=False)
    best = _best(near)
    return Decision("unique", best.met, claims=True, differs=best.differs)


def _is_own(mine: Row, claim: Row) -> bool:
    """Whether a claim is that of an earlier version of the document, or of the very same item."""
    if claim.token == mine.token:
        # An earlier attempt of this batch has let it stand for this very document.
        return True
    if claim.owner == mine.owner:
        return claim.visit != mine.visit
    # A row that was alone on the last page is among others at the next visit, and the other way
    # round. Pages are what their addresses say, and copies of each other if they are equal.
    is_listed = claim.visit == claim.generation or mine.visit == mine.generation
    return is_listed and claim.generation != mine.generation and are_equal(mine, claim)


def _best(near: Sequence[_Near]) -> _Near:
    """One that agrees; then one that is stored for sure, so that nobody waits without need."""

    def order(one: _Near) -> tuple[bool, bool, float, int, int]:
        distance, similarity, _, claim = one.met
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
    """A document that is what its owner claimed before; whether it is worth a claim of its own."""
    if EXACT in (mine.basis, best.met.claim.basis):
        unchanged = best.met.claim.state == CONFIRMED
    elif rule.same_url == "drop":
        last = newest.get(best.met.claim.owner, best.met.claim.id)
        unchanged = any(one.met.claim.id >= last and one.differs is None for one in own)
    else:
        unchanged = any(
            one.met.claim.fingerprint == mine.fingerprint
            and one.met.claim.facts == mine.facts
            and one.met.claim.state == CONFIRMED
            for one in own
        )
    return Decision("same", best.met, claims=not unchanged)

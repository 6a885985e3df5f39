"""The rule: the verdict on a document, given the claims it was compared with. Pure functions.

A document is a duplicate only if its text is similar to that of a claim *and* it contains no value
that the claim's item does not. `Index.claim`, and with it every crawl, `dedupe`, `compare` and
`tune` decide here and nowhere else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from types import MappingProxyType

from scrapy_simhash.db.values import EXACT
from scrapy_simhash.features.changes import PASSAGE, Changes
from scrapy_simhash.index.rule import Met, Rule, are_equal
from scrapy_simhash.index.verdict import TOUCHED, FactsMode, Place, Row
from scrapy_simhash.index.visits import (
    NO_VISITS,
    Decision,
    Visits,
    is_own,
    judge,
    may_be_one_site,
    preference,
)
from scrapy_simhash.item.addresses import site, view_of
from scrapy_simhash.item.evidence import Evidence, Relation, Weight, weight
from scrapy_simhash.item.facts import (
    NUMBERS_OF_TEXT,
    Facts,
    are_two_items,
    conflict,
    relations_of,
)
from scrapy_simhash.simhash.measure import FEW_FEATURES
from scrapy_simhash.text.page import containment

#: Two pages of one site are duplicates only if the larger one contains this share of the smaller
#: one's visible text. Tables of contents of one manual have .11 to .60 in common, print views .97,
#: session copies .81.
REST = 0.65

# Without the texts, nobody can see where they differ: the least estimated similarity of a copy, and
# the words that may differ at most. Half a passage, as the estimate may be wrong by as much. In
# longer texts the sketch would not show a passage: they must be equal.
_UNSEEN = 0.97
_UNSEEN_WORDS = PASSAGE / 2
_UNSEEN_LENGTH = 1000

#: Texts of one site under one title are versions of one item from this similarity on.
CLOSE = 0.9

#: The stored texts that a document is compared with, the nearest first; and the words of a batch in
#: such pairs, which take about a second. The nearest text of each document is always compared.
TEXTS = 32
WORDS = 4_000_000

#: Why a document is kept whose similar texts were not all compared.
NOT_COMPARED = "(not compared)"

# Items of one site that are compared with each other, to see whether they share a text.
_SHARING = 8


def decide(
    asked: Sequence[Row],
    facts: Sequence[Facts | None],
    met: Sequence[Sequence[Met]],
    in_batch: Callable[[int, Mapping[int, Row]], Sequence[Met]],
    *,
    rule: Rule,
    visits: Visits = NO_VISITS,
    places: Mapping[int, Place] = MappingProxyType({}),
    made: Mapping[int, Row],
) -> list[Decision]:
    """Decide on a batch of documents, in their order, each as :func:`~.visits.judge` describes.

    Cases that are easy to get wrong:

    1. *Duplicates within the batch.* a and b are equal and new. a is unique and claimed; b is
       compared with that claim, though it is not in the table yet, and is a duplicate of a.
    2. *Another item with the same text.* Two products of one shop have the manufacturer's text and
       different prices. The second is unique; `differs` is "price".
    3. *A lost answer.* The batch is decided on again after it was committed. Claims that did not
       exist at the first attempt, its own (`made`) and later ones, are ignored.

    The documents have the numbers that their claims would have; without `facts` only the text is
    compared. `in_batch` returns the earlier documents of the batch that are near one, given its
    number and those that were claimed; `made` are the claims that an earlier attempt has committed,
    by document.
    """
    decisions, budget = list[Decision](), _Budget()
    standing, taken = dict[int, Row](), dict[int, Row]()
    copies = defaultdict[int, list[Row]](list)
    for number, mine in enumerate(asked):
        others = [
            other._replace(
                claim=taken.get(other.claim.id, other.claim),
                copies=(*other.copies, *copies[other.claim.id]),
            )
            for other in (*met[number], *in_batch(number, standing))
            if _counted(number, other.claim, made)
        ]
        near = [other for other in others if _is_near(mine, other, rule)]
        strict = sharing_sites(mine, facts[number], _counting(near, rule, visits))
        given = mine, facts[number], near, rule, visits
        decision = judge(
            mine,
            _with_differences(*given, strict=strict, budget=budget),
            [other for other in others if rule.known and other.claim.identity == mine.identity],
            places.get(mine.identity),
            rule=rule,
            visits=visits,
        )
        if decision.claims:
            # The claim of an earlier attempt was read from the table.
            if number not in made:
                standing[number] = of_group(mine, decision)
        elif decision.kind == "same" and (match := decision.match):
            taken[match.claim.id] = stands_for(match.claim, mine)
        elif match := decision.match:
            copies[match.claim.id].append(mine)
        decisions.append(decision)
    return decisions


def of_group(mine: Row, decision: Decision) -> Row:
    """The row of a new claim with its group: that of an earlier version, or a new one."""
    origin = decision.origin or mine.id
    return mine if mine.origin == origin else mine._replace(origin=origin)


def stands_for(claim: Row, mine: Row) -> Row:
    """A claim that now belongs to a document of this visit."""
    return claim._replace(**{name: getattr(mine, name) for name in TOUCHED})


def _counted(number: int, claim: Row, made: Mapping[int, Row]) -> bool:
    """Whether a claim existed when an earlier attempt, if any, decided on a document."""
    if number in made and claim.id >= made[number].id:
        return False
    return all(claim.id != row.id for other, row in made.items() if other >= number)


def _counting(near: Sequence[Met], rule: Rule, visits: Visits) -> list[Met]:
    """The claims, and their copies, that may show that a text is common.

    With "pass", what a first crawl would do does not depend on earlier visits.
    """
    if rule.known == "drop" or visits.epoch is None:
        return [*near]
    return [
        one._replace(copies=tuple(copy for copy in one.copies if copy.met >= visits.epoch))
        for one in near
        if visits.is_current(one.claim)
    ]


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
    # The estimate for an equal text may be slightly below 1.
    return other.similarity >= rule.similarity - 1e-9


def _is_seen(mine: Row, met: Met) -> bool:
    """Whether an estimated similarity leaves no room for a passage in place of another."""
    if mine.text_digest == met.claim.text_digest:
        return True
    size = max(1, mine.size, met.claim.size)
    least = max(_UNSEEN, 1 - _UNSEEN_WORDS / size)
    return size <= _UNSEEN_LENGTH and (met.similarity or 0) >= least


@dataclass(slots=True)
class _Budget:
    """How many more texts a document, and how many more words a batch, may be compared with."""

    texts: int = TEXTS
    words: int = WORDS

    def allows(self, words: int) -> bool:
        """Whether two texts of so many words together may be compared; then they count."""
        if self.texts <= 0 or (self.texts < TEXTS and self.words < words):
            return False
        self.texts -= 1
        self.words -= words
        return True


def _with_differences(
    mine: Row,
    facts: Facts | None,
    near: Sequence[Met],
    rule: Rule,
    visits: Visits,
    *,
    strict: frozenset[str],
    budget: _Budget,
) -> list[Met]:
    """The claims with a similar text, in the order in which :func:`~.visits.best` prefers them.

    Behind the first current copy only the document's own versions are left: no other claim can be
    its match.
    """
    budget.texts = TEXTS
    compared: list[Met] = []
    has_copy = False
    for one in sorted(near, key=preference):
        own = is_own(mine, one.claim)
        if has_copy and not own:
            continue
        differs = difference(mine, facts, one, rule, strict, budget=budget)
        compared.append(one._replace(differs=differs))
        has_copy |= differs is None and not own and visits.is_current(one.claim)
    return compared


def difference(
    mine: Row,
    facts: Facts | None,
    met: Met,
    rule: Rule,
    strict: frozenset[str] = frozenset(),
    *,
    budget: _Budget | None = None,
) -> str | None:
    """Why a document is not a duplicate of a claim with a similar text; None if it is.

    `facts` are those of the document, with the names of the fields. On the sites in `strict` the
    text is common: their documents must agree in every fact, also with claims of other sites.
    Within a `budget`, texts that may no longer be compared count as different.
    """
    other = met.claim
    if mine.listing and mine.listing == other.listing and mine.identity != other.identity:
        return "(address)"
    if are_equal(mine, other):
        return None
    is_unseen = met.estimated and not _is_seen(mine, met)
    if rule.facts == "never" or facts is None:
        return NOT_COMPARED if is_unseen else None
    # Equal sets of pairs may stand in another order.
    changes = None if met.similarity == 1 else met.changes
    stored = Facts() if other.facts is None else Facts.unpack(other.facts)
    relations = _relations(mine, met, facts, stored, strict=strict, mode=rule.facts)
    unread = () if changes is None else (Evidence.NUMBERS,)
    if other.facts is not None and (name := conflict(facts, stored, relations, unread)):
        return name
    if is_unseen:
        return NOT_COMPARED
    if changes is not None:
        if budget is not None and not budget.allows(mine.size + other.size):
            return NOT_COMPARED
        if name := _difference_of_texts(changes(), relations):
            return name
    if mine.page_sketch and other.page_sketch and may_be_one_site(mine.url, other.url):
        is_other = containment(mine.page_sketch, other.page_sketch) < REST
        return "(rest of the page)" if is_other else None
    return None


def _relations(
    mine: Row, met: Met, facts: Facts, stored: Facts, *, strict: frozenset[str], mode: FactsMode
) -> frozenset[Relation]:
    """How a document stands to a claim: which columns of the table of evidence hold."""
    other = met.claim
    here = may_be_one_site(mine.url, other.url)
    is_strict = mode == "always" or any(site(url) in strict for url in (mine.url, other.url))
    found = relations_of(facts, stored, same_site=here or is_strict)
    if mine.identity == other.identity:
        found = {Relation.VERSION, *found & {Relation.ONE_TITLE}}
    if here and Relation.ONE_TITLE in found and (met.similarity or 0.0) >= CLOSE:
        found.add(Relation.CLOSE)
    # Items of one list, and answers to forms, share a URL and are different items.
    are_alone = mine.visit != mine.epoch and other.visit != other.epoch
    if are_alone and mine.url not in ("", other.url) and (view := view_of(mine.url, other.url)):
        found |= {Relation.VIEW, Relation.TRANSLATED} if view == "translated" else {Relation.VIEW}
    return frozenset(found)


def _difference_of_texts(changes: Changes | None, relations: frozenset[Relation]) -> str | None:
    """Where two similar texts differ, if that keeps them apart."""
    if changes is None:  # a stored text is damaged
        return NOT_COMPARED
    numbers = weight(Evidence.NUMBERS, relations)
    if (
        (numbers and changes.replaces_reference())
        or (numbers == Weight.REPLACED and changes.replaces_number())
        or (numbers > Weight.REPLACED and changes.has_numbers)
    ):
        return NUMBERS_OF_TEXT
    if weight(Evidence.PASSAGE, relations) and changes.replaces_passage():
        return "(passage)"
    return "(names)" if weight(Evidence.NAMES, relations) and changes.renames() else None


def sharing_sites(mine: Row, facts: Facts | None, near: Sequence[Met]) -> frozenset[str]:
    """The sites on which two different things have the text of a document.

    One thing can't be two, so they are no copies of one elsewhere: a teaser, a consent wall.
    """
    if facts is None or not near:
        return frozenset()
    # Versions of one thing count once.
    of_sites = defaultdict[str, dict[int, Row]](dict)
    copies = (row for met in near for row in met.copies)
    for row in (mine, *copies, *(met.claim for met in near)):
        if row.facts:
            of_sites[site(row.url)][row.identity] = row
    shared = set[str]()
    for name, rows in of_sites.items():
        some = [Facts.unpack(row.facts or b"") for row in islice(rows.values(), _SHARING)]
        if any(are_two_items(*pair) for pair in combinations(some, 2)):
            shared.add(name)
    return frozenset(shared)

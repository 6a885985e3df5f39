"""The rule: the verdict on a document, given the claims it was compared with. Pure functions.

A document is a duplicate only if its text is similar to that of a claim *and* it contains no value
that the claim's item does not. `Index.claim`, and with it every crawl, `dedupe`, `compare` and
`try` decide here and nowhere else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from heapq import nlargest
from itertools import combinations, islice

from scrapy_simhash.db.values import ComparedBy
from scrapy_simhash.features.changes import Changes
from scrapy_simhash.index.rule import Compared, Rule, are_equal
from scrapy_simhash.index.seen import NO_VISITS, Seen
from scrapy_simhash.index.verdict import (
    ADDED_PASSAGE,
    ClaimRow,
    FactsMode,
    Match,
    Sighting,
    Verdict,
    came_of,
)
from scrapy_simhash.index.visits import (
    in_common,
    is_by_hand,
    judge,
    may_be_one_site,
    preference,
)
from scrapy_simhash.item.evidence import Evidence, Relation, Weight, weight
from scrapy_simhash.item.facts import (
    NUMBERS_OF_TEXT,
    Facts,
    are_two_items,
    conflict,
    relations_of,
)
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.urls import site, view_of
from scrapy_simhash.simhash.measure import FEW_FEATURES
from scrapy_simhash.text.page import containment

#: Two pages of one site are duplicates only if the larger one contains this share of the smaller
#: one's visible text. Tables of contents of one manual have .11 to .60 in common, print views .97,
#: session copies .81.
REST = 0.65

#: A document is compared with so many claims of the nearest texts, and with as many that share most
#: facts with it: its original is one of these.
NEAREST = 8
#: The words of a batch in pairs of texts that are compared, which take about a second. The nearest
#: text of each document is always compared.
WORDS = 4_000_000

#: Why a document is kept whose similar texts were not all compared.
NOT_COMPARED = "(not compared)"

# Items of one site that are compared with each other, to see whether they share a text.
_COMPARED_ITEMS = 8


def decide(
    row: ClaimRow,
    facts: Facts | None,
    matches: Sequence[Match],
    *,
    rule: Rule,
    seen: Seen | None = None,
    texts: Callable[[int], Callable[..., Changes | None] | None] = lambda _: None,
    budget: Budget | None = None,
) -> Verdict:
    """Decide on a document, as :func:`~.visits.judge` describes.

    Another item may have the same text: two products of one shop have the manufacturer's text and
    different prices. The second is unique; `differs` is "price".

    The row has the number that its claim would have; without `facts` only the text is compared.
    `matches` are those with the claims that the document is compared with, `texts` is that of
    :class:`~.rule.Compared`. Without `seen` it is compared with all others. `budget` is that of its
    batch.
    """
    seen = Seen(NO_VISITS) if seen is None else seen
    own = {one.claim: one for one in (*seen.was(row.identity), *seen.here(row.identity))}
    compared = [_as_met(match, row, seen, own) for match in matches]
    similar = [match for match in compared if is_similar(row, match, rule)]
    similar = _with_differences(row, facts, similar, rule, seen, own=own, budget=budget or Budget())
    return judge(row, Compared(compared, texts), similar, seen, rule=rule)


def nearest(
    row: ClaimRow,
    claims: Sequence[ClaimRow],
    similarities: Sequence[tuple[bool, float]],
    shown: Collection[int] = (),
) -> list[int]:
    """The places of the claims that a document is compared with, of those with similar texts.

    Hundreds of items may have one text. With the nearest ones come equal items, and what the
    identity was `shown`. `similarities` are those of the texts, behind whether they are exact.
    """
    places = range(len(claims))
    if len(claims) <= NEAREST:
        return [*places]
    common = [in_common(row, claim) for claim in claims]
    by_text = sorted(places, key=lambda at: (similarities[at], common[at]), reverse=True)
    by_facts = sorted(places, key=lambda at: (common[at], similarities[at]), reverse=True)
    always = (
        place
        for place, claim in enumerate(claims)
        if claim.id in shown or claim.identity == row.identity or are_equal(row, claim)
    )
    return sorted({*by_text[:NEAREST], *by_facts[:NEAREST], *always})


def _as_met(match: Match, row: ClaimRow, seen: Seen, own: Mapping[int, Sighting]) -> Match:
    """A match with a claim as it is met now: under which identity, where, and on which list.

    `own` are the claims that the document's identity was shown.
    """
    claim = match.row
    met = seen.met(claim, row.identity) or own.get(claim.id)
    where = claim.identity, claim.url, claim.listing
    if met is None or (met.identity, met.url, met.listing) == where:
        return match
    how = {name: getattr(met, name) for name in ("identity", "url", "key", "listing")}
    return replace(match, row=claim._replace(**how))


def is_similar(row: ClaimRow, match: Match, rule: Rule) -> bool:
    """Whether the text of a document is similar to that of a claim, or both items are equal."""
    claim = match.row
    if are_equal(row, claim):
        return True
    if ComparedBy.EXACT in (row.compared_by, claim.compared_by):
        return False
    few = min(row.size, claim.size) < FEW_FEATURES
    if match.distance > (0 if few else rule.limit):
        return False
    if rule.threshold is None or match.jaccard is None:
        return True
    # The estimate for an equal text may be slightly below 1.
    return match.jaccard >= rule.threshold - 1e-9


@dataclass(slots=True)
class Budget:
    """How many more words of a batch may be compared."""

    words: int = WORDS
    is_first: bool = True

    def allows(self, words: int) -> bool:
        """Whether two texts of so many words together may be compared; then they count."""
        if not self.is_first and self.words < words:
            return False
        self.is_first = False
        self.words -= words
        return True


def _with_differences(
    row: ClaimRow,
    facts: Facts | None,
    similar: Sequence[Match],
    rule: Rule,
    seen: Seen,
    *,
    own: Mapping[int, Sighting],
    budget: Budget,
) -> list[Match]:
    """The claims with a similar text, in the order in which :func:`~.visits.preference` has them.

    Behind the first copy that is met only what the identity was shown is left, and what came of
    that: no other claim can be its match.
    """
    budget.is_first = True
    counting = similar
    if rule.known == "pass":
        # What a first crawl would do does not depend on earlier visits.
        counting = [match for match in similar if seen.met(match.row, row.identity)]
    strict = sharing_sites(row, facts, counting)
    compared: list[Match] = []
    has_copy = False
    for match in sorted(similar, key=preference):
        claim = match.row
        is_own = claim.id in own or not own.keys().isdisjoint(came_of(claim))
        if has_copy and not is_own:
            continue
        differs = difference(row, facts, match, rule, strict, budget=budget)
        compared.append(replace(match, differs=differs) if differs else match)
        if differs is None and (met := seen.met(claim, row.identity)):
            # With "pass", restored claims and those of other visits may not count.
            has_copy |= rule.known != "pass" or (seen.is_here(met) and not is_by_hand(match))
    return compared


def difference(
    row: ClaimRow,
    facts: Facts | None,
    match: Match,
    rule: Rule,
    strict: frozenset[str] = frozenset(),
    *,
    budget: Budget | None = None,
) -> str | None:
    """Why a document is not a duplicate of a claim with a similar text; None if it is.

    `facts` are those of the document, with the names of the fields. On the sites in `strict` the
    text is common: their documents must agree in every fact, also with claims of other sites. If
    a claim of another site has copies on the document's site, the document must be a duplicate of
    one of them, too, by the rule for one site, or agree with the claim in every fact.
    Within a `budget`, texts that may no longer be compared count as different.
    """
    budget = budget or Budget()
    differs = _difference(row, facts, match, rule, strict, budget=budget)
    if differs or may_be_one_site(row.url, match.row.url):
        return differs
    here = strict | {site(row.url)}
    own = [one for one in match.copies if may_be_one_site(row.url, one.url)]
    others = (one for one in own if one.identity != row.identity)
    # Texts are compared for each copy whose facts agree.
    for copy in nlargest(NEAREST, others, key=partial(in_common, row)):
        how = {name: getattr(copy, name) for name in ("identity", "url", "listing", "facts")}
        stands = replace(match, row=match.row._replace(**how, digest=None, page_sketch=None))
        differs = _difference(row, facts, stands, rule, here, budget=budget, is_copy=True)
        if differs is None:
            break
    return differs and _difference(row, facts, match, rule, here, budget=budget)


def _difference(
    row: ClaimRow,
    facts: Facts | None,
    match: Match,
    rule: Rule,
    strict: frozenset[str],
    *,
    budget: Budget,
    is_copy: bool = False,
) -> str | None:
    """Like :func:`difference`, without the copies of the claim; the match may be one of them."""
    other = match.row
    if row.listing and row.listing == other.listing and row.identity != other.identity:
        return "(address)"
    if are_equal(row, other):
        return None
    # Without the stored text, nobody can see where the texts differ.
    is_unseen = match.estimated and row.text_digest != other.text_digest
    if rule.facts == "never" or facts is None:
        return NOT_COMPARED if is_unseen else None
    # Equal sets of pairs may stand in another order.
    changes = None if match.jaccard == 1 else match.changes
    stored = Facts() if other.facts is None else Facts.unpack(other.facts)
    relations = _relations(
        *(row, match, facts, stored), strict=strict, mode=rule.facts, is_copy=is_copy
    )
    if other.facts is not None and (name := conflict(facts, stored, relations)):
        return name
    if is_unseen:
        return NOT_COMPARED
    if changes is not None:
        if not budget.allows(row.size + other.size):
            return NOT_COMPARED
        name = _difference_of_texts(changes, relations)
        if name := name or _value_in_texts(match, facts, stored, relations):
            return name
    if row.page_sketch and other.page_sketch and may_be_one_site(row.url, other.url):
        is_other = containment(row.page_sketch, other.page_sketch) < REST
        return "(rest of the page)" if is_other else None
    return None


def _relations(
    row: ClaimRow,
    match: Match,
    facts: Facts,
    stored: Facts,
    *,
    strict: frozenset[str],
    mode: FactsMode,
    is_copy: bool,
) -> frozenset[Relation]:
    """How a document stands to a claim: which columns of the table of evidence hold."""
    other = match.row
    here = may_be_one_site(row.url, other.url)
    is_strict = mode == "always" or any(site(url) in strict for url in (row.url, other.url))
    relations = relations_of(facts, stored, same_site=here or is_strict)
    if row.identity == other.identity:
        relations = {Relation.VERSION, *relations & {Relation.ONE_TITLE}}
    elif not (row.alone or other.alone):
        # The posts of a thread have its title, and authors of their own.
        relations.discard(Relation.ONE_TITLE)
    if is_copy or not (here and row.url and other.url):
        # The texts are not known to be of one site: that of a copy is its claim's.
        relations.add(Relation.TEXT_ELSEWHERE)
    # Items of one list, and answers to forms, share a URL and are different items.
    are_alone = row.alone and other.alone and row.url not in ("", other.url)
    if are_alone and (view := view_of(row.url, other.url)):
        relations.add(Relation.VIEW)
        if view == "translated":
            relations.add(Relation.TRANSLATED)
    return frozenset(relations)


def _difference_of_texts(
    changes: Callable[..., Changes | None], relations: frozenset[Relation]
) -> str | None:
    """Where two similar texts differ, if that keeps them apart and is not their state."""
    found = changes(with_state=True)
    name = _weighed(found, relations)
    # State takes ten times longer to find than the places that differ.
    return _weighed(changes(), relations) if name and found and found.touches_numbers else name


def _value_in_texts(
    match: Match, facts: Facts, stored: Facts, relations: frozenset[Relation]
) -> str | None:
    """The field whose values differ as the texts of two sites do: no other name for one value."""
    if Relation.OTHER_SITE not in relations or match.values is None or match.changes is None:
        return None
    changes = cache(match.changes)
    new, old = ({name_of(name).key: one[name] for name in one} for one in match.values())
    for key, value in new.items():
        values = facts.values.get(key), stored.values.get(key)
        is_other = values[0] != values[1] and all(one and one[0] == Evidence.TEXT for one in values)
        if is_other and (found := changes()) and found.replaces(value, old.get(key, "")):
            return facts.name(key)
    return None


def _weighed(changes: Changes | None, relations: frozenset[Relation]) -> str | None:
    if changes is None:  # a stored text is damaged
        return NOT_COMPARED
    numbers = weight(Evidence.NUMBERS, relations)
    if (
        (numbers and changes.replaces_reference())
        or (numbers == Weight.REPLACED and changes.replaces_number())
        or (numbers > Weight.REPLACED and changes.has_numbers)
    ):
        return NUMBERS_OF_TEXT
    passage = weight(Evidence.PASSAGE, relations)
    if passage and changes.replaces_passage():
        return "(passage)"
    if weight(Evidence.NAMES, relations) and changes.renames():
        return "(names)"
    return ADDED_PASSAGE if passage == Weight.ALWAYS and changes.adds_passage() else None


def sharing_sites(row: ClaimRow, facts: Facts | None, similar: Sequence[Match]) -> frozenset[str]:
    """The sites on which two different items have the text of a document.

    One item can't be two, so they are no copies of one elsewhere: a teaser, a consent wall.
    """
    if facts is None or not similar:
        return frozenset()
    # Versions of one item count once, and a copy as it is shown, not as its claim is.
    items_of_sites: defaultdict[str, dict[int, ClaimRow]] = defaultdict(dict)
    copies = (copy for match in similar for copy in match.copies)
    for item in (row, *copies, *(match.row for match in similar)):
        if item.facts:
            items_of_sites[site(item.url)].setdefault(item.identity, item)
    shared: set[str] = set()
    for name, items in items_of_sites.items():
        some = [Facts.unpack(item.facts or b"") for item in islice(items.values(), _COMPARED_ITEMS)]
        if any(are_two_items(*pair) for pair in combinations(some, 2)):
            shared.add(name)
    return frozenset(shared)

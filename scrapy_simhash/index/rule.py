"""When two documents are near-duplicates, and the comparison of a document with a claim."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from scrapy_simhash.db.values import ComparedBy
from scrapy_simhash.features.changes import Changes
from scrapy_simhash.index.verdict import ClaimRow, FactsMode, Known, Match, Sighting
from scrapy_simhash.item.evidence import PAGE_BIT, Evidence
from scrapy_simhash.item.facts import REST_KEY, Facts, changed_facts, lasting
from scrapy_simhash.item.names import name_of
from scrapy_simhash.keys.plan import distance_of
from scrapy_simhash.simhash.measure import candidate_limit
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.simhash.shingles import Shingles


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When two documents are near-duplicates.

    Attributes:
        similarity: the least Jaccard similarity of near-duplicates' shingles, 0.7 to 1.
        distance: instead of a similarity, the largest Hamming distance of near-duplicates, in bits.
        scheme: of the fingerprints; it may have a distance of its own, or no shingles.
        facts: "always"; "auto", all on one site and prices across sites; "never".
        known: "pass" compares each crawl with itself, "drop" with all that is stored; None each
            document with all others.
        change_similarity: less similar versions have changed, with `known`.
        ignored: fields that are no longer read: earlier versions may have them.
        limit: the largest Hamming distance of two documents that are compared.
        threshold: the least Jaccard similarity of near-duplicates; None if their distance decides.

    Raises:
        ValueError: the similarity or the distance is out of range, or the scheme needs a distance.
    """

    similarity: float = 0.9
    distance: int | None = None
    scheme: Scheme = field(default_factory=Shingles, compare=False)
    facts: FactsMode = "auto"
    known: Known | None = None
    change_similarity: float = 1.0
    ignored: tuple[str, ...] = ()
    limit: int = field(init=False)
    threshold: float | None = field(init=False, compare=False)
    #: The hashes of the names in `ignored`.
    ignored_keys: frozenset[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        limit = distance_of(self.scheme, self.distance)
        threshold = self.similarity if limit is None else None
        object.__setattr__(self, "threshold", threshold)
        limit = candidate_limit(self.similarity) if limit is None else limit
        object.__setattr__(self, "limit", limit)
        ignored_keys = frozenset(name_of(name).key for name in self.ignored)
        object.__setattr__(self, "ignored_keys", ignored_keys)


def compare(row: ClaimRow, match: Match) -> Match:
    """How a document compares with a claim; equal items are equal whatever their pages say."""
    if are_equal(row, match.row):
        return Match(match.row, 0, 1.0, bits=match.bits, copies=match.copies)
    return match


class Compared(dict[int, Match]):
    """The claims that a document was compared with, by their numbers.

    `texts` returns how its text differs from one that was shown without a claim, if at hand.
    """

    def __init__(
        self,
        matches: Iterable[Match],
        texts: Callable[[int], Callable[..., Changes | None] | None] = lambda _: None,
    ) -> None:
        super().__init__((match.row.id, match) for match in matches)
        self._texts = texts

    def shown(self, one: Sighting) -> Match | None:
        """The match with the text that was shown; None if that is not at hand."""
        if one.of_claim:
            return self.get(one.claim)
        changes = self._texts(one.content)
        return changes and Match(ClaimRow(id=one.content), 0, None, changes=changes)


def fingerprint_distance(row: ClaimRow, claim: ClaimRow) -> int:
    """The distance of the fingerprints of two documents."""
    fingerprint, other = (int.from_bytes(one.fingerprint, "big") for one in (row, claim))
    return (fingerprint ^ other).bit_count()


def are_equal(row: ClaimRow, claim: ClaimRow) -> bool:
    """Whether two items are exactly equal; False if they are compared by their pages."""
    if row.compared_by == claim.compared_by == ComparedBy.PAGE or row.digest is None:
        return False
    return row.digest == claim.digest


def tells_change(
    row: ClaimRow, was: Sighting, since: Match | None, match: Match, rule: Rule
) -> bool:
    """Whether a claim shows all that has changed of an item since it `was` last shown.

    `since` compares the item with the text that it had then, and `match` with the claim.
    """
    new = Facts.unpack(row.facts or b"")
    changed, different = (
        changed_facts(new, Facts.unpack(one.facts or b""), rule.ignored_keys)
        for one in (was, match.row)
    )
    if any(not key & PAGE_BIT for key in (changed & different) - {REST_KEY}):
        return False
    if since is None or since.changes is None or match.changes is None:
        return row.text_digest == was.text_digest or match.row.text_digest != was.text_digest
    then, now = since.changes(), match.changes()
    return then is None or now is None or then.pairs.isdisjoint(now.pairs)


def is_unchanged(row: ClaimRow, old: Sighting, match: Match | None, rule: Rule) -> bool:
    """Whether a document shows what was shown earlier, but for its state.

    `match` is the claim with that text, if it is stored.
    """
    # With nothing but URL, title and state it stands for the text of its page.
    is_bare = row.compared_by == ComparedBy.PAGE and not _own_kinds(row)
    if row.digest is not None and row.digest == old.digest and not is_bare:
        return True
    if ComparedBy.EXACT in (row.compared_by, old.compared_by) or row.compared_by != old.compared_by:
        return False
    is_same = has_values(row) or row.text_digest == old.text_digest
    if not is_same and not (match and _is_same_text(row, match, rule)):
        return False
    return _has_same_facts(row, old, rule, with_page=not has_values(row))


def has_values(row: ClaimRow) -> bool:
    """Whether an item has values, but no text: the text of its page is no part of it."""
    kinds = _own_kinds(row) if row.compared_by == ComparedBy.PAGE else set[int]()
    return bool(kinds) and Evidence.REST not in kinds


def _own_kinds(row: ClaimRow) -> set[int]:
    return Facts.unpack(row.facts or b"").own_kinds


def _has_same_facts(row: ClaimRow, old: Sighting, rule: Rule, *, with_page: bool = True) -> bool:
    if row.facts is None or old.facts is None:
        return row.facts == old.facts
    changed = changed_facts(Facts.unpack(row.facts), Facts.unpack(old.facts), rule.ignored_keys)
    if not with_page:
        changed = {key for key in changed if not key & PAGE_BIT}
    return not (changed if rule.change_similarity == 1 else changed - {REST_KEY})


def _is_same_text(row: ClaimRow, match: Match, rule: Rule) -> bool:
    """Whether a text is equal, differs in its state only, or hardly and in no number."""
    if match.row.text_digest == row.text_digest:
        return True
    changes = match.changes() if match.changes else None
    if changes is None:  # nobody can see whether a number differs
        return False
    if not changes or match.jaccard is None or rule.change_similarity == 1:
        return not changes
    return match.jaccard >= rule.change_similarity and not changes.has_numbers


def shows(claim: ClaimRow, row: ClaimRow) -> bool:
    """Whether a claim shows exactly what a document does, but for state in its fields."""
    if row.compared_by != claim.compared_by:
        return False
    if row.compared_by == ComparedBy.EXACT:
        return row.digest == claim.digest
    return row.text_digest == claim.text_digest and (
        row.facts == claim.facts or lasting(row.facts) == lasting(claim.facts)
    )

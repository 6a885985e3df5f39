"""The rule: what a document is, given the claims that it was compared with. Pure.

`Index.claim`, and with it every crawl and `dedupe`, decides here and nowhere else; `compare` and
`tune` share :func:`~scrapy_simhash.simhash.measure.near` with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.db.schema import CONFIRMED, PENDING
from scrapy_simhash.simhash.measure import near

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_simhash.index.batch import Row
    from scrapy_simhash.index.verdict import Kind, SameUrl

__all__ = ["Decision", "Met", "decide"]


class Met(NamedTuple):
    """A claim that a document was compared with.

    Attributes:
        distance: of the two fingerprints, in bits.
        claim: its row: one of the table, or one of the batch that was decided on before.
    """

    distance: int
    claim: Any


class Decision(NamedTuple):
    """What a document is.

    Attributes:
        kind: see :class:`~scrapy_simhash.Verdict`.
        match: the claim that it is a near-duplicate, or a version, of.
        claims: whether a claim is made for it.
    """

    kind: Kind
    match: Met | None
    claims: bool


def decide(
    asked: Sequence[Row],
    met: Sequence[Sequence[Met]],
    twins: Sequence[Sequence[tuple[int, int]]],
    *,
    newest: Mapping[tuple[int, int], int],
    made: Mapping[int, Any],
    limit: int,
    same_url: SameUrl,
) -> list[Decision]:
    """Decide on a batch of documents, in their order.

    Three cases that are easy to get wrong:

    1. *A twin in the batch.* a and b are equal, and neither was met before. a is unique and claims;
       b meets that claim, though no table has it yet, and is a duplicate of a.
    2. *A changed version.* An owner claimed v1 on an earlier visit and now shows v2, which is near
       it. v2 is "same", never a duplicate; it is claimed, since what comes next has to be compared
       with it. If v2 is v1 to the letter, and v1 is confirmed, there is nothing to claim.
    3. *An answer that was lost.* The transaction was committed, the connection broke, and the batch
       is decided on again. Each of its documents now meets the claim that it made itself, and those
       that came after. Its own claim (`made`) is no match, and later ones did not count then.

    Args:
        asked: the documents, with the numbers that their claims would have.
        met: for each, the claims that it was compared with.
        twins: for each, distance and number of those before it that are within the limit.
        newest: the last claim of an owner and position.
        made: the claims that an earlier attempt of this very batch has committed, by document.
        limit: the distance up to which documents are near-duplicates.
        same_url: "pass" claims a changed version of an owner's own document, "drop" only one that
            is no near-duplicate of its newest version.
    """
    decisions: list[Decision] = []
    standing: dict[int, Row] = {}
    for number, mine in enumerate(asked):
        others = [
            *met[number],
            *(Met(apart, standing[other]) for apart, other in twins[number] if other in standing),
        ]
        before = made[number].id if number in made else None
        matches = [
            other
            for other in others
            if near(other.distance, mine.size, other.claim.size, limit)
            and not _is_itself(mine, other.claim)
            and (before is None or other.claim.id < before)
        ]
        decision = _judge(mine, matches, newest, same_url)
        if decision.claims and before is None:
            standing[number] = mine
        decisions.append(decision)
    return decisions


def _judge(
    mine: Row, matches: Sequence[Met], newest: Mapping[tuple[int, int], int], same_url: SameUrl
) -> Decision:
    if not matches:
        return Decision("unique", None, claims=True)
    own = [
        other
        for other in matches
        if other.claim.owner == mine.owner and other.claim.visit != mine.visit
    ]
    # Its own version comes first, however near another page is; then one that is stored for sure,
    # so that nobody waits for an outcome without need; then the nearest, the oldest.
    match = min(
        own or matches,
        key=lambda other: (other.claim.state == PENDING, other.distance, other.claim.id),
    )
    if not own:
        return Decision("duplicate", match, claims=False)
    if same_url == "drop":
        last = newest.get((match.claim.owner, match.claim.position), match.claim.id)
        unchanged = any(other.claim.id >= last for other in own)
    else:
        unchanged = any(
            other.distance == 0
            and other.claim.fingerprint == match.claim.fingerprint
            and other.claim.state == CONFIRMED
            for other in own
        )
    return Decision("same", match, claims=not unchanged)


def _is_itself(mine: Row, other: Any) -> bool:
    return (other.owner, other.visit, other.position) == (mine.owner, mine.visit, mine.position)

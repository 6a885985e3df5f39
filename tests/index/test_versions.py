"""Versions of a page: claims of one identity, on every engine with a server."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy
from claims import article, claim_version, edited
from servers import ENGINES

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.folding import Folded

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def test_an_identitys_own_version_is_the_same_and_not_a_duplicate(db: Database) -> None:
    index = Index(db)
    first = claim_version(index, article(1), download=1)
    index.confirm(first)
    again = claim_version(index, article(1), download=2)
    assert again.kind == "same"
    assert again.match.claim == first.claim.id
    assert again.claim is None, "nothing new is to be remembered"
    changed = claim_version(index, edited(article(1)), download=3)
    assert changed.kind == "same"
    assert changed.claim is not None


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("simhash_claims", ["namespace", "identity", "met", "origin"]),
        ("simhash_duplicates", ["namespace", "identity"]),
        ("simhash_claims", ["run", "namespace", "id"]),
        ("simhash_duplicates", ["namespace", "claim"]),
        ("simhash_duplicates", ["run"]),
        ("simhash_runs", ["settled"]),
        ("simhash_runs", ["invalidated"]),
    ],
)
def test_what_is_looked_for_is_found_by_an_index(
    db: Database, table: str, columns: list[str]
) -> None:
    """Without one, a whole table would be read each time."""
    Index(db)
    indexes = sqlalchemy.inspect(db.engine).get_indexes(table)
    assert columns in [each["column_names"] for each in indexes]


def test_an_unstored_own_version_is_claimed_again(db: Database) -> None:
    """Otherwise a release of the first would leave the second, stored one without any claim."""
    index = Index(db)
    first = claim_version(index, article(1), download=1)
    again = claim_version(index, article(1), download=2)
    assert again.kind == "same"
    assert again.claim is not None
    index.confirm(again)
    index.release(first)
    assert index.claim(article(1), key="b").kind == "duplicate"


def test_with_drop_only_a_changed_version_is_claimed(db: Database) -> None:
    index = Index(db, rule=Rule(known="drop"))
    index.confirm(claim_version(index, article(1), download=1))
    assert claim_version(index, article(1), download=2).claim is None
    assert claim_version(index, edited(article(1)), download=3).claim is not None
    other = claim_version(index, article(2), key="b", download=4)
    assert other.kind == "unique"
    assert other.claim is not None


def drift(steps: int) -> list[str]:
    """Versions each of which is near the one before, and the last nothing like the first."""
    words = article(1, 200).split()
    versions = []
    for step in range(steps):
        words[step * 8 : step * 8 + 4] = [f"new{step}{n}" for n in range(4)]
        versions.append(" ".join(words))
    return versions


@pytest.mark.parametrize("known", ["pass", "drop", None])
def test_a_page_that_drifts_is_the_same_at_every_step(db: Database, known: Any) -> None:
    index = Index(db, rule=Rule(known=known, similarity=0.8))
    versions = drift(20)
    kinds = []
    for visit, text in enumerate(versions):
        verdict = claim_version(index, text, download=visit)
        kinds.append(verdict.kind)
        index.confirm(verdict)
    assert kinds[0] == "unique"
    assert set(kinds[1:]) == {"same"}
    assert index.claim(versions[-1], key="b").kind == "duplicate"


def test_a_return_to_a_version_before_the_last_is_not_unchanged(db: Database) -> None:
    """With drop, what is stored last decides: a page that goes back has changed again."""
    index = Index(db, rule=Rule(known="drop"))
    for visit, text in enumerate([article(1), article(2)]):
        index.confirm(claim_version(index, text, download=visit))
    back = claim_version(index, article(1), download=3)
    assert back.kind == "same"
    assert back.claim is not None


def test_two_equal_items_of_one_visit_are_duplicates(db: Database) -> None:
    index = Index(db)
    assert claim_version(index, article(1), download=7).kind == "unique"
    assert claim_version(index, article(1), download=7).kind == "duplicate"


@pytest.mark.parametrize("together", [True, False])
def test_a_changed_thing_of_a_list_leaves_the_claim_of_the_old_one(
    db: Database, together: bool
) -> None:
    index = Index(db)

    def listed(price: str, download: int) -> Document:
        facts = Facts.of({"price": Folded(Evidence.TEXT, price)})
        return index.document(article(1), key="list", download=download, facts=facts)

    index.confirm(*index.execute([listed("1", download=1)]))
    asked = [listed(price, download=2) for price in ("2", "1", "1")]
    batches = [asked] if together else [[one] for one in asked]
    verdicts = [verdict for batch in batches for verdict in index.execute(batch)]
    assert [verdict.kind for verdict in verdicts] == ["same", "same", "duplicate"]
    assert len(index) == 2


def test_visits_of_two_identities_are_independent(db: Database) -> None:
    index = Index(db)
    assert claim_version(index, article(1), key="a", download=1).kind == "unique"
    assert claim_version(index, article(1), key="b", download=1).kind == "duplicate"


def test_the_own_version_wins_over_a_nearer_page(db: Database) -> None:
    index = Index(db)
    index.confirm(claim_version(index, article(1), download=1))
    index.confirm(claim_version(index, edited(edited(article(1))), key="b", download=1))
    assert claim_version(index, edited(article(1)), download=2).kind == "same"


def test_a_claim_is_seen_when_it_is_made_and_whenever_it_stands_for_an_equal_version(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = sqlalchemy.select(schema.claims.c.created, schema.claims.c.seen)
    index = Index(db)
    index.confirm(claim_version(index, article(1), download=1))
    ((created, first),) = db.read(lambda connection: connection.execute(seen).all())
    assert first == created > 0
    monkeypatch.setattr(db, "now", lambda: created + 3600)
    assert claim_version(index, article(1), download=2).claim is None
    ((again, last),) = db.read(lambda connection: connection.execute(seen).all())
    assert again == created
    assert last == created + 3600


def test_the_candidates_of_all_batches_are_counted(db: Database) -> None:
    index = Index(db)
    for key in "abc":
        index.claim(article(1), key=key)
    assert index.lookup.counts["index/candidates"] == 2, (
        "the one claim, found by each of the others"
    )

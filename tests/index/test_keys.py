"""Hot bands, and namespaces with other keys, on every engine with a server."""

from __future__ import annotations

import random

import pytest
from claims import article, assert_no_trace, edited, rows
from servers import ENGINES

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document, Verdict
from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.folding import Folded
from scrapy_simhash.keys.plan import HOT_KEY
from scrapy_simhash.simhash.scheme import Sketch

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def same_template(db: Database, pages: int) -> tuple[Index, list[Document], list[Verdict]]:
    """Pages that share every band although nothing else is alike about them."""
    index = Index(db)
    shingles = index.scheme.sketch(article(0)).shingles
    rng = random.Random(0)
    documents = [
        Document(Sketch(rng.getrandbits(128), 119, shingles), f"page {number}")
        for number in range(pages)
    ]
    verdicts = [
        verdict
        for start in range(0, pages, 10)
        for verdict in index.execute(claims=documents[start : start + 10])
    ]
    return index, documents, verdicts


def test_a_template_does_not_make_every_claim_read_all_of_its_pages(db: Database) -> None:
    index, documents, _ = same_template(db, HOT_KEY + 100)
    assert len(index) == len(documents)
    most = HOT_KEY + 10
    assert rows(db, schema.keys) <= most * index.lookup.keys.slots + len(documents)
    assert index.lookup.counts["index/hot_keys"] >= 90
    before = index.lookup.counts["index/candidates"]
    index.execute(claims=[Document(documents[0].sketch, "copy")])
    assert index.lookup.counts["index/candidates"] - before <= most


def test_an_exact_copy_of_a_page_with_hot_keys_is_found(db: Database) -> None:
    index, documents, _ = same_template(db, HOT_KEY + 60)
    for number in (0, HOT_KEY - 1, HOT_KEY + 20, HOT_KEY + 59):
        copy = Document(documents[number].sketch, f"copy {number}")
        verdict = index.execute(claims=[copy])[0]
        assert verdict.kind == "duplicate"
        assert verdict.match.key == f"page {number}"


@pytest.mark.parametrize("kind", [Evidence.TITLE, Evidence.TEXT, Evidence.AMOUNT + 1])
def test_each_item_of_a_large_family_is_found_by_its_facts(db: Database, kind: int) -> None:
    index = Index(db)
    text = article(0, 300)

    def documents(pages: range, text: str, view: str = "") -> list[Document]:
        made = []
        for page in pages:
            url = f"http://a.com/{page}{view}"
            values = {"own": Folded(kind, f"t:{page}"), "shared": Folded(Evidence.TEXT, "t:red")}
            made.append(index.document(text, key=url, url=url, facts=Facts.of(values)))
        return made

    pages = range(3 * HOT_KEY)
    first = index.execute(documents(pages, text))
    assert {verdict.kind for verdict in first} == {"unique"}
    for copied, view in ((text, "?sid=1"), (edited(text), "?sid=2")):
        for verdict in index.execute(documents(pages, copied, view)):
            assert verdict.kind == "duplicate"
            assert verdict.match.url == verdict.row.url.partition("?")[0]
    index.release(*first)
    assert rows(db, schema.keys) == 0


def test_a_released_page_with_hot_keys_leaves_no_trace(db: Database) -> None:
    index, documents, verdicts = same_template(db, HOT_KEY + 20)
    index.release(*verdicts)
    assert_no_trace(db)
    assert index.execute(claims=documents[-1:])[0].kind == "unique"


def test_a_page_with_one_band_of_its_own_is_still_found_among_hot_keys(db: Database) -> None:
    index, *_ = same_template(db, HOT_KEY + 20)
    own = f"{article(0)} {article(1, 25)}"
    assert index.claim(own, key="own").kind == "unique"
    assert index.claim(edited(own), key="copy").match.key == "own"


def test_similarity_1_goes_on_finding_what_is_equal_where_its_only_band_is_hot(
    db: Database,
) -> None:
    """Texts that differ in a few words of hundreds share their one band of 16 rows."""
    common = " ".join(f"w{number}" for number in range(300))
    texts = [f"{common} a{n} b{n} c{n} d{n}" for n in range(4 * HOT_KEY)]
    index = Index(db, rule=Rule(similarity=1))
    first, again = (
        [
            one.kind
            for one in index.claim_many(
                {"text": text, "key": f"{when} {n}"} for n, text in enumerate(texts)
            )
        ]
        for when in ("first", "again")
    )
    assert first.count("unique") > 3 * HOT_KEY
    assert {*again} == {"duplicate"}

"""``scrapy simhash tune``, and the stored documents that it decides on again."""

from __future__ import annotations

import json
from typing import Any

from decided import facts_of
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import prose
from stored import changed, store

from scrapy_simhash.corpus.greedy import decide_corpus
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import Sketches, make_part
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history import documents
from scrapy_simhash.history.namespaces import choose_namespace
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import Document, FactsMode, LeftOut
from scrapy_simhash.simhash.scheme import Sketch
from scrapy_simhash.text import markup


def test_tune_replays_what_is_stored(call, database):
    code, out, _ = call("tune", "--json", "--database", database)
    tuned = json.loads(out)
    levels = {level["threshold"]: level for level in tuned["levels"]}
    assert code == 0
    assert (levels["0.9"]["kept"], levels["0.9"]["dropped"]) == (3, 2)
    assert tuned["present"] == "0.9"
    assert (levels["1"]["kept"], levels["1"]["dropped"]) == (4, 1)
    rows = [line.split("│")[1:4] for line in call("tune", "--database", database)[1].splitlines()]
    assert ["0.9 (now)", "2", "3"] in [[cell.strip() for cell in row] for row in rows]


TEXTS = [
    text
    for family in range(4)
    for text in (
        prose(family, 120),
        changed(prose(family, 120), 1),
        changed(prose(family, 120), 15),
    )
]


def stored(index: Index) -> list[Any]:
    namespace = choose_namespace(index.database, None)
    return documents.read_stored(namespace, limit=1000)


def decided(index: Index, facts: FactsMode) -> list[bool]:
    """Whether each stored document is kept, if they are decided on again."""
    plan = Plan.make(Rule(scheme=index.scheme, facts=facts), index.database.secret)
    namespace = choose_namespace(index.database, None)
    parts = documents.read_documents(namespace, stored(index), plan.scheme)
    sketches = Sketches.of(make_part([one for part in parts for one in part], plan))
    return decide_corpus(sketches, plan).kept.tolist()


# Always the same examples: documents are decided on one after another, by the index in batches.
@settings(derandomize=True, max_examples=settings.default.max_examples // 2)
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(TEXTS) - 1),
            st.integers(0, 2),
            st.sampled_from([None, *(facts_of({"price": f"{n} EUR"}) for n in "12")]),
            st.booleans(),
        ),
        min_size=1,
        max_size=25,
    ),
    st.integers(1, 4),
    st.sampled_from(["auto", "always", "never"]),
)
def test_decided_again_at_the_present_similarity_all_is_as_the_index_said(rows, batch, facts):
    """Whatever the sites, content and batches are."""
    with Index("sqlite://", rule=Rule(facts=facts)) as index:
        given = [
            Document(
                index.scheme.sketch(TEXTS[text]) if not exact else Sketch(text + 1, 1, None),
                f"identity {number}",
                f"http://{'abc'[site]}.test/{number}",
                text=TEXTS[text],
                facts=None if exact else stated,
                exact=exact,
            )
            for number, (text, site, stated, exact) in enumerate(rows)
        ]
        for start in range(0, len(given), batch):
            verdicts = index.execute(claims=given[start : start + batch])
            copies = [LeftOut(one, "drop") for one in verdicts if one.kind == "duplicate"]
            index.execute(confirm=verdicts, left_out=copies)
        assert decided(index, facts) == [row.is_claim for row in stored(index)]


def test_every_fact_of_a_page_is_known_by_its_name():
    known = {*markup.PROPERTIES.values(), *markup.META.values()}
    known |= {"page:title", "page:heading", "page:time", "page:day"}
    assert known == set(documents._PAGE_FACTS.values())


def test_what_was_kept_for_its_content_is_kept_in_a_replay(call, tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        for number in range(3):
            store(index, TEXTS[0], f"http://a.test/{number}", {"price": f"{number} EUR"})
    tuned = json.loads(call("tune", "--json", "--database", path)[1])
    assert {level["kept"] for level in tuned["levels"]} == {3}


def test_of_a_run_only_its_own_documents_count(call, tmp_path):
    path = tmp_path / "seen.db"
    database = Database(f"sqlite:///{path}")
    for run, texts in ((Run.open(database), (0, 3)), (Run.open(database), (1, 6))):
        index = Index(database, run=run)
        for text in texts:
            store(index, TEXTS[text], f"http://{text}.test/")
    database.close()
    for run, counts in ((1, (2, 0)), (2, (1, 1))):
        tuned = json.loads(call("tune", "--json", "--run", run, "--database", path)[1])
        (present,) = (one for one in tuned["levels"] if one["threshold"] == tuned["present"])
        assert (present["kept"], present["dropped"]) == counts
        assert tuned["documents"] == 2


def test_what_has_no_text_any_more_is_counted_and_left_out(call, tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}", text_budget=0) as index:
        index.confirm(index.claim(TEXTS[0], key="1"))
        code, _, err = call("tune", "--database", path)
        assert (code, "nothing to replay" in err) == (2, True)
        index.confirm(*index.execute(claims=[Document(Sketch(5, 1, None), "2", exact=True)]))
    tuned = json.loads(call("tune", "--json", "--database", path)[1])
    assert (tuned["documents"], tuned["left_out"]) == (1, 1)
    assert "Not compared: 1, as" in call("tune", "--database", path)[1]

"""The stored documents of a crawl, decided on again."""

from __future__ import annotations

from typing import Any

from decided import facts_of
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import prose
from stored import changed

from scrapy_simhash.corpus.greedy import decide_corpus
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import Sketches, make_part
from scrapy_simhash.history import documents
from scrapy_simhash.history.namespaces import choose_namespace
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document, FactsMode, LeftOut
from scrapy_simhash.simhash.scheme import Sketch

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
    return documents.read_stored(namespace)


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

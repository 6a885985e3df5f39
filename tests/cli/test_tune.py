"""``scrapy simhash tune``, and the replay that it rests on."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import prose
from stored import changed

from scrapy_simhash.cli import tune as tuning
from scrapy_simhash.cli.tune import Comparison, Level
from scrapy_simhash.db.values import CONFIRMED, TEXT
from scrapy_simhash.history.documents import Documents, read_documents
from scrapy_simhash.history.namespaces import choose_namespace
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document, Duplicate, Row
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.folding import Folded, fold
from scrapy_simhash.item.names import name_of
from scrapy_simhash.simhash.measure import jaccard
from scrapy_simhash.simhash.scheme import Sketch
from scrapy_simhash.text import markup


def test_tune_replays_what_is_stored(call, database):
    code, out, _ = call("tune", "--json", "--database", database)
    tuned = json.loads(out)
    levels = {level["threshold"]: level for level in tuned["levels"]}
    assert code == 0
    assert (levels["0.9"]["kept"], levels["0.9"]["dropped"]) == (3, 2)
    assert levels["0.9"]["is_present"]
    assert (levels["1"]["kept"], levels["1"]["dropped"]) == (4, 1)
    rows = [line.split("│")[1:4] for line in call("tune", "--database", database)[1].splitlines()]
    assert ["0.9 (now)", "2", "3"] in [[cell.strip() for cell in row] for row in rows]


def test_tune_a_run_that_is_not_there(call, database):
    code, _, err = call("tune", "--run", 99, "--database", database)
    assert code == 2
    assert "nothing to replay" in err


def stored(number: int, fingerprint: bytes, identity: int = 0, size: int = 9) -> Row:
    values = dict.fromkeys(Row._fields, 0) | {
        "id": number + 1,
        "token": number + 1,
        "visit": number + 1,
        "state": CONFIRMED,
        "compared_by": TEXT,
        "fingerprint": fingerprint,
        "text_digest": int.from_bytes(fingerprint, "big"),
        "identity": identity,
        "size": size,
        "created": float(number),
        "url": "",
    }
    return Row(
        **values | dict.fromkeys(("digest", "facts", "minhash", "page_sketch", "beside", "differs"))
    )


def of_rows(rows) -> Documents:
    return Documents(rows, [(row.id, 0) for row in rows])


UNKNOWN = SimpleNamespace(similarity=lambda *_: (None, False), changes=lambda *_: None)


def at_distance(limit: int) -> list[Level]:
    return [Level("", Rule(limit))]


@given(
    st.lists(
        st.tuples(st.integers(0, 255), st.integers(0, 3), st.integers(6, 9)),
        min_size=1,
        max_size=40,
    ),
    st.integers(0, 4),
)
def test_a_replay_decides_as_one_by_one(rows, limit):
    documents = of_rows(
        [stored(number, bytes([row[0]]), *row[1:]) for number, row in enumerate(rows)]
    )
    kept: list[int] = []
    standing: list[int] = []
    for number, (print_, identity, size) in enumerate(rows):
        near = [
            other
            for other in standing
            if (apart := (print_ ^ rows[other][0]).bit_count()) <= limit
            and (not apart or min(size, rows[other][2]) >= 8)
        ]
        own = [rows[other][0] for other in near if rows[other][1] == identity]
        if not near or own:
            kept.append(number)
        if not near or (own and print_ not in own):
            standing.append(number)
    (found,) = tuning.replay(documents, at_distance(limit), UNKNOWN)
    assert np.flatnonzero(found.kept).tolist() == kept


def test_a_document_is_compared_with_those_of_its_identity_first(monkeypatch):
    monkeypatch.setattr(tuning, "_MOST", 2)
    # Six that are far from each other, and one that is near to all.
    rows = [stored(n, (0b111 << 4 * n).to_bytes(3, "big"), identity=n) for n in range(6)]
    found = [
        tuning.replay(of_rows([*rows, last]), at_distance(4), UNKNOWN)[0].kept.tolist()
        for last in (stored(6, bytes(3), identity=5), stored(6, bytes(3), identity=6))
    ]
    assert found == [[True] * 7, [True] * 6 + [False]]


TEXTS = [
    text
    for family in range(4)
    for text in (
        prose(family, 120),
        changed(prose(family, 120), 1),
        changed(prose(family, 120), 15),
    )
]


def price(number: int) -> Facts:
    return Facts.of({"price": fold(name_of("price"), f"{number} EUR")})


# Always the same examples: a replay compares one document after another, the index in batches.
@settings(derandomize=True, max_examples=settings.default.max_examples // 2)
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(TEXTS) - 1),
            st.integers(0, 2),
            st.sampled_from([None, price(1), price(2)]),
            st.booleans(),
        ),
        min_size=1,
        max_size=25,
    ),
    st.integers(1, 4),
    st.sampled_from(["auto", "always", "never"]),
)
def test_a_replay_at_the_present_similarity_decides_as_the_index_did(rows, batch, facts):
    """Whatever the sites, content and batches are."""
    with Index("sqlite://", facts=facts) as index:
        documents = [
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
        for start in range(0, len(documents), batch):
            part = documents[start : start + batch]
            verdicts = index.execute(claims=part)
            duplicates = [
                Duplicate(document, verdict.match, "drop")
                for document, verdict in zip(part, verdicts, strict=True)
                if verdict.kind == "duplicate"
            ]
            index.execute(
                confirm=[verdict.claim for verdict in verdicts if verdict.claim],
                duplicates=duplicates,
            )
        namespace = choose_namespace(index.database, None)
        read = read_documents(index.database, namespace, limit=1000)
        compare = Comparison(index.database, namespace, index.scheme, read)
        tried, present = tuning.levels(Rule(0, 0.9, facts), 128)
        replayed = tuning.replay(read, tried, compare)
    assert replayed[present].kept.tolist() == [duplicate == 0 for _, duplicate in read.places]


def test_print_views_that_say_less_are_dropped_in_a_replay_too():
    """The names of facts are not stored; those of a page mean something to the rule."""
    with Index("sqlite://") as index:
        stated = [Facts.of({name: Folded(0, "t:x")}) for name in ("page:title", "page:heading")]
        documents = [
            index.document(TEXTS[0], key=str(number), url="http://a.test", facts=facts)
            for number, facts in enumerate(stated)
        ]
        first, second = index.execute(claims=documents)
        assert (first.kind, second.kind) == ("unique", "duplicate")
        index.execute(duplicates=[Duplicate(documents[1], second.match, "drop")])
        namespace = choose_namespace(index.database, None)
        read = read_documents(index.database, namespace, limit=9)
    assert not tuning.replay(read, at_distance(25), UNKNOWN)[0].kept[1]


def test_every_fact_of_a_page_is_known_by_its_name():
    known = {*markup.PROPERTIES.values(), *markup.META.values()}
    known |= {"page:title", "page:heading", "page:time", "page:details"}
    assert known == set(tuning._PAGE_FACTS.values())


def test_similarities_are_true_where_texts_are_kept_and_estimated_elsewhere(tmp_path):
    for budget, estimated in ((1 << 20, False), (0, True)):
        with Index(f"sqlite:///{tmp_path / str(budget)}", text_budget=budget) as index:
            index.claim(TEXTS[0], key="1")
            index.claim(TEXTS[2], key="2")
            namespace = choose_namespace(index.database, None)
            read = read_documents(index.database, namespace, limit=9)
            compare = Comparison(index.database, namespace, index.scheme, read)
            shingles = [index.scheme.sketch(TEXTS[number]).shingles for number in (0, 2)]
            similarity, is_estimate = compare.similarity(1, 0)
        assert is_estimate is estimated
        assert similarity == pytest.approx(jaccard(*shingles), abs=0.15 if estimated else 0)


def test_what_was_kept_for_its_content_is_kept_in_a_replay(call, tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        for number in range(3):
            document = index.document(
                TEXTS[0], key=str(number), url=f"http://a.test/{number}", facts=price(number)
            )
            index.confirm(*index.execute(claims=[document]))
    tuned = json.loads(call("tune", "--json", "--database", path)[1])
    assert {level["kept"] for level in tuned["levels"]} == {3}

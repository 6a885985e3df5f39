"""``scrapy simhash tune``, and the replay that it rests on."""

from __future__ import annotations

import json
import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from loopback import prose
from stored import changed

from scrapy_simhash.cli import replay as tuning
from scrapy_simhash.history.documents import Documents


def test_tune_replays_what_is_stored(call, database):
    code, out, _ = call("tune", "--json", "--database", database)
    tuned = json.loads(out)
    levels = {level["threshold"]: level for level in tuned["levels"]}
    assert code == 0
    assert (levels["0.9"]["kept"], levels["0.9"]["dropped"]) == (3, 2)
    assert levels["0.9"]["is_present"]
    assert (levels["1"]["kept"], levels["1"]["decided_otherwise"]) == (4, 1)
    (example,) = levels["0.95"]["examples"]
    assert (example["url"], example["match"]) == ("http://b.test/2", "http://a.test/1")
    assert 0.9 < example["jaccard"] < 1
    assert "Recommended" in call("tune", "--database", database)[1]


def test_tune_a_run_that_is_not_there(call, database):
    code, _, err = call("tune", "--run", 99, "--database", database)
    assert code == 1
    assert "99" in err


def test_tune_by_labelled_pairs(call, tmp_path):
    texts = [prose(number, 200) for number in range(20)]
    pairs = [(text, changed(text, 8), True) for text in texts]
    pairs += list(zip(texts, texts[1:], [0] * 19, strict=False))
    path = tmp_path / "pairs.jsonl"
    path.write_text(
        "\n".join(json.dumps(dict(zip("ab", pair, strict=False), label=pair[2])) for pair in pairs)
    )
    code, out, _ = call("tune", "--pairs", path, "--json")
    tuned = json.loads(out)
    best = next(one for one in tuned["levels"] if one["threshold"] == tuned["recommended"])
    assert code == 0
    assert best["f1"] == max(one["f1"] for one in tuned["levels"]) == 1
    assert tuned["levels"][-1]["missed"] == 20


def test_a_pair_without_a_label_is_named(call, tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"a": "x", "b": "y", "label": true}\n{"a": "x", "b": "y"}\n')
    code, _, err = call("tune", "--pairs", path)
    assert code == 1
    assert "line 2" in err


@given(
    st.lists(st.tuples(st.integers(0, 255), st.integers(0, 3), st.integers(6, 9)), max_size=40),
    st.integers(0, 4),
)
def test_a_replay_decides_as_one_by_one(rows, limit):
    documents = Documents(
        np.array([[row[0]] for row in rows], np.uint8).reshape(-1, 1),
        *(np.array([row[column] for row in rows], np.int64) for column in (1, 2)),
        *(np.zeros(len(rows), np.int64),) * 4,
        0,
    )
    kept: list[int] = []
    for number, (print_, owner, size) in enumerate(rows):
        near = [
            other
            for other in kept
            if (apart := (print_ ^ rows[other][0]).bit_count()) <= limit
            and (not apart or min(size, rows[other][2]) >= 8)
        ]
        if not near or any(rows[other][1] == owner for other in near):
            kept.append(number)
    found = tuning.replay(documents, [tuning.Level("", limit)])
    assert np.flatnonzero(found[0]).tolist() == kept


def test_a_replay_is_the_same_across_its_parts(monkeypatch):
    random.seed(1)
    count = 300
    documents = Documents(
        np.random.default_rng(1).integers(0, 4, (count, 2), dtype=np.uint8),
        np.arange(count),
        np.full(count, 9),
        *(np.zeros(count, np.int64),) * 4,
        0,
    )
    tried = [tuning.Level("", limit) for limit in (0, 1, 2)]
    whole = tuning.replay(documents, tried)
    monkeypatch.setattr(tuning, "_CHUNK", 7)
    assert (tuning.replay(documents, tried) == whole).all()


def test_the_present_threshold_is_recommended_unless_another_is_better():
    kept = np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 1]], bool)
    assert tuning.recommend(kept, 1) == 1
    assert tuning.recommend(kept, 3) == 1

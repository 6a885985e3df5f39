"""The table and the borderline pairs of ``scrapy simhash tune``."""

from __future__ import annotations

import json

import numpy as np
import pytest
from loopback import prose
from stored import changed, store

from scrapy_simhash.cli import tune
from scrapy_simhash.cli.tune import borderline, in_words
from scrapy_simhash.corpus.greedy import Decisions
from scrapy_simhash.index.index import Index
from scrapy_simhash.simhash.measure import jaccard

#: How many of 200 words differ from the original; from .95 down to .8.
CHANGES = (3, 4, 5, 6, 7, 8, 9, 10)


@pytest.fixture
def graded(tmp_path):
    """Originals on one site, and on another a copy of each; with how similar the two are."""
    path, true = tmp_path / "graded.db", {}
    with Index(f"sqlite:///{path}") as index:
        for words in CHANGES:
            texts = prose(words, 200), changed(prose(words, 200), words)
            for site, text in zip("ab", texts, strict=True):
                store(index, text, f"http://{site}.test/{words}")
            shingles = [index.scheme.sketch(text).shingles for text in texts]
            true[f"http://b.test/{words}"] = jaccard(*shingles)
    return path, true


def between(true, least, most):
    return sorted(similarity for similarity in true.values() if least <= similarity < most)


def test_each_level_counts_what_is_dropped_at_it(call, graded):
    path, true = graded
    tuned = json.loads(call("tune", "--json", "--database", path)[1])
    for level in tuned["levels"]:
        dropped = len(between(true, float(level["threshold"]), 1.1))
        assert (level["dropped"], level["kept"]) == (dropped, 2 * len(CHANGES) - dropped)


def test_the_pairs_next_to_the_present_similarity_come_with_their_differences(
    call, graded, monkeypatch
):
    monkeypatch.setattr(tune, "_EXAMPLES", 9)
    path, true = graded
    tuned = json.loads(call("tune", "--json", "--database", path)[1])
    above, below = tuned["borderline"]
    assert (above["dropped_at"], above["kept_at"]) == ("0.9", "0.95")
    assert (below["dropped_at"], below["kept_at"]) == ("0.85", "0.9")
    for step, is_below in ((above, False), (below, True)):
        found = [pair["similarity"] for pair in step["pairs"]]
        assert found == sorted(found, reverse=is_below)
        least, most = float(step["dropped_at"]), float(step["kept_at"])
        assert sorted(found) == pytest.approx(between(true, least, most), abs=1e-6)
    for pair in (*above["pairs"], *below["pairs"]):
        words = pair["url"].removeprefix("http://b.test/")
        assert pair["original"] == f"http://a.test/{words}"
        assert pair["similarity"] == pytest.approx(true[pair["url"]], abs=1e-6)
        assert len(pair["difference"]) >= int(words)
        added = {f"other{number}" for number in range(int(words))}
        assert added <= {*" ".join(change[2] for change in pair["difference"]).split()}


def test_what_is_printed_begins_next_to_the_present_similarity(call, graded):
    path, true = graded
    out = " ".join(call("tune", "--database", path)[1].split())
    assert "Dropped at 0.9, kept at 0.95:" in out
    # Rounded down: what is just below a threshold must not look equal to it.
    nearest = between(true, 0.85, 0.9)[-1]
    first = out.index("Dropped at 0.85, kept at 0.9:")
    assert out.index(f"{int(nearest * 1000) / 1000:.3f} http://b.test/") > first
    assert "{+other" in out


def pairs(similarities, *, kept=True):
    """The documents that the looser level drops as near-duplicates of the first."""
    count = len(similarities) + 1
    looser, stricter = (
        Decisions(
            np.full(count, is_kept),
            np.zeros(count, np.int64),
            np.array([np.nan, *similarities], np.float32),
            np.zeros(count, np.uint16),
            [""],
        )
        for is_kept in (False, kept)
    )
    found = borderline(looser, stricter, 0.9, np.full(count, fill_value=True))
    return [number for number, _, _ in found]


def test_what_is_kept_since_its_match_is_dropped_is_no_pair():
    assert pairs([0.93, 0.81]) == [2]
    assert pairs([0.93, 0.81], kept=False) == []


@pytest.mark.parametrize(
    ("setting", "similarity", "shown"),
    [
        ("SIMHASH_SIMILARITY", 0.89996, "0.899"),
        ("SIMHASH_SIMILARITY", 0.9, "0.900"),
        ("SIMHASH_DISTANCE", 0.5, "7 bits"),
    ],
)
def test_how_close_a_pair_is(setting, similarity, shown):
    pair = {"similarity": similarity, "distance": 7}
    assert in_words(pair, setting) == shown

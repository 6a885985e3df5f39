"""The pairs on which a threshold hangs, and what ``scrapy simhash tune`` says of the choice."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from loopback import prose
from stored import changed

from scrapy_simhash.cli.borderline import pieces, steps
from scrapy_simhash.cli.choice import choice
from scrapy_simhash.cli.output import text_changes
from scrapy_simhash.cli.replay import Level, Replayed
from scrapy_simhash.history.documents import Documents
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import Duplicate
from scrapy_simhash.simhash.measure import jaccard

#: How many of 200 words differ from the original; from .95 down to .8.
CHANGES = (3, 4, 5, 6, 7, 8, 9, 10)


@pytest.fixture(params=[1 << 20, 0], ids=["texts kept", "texts gone"])
def graded(request, tmp_path):
    """Originals on one site, and on another a copy of each; with how similar the two are."""
    path, true = tmp_path / "graded.db", {}
    with Index(f"sqlite:///{path}", text_budget=request.param) as index:
        for words in CHANGES:
            texts = prose(words, 200), changed(prose(words, 200), words)
            for site, text in zip("ab", texts, strict=True):
                url = f"http://{site}.test/{words}"
                document = index.document(text, key=url, url=url)
                (verdict,) = index.execute(claims=[document])
                if verdict.kind == "duplicate":
                    index.execute(duplicates=[Duplicate(document, verdict.match, "drop")])
                index.confirm(verdict)
            shingles = [index.scheme.sketch(text).shingles for text in texts]
            true[f"http://b.test/{words}"] = jaccard(*shingles)
    return path, true, request.param > 0


def between(true, least, most):
    return sorted(similarity for similarity in true.values() if least <= similarity < most)


@pytest.mark.parametrize("graded", [1 << 20], indirect=True)
def test_each_level_says_what_it_does_otherwise_than_the_one_in_force(call, graded):
    path, true, _ = graded
    tuned = json.loads(call("tune", "--json", "--database", path)[1])
    for level in tuned["levels"]:
        threshold = float(level["threshold"])
        assert level["dropped"] == len(between(true, threshold, 1.1))
        assert level["more_dropped"] == len(between(true, threshold, 0.9))
        assert level["more_kept"] == len(between(true, 0.9, threshold))


def test_the_pairs_nearest_to_the_similarity_in_force_come_first(call, graded):
    path, true, are_kept = graded
    tuned = json.loads(call("tune", "--json", "--examples", "9", "--database", path)[1])
    levels = {level["threshold"]: level for level in tuned["levels"]}
    for name, is_below in (("0.8", True), ("0.85", True), ("0.9", False), ("0.95", False)):
        found = [example["similarity"] for example in levels[name]["examples"]]
        assert found == sorted(found, reverse=is_below)
        assert len(found) == levels[name]["kept_at_next"]
    shown = [example for level in tuned["levels"] for example in level["examples"]]
    assert len(shown) == len(CHANGES)
    for example in shown:
        words = example["url"].removeprefix("http://b.test/")
        assert example["match"] == f"http://a.test/{words}"
        assert example["estimated"] is not are_kept
        assert example["similarity"] == pytest.approx(
            true[example["url"]], abs=0.1 if example["estimated"] else 0
        )
        if not are_kept:
            assert example["differs"] is None
            continue
        assert example["changes"] >= int(words)
        added = {f"other{number}" for number in range(int(words))}
        assert added & {piece["added"] for piece in example["differs"]}
    numbers = {example["id"].split()[0] for example in shown}
    assert numbers == {"claim", "duplicate"}
    assert all(example["match_id"].startswith("claim ") for example in shown)


def test_what_is_printed_begins_next_to_the_similarity_in_force(call, graded):
    path, true, are_kept = graded
    out = " ".join(call("tune", "--database", path)[1].split())
    next_to_it = out.index("Dropped at 0.85, kept at 0.9"), out.index("Dropped at 0.9, kept at")
    assert max(next_to_it) < out.index("Dropped at 0.8, kept at 0.85")
    assert "Going from 0.9 to 0.85:" in out
    assert "Going from 0.9 to 0.95:" in out
    assert out.count("The nearest two are") == 2
    assert ("about 0." in out) is not are_kept
    assert ("one of the texts is kept no longer" in out) is not are_kept
    if are_kept:
        below, above = between(true, 0.85, 0.9), between(true, 0.9, 0.95)
        assert f"Going from 0.9 to 0.85: {len(below)} more dropped." in out
        assert f"Going from 0.9 to 0.95: {len(above)} more kept." in out
        assert f"{int(below[-1] * 1000) / 1000:.3f} alike http://b.test/" in out
        assert "{+other" in out


def test_the_number_of_pairs_is_what_is_asked_for(call, graded):
    for asked in (0, 1):
        tuned = call("tune", "--json", "--examples", asked, "--database", graded[0])[1]
        shown = [len(level["examples"]) for level in json.loads(tuned)["levels"]]
        assert max(shown) == asked
    code, out, _ = call("tune", "--examples", 0, "--database", graded[0])
    assert code == 0
    assert "Look at some with --examples." in out


def test_it_is_said_what_the_bands_of_an_index_may_miss(call, tmp_path):
    """Those for .9 meet fewer of the pairs that are .8 alike; those for .7 meet them all."""
    for similarity, said in ((0.9, True), (0.7, False)):
        path = tmp_path / f"{similarity}.db"
        with Index(f"sqlite:///{path}", similarity=similarity) as index:
            index.confirm(index.claim(prose(1, 200), key="1"))
        tuned = json.loads(call("tune", "--json", "--database", path)[1])
        met = {level["threshold"]: level["met"] for level in tuned["levels"]}
        assert (met["0.8"] < 0.9) is said
        assert met["0.9"] > 0.98
        (found,) = [sentence for sentence in tuned["choice"] if "bands" in sentence] or [""]
        assert ("84% at 0.8" in found) is said
        assert "at 0.9" not in found


def replayed(similarities) -> Replayed:
    """Two levels: all but the first are near-duplicates of it at the looser, none at the other."""
    count = len(similarities)
    kept = np.array([[True] + [False] * (count - 1), [True] * count])
    matches = np.array([[-1] + [0] * (count - 1), [-1] * count])
    return Replayed(kept, matches, np.array([similarities] * 2), np.zeros((2, count), bool))


def steps_of(prints, similarities):
    rows = [SimpleNamespace(url="", fingerprint=bytes([one])) for one in prints]
    documents = Documents(rows, [(number, 0) for number in range(len(rows))])
    (step,) = steps(
        replayed(similarities),
        documents,
        [Level(str(one), 30, one) for one in (0.8, 0.9)],
        1,
        counted=np.ones(len(similarities), bool),
        bits=8,
        examples=9,
    )
    return step


def test_two_pages_that_were_met_at_several_visits_are_shown_once():
    step = steps_of([0, 1, 2, 1], [np.nan, 0.85, 0.81, 0.85])
    assert step.changing == 3
    assert [pair.number for pair in step.pairs] == [1, 2]


def test_what_is_kept_since_its_match_is_dropped_is_counted_and_not_shown():
    step = steps_of([0, 1, 2], [np.nan, 0.93, 0.81])
    assert step.changing == 2
    assert [pair.number for pair in step.pairs] == [2]


def level(threshold, similarity=None, **more):
    examples = []
    if similarity is not None:
        examples = [{"similarity": similarity, "estimated": False, "distance": 7, "differs": []}]
    figures = {"more_dropped": 0, "more_kept": 0, "met": None, "examples": examples}
    return {"threshold": threshold, **figures, **more}


def test_what_is_just_below_a_similarity_does_not_read_as_if_it_were_at_it():
    levels = [level("0.85", 0.89996, more_dropped=1), level("0.9")]
    (said,) = choice(levels, 1, "similarity")
    assert "0.899 alike" in said
    assert "0.900 alike" in choice([level("0.9", 0.9), level("0.95", more_kept=1)], 0, "x")[0]


def test_where_a_distance_decides_a_distance_is_told():
    levels = [level("8", 0.5, more_dropped=1_234), level("7", 0.5), level("6", more_kept=2)]
    looser, stricter = choice(levels, 1, "distance")
    assert looser.startswith("Going from 7 to 8: 1,234 more dropped. The nearest two are 7 bits")
    assert stricter.startswith("Going from 7 to 6: 2 more kept. The nearest two are 7 bits apart")


def test_a_choice_that_changes_nothing_costs_nothing():
    said = choice([level("0.85"), level("0.9"), level("0.95")], 1, "similarity")
    assert said == [f"Going from 0.9 to {other}: no difference." for other in ("0.85", "0.95")]


def found_in(first, second):
    return [tuple(piece.values()) for piece in pieces(first, text_changes(first, second))]


def test_a_difference_is_cut_at_words():
    start, end = "It opens to all on ", " at the old market hall of the town."
    long = " ".join(["wonderful"] * 12)
    assert found_in(f"{start}Monday{end}", f"{start}Tuesday{end}") == [
        ("It opens to all on", "Monday", "Tuesday")
    ]
    ((before, removed, added),) = found_in(f"{long} {start}{end}", f"{long} {start}{long}{end}")
    assert (before, removed) == ("It opens to all on", "")
    assert added == " ".join(["wonderful"] * 6) + "…"


def test_what_is_written_without_spaces_is_cut_between_its_characters():
    first, added = "今天上午市政府在新闻发布会上宣布这一决定的内容" * 2, "一二三四五六七八九十" * 9
    ((before, removed, new),) = found_in(f"{first}。", f"{first}{added}。")
    assert (before, removed, new) == (first[-24:], "", f"{added[:60]}…")


def test_the_largest_of_many_changes_are_shown_in_their_order():
    words = [f"w{number}" for number in range(60)]
    other = list(words)
    for place, length in ((5, 1), (15, 4), (25, 2), (35, 5), (45, 3)):
        other[place] = " ".join(["new"] * length)
    added = [piece[2] for piece in found_in(" ".join(words), " ".join(other))]
    assert added == ["new new new new", "new new new new new", "new new new"]

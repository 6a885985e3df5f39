"""``scrapy simhash dedupe NEW --against OLD``: what OLD has is dropped, and OLD never written."""

from __future__ import annotations

import csv
import io
import json
import sys

import numpy as np
import pytest
from corpora import documents_of, items, jsonl, sketches_of
from loopback import prose
from stored import changed

from scrapy_simhash.corpus.greedy import decide_corpus
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.index.rule import Rule


def as_csv(given):
    text = io.StringIO()
    writer = csv.DictWriter(text, ["url", "text"], extrasaction="ignore")
    writer.writeheader()
    writer.writerows(given)
    return text.getvalue().encode()


def as_parquet(given):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    made = io.BytesIO()
    pq.write_table(
        pa.Table.from_pylist([{k: one[k] for k in ("url", "text")} for one in given]), made
    )
    return made.getvalue()


FORMATS = {".jsonl": jsonl, ".csv": as_csv, ".parquet": as_parquet}


def article(number, *, edits=0):
    text = prose(f"article {number}", 90)
    return {"url": f"http://a.test/{number}", "text": changed(text, edits) if edits else text}


OLD = [article(1), article(2), article(3)]
NEW = [article(4), article(2, edits=1), article(4, edits=1), article(5), article(3)]


def groups_of(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def urls_of(path):
    """The last character of each."""
    return [json.loads(line)["url"][-1] for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("suffix", "old_suffix", "options"),
    [
        (".jsonl", ".csv", ()),
        (".csv", ".parquet", ("--fields", "text")),
        (".parquet", ".jsonl", ()),
    ],
)
def test_of_whatever_format_what_the_reference_has_is_dropped(
    call, tmp_path, suffix, old_suffix, options
):
    old, new, kept, dropped = (tmp_path / name for name in ("old", "new", "kept", "dropped"))
    old, new = old.with_suffix(old_suffix), new.with_suffix(suffix)
    kept, dropped, groups = (tmp_path / f"{name}.jsonl" for name in ("kept", "dropped", "groups"))
    groups = tmp_path / "groups.csv"
    old.write_bytes(FORMATS[old_suffix](OLD))
    new.write_bytes(FORMATS[suffix](NEW))
    code, out, err = call(
        *("dedupe", new, "--against", old, "-o", kept, "--dropped", dropped, "--json"),
        *("--groups", groups, *options),
    )
    assert code == 0, err
    counted = json.loads(out)
    assert {name: counted[name] for name in ("read", "kept", "dropped", "reference", "known")} == {
        "read": 5,
        "kept": 2,
        "dropped": 3,
        "reference": 3,
        "known": 2,
    }
    assert urls_of(kept) == ["4", "5"]
    assert urls_of(dropped) == ["2", "4", "3"]
    rows = groups_of(groups)
    assert [(row["group"], row["id"], row["original_id"]) for row in rows] == [
        ("1", "1", ""),
        ("-2", "2", "-2"),
        ("1", "3", "1"),
        ("4", "4", ""),
        ("-3", "5", "-3"),
    ]
    assert [row["original_file"] for row in rows] == ["", str(old), "", "", str(old)]
    assert [row["original"][-1:] for row in rows] == ["", "2", "4", "", "3"]


def test_the_reference_is_preferred_whatever_is_better_and_its_own_copies_count(call, tmp_path):
    old, more, new, kept, groups = (
        tmp_path / f"{name}.jsonl" for name in ("old", "more", "new", "kept", "groups")
    )
    text = prose("a thing", 90)
    words = text.split()
    # The last is similar to its copy in the reference, which is a copy of the first, but not to it.
    second = " ".join([*words[:-4], "one", "two", "three", "four"])
    third = " ".join(["five", "six", "seven", "eight", *second.split()[4:]])
    old.write_bytes(jsonl([{"text": text}]))
    more.write_bytes(jsonl([{"text": second}]))
    new.write_bytes(jsonl([{"url": "https://a.test/", "text": third}]))
    command = ("dedupe", new, "-o", kept, "--groups", groups, "--prefer", "https,longest")
    assert "1 kept, 0 dropped (0 found in OLD, among 1)" in call(*command, "--against", old)[1]
    kept.unlink()
    groups.unlink()
    code, out, _ = call(*command, "--against", old, more)
    assert (code, out) == (0, "1 item read, 0 kept, 1 dropped (1 found in OLD, among 2)\n")
    row = json.loads(groups.read_text())
    assert (row["original_id"], row["original_file"]) == (-2, str(more))


def test_one_of_the_two_may_come_from_a_pipe(call, tmp_path, monkeypatch):
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_bytes(jsonl(OLD))
    new.write_bytes(jsonl(NEW))
    for given, arguments in ((old, (new, "--against", "-")), (new, ("-", "--against", old))):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.read_bytes())))
        kept = tmp_path / f"kept-{given.name}"
        assert call("dedupe", *arguments, "-o", kept)[0] == 0
        assert urls_of(kept) == ["4", "5"]


def test_lines_of_the_reference_that_can_not_be_read_are_told(call, tmp_path):
    old, new, rejects = tmp_path / "old.jsonl", tmp_path / "new.jsonl", tmp_path / "rejects.jsonl"
    old.write_bytes(b"{]\n" + jsonl(OLD))
    new.write_bytes(jsonl(NEW))
    kept = tmp_path / "kept.jsonl"
    code, out, err = call(
        "dedupe", new, "--against", old, "-o", kept, "--rejects", rejects, "--json"
    )
    assert code == 3
    assert f"{old}, line 1: invalid JSON" in err
    counted = json.loads(out)
    assert (counted["rejected"], counted["unreadable"], counted["known"]) == (0, 1, 2)
    assert rejects.read_bytes() == b""


def test_what_can_not_be_compared_is_refused(call, tmp_path):
    old, new = (tmp_path / name for name in ("old.jsonl", "new.jsonl"))
    old.write_bytes(jsonl(OLD))
    new.write_bytes(jsonl(NEW))
    kept = tmp_path / "kept.jsonl"
    for given, problem in (
        ((new, "--against", new, "-o", kept), "is given as an input and with --against"),
        ((new, "--against", tmp_path / "none.jsonl", "-o", kept), "does not exist"),
        ((new, "--against", old, "-o", old), "exists; remove it"),
        ((new, "--against", old, "-o", kept, "--fields", "body"), "no item has a value in body"),
    ):
        code, _, err = call("dedupe", *given)
        assert (code, problem in err) == (2, True), err
    # Also if only the reference has it.
    old.write_bytes(jsonl([{"body": prose(1, 90)}]))
    code, _, err = call("dedupe", new, "--against", old, "-o", kept, "--fields", "body")
    assert (code, "no item has a value in body" in err) == (2, True), err
    assert not kept.exists()


@pytest.mark.parametrize("seed", [1, 2])
def test_behind_originals_everything_is_decided_as_in_one_corpus(seed):
    plan = Plan.make(Rule(), bytes(16))
    documents = documents_of(plan, items(1200, seed))
    first = decide_corpus(sketches_of(documents[:800], plan), plan)
    chosen = [documents[number] for number in np.flatnonzero(first.kept)]
    together = sketches_of([*chosen, *documents[800:]], plan)
    expected = decide_corpus(together, plan)
    made = decide_corpus(together, plan, reference=len(chosen))
    assert made.kept[: len(chosen)].all()
    assert made.kept.tolist() == expected.kept.tolist()
    behind = slice(len(chosen), None)
    assert made.matches[behind].tolist() == expected.matches[behind].tolist()
    assert 50 < (~made.kept).sum() < 350

"""``scrapy simhash``, called as on the command line, in this process unless it is to be killed."""

from __future__ import annotations

import csv
import gzip
import io
import json
import logging
import random
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import PageSpider, article, crawl, prose, serve
from scrapy import Request
from scrapy.cmdline import execute
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.request import fingerprint
from servers import ENGINES, empty_database

from scrapy_simhash.cli import replay as tuning
from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.feed import dedupe, files
from scrapy_simhash.feed import progress as feed_progress
from scrapy_simhash.history.documents import Documents
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import Duplicate
from scrapy_simhash.report.difference import difference
from scrapy_simhash.report.visible import shortened, visible

HOSTILE = "http://evil.test/\x1b[31m\u202egpj.exe\x07"
NAMES = [
    "stats",
    "show",
    "report",
    "tune",
    "restore",
    "prune",
    "reset",
    "compare",
    "dedupe",
    "explain",
    "rebuild",
]


@pytest.fixture
def call(capsys):
    """Call the command; gives its exit code, standard output and standard error."""

    def call(*arguments, **given):
        with pytest.raises(SystemExit) as ended:
            execute(["scrapy", "simhash", *map(str, arguments)], Settings(given))
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return call


def changed(text, words):
    """A text with so many of its words replaced."""
    parts = text.split()
    for place in range(words):
        parts[place * 7] = f"other{place}"
    return " ".join(parts)


def fill(index, *, action="drop"):
    """Three pages, of which the second has two near-duplicates; gives their texts."""
    texts = [prose(number, 200) for number in range(3)]
    documents = [
        index.document(text, key=f"page {number}", url=f"http://a.test/{number}")
        for number, text in enumerate(texts)
    ]
    index.confirm(*index.execute(claims=documents))
    for number in (1, 2):
        copy = index.document(
            changed(texts[1], 3 * number - 3), key=f"copy {number}", url=f"http://b.test/{number}"
        )
        (verdict,) = index.execute(claims=[copy])
        assert verdict.kind == "duplicate"
        packed = pack({"url": copy.url, "title": "雪 \ud800"})
        index.execute(duplicates=[Duplicate(copy, verdict.match, action, *packed)])
    return texts


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}", namespace="news") as index:
        fill(index)
    return path


# The command line


def test_looking_up_the_command_imports_nothing_heavy():
    code = (
        "import sys, scrapy.cmdline; before = set(sys.modules); import scrapy_simhash.cli.command; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(found) <= {"scrapy_simhash", "scrapy", "argparse"}


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_a_help(call, name):
    code, out, _ = call(name, "--help")
    assert code == 0
    assert f"scrapy simhash {name}" in out


def test_an_unknown_option_is_refused(call, database):
    code, _, err = call("stats", "--database", database, "--colour")
    assert code == 2
    assert "--colour" in err


def test_trouble_is_one_line_and_an_exit_code(call, tmp_path):
    path = tmp_path / "none.db"
    code, out, err = call("stats", "--database", path)
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert str(path) in err
    assert not path.exists()


def test_a_wrong_setting_is_named(call, database):
    code, _, err = call("stats", "--database", database, SIMHASH_SIMILARITY=3)
    assert code == 1
    assert "SIMHASH_SIMILARITY" in err


def test_settings_can_be_set_after_the_command(call, database):
    code, _, err = call("stats", "-s", "SIMHASH_SIMILARITY=3", "--database", database)
    assert code == 1
    assert "SIMHASH_SIMILARITY" in err


def test_several_namespaces_need_a_name(call, database):
    with Index(f"sqlite:///{database}", namespace="other") as index:
        index.claim(prose(9), key="9")
    code, _, err = call("show", "http://a.test/1", "--database", database)
    assert code == 1
    assert "'news', 'other'" in err
    assert call("show", "http://a.test/1", "--database", database, "--namespace", "news")[0] == 0


def test_what_was_crawled_can_not_write_to_the_terminal(call, tmp_path):
    path = tmp_path / "evil.db"
    with Index(f"sqlite:///{path}", namespace=HOSTILE) as index:
        index.confirm(index.claim(prose(1), key="1", url=HOSTILE))
    for arguments in (["stats"], ["show", HOSTILE], ["show", HOSTILE, "--json"]):
        code, out, err = call(*arguments, "--database", path)
        assert (code, err) == (0, "")
        assert not set("\x1b\x07\u202e") & set(out)
        assert r"\u202e" in out
    assert json.loads(out)["versions"][0]["url"] == HOSTILE


@given(st.text())
def test_what_is_made_visible_is_the_same_json(text):
    shown = visible(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == text
    assert shortened(text).isprintable() or not set(shortened(text)) & set("\x1b\u202e\n\r")


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_answers_the_same(call, tmp_path, engine):
    with empty_database(engine, tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        with Index(address, namespace="news") as index:
            fill(index)
        common = ["--database", address, "--namespace", "news"]
        (namespace,) = json.loads(call("stats", "--json", *common)[1])["namespaces"]
        (run,) = namespace["runs"]
        assert (run["claims"], run["pending"], run["drops"], run["orphans"]) == (3, 0, 2, 0)
        known = json.loads(call("show", "http://a.test/1", "--json", *common)[1])
        assert (len(known["versions"]), known["duplicate_count"]) == (1, 2)
        known = json.loads(call("show", "http://b.test/2", "--json", *common)[1])
        assert known["duplicate_of"][0]["difference"]
        tuned = json.loads(call("tune", "--json", *common)[1])
        assert [level["kept"] for level in tuned["levels"]][-2:] == [3, 4]
        assert tuned["levels"][-2]["examples"][0]["jaccard"] > 0.9
        assert len(call("restore", "--min-distance", "1", *common)[1].splitlines()) == 1
        path = tmp_path / "report.html"
        assert call("report", "-o", path, *common)[0] == 0
        assert "2 of 2 have their difference here" in path.read_text("utf-8")
        assert call("prune", "--older-than", 1, *common)[0] == 0
        assert call("reset", "--yes", *common)[0] == 0


# Looking


def test_stats(call, database):
    code, out, _ = call("stats", "--json", "--database", database)
    (namespace,) = json.loads(out)["namespaces"]
    assert code == 0
    assert (namespace["name"], namespace["size"], namespace["bits"]) == ("news", 3, 128)
    assert namespace["claims_last_1_days"] == 3
    (run,) = namespace["runs"]
    assert (run["claims"], run["pending"], run["drops"], run["orphans"]) == (3, 0, 2, 0)
    code, out, _ = call("stats", "--database", database)
    assert "news" in out
    assert "shingles/1" in out


def test_show_a_page_and_its_near_duplicates(call, database):
    code, out, _ = call("show", "http://a.test/1", "--json", "--database", database)
    known = json.loads(out)
    assert code == 0
    assert [version["state"] for version in known["versions"]] == ["confirmed"]
    assert known["duplicate_count"] == 2
    assert {drop["url"] for drop in known["duplicates"]} == {"http://b.test/1", "http://b.test/2"}


def test_show_what_a_near_duplicate_is_one_of_and_what_changed(call, database):
    code, out, _ = call("show", "http://b.test/2", "--database", database)
    assert code == 0
    assert "http://a.test/1" in out
    assert "{+other0" in out


def test_show_finds_a_page_by_the_key_of_its_request(call, tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        key = fingerprint(Request("http://a.test/?b=1&a=2")).hex()
        index.confirm(index.claim(prose(1), key=key, url="elsewhere"))
    code, out, _ = call("show", "http://a.test/?a=2&b=1", "--json", "--database", path)
    assert code == 0
    assert json.loads(out)["versions"][0]["url"] == "elsewhere"


def test_show_an_unknown_page(call, database):
    code, _, err = call("show", "http://c.test/", "--database", database)
    assert code == 1
    assert "nothing is known" in err


def test_compare(call, tmp_path):
    one, other, third = (tmp_path / name for name in ("a.html", "b.txt", "c.txt"))
    text = prose(1, 300)
    one.write_text(f"<html><body><article><p>{text}</p></article></body></html>")
    other.write_text(changed(text, 2))
    third.write_text(prose(2, 300))
    code, out, _ = call("compare", one, other, "--json")
    known = json.loads(out)
    assert code == 0
    assert known["verdict"] == "near-duplicates"
    assert 0 < known["distance"] <= known["limit"]
    assert 0.9 < known["jaccard"] < 1
    assert "different" in call("compare", one, third)[1]


def test_compare_fetches_urls(tmp_path):
    """In a process of its own: it runs a reactor."""
    with serve({"/a": article(1), "/b": article(1, "mirror")}) as site:
        found = subprocess.run(
            [
                sys.executable,
                "-m",
                "scrapy",
                "simhash",
                "compare",
                "--json",
                f"{site}/a",
                f"{site}/b",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        gone = subprocess.run(
            [
                sys.executable,
                "-m",
                "scrapy",
                "simhash",
                "compare",
                f"{site}/a",
                "http://127.0.0.1:9/",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert json.loads(found.stdout)["distance"] == 0
    assert gone.returncode == 1
    assert "http://127.0.0.1:9/" in gone.stderr.splitlines()[-1]


def test_explain(call):
    code, out, _ = call("explain", "the cat sat on the mat", "--json")
    explained = json.loads(out)
    assert code == 0
    assert explained["tokens"] == ["the", "cat", "sat", "on", "the", "mat"]
    assert f"{explained['fingerprint']:#x}" in call("explain", "the cat sat on the mat")[1]


@given(st.text("ab \n，中文", max_size=60), st.text("ab \n，中文", max_size=60))
def test_a_difference_leads_from_one_text_to_the_other(first, second):
    place, kept, made = 0, "", ""
    for change in difference(first, second):
        copied = first[place : place + change.copied]
        place += change.copied + change.removed
        kept += copied
        made += copied + change.added
    assert place == len(first)
    assert "".join(made.split()) == "".join(second.split())
    if first == second:
        assert kept == first


def test_a_difference_marks_single_words_and_ideographs():
    assert difference("one two three four", "one two 3 four")[0] == (8, 6, "3 ")
    assert difference("今天天气很好", "今天天气不好")[0] == (4, 1, "不")


# Tuning


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


# Undoing


def test_restore_gives_items_back(call, database, tmp_path):
    path = tmp_path / "back.jsonl"
    code, _, err = call("restore", "--database", database, "-o", path)
    assert code == 0
    assert "2 items" in err
    assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == [
        {"url": f"http://b.test/{number}", "title": "雪 \ud800"} for number in (1, 2)
    ]
    before = path.read_bytes()
    assert call("restore", "--database", database, "-o", path)[0] == 1
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--orphans"], 0),
        (["--min-distance", "1"], 1),
        (["--run", "1"], 2),
        (["--run", "2"], 0),
        (["--since", "2000-01-01"], 2),
        (["--since", "2999-01-01T00:00"], 0),
    ],
)
def test_restore_chooses(call, database, options, count):
    code, out, _ = call("restore", "--database", database, *options)
    assert code == 0
    assert len(out.splitlines()) == count


def test_restore_orphans_once_their_claim_is_released(call, tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        verdict = index.claim(prose(1), key="1")
        copy = index.document(prose(1), key="2")
        (twin,) = index.execute(claims=[copy])
        index.execute(duplicates=[Duplicate(copy, twin.match, "drop", *pack({"n": 2}))])
        index.release(verdict)
    assert json.loads(call("restore", "--orphans", "--database", path)[1]) == {"n": 2}


def test_what_was_only_reported_is_not_restored(call, tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        fill(index, action="report")
    assert call("restore", "--database", path)[1] == ""


def test_restore_wants_a_time_it_can_read(call, database):
    code, _, err = call("restore", "--database", database, "--since", "yesterday")
    assert code == 1
    assert "yesterday" in err


def test_prune(call, database):
    code, _, err = call("prune", "--database", database)
    assert code == 1
    assert "SIMHASH_EXPIRE" in err
    assert json.loads(call("prune", "--database", database, "--older-than", 1, "--json")[1]) == {
        "namespace": "news",
        "forgotten": 0,
        "duplicates": 0,
        "left": 3,
    }


def test_prune_forgets_what_is_old(call, database, monkeypatch):
    later = time.time() + 3 * 86400
    monkeypatch.setattr(time, "time", lambda: later)
    out = call("prune", "--database", database, "--json", SIMHASH_EXPIRE=2)[1]
    assert json.loads(out)["left"] == 0


def test_reset_asks(call, database, monkeypatch):
    code, _, err = call("reset", "--database", database)
    assert code == 1
    assert "--yes" in err
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: "n")
    assert call("reset", "--database", database)[0] == 1
    assert json.loads(call("stats", "--json", "--database", database)[1])["namespaces"]
    monkeypatch.setattr("builtins.input", lambda question: "y")
    assert call("reset", "--database", database)[0] == 0
    assert not json.loads(call("stats", "--json", "--database", database)[1])["namespaces"]


def test_reset_without_a_question(call, database):
    assert call("reset", "--yes", "--database", database)[0] == 0


def test_rebuild(call, tmp_path, database):
    code, _, err = call("rebuild", "--database", database)
    assert code == 1
    assert "bands" in err
    path = tmp_path / "blocks.db"
    with Index(f"sqlite:///{path}", candidates="blocks") as index:
        fill(index)
    out = call("rebuild", "--json", "--database", path, SIMHASH_CANDIDATES="blocks")[1]
    assert "blocks" in json.loads(out)["plan"]


# Existing feeds


def feed_of(count):
    """Items, every third a near-duplicate of the one before it; and those that are to be kept."""
    items, kept = [], []
    for number in range(count):
        copies = number % 3 == 2
        text = changed(items[-1]["text"], 1) if copies else prose(number, 90)
        items.append({"url": f"http://a.test/{number}", "text": text, "n": number})
        if not copies:
            kept.append(number)
    return items, kept


def jsonl(items):
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items).encode()


@pytest.mark.parametrize("suffix", ["jsonl", "jl.gz", "csv", "csv.gz"])
def test_dedupe(call, tmp_path, suffix):
    items, kept = feed_of(40)
    source, output, dropped = (tmp_path / f"{name}.{suffix}" for name in ("in", "out", "dropped"))
    content = jsonl(items)
    if "csv" in suffix:
        text = io.StringIO()
        writer = csv.DictWriter(text, ["url", "text", "n"])
        writer.writeheader()
        writer.writerows(items)
        content = text.getvalue().encode()
    source.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    code, out, _ = call(
        "dedupe", source, "-o", output, "--fields", "text", "--dropped", dropped, "--json"
    )
    assert code == 0
    assert json.loads(out) == {
        "read": 40,
        "kept": len(kept),
        "dropped": 40 - len(kept),
        "unchecked": 0,
    }

    def numbers(path):
        stored = path.read_bytes()
        lines = (gzip.decompress(stored) if suffix.endswith("gz") else stored).decode()
        rows = (
            csv.DictReader(io.StringIO(lines))
            if "csv" in suffix
            else map(json.loads, lines.splitlines())
        )
        return [int(row["n"]) for row in rows]

    assert numbers(output) == kept
    assert numbers(dropped) == sorted(set(range(40)) - set(kept))
    assert {path.name for path in tmp_path.iterdir()} == {source.name, output.name, dropped.name}


def test_dedupe_keeps_what_is_too_short_to_check(call, tmp_path):
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(jsonl([{"text": "short"}] * 3 + [{"text": ""}]))
    out = call("dedupe", source, "-o", output, "--fields", "text", "--json")[1]
    assert json.loads(out) == {"read": 4, "kept": 4, "dropped": 0, "unchecked": 4}
    assert output.read_bytes() == source.read_bytes()


class Broken(Exception):
    pass


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from(["write", "sync", "save", "execute"]), st.integers(0, 6)))
)
def test_dedupe_goes_on_where_it_was_stopped(tmp_path_factory, stops):
    """Whatever is stopped at whatever moment, and again: the output is that of a single call."""
    folder = tmp_path_factory.mktemp("feeds")
    items, kept = feed_of(30)
    source, output, progress = (folder / name for name in ("in.jsonl", "out.jsonl", "progress"))
    source.write_bytes(jsonl(items))
    places = {
        "write": (files.Output, "write"),
        "sync": (files.Output, "sync"),
        "save": (feed_progress.Progress, "save"),
        "execute": (Index, "execute"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dedupe, "_PART", 5)
        for name, count in [*stops, (None, 0)]:
            with pytest.MonkeyPatch.context() as breaks:
                if name is not None:
                    owner, method = places[name]
                    works = getattr(owner, method)
                    left = iter(range(count))

                    def breaking(*arguments, works=works, left=left, **more):
                        done = works(*arguments, **more)
                        if next(left, None) is None:
                            raise Broken
                        return done

                    breaks.setattr(owner, method, breaking)
                # The run of a call that broke off is left as it is.
                index = Index(f"sqlite:///{folder / 'index.db'}")
                try:
                    dedupe.dedupe(index, files.Feed(source), [output], ["text"], progress)
                    break
                except Broken:
                    pass
                finally:
                    index.database.close()
    assert [json.loads(line)["n"] for line in output.read_bytes().splitlines()] == kept


def test_dedupe_survives_being_killed(call, tmp_path):
    items, kept = feed_of(6000)
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(jsonl(items))
    arguments = ["dedupe", str(source), "-o", str(output), "--fields", "text"]
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "simhash", *arguments], cwd=tmp_path
    )
    progress = tmp_path / "out.jsonl.progress"
    while process.poll() is None and not (
        progress.exists() and json.loads(progress.read_text())["counts"]["read"] > 1000
    ):
        time.sleep(0.01)
    assert process.poll() is None, "it was done before it could be killed"
    process.kill()
    process.wait()
    assert progress.exists()
    code, out, _ = call(*arguments, "--json")
    assert code == 0
    assert json.loads(out)["read"] == 6000
    assert [json.loads(line)["n"] for line in output.read_bytes().splitlines()] == kept


def test_dedupe_against_what_a_given_database_knows(call, tmp_path):
    items, kept = feed_of(30)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_bytes(jsonl(items[:20]))
    second.write_bytes(jsonl(items))
    common = ["--fields", "text", "--json", "--database", f"sqlite:///{tmp_path / 'seen.db'}"]
    call("dedupe", first, "-o", tmp_path / "a.jsonl", *common)
    out = call("dedupe", second, "-o", tmp_path / "b.jsonl", *common)[1]
    assert json.loads(out)["kept"] == len([number for number in kept if number >= 20])


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (b'{"text": "a"}\nnothing\n', [], "line 2"),
        (b"[1]\n", [], "line 1"),
        (b'{"body": "a"}\n', [], "body"),
        (b'{"text": "a"}\n', ["--fields", ""], "--fields"),
    ],
)
def test_dedupe_says_what_is_wrong(call, tmp_path, content, arguments, message):
    source = tmp_path / "in.jsonl"
    source.write_bytes(content)
    code, _, err = call(
        "dedupe", source, "-o", tmp_path / "out.jsonl", *(arguments or ["--fields", "text"])
    )
    assert code == 1
    assert message in err


def test_dedupe_overwrites_nothing(call, tmp_path):
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(jsonl(feed_of(3)[0]))
    output.write_text("precious")
    for path in (output, source, tmp_path / "out.csv", tmp_path / "out.txt"):
        assert call("dedupe", source, "-o", path, "--fields", "text")[0] == 1
    assert output.read_text() == "precious"


def test_dedupe_does_not_go_on_with_another_input(call, tmp_path):
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(jsonl(feed_of(3)[0]))
    progress = feed_progress.Progress("another", ["text"], feed_progress.FeedCounts(), [0])
    progress.save(tmp_path / "out.jsonl.progress")
    code, _, err = call("dedupe", source, "-o", output, "--fields", "text")
    assert code == 1
    assert "out.jsonl.progress" in err


# The log


@deferred_f_from_coro_f
async def test_the_log_says_what_was_kept_and_dropped(tmp_path, caplog):
    caplog.set_level(logging.INFO, "scrapy_simhash.crawl.logstats")
    options = {
        "SIMHASH_DATABASE_URL": f"sqlite:///{tmp_path / 'index.db'}",
        "EXTENSIONS": {"scrapy_simhash.crawl.logstats.SimhashLogStats": 0},
        "LOGSTATS_INTERVAL": 0.05,
        "DOWNLOAD_DELAY": 0.1,
    }
    with serve({"/a": article(1), "/b": article(1), "/c": article(2), "/d": b""}) as site:
        await crawl(PageSpider, options, [f"{site}/{name}" for name in "abcd"])
    lines = [r.getMessage() for r in caplog.records if r.name == "scrapy_simhash.crawl.logstats"]
    assert len(lines) > 1
    assert lines[-1] == "2 unique, 1 near-duplicates of 4 checked, 1 not comparable"
    assert "/min)" in lines[0]

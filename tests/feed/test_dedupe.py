"""``scrapy simhash dedupe``, called as on the command line, and stopped anywhere."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import prose
from stored import changed

from scrapy_simhash.feed import dedupe, files
from scrapy_simhash.feed import output as feed_output
from scrapy_simhash.feed import progress as feed_progress
from scrapy_simhash.index.index import Index


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
        "write": (feed_output.Output, "write"),
        "sync": (feed_output.Output, "sync"),
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

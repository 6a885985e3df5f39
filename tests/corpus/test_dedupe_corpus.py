"""``scrapy simhash dedupe``: formats, tables of groups, preferences, interruptions."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import pickle
import signal
import subprocess
import sys
import time
from unittest.mock import Mock

import psutil
import pytest
from corpora import archive, feed_of, items, jsonl, record
from loopback import article, prose
from stored import changed

from scrapy_simhash.corpus import dedupe as dedupe_module
from scrapy_simhash.corpus.dedupe import Targets, dedupe_corpus
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import SketchStore
from scrapy_simhash.corpus.workers import Sketcher
from scrapy_simhash.feed import source as source_module
from scrapy_simhash.feed.documents import ItemReader
from scrapy_simhash.feed.json_file import JsonLines
from scrapy_simhash.feed.source import FeedError
from scrapy_simhash.index.rule import Rule

NO_MORE = {"unchecked": 0, "rejected": 0, "problems": [], "near": [], "advice": []}
NO_MORE |= {"reference": 0, "known": 0, "unreadable": 0, "written": []}


ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def zstd(content):
    # Of two frames, as tools make them that work in parallel.
    half = len(content) // 2
    pack = pytest.importorskip(ZSTD).compress
    return pack(content[:half]) + pack(content[half:])


def unzstd(content):
    return pytest.importorskip(ZSTD).decompress(content)


PACKED = {
    "": (bytes, bytes),
    ".gz": (gzip.compress, gzip.decompress),
    ".bz2": (bz2.compress, bz2.decompress),
    ".xz": (lzma.compress, lzma.decompress),
    ".zst": (zstd, unzstd),
}


@pytest.mark.parametrize("suffix", PACKED)
def test_compressed_lines_are_read_and_written(call, tmp_path, suffix):
    items, kept = feed_of(12)
    pack, unpack = PACKED[suffix]
    source, output = (tmp_path / f"{name}.jsonl{suffix}" for name in ("in", "out"))
    source.write_bytes(pack(jsonl(items)))
    assert call("dedupe", source, "-o", output, "--ignore", "n")[0] == 0
    assert unpack(output.read_bytes()) == jsonl([items[number] for number in kept])


def test_a_table_in_parquet(call, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    items, kept = feed_of(30)
    rows = [item | {"tags": ["a", "b"], "price": 1.5} for item in items]
    source, output, dropped = (tmp_path / f"{name}.parquet" for name in ("in", "out", "dropped"))
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, source, row_group_size=7)
    code, out, err = call(
        *("dedupe", source, "-o", output, "--dropped", dropped, "--ignore", "n", "--json")
    )
    assert code == 0, err
    assert json.loads(out) == {"read": 30, "kept": 20, "dropped": 10} | NO_MORE
    assert pq.read_table(output).equals(table.take(kept))
    assert pq.read_table(dropped).num_rows == 10


@pytest.mark.parametrize("suffix", [".warc", ".warc.gz"])
def test_an_archive_keeps_its_records_to_the_byte(call, tmp_path, suffix):
    pytest.importorskip("fastwarc")
    pack = gzip.compress if suffix.endswith("gz") else bytes
    info = pack(record("warcinfo", "", "application/warc-fields", b"software: x\r\n"))
    urls = [f"http://{site}.test/{number}" for number in range(4) for site in "ab"]
    pages = [pack(archive((url, article(url[-1])))) for url in urls]
    error = pack(archive(("http://a.test/gone", article("1")), status="404 Not Found"))
    request = pack(
        record("request", urls[0], "application/http; msgtype=request", b"GET /\r\n\r\n")
    )
    source, output, dropped = (tmp_path / f"{name}{suffix}" for name in ("in", "out", "dropped"))
    source.write_bytes(b"".join([info, request, *pages, error]))
    code, out, err = call("dedupe", source, "-o", output, "--dropped", dropped, "--json")
    assert code == 0, err
    assert json.loads(out) == {"read": 8, "kept": 4, "dropped": 4} | NO_MORE
    assert output.read_bytes() == b"".join([info, request, *pages[::2], error])
    assert dropped.read_bytes() == b"".join(pages[1::2])


@pytest.mark.parametrize(("prefer", "kept"), [("canonical,shortest-url", 1), ("earliest", 0)])
def test_of_an_archive_the_preferred_page_is_kept(call, tmp_path, prefer, kept):
    pytest.importorskip("fastwarc")
    pages = [archive((url, article("1"))) for url in ("http://a.test/long", "http://b.test/")]
    source, output = tmp_path / "in.warc", tmp_path / "out.warc"
    source.write_bytes(b"".join(pages))
    code, _, err = call("dedupe", source, "-o", output, "--prefer", prefer)
    assert code == 0, err
    assert output.read_bytes() == pages[kept]


@pytest.mark.parametrize("suffix", [".warc", ".warc.gz"])
def test_an_archive_that_is_cut_off_is_refused(call, tmp_path, suffix):
    """Wherever it is cut but between two records, or in the blank lines behind the last one."""
    pytest.importorskip("fastwarc")
    pack = gzip.compress if suffix.endswith("gz") else bytes
    records = [pack(archive((f"http://a.test/{n}", article(str(n))))) for n in range(3)]
    whole, last = b"".join(records), len(records[-1])
    source, output = (tmp_path / f"{name}{suffix}" for name in ("in", "out"))
    for cut in (8, 9, 30, last // 2, last - 100, last - 30, last - 15, last - 3):
        source.write_bytes(whole[:-cut])
        code, _, err = call("dedupe", source, "-o", output)
        assert code == 2, cut
        assert str(source) in err
        assert "ends within a record" in err or "not a readable WARC" in err
        assert list(tmp_path.iterdir()) == [source]
    for content in (whole, whole[:-last], b""):
        source.write_bytes(content)
        assert call("dedupe", source, "-o", output)[0] == 0
        assert output.read_bytes() == content
        output.unlink()


def test_an_archive_that_is_compressed_as_a_whole_is_refused(call, tmp_path):
    pytest.importorskip("fastwarc")
    source = tmp_path / "in.warc.gz"
    urls = [f"http://a.test/{number}" for number in range(3)]
    source.write_bytes(gzip.compress(b"".join(archive((url, article(url))) for url in urls)))
    code, _, err = call("dedupe", source, "-o", tmp_path / "out.warc.gz")
    assert code == 2
    assert "record by record" in err
    assert list(tmp_path.iterdir()) == [source]


def test_lines_that_can_not_be_read_are_told_and_rejected(call, tmp_path):
    items, kept = feed_of(9)
    source, output, rejects = (
        tmp_path / name for name in ("in.jsonl", "out.jsonl", "bad.jsonl.gz")
    )
    bad = [b"nothing\n", b"[1]\n", b'{"text": "\x81"}\n', b'{"a":' * 100_000 + b"\n"]
    source.write_bytes(b"".join([*bad[:2], jsonl(items[:4]), bad[2], jsonl(items[4:]), bad[3]]))
    arguments = ["dedupe", source, "-o", output, "--ignore", "n"]
    code, out, err = call(*arguments, "--rejects", rejects)
    assert code == 3
    assert "13 items read, 6 kept, 3 dropped, 4 rejected" in out
    message = [
        "1: invalid JSON",
        "2: not a JSON object",
        "7: not UTF-8; name its encoding, as in --encoding gb18030",
        "13: nested too deeply",
    ]
    assert [line for line in err.splitlines() if "line" in line and str(source) in line]
    for line, one in zip(err.splitlines(), message, strict=True):
        assert line.startswith(f"scrapy simhash dedupe: {source}, line {one}")
    assert output.read_bytes() == jsonl([items[number] for number in kept])
    assert gzip.decompress(rejects.read_bytes()) == b"".join(bad)
    output.unlink()
    assert call(*arguments)[0] == 3
    assert output.read_bytes() == jsonl([items[number] for number in kept])


def test_a_folder_and_a_pattern_are_one_corpus(call, tmp_path, monkeypatch):
    items, kept = feed_of(30)
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(jsonl(items[:11]))
    (folder / "b.jl.gz").write_bytes(gzip.compress(jsonl(items[11:20])))
    (folder / "deep" / "c.jsonl").write_bytes(jsonl(items[20:]))
    (folder / "README.md").write_text("nothing")
    monkeypatch.chdir(tmp_path)
    for given_ in (["in"], ["in/**/*.j*"], ["in/a.jsonl", "in/b.jl.gz", "in/deep"]):
        output = tmp_path / "out.jsonl"
        assert call("dedupe", *given_, "-o", output, "--ignore", "n")[0] == 0
        assert output.read_bytes() == jsonl([items[number] for number in kept])
        output.unlink()


def test_files_of_several_forms_are_refused(call, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(jsonl(feed_of(2)[0]))
    (tmp_path / "b.csv").write_text("text\na\n")
    (tmp_path / "c.csv").write_text("text,title\na,b\n")
    for names in (["a.jsonl", "b.csv"], ["b.csv", "c.csv"]):
        code, _, err = call("dedupe", *(tmp_path / n for n in names), "-o", tmp_path / "o.csv")
        assert code == 2
        assert names[1] in err
        assert "different formats" in err


@pytest.mark.parametrize("form", ["csv", "jsonl.gz", "jsonl.zst", "parquet"])
def test_the_table_of_groups(call, tmp_path, form):
    text = prose(1, 90)
    items = [
        {"url": "http://a.test/1", "text": text, "title": "One"},
        {"url": "http://b.test/", "text": prose(2, 90)},
        {"url": "http://c.test/", "text": changed(text, 1)},
        {"url": "http://a.test/2", "text": text, "title": "Two"},
    ]
    source, groups = tmp_path / "in.jsonl", tmp_path / f"groups.{form}"
    source.write_bytes(jsonl(items))
    if needs := {"parquet": "pyarrow", "jsonl.zst": ZSTD}.get(form):
        pytest.importorskip(needs)
    assert call("dedupe", source, "-o", tmp_path / "out.jsonl", "--groups", groups)[0] == 0
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(groups.read_text())))
        found = [(r["group"], r["kept"], r["original_id"], r["differs"]) for r in rows]
        assert found == [
            *(("1", "True", "", ""), ("2", "True", "", ""), ("1", "False", "1", "")),
            ("4", "True", "1", "title"),
        ]
        assert [row["id"] for row in rows] == ["1", "2", "3", "4"]
        return
    if form == "parquet":
        rows = pytest.importorskip("pyarrow.parquet").read_table(groups).to_pylist()
    else:
        unpack = PACKED[groups.suffix][1]
        rows = [json.loads(line) for line in unpack(groups.read_bytes()).splitlines()]
    assert [row["group"] for row in rows] == [1, 2, 1, 4]
    nothing = dict.fromkeys(("similarity", "original_id", "differs"))
    assert rows[1] == {"group": 2, "id": 2, "kept": True, "url": "http://b.test/", **nothing}
    assert rows[2]["similarity"] == pytest.approx(0.95, abs=0.04)
    assert rows[3]["differs"] == "title"


TEXT = prose(1, 90)
COPIES = [
    {"url": "http://mirror.test/a/long/path", "text": TEXT, "published": "2030-03-01"},
    {"url": "https://news.test/a", "text": f"{TEXT} again", "published": "2030-02-01T10:00"},
    {"url": "http://own.test/abc", "text": TEXT, "canonical": "http://own.test/abc"},
    {"url": "http://x.test/", "text": TEXT},
    {"url": "http://alone.test/", "text": prose(2, 90)},
]


@pytest.mark.parametrize(
    ("prefer", "kept"),
    [
        ("https", 1),
        ("own-site=own.test", 2),
        ("own-site=none.test,shortest-url", 3),
        ("canonical", 2),
        ("longest", 1),
        ("earliest", 1),
        ("shortest-url,https", 3),
        ("https,shortest-url", 1),
        ("own-site=news.test,earliest", 1),
    ],
)
def test_the_preferred_copy_is_kept_at_its_place(call, tmp_path, prefer, kept):
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(jsonl(COPIES))
    arguments = ["--prefer", prefer, "--fields", "text"]
    assert call("dedupe", source, "-o", output, *arguments)[0] == 0
    assert output.read_bytes() == jsonl([COPIES[kept], COPIES[4]])


def test_what_the_project_has_written_itself_is_not_compared(call, tmp_path):
    source = tmp_path / "in.jsonl"
    copies = [copy | {"group": f"1-{number}"} for number, copy in enumerate(COPIES)]
    copies.append(copies[3] | {"url": "http://x.test/?session=1", "group": "other"})
    source.write_bytes(jsonl(copies))
    arguments = ["dedupe", source, "--fields", "text,group", "-o"]
    group = {"SIMHASH_GROUP_FIELD": "group"}
    for name, more, kept in (("a", {}, [0, 1, 2, 3, 4, 5]), ("b", group, [0, 4])):
        output = tmp_path / f"{name}.jsonl"
        assert call(*arguments, output, SIMHASH_FACTS="always", **more)[0] == 0
        assert output.read_bytes() == jsonl([copies[number] for number in kept])


def sketcher_of(feed):
    plan = Plan.make(Rule(), bytes(16))
    reader = ItemReader(plan.scheme, plan.secret, 8, 10**6, ["text"])
    return Sketcher([feed], reader, plan)


def test_a_run_that_fails_anywhere_leaves_nothing_and_can_be_repeated(tmp_path, monkeypatch):
    items, kept = feed_of(30)
    source, folder = tmp_path / "in.jsonl", tmp_path / "out"
    source.write_bytes(jsonl(items))
    folder.mkdir()
    targets = Targets(folder / "out.jsonl", folder / "dropped.jsonl", folder / "groups.csv")
    monkeypatch.setattr(source_module, "CHUNK_BYTES", 500)

    def run():
        return dedupe_corpus(sketcher_of(JsonLines(source)), targets)

    def fail(*arguments, **more):
        raise OSError("the disk is full")

    places = [(SketchStore, "append"), (SketchStore, "read"), (dedupe_module, "decide_corpus")]
    places += [(dedupe_module, "_copy"), (dedupe_module, "write_table"), (os, "fsync")]
    for identity, name in places:
        with monkeypatch.context() as patch:
            patch.setattr(identity, name, fail)
            with pytest.raises(OSError, match="full"):
                run()
        assert not list(folder.iterdir()), name
    assert run()[:3] == (30, 20, 10)
    assert targets.kept.read_bytes() == jsonl([items[number] for number in kept])
    assert len(targets.dropped.read_bytes().splitlines()) == 10
    assert {path.name for path in folder.iterdir()} == {path.name for path in targets.paths()}


def test_a_run_that_is_interrupted_leaves_nothing(call, tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    source = tmp_path / "in.jsonl"
    source.write_bytes(jsonl(feed_of(6)[0]))
    monkeypatch.setattr(SketchStore, "append", interrupt)
    code, _, err = call("dedupe", source, "-o", tmp_path / "out.jsonl", "--workers", 1)
    assert code == 130
    assert "interrupted" in err
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("name", ["out.jsonl", "dropped.jsonl", "groups.csv"])
def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path, monkeypatch, name):
    source = tmp_path / "in.jsonl"
    source.write_bytes(jsonl(feed_of(6)[0]))
    targets = Targets(*(tmp_path / one for one in ("out.jsonl", "dropped.jsonl", "groups.csv")))
    works = dedupe_module._copy

    def copy(*arguments, **more):
        (tmp_path / name).write_text("precious")
        works(*arguments, **more)

    monkeypatch.setattr(dedupe_module, "_copy", copy)
    with pytest.raises(FileExistsError, match="exists; remove it"):
        dedupe_corpus(sketcher_of(JsonLines(source)), targets)
    assert (tmp_path / name).read_text() == "precious"
    assert not list(tmp_path.glob(".*"))


def test_a_file_that_becomes_shorter_before_it_is_copied_is_refused(tmp_path, monkeypatch):
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(jsonl(feed_of(60)[0]))
    monkeypatch.setattr(source_module, "CHUNK_BYTES", 500)
    works = dedupe_module.decide_corpus

    def decide(*arguments, **more):
        source.write_bytes(jsonl(feed_of(59)[0]))
        return works(*arguments, **more)

    monkeypatch.setattr(dedupe_module, "decide_corpus", decide)
    with pytest.raises(FeedError, match="was changed while it was read"):
        dedupe_corpus(sketcher_of(JsonLines(source)), Targets(output))
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "csv"])
@pytest.mark.parametrize("more", [[], ["--fields", "text"]])
def test_many_processes_decide_as_one_does(call, tmp_path, monkeypatch, suffix, more):
    source = tmp_path / "in.jsonl"
    source.write_bytes(jsonl(items(300, 4)))
    if suffix != "jsonl":
        other = tmp_path / f"in.{suffix}"
        assert call("dedupe", source, "--fields", "url", "-o", other)[0] == 0
        source = other

    def run(*options):
        made = [tmp_path / f"{name}.{suffix}" for name in ("kept", "dropped")]
        made.append(tmp_path / "groups.csv")
        for path in made:
            path.unlink(missing_ok=True)
        targets = ["-o", made[0], "--dropped", made[1], "--groups", made[2]]
        assert call("dedupe", source, *targets, *more, *options)[0] == 0
        return [path.read_bytes() for path in made]

    at_once = run("--workers", 1)
    assert all(len(content) > 999 for content in at_once)
    monkeypatch.setattr(source_module, "CHUNK_BYTES", 3000)
    for options in (["--workers", 1], ["--workers", 3]):
        assert run(*options) == at_once


@pytest.mark.parametrize(
    "broken",
    [
        ("ProcessPoolExecutor", PermissionError(13, "Permission denied")),
        ("ProcessPoolExecutor", ImportError("This platform lacks a functioning sem_open")),
        ("pickle.dumps", pickle.PicklingError("Can't pickle <function <lambda>>")),
    ],
)
def test_where_no_process_can_be_started_one_does_it_all(
    call, tmp_path, monkeypatch, caplog, broken
):
    (name, error), (items, kept) = broken, feed_of(60)
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(jsonl(items))
    monkeypatch.setattr(source_module, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(f"scrapy_simhash.corpus.workers.{name}", Mock(side_effect=error))
    assert call("dedupe", source, "-o", output, "--ignore", "n", "--workers", 3)[0] == 0
    assert output.read_bytes() == jsonl([items[number] for number in kept])
    assert f"Only one process is used, because no others can be: {error}" in caplog.messages


@pytest.mark.slow
def test_the_next_run_replaces_what_a_killed_one_left_and_no_process_survives_it(tmp_path):
    items, kept = feed_of(9000)
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(jsonl(items))
    command = [sys.executable, "-m", "scrapy", "simhash", "dedupe", str(source), "-o", str(output)]
    command += ["--ignore", "n", "--workers", "2"]
    # In a process group of their own all can be found.
    process = psutil.Popen(command, cwd=tmp_path, start_new_session=True)
    # A server that forks, a tracker of resources, and two that sketch.
    while process.poll() is None and len(process.children(recursive=True)) < 4:
        time.sleep(0.005)
    assert process.poll() is None, "it was done before it could be killed"
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail("its processes went on")
    assert not output.exists()
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
    assert output.read_bytes() == jsonl([items[number] for number in kept])
    assert {path.name for path in tmp_path.glob("[!.]*")} == {"in.jsonl", "out.jsonl"}

"""``scrapy simhash dedupe`` from any format to any other, and in pipes."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys

import pytest
from corpora import archive, feed_of, jsonl
from loopback import prose
from scrapy.cmdline import execute
from scrapy.settings import Settings

from scrapy_simhash.feed.files import open_source, write_table
from scrapy_simhash.feed.source import FeedError, Output

ROWS = [
    {"url": "http://a.test/1", "text": "é ☃", "n": 1, "tags": ["a", "b"], "mixed": 1},
    {"url": "http://a.test/2", "text": "", "n": None, "deep": {"x": [1]}, "mixed": "one"},
    {"url": "http://a.test/3", "n": 2.5, "mixed": [1], "deep": {}},
]


def written(rows, path):
    with path.open("wb") as stream:
        write_table(lambda: rows, Output(path, stream))
    source = open_source(path)
    return [source.item(record) for record in source.records()]


def test_rows_in_csv_have_texts_and_json(tmp_path):
    found = written(ROWS, tmp_path / "out.csv")
    assert list(found[0]) == ["url", "text", "n", "tags", "mixed", "deep"]
    assert [row["text"] for row in found] == ["é ☃", "", ""]
    assert [row["mixed"] for row in found] == ["1", "one", "[1]"]
    assert [row["tags"] for row in found] == ['["a", "b"]', "", ""]
    assert [row["deep"] for row in found] == ["", '{"x": [1]}', "{}"]


def test_rows_in_parquet_have_types(tmp_path):
    pytest.importorskip("pyarrow")
    rows = [{name: value for name, value in row.items() if name != "mixed"} for row in ROWS]
    rows[2] = {**rows[2], "late": "x"}
    rows = rows[:1] * 2000 + rows  # more than are read or inferred at a time
    found = written(rows, tmp_path / "out.parquet")
    assert len(found) == len(rows)
    assert [row["n"] for row in found[-3:]] == [1, None, 2.5]
    assert [row["tags"] for row in found[-3:]] == [["a", "b"], None, None]
    assert [row["deep"] for row in found[-3:]] == [None, {"x": [1]}, {"x": None}]
    assert [row["late"] for row in found[-3:]] == [None, None, "x"]


@pytest.mark.parametrize("values", [[1, "one"], [1, [1]], [10**30], ["\ud800"], [{}]])
@pytest.mark.parametrize("between", [0, 2000])
def test_a_column_that_parquet_can_not_hold_is_told(tmp_path, values, between):
    pytest.importorskip("pyarrow")
    rows = [{"a": values[0]}, *[{}] * between, {"a": values[-1]}]
    with pytest.raises(FeedError, match=r"as Parquet: .*has one type; write JSON Lines or CSV"):
        written(rows, tmp_path / "a.parquet")


@pytest.mark.parametrize("output", ["jsonl", "csv.gz", "parquet"])
@pytest.mark.parametrize("given", ["jsonl.gz", "csv", "parquet"])
def test_any_format_in_any_format_out(call, tmp_path, given, output):
    if "parquet" in (given, output):
        pytest.importorskip("pyarrow")
    items, kept = feed_of(12)
    source, target = tmp_path / f"in.{given}", tmp_path / f"out.{output}"
    written(items, source)
    code, _, err = call("dedupe", source, "-o", target, "--ignore", "n")
    assert code == 0, err
    opened = open_source(target)
    found = [opened.item(record) for record in opened.records()]
    assert [int(item["n"]) for item in found] == kept
    assert [item["text"] for item in found] == [items[number]["text"] for number in kept]


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [("", "utf-8"), ("; charset=gb2312", "gbk"), ("; charset=iso-8859-1", "utf-8")],
)
def test_an_archive_becomes_items(call, tmp_path, charset, encoding):
    """In the encoding of the HTTP headers, if it is not UTF-8."""
    pytest.importorskip("fastwarc")
    page = f"<title>新闻</title><p>{prose(1, 90)}"
    record = archive(("http://a.test/", page.encode(encoding)), charset=charset)
    (tmp_path / "in.warc").write_bytes(record)
    assert call("dedupe", tmp_path / "in.warc", "-o", tmp_path / "out.jsonl")[0] == 0
    item = json.loads((tmp_path / "out.jsonl").read_bytes())
    assert item == {"url": "http://a.test/", "html": page}
    code, _, err = call("dedupe", tmp_path / "out.jsonl", "-o", tmp_path / "out.warc")
    assert code == 2
    assert "must end in .jsonl, .json, .csv, .tsv or .parquet" in err


@pytest.mark.parametrize(
    "more", [[], *(["--format", name] for name in ("jsonl.gz", "json", "json.gz", "csv"))]
)
def test_from_standard_input_to_standard_output(tmp_path, monkeypatch, capsysbinary, more):
    items, kept = feed_of(12)
    path = tmp_path / f"in.{more[-1] if more else 'jsonl'}"
    written(items, path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    with pytest.raises(SystemExit) as ended:
        execute(["scrapy", "simhash", "dedupe", "-", "-o", "-", "--ignore", "n", *more], Settings())
    out, err = capsysbinary.readouterr()
    assert ended.value.code == 0
    assert err == b"12 items read, 8 kept, 4 dropped\n"
    path.write_bytes(out)
    source = open_source(path)
    found = [source.item(record) for record in source.records()]
    assert [int(item["n"]) for item in found] == kept


FORMULAS = ["=HYPERLINK(1)", "@x", "=cmd|' /C calc'!A0", "+1", "-1", "\tx", "\rx"]


def test_no_cell_of_a_table_of_groups_is_a_formula(call, tmp_path):
    items = [
        {"url": url, "text": prose(n, 90)} for n, url in enumerate([*FORMULAS, "http://a.test"])
    ]
    items.append(items[-1] | {"=1+1": "x"})
    items[-2]["=1+1"] = "y"
    source, groups = tmp_path / "in.jsonl", tmp_path / "groups.csv.gz"
    source.write_bytes(jsonl(items))
    assert call("dedupe", source, "-o", tmp_path / "out.jsonl", "--groups", groups)[0] == 0
    text = gzip.decompress(groups.read_bytes()).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["url"] for row in rows[:-2]] == [f"'{url}" for url in FORMULAS]
    assert not [cell for row in rows for cell in row.values() if cell[:1] in "=+-@\t\r" and cell]

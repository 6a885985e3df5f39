"""One corpus in every format and dialect gets the same decisions."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from corpora import jsonl
from hypothesis import example, given, settings
from hypothesis import strategies as st
from loopback import prose

from scrapy_simhash.corpus.dedupe import Targets, dedupe_corpus
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.workers import Sketcher
from scrapy_simhash.feed.documents import ItemReader
from scrapy_simhash.feed.files import open_source
from scrapy_simhash.index.rule import Rule

ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def table(items, encoding="utf-8", above="", **dialect):
    text = io.StringIO(newline="")
    writer = csv.writer(text, **dialect)
    writer.writerow(items[0])
    writer.writerows([item[name] for name in items[0]] for item in items)
    return (above + text.getvalue()).encode(encoding)


def lines(items, **options):
    return "".join(json.dumps(item, **options) + "\n" for item in items).encode()


def array(items, encoding="utf-8", **options):
    return json.dumps(items, **options).encode(encoding)


def scrapys(items):
    return b"[\n%b\n]" % b",\n".join(json.dumps(item).encode() for item in items)


def frames(content):
    pack = pytest.importorskip(ZSTD).compress
    return pack(content[: len(content) // 2]) + pack(content[len(content) // 2 :])


QUOTINGS = {
    "minimal": {"quoting": csv.QUOTE_MINIMAL},
    "all": {"quoting": csv.QUOTE_ALL},
    "texts": {"quoting": csv.QUOTE_NONNUMERIC},
    "single": {"quoting": csv.QUOTE_ALL, "quotechar": "'"},
    "backslash": {"quoting": csv.QUOTE_ALL, "doublequote": False, "escapechar": "\\"},
    "backslash-few": {"doublequote": False, "escapechar": "\\"},
    "both": {"escapechar": "\\"},
    "single-few": {"quotechar": "'"},
    "single-backslash": {
        "quoting": csv.QUOTE_ALL,
        "quotechar": "'",
        "doublequote": False,
        "escapechar": "\\",
    },
    "none": {"quoting": csv.QUOTE_NONE, "escapechar": "\\"},
}
ENDS = {"crlf": "\r\n", "lf": "\n", "cr": "\r"}
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
DIALECTS = {
    f"{delimiter}-{end}-{quoting}.csv": partial(
        table, delimiter=DELIMITERS[delimiter], lineterminator=ENDS[end], **QUOTINGS[quoting]
    )
    for delimiter, end, quoting in product(DELIMITERS, ENDS, QUOTINGS)
    # The module leaves the line feeds of other cells without quotation marks, if a line ends in CR.
    if end == "lf" or quoting in {"all", "texts"} or (end, quoting) == ("crlf", "minimal")
}
SURE = ("-minimal.csv", "-all.csv", "-texts.csv", "-single.csv")
ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32")
FORMATS = {
    **DIALECTS,
    **{f"{name}.tsv": partial(table, encoding=name, delimiter="\t") for name in ENCODINGS},
    "excel.csv": partial(table, encoding="utf-8-sig", above="sep=;\r\n", delimiter=";"),
    "lines.jsonl": jsonl,
    "ascii.jl": partial(lines, sort_keys=True),
    "scrapy.json": scrapys,
    "compact.json": partial(array, separators=(",", ":"), ensure_ascii=False),
    "indented.json": partial(array, indent=4),
    "array.jsonl": array,
    "lines.json": lines,
    **{f"{name}.json": partial(array, encoding=name) for name in ENCODINGS},
    "lines.jsonl.gz": lambda items: gzip.compress(jsonl(items)),
    "array.json.gz": lambda items: gzip.compress(array(items), 1),
    "lines.jsonl.zst": lambda items: frames(jsonl(items)),
    "array.json.zst": lambda items: frames(array(items, indent=1)),
    "semicolons.csv.gz": lambda items: gzip.compress(table(items, delimiter=";")),
    "tabs.csv.zst": lambda items: frames(table(items, delimiter="\t")),
}
TEXTS = [prose(n, 60) for n in range(3)]
# Where a line ends behind a delimiter, a cell with an unusual mark may be the ends of two rows.
SIGNS = st.text(",;|\t\"'\\\n :{}[]é漢😀x", max_size=6).filter(
    lambda signs: not re.search("[,;|\t]\n", signs)
)
ITEMS = st.lists(
    st.fixed_dictionaries(
        {
            "title": st.sampled_from(["One", "Two", "Three, or 4; maybe"]),
            "text": st.builds("{} {}".format, st.sampled_from(TEXTS), SIGNS),
            "more, or less": st.sampled_from(["", "9.50 EUR", "12 EUR"]) | SIGNS,
        }
    ),
    min_size=1,
    max_size=9,
)


PLAIN = [
    {"title": f"Plain {n}", "text": prose(f"plain {n}", 9), "more, or less": ""} for n in range(3)
]


def decided(path: Path) -> tuple[bytes, list[dict[str, str]]]:
    """The table of groups, and the items that are kept, as they are read again."""
    plan = Plan.make(Rule(), bytes(range(16)))
    reader = ItemReader(plan.scheme, plan.secret, 8, 10**6)
    targets = Targets(path.parent / f"out.{path.name}", groups=path.parent / "groups.csv")
    for target in targets.paths():
        target.unlink(missing_ok=True)
    counts = dedupe_corpus(Sketcher([open_source(path)], reader, plan), targets)
    assert not counts.rejected, counts.problems
    kept = open_source(targets.kept)
    items = [kept.item(record) for record in kept.records()]
    return targets.groups.read_bytes(), items


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("dialects")


@settings(max_examples=settings.default.max_examples // 2)
@given(items=ITEMS)
@example(items=[{"title": "One", "text": f"{TEXTS[0]} ;'", "more, or less": ""}])
@example(
    items=[{"title": "One", "text": f"{TEXTS[0]} ", "more, or less": one} for one in ("", '"')]
)
def test_any_format_and_dialect_gets_the_same_decisions(folder, items):
    # A table of one row may be read in several ways.
    items, expected = [*PLAIN, *items], None
    for name, write in FORMATS.items():
        path, content = folder / name, write(items)
        if "-single-few" in name and (b"'" not in content or b'"' in content):
            continue  # few cells or none are quoted, and a '"' may be the mark as well
        path.write_bytes(content)
        groups, kept = decided(path)
        expected = expected or (groups, kept)
        assert groups == expected[0], name
        # Signs that are written only where they are needed may as well stand for themselves.
        assert kept == expected[1] or (name in DIALECTS and not name.endswith(SURE)), name


@pytest.mark.parametrize("count", [20, 9000])
@pytest.mark.parametrize("lone", [[5], [-1], [5, 9], [-5, -2]])
def test_a_lone_mark_in_a_table_without_quoted_cells_opens_none(tmp_path, count, lone):
    names = [f"ferry {number}" for number in range(count)]
    for place in lone:
        names[place] = f'"{names[place]}'
    path = tmp_path / "a.csv"
    path.write_text("id,name,size\n" + "".join(f"{at},{name},1\n" for at, name in enumerate(names)))
    source = open_source(path)
    assert [source.item(record)["name"] for record in source.records()] == names


@pytest.mark.parametrize("before", [1, 9000])
def test_a_long_cell_that_is_closed_behind_the_sample_is_one(tmp_path, before):
    text = "one, two\n" * 20_000
    path = tmp_path / "a.csv"
    path.write_text(
        "id,text\n" + "".join(f"{at},x\n" for at in range(before)) + f'7,"{text}"\n8,y\n'
    )
    source = open_source(path)
    texts = [source.item(record)["text"] for record in source.records()]
    assert texts[before:] == [text, "y"]

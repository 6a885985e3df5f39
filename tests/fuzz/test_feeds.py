"""Whatever a feed is, `dedupe` ends with 0 or 2 and a line, and drops nothing but copies."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from fuzz.grammar import characters, documents, prose, texts
from fuzz.target import target
from hypothesis import example
from hypothesis import strategies as st
from scrapy.cmdline import execute
from scrapy.settings import Settings


def dedupe(suffix: str, content: bytes) -> tuple[int, str, list[bytes], list[bytes]]:
    """Call the command; returns its exit code, output, and the kept and dropped rows."""
    with tempfile.TemporaryDirectory() as name:
        source, kept, dropped = (Path(name, f"{part}{suffix}") for part in ("in", "out", "dropped"))
        source.write_bytes(content)
        command = ["scrapy", "simhash", "dedupe", str(source), "-o", str(kept)]
        out, err = io.StringIO(), io.StringIO()
        code: Any = None
        with redirect_stdout(out), redirect_stderr(err):
            try:
                execute([*command, "--dropped", str(dropped)], Settings())
            except SystemExit as ended:
                code = ended.code
        assert source.read_bytes() == content
        parts = [path.read_bytes() if path.exists() else b"" for path in (kept, dropped)]
        if suffix.endswith(".gz"):
            # What was cut off in the middle of the work has no end.
            parts = [gzip.decompress(part) if part and code == 0 else b"" for part in parts]
    return code, err.getvalue(), *(re.findall(rb"[^\n]*\n|[^\n]+", part) for part in parts)


def look_at(suffix: str, content: bytes) -> tuple[list[bytes], list[bytes], str] | None:
    """Kept and dropped rows, and the feed as a text; None if it was refused, or in a part."""
    code, message, kept, dropped = dedupe(suffix, content)
    assert code in {0, 2, 3}, message
    told = [line for line in message.splitlines() if f"in{suffix}" in line]
    problems = [line for line in told if not re.search("read as|first row names", line)]
    assert bool(problems) == bool(code), message
    assert "Traceback" not in message
    assert all(line.isprintable() for line in message.split("\n"))
    if code == 2:
        assert message.count("\n") == 1 + len(told) - len(problems), message
    if code:
        return None
    guess = re.search(r"read as (\w+)", message)
    encoding = guess[1] if guess else json.detect_encoding(content[:4])
    return kept, dropped, "" if suffix.endswith(".gz") else content.decode(encoding)


lines = st.one_of(
    documents.map(str.encode),
    st.dictionaries(texts, st.one_of(texts, st.integers(), st.none()), max_size=3).map(
        lambda item: json.dumps(item).encode()
    ),
    st.dictionaries(st.sampled_from(["url", "text", "n"]), texts | prose(), max_size=3).map(
        lambda item: json.dumps(item, ensure_ascii=False).encode("utf-8", "surrogatepass")
    ),
    st.sampled_from([b"", b"{}", b"[]", b"\xef\xbb\xbf{}", b'{"a":1}' * 2, b"[" * 5000, b'{"a":']),
    st.sampled_from([b'{"a": ' + b"9" * 5000 + b"}", b'{"a": 1e999}', b'{"url": "\\ud800"}']),
    st.sampled_from([b'{"a": 1, "a": 2}', b'{"\\ud800": NaN}', '{"a": "é"}'.encode("utf-16")]),
    st.binary(max_size=20),
)


@st.composite
def feeds(draw: Callable[..., Any], line: st.SearchStrategy[bytes]) -> bytes:
    """Lines, some of them more than once, and a few bytes that are wrong."""
    written = draw(st.lists(line, max_size=6))
    again = draw(st.lists(st.sampled_from(written), max_size=3)) if written else []
    ending = draw(st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n"]))
    content = ending.join([*written, *again]) + draw(st.sampled_from([b"", ending]))
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(content)))
        content = content[:at] + draw(st.binary(max_size=3)) + content[at + 1 :]
    return content


@target(feeds(lines), examples=30)
@example(b'{"url": "\\ud800", "\\ud800": 1}\n')
@example(b"\xff\xfe{\0}\0\n\0")
@example(b"[]")
@example(b'[{"a": 1}, {"a":\n1}] [{}]')
def test_feeds_of_json(content: bytes) -> None:
    parts = look_at(".jsonl", content)
    if parts is None:
        return
    kept, dropped, text = parts
    assert sorted(map(value_of, kept + dropped)) == sorted(map(value_of, records(text)))
    stored = [content_of(line) for line in kept]
    for line in dropped:
        one = content_of(line)
        assert one in stored or len(line) > 200


def value_of(line: bytes | str) -> str:
    return repr(json.loads(line))


def records(text: str) -> list[str]:
    """The lines that are not blank or, of arrays, the elements."""
    if not text.lstrip().startswith("["):
        lines = [line.strip(" \t\n\r\v\f") for line in text.split("\n")]
        return [line.removesuffix(",") for line in lines if line]
    found, left = list[str](), text.strip()
    while left := left.lstrip("[], \t\r\n"):
        end = json.JSONDecoder().raw_decode(left)[1]
        found.append(left[:end])
        left = left[end:]
    return found


def content_of(line: bytes) -> str:
    """The content of a line, without empty fields and with lists as sets."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: kept for key, inner in value.items() if (kept := without(inner))}
        if isinstance(value, list):
            return sorted({repr(kept) for inner in value if (kept := without(inner))})
        return repr(value) if value not in (None, "") else None

    return json.dumps(without(json.loads(line)), sort_keys=True)


cells = st.one_of(
    st.text(characters, max_size=8), st.sampled_from(["a", "b", "", '"', '""', "x\ny", "9" * 30])
)
rows = st.lists(cells, max_size=4)


@st.composite
def tables(draw: Callable[..., Any]) -> bytes:
    """Rows that are longer or shorter than the header, which may have a name twice."""
    header = draw(st.lists(st.sampled_from(["a", "b", "url", "text", ""]), max_size=3))
    body = draw(st.lists(rows, max_size=6))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=draw(st.sampled_from(["\r\n", "\n"])))
    writer.writerows(
        [header, *body, *draw(st.lists(st.sampled_from(body), max_size=2))] if body else []
    )
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    return text.getvalue().encode(
        encoding,
        draw(st.sampled_from(["replace", "surrogatepass"])) if encoding[:3] == "utf" else "replace",
    )


@target(tables() | feeds(st.binary(max_size=12)), examples=30)
@example(b"a,b\r\n1,2,3\r\n1,2,4\r\n")
@example(b"a,a\r\n1,2\r\n3,2\r\n")
@example(b'\r\n""\r\n')
def test_feeds_of_csv(content: bytes) -> None:
    parts = look_at(".csv", content)
    if parts is None:
        return
    kept, dropped = (read(b"".join(part).decode()) for part in parts[:2])
    header, *given = read(parts[2]) or [[]]
    # Both have the header, which is no item where it stands again, and no row is lost.
    given = [row for row in given if row != header or len(header) < 2]
    assert sorted(kept[1:] + dropped[1:]) == sorted(given)
    stored = [row_says(header, row) for row in kept[1:]]
    for row in dropped[1:]:
        assert row_says(header, row) in stored


def read(text: str) -> list[list[str]]:
    """The rows that are not blank."""
    return list(filter(None, csv.reader(io.StringIO(text, newline=""))))


def row_says(header: list[str], row: list[str]) -> list[tuple[str, str]]:
    """The cells by their names, those without a name among them."""
    names = [*header, *[""] * len(row)]
    return sorted({(name, cell) for name, cell in zip(names, row, strict=False) if cell})


@st.composite
def packed(draw: Callable[..., Any]) -> bytes:
    content = gzip.compress(draw(feeds(lines)), mtime=0)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(content) - 1))
        content = (
            content[:at] + draw(st.binary(max_size=2)) + content[at + draw(st.integers(0, 2)) :]
        )
        content = content or b"\0"
    return content[: len(content) - draw(st.sampled_from([0, 0, 0, 1, 8, 9]))]


@target(packed() | st.binary(max_size=60), st.sampled_from([".jsonl.gz", ".csv.gz"]), examples=30)
def test_feeds_that_are_compressed(content: bytes, suffix: str) -> None:
    look_at(suffix, content)

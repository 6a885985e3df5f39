"""Files of some kilobytes that stand for gigabytes, and what is left of them in memory."""

from __future__ import annotations

import gzip
import lzma
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from corpora import archive

from scrapy_simhash.feed import source

MEBIBYTE = 1 << 20


def zipped(start: bytes, part: bytes, size: int, end: bytes = b"\n", pack=gzip.compress) -> bytes:
    return pack(start + part * (size // len(part)) + end)


BOMBS = {
    "line.jsonl.gz": lambda path, n: path.write_bytes(zipped(b'{"a":"', b"x", n, b'"}\n')),
    "line.jsonl.xz": lambda path, n: path.write_bytes(
        zipped(b'{"a":"', b"x", n, b'"}\n', lzma.compress)
    ),
    "wide.jsonl.gz": lambda path, n: path.write_bytes(
        zipped('{"a":"😀'.encode(), b"x", n, b'"}\n')
    ),
    "keys.jsonl.gz": lambda path, n: path.write_bytes(
        gzip.compress(b"{%s}" % b",".join(b'"\xd0\x96%d":"\xd0\x96"' % k for k in range(n // 32)))
    ),
    "values.jsonl.gz": lambda path, n: path.write_bytes(zipped(b'{"a":[', b"{},", n, b"1]}\n")),
    "element.json.gz": lambda path, n: path.write_bytes(zipped(b'[{"a":"', b"x", n, b'"}]')),
    "values.json.gz": lambda path, n: path.write_bytes(zipped(b'[{"a":[', b"{},", n, b"1]}]")),
    "nested.jsonl.gz": lambda path, n: path.write_bytes(zipped(b'{"a":', b"[", n)),
    "cell.csv.gz": lambda path, n: path.write_bytes(zipped(b"a,b\n", b"x", n)),
    "cells.csv.gz": lambda path, n: path.write_bytes(zipped(b"a,b\n", b",", n)),
    "wide.csv.gz": lambda path, n: path.write_bytes(zipped("a,b\n😀".encode(), b"x", n)),
    "open.csv.gz": lambda path, n: path.write_bytes(zipped(b'a,b\n"', b"x\n", n)),
    "page.warc.gz": lambda path, n: path.write_bytes(
        gzip.compress(archive(("http://a.test/", b"<p>a " * (n // 5))))
    ),
}
# A page that is too large is kept without a check.
CODES = {"page.warc.gz": 0}
SMALL = CODES.keys() | {"values.jsonl.gz", "values.json.gz", "nested.jsonl.gz"}
MEBIBYTES = {"jsonl": 17, "json": 17, "csv": 17, "warc": 6}
QUICK = {"nested.jsonl.gz", "page.warc.gz", "cells.csv.gz", "line.jsonl.gz"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in BOMBS],
)
def test_a_bomb_ends_in_one_line(call, tmp_path, name):
    if name.startswith("page.warc"):
        pytest.importorskip("fastwarc")
    path, out = tmp_path / name, tmp_path / f"out.{name.partition('.')[2]}"
    size = 3 if name in SMALL else MEBIBYTES.get(name) or MEBIBYTES[name.split(".")[1]]
    BOMBS[name](path, MEBIBYTE * size)
    code, _, err = call("dedupe", path, "-o", out, "--workers", 1)
    assert code == CODES.get(name, 2), err
    if code:
        assert len(err.splitlines()) == 1
        assert str(path) in err
    assert out.exists() is (code != 2)


def test_rows_with_lists_maps_and_structs_are_copied_unchanged(call, tmp_path):
    pq, pa = (pytest.importorskip(name) for name in ("pyarrow.parquet", "pyarrow"))
    kind = pa.map_(pa.string(), pa.string())
    maps = pa.array([[("k", f"v{n}")] * (n % 3) for n in range(40)], kind)
    table = pa.table(
        {
            "tags": [["a", "b", "a"][: n % 4] for n in range(40)],
            "map": maps,
            "deep": [[{"x": [f"{n}"], "y": n}] for n in range(40)],
            "n": pa.array(range(40), pa.uint8()),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=7, data_page_version="2.0")
    assert call("dedupe", tmp_path / "in.parquet", "-o", tmp_path / "out.parquet")[0] == 0
    assert pq.read_table(tmp_path / "out.parquet").equals(table)


PEAK = """
import sys
from pathlib import Path
from scrapy.cmdline import execute
try:
    execute(["scrapy", "simhash", "dedupe", *sys.argv[1:], "--workers", "1"])
except SystemExit:
    # Not ru_maxrss, in which the process that started this one counts.
    lines = Path("/proc/self/status").read_text().splitlines()
    print(next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM")))
"""


def peak(path) -> int:
    """The most memory that the command takes, in mebibytes."""
    out = path.with_name(f"out.{path.name.partition('.')[2]}")
    command = [sys.executable, "-c", PEAK, str(path), "-o", str(out)]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, check=True, timeout=900)
    assert b"Traceback" not in done.stderr
    return int(done.stdout.splitlines()[-1])


@cache
def usual_peak(suffix) -> int:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"small{suffix}")
        next(write for name, write in BOMBS.items() if name.endswith(suffix))(path, 10_000)
        return peak(path)


def check_peak(suffix, write) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"bomb{suffix}")
        write(path)
        # Lines in other compressions take as much.
        usual = suffix if any(name.endswith(suffix) for name in BOMBS) else ".jsonl.gz"
        assert peak(path) - usual_peak(usual) <= 300


def measured(test):
    is_linux = sys.platform == "linux"  # others do not say the peak
    return pytest.mark.slow(pytest.mark.skipif(not is_linux, reason="needs Linux")(test))


#: Rows of up to 16 MiB are read; of those that are refused, some for each reader are measured.
LARGEST = ["keys.jsonl.gz", "line.jsonl.xz", "values.json.gz", "cells.csv.gz", "wide.csv.gz"]
REFUSED = ["line.jsonl.gz", "element.json.gz", "cell.csv.gz", "open.csv.gz", "page.warc.gz"]


@measured
@pytest.mark.parametrize(
    ("name", "size"), [*((name, 15) for name in LARGEST), *((name, 60) for name in REFUSED)]
)
def test_a_bomb_takes_at_most_300_mebibytes_more_than_a_small_file(name, size):
    suffix = f".{name.partition('.')[2]}"
    check_peak(suffix, lambda path: BOMBS[name](path, size * MEBIBYTE))


def test_records_are_counted_for_what_is_kept_of_them(call, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_FREE", MEBIBYTE)
    path = tmp_path / "in.jsonl.gz"
    for records, code in ((900, 0), (5000, 2)):
        path.write_bytes(gzip.compress(b"{}\n" * records))
        assert call("dedupe", path, "-o", tmp_path / f"{records}.jsonl")[0] == code


def test_what_follows_a_stream_of_xz_is_not_left_out(call, tmp_path):
    line, path = b'{"a":"b"}\n', tmp_path / "in.jsonl.xz"
    second = lzma.compress(line * 9)
    path.write_bytes(lzma.compress(line) + second)
    assert "10 items" in call("dedupe", path, "-o", tmp_path / "out.jsonl")[1]


def test_a_length_of_thousands_of_digits_is_read(call, tmp_path):
    pytest.importorskip("fastwarc")
    path = tmp_path / "in.warc"
    for digits, code in ((b"0" * 5000 + b"5", 0), (b"0" * 5000 + b"99", 2), (b"9" * 5000, 2)):
        head = b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: " + digits
        path.write_bytes(head + b"\r\n\r\nabcde\r\n\r\n")
        got, _, err = call("dedupe", path, "-o", tmp_path / f"{code}.warc")
        assert got == code, err
        assert len(err.splitlines()) == 1 or not code
        (tmp_path / f"{code}.warc").unlink(missing_ok=True)

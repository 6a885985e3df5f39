"""Files of some kilobytes that stand for gigabytes, and what is left of them in memory."""

from __future__ import annotations

import gzip
import lzma
import subprocess
import sys

import pytest

MEBIBYTE = 1 << 20


def zipped(start: bytes, part: bytes, size: int, end: bytes = b"\n", pack=gzip.compress) -> bytes:
    return pack(start + part * (size // len(part)) + end)


def archive(body: bytes) -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + http + b"\r\n\r\n")


def long_value(path, size):
    pa, pq = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    table = pa.table({"text": ["a" * size]})
    pq.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)


def shared_values(path, size, rows, columns=1):
    pa, pq = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows), pa.array(["a" * size]))
    table = pa.table({f"text{number}": column for number in range(columns)})
    limit = {"dictionary_pagesize_limit": 1 << 30}
    pq.write_table(table, path, compression="zstd", write_statistics=False, **limit)


def long_list(path, length, size):
    pa, pq = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * length), pa.array(["a" * size]))
    lists = pa.ListArray.from_arrays(pa.array([0, length], pa.int32()), texts)
    pq.write_table(pa.table({"list": lists}), path, compression="zstd", write_statistics=False)


BOMBS = {
    "line.jsonl.gz": lambda path, n: path.write_bytes(zipped(b'{"a":"', b"x", n, b'"}\n')),
    "line.jsonl.xz": lambda path, n: path.write_bytes(
        zipped(b'{"a":"', b"x", n, b'"}\n', lzma.compress)
    ),
    "values.jsonl.gz": lambda path, n: path.write_bytes(zipped(b'{"a":[', b"{},", n, b"1]}\n")),
    "nested.jsonl.gz": lambda path, n: path.write_bytes(zipped(b'{"a":', b"[", n)),
    "cell.csv.gz": lambda path, n: path.write_bytes(zipped(b"a,b\n", b"x", n)),
    "cells.csv.gz": lambda path, n: path.write_bytes(zipped(b"a,b\n", b",", n)),
    "open.csv.gz": lambda path, n: path.write_bytes(zipped(b'a,b\n"', b"x\n", n)),
    "page.warc.gz": lambda path, n: path.write_bytes(archive(b"<p>a " * (n // 5))),
    "page.parquet": long_value,
    "shared.parquet": lambda path, n: shared_values(path, n // 4, 20, 4),
    "rows.parquet": lambda path, n: shared_values(path, n // 50, 200),
    "values.parquet": lambda path, n: long_list(path, n // 8, 1),
    "list.parquet": lambda path, n: long_list(path, 500_000, n // 1000),
}
# A page that is too large is kept without a check, and a line with too many values is rejected.
CODES = {"page.warc.gz": 0, "values.jsonl.gz": 3, "nested.jsonl.gz": 3, "rows.parquet": 0}
MEBIBYTES = {"jsonl": 66, "csv": 17, "warc": 6, "parquet": 256}
QUICK = {"nested.jsonl.gz", "page.warc.gz", "list.parquet", "cells.csv.gz"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in BOMBS],
)
def test_a_bomb_ends_in_one_line(call, tmp_path, name):
    if name.startswith("page.warc"):
        pytest.importorskip("fastwarc")
    path, out = tmp_path / name, tmp_path / f"out.{name.partition('.')[2]}"
    BOMBS[name](path, MEBIBYTE * (3 if name in CODES else MEBIBYTES[name.split(".")[1]]))
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


def peak(path, folder) -> int:
    out = folder / f"out.{path.name.partition('.')[2]}"
    out.unlink(missing_ok=True)
    command = [sys.executable, "-c", PEAK, str(path), "-o", str(out)]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=120)
    assert b"Traceback" not in done.stderr
    return int(done.stdout.splitlines()[-1])


#: Mebibytes over a small file of the same format. A value just below the limit, 64 MiB, costs most;
#: pyarrow holds a page of Parquet several times while it unpacks it.
OVER = {"page.parquet": 700, "shared.parquet": 900}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak")
@pytest.mark.parametrize("name", sorted(BOMBS))
def test_a_bomb_takes_little_more_memory_than_a_small_file(tmp_path, name):
    small, bomb = (tmp_path / f"{one}.{name.partition('.')[2]}" for one in ("small", "bomb"))
    BOMBS[name](small, 10_000)
    BOMBS[name](bomb, 60 * MEBIBYTE)
    assert peak(bomb, tmp_path) - peak(small, tmp_path) <= OVER.get(name, 400)

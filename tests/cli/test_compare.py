"""``scrapy simhash compare`` and ``explain``."""

from __future__ import annotations

import json
import subprocess
import sys

from loopback import article, prose, serve
from stored import changed


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

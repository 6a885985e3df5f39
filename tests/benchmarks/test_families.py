"""What benchmarks/families.py crawls: different pages under one text, none of which is dropped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "families.py"


def test_each_family_is_beside_fresh_pages() -> None:
    finished = subprocess.run(
        [sys.executable, SCRIPT, "--pages", "12", "--rounds", "1"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    names = [line.split("|")[1].strip() for line in finished.stdout.splitlines()[2:]]
    assert names == ["fresh", "shop", "jobs", "lists"]

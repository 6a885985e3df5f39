"""benchmarks/recrawl.py: the second crawl downloads and stores what has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "recrawl.py"
SENTENCES = {
    "ferry": "The ferry leaves the island at dawn with crates of plums and a sleeping dog.",
    "clock": "A clockmaker keeps forty clocks running, and no two of them agree on the hour.",
    "snow": "Snow fell on the pass in April, so the mail was carried over it on a sledge.",
}


def test_only_the_page_that_changed_is_downloaded_again(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    links = "".join(f'<a href="{name}.html">{name}</a>' for name in SENTENCES)
    (site / "index.html").write_text(f"<title>Contents</title><body>{links}</body>")
    for name, sentence in SENTENCES.items():
        paragraphs = f"<p>{sentence}</p>" * 4
        page = site / f"{name}.html"
        page.write_text(f"<title>{name}</title><body>{paragraphs}</body>")
        os.utime(page, (1_700_000_000, 1_700_000_000))
    finished = subprocess.run(
        [sys.executable, SCRIPT, site, "--changed", "clock.html", "--rounds", "1"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    rows = [line.split("|")[1:-1] for line in finished.stdout.splitlines() if "|" in line][2:]
    bare, cached, always, conditional = (tuple(map(int, row[3:])) for row in rows)
    # Downloaded, not found, stored: without the plugin, all pages are stored again.
    assert bare == (4, 0, 4)
    assert cached == (1, 0, 4)
    assert always == (4, 0, 1)
    assert conditional == (1, 0, 1)

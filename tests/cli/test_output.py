"""Differences of texts, as they are printed."""

from __future__ import annotations

import re
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from scrapy_simhash.cli.output import print_difference
from scrapy_simhash.report.difference import difference

TEXTS = st.lists(
    st.sampled_from(["a", "storm", "of", "the", "harbour", "第十", "news", "over-the-counter"]),
    max_size=60,
).map(" ".join)


@given(old=TEXTS, new=TEXTS, width=st.integers(24, 100), most=st.sampled_from([40, 10_000]))
def test_a_line_ends_between_words_and_in_no_mark(old, new, width, most):
    console = Console(width=width, markup=False, file=StringIO())
    print_difference(console, *difference(old, new), most=most)
    printed = console.file.getvalue()
    if old != new:
        assert set(re.findall(r"\w+", printed)) <= set(re.findall(r"\w+", f"{old} {new}"))
    for line in printed.splitlines():
        assert cell_len(line) <= width
        for opened, closed in ("[-", "-]"), ("{+", "+}"):
            assert line.count(opened) == line.count(closed)

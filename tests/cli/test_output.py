"""Differences of texts, as they are printed."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from scrapy_simhash.cli.output import marked_difference, wrapped
from scrapy_simhash.report.difference import difference

TEXTS = st.lists(
    st.sampled_from(["a", "storm", "of", "the", "harbour", "第十", "news", "over-the-counter"]),
    max_size=60,
).map(" ".join)


@given(old=TEXTS, new=TEXTS, width=st.integers(24, 100), most=st.sampled_from([40, 10_000]))
def test_a_line_ends_between_words_and_in_no_mark(old, new, width, most):
    printed = wrapped(marked_difference(*difference(old, new)), width, most).plain
    if old != new:
        assert set(re.findall(r"\w+", printed)) <= set(re.findall(r"\w+", f"{old} {new}"))
    for line in printed.splitlines():
        assert cell_len(line) <= width
        for opened, closed in ("[-", "-]"), ("{+", "+}"):
            assert line.count(opened) == line.count(closed)

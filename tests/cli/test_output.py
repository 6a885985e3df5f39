"""Tables, and differences of texts, as they are printed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from scrapy_simhash.cli import output
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


@pytest.mark.parametrize(
    ("urls", "shown"),
    [
        (
            ("http://127.0.0.1:8471/news/zh.html", "http://127.0.0.1:8472/news/zh.html"),
            ("…8471/news/zh.html", "…8472/news/zh.html"),
        ),
        (
            ("https://h.example/2024/a-long-title.html", "https://h.example/2024/a.html?print=1"),
            ("…a-long-title.html", "…a.html?print=1   "),
        ),
        (("https://h.example/long/long/1",) * 2, ("h.examp…ong/long/1", "h.examp…ong/long/1")),
        (
            ("https://h.example/long/long/1", "https://h.example/long/long/2"),
            ("h.examp…ong/long/1", "h.examp…ong/long/2"),
        ),
        (("http://a.example", "http://b.example"), ("http://a.example  ", "http://b.example  ")),
    ],
)
def test_of_two_urls_that_are_cut_the_difference_is_shown(capsys, monkeypatch, urls, shown):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(output, "_widths", lambda *_: [18, 18, 20])
    output.print_lines(("item", "similar to", "reason"), [[(*urls, "equal texts")]])
    assert capsys.readouterr().out.splitlines()[1] == f"{shown[0]:18}  {shown[1]:18}  equal texts"


@pytest.mark.parametrize(
    ("similarity", "shown"), [(1.0, "1.00"), (0.9994, "0.99"), (0.9, "0.90"), (0.29, "0.29")]
)
def test_only_equal_texts_have_a_similarity_of_1(similarity, shown):
    assert output.format_similarity(similarity, estimated=False) == shown

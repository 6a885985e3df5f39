"""Similarities and groups, as they are printed."""

from __future__ import annotations

import pytest

from scrapy_simhash.cli import output


@pytest.mark.parametrize(
    ("similarity", "shown"), [(1.0, "1.00"), (0.9994, "0.99"), (0.9, "0.90"), (0.29, "0.29")]
)
def test_only_equal_texts_have_a_similarity_of_1(similarity, shown):
    assert output.format_similarity(similarity, estimated=False) == shown


@pytest.mark.parametrize(
    ("name", "url", "shown"),
    [
        ("http://a.example", "http://b.example", "http://b.example"),
        ("http://127.0.0.1:8471/a/long/zh", "http://127.0.0.1:8472/a/long/zh", "…8472/a/long/zh"),
        ("https://h.example/2024/a", "https://h.example/2024/a-long-title", "…a-long-title"),
    ],
)
def test_a_url_shows_what_tells_it_from_the_name_of_the_group(
    capsys, monkeypatch, name, url, shown
):
    monkeypatch.setenv("COLUMNS", "44")
    output.print_groups([(name, [(url, "equal texts")])])
    assert capsys.readouterr().out.splitlines()[1] == f"    {shown}  equal texts"

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
    ("remark", "is_brief", "shown"),
    [
        ("equal", False, ["    http://h.example/a-long/title  equal"]),
        ("similar texts", False, ["    http://h.example/a-long/title", "        similar texts"]),
        (
            "title: One -> Two, three, four, five, six",
            True,
            ["    http://h.example/a-long/title", "        title: One -> Two, three, four, fi…"],
        ),
    ],
)
def test_a_url_is_shown_in_full_with_its_remark_beside_or_below(
    capsys, monkeypatch, remark, is_brief, shown
):
    monkeypatch.setenv("COLUMNS", "43")
    output.print_groups([("a", [("http://h.example/a-long/title", remark)])], is_brief=is_brief)
    assert capsys.readouterr().out.splitlines() == ["a", *shown]


def test_a_brief_list_cuts_a_remark_that_has_room_for_its_beginning(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    output.print_groups([("a", [("http://h.example", "similar texts " * 9)])], is_brief=True)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "    http://h.example  similar texts similar texts similar t…"
    ]

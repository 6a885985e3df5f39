"""The verdict in words."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest

from scrapy_simhash.db.values import SAME
from scrapy_simhash.history.record import Record
from scrapy_simhash.report.verdict import findings, headline, remarks


def subject(
    stats, counts=None, *, kept=(), sites=(), orphans=0, pending=0, is_trial=False, items=True
):
    drops = [
        Record("dropped", url, original_page=original, has_item=items or not number)
        for number, (url, original) in enumerate(sites)
    ]
    return SimpleNamespace(
        stats=stats,
        counts=Counter(counts or {}),
        is_trial=is_trial,
        differs=Counter(dict(kept)),
        runs=[SimpleNamespace(orphans=orphans, pending=pending)],
        drops=drops,
        duplicates=drops,
        change_counts=lambda: {"new": 2, "missing": 1} if "changes/new" in stats else {},
    )


STORED = "The original of each was stored"
HERE, THERE = ("http://a.example/1", "http://a.example/2"), ("http://a.example/1", "http://b.test/")


@pytest.mark.parametrize(
    ("given", "sentences"),
    [
        (subject({}), ["No crawl has finished yet: no duplicates found."]),
        (
            subject({"checked": 10}, {"drop": 3}, sites=[HERE, HERE, THERE]),
            [
                "10 items checked: 3 duplicates dropped (30.0%).",
                f"{STORED}, and `scrapy simhash restore` returns those in quarantine.",
            ],
        ),
        (
            subject({"checked": 10}, {"drop": 3}, pending=1),
            [
                "10 items checked: 3 duplicates dropped (30.0%).",
                "It is not known yet whether 1 item will be stored.",
            ],
        ),
        # Items in which nothing has changed have no row; the log says "9 dropped".
        (
            subject({"checked": 10, "dropped": 9, "duplicates": 1}, {"drop": 1, SAME: 4}),
            [
                "10 items checked: 9 dropped (90.0%), 8 of them unchanged.",
                f"{STORED}.",
            ],
        ),
        (
            subject({"checked": 4}, {"drop": 2}, is_trial=True),
            [
                "4 items checked: 2 duplicates would be dropped (50.0%).",
                "Nothing would be lost: the original of each would be stored.",
            ],
        ),
        (
            subject({"checked": 9, "failed_open": 3}, orphans=1),
            [
                "9 items checked: no duplicates found.",
                (
                    "1 duplicate dropped whose original was not stored in the end: "
                    "`scrapy simhash restore --orphans` returns it."
                ),
                "3 items stored without a check: the index did not answer.",
            ],
        ),
    ],
)
def test_the_result_in_sentences(given, sentences):
    assert [headline(given), *remarks(given)] == sentences


def test_what_was_kept_and_not_compared_is_found():
    given = subject(
        {"checked": 2000, "skipped/too_short": 20, "skipped/no_text": 1},
        kept=[("price", 4), ("(numbers)", 2)],
    )
    fields = {"page:value.Colour": ("red", "blue"), "price": ("1", "2")}
    change = Record("changed", "http://a.test/", similarity=0.0, noted=fields)
    given.kept, given.changes = [], [change]
    found = [(one.outcome, one.what, one.items, one.share) for one in findings(given)]
    assert found == [
        ("kept", "`price` differs", 4, "0.2%"),
        ("kept", "numbers in the text differ", 2, "0.1%"),
        ("changed", "in `Colour of the page`", 1, "<0.1%"),
        ("changed", "in `price`", 1, "<0.1%"),
        ("changed", "in the text", 1, "<0.1%"),
        ("not compared", "the text is too short", 20, "1.0%"),
        ("not compared", "neither the item nor its page has text", 1, "<0.1%"),
    ]

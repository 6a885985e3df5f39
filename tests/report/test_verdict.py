"""The verdict in words."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scrapy_simhash.history import SAME
from scrapy_simhash.report.verdict import in_sentences


def subject(stats, counts=None, *, kept=(), sites=(), orphans=0, is_trial=False):
    return SimpleNamespace(
        stats=stats,
        counts=counts or {},
        is_trial=is_trial,
        kept=SimpleNamespace(counts=list(kept)),
        runs=[SimpleNamespace(orphans=orphans)],
        duplicates=[SimpleNamespace(url=url, original=original) for url, original in sites],
    )


HERE, THERE = ("http://a.example/1", "http://a.example/2"), ("http://a.example/1", "http://b.test/")


@pytest.mark.parametrize(
    ("given", "sentences"),
    [
        (subject({}), ["No crawl has closed and counted what it met: no copies left out."]),
        (subject({"checked": 1}), ["1 item checked: no copies left out."]),
        (
            subject({"checked": 10}, {"drop": 3}, sites=[HERE, HERE, THERE]),
            [
                (
                    "10 items checked: 3 copies left out (30.0%). From the site of what they are "
                    "copies of: 2; from another: 1."
                ),
                "Nothing else was left out.",
            ],
        ),
        (
            subject({"checked": 10}, {"drop": 1, SAME: 4}, sites=[THERE]),
            [
                "10 items checked: 1 copy left out (10.0%). It is from another site.",
                "4 more left out, as they had not changed since an earlier visit.",
            ],
        ),
        (
            subject({"checked": 10}, {"report": 2}, sites=[HERE, HERE]),
            [
                (
                    "10 items checked: 2 copies found and stored all the same (20.0%). All are "
                    "from the same site."
                ),
            ],
        ),
        (
            subject({"checked": 4, "pages/skipped": 2}, {"skip": 2}),
            ["4 items and pages checked: 2 copies left out (50.0%).", "Nothing else was left out."],
        ),
        (
            subject({"checked": 4, "duplicates/better": 1}, {"drop": 2}, is_trial=True),
            [
                "4 items checked: 2 copies would be left out (50.0%).",
                "1 copy better than what was stored before.",
            ],
        ),
        (
            subject(
                {"checked": 9, "skipped/too_short": 2, "skipped/no_text": 1, "failed_open": 3},
                kept=[("price", 4), ("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1)],
                orphans=1,
            ),
            [
                "9 items checked: no copies left out.",
                (
                    "9 kept although the text is near that of another: 4 because `price` differs, "
                    "1 because `a` differs, 1 because `b` differs, 1 because `c` differs, "
                    "1 because `d` differs, 1 for other reasons."
                ),
                (
                    "3 stored without a comparison: 2 as the text is too short, 1 as neither item "
                    "nor page says anything."
                ),
                "3 stored unchecked, as the index did not answer.",
                (
                    "1 left out beside something that was not stored in the end: "
                    "`scrapy simhash restore --orphans` gives it back."
                ),
            ],
        ),
    ],
)
def test_what_was_found_is_said_in_words(given, sentences):
    assert in_sentences(given) == sentences

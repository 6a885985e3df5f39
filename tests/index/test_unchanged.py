"""What tells only the state of a page makes no new version of it; every real edit does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from decided import facts_of
from loopback import prose

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document, Verdict
from scrapy_simhash.item.content import read_facts

#: What stands in a text at two visits; tests/item/test_state.py has it in many languages.
STATES = [
    ("Posted 1 hour ago", "Posted 2 hours ago"),
    ("1,234 views", "1,301 views"),
    ("This page was last edited on 3 March 2025.", "This page was last edited on 9 March 2025."),
    ("4.5/5 (123 reviews)", "4.6/5 (125 reviews)"),
    ("发布于 3小时前", "发布于 5小时前"),
]
#: Real edits, the first ones of numbers.
EDITS = [
    ("costs £12.50 now", "costs £13.50 now"),
    ("for 12 people", "for 13 people"),
    ("on 3 March we meet", "on 4 March we meet"),
    ("on 3 March we meet", "on 3 April we meet"),
    ("from 10:30", "from 11:30"),
    ("said Ann Lind today", "said Bob Lind today"),
    ("is open", "is not open"),
    ("is not open", "is open"),
    ("", "and more"),
    ("and more", ""),
]
NUMBERS = 5


def visited(
    path: Path, *visits: dict[str, Any], budget: int = 1 << 20, **rule: Any
) -> list[Verdict]:
    """The verdicts on a page, given what it has at each visit."""
    verdicts = []
    for given in visits:
        document = {"text": prose(1, 120), **given}
        rules = Rule(known="drop", **rule)
        with Index(f"sqlite:///{path}/index.db", rule=rules, text_budget=budget) as index:
            sketch = index.scheme.sketch(document["text"])
            verdicts += index.execute([Document(sketch, "a", **document)])
            index.confirm(verdicts[-1])
    return verdicts


@pytest.mark.parametrize("similarity", [1.0, 0.9])
@pytest.mark.parametrize("texts", STATES + EDITS)
def test_the_state_of_a_page_makes_no_version_and_every_edit_does(
    tmp_path: Path, texts: tuple[str, str], similarity: float
) -> None:
    """Below the tolerance only an edit of a number."""
    visits = ({"text": f"{prose(1, 120)}\n{one}\n{prose(2, 40)}\n{one}"} for one in texts)
    verdicts = visited(tmp_path, *visits, change_similarity=similarity)
    is_version = texts in (EDITS if similarity == 1 else EDITS[:NUMBERS])
    assert [verdict.status for verdict in verdicts] == [
        "new",
        "changed" if is_version else "unchanged",
    ]


def test_an_item_beside_its_page_gains_a_text(tmp_path: Path) -> None:
    own = facts_of({"title": "One"})
    verdicts = visited(tmp_path, {"facts": own}, {"facts": own.with_rest("a text")})
    assert verdicts[1].status == "changed"


def test_a_number_changes_in_a_text_that_is_no_longer_kept(tmp_path: Path) -> None:
    visits = ({"text": f"{prose(1, 120)} for {price} euros"} for price in (10, 99))
    verdicts = visited(tmp_path, *visits, change_similarity=0.9, budget=0)
    assert verdicts[1].status == "changed"


@pytest.mark.parametrize("texts", STATES + EDITS)
def test_words_that_a_text_has_elsewhere_make_the_same_difference(
    tmp_path: Path, texts: tuple[str, str]
) -> None:
    # Not even the sets of their pairs of words differ.
    elsewhere = "\n".join(f"then it {one} again" for one in texts)
    visits = (
        {"text": f"{prose(1, 120)}\nthen it {one} again\n{prose(2, 40)}\n{elsewhere}"}
        for one in texts
    )
    status = "changed" if texts in EDITS else "unchanged"
    assert [verdict.status for verdict in visited(tmp_path, *visits)] == ["new", status]


@pytest.mark.parametrize(("ignored", "status"), [(["token"], "unchanged"), ([], "changed")])
def test_a_field_that_is_ignored_from_now_on_makes_no_version(
    tmp_path: Path, ignored: list[str], status: str
) -> None:
    fields = ({"token": "a7", "author": "Ann"}, {"author": "Ann"})
    visits = [{"facts": facts_of(values)} for values in fields]
    verdicts = visited(tmp_path, *visits, ignored=ignored)
    assert [verdict.status for verdict in verdicts] == ["new", status]


def test_a_change_of_the_year_alone_is_one_of_the_field(tmp_path: Path) -> None:
    visits = (
        {"facts": read_facts(values, page_url="", since=0, now=0), "values": values}
        for values in ({"date": "2024-04-05"}, {"date": "2025-04-05"})
    )
    assert visited(tmp_path, *visits)[1].fields == {"date": ("2024-04-05", "2025-04-05")}


def test_a_change_of_a_value_that_is_not_kept_has_a_name(tmp_path: Path) -> None:
    visits = ({"facts": facts_of({"author": name})} for name in ("Ann", "Bob"))
    assert visited(tmp_path, *visits)[1].fields == {"author": (None, None)}


def test_a_value_that_grows_into_a_text_did_not_go(tmp_path: Path) -> None:
    short = prose(3, 12)
    visits = (
        {
            "text": prose(5, 20),
            "values": {"by": "Ann", "text": short},
            "facts": facts_of({"text": short}),
        },
        {"text": f"{short} {prose(4, 30)}", "values": {"by": "Bob"}, "facts": facts_of({})},
    )
    changed = visited(tmp_path, *visits)[1].fields
    assert "text" not in changed

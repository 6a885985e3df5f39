"""What tells only the state of a page makes no new version of it; every real edit does."""

from __future__ import annotations

from pathlib import Path

import pytest
from loopback import prose

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.item.content import read_facts
from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.folding import Folded

#: What stands in a text at two visits.
STATES = [
    ("Posted 1 hour ago", "Posted 2 hours ago"),
    ("3 weeks ago", "4 weeks ago"),
    ("1,234 views", "1,301 views"),
    ("Views: 1.2K", "Views: 1.4K"),
    ("3 comments", "5 comments"),
    ("Likes: 5", "Likes: 9"),
    ("123 reviews", "125 reviews"),
    ("5 in stock", "3 in stock"),
    ("Downloads: 1203", "Downloads: 1388"),
    ("This page was last edited on 3 March 2025.", "This page was last edited on 9 March 2025."),
    ("浏览次数：120", "浏览次数：133"),
    ("阅读 1203", "阅读 1377"),
    ("评论(3)", "评论(9)"),
    ("发布于 3小时前", "发布于 5小时前"),
    ("12 Kommentare", "14 Kommentare"),
    ("vor 3 Stunden", "vor 5 Stunden"),
    ("il y a 3 heures", "il y a 5 heures"),
    ("3 réponses", "4 réponses"),
    ("hace 2 días", "hace 5 días"),
    ("12 respuestas", "14 respuestas"),
    ("120 просмотров", "188 просмотров"),
    ("1 comment", "2 comments"),
    ("Last updated: 5 March 2026", "Last updated: 9 April 2026"),
    ("4.5/5 (123 reviews)", "4.6/5 (125 reviews)"),
    ("12 users browsing this forum", "14 users browsing this forum"),
    ("120 Mal gelesen", "133 Mal gelesen"),
    ("Visto 1.234 veces", "Visto 1.301 veces"),
    ("lu 120 fois", "lu 133 fois"),
    ("2 часа назад", "5 дней назад"),
    ("最后更新：2026年3月5日", "最后更新：2026年3月9日"),
    ("コメント(3)", "コメント(5)"),
    ("조회수 1,234", "조회수 1,301"),
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


def statuses(path: Path, texts: tuple[str, str], similarity: float = 1.0) -> list[str]:
    """The statuses of a page with these words in and at the end of its text, at two visits."""
    found = []
    for visit, words in enumerate(texts, 1):
        text = f"{prose(1, 120)}\n{words}\n{prose(2, 40)}\n{words}"
        with Index(
            f"sqlite:///{path}", rule=Rule(known="drop", change_similarity=similarity)
        ) as index:
            document = Document(index.scheme.sketch(text), "a", download=visit, text=text)
            (verdict,) = index.execute(claims=[document])
            index.execute(confirm=[verdict])
            found.append(verdict.status)
    return found


@pytest.mark.parametrize("similarity", [1.0, 0.9])
@pytest.mark.parametrize("texts", STATES)
def test_the_state_of_a_page_makes_no_version(
    tmp_path: Path, texts: tuple[str, str], similarity: float
) -> None:
    assert statuses(tmp_path / "index.db", texts, similarity) == ["new", "unchanged"]


@pytest.mark.parametrize("texts", EDITS)
def test_every_edit_makes_a_version(tmp_path: Path, texts: tuple[str, str]) -> None:
    assert statuses(tmp_path / "index.db", texts) == ["new", "changed"]


@pytest.mark.parametrize("texts", EDITS)
def test_below_the_tolerance_a_number_makes_a_version(
    tmp_path: Path, texts: tuple[str, str]
) -> None:
    status = "changed" if texts in EDITS[:NUMBERS] else "unchanged"
    assert statuses(tmp_path / "index.db", texts, 0.9) == ["new", status]


@pytest.mark.parametrize(("ignored", "status"), [(["token"], "unchanged"), ([], "changed")])
def test_a_field_that_is_ignored_from_now_on_makes_no_version(
    tmp_path: Path, ignored: list[str], status: str
) -> None:
    found = []
    for visit, fields in enumerate(({"token": "a7", "author": "Ann"}, {"author": "Ann"}), 1):
        facts = Facts.of(
            {name: Folded(Evidence.TEXT, f"t:{value}") for name, value in fields.items()}
        )
        with Index(
            f"sqlite:///{tmp_path}/index.db", rule=Rule(known="drop", ignored=ignored)
        ) as index:
            text = prose(1, 120)
            sketch = index.scheme.sketch(text)
            document = Document(sketch, "a", download=visit, text=text, facts=facts)
            (verdict,) = index.execute(claims=[document])
            index.execute(confirm=[verdict])
            found.append(verdict.status)
    assert found == ["new", status]


def test_a_change_of_the_year_alone_is_one_of_the_field(tmp_path: Path) -> None:
    changes = []
    for visit, date in enumerate(("2024-04-05", "2025-04-05"), 1):
        facts = read_facts({"date": date}, page_url="", since=0, now=0)
        with Index(f"sqlite:///{tmp_path}/index.db", rule=Rule(known="drop")) as index:
            text = prose(1, 120)
            document = Document(
                index.scheme.sketch(text),
                "a",
                download=visit,
                text=text,
                facts=facts,
                values={"date": date},
            )
            (verdict,) = index.execute(claims=[document])
            index.execute(confirm=[verdict])
            changes.append(verdict.fields)
    assert changes[1] == {"date": ("2024-04-05", "2025-04-05")}


def test_a_change_of_a_value_that_is_not_kept_has_a_name(tmp_path: Path) -> None:
    changes = []
    for visit in (1, 2):
        facts = Facts.of({"author": Folded(Evidence.TEXT, f"t:{visit}")})
        with Index(f"sqlite:///{tmp_path}/index.db", rule=Rule(known="drop")) as index:
            text = prose(1, 120)
            document = Document(
                index.scheme.sketch(text), "a", download=visit, text=text, facts=facts
            )
            (verdict,) = index.execute(claims=[document])
            index.execute(confirm=[verdict])
            changes.append(verdict.fields)
    assert changes[1] == {"(others)": (None, None)}

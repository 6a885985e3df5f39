"""What is new, changed, moved, missing, gone and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest
from loopback import prose
from servers import ENGINES, empty_database
from stored import changed, store

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import NotFound
from scrapy_simhash.history.changes import read_changes
from scrapy_simhash.history.page import read_page
from scrapy_simhash.history.record import STATUSES, Record
from scrapy_simhash.history.sql import NamespaceRow, choose_namespace, read_selection
from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.missing import find_missing
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.runs import Run

#: A text and the values beside it, by the URLs that show it.
Pages = Mapping[str, tuple[Any, dict[str, str]] | Any]


@pytest.fixture(params=ENGINES)
def db(request, tmp_path) -> Iterator[Database]:
    with empty_database(request.param, tmp_path) as url:
        database = Database(url)
        yield database
        database.close()


def visit(
    db: Database, pages: Pages, *, gone: str = "", known: Any = "drop", spider: str = "s"
) -> NamespaceRow:
    """A complete crawl of a site, which is closed."""
    run = Run.open(db, spider=spider)
    index = Index(db, run=run, rule=Rule(known=known))
    for name, page in pages.items():
        text, values = page if isinstance(page, tuple) else (page, {})
        seed, _, how = str(text).partition(", ")
        text = changed(prose(seed, 200), 1 if how == "edited" else 0)
        text += f" {prose('more', 15)}" if how == "longer" else ""
        store(index, text, f"http://a.test/{name}", values)
    run.close(settled=True, reason="finished", complete=True)
    find_missing(
        index, run, {identity_hash(f"http://a.test/{one}") for one in gone}, everything=True
    )
    return choose_namespace(db, None)


def told(namespace: NamespaceRow, run: int | None = None, since: int | None = None) -> list[Record]:
    selection = read_selection(namespace, since=since, runs=[run] if run else ())
    return [*read_changes(namespace, selection, STATUSES)]


def words(namespace: NamespaceRow, run: int | None = None, **given: Any) -> list[str]:
    """The status and the last part of the URL of each change, and of where it was."""
    names = [
        (one.status, *((url or "").rpartition("/")[2] for url in (one.url, one.original)))
        for one in told(namespace, run, **given)
    ]
    return [" ".join(filter(None, one)) for one in names]


def test_each_status_of_a_site_that_is_crawled_again(db) -> None:
    visit(db, {"same": 1, "edited": 2, "old": 3, "lost": 4, "deleted": 5})
    second = {"same": 1, "edited": "2b", "now": 3, "fresh": 6}
    found = words(visit(db, second, gone=["deleted"]))
    assert sorted(found) == [
        "changed edited",
        "gone deleted",
        "missing lost",
        "moved now old",
        "new fresh",
    ]
    namespace = visit(db, second | {"lost": 4, "deleted": "5b"})
    assert sorted(words(namespace)) == ["back deleted", "back lost", "changed deleted"]
    assert words(visit(db, second | {"lost": 4, "deleted": "5b"})) == []


def test_what_a_run_met_or_what_was_since(db) -> None:
    for number in (1, 2, 3):
        namespace = visit(db, {"a": f"text {number}"})
    assert words(namespace, 1) == ["new a"]
    assert words(namespace, 2) == words(namespace, 3) == words(namespace) == ["changed a"]
    assert words(namespace, since=2) == ["changed a"] * 2
    with pytest.raises(NotFound, match="no run 9"):
        words(namespace, 9)
    assert [one.run for one in told(namespace, since=1)] == [1, 2, 3]


def test_what_two_spiders_at_once_do_not_meet_is_told_by_the_last(db) -> None:
    for pages in (1, 2), (1,):
        runs = [Run.open(db, spider=spider) for spider in "st"]
        indexes = [Index(db, run=run, rule=Rule(known="drop")) for run in runs]
        for index, page in product(indexes, pages):
            store(index, prose(page, 200), f"http://a.test/{page}")
        missing = []
        for index, run in zip(indexes, runs, strict=True):
            run.close(settled=True, reason="finished", complete=True)
            missing.append(find_missing(index, run, everything=True)["missing"])
    assert missing == [0, 1]


def test_by_default_it_is_the_last_visit_of_each_spider(db) -> None:
    """Whichever was the last, also if it met nothing."""
    for spider in ("s", "other"):
        visit(db, {spider: 1 if spider == "s" else 2}, spider=spider)
    visit(db, {"s": "1b"})
    namespace = visit(db, {"other": "2b"}, spider="other")
    assert words(namespace) == ["changed s", "changed other"]
    Run.open(db, spider="s").close(settled=True, reason="finished")
    assert words(namespace) == ["changed other"]
    running = Run.open(db, spider="other")
    assert words(namespace) == ["changed other"]
    running.close(settled=True, reason="finished")
    assert words(namespace) == []


@pytest.mark.parametrize(
    ("order", "revision", "former", "found"),
    [
        ("old last", "edited", 1, []),
        ("old last", "longer", 1, ["new now"]),
        ("old first", "longer", 1, ["new now"]),
        ("old first", "longer", None, ["changed now old"]),
        ("old last", "edited", "else", ["changed old", "new now"]),
        ("old first", "edited", "else", ["changed old", "new now"]),
        ("old first", "edited", None, ["changed now old"]),
    ],
)
def test_what_is_at_a_new_url_is_known_when_the_former_one_is_met(
    db, order, revision, former, found
) -> None:
    """A copy if that shows what it did, new if that shows something else or lacks a passage."""
    values = {"lot": "A"}
    visit(db, {"old": (1, values)})
    now = {"now": (f"1, {revision}", values)}
    pages = {} if former is None else {"old": (former, values)}
    pages = now | pages if order == "old last" else pages | now
    assert sorted(words(visit(db, pages))) == found


@pytest.mark.parametrize("known", ["pass", "drop"])
@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_nothing_happens_to_a_page_with_a_url_that_stays_beside_others_that_change(
    db, known, order
) -> None:
    """Such as a session id that nobody knows for one."""
    for number in range(4):
        names = [f"s{number}", "here", f"t{number}"]
        namespace = visit(db, {names[place]: 1 for place in order}, known=known)
        assert words(namespace) == (["new " + names[order[0]]] if number == 0 else [])


@pytest.mark.parametrize("known", ["pass", "drop"])
def test_only_an_item_that_was_elsewhere_has_a_former_url(db, known) -> None:
    """That where it was last met; not that of another item which shows the same now."""
    for name, before in (("a", None), ("b", "a"), ("c", "b")):
        namespace = visit(db, {name: 1, "x": 2, "y": 3}, known=known)
        if before:
            assert words(namespace) == [f"moved {name} {before}"]
    assert words(visit(db, {"c": 1, "x": 4, "y": 4}, known=known)) == ["changed x", "changed y"]
    visit(db, {"x": 4, "y": 4}, known=known)
    assert words(visit(db, {"c": 1, "x": 4, "y": 4}, known=known)) == ["back c"]


@pytest.mark.parametrize("known", ["pass", "drop"])
def test_what_is_new_at_a_url_of_a_session_is_a_change_of_the_page(db, known) -> None:
    before, after = (1, {"date": "2026-10-12"}), (1, {"date": "2026-10-26"})
    visit(db, {"p": before, "x": 2}, known=known)
    again = visit(db, {"p?s=1": after, "p": after, "x": 2, "y": 3}, known=known)
    assert sorted(words(again)) == ["changed p", "new y"]


@pytest.mark.parametrize("known", ["pass", "drop"])
def test_an_item_that_is_posted_again_names_its_former_url_and_what_differs(db, known) -> None:
    first = {"1": (1, {"price": "100 EUR", "seller": "Ann"}), "2": (2, {"price": "7 EUR"})}
    visit(db, first, known=known)
    again = {"3": (1, {"price": "90 EUR", "seller": "Ann"}), "2": first["2"]}
    new, missing = told(visit(db, again, known=known))
    assert (new.status, new.url, new.original) == ("new", "http://a.test/3", None)
    assert new.formerly == new.as_json()["formerly"] == "http://a.test/1"
    assert new.fields == {"price": ("100 EUR", "90 EUR")}
    assert (missing.status, missing.url, missing.formerly) == ("missing", "http://a.test/1", None)


@pytest.mark.parametrize("known", ["pass", "drop"])
def test_the_former_item_is_shown_as_it_was_last(db, known) -> None:
    """Although what it showed first is nearer."""
    for text, price in ((1, "100 EUR"), ("1, edited", "90 EUR")):
        visit(db, {"1": (text, {"price": price}), "2": 2}, known=known)
    new, _ = told(visit(db, {"3": (1, {"price": "80 EUR"}), "2": 2}, known=known))
    assert (new.formerly, new.fields) == ("http://a.test/1", {"price": ("90 EUR", "80 EUR")})
    for price in ("70 EUR", "70 EUR", "60 EUR"):
        namespace = visit(db, {"3": (1, {"price": price}), "2": 2}, known=known)
    new, _ = told(namespace, 3)
    assert new.formerly == "http://a.test/1", "later versions do not hide it"


@pytest.mark.parametrize("known", ["pass", "drop"])
def test_of_several_with_one_text_the_former_item_is_that_with_the_most_values(db, known) -> None:
    lots = {str(number): (1, {"price": f"{number}0 EUR", "lot": number}) for number in (1, 2, 3)}
    visit(db, lots, known=known)
    again = {f"again{name}": (1, values | {"price": "5 EUR"}) for name, (_, values) in lots.items()}
    found = told(visit(db, again, known=known))
    former = {one.url: one.formerly for one in found if one.status == "new"}
    assert former == {f"http://a.test/again{name}": f"http://a.test/{name}" for name in lots}


def test_what_a_run_had_stored_that_crashed_is_no_change(db) -> None:
    namespace = visit(db, {"a": 1})
    run = Run.open(db, spider="s")
    store(Index(db, run=run, rule=Rule(known="drop")), prose("1b", 200), "http://a.test/a")
    run.close(settled=False, reason="crash")
    assert words(namespace) == ["new a"]
    assert words(namespace, run.id) == []
    assert "was released" in str(read_selection(namespace, runs=[run.id]))


@pytest.mark.parametrize("db", ["sqlite"], indirect=True)
def test_what_is_missing_was_seen_when_it_was_met(db) -> None:
    visit(db, {"a": 1, "b": 2})
    namespace = visit(db, {"b": 2})
    assert words(namespace) == ["missing a"]
    ((a,), (b,)) = (read_page(namespace, f"http://a.test/{one}", [0]).claims for one in "ab")
    assert a.seen == a.created < b.seen

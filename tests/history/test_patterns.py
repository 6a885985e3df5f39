"""Which parts of addresses only repeated what is found without them."""

from __future__ import annotations

from importlib import import_module

import pytest
from loopback import prose
from servers import ENGINES, empty_database
from stored import meet

from scrapy_simhash.history.namespaces import choose_namespace
from scrapy_simhash.history.patterns import read_patterns
from scrapy_simhash.history.selection import EVERYTHING, read_selection
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule


def read(database):
    found = read_patterns(choose_namespace(database, None), EVERYTHING)
    return {one.part: one for one in found}


@pytest.fixture
def patterns_of(tmp_path):
    def patterns_of(pages):
        with Index(f"sqlite:///{tmp_path / 'seen.db'}", namespace="n") as index:
            meet(index, pages)
            return read(index.database)

    return patterns_of


def sessions(count, *, number=1):
    return [(f"http://a.test/p/{number}?sid={session}", number) for session in range(count)]


def test_a_session_id_repeats(patterns_of):
    pages = [*sessions(5), *sessions(3, number=2), ("http://a.test/p/3?sid=9", 3)]
    (found,) = patterns_of(pages).values()
    assert found.part == "a.test/p/?sid"
    assert (found.pages, found.compared, found.groups, found.repeats) == (9, 8, 2, 6)
    assert found.example in {url for url, _ in pages}


def test_the_address_without_the_part_is_compared_too(patterns_of):
    items = [(f"http://a.test/item/{number}", number) for number in range(60)]
    repeats = [(f"{url}?sid={number}", number) for url, number in items]
    (found,) = patterns_of(items + repeats).values()
    assert (found.part, found.pages) == ("a.test/item/?sid", 60)
    assert (found.compared, found.groups, found.repeats) == (120, 60, 60)


def test_an_address_without_the_part_that_is_another_page_contradicts(patterns_of):
    pages = [("http://a.test/list/1", "first"), ("http://a.test/list/1?page=2", "second")]
    (found,) = patterns_of(pages).values()
    assert (found.compared, found.contradicted, found.repeats) == (2, 1, 0)


def test_a_calendar_is_compared_with_its_own_page(patterns_of):
    months = [(f"http://a.test/events/2031/{month}", "events") for month in range(1, 13)]
    found = patterns_of([*months, ("http://a.test/events/", "start")])["a.test/events/*"]
    assert (found.compared, found.contradicted) == (13, 1)


def test_one_page_that_is_another_contradicts(patterns_of):
    found = patterns_of([*sessions(9), ("http://a.test/p/1?sid=9", 7)])
    assert (found["a.test/p/?sid"].contradicted, found["a.test/p/?sid"].repeats) == (1, 0)


def test_a_parameter_that_identifies_the_page_is_contradicted(patterns_of):
    found = patterns_of(
        [(f"http://a.test/p?id={number}&sid={number}", number) for number in (1, 2)]
    )
    assert found["a.test/p?id"].compared == 0
    found = patterns_of([(f"http://b.test/p?id={number}&sid=5", number) for number in (3, 4, 3)])
    assert found["b.test/p?id"].contradicted == 1


def test_duplicates_of_different_things_did_not_fall_together(patterns_of):
    # The pages of a mirror are all duplicates, and its ids say everything.
    known = [(f"http://a.test/{number}", number) for number in range(4)]
    mirror = [(f"http://mirror.test/p?id={number}", number) for number in range(4)]
    found = patterns_of(known + mirror)["mirror.test/p?id"]
    assert (found.contradicted, found.repeats) == (1, 0)
    assert found.pages == 4


def test_the_same_name_elsewhere_is_another_part(patterns_of):
    found = patterns_of(
        [*sessions(3), ("http://a.test/q/1?sid=1", 5), ("http://a.test/q/1?sid=2", 6)]
    )
    assert (found["a.test/p/?sid"].repeats, found["a.test/q/?sid"].repeats) == (2, 0)


def test_an_address_that_was_seen_often_counts_once(patterns_of):
    found = patterns_of(3 * sessions(2))["a.test/p/?sid"]
    assert (found.pages, found.compared, found.repeats) == (2, 2, 1)


def test_a_calendar_repeats_at_the_end_of_its_path(patterns_of):
    pages = [(f"http://a.test/events/2031/{month}", "events") for month in range(1, 13)]
    found = patterns_of(pages)["a.test/events/*"]
    assert (found.compared, found.repeats) == (12, 11)


def test_files_below_the_root_are_one_place(patterns_of):
    pages = [(f"http://a.test/{number}-x.html", number) for number in range(6)]
    repeats = [(f"{url}?sid={number}", number) for url, number in pages]
    (found,) = patterns_of(pages + repeats).values()
    assert (found.part, found.repeats) == ("a.test/*.html?sid", 6)


def test_pages_are_compared_with_those_of_their_run(tmp_path):
    """A page that was updated between two runs is no other page because of its session id."""
    url, rule = f"sqlite:///{tmp_path / 'seen.db'}", Rule(known="pass")
    for run in (1, 2):
        with Index(url, rule=rule) as index:
            pages = [f"http://a.test/p/1?sid={run}{n}" for n in range(run + 1)]
            meet(index, [(page, f"of run {run}") for page in pages])
            namespace = choose_namespace(index.database, None)
            for runs in ([run], []):
                (found,) = read_patterns(namespace, read_selection(namespace, runs=runs))
                assert (found.compared, found.contradicted, found.repeats) == (run + 1, 0, run)


def test_what_nothing_stands_for_is_no_evidence(tmp_path):
    with Index(f"sqlite:///{tmp_path / 'seen.db'}", namespace="n") as index:
        document = index.document(prose(1), key="1", url="http://a.test/p?sid=1")
        (first,) = index.execute(claims=[document])
        meet(index, [("http://a.test/p?sid=2", 1)])
        index.execute(release=[first])
        assert read(index.database) == {}


def test_of_many_rows_the_newest_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(import_module("scrapy_simhash.history.patterns"), "_PAGE", 2)
    with Index(f"sqlite:///{tmp_path / 'seen.db'}", namespace="n") as index:
        meet(index, sessions(8))
        namespace = choose_namespace(index.database, None)
        (every,) = read_patterns(namespace, EVERYTHING)
        (newest,) = read_patterns(namespace, EVERYTHING, limit=3)
    assert (every.pages, newest.pages) == (8, 3)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_answers_the_same(tmp_path, engine):
    with empty_database(engine, tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        with Index(address, namespace="n") as index:
            meet(index, sessions(4))
            assert read(index.database)["a.test/p/?sid"].repeats == 3

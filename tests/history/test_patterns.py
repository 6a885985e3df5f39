"""Which parts of addresses only repeated what is found without them."""

from __future__ import annotations

import pytest
from loopback import prose
from servers import ENGINES, empty_database
from stored import meet

from scrapy_simhash.history.patterns import read_patterns
from scrapy_simhash.history.sql import EVERYTHING, choose_namespace, read_selection
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


def test_a_parameter_that_identifies_the_page_is_contradicted(patterns_of):
    found = patterns_of(
        [(f"http://a.test/p?id={number}&sid={number}", number) for number in (1, 2)]
    )
    assert found["a.test/p?id"].compared == 0
    found = patterns_of([(f"http://b.test/p?id={number}&sid=5", number) for number in (3, 4, 3)])
    assert found["b.test/p?id"].contradicted == 1


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


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_answers_the_same(tmp_path, engine):
    with empty_database(engine, tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        with Index(address, namespace="n") as index:
            meet(index, sessions(4))
            assert read(index.database)["a.test/p/?sid"].repeats == 3

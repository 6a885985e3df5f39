"""Which known pages may be left unread, by how the runs ended that read them."""

from __future__ import annotations

import pytest
from servers import ENGINES

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.pages import PageRow, Pages, PageVisit
from scrapy_simhash.index.runs import Run

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def open_run(db: Database, job: str = "") -> Run:
    return Run.open(db, spider="shop", job=job, records_pages=True)


def read(db: Database, run: Run, number: int) -> None:
    """Record that a run has read two pages: one with links, and one without."""
    pages = [PageRow(identity=2 * number + links, has_links=bool(links)) for links in (0, 1)]
    index = Index(db, namespace="shop", run=run)
    index.execute(visits=[PageVisit(page, "read") for page in pages])


def trusted(db: Database, runs: int) -> list[tuple[bool, bool]]:
    """By the number of a run, whether its page with links is trusted, and the other one."""
    run = open_run(db)
    index = Index(db, namespace="shop", run=run)
    pages = Pages(db, run, index.id).find(range(2 * runs))
    run.close(settled=True, reason="finished")
    found = [page is not None and page.is_trusted for page in pages]
    return list(zip(found[1::2], found[::2], strict=True))


def test_links_of_a_run_that_was_stopped_were_not_all_followed(db: Database) -> None:
    together = [open_run(db) for _ in range(2)]
    for number, (run, reason) in enumerate(zip(together, ("finished", "shutdown"), strict=True)):
        read(db, run, number)
        run.close(settled=True, reason=reason)
    assert trusted(db, 2) == [(True, True), (False, True)]


def test_a_job_follows_links_until_it_has_finished(db: Database) -> None:
    for number, reason in enumerate(("shutdown", "shutdown", "finished")):
        run = open_run(db, job="job")
        read(db, run, number)
        run.close(settled=True, reason=reason)
    assert trusted(db, 3) == [(True, True)] * 3


def test_links_of_a_visit_of_which_a_run_died_were_not_all_followed(db: Database) -> None:
    together = [open_run(db) for _ in range(2)]
    for number, run in enumerate(together):
        read(db, run, number)
    together[0].abandon()
    together[1].close(settled=True, reason="finished")
    assert trusted(db, 2) == [(False, False), (False, True)]


def test_a_run_that_records_no_pages_makes_all_be_read(db: Database) -> None:
    run = open_run(db)
    read(db, run, 0)
    run.close(settled=True, reason="finished")
    assert trusted(db, 1) == [(True, True)]
    Run.open(db, spider="shop").close(settled=True, reason="finished")
    assert trusted(db, 1) == [(False, False)]


def visit(db: Database, reason: str = "finished") -> bool:
    """Whether a visit with one page reads all pages."""
    run = open_run(db)
    index = Index(db, namespace="shop", run=run)
    pages = Pages(db, run, index.id)
    index.execute(visits=[PageVisit(PageRow(identity=1), "read")])
    (found,) = pages.find([1])
    run.close(settled=True, reason=reason)
    pages.close()
    assert found is not None
    return found.in_full_visit


def test_a_visit_that_reads_all_pages_is_made_again_once_if_it_was_stopped(db: Database) -> None:
    assert [visit(db) for _ in range(10)] == [True] + [False] * 9
    assert visit(db, "shutdown")
    assert visit(db, "shutdown")
    assert [visit(db) for _ in range(10)] == [False] * 9 + [True]


def test_where_the_first_visit_was_stopped_the_next_one_reads_what_is_missing(db: Database) -> None:
    assert visit(db, "closespider_pagecount")
    assert not visit(db)

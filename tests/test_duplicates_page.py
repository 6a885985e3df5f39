"""Every example on the page on duplicates gets the verdict that the page states."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from duplicate_cases import CASES
from hosts import serve_hosts
from loopback import PageSpider, crawl
from scrapy.utils.defer import deferred_f_from_coro_f
from servers import cleared_database
from visits import IN_ORDER, claims_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from duplicate_pages import Case, Visit
    from hosts import Hosts
    from loopback import Crawl

TESTS = Path(__file__).parent
PAGES = (TESTS.parent / "docs" / "duplicates.md", TESTS / "duplicate_examples.md")
VERDICTS = ("kept", "dropped")


class Example(NamedTuple):
    name: str
    verdict: str
    why: str


class Change(NamedTuple):
    setting: str
    name: str
    verdict: str


#: Behind a reason: which setting leads to the other verdict.
CHANGE = re.compile(r"; (kept|dropped) with `(SIMHASH_.+)`$")


def rows_of(page: Path) -> list[list[str]]:
    """The cells of all tables."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.read_text("utf-8").splitlines()
        if line.startswith("|")
    ]


EXAMPLES = [Example(*row) for page in PAGES for row in rows_of(page) if row[1] in VERDICTS]
CHANGES = [
    Change(setting, example.name, verdict)
    for example in EXAMPLES
    for verdict, setting in CHANGE.findall(example.why)
]


class Reader(PageSpider):
    """Yields what a function reads from each page, and remembers from which."""

    name = "reader"
    handle_httpstatus_list = (404, 500)

    def __init__(self, urls: list[str], read: Callable[..., Any]) -> None:
        super().__init__(urls)
        self.read = read
        self.given: list[tuple[str, Any]] = []

    def parse(self, response):
        for item in self.read(response):
            self.given.append((response.url, item))
            yield item


def hosts_of(pages: Mapping[str, Any]) -> Hosts:
    hosts: Hosts = {}
    for url, page in pages.items():
        parts = urlsplit(url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        hosts.setdefault(parts.netloc, {})[path] = page
    return hosts


async def crawls(visits: Iterable[Visit], case: Case, settings: Mapping[str, Any]) -> list[Crawl]:
    done = []
    for visit in visits:
        with serve_hosts(hosts_of(visit)) as through:
            done.append(await crawl(Reader, {**settings, **through}, list(visit), read=case.read))
    return done


def kept_by(done: Crawl) -> list[bool]:
    """Whether a crawl kept each of its items, in their order."""
    kept = {id(item) for item in done.items}
    return [id(item) in kept for _, item in done.crawler.spider.given]


def verdicts(case: Case, done: list[Crawl]) -> set[str]:
    """What became of the items that an example is about; all others are kept."""
    first_page, found = next(iter(case.visits[0])), set()
    for number, one in enumerate(done):
        kept = {id(item) for item in one.items}
        given = one.crawler.spider.given
        assert len(given) == len(one.items) + len(one.drops)
        firsts = [item for url, item in given if (number, url) == (0, first_page)]
        if len(case.visits) == len(case.visits[0]) == 1:
            # All that there is stands on one page.
            firsts = firsts[:1]
        for _, item in given:
            verdict = "kept" if id(item) in kept else "dropped"
            if case.about(item) and not any(item is first for first in firsts):
                found.add(verdict)
            else:
                assert verdict == "kept"
    return found


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    url = cleared_database("sqlite", tmp_path).render_as_string(hide_password=False)
    return {"SIMHASH_DATABASE_URL": url, **IN_ORDER}


def test_every_example_has_a_crawl_and_every_crawl_is_an_example():
    names = [example.name for example in EXAMPLES]
    assert len(names) == len(set(names))
    assert set(names) == set(CASES)
    assert {change.name for change in CHANGES} <= set(CASES)
    assert len(CHANGES) > 5


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
@deferred_f_from_coro_f
async def test_an_example_is_kept_or_dropped_for_the_reason_that_is_given(settings, example):
    case = CASES[example.name]
    done = await crawls(case.visits, case, settings)
    assert verdicts(case, done) == {example.verdict}
    counted = {name for one in done for name in one.stats}
    for reason in re.findall("`([^`]+)`", CHANGE.sub("", example.why)):
        assert counted & {f"kept/other_facts/{reason}", f"skipped/{reason}"}, reason
    claims = claims_in(settings)
    (again,) = await crawls(case.visits[-1:], case, settings)
    assert kept_by(again) == kept_by(done[-1]), "the next crawl of the same pages keeps others"
    assert claims_in(settings) == claims, "the next crawl of the same pages claims something new"


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.setting} {change.name}")
@deferred_f_from_coro_f
async def test_a_setting_changes_the_verdict_on_an_example(settings, change):
    (before,) = (example.verdict for example in EXAMPLES if example.name == change.name)
    assert change.verdict != before
    name, _, value = change.setting.partition(" = ")
    case = CASES[change.name]
    done = await crawls(case.visits, case, settings | {name: ast.literal_eval(value)})
    assert verdicts(case, done) == {change.verdict}

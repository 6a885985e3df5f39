"""How much is found, and how much is lost, on sites as they are.

    python -m benchmarks.noisy --set tuned
    python -m benchmarks.noisy --kinds wordpress,drupal --spiders AL --wrong --why
    python -m benchmarks.noisy --setting SIMILARITY=.8
    python -m benchmarks.noisy --set all --totals --without rows   # what a part decides
    python -m benchmarks.noisy --set all --different   # things that are alike, and all different
    python -m benchmarks.noisy --set all --spread 3    # a page of each thing, on one of three sites

Every kind of site is crawled by every spider: items and pages go through the plugin's own code into
an index of their own, in the order in which the kind gives them, and what is kept is stored. Each
cell of the table has the share of the copies that were dropped, and how many things were lost: all
of their pages were dropped, so that nothing of them is stored.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from importlib import import_module
from itertools import count, groupby
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from scrapy.http import HtmlResponse, Request
from scrapy.utils.request import fingerprint
from scrapy.utils.test import get_crawler

from benchmarks.noisy.site import Kind, Page
from benchmarks.noisy.spiders import SPIDERS, Seen
from benchmarks.noisy.without import NAMES, switch_off
from scrapy_simhash.crawl.document import DocumentMaker
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.crawl.tracking import Page as Tracked
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import BATCH, Index
from tests.tracked import document_of, tracked

#: The sets and their packages: the rule was made on the first one, which the tests use.
SETS = {
    "tuned": "tests.noisy.tuned",
    "aside": "benchmarks.noisy.aside",
    "fresh": "benchmarks.noisy.fresh",
    "short": "benchmarks.noisy.short",
}
_ROOT = Path(__file__).parents[2]
_PAIRS = 4  # of a kind and a spider that are printed


class Outcome(NamedTuple):
    """What became of a page.

    Attributes:
        page: the page.
        match: the page it was dropped as a copy of; None where it was kept.
        why: the similarity with that, or what kept it: the field that differs from a similar one,
            why it was not compared, or "" where nothing was similar.
    """

    page: Page
    match: Page | None
    why: str


class Tally(NamedTuple):
    """Counts of a kind and a spider.

    Attributes:
        copies: pages of a thing, beyond the first; later visits of an address aside.
        found: pages dropped as copies of the same thing.
        things: different things.
        lost: those that no stored page shows.
        wrong: pages dropped as copies of another thing.
    """

    copies: int = 0
    found: int = 0
    things: int = 0
    lost: int = 0
    wrong: int = 0

    @property
    def recall(self) -> float | None:
        return self.found / self.copies if self.copies else None


class Measured(NamedTuple):
    """A kind, crawled by one spider."""

    kind: str
    spider: str
    outcomes: Sequence[Outcome]

    @property
    def first_visits(self) -> list[Outcome]:
        """Those of addresses that no earlier crawl has met."""
        first: dict[tuple[str, str], Outcome] = {}
        for outcome in self.outcomes:
            first.setdefault((outcome.page.url, outcome.page.card), outcome)
        return [*first.values()]

    @property
    def wrong(self) -> list[Outcome]:
        """The pages that were dropped as copies of another thing."""
        return [one for one in self.outcomes if one.match and one.match.thing != one.page.thing]

    @property
    def tally(self) -> Tally:
        first = self.first_visits
        things = {page.thing for page, _, _ in first}
        kept = {page.thing for page, match, _ in self.outcomes if match is None}
        found = sum(match is not None and match.thing == page.thing for page, match, _ in first)
        return Tally(
            len(first) - len(things), found, len(things), len(things - kept), len(self.wrong)
        )


def find_kinds(names: Iterable[str]) -> dict[str, list[Kind]]:
    """The kinds of each of these sets."""
    return {
        name: [
            kind
            for path in sorted((_ROOT / SETS[name].replace(".", "/")).glob("[a-z]*.py"))
            for kind in import_module(f"{SETS[name]}.{path.stem}").KINDS
        ]
        for name in names
    }


def crawl(
    pages: Sequence[Page],
    spider: str,
    settings: Mapping[str, Any],
    look: Callable[[Database], object] = lambda _: None,
) -> list[Outcome]:
    """Let a spider meet pages in their order, and store what is kept; then look at the index."""
    given = {f"SIMHASH_{name}": value for name, value in settings.items()}
    crawler = get_crawler(settings_dict={**given, "TELNETCONSOLE_ENABLED": False})
    read = Settings.read(crawler.settings)
    outcomes: list[Outcome] = []
    claims: dict[int, Page] = {}
    # With a drawn secret the figures would differ a little from run to run.
    with closing(Database("sqlite://", secret="sites as they are")) as database:
        maker = DocumentMaker(read, CrawlStats(crawler.stats), lambda: database.secret)
        tracked_pages = _tracked(pages, spider)
        for _, one_crawl in groupby(tracked_pages, lambda met: met[0].crawl):
            with read.open_index(database, "noisy") as index:
                met = [*one_crawl]
                for start in range(0, len(met), BATCH):
                    outcomes += _claim(met[start : start + BATCH], maker, index, claims)
        look(database)
    return outcomes


def _tracked(pages: Sequence[Page], spider: str) -> Iterator[tuple[Page, Tracked, Any]]:
    """Each page, what the plugin tracks it as, and its item."""
    downloads = count(1)
    for _, same in groupby(enumerate(pages), lambda met: (met[1].url, met[1].crawl, met[1].html)):
        download, listed = next(downloads), [*same]
        for number, page in listed:
            # A response for each, as the tree of an item that is alone is released.
            response = HtmlResponse(
                page.url, body=page.html, encoding="utf-8", request=Request(page.url)
            )
            key = fingerprint(response.request).hex()
            item = SPIDERS[spider](Seen(page, response, 1 + 7 * number % 23))
            yield page, tracked(response, is_alone=not page.card, key=key, download=download), item


def _claim(
    batch: Sequence[tuple[Page, Tracked, Any]],
    maker: DocumentMaker,
    index: Index,
    claims: dict[int, Page],
) -> Iterator[Outcome]:
    made = [document_of(maker, visited, item) for _, visited, item in batch]
    verdicts = index.execute(claims=[one for one in made if not isinstance(one, str)])
    index.execute(confirm=verdicts)
    answers = iter(verdicts)
    for (page, _, _), one in zip(batch, made, strict=True):
        if isinstance(one, str):
            yield Outcome(page, None, f"not compared: {one}")
            continue
        verdict = next(answers)
        if one.reason is not None:
            yield Outcome(page, None, f"not compared: {one.reason}")
            continue
        if verdict.claim is not None:
            claims[verdict.claim.id] = page
        if verdict.kind == "duplicate" and verdict.match is not None:
            yield Outcome(page, claims[verdict.match.claim], f"{verdict.match.similarity:.3f}")
        else:
            yield Outcome(page, None, verdict.differs or ("same" if verdict.match else ""))


def has_copies(kind: Kind) -> bool:
    """Whether several pages of a crawl show the same thing."""
    first = {(page.url, page.card): page.thing for page in kind.pages(8)}
    return len({*first.values()}) < len(first)


def spread(pages: Iterable[Page], sites: int) -> list[Page]:
    """One page of each thing, in turn on one of so many sites: nothing may be dropped."""
    first: dict[str, Page] = {}
    for page in pages:
        first.setdefault(page.thing, page)
    hosts = [f"www.site{number}.example" for number in range(sites)]
    return [
        page._replace(url=urlsplit(page.url)._replace(netloc=hosts[number % sites]).geturl())
        for number, page in enumerate(first.values())
    ]


def measure(
    kind: Kind,
    spiders: Iterable[str],
    settings: Mapping[str, Any],
    things: int | None = None,
    sites: int = 0,
) -> list[Measured]:
    """Crawl a kind of site, or what it shows, spread over several sites, with several spiders."""
    pages = kind.pages(things)
    if sites:
        pages = spread(pages, sites)
    return [Measured(kind.name, spider, crawl(pages, spider, settings)) for spider in spiders]


def summed(measured: Iterable[Measured]) -> Tally:
    return Tally(*map(sum, zip(Tally(), *(one.tally for one in measured), strict=True)))


def alike_of(measured: Iterable[Measured], spider: str) -> Iterator[Measured]:
    """The kinds without copies, as one spider crawled them: their things are only alike."""
    return (one for one in measured if one.spider == spider and not one.tally.copies)


def _cell(tally: Tally) -> str:
    recall = "" if tally.recall is None else f"{tally.recall:.2f}"
    if tally.recall is None and not tally.lost:
        recall = "-"
    return f"{recall} {tally.lost} lost".strip() if tally.lost else recall


def table(measured: Sequence[Measured], spiders: Sequence[str]) -> list[str]:
    """A row for each kind, and rows for all copies, all things, and those that are only alike."""
    rows = []
    for name, group in groupby(measured, lambda one: one.kind):
        tallies = {one.spider: one.tally for one in group}
        first = tallies[spiders[0]]
        rows.append(
            [name, first.copies or "", first.things, *(_cell(tallies[one]) for one in spiders)]
        )
    totals = [summed(one for one in measured if one.spider == spider) for spider in spiders]
    first = totals[0]
    recalls = ["" if one.recall is None else f"{one.recall:.3f}" for one in totals]
    rows.append(["recall of all copies", first.copies, "", *recalls])
    rows.append(["things lost", "", first.things, *(one.lost for one in totals)])
    different = [summed(alike_of(measured, spider)) for spider in spiders]
    if any(one.things for one in different):
        shares = (f"{one.wrong / one.things:.2%}" for one in different)
        rows.append(["different things dropped", "", different[0].things, *shares])
    heads = ["kind", "copies", "things", *spiders]
    cells = [[str(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    return [
        "| " + " | ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]


def report(measured: Iterable[Measured], *, wrong: bool, why: bool) -> Iterator[str]:
    """The pairs that were taken for copies and are none; why copies were kept."""
    for one in measured:
        name = f"{one.kind}, {one.spider}"
        if wrong:
            for page, match, similarity in one.wrong[:_PAIRS]:
                assert match is not None
                yield f"{name}: {page.url} {page.card} dropped as a copy of"
                yield f"    {match.url} {match.card} (similarity {similarity})"
            if len(one.wrong) > _PAIRS:
                yield f"{name}: and {len(one.wrong) - _PAIRS} more"
        if why and (reasons := _reasons(one)):
            counts = ", ".join(f"{reason} {times}" for reason, times in reasons.most_common(4))
            yield f"{name}: copies kept by {counts}"


def _reasons(measured: Measured) -> Counter[str]:
    """What kept copies."""
    seen: set[str] = set()
    reasons: Counter[str] = Counter()
    for page, match, reason in measured.first_visits:
        if match is None and page.thing in seen:
            reasons[reason or "(not near)"] += 1
        seen.add(page.thing)
    return reasons


def _setting(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError("write NAME=VALUE, for example SIMILARITY=.8")
    return name.upper().removeprefix("SIMHASH_"), value


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.noisy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--set", choices=(*SETS, "all"), default="tuned")
    parser.add_argument("--kinds", default="", help="parts of their names, with commas")
    parser.add_argument("--spiders", default="".join(SPIDERS), help="letters, such as ABZ")
    parser.add_argument("--setting", type=_setting, action="append", default=[])
    parser.add_argument("--without", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--things", type=int, help="of each kind, instead of its usual count")
    parser.add_argument("--different", action="store_true", help="only kinds without copies")
    parser.add_argument("--spread", type=int, default=0, metavar="SITES", help="one page of each")
    parser.add_argument("--totals", action="store_true", help="print no row for each kind")
    parser.add_argument("--wrong", action="store_true", help="print wrong pairs")
    parser.add_argument("--why", action="store_true", help="print why copies were kept")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    wanted = [part for part in options.kinds.lower().split(",") if part]
    settings = dict(options.setting)
    for name, kinds in find_kinds(SETS if options.set == "all" else [options.set]).items():
        chosen = [
            kind
            for kind in kinds
            if (not wanted or any(part in kind.name.lower() for part in wanted))
            and not (options.different and has_copies(kind))
        ]
        if not chosen:
            continue
        with ProcessPoolExecutor(
            options.processes, initializer=switch_off, initargs=(options.without,)
        ) as pool:
            jobs = [
                pool.submit(
                    measure, kind, options.spiders, settings, options.things, options.spread
                )
                for kind in chosen
            ]
            measured = [one for job in jobs for one in job.result()]
        rows = table(measured, options.spiders)
        if options.totals:
            rows = rows[:2] + rows[2 + len(chosen) :]
        heading = ", ".join([name, *(f"{key} = {value}" for key, value in settings.items())])
        if options.without:
            heading += f", without {options.without}"
        print(f"## {heading}\n\n" + "\n".join(rows) + "\n")
        print("\n".join(report(measured, wrong=options.wrong, why=options.why)))

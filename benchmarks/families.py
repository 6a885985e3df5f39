"""What a family costs a crawl: many different pages with nearly the same text, all of them stored.

    python benchmarks/families.py
    python benchmarks/families.py --pages 2000 --rounds 9 --spider text

The families are products of a shop under one text, ads of one employer, and views of one list. Each
page is compared with many stored ones, and should cost little more than a page with a fresh text.
Printed are medians, beside those of fresh pages: the CPU of a page with all that Scrapy does, the
time of a claim in the thread of the database, and the CPU of the report of the whole crawl. Pages
are made in the process, nothing goes through a network.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from crawl import PLUGIN, SPAWN, Contestant, Crawl
from crawl import crawl as crawl_pages
from scrapy.http import HtmlResponse, Request

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.sql import choose_namespace
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.report.data import read_report
from scrapy_simhash.report.html import write_report

WORDS = 200
PLACES = [
    f"{start}{end}" for start in ("Nor", "Wes", "Lang", "Ober") for end in ("ham", "by", "au")
]


@lru_cache
def text_of(seed: int, words: int = WORDS) -> str:
    """So many random words, with a capital letter and a full stop in each sentence."""
    rng = random.Random(seed)
    made = ["".join(rng.choices("abcdeghiklmnoprstu", k=6)) for _ in range(words)]
    sentences = (" ".join(made[start : start + 12]) for start in range(0, words, 12))
    return " ".join(f"{sentence.capitalize()}." for sentence in sentences)


def _page(title: str, rows: Mapping[str, str], *paragraphs: str) -> str:
    links = "".join(f'<li><a href="/{place}">{place}</a></li>' for place in PLACES)
    cells = "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in rows.items())
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title></head><body><ul>{links}</ul>"
        f"<article><h1>{title}</h1><table>{cells}</table>{body}</article></body></html>"
    )


def fresh(number: int) -> str:
    """A page with a text of its own."""
    return _page(f"Page {number}", {"Topic": f"Topic {number % 50}"}, text_of(number))


def shop(number: int) -> str:
    """A product whose code and price are different, in its rows and in its text."""
    code, price = f"AB-{1000 + number}", f"{number % 400}.90 EUR"
    rows = {"Code": code, "Price": price, "Colour": PLACES[number % 7]}
    return _page(f"Lamp {code}", rows, text_of(-1), f"Lamp {code} costs {price}.")


def jobs(number: int) -> str:
    """An ad with a place, a day and a number of its own."""
    place, day = PLACES[number % len(PLACES)], f"2024-{1 + number % 12:02}-{1 + number % 28:02}"
    rows = {"Location": place, "Posted": day, "Reference": f"{70_000 + number}"}
    return _page(f"Driver in {place} {number}", rows, text_of(-2), f"We look forward to {place}.")


def lists(number: int) -> str:
    """A list of the same entries in another order, under another heading."""
    entries = [f"{text_of(-3 - entry, 9)} {entry + 20}.50 EUR" for entry in range(20)]
    random.Random(number).shuffle(entries)
    return _page(f"Lamps for {PLACES[number % 12]} {number}", {"Page": f"{number}"}, *entries)


FAMILIES: dict[str, Callable[[int], str]] = {
    "fresh": fresh,
    "shop": shop,
    "jobs": jobs,
    "lists": lists,
}


class MadePages:
    """A download handler that makes the pages."""

    lazy = False

    async def download_request(self, request: Request) -> HtmlResponse:
        """The page of a request."""
        family, number = request.url.rsplit("/", 2)[1:]
        body = FAMILIES[family](int(number)).encode()
        return HtmlResponse(request.url, body=body, encoding="utf-8")

    async def close(self) -> None:
        """Nothing to close."""


def crawl(family: str, pages: int, kind: str) -> tuple[Crawl, float]:
    """Crawl so many pages in this process; the crawl, and the CPU of its report in seconds."""
    settings = {**PLUGIN, "DOWNLOAD_HANDLERS": {"http": f"{__name__}.MadePages"}}
    urls = [f"http://shop.example/{family}/{number}" for number in range(pages)]
    with TemporaryDirectory() as folder:
        done = crawl_pages(urls, Contestant(settings), kind, folder)
        started = time.process_time()
        database = Database(f"sqlite:///{folder}/index.sqlite")
        write_report(read_report(choose_namespace(database, None), Rule()), Path(folder, "r.html"))
        database.close()
        return done, time.process_time() - started


def main() -> None:
    """Crawl the families in turn, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spider", choices=("selectors", "text"), default="selectors")
    arguments = parser.parse_args()
    rounds: list[dict[str, tuple[float, float, float]]] = []
    with ProcessPoolExecutor(1, mp_context=SPAWN, max_tasks_per_child=1) as one_each:
        for _ in range(arguments.rounds):
            costs = {}
            for family in FAMILIES:
                job = one_each.submit(crawl, family, arguments.pages, arguments.spider)
                done, report = job.result()
                if done.stored < done.received or done.errors:
                    raise SystemExit(f"{family}: {done.received} pages, {done.stored} stored")
                claim = 1000 * done.stages[2] / done.received
                costs[family] = done.cpu_per_page, claim, report
            rounds.append(costs)
    print("| family | ms of CPU a page | to fresh | ms a claim | to fresh | report, s | to fresh |")
    print("|---|---|---|---|---|---|---|")
    for family in FAMILIES:
        cells = [family]
        for place in range(3):
            figures = [costs[family][place] for costs in rounds]
            ratios = [costs[family][place] / costs["fresh"][place] for costs in rounds]
            cells += [f"{median(figures):.2f}", f"{median(ratios):.2f}"]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()

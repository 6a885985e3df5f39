"""What SIMHASH_PRUNE spares of a site with session ids, a calendar and facets, and what it loses.

    python -m benchmarks.prune
    python -m benchmarks.prune --products 480 --sessions 40 --months 600

The site is that of tests/repeating_site.py, served over loopback. It is crawled without the setting
and with it, each time into a new index; then with it once more, into the index of the crawl
without, as a crawl that begins with what an earlier one has met. Needed are the pages without which
something could not be reached, one address each; all other downloads are useless. A line a crawl:

- *downloads*: requests that the site has seen, that for an address that can't exist included.
- *useless*: those that were not needed.
- *spared*: how much smaller that is than without the setting.
- *found*: what was stored, by what it is, of all there is. What the last crawl meets under another
  address than the first one did is a duplicate of what that has stored.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from loopback import answering
from repeating_site import EverythingSpider, RepeatingSite


def crawl(address: str, settings: dict[str, Any]) -> set[str]:
    """Crawl the site in this process, which is good for one crawl only; gives what was stored."""
    from scrapy import signals
    from scrapy.crawler import CrawlerProcess

    things: set[str] = set()

    def scraped(item: dict[str, Any]) -> None:
        things.add(item["thing"])

    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_simhash.Addon": 500},
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            **settings,
        }
    )
    crawler = process.create_crawler(EverythingSpider)
    crawler.signals.connect(scraped, signals.item_scraped)
    process.crawl(crawler, site=address)
    process.start()
    return things


def main() -> None:
    """Crawl what the command line asks for, and print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("products", "sessions", "months", "per_page", "pages"):
        default = getattr(RepeatingSite, name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    site = RepeatingSite(**vars(parser.parse_args()))
    needed, things = len(site.needed()), site.things()
    asked: list[str] = []

    def find(target: str) -> bytes | None:
        asked.append(target)
        return site.find(target)

    print(f"{needed} pages are needed, {len(things)} things are there\n")
    print("| crawl | downloads | useless | spared | found |")
    print("|---|---|---|---|---|")
    useless = 0
    with TemporaryDirectory() as folder, answering(find) as address:
        for name, index, prune in (
            ("without", "first", False),
            ("SIMHASH_PRUNE, a new index", "second", True),
            ("SIMHASH_PRUNE, the index of the first crawl", "first", True),
        ):
            asked.clear()
            url = f"sqlite:///{folder}/{index}.db"
            settings = {"SIMHASH_DATABASE_URL": url, "SIMHASH_PRUNE": prune}
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                found = pool.submit(crawl, address, settings).result()
            mine = len(asked) - needed
            useless = useless or mine
            print(
                f"| {name} | {len(asked):,} | {mine:,} | {1 - mine / useless:.0%} "
                f"| {len(found & things)} of {len(things)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

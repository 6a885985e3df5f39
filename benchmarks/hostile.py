"""What pages cost that are made to cost too much: those of tests/hostile/attacks.py.

    python -m benchmarks.hostile
    python -m benchmarks.hostile plain_text small_paragraphs     # those whose names begin so

Each page has a process of its own. Its tree is made as Scrapy makes it for a spider, then the page
goes the way of a crawl, up to the document that is compared. Where less than a third of the time is
parsing, the rest goes to hashing each pair of words or ideographs, to finding, normalising and
sorting numbers, or to composing rows of combining marks, whose length SIMHASH_MAX_TEXT limits; and
without the compiled core to creating and scoring an object for each block.

A tree that takes minutes to make, whoever asks for it first, is left out of the first three.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

from scrapy.http import HtmlResponse
from scrapy.settings import Settings as ScrapySettings
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.document import DocumentMaker
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.stats import CrawlStats
from tests.hostile.attacks import COMPARED, PAGES
from tests.tracked import document_of, tracked

HEAD = """# Pages that cost too much

Written by `python -m benchmarks.hostile`, in CPU seconds. The pages are those of
[attacks.py](../tests/hostile/attacks.py).

- *parse*: building the tree.
- *ours*: everything after it, up to the document that is compared, if the spider has used the tree.
- *ratio*: of the two.
- *held*: both, if the spider has not used the tree. A page that is refused is not even parsed then.
  For so long the event loop does nothing else.
- *MB*: how much the peak of memory exceeds what it was with the tree.
- The last column says whether the page is compared, or why not.

| page | bytes | parse | ours | ratio | held | MB | |
|---|---|---|---|---|---|---|---|"""
#: Nobody waits for the trees of these.
UNPARSED = ("attributes_500000", "attributes_behind_quotes_500000")


def peak() -> float:
    """The most memory that this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(name: str) -> dict[str, object]:
    """The figures of one page; to be called in a process of its own."""
    (attack,) = [attack for attack in PAGES if attack.name == name]
    stats = CrawlStats(get_crawler().stats)
    maker = DocumentMaker(Settings.read(ScrapySettings()), stats, lambda: b"sixteen bytes...")

    def outcome(response: HtmlResponse) -> str:
        made = document_of(maker, tracked(response), {"url": response.url})
        return made if isinstance(made, str) else made.reason or COMPARED

    def response(body: bytes) -> HtmlResponse:
        return HtmlResponse("http://site.example/a", body=body, encoding="utf-8")

    # Tables and modules are loaded with the first page.
    outcome(response("<title>é 1</title><p>one é two 3 ago</p>".encode() * 20))
    body = attack.body
    figures: dict[str, object] = {"bytes": len(body)}
    if name not in UNPARSED:
        parsed = response(body)
        start = time.process_time()
        parsed.selector.root  # noqa: B018 - makes the tree
        made, before = time.process_time(), peak()
        outcome(parsed)
        figures |= {"parse": made - start, "ours": time.process_time() - made}
        figures["memory"] = peak() - before
        del parsed
    fresh = response(body)
    start = time.process_time()
    figures["outcome"] = outcome(fresh)
    figures["held"] = time.process_time() - start
    return figures


def main() -> None:
    """Measure what the command line asks for, and print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="what the names of the pages begin with")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.one)))
        return
    print(HEAD)
    for attack in PAGES:
        if options.names and not attack.name.startswith(tuple(options.names)):
            continue
        command = [sys.executable, "-m", "benchmarks.hostile", "--one", attack.name]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        print(row(attack.kind, json.loads(done.stdout)), flush=True)


def row(name: str, found: dict[str, float]) -> str:
    """A line of the table."""
    ours = " | | "
    memory = ""
    if "parse" in found:
        ratio = found["ours"] / found["parse"]
        ours = f"{found['parse']:.3f} | {found['ours']:.3f} | {ratio:.1f} "
        memory = f"{found['memory']:.0f}"
    return (
        f"| {name.replace('_', ' ')} | {found['bytes']:,} | {ours}"
        f"| {found['held']:.3f} | {memory} | {found['outcome']} |"
    )


if __name__ == "__main__":
    main()

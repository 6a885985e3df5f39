"""How fast the extractors find the main text of real pages; and articles, to place elsewhere.

    python -m benchmarks.text PAGES [--extractors density body] [--limit 200] [--seed 1]

PAGES is a folder or a tar archive of HTML pages. Times are of CPU: every extractor on a freshly
parsed tree of every page, in turn, and once more without the compiled core. The ratio is that of
the mean to the first extractor's. How right the texts are: benchmarks/accuracy.py and published.py.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import random
import re
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.archives import read_html
from scrapy_simhash import native
from scrapy_simhash.text.blocks import width
from scrapy_simhash.text.html import parse_html
from scrapy_simhash.text.page import load_extractor

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from scrapy_simhash.text.page import Extractor

TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
SENTENCE = re.compile(r"[.!?。！？]")
ASIDE = {"a", "aside", "button", "footer", "nav", "noscript", "script", "style", "template"}


class Page(NamedTuple):
    """A page and which of its elements, in document order, holds the article."""

    root: HtmlElement
    article: int


def element_at(root: HtmlElement, position: int) -> HtmlElement:
    """Return the element at a position in document order."""
    return next(itertools.islice(root.iter("*"), position, None))


def find_article(root: HtmlElement) -> int | None:
    """Return the position of the lowest element with four fifths of the page's running text.

    Running text is text outside links and boilerplate tags that has the marks of sentences: a rule
    that shares nothing with the extractors it is meant to judge.
    """
    lengths: dict[HtmlElement, int] = {}
    for element in root.iter():
        inner = element if isinstance(element.tag, str) else None  # not the text of a comment
        for holder, text in ((inner, element.text), (element.getparent(), element.tail)):
            if holder is None or text is None or not SENTENCE.search(text):
                continue
            chain = [holder, *holder.iterancestors()]
            if width(text.strip()) >= 20 and not any(link.tag in ASIDE for link in chain):
                for link in chain:
                    lengths[link] = lengths.get(link, 0) + width(text)
    total = lengths.get(root, 0)
    whole = [element for element, length in lengths.items() if length >= 0.8 * total]
    lowest = max(whole, key=lambda element: sum(1 for _ in element.iterancestors()), default=root)
    if total < 500 or lowest.tag in {"html", "body"}:
        return None
    return list(root.iter("*")).index(lowest)


def refill(element: HtmlElement, source: HtmlElement) -> None:
    """Give an element a copy of the content of another one."""
    element.text = source.text
    element[:] = copy.deepcopy(source)[:]


def compose(template: Page, article: Page) -> HtmlElement:
    """Return a new page: the article of one page in the place of another page's article."""
    root = copy.deepcopy(template.root)
    refill(element_at(root, template.article), element_at(article.root, article.article))
    return root


def link_boxes(root: HtmlElement, article: int) -> list[HtmlElement]:
    """Return the outermost elements outside the article that consist mostly of links."""
    inside = element_at(root, article)
    outside: list[HtmlElement] = []
    stack = [root.find("body")]
    while stack:
        element = stack.pop()
        if element is None or element is inside or not isinstance(element.tag, str):
            continue
        text = len(element.text_content().strip())
        links = sum(len(link.text_content().strip()) for link in element.iter("a"))
        if text >= 20 and 2 * links >= text and inside not in element.iter():
            outside.append(element)
        else:
            stack.extend(element)
    return outside


def without_core(extract: Extractor) -> Extractor:
    """The same extractor on the pure path."""

    def pure(root: HtmlElement) -> str:
        core, native.core = native.core, None
        try:
            return extract(root)
        finally:
            native.core = core

    return pure


def measure_time(pages: list[bytes], extractors: dict[str, Extractor]) -> None:
    """Print milliseconds per page of every extractor, all of them in turn on every page."""
    if native.core is not None:
        pure = {f"{name}, pure": without_core(extract) for name, extract in extractors.items()}
        extractors = {**extractors, **pure}
    seconds: dict[str, list[float]] = {name: [] for name in ("parse", *extractors)}
    order = list(extractors.items())
    for body in pages:
        order.append(order.pop(0))  # so that none always comes first
        for name, extract in order:
            start = time.process_time()
            root = parse_html(body)
            parsed = time.process_time()
            if root is not None:
                extract(root)
            seconds["parse"].append(parsed - start)
            seconds[name].append(time.process_time() - parsed)
    print(f"\nms a page         mean   median      p99    ratio   ({len(pages)} pages)")
    first = statistics.fmean(seconds[next(iter(extractors))])
    for name, values in seconds.items():
        values.sort()
        figures = (
            statistics.fmean(values),
            statistics.median(values),
            values[len(values) * 99 // 100],
        )
        print(
            f"{name:15}"
            + "".join(f"{1000 * value:7.2f}  " for value in figures)
            + f"{figures[0] / first:7.2f}"
        )


def main() -> None:
    """Read the pages and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path, help="a folder or tar archive of HTML pages")
    parser.add_argument("--extractors", nargs="+", default=["density", "body"])
    parser.add_argument("--limit", type=int, default=200, help="pages taken, at random")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    bodies = [body for _, body in read_html(options.pages)]
    bodies = random.Random(options.seed).sample(bodies, min(options.limit, len(bodies)))
    measure_time(bodies, {name: load_extractor(name) for name in options.extractors})


if __name__ == "__main__":
    main()

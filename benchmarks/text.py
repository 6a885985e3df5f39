"""How well and how fast the extractors find the main text of real pages.

    python benchmarks/text.py PAGES [--extractors density body] [--limit 200] [--seed 1]

PAGES is a folder or a tar archive of HTML pages. Every figure is made from those pages alone:

- *time*: of CPU, every extractor on a freshly parsed tree of every page, in turn, and once more
  without the compiled core. The ratio is that of the mean to the first extractor's.
- *refetch*: the page again, its boxes of links filled with those of another page. The text should
  be the same, character by character.
- *syndicated*: the article of one page under the template of another, compared with the page that
  it came from. These should be near-duplicates (positives).
- *same template*: the same composed page, compared with the page that lent its template. These are
  other articles and should not be near-duplicates (negatives).

Pages are compared by the Jaccard similarity of their texts' shingles of two tokens. A page takes
part in the comparisons when one of its elements below the body holds most of its running text.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import random
import re
import statistics
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash import native
from scrapy_simhash.text.blocks import width
from scrapy_simhash.text.html import parse_html
from scrapy_simhash.text.page import load_extractor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    from scrapy_simhash.text.page import Extractor

SAME = 0.8  # the similarity from which two texts count as near-duplicates
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


def read_pages(source: Path) -> Iterator[bytes]:
    """Yield the HTML pages of a folder or of a tar archive, in the order of their names."""
    if source.is_dir():
        for path in sorted(source.rglob("*.htm*")):
            yield path.read_bytes()
        return
    with tarfile.open(source) as archive:
        for member in sorted(archive, key=lambda member: member.name):
            file = archive.extractfile(member) if ".htm" in member.name else None
            if file is not None:
                yield file.read()


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


def refetch(page: Page, other: Page, rng: random.Random) -> HtmlElement:
    """Return the page with its boxes of links filled from those of another page."""
    root = copy.deepcopy(page.root)
    boxes = link_boxes(other.root, other.article)
    for box in link_boxes(root, page.article):
        if boxes:
            refill(box, rng.choice(boxes))
    return root


def shingles(text: str) -> set[tuple[str, str]]:
    """Return the shingles of two tokens; an ideograph or kana is a token by itself."""
    tokens = TOKEN.findall(text.lower())
    return set(itertools.pairwise(tokens))


def jaccard(a: str, b: str) -> float:
    """Return the Jaccard similarity of two texts; 0 when neither has a shingle."""
    first, second = shingles(a), shingles(b)
    return len(first & second) / (len(first | second) or 1)


def auc(positives: list[float], negatives: list[float]) -> float:
    """Return the chance that a positive is more similar than a negative (ties count half)."""
    wins = sum((p > n) + 0.5 * (p == n) for p in positives for n in negatives)
    return wins / (len(positives) * len(negatives))


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


def measure_quality(
    pages: list[Page], extractors: dict[str, Extractor], rng: random.Random
) -> None:
    """Print how stable and how telling the text of every extractor is."""
    partners = [rng.sample([other for other in pages if other is not page], 3) for page in pages]
    copies = [refetch(page, other[0], rng) for page, other in zip(pages, partners, strict=True)]
    print(
        f"\n({len(pages)} pages)  refetch identical  similar | AUC  syndicated found  same template"
    )
    for name, extract in extractors.items():
        texts = {id(page): extract(page.root) for page in pages}
        positives, negatives, again = [], [], []
        identical = 0
        for page, second, templates in zip(pages, copies, partners, strict=True):
            text = extract(second)
            identical += text == texts[id(page)]
            again.append(jaccard(texts[id(page)], text))
            for template in templates:
                composed = extract(compose(template, page))
                positives.append(jaccard(texts[id(page)], composed))
                negatives.append(jaccard(texts[id(template)], composed))
        print(
            f"{name:16}{identical / len(pages):13.3f}{share(again):13.3f}"
            f"{auc(positives, negatives):9.3f}{share(positives):13.3f}{share(negatives):17.4f}"
        )


def share(similarities: list[float]) -> float:
    """Return the share of near-duplicates."""
    return statistics.fmean(similarity >= SAME for similarity in similarities)


def main() -> None:
    """Read the pages and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path, help="a folder or tar archive of HTML pages")
    parser.add_argument("--extractors", nargs="+", default=["density", "body"])
    parser.add_argument("--limit", type=int, default=200, help="pages taken, at random")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    bodies = list(read_pages(options.pages))
    bodies = rng.sample(bodies, min(options.limit, len(bodies)))
    extractors = {name: load_extractor(name) for name in options.extractors}
    measure_time(bodies, extractors)
    roots = [root for root in map(parse_html, bodies) if root is not None]
    articles = [find_article(root) for root in roots]
    pages = [Page(root, at) for root, at in zip(roots, articles, strict=True) if at is not None]
    measure_quality(pages, extractors, rng)


if __name__ == "__main__":
    main()

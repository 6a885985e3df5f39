"""Real pages whose article is put into the place of another page's: syndication, made.

Of each page the element of the article is known by a rule that shares nothing with the extractors,
see `benchmarks.text.find_article`. Pages on which it is a small part are left out: nobody could say
what such a page is about.
"""

from __future__ import annotations

import copy
import random
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree, html

from benchmarks.accuracy_parts.visits import HALVES, Visit, half_of
from benchmarks.archives import read_html
from benchmarks.text import Page, compose, element_at, find_article, link_boxes, refill
from scrapy_simhash.features.shingles import shingles
from scrapy_simhash.simhash.measure import jaccard
from scrapy_simhash.text.html import parse_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from lxml.html import HtmlElement

__all__ = ["Source", "fetch_again", "read_sources", "syndication", "text_in"]

SLOT = 0.4  # the share of the article in the text of a page
ALIKE = 0.5  # pages whose articles have more in common may be one article already
TEMPLATES = {"zh": 12}  # others into which each article is put, of which there are few
USUAL = 3
LETTERS = str.maketrans("0123456789", "abcdefghij")
CONSTANT = ("header", "nav", "h1", "footer")
UNSEEN = ("script", "style", "noscript", "template", "textarea", "head", "svg", "iframe")


class Source(NamedTuple):
    """A real page with its article, and the site whose template it has, where that is known."""

    name: str
    language: str
    page: Page
    text: str
    body: bytes
    site: str | None = None


def text_in(element: HtmlElement) -> str:
    """The text of an element by the parser alone, without what browsers never show."""
    parts: list[str] = []
    hidden = {inner for name in UNSEEN for inner in element.iter(name)}
    for text in element.xpath(".//text()"):
        holder = text.getparent()
        holder = holder.getparent() if text.is_tail else holder
        if holder is None or isinstance(holder.tag, str):
            around = () if holder is None else (holder, *holder.iterancestors())
            if not hidden.intersection(around):
                parts.append(text)
    return re.sub(r"\s+", " ", " ".join(parts)).strip()


def read_sources(archive: Path) -> Iterator[Source]:
    """Read the pages of an archive whose article is known and large; their folder is a language."""
    for path, body in read_html(archive):
        name = PurePosixPath(path)
        root = parse_html(body)
        at = None if root is None else find_article(root)
        if root is None or at is None:
            continue
        article = element_at(root, at)
        text = text_in(article)
        if len(text) >= SLOT * len(text_in(root)) and not _is_comments(article):
            yield Source(
                re.sub(r"\W+", "-", name.stem), name.parent.name, Page(root, at), text, body
            )


def _is_comments(element: HtmlElement) -> bool:
    """Whether most of the text of a page was written by its readers."""
    around = [element, *element.iterancestors()]
    return any("comment" in f"{one.get('class')} {one.get('id')}".lower() for one in around[:-2])


def distinct(sources: Iterable[Source]) -> list[Source]:
    """Leave out pages whose article resembles that of an earlier one."""
    kept: list[tuple[Source, object]] = []
    for source in sources:
        hashes = shingles(source.text)
        if all(jaccard(hashes, other) < ALIKE for _, other in kept):
            kept.append((source, hashes))
    return [source for source, _ in kept]


def fetch_again(source: Source, other: Source, rng: random.Random) -> HtmlElement:
    """The page with what changes between two visits: links, ids, an advertisement, a time."""
    root = copy.deepcopy(source.page.root)
    boxes = link_boxes(other.page.root, other.page.article)
    for box in link_boxes(root, source.page.article):
        # The name of the site and its menu stay.
        if boxes and rng.random() < 0.5 and box.tag not in CONSTANT and not box.xpath(".//h1"):
            refill(box, rng.choice(boxes))
    for element in root.iter("*"):
        if "id" in element.attrib and rng.random() < 0.5:
            element.set("data-nonce", f"{rng.getrandbits(32):x}")
    body = root.find("body")
    if body is not None:
        words = " ".join(text_in(root).split()[:400:40])
        body.append(
            html.fromstring(f'<div><a href="/?{rng.getrandbits(32):x}">{_plain(words)}</a></div>')
        )
        body.append(html.fromstring(f"<p>{rng.random():.4f} s, {rng.getrandbits(20)}</p>"))
    return root


def syndication(
    sources: Iterable[Source], seed: int = 1, limit: int = 1000
) -> dict[str, list[Visit]]:
    """The visits of each language: all pages, its articles elsewhere, its pages once more.

    No more articles than the limit are taken of a language and a half.
    """
    sources = distinct(sources)
    sets: dict[str, list[Visit]] = {}
    for language in sorted({source.language for source in sources}):
        rng = random.Random(f"{seed} {language}")
        visits: list[Visit] = []
        for half in HALVES:
            pages = [source for source in sources if half_of(source.name) == half]
            group = [source for source in pages if source.language == language][:limit]
            if len(pages) < 2:
                continue  # there is no other template
            visits += _visits(group, pages, half, TEMPLATES.get(language, USUAL), rng)
        sets[language] = visits
    return sets


def _visits(
    group: list[Source], pages: list[Source], half: str, templates: int, rng: random.Random
) -> Iterator[Visit]:
    """The visits of a group of pages; the templates are those of any page."""

    def visit(source: Source, host: str, kind: str, root: HtmlElement) -> Visit:
        url = f"https://{host}.example/{source.name}/{kind.replace(' ', '-')}"
        # Who takes an article over gives it another headline, in other words.
        headline = f"As {host.translate(LETTERS)} has it"
        item = {"url": url, "headline": headline, "articleBody": source.text}
        return Visit(url, source.name, kind, half, _in_utf8(root), source.text, item)

    others = {
        source.name: [
            other
            for other in pages
            if other.name != source.name and (source.site is None or other.site != source.site)
        ]
        for source in group
    }
    for source in {source.name: source for source in (*group, *pages)}.values():
        kind = "original" if source in group else "template"
        yield visit(source, source.name, kind, source.page.root)
    for source in group:
        for other in rng.sample(others[source.name], min(templates, len(others[source.name]))):
            yield visit(source, other.name, "syndicated", compose(other.page, source.page))
    for source in group:
        again = fetch_again(source, rng.choice(others[source.name]), rng)
        yield visit(source, source.name, "fetched again", again)


def _in_utf8(root: HtmlElement) -> bytes:
    """The page in UTF-8, and saying so: its template may have been written in something else."""
    for meta in root.iter("meta"):
        if meta.get("charset"):
            meta.set("charset", "utf-8")
        elif "charset" in meta.get("content", "").lower():
            meta.set("content", "text/html; charset=utf-8")
    page: bytes = etree.tostring(root, encoding="utf-8", method="html")
    return page


def _plain(text: str) -> str:
    return re.sub(r"[<>&]", " ", text)

"""Real web sites in two versions, crawled one after the other, with copies of some pages.

A selector for the site's own content gives the text of a page, so the truth is independent of our
extractor. A page *has a copy* if an earlier page has a text with a similarity of SAME or more.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from hashlib import sha1
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree, html

from benchmarks.accuracy_parts.syndication import text_in
from benchmarks.accuracy_parts.visits import Visit, half_of
from scrapy_simhash.features.shingles import shingles
from scrapy_simhash.simhash.measure import jaccard
from scrapy_simhash.text.html import parse_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from lxml.html import HtmlElement
    from numpy.typing import NDArray

    from benchmarks.accuracy_parts.visits import Judged

__all__ = [
    "COPY",
    "OTHER",
    "Drops",
    "Truth",
    "alike_before",
    "content_of",
    "count_drops",
    "read_site",
    "visits_of_site",
]

COPY = 0.9  # from this similarity on a page has to be found
OTHER = 0.5  # below it a page that is dropped is lost
GREY = 0.8
AGAIN = 4  # one page of so many appears again with a session id, and one as a print view
PAGES = 400  # of a version, at most
FEW = 8  # a page with fewer features can't be told from others


class SitePage(NamedTuple):
    """A page of a site."""

    path: str
    source: bytes
    text: str
    print_view: bytes


def content_of(root: HtmlElement, selector: str) -> tuple[str, bytes] | None:
    """The text of a page by the selector of its site; a print view with its title and that text."""
    found = root.xpath(selector)
    parts = [
        node if isinstance(node, str) else text_in(node) for node in found if _is_content(node)
    ]
    text = re.sub(r"\s+", " ", " ".join(parts)).strip()
    if not text:
        return None
    title = root.findtext("head/title") or ""
    page = html.document_fromstring(
        "<html><head><title></title></head><body><div class='page'></div></body></html>"
    )
    page.find("head/title").text = title
    inside = "".join(
        html.tostring(node, encoding="unicode", with_tail=False)
        if not isinstance(node, str)
        else html.tostring(_plain(node), encoding="unicode")
        for node in found
        if _is_content(node)
    )
    box = page.find("body/div")
    box.extend(html.fragments_fromstring(f"<div>{inside}</div>"))
    return text, etree.tostring(page, encoding="utf-8", method="html")


def read_site(folder: Path, selector: str, limit: int = PAGES) -> Iterator[SitePage]:
    """Read the pages below a folder that say something, some of them where they are many."""
    paths = sorted(folder.rglob("*.html"), key=lambda path: path.relative_to(folder).as_posix())
    names = [path.relative_to(folder).as_posix() for path in paths]
    chosen = set(sorted(names, key=_order)[: min(limit, PAGES)])
    for path, name in zip(paths, names, strict=True):
        if name not in chosen:
            continue
        source = path.read_bytes()
        root = parse_html(source)
        found = None if root is None else content_of(root, selector)
        if found is not None and shingles(found[0]).size >= FEW:
            yield SitePage(name, source, *found)


def visits_of_site(host: str, versions: Sequence[tuple[str, Sequence[SitePage]]]) -> list[Visit]:
    """A crawl of a site with its versions, under addresses of their own, and then the copies.

    What a later crawl finds under another address is new or changed; so this is one crawl. A page
    has the same text under a session id, which all its links contain, and as a print view.
    """
    visits = []
    for number, (version, pages) in enumerate(versions):
        half = {page.path: half_of(page.path) for page in pages}
        for page in pages:
            url = f"https://{host}.example/{version}/{page.path}"
            kind = "old version" if number == 0 else "new version"
            visits.append(Visit(url, url, kind, half[page.path], page.source, page.text))
    version, pages = versions[-1]
    for page in pages:
        url = f"https://{host}.example/{version}/{page.path}"
        turn = _order(page.path)[0] % AGAIN
        if turn == 0:
            source = with_session(page.source)
            again = Visit(f"{url}?sid=7f3a", url, "session", half_of(page.path), source, page.text)
            visits.append(again)
        elif turn == 1:
            again = Visit(
                f"{url}?print=1", url, "print", half_of(page.path), page.print_view, page.text
            )
            visits.append(again)
    return visits


def with_session(source: bytes) -> bytes:
    """The page with a session id in the address of each of its own links."""
    return re.sub(rb'(href="[^":#]+\.html)', rb"\1?sid=7f3a", source)


class Drops(NamedTuple):
    """How the pages of a site were judged.

    Attributes:
        pages: visits.
        copies: those that share COPY or more of an earlier page's text; copies made by us aside.
        found: those of them that were dropped.
        again: copies made by us, under a session id and as print views.
        again_found: those of them that were dropped.
        drops: all that was dropped.
        lost: dropped though what the page and its match say is less than OTHER alike.
        grey: dropped at a similarity from OTHER to GREY.
        differs: what kept pages whose texts are near.
    """

    pages: int
    copies: int
    found: int
    again: int
    again_found: int
    drops: int
    lost: int
    grey: int
    differs: Counter[str]


class Truth(NamedTuple):
    """What is known of the visits of a site without any judge.

    Attributes:
        hashes: of the text of each.
        nearest: for each the largest similarity with an earlier one.
    """

    hashes: Sequence[NDArray[np.uint64]]
    nearest: Sequence[float]

    @classmethod
    def of(cls, visits: Sequence[Visit]) -> Truth:
        """Compare all visits with each other."""
        hashes = [shingles(visit.text) for visit in visits]
        return cls(hashes, [max(one.values(), default=0.0) for one in alike_before(hashes, 0)])


def count_drops(
    visits: Sequence[Visit], judged: Sequence[Judged], truth: Truth, halves: Sequence[str]
) -> Drops:
    """Count what was found and what was lost, of the visits of some halves."""
    hashes, nearest = truth
    counts: Counter[str] = Counter()
    differs: Counter[str] = Counter()
    for number, (visit, (match, reason)) in enumerate(zip(visits, judged, strict=True)):
        if visit.half not in halves:
            continue
        is_dropped = match is not None
        is_again = visit.kind in {"session", "print"}
        counts["pages"] += 1
        counts["drops"] += is_dropped
        if is_again:
            counts["again"] += 1
            counts["again_found"] += is_dropped
        elif nearest[number] >= COPY:
            counts["copies"] += 1
            counts["found"] += is_dropped
        if match is not None:
            alike = jaccard(hashes[number], hashes[match])
            counts["lost"] += alike < OTHER
            counts["grey"] += OTHER <= alike < GREY
        elif reason and (is_again or nearest[number] >= COPY):
            differs[reason] += 1
    return Drops(*(counts[field] for field in Drops._fields[:-1]), differs)


def alike_before(hashes: Iterable[NDArray[np.uint64]], least: float) -> Iterator[dict[int, float]]:
    """For each set of hashes the earlier ones with that Jaccard similarity or more."""
    holders: defaultdict[int, list[int]] = defaultdict(list)
    sizes: list[int] = []
    for number, mine in enumerate(hashes):
        shared: Counter[int] = Counter()
        for value in mine.tolist():
            shared.update(holders[value])
            holders[value].append(number)
        alike = {
            other: common / (mine.size + sizes[other] - common) for other, common in shared.items()
        }
        yield {other: share for other, share in alike.items() if share >= least}
        sizes.append(mine.size)


def _order(name: str) -> bytes:
    return sha1(f"order {name}".encode()).digest()


def _is_content(node: object) -> bool:
    return isinstance(node, str) or isinstance(getattr(node, "tag", None), str)


def _plain(text: str) -> HtmlElement:
    element = html.Element("span")
    element.text = text
    return element

"""Eight spiders: what each makes of a page. See :data:`SPIDERS`."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from hashlib import md5
from typing import Any, NamedTuple

from scrapy.http import HtmlResponse
from scrapy.selector import Selector

from benchmarks.noisy.site import Page

Item = dict[str, Any]
Spider = Callable[["Seen"], Item]


class Seen(NamedTuple):
    """A page as a callback sees it.

    Attributes:
        page: with the selectors of its layout.
        response: with the page.
        rank: its place in the list that leads to it, from 1.
    """

    page: Page
    response: HtmlResponse
    rank: int

    @property
    def within(self) -> Selector:
        """Where selectors are looked up: the card or the page."""
        selector = self.response.selector
        return selector.css(self.page.card)[0] if self.page.card else selector

    @property
    def url(self) -> str:
        link = self.find("link") if self.page.card else None
        return self.response.urljoin(link) if link else self.response.url

    def find(self, name: str) -> str | None:
        """The text that a selector of the layout finds; None where the layout has none."""
        selector = self.page.selectors.get(name)
        found = None if selector is None else self.within.css(selector).get()
        return None if found is None else found.strip()

    def all(self, name: str, between: str, default: str = "") -> str:
        """All text in the elements that a selector finds."""
        selector = self.page.selectors.get(name, default)
        within = self.within.css(selector) if selector else self.within
        return between.join(within.css("::text").getall()).strip()

    def head(self, css: str) -> str | None:
        found: str | None = self.response.css(css).get()
        return found

    @property
    def page_title(self) -> str | None:
        """The text of `<title>`; of a card, its heading."""
        return self.find("title") if self.page.card else self.head("title::text")


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


def clean(seen: Seen) -> Item:
    """A: title, body and date by clean selectors; what it costs, where it is, its number."""
    names = ("price", "place", "number")
    return {
        "url": seen.url,
        "title": seen.find("title"),
        "date": seen.find("date"),
        "body": seen.all("body", ""),
    } | {name: seen.find(name) for name in names if name in seen.page.selectors}


def bare(seen: Seen) -> Item:
    """B: the address and `<title>`, no text; the page is stored elsewhere."""
    return {"url": seen.url, "title": seen.page_title, "crawled": _now()}


def zyte(seen: Seen) -> Item:
    """Z: like an Article or a Product of zyte-common-items, by markup for machines if there is."""
    response = seen.response
    paragraphs = seen.within.css(f"{seen.page.selectors.get('body', 'body')} p")
    texts = [" ".join(p.css("::text").getall()).strip() for p in paragraphs]
    image = seen.head("meta[property='og:image']::attr(content)")
    item = {
        "url": seen.url,
        "canonicalUrl": seen.head("link[rel=canonical]::attr(href)"),
        "headline": seen.find("title"),
        "price": seen.find("price"),
        "sku": seen.find("number"),
        "datePublished": seen.head("meta[property='article:published_time']::attr(content)")
        or seen.find("date"),
        "dateModified": seen.head("meta[property='article:modified_time']::attr(content)")
        or seen.find("updated"),
        "authors": [{"name": name}] if (name := seen.find("author")) else None,
        "breadcrumbs": [
            {"name": "".join(link.css("::text").getall()).strip(),
             "url": response.urljoin(link.attrib.get("href", ""))}
            for link in response.css("[class*=breadcrumb] a")
        ] or None,
        "inLanguage": (seen.head("html::attr(lang)") or "")[:2] or None,
        "mainImage": {"url": image} if image else None,
        "description": seen.head("meta[name=description]::attr(content)")
        or seen.head("meta[property='og:description']::attr(content)"),
        "articleBody": "\n\n".join(filter(None, texts)) or seen.all("body", " "),
        "metadata": {"dateDownloaded": _now()[:-6] + "Z", "probability": 0.98},
    }  # fmt: skip
    return {name: value for name, value in item.items() if value is not None}


def loose(seen: Seen) -> Item:
    """L: `<title>` and the whole article as text."""
    article = "article" if seen.response.css("article") else "main, [role=main]"
    if not seen.response.css(article):
        article = "body"
    text = seen.all("article", " ", "" if seen.page.card else article)
    return {"url": seen.url, "title": seen.page_title, "text": text}


def everything(seen: Seen) -> Item:
    """C: all text of the page, as `//body//text()` finds it."""
    path = ".//text()" if seen.page.card else "//body//text()"
    texts = map(str.strip, seen.within.xpath(path).getall())
    return {"url": seen.url, "text": " ".join(filter(None, texts)), "scraped_at": _now()}


def paragraphs(seen: Seen) -> Item:
    """P: `<title>` and all paragraphs, as most first spiders store them."""
    texts = (" ".join(p.css("::text").getall()).strip() for p in seen.within.css("p"))
    return {"url": seen.url, "title": seen.page_title, "text": "\n".join(filter(None, texts))}


def rich(seen: Seen) -> Item:
    """R: like A, with what the page counts and where it stands."""
    names = ("views", "comments", "category", "updated", "stock")
    more = {name: seen.find(name) for name in names if name in seen.page.selectors}
    return clean(seen) | {"rank": seen.rank} | more


_FILE = re.compile(r"\.(?:pdf|docx?|xlsx?|zip|mp3)$", re.IGNORECASE)


def stored(seen: Seen) -> Item:
    """S: like A, with all else that people store: ids, hashes, links, files, ratings, places."""
    url, css = seen.url, seen.within.css
    words = re.findall(r"[\w-]+", url)
    links = [seen.response.urljoin(link) for link in css("a::attr(href)").getall()]
    return clean(seen) | {
        "id": next(filter(str.isdigit, reversed(words)), words[-1]),
        "url_md5": md5(url.encode()).hexdigest(),
        "links": links,
        "image_urls": [seen.response.urljoin(src) for src in css("img::attr(src)").getall()],
        "file_urls": [link for link in links if _FILE.search(link)],
        "rating": 3 + seen.rank % 20 / 10,
        "votes": 3 * seen.rank,
        "page": 1 + seen.rank // 10,
        "sku": seen.find("number"),
        "scraped_at": _now(),
    }


#: The spiders by the letters that the table gives them.
SPIDERS: dict[str, Spider] = {
    "A": clean,
    "B": bare,
    "Z": zyte,
    "L": loose,
    "C": everything,
    "P": paragraphs,
    "R": rich,
    "S": stored,
}

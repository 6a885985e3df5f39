"""What a kind of site is: pages as such a site makes them, and which of them show the same thing.

A module of kinds has a tuple `KINDS`, and stands in `tests/noisy/tuned/` (looked at while the rule
is made) or in `aside/`, `fresh/` or `short/` (measured once, at the end). All its kinds are found
by that. A kind is made like this::

    SELECTORS = {"title": "h1::text", "body": ".entry", "date": "time::attr(datetime)"}

    def blog(random: Random, count: int) -> Iterator[Page]:
        words = Words(random)
        for number in range(count):
            title, texts = words.title(), words.paragraphs(100, 600)
            for path in (f"/{slug(title)}/", f"/{slug(title)}/print/"):  # two pages of one thing
                html = template(words, title, texts)
                yield Page(f"https://blog.example{path}", html, str(number), SELECTORS)

    KINDS = (Kind("blog with print views", blog),)

Rules for a kind:

- Pages are given in the order in which a crawl gets them. What comes first is stored, so sometimes
  the poorer page should come first; :func:`shuffled` mixes.
- Pages with an equal `thing` are copies of each other: a person who stored one would not want the
  other. Pages with different things must *differ in what a person would want to keep*.
- A kind consists of copies (one copy or two of each thing under another address, in another layout,
  at another time) or of things that are alike but different (every page has a `thing` of its own).
- The pages of a kind come from its own template: DOM, headings, `<title>`, markup for machines,
  breadcrumbs, sidebars, lists of related pages, counters and advertisements as that software or
  that kind of site has them. What changes by itself between two requests changes.
- Everything is drawn from the given `random`, so that each run makes the same pages. Pages are
  HTML in UTF-8 and have links where a site has links.
- Texts have the lengths that such pages have, 100 to 800 words in general.
- Hosts end in ``.example``; copies on another site have another host: ``one.example`` and
  ``www.one.example`` are one site, ``a.blogs.example`` and ``b.blogs.example`` too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import NamedTuple


class Page(NamedTuple):
    """A page, or one of the things that a page lists.

    Attributes:
        url: its address; equal addresses of different crawls are visits of the same page.
        html: as it is fetched.
        thing: identifies what it shows.
        selectors: CSS selectors of a spider written for this layout, by what they find:
            "title", "date", "price", "place", "number", "author", "views", "comments", "category",
            "updated", "stock", "link" find a text or an attribute (with ``::text`` or
            ``::attr()``), and every spider with clean selectors stores the first five; "body" finds
            the element
            of the text alone, "article" the one of the whole article with what stands in and around
            its text (by default ``article``, ``main`` or ``body``). Those that a layout does not
            have are left out.
        card: a CSS selector of the card on the page that this is about; "" for the page as a whole.
            A page that lists ten things is ten `Page` objects in a row, with equal `url` and
            `html`. Selectors are looked up within the card, and "link" is the card's address.
        crawl: the number of the crawl that fetches it, for sites that are crawled again: not
            smaller than that of the page before.
    """

    url: str
    html: bytes
    thing: str
    selectors: Mapping[str, str]
    card: str = ""
    crawl: int = 0


class Kind(NamedTuple):
    """A kind of site.

    Attributes:
        name: in the table.
        documents: makes the pages of so many things.
        count: how many things are usual, 25 to 45.
    """

    name: str
    documents: Callable[[Random, int], Iterable[Page]]
    count: int = 40

    def pages(self, count: int | None = None, seed: object = 1) -> list[Page]:
        """The pages of so many things, the same at each call."""
        return [*self.documents(Random(f"{seed} {self.name}"), count or self.count)]


def shuffled(random: Random, pages: Iterable[Page]) -> list[Page]:
    """Pages in any order."""
    mixed = [*pages]
    random.shuffle(mixed)
    return mixed


def copies_last(pages: Iterable[Page]) -> list[Page]:
    """The first page of every thing, then the second of each, and so on."""
    given, seen = [*pages], dict[str, int]()
    turns = []
    for page in given:
        seen[page.thing] = turn = seen.get(page.thing, -1) + 1
        turns.append(turn)
    order = sorted(range(len(given)), key=turns.__getitem__)
    return [given[number] for number in order]

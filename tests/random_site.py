"""Sites whose pages come, go, move and change at random, and a spider for them."""

from __future__ import annotations

import random
from itertools import count
from typing import TYPE_CHECKING

from scrapy import Request, Spider
from validated_site import ValidatedSite, ValidPage

if TYPE_CHECKING:
    from collections.abc import Iterator

VALIDATORS = ("etag", "etag", "etag", "weak", "time", "none", "no-store", "vary")


class Follows(Spider):
    """Follows all links; an item for each text. Callbacks fail for the pages that are given."""

    name = "follows"

    def __init__(self, url: str, sites: int, *, fails: frozenset[str] = frozenset(), **kwargs):
        super().__init__(**kwargs)
        self._url, self._sites, self._fails = url, sites, fails

    async def start(self):
        for number in range(self._sites):
            yield Request(f"{self._url}/{number}/", dont_filter=True)

    def parse(self, response):
        if response.url.removeprefix(self._url) in self._fails:
            raise RuntimeError("fails in this visit")
        if title := response.css("h1::text").get():
            text = "\n".join(response.css("article p::text").getall())
            yield {"url": response.url, "title": title, "text": text}
        for link in response.css("li a::attr(href)").getall():
            yield Request(response.urljoin(link))


class RandomSite:
    """A site whose pages come, go, move, change, and link to one another."""

    def __init__(self, number: int, seed: str, site: ValidatedSite) -> None:
        self.draw = random.Random(seed)
        self.number, self.all = number, site
        self.names = count()
        self.start = f"/{number}/"
        site.pages[self.start] = ValidPage(validator="etag")
        self.log: list[str] = []
        for _ in range(self.draw.randint(3, 10)):
            self.add()

    @property
    def pages(self) -> dict[str, ValidPage]:
        return {path: one for path, one in self.all.pages.items() if path.startswith(self.start)}

    def texts(self) -> Iterator[str]:
        """The texts that a crawl finds now."""
        seen, waiting = set(), [self.start]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            page = self.all.pages.get(path)
            if page is None or page.status != 200:
                continue
            if page.redirect:
                waiting.append(page.redirect)
                continue
            if page.text:
                yield page.text
            waiting += page.links

    def reachable(self) -> list[str]:
        seen, waiting = [], [self.start]
        while waiting:
            path = waiting.pop()
            if path not in seen and path in self.all.pages:
                seen.append(path)
                waiting += self.all.pages[path].links
        return seen

    def any(self, *, but_start: bool = False) -> str:
        paths = [path for path in self.pages if not (but_start and path == self.start)]
        return self.draw.choice(paths or [self.start])

    def text(self) -> str:
        return f"text {self.number} {next(self.names)}" if self.draw.random() < 0.8 else ""

    def add(self) -> None:
        path = f"{self.start}p{next(self.names)}"
        validator = self.draw.choice(VALIDATORS)
        self.all.pages[path] = ValidPage(self.text(), validator=validator)
        self.link(path)

    def link(self, path: str | None = None) -> None:
        source = self.draw.choice(self.reachable())
        links = [*self.all.pages[source].links, path or self.any()]
        self.all.change(source, links=links)

    def unlink(self) -> None:
        source = self.any()
        if links := self.all.pages[source].links:
            self.all.change(source, links=self.draw.sample(links, len(links) - 1))

    def edit(self) -> None:
        self.all.change(self.any(but_start=True), text=self.text())

    def copy(self) -> None:
        self.all.change(self.any(but_start=True), text=self.all.pages[self.any()].text)

    def exchange(self) -> None:
        one, other = self.any(but_start=True), self.any(but_start=True)
        texts = self.all.pages[one].text, self.all.pages[other].text
        self.all.change(one, text=texts[1])
        self.all.change(other, text=texts[0])

    def move(self) -> None:
        old, new = self.any(but_start=True), f"{self.start}p{next(self.names)}"
        if old == self.start:
            return
        self.all.pages[new] = self.all.pages.pop(old)
        if self.draw.random() < 0.5:
            self.all.pages[old] = ValidPage(redirect=new)
        else:
            for path, page in self.pages.items():
                if old in page.links:
                    links = [new if link == old else link for link in page.links]
                    self.all.change(path, links=links)

    def vanish(self) -> None:
        page = self.any(but_start=True)
        if page != self.start:
            self.all.change(page, status=self.draw.choice([404, 410, 503]))

    def come_back(self) -> None:
        for path, page in self.pages.items():
            if page.status != 200:
                self.all.change(path, status=200)

    def revalidate(self) -> None:
        self.all.pages[self.any()].validator = self.draw.choice(VALIDATORS)

    def go_on(self) -> None:
        """What happens between two visits."""
        actions = (
            *(self.add, self.add, self.edit, self.edit, self.edit, self.link, self.unlink),
            *(self.copy, self.exchange, self.move, self.vanish, self.come_back, self.revalidate),
        )
        for _ in range(self.draw.choice([0, 1, 1, 2, 5])):
            action = self.draw.choice(actions)
            action()
            self.log.append(action.__name__)

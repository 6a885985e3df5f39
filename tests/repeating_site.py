"""A site whose session ids, calendar and facets repeat pages, beside new ones.

It also has parameters that look similar and matter: pages of a list, variants of a product. Some
products are linked with a session id only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit
from zlib import crc32

from loopback import prose
from scrapy import Request, Spider
from site_pages import layout, paragraphs, price, story, title

SORTS = ("name", "price", "newest")
COLORS = ("red", "green", "blue")


@dataclass(frozen=True)
class RepeatingSite:
    """The site, in any size.

    Attributes:
        products: number of products, in categories of `per_page` times `pages`.
        sessions: number of session ids.
        months: of the calendar, each of which links to the next.
        per_page: products on a page of a category.
        pages: of a category.
    """

    products: int = 96
    sessions: int = 20
    months: int = 200
    per_page: int = 8
    pages: int = 3

    @property
    def categories(self) -> int:
        return self.products // (self.per_page * self.pages)

    def find(self, target: str) -> bytes | None:
        """The page of a request target."""
        split = urlsplit(target)
        query = dict(parse_qsl(split.query))
        match split.path.strip("/").split("/"):
            case [""]:
                return self._home(target)
            case ["shop", number]:
                return self._category(target, int(number), query)
            case ["product", number]:
                return self._product(target, int(number), query)
            case ["events"]:
                return self._calendar(0)
            case ["events", year, month]:
                return self._calendar((int(year) - 2030) * 12 + int(month))
        return None

    def needed(self) -> set[str]:
        """The fewest targets that lead to everything on the site, without session ids."""
        lists = {
            f"/shop/{number}" + (f"?page={page}" if page > 1 else "")
            for number in range(self.categories)
            for page in range(1, self.pages + 1)
        }
        products = {f"/product/{number}" for number in range(self.products)}
        variants = {f"/product/{number}?size=xl" for number in range(0, self.products, 4)}
        return {"/", "/events"} | lists | products | variants

    def things(self) -> set[str]:
        """The names of everything that can be found."""
        sizes = {f"product {number} xl" for number in range(0, self.products, 4)}
        return {f"product {number}" for number in range(self.products)} | sizes | {"events"}

    def _session(self, target: str, number: int) -> str:
        return f"{crc32(f'{target} {number}'.encode()) % self.sessions:04x}"

    def _product_link(self, target: str, number: int) -> str:
        # No page links the plain URL of every eighth product.
        if number % 8 and crc32(f"plain {target} {number}".encode()) % 3 == 0:
            return f"/product/{number}"
        return f"/product/{number}?sid={self._session(target, number)}"

    def _home(self, target: str) -> bytes:
        shops = [f"/shop/{number}" for number in range(self.categories)]
        return layout("repeat", "Home", _links([*shops, "/events"]))

    def _category(self, target: str, number: int, query: dict[str, str]) -> bytes:
        page = int(query.get("page", 1))
        first = (number * self.pages + page - 1) * self.per_page
        shown = [*range(first, first + self.per_page)]
        if color := query.get("color"):
            shown = [one for one in shown if COLORS[one % len(COLORS)] == color]
        links = [self._product_link(f"/shop/{number}", one) for one in shown]
        choices = [{**query, "color": color} for color in COLORS]
        choices += [{**query, "sort": sort} for sort in SORTS]
        if page < self.pages:
            choices.append({**query, "page": str(page + 1)})
        facets = [f"/shop/{number}?{urlencode(choice)}" for choice in choices]
        return layout("repeat", f"Shop {title(number, 1)}", _links([*links, *facets]))

    def _product(self, target: str, number: int, query: dict[str, str]) -> bytes:
        size = "xl" if query.get("size") == "xl" and number % 4 == 0 else ""
        name = f"product {number}{' ' if size else ''}{size}"
        near = [(number + step) % self.products for step in (1, 5, 9)]
        links = [self._product_link(target, one) for one in near]
        if number % 4 == 0 and not size:
            links.append(f"/product/{number}?size=xl")
        main = (
            f"<p class='thing'>{name}</p><span class='price'>{price(name)}</span>"
            f"{paragraphs(*story(f'product {number}', 120))}"
        )
        return layout("repeat", title(f"product {number}"), main + _links(links))

    def _calendar(self, month: int) -> bytes:
        main = f"<p class='thing'>events</p>{paragraphs(*story('events', 120))}"
        after = month + 1
        links = [f"/events/{2030 + after // 12}/{after % 12 or 12}"] if month < self.months else []
        return layout("repeat", "Events", main + _links(links))


def _links(targets: Iterable[str]) -> str:
    return "".join(f"<a class='to' href='{target}'>{prose(target, 2)}</a> " for target in targets)


class EverythingSpider(Spider):
    """Follows all links, and yields the content of each page."""

    name = "everything"

    def __init__(self, site: str = "", **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.site = site

    async def start(self) -> Iterator[Request]:
        yield Request(f"{self.site}/")

    def parse(self, response):
        if thing := response.css(".thing::text").get():
            text = " ".join(response.css("main p::text").getall())
            amount = response.css(".price::text").get()
            yield {"thing": thing, "price": amount, "text": text, "url": response.url}
        yield from response.follow_all(css="a.to")

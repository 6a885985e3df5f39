"""A shop with departments of several pages, product pages, and session copies of some of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from itemloaders.processors import MapCompose, TakeFirst
from projects.truth import Project
from scrapy import Request, Spider
from scrapy.loader import ItemLoader
from site_pages import bare, layout, links, paragraphs, price, sentences, story, title

if TYPE_CHECKING:
    from itemadapter import ItemAdapter

HOST = "http://garden-shop.example"
DEPARTMENTS, PAGES, PER_PAGE = 3, 2, 8
COUNT = DEPARTMENTS * PAGES * PER_PAGE


@dataclass
class ProductItem:
    sku: str | None = field(default=None)
    name: str | None = field(default=None)
    price: float | None = field(default=None)
    currency: str | None = field(default=None)
    breadcrumbs: list[str] | None = field(default=None)
    description: str | None = field(default=None)
    images: list[str] | None = field(default=None)
    recommended: list[str] | None = field(default=None)
    url: str | None = field(default=None)
    scraped_at: str | None = field(default=None)


class ProductLoader(ItemLoader):
    default_item_class = ProductItem
    default_output_processor = TakeFirst()
    default_input_processor = MapCompose(str.strip)
    price_in = MapCompose(lambda text: float(text.strip("€ ")))
    description_out = "\n".join
    breadcrumbs_out = images_out = recommended_out = list


class ShopSpider(Spider):
    name = "garden_shop"
    start_urls = (f"{HOST}/",)

    def parse(self, response):
        yield from response.follow_all(css="ul.departments a", callback=self.department)

    def department(self, response):
        yield from response.follow_all(css="div.tile h2 a", callback=self.product)
        yield from response.follow_all(css="a.next", callback=self.department)

    def product(self, response):
        loader = ProductLoader(response=response)
        loader.add_css("sku", ".sku::text")
        loader.add_css("name", "h1::text")
        loader.add_css("price", ".price::text")
        loader.add_value("currency", "EUR")
        loader.add_css("breadcrumbs", ".breadcrumbs a::text")
        loader.add_css("description", ".description p::text")
        loader.add_css("images", ".gallery img::attr(src)", MapCompose(response.urljoin))
        loader.add_css("recommended", ".recommended a::text")
        loader.add_value("url", response.url)
        loader.add_value("scraped_at", datetime.now(UTC).isoformat())
        yield loader.load_item()
        for href in response.css(".tools a::attr(href)").getall():
            yield Request(response.urljoin(href), self.product)


def product(number: int, *, printed: bool = False) -> bytes:
    """Every eighth product is the one before it in another size, and for another price."""
    work = number - 1 if number % PER_PAGE == 7 else number
    size = "large" if work != number else "medium"
    department = number // PER_PAGE // PAGES
    crumbs = "".join(f"<a href='/'>{title(part, 1)}</a>" for part in ("home", department))
    delivery = sentences("how we deliver", 90)
    main = (
        f"<div class='breadcrumbs'>{crumbs}</div>"
        f"<div class='gallery'><img src='/img/{number}-1.jpg'><img src='/img/{number}-2.jpg'></div>"
        f"<span class='price'>{price(number)}</span><span class='sku'>GS-{number:05}</span>"
        f"<div class='description'><p>{size.capitalize()}.</p>"
        f"{paragraphs(*story(f'garden {work}', 120), delivery)}</div>"
    )
    if printed:
        return bare(title(f"garden {work}"), main)
    near = [(number + step) % COUNT for step in (1, 2, 3)]
    recommended = links([f"/product/{other}" for other in near], "recommended")
    tools = f"<div class='tools'>{_tools(number)}</div>"
    return layout("garden", title(f"garden {work}"), main + tools + recommended)


def _tools(number: int) -> str:
    session = f"<a href='/product/{number}?session={number * 7919:x}'>share</a>"
    printed = f"<a href='/print/{number}'>print</a>"
    return (session if number % 3 == 0 else "") + (printed if number % 4 == 0 else "")


def department(number: int, page: int) -> bytes:
    first = (number * PAGES + page) * PER_PAGE
    tiles = "".join(
        f"<div class='tile'><h2><a href='/product/{n}'>{title(n, 3)}</a></h2>"
        f"<span class='price'>{price(n)}</span></div>"
        for n in range(first, first + PER_PAGE)
    )
    after = f"<a class='next' href='/d/{number}?page={page + 1}'>next</a>"
    main = paragraphs(sentences("welcome", 80)) + tiles + (after if page + 1 < PAGES else "")
    return layout("garden", title(f"department {number}", 1), main)


def shop() -> Project:
    departments = links([f"/d/{number}" for number in range(DEPARTMENTS)], "departments")
    pages = {"/": layout("garden", "Garden", departments)}
    for number in range(DEPARTMENTS):
        pages[f"/d/{number}"] = department(number, 0)
        pages |= {f"/d/{number}?page={page}": department(number, page) for page in range(1, PAGES)}
    for number in range(COUNT):
        pages[f"/product/{number}"] = product(number)
        pages[f"/print/{number}"] = product(number, printed=True)
    things = Counter(
        {str(number): 1 + (number % 3 == 0) + (number % 4 == 0) for number in range(COUNT)}
    )
    hosts = {"garden-shop.example": pages}
    return Project(ShopSpider, hosts, things, _number, frozenset(things))


def _number(item: ItemAdapter) -> str:
    return item["url"].rpartition("/")[2].partition("?")[0]

"""The items of zyte-common-items are known by their classes."""

from __future__ import annotations

from typing import Any

from loopback import STORES, PageSpider, article, crawl, serve
from scrapy.utils.defer import deferred_f_from_coro_f
from zyte_common_items import Product, ProductMetadata


class Own(Product):  # type: ignore[misc]
    """A class of the project's own."""


class Products(PageSpider):
    """Yields the same products from each page, extracted with another probability."""

    kind: Any = Product

    def parse(self, response):
        probability = 0.9 if response.url.endswith("a") else 0.8
        for name in ("Deck lantern", "Bow rope"):
            yield self.kind(
                url=f"http://shop.example/{name.split()[0]}",
                name=name,
                price="10.00",
                metadata=ProductMetadata(probability=probability),
            )


@deferred_f_from_coro_f
async def test_probabilities_keep_no_products_apart(settings):
    with serve({"/a": article(1), "/b": article(2)}) as site:
        done = await crawl(Products, settings | STORES, [f"{site}/a", f"{site}/b"])
        assert [item.name for item in done.items] == ["Deck lantern", "Bow rope"]
        of_own = {"SIMHASH_NAMESPACE": "own"} | settings | STORES
        done = await crawl(
            type("OwnProducts", (Products,), {"kind": Own}), of_own, [f"{site}/a", f"{site}/b"]
        )
        assert len(done.items) == 2

"""A shop is crawled on three days; then its copies are dropped although their readers differ."""

from __future__ import annotations

import json
import logging

from hosts import serve_hosts
from loopback import PageSpider, crawl
from scrapy.utils.defer import deferred_f_from_coro_f
from site_pages import layout, paragraphs, price, story, title

SHOP = "http://www.shop.com"
SENTENCE = "readers differs between two visits of one page: not compared on www.shop.com"


class ProductSpider(PageSpider):
    name = "products"

    def parse(self, response):
        yield {
            "url": response.url,
            "name": response.css("h1::text").get(),
            "description": "\n".join(response.css("main p::text").getall()),
            **{box.attrib["class"]: box.css("::text").get() for box in response.css("main span")},
        }


def product(number: int, size: int, readers: int) -> bytes:
    shown = {"readers": readers, "size": f"{size} cm", "price": price((number, size))}
    boxes = "".join(f"<span class='{name}'>{value}</span>" for name, value in shown.items())
    return layout("shop", title(number), boxes + paragraphs(*story(number, 180)))


@deferred_f_from_coro_f
async def test_three_days_of_a_shop(settings, caplog, call, tmp_path):
    hosts = {}
    sold = [(number, size) for number in range(5) for size in (10, 20)]
    report = tmp_path / "report.html"
    with serve_hosts(hosts) as through, caplog.at_level(logging.INFO):
        for day in range(3):
            hosts["www.shop.com"] = {
                f"/{folder}{number}-{size}": product(number, size, 100 * day + 7 * number + more)
                for number, size in sold
                for more, folder in enumerate(("p/", "sale/"))
            }
            urls = [f"{SHOP}/p/{number}-{size}" for number, size in sold]
            done = await crawl(ProductSpider, settings | through, urls)
            assert len(done.items) == len(sold)
            assert SENTENCE in caplog.text if day else SENTENCE not in caplog.text
        assert done.stats["learned"] == 1
        urls = [f"{SHOP}/sale/{number}-{size}" for number, size in sold]
        copies = {"SIMHASH_REPORT": report, "SIMHASH_KNOWN": "drop", **settings, **through}
        done = await crawl(ProductSpider, copies | {"SIMHASH_LEARN": False}, urls[:2])
        assert len(done.items) == 2
        assert done.stats["kept/other_facts"] == 2
        done = await crawl(ProductSpider, copies, urls[2:])
        assert done.items == []
        assert done.errors == 0
    assert SENTENCE in report.read_text("utf-8")
    at = ("--database", settings["SIMHASH_DATABASE_URL"])
    assert SENTENCE in " ".join(call("show", urls[3], *at)[1].split())
    (namespace,) = json.loads(call("stats", "--json", *at)[1])["namespaces"]
    (learned,) = namespace["learned"]
    assert (learned["host"], learned["field"]) == ("www.shop.com", "readers")
    assert len({new for _, new in learned["examples"]}) == 3
    assert SENTENCE in " ".join(call("stats", *at)[1].split())
    code, _, errors = call("reset", "--learned", "color", *at)
    assert (code, "learned is readers" in errors) == (2, True)
    assert "1 learned field forgotten" in call("reset", "--learned", "readers", *at)[1]
    assert not json.loads(call("stats", "--json", *at)[1])["namespaces"][0]["learned"]

"""Entries whose URLs are of other sites: no page writes the history of another site."""

from __future__ import annotations

import json

import pytest
from hosts import serve_hosts
from loopback import PageSpider, crawl
from scrapy.utils.defer import deferred_f_from_coro_f
from site_pages import layout

SHOP, RIVAL = "http://shop.example", "http://rival.example"


class Offers(PageSpider):
    name = "offers"

    def parse(self, response):
        for row in response.css("li.offer"):
            cost, address = row.css("::text").get(), row.css("::attr(href)").get()
            yield {"price": cost, "url": response.urljoin(address)}


def offers(**prices: str) -> bytes:
    """A list of products of the shop; each address is absolute."""
    rows = (
        f"<li class='offer'><a href='{SHOP}/{name}'>{price}</a></li>"
        for name, price in prices.items()
    )
    return layout("shop", "Offers", f"<ul>{''.join(rows)}</ul>")


CLOSED = layout("shop", "Closed", "")


async def visit(settings, shop, rival):
    with serve_hosts({"shop.example": {"/": shop}, "rival.example": {"/": rival}}) as through:
        settings = settings | through | {"SIMHASH_CHANGE_FIELD": "change"}
        done = await crawl(Offers, settings, [f"{RIVAL}/", f"{SHOP}/"])
    return [item["change"] | {"price": item["price"]} for item in done.items]


@pytest.mark.parametrize("key", [None, ["url"]])
@pytest.mark.parametrize("more", [{}, {"b": "5.00"}])
@deferred_f_from_coro_f
async def test_a_page_does_not_change_the_history_of_another_site(settings, call, key, more):
    """Be its entry the only one on its page or not."""
    settings = settings | {"SIMHASH_KEY": key}
    own = offers(a="14.00", c="3.00")
    await visit(settings, own, CLOSED)
    for price, status, fields in (
        ("15.00", "new", {}),
        ("1.00", "changed", {"price": ["15.00", "1.00"]}),
    ):
        found = await visit(settings, own, offers(a=price, **more))
        (shown,) = [one for one in found if one["price"] == price]
        assert (shown["status"], shown.get("fields", {})) == (status, fields)
        assert {one["status"] for one in found if one["price"] in {"14.00", "3.00"}} == {
            "unchanged"
        }
    given = ["--database", settings["SIMHASH_DATABASE_URL"]]
    (line,) = call("changes", "--json", *given)[1].splitlines()
    assert json.loads(line).get("listed_by") == "rival.example"
    history = json.loads(call("show", *given, "--json", f"{SHOP}/a")[1])
    assert [one["url"] for one in history["versions"]] == [f"{SHOP}/"]


@deferred_f_from_coro_f
async def test_a_page_of_links_to_other_sites_knows_its_entries_again(settings, call):
    first = {f"p{number}": f"{number}.50" for number in range(6)}
    await visit(settings, CLOSED, offers(**first))
    second = {"p9": "9.50", **first, "p1": "7.50"}
    del second["p2"]
    found = await visit(settings, CLOSED, offers(**second))
    assert {one["price"]: one["status"] for one in found} == {
        "9.50": "new",
        "0.50": "unchanged",
        "7.50": "changed",
        "3.50": "unchanged",
        "4.50": "unchanged",
        "5.50": "unchanged",
    }
    given = ["--database", settings["SIMHASH_DATABASE_URL"], "--status", "missing"]
    (line,) = call("changes", "--json", *given)[1].splitlines()
    assert json.loads(line)["url"] == f"{SHOP}/p2"
    given = ["--database", settings["SIMHASH_DATABASE_URL"], "--json"]
    assert "rival.example http://shop.example/p2" in call("show", *given, "shop.example/p2")[1]

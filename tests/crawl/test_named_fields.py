"""Fields that settings name: written ones take nobody's value, unknown ones are reported."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
import scrapy
from itemadapter import ItemAdapter
from loopback import STORES, PageSpider, article, crawl, serve
from scrapy.utils.defer import deferred_f_from_coro_f

from scrapy_simhash.crawl.fields import ItemField

VALUE = {"status": "new"}


class Offer(scrapy.Item):
    url, status = scrapy.Field(), scrapy.Field()


class Offers(PageSpider):
    name = "offers"
    kind: type = dict

    def parse(self, response):
        for status in ("sold", "here", None):
            yield self.kind(url=f"{response.url}/a", status=status)


@pytest.mark.parametrize("kind", [dict, Offer])
@pytest.mark.parametrize("setting", ["SIMHASH_CHANGE_FIELD", "SIMHASH_GROUP_FIELD"])
@deferred_f_from_coro_f
async def test_an_item_keeps_a_value_of_its_own_which_counts(settings, caplog, setting, kind):
    given = settings | STORES | {setting: "status"}
    with serve({"/": article(1)}) as site:
        done = await crawl(Offers, given, [f"{site}/"], kind=kind)
    sold, here, filled = [item["status"] for item in done.items]
    assert (sold, here) == ("sold", "here")
    assert filled
    (line,) = [line for line in caplog.messages if "of their own" in line]
    assert line.startswith(f"{setting} = 'status' ")
    assert f"{kind.__module__}.{kind.__qualname__}" in line


@dataclasses.dataclass
class Record:
    status: Any


@pytest.mark.parametrize(
    ("value", "is_free"),
    [*((one, True) for one in (None, "", (), [], {})), (0, False), (False, False), ("new", False)],
)
def test_a_field_that_is_declared_but_unset_is_filled_and_no_other(value, is_free):
    item = Record(value)
    field = ItemField("SIMHASH_CHANGE_FIELD", "status")
    assert field.is_free(item) is is_free
    field.write(item, VALUE)
    assert item.status == (VALUE if is_free else value)


@pytest.mark.parametrize("kind", [dict, Record])
def test_an_object_that_is_yielded_twice_has_its_last_status(kind, caplog):
    item = kind(status=None)
    field = ItemField("SIMHASH_CHANGE_FIELD", "status")
    for number in range(3):
        field.write(item, {"status": number})
        field.write(copy.copy(item), {"status": "of a copy"})
    assert ItemAdapter(item)["status"] == {"status": 2}
    assert caplog.messages == []


async def warnings(settings, caplog, pages=1, **given):
    with serve({f"/{number}": article(number) for number in range(pages)}) as site:
        urls = [f"{site}/{number}" for number in range(pages)]
        done = await crawl(PageSpider, settings | STORES | given, urls)
    assert len(done.items) == pages
    named = (one for one in caplog.records if one.name == "scrapy_simhash.crawl.fields")
    return [one.getMessage() for one in named]


@pytest.mark.parametrize(
    ("setting", "pages"), [("SIMHASH_FIELDS", 1), ("SIMHASH_IGNORE_FIELDS", 30), ("SIMHASH_KEY", 1)]
)
@deferred_f_from_coro_f
async def test_a_field_that_no_item_has_is_reported_once(settings, caplog, setting, pages):
    (line,) = await warnings(settings, caplog, pages, **{setting: ["ur1"]})
    assert line.startswith(f"{setting} names fields that none of the first items has: 'ur1'")


@pytest.mark.parametrize(
    # Strings as given to `-s`.
    "given",
    [{"scrapy.Item": ["ur1"]}, "url, url.path", "['url']", '{"scrapy.Item": ["ur1"]}'],
)
@deferred_f_from_coro_f
async def test_nothing_is_logged_about_fields_in_use_or_other_items(settings, caplog, given):
    assert await warnings(settings, caplog, SIMHASH_IGNORE_FIELDS=given) == []

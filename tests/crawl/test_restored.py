"""What was restored by hand is stored: later visits know it, and do not drop it again."""

from __future__ import annotations

import json

import pytest
from loopback import PageSpider, crawl, prose, serve
from scrapy.utils.defer import deferred_f_from_coro_f
from servers import ENGINES, cleared_database
from stored import changed
from visits import IN_ORDER


class ArticleSpider(PageSpider):
    """Its items have texts of their own."""

    name = "articles"

    def parse(self, response, **kwargs):
        yield {"url": response.url, "body": response.css("p::text").get()}


def page(text):
    return f"<html><body><article><p>{text}</p></article></body></html>".encode()


ORIGINAL = page(prose(1, 200))
SIMILAR = page(changed(prose(1, 200), 1))


def settings_on(engine, folder, **more):
    url = cleared_database(engine, folder).render_as_string(hide_password=False)
    return IN_ORDER | {"SIMHASH_DATABASE_URL": url} | more


def lines(call, settings, *command):
    code, out, err = call(*command, **settings)
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("known", ["pass", "drop"])
@pytest.mark.parametrize(
    "case",
    [
        ("sqlite", PageSpider, ORIGINAL, 1_000_000),
        ("sqlite", PageSpider, SIMILAR, 1_000_000),
        ("sqlite", ArticleSpider, ORIGINAL, 1_000_000),
        ("sqlite", ArticleSpider, ORIGINAL, 0),
        *((engine, ArticleSpider, SIMILAR, 1_000_000) for engine in ENGINES),
    ],
)
@deferred_f_from_coro_f
async def test_a_restored_copy_is_stored_at_later_visits(call, tmp_path, known, case):
    """Whichever is met first; what was not restored is a copy still."""
    engine, spider, copy, budget = case
    settings = settings_on(engine, tmp_path, SIMHASH_KNOWN=known, SIMHASH_TEXT_BUDGET=budget)
    with serve({"/a": ORIGINAL, "/b": copy, "/c": copy}) as site:
        first = await crawl(spider, settings, [f"{site}/{name}" for name in "abc"])
        assert first.urls == ["/a"]
        dropped = lines(call, settings, "drops", "--json")
        restored = lines(call, settings, "restore", "--id", dropped[0]["id"])
        assert [one["url"] for one in restored] == [f"{site}/b"]
        assert lines(call, settings, "drops", "--json") == dropped[1:]
        # As in a first crawl, the first of a and c is stored.
        for order, stored in (("abc", ["/a", "/b"]), ("cba", ["/b", "/c"])):
            later = await crawl(spider, settings, [f"{site}/{name}" for name in order])
            assert later.stats["changes/unchanged"] == 3
            assert later.urls == (stored if known == "pass" else [])


@deferred_f_from_coro_f
async def test_a_restored_copy_has_changes_of_its_own(call, tmp_path):
    """What its original shows later is no reason to drop what it shows itself."""
    settings = settings_on("sqlite", tmp_path, SIMHASH_KNOWN="drop")
    pages = {"/a": ORIGINAL, "/b": SIMILAR, "/c": SIMILAR}
    with serve(pages) as site:
        urls = [f"{site}/{name}" for name in "abc"]
        await crawl(PageSpider, settings, urls)
        # It was left out once more since.
        await crawl(PageSpider, settings, urls)
        (drop, _) = lines(call, settings, "drops", "--json", "--run", "1")
        lines(call, settings, "restore", "--id", drop["id"])
        pages |= dict.fromkeys(pages, page(changed(prose(1, 200), 3)))
        later = await crawl(PageSpider, settings, urls)
        assert later.urls == ["/a", "/b"]
        changes = lines(call, settings, "changes", "--json")
    assert [(one["url"], one["status"]) for one in changes] == [
        (url, "changed") for url in urls[:2]
    ]

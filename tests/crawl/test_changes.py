"""What changed between visits: in items of all classes, in the database, and as a command."""

from __future__ import annotations

import json
import logging
import sqlite3
import zlib
from contextlib import closing, suppress

import pytest
import scrapy
from hosts import serve_hosts
from loopback import crawl
from scrapy.utils.defer import deferred_f_from_coro_f
from site_pages import layout, paragraphs, story, title

SHOP = "http://shop.example"


class Products(scrapy.Spider):
    """Its arguments are the same at each visit: otherwise nothing could be missing."""

    name = "products"
    kind: type = dict

    async def start(self):
        for url in self.settings["URLS"]:
            yield scrapy.Request(url)

    def parse(self, response):
        yield self.kind(
            name=response.css("h1::text").get(),
            price=response.css(".price::text").get(),
            text="\n".join(response.css("main p::text").getall()),
            url=response.url,
        )


def product(name: str, price: str, text: list[str] | None = None) -> bytes:
    cost = f"<span class='price'>{price}</span>"
    return layout("shop", title(name), cost + paragraphs(*(text or story(name, 200))))


async def visit(settings, pages, **kwargs):
    with serve_hosts({"shop.example": pages}) as through:
        urls = [SHOP + path for path in pages]
        return await crawl(Products, settings | through | {"URLS": urls}, **kwargs)


@pytest.mark.parametrize(
    ("more", "is_kept"),
    [
        ({}, True),
        ({"SIMHASH_VALUES": False}, False),
        ({"SIMHASH_IGNORE_FIELDS": ["price"]}, False),
    ],
)
@deferred_f_from_coro_f
async def test_values_that_must_not_be_kept_are_not_in_the_database(settings, more, is_kept):
    """Neither in sightings nor beside the texts."""
    settings = settings | more | {"SIMHASH_QUARANTINE": 0}
    prices = ["1234.56", "6543.21"]
    for price in prices:
        await visit(settings, {"/a": product("a", price), "/b": product("b", price)})
    assert held_in(settings, *prices) == is_kept


def held_in(settings, *values: str) -> bool:
    """Whether any of the values is in any row of the database, packed or not."""
    path = settings["SIMHASH_DATABASE_URL"].removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master")]
        cells = [
            cell
            for table in tables
            if table.startswith("simhash_") and not table.count("_", 8)
            for row in connection.execute(f"SELECT * FROM {table}")
            for cell in row
        ]
    found = []
    for cell in cells:
        content = cell.encode() if isinstance(cell, str) else cell
        if isinstance(content, bytes):
            found.append(content)
            with suppress(zlib.error):
                found.append(zlib.decompress(content))
    return any(value.encode() in content for content in found for value in values)


@deferred_f_from_coro_f
async def test_the_command_lists_what_changed(settings, call, caplog, tmp_path):
    caplog.set_level("INFO")
    text = story("b", 200)
    corrected = [text[0].replace(text[0].split()[3], "corrected"), *text[1:]]
    first = {f"/{name}": product(name, "10.00") for name in "abcd"}
    second = first | {
        "/a": product("a", "9.00"),
        "/b": product("b", "10.00", corrected),
        "/e": product("e", "10.00"),
    }
    del second["/c"]
    third = second | {"/a": product("a", "8.00"), "/c": first["/c"]}
    del third["/d"]
    options = ["--database", settings["SIMHASH_DATABASE_URL"], "--namespace", "products"]

    def listed(*more):
        code, out, err = call("changes", "--json", *options, *more)
        assert code == 0, err
        return [json.loads(line) for line in out.splitlines()]

    def added(change):
        return "".join(step[2] for step in change["difference"])

    def brief(lines):
        return sorted(f"{one['status']} {one['url'].removeprefix(SHOP)}" for one in lines)

    await visit(settings, first)
    assert brief(listed()) == ["new /a", "new /b", "new /c", "new /d"]
    await visit(settings, second)
    of_second = ["changed /a", "changed /b", "missing /c", "new /e"]
    assert brief(listed()) == of_second
    assert [one["status"] for one in listed()] == ["new", "changed", "changed", "missing"]
    await visit(settings, third)
    assert "scrapy simhash changes --run 3 --namespace products" in caplog.text
    of_third = ["back /c", "changed /a", "missing /d"]
    assert brief(listed()) == of_third
    assert brief(listed("--run", 2)) == of_second
    assert brief(listed("--since", 2)) == sorted([*of_second, *of_third])
    assert brief(listed("--since", "2000-01-01", "--status", "new")) == [
        f"new /{name}" for name in "abcde"
    ]
    assert listed("--since", "2999-01-01") == []
    (price,) = listed("--status", "changed")
    assert price["fields"] == {"price": ["9.00", "8.00"]}
    changes = {one["url"]: one for one in listed("--run", 2, "--texts")}
    assert "corrected" in added(changes[f"{SHOP}/b"])
    assert 0.9 < changes[f"{SHOP}/b"]["similarity"] < 1
    assert added(changes[f"{SHOP}/a"]) == ""
    moved = {f"/new{path}": page for path, page in third.items()}
    await visit(settings, moved)
    assert {one["status"] for one in listed()} == {"moved"}
    changes = {one["url"]: one for one in listed("--run", 2, "--texts")}
    assert "corrected" in added(changes[f"{SHOP}/b"]), "the text went with the claim that moved"
    await visit(settings, moved | {"/new/a": product("a", "7.00")})
    status, line = call("changes", *options, "--status", "changed")[1].splitlines()
    assert (status, line) == ("changed", f"    {SHOP}/new/a  price: 8.00 -> 7.00")
    await visit(settings, moved | {"/new/a": product("a", "7.00", story("another", 200))})
    assert "text: nothing in common" in call("changes", *options, "--status", "changed")[1]
    (text,) = listed("--status", "changed")
    assert text["similarity"] < 0.01


class Whole(Products):
    """Takes all text of a page, of which the main text is compared."""

    name = "whole"

    def parse(self, response):
        yield {"url": response.url, "text": "\n".join(response.css("body ::text").getall())}


@deferred_f_from_coro_f
async def test_text_of_an_item_outside_of_the_main_text_counts_unless_changes_are_tolerated(
    settings, call
):
    settings = settings | {"SIMHASH_CHANGE_FIELD": "change", "SIMHASH_KNOWN": "drop"}
    state = "<p>{} comments</p><p>{} views, 3 replies</p>"
    boxes = dict.fromkeys("abcdef", f"<aside><a href='/x'>Most read today</a></aside>{state}")

    async def visited(*counts):
        pages = {
            f"/{name}": layout(
                "paper", title(name), paragraphs(*story(name, 200)) + box.format(*counts)
            )
            for name, box in boxes.items()
        }
        with serve_hosts({"shop.example": pages}) as through:
            urls = {"URLS": [SHOP + path for path in pages]}
            done = await crawl(Whole, settings | through | urls)
        return {item["url"][-1]: item["change"] for item in done.items}

    assert len(await visited(3, 40)) == 6
    boxes["a"] = boxes["a"].replace("Most read today", "A correction in a box")
    (changed,) = (await visited(5, 61)).values()
    assert changed["fields"] == {"(rest of the item)": [None, None]}
    assert "back" not in changed
    options = ["--database", settings["SIMHASH_DATABASE_URL"], "--namespace", "whole"]
    assert "text of the item" in call("changes", *options)[1]
    for tolerance, stored in ((1.0, 6), (0.9, 0)):
        settings["SIMHASH_CHANGE_SIMILARITY"] = tolerance
        for name in boxes:
            box = title((name, tolerance))
            boxes[name] = f"<aside><a href='/x'>Most read {box}</a></aside>"
        assert len(await visited()) == stored


@pytest.mark.parametrize("known", ["pass", "drop"])
@deferred_f_from_coro_f
async def test_the_advice_on_changed_texts_holds(settings, caplog, known):
    """It is about changes: "pass" stores each item in any case."""
    advised = {"SIMHASH_CHANGE_SIMILARITY": 0.9}
    stored = []
    words = ("first", "second", "third", "4th")
    for more, word in zip(({}, {}, advised, advised), words, strict=True):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            pages = {
                f"/{one}": product(f"item {one}", "5", edited(one, word)) for one in "abcdefghijkl"
            }
            done = await visit(settings | more | {"SIMHASH_KNOWN": known}, pages)
        stored.append(len(done.items))
        told = "To see fewer changes: SIMHASH_CHANGE_SIMILARITY = 0.9" in caplog.text
        assert told == (word == "second")
    # A number is a change in any case.
    assert stored == ([12, 12, 12, 12] if known == "pass" else [12, 12, 0, 12])


@deferred_f_from_coro_f
async def test_where_few_items_change_nothing_is_advised(settings, caplog):
    for word in ("first", "second"):
        with caplog.at_level(logging.INFO):
            pages = {
                f"/{one}": product(f"item {one}", "5", edited(one, word if one < "m" else "only"))
                for one in "abcdefghijklmnopqrstuvwxyz"
            }
            await visit(settings, pages)
    assert "12 changed" in caplog.text
    assert "To see fewer changes" not in caplog.text


def edited(name: str, word: str) -> list[str]:
    return [*story(name, 200), f"This is the {word} edition."]

"""Two shops and a council in each language, and a manual: the same prose many times."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from website.pages import Outlet, Page, Thing

SHOPS = {
    "en": (
        Outlet("chandlery", "Marlow Chandlery", "en"),
        Outlet("quayside", "The Quayside Store", "en"),
    ),
    "zh": (Outlet("chuanju", "老码头船具行", "zh"), Outlet("yuhang", "阿芳渔行", "zh")),
}
COUNCILS = {
    "en": Outlet("council", "Marlow Quay Town Council", "en"),
    "zh": Outlet("zhenwu", "海城镇务公开", "zh"),
}
MANUAL = Outlet("manual", "The Tidewright manual", "en")
EVENTS_PER_PAGE = 10


@cache
def prose(language: str) -> dict[str, Any]:
    """What the language's sites say, from its file."""
    with (Path(__file__).parent / f"{language}.toml").open("rb") as file:
        town: dict[str, Any] = tomllib.load(file)["town"]
    return town


def town_pages(*, later: bool) -> list[Page]:
    """Every page of these sites; `later`, when some prices have changed."""
    sites = [
        _shop_pages(shop, number, later=later)
        for shops in SHOPS.values()
        for number, shop in enumerate(shops)
    ]
    sites += [_council_pages(council) for council in COUNCILS.values()]
    sites.append(_manual_pages())
    fronts = [Page(pages[0].outlet, "/", "list", "", listed=tuple(pages)) for pages in sites]
    fronts = [replace(front, headline=front.outlet.title) for front in fronts]
    return fronts + [page for pages in sites for page in pages]


def _shop_pages(shop: Outlet, number: int, *, later: bool) -> list[Page]:
    """The maker's goods at the shop's prices; the last of the second shop once more, by session."""
    pages = []
    for article, goods in enumerate(prose(shop.language)["goods"], start=1):
        changed = later and number == 1 and "later" in goods
        price = goods["later"] if changed else goods["prices"][number]
        for size in goods.get("sizes", [""]):
            fields = {"name": goods["name"], "price": price, "size": size, "text": goods["text"]}
            offer = Thing("offer", f"{shop.name} {article} {size}", fields, changed)
            path = f"/offer/{article}/{size}".rstrip("/")
            pages.append(Page(shop, path, "offer", goods["name"], things=(offer,)))
    if number == 1:
        pages.append(replace(pages[-1], path=f"{pages[-1].path}?sid=5e0c1a77", kind="offer again"))
    return pages


def _council_pages(council: Outlet) -> list[Page]:
    """A page for each monthly meeting, and lists of events, of which the second repeats one."""
    says = prose(council.language)
    pages = []
    for number, date in enumerate(says["meetings"], start=1):
        path = f"/meeting/{number}"
        fields = {"committee": says["committee"], "date": date, "place": says["place"]}
        meeting = Thing("meeting", f"{council.name} {number}", fields)
        pages.append(Page(council, path, "meeting", says["committee"], things=(meeting,)))
    events = [
        Thing("event", " ".join(row), dict(zip(("name", "date", "place"), row, strict=True)))
        for row in says["events"]
    ]
    events.insert(EVENTS_PER_PAGE, events[EVENTS_PER_PAGE - 1])
    for number, start in enumerate(range(0, len(events), EVENTS_PER_PAGE), start=1):
        shown = tuple(events[start : start + EVENTS_PER_PAGE])
        pages.append(Page(council, f"/events/{number}", "events", council.title, things=shown))
    return pages


def _manual_pages() -> list[Page]:
    """The chapters of two versions, of which the latter is there under a second address as well."""
    pages = []
    for path, version in (("1.4", "1.4"), ("2.0", "2.0"), ("latest", "2.0")):
        for says in prose(MANUAL.language)["chapters"]:
            fields = {"title": says["title"], "version": version, "text": says["text"]}
            chapter = Thing("chapter", f"{says['name']} {version}", fields)
            kind = "chapter again" if path == "latest" else "chapter"
            address = f"/{path}/{says['name']}"
            pages.append(Page(MANUAL, address, kind, says["title"], things=(chapter,)))
    return pages

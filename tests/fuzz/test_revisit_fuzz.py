"""Whatever happens to sites and crawls between visits, known pages do not change what is stored.

The model downloads everything: it walks through the links of each site. Once a visit has ended
well, each text that it finds there must have been stored; with "pass", by that very visit.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings as profile
from loopback import crawl
from random_site import Follows, RandomSite
from scrapy.exceptions import DropItem
from scrapy.utils.defer import deferred_f_from_coro_f
from validated_site import ValidatedSite, serve_validated
from visited_sites import FailsToStore

if TYPE_CHECKING:
    from pathlib import Path

#: Sites of a crawl: 20, and 50 with `--hypothesis-profile=full`.
SITES = profile.default.max_examples
VISITS = 13


class Refuses:
    """Refuses the items with some titles."""

    refused: frozenset[str] = frozenset()

    def process_item(self, item):
        if item["title"] in self.refused:
            raise DropItem("refused in this visit")
        return item


#: How a visit goes; a "job" is stopped twice and then goes on.
HOW = ("well", "well", "stopped", "stopped", "lost", "refuses", "fails", "job")


class Visits:
    """Visits of all sites, and what they have stored so far."""

    def __init__(self, seed: str, known: str, folder: Path) -> None:
        self.draw, self.folder = random.Random(seed), folder
        self.settings = {
            "SIMHASH_KNOWN": known,
            "SIMHASH_REVISIT": "conditional",
            "SIMHASH_TIMEOUT": 60,
            "SIMHASH_DATABASE_URL": f"sqlite:///{folder}/seen.db",
            "ITEM_PIPELINES": {Refuses: 900},
        }
        self.site = ValidatedSite()
        self.sites = [RandomSite(number, f"{seed} {number}", self.site) for number in range(SITES)]
        self.stored: set[str] = set()
        self.log: list[str] = []
        self.saved = 0

    async def visit(self, how: str, more: dict[str, object], **given: object) -> None:
        made = await crawl(Follows, self.settings | more, url=self.site.url, sites=SITES, **given)
        self.saved += made.stats.get("revisit/not_modified", 0)
        self.log.append(
            f"{how}: {len(self.site.asked(304))} of {len(self.site.asked())} unmodified"
        )
        self.site.forget()
        stored = {item["title"] for item in made.items}
        if how != "lost":
            self.stored |= stored
        if how != "well" or "JOBDIR" in more:
            return
        found = {text for one in self.sites for text in one.texts()}
        is_whole = self.settings["SIMHASH_KNOWN"] == "pass"
        assert stored == found if is_whole else stored <= found <= self.stored, self.log

    async def go(self, number: int, how: str) -> None:
        stops = {"CLOSESPIDER_PAGECOUNT": self.draw.randint(1, 4 * SITES)}
        match how:
            case "stopped":
                await self.visit(how, stops)
            case "lost":
                feed = {"lost:": {"format": "json"}}
                await self.visit(how, {"FEED_STORAGES": {"lost": FailsToStore}, "FEEDS": feed})
            case "refuses":
                texts = [text for one in self.sites for text in one.texts()]
                Refuses.refused = frozenset(self.draw.sample(texts, len(texts) // 4))
                await self.visit(how, {})
                Refuses.refused = frozenset()
            case "fails":
                failing = self.draw.sample([*self.site.pages], len(self.site.pages) // 4)
                await self.visit(how, {}, fails=frozenset(failing))
            case "job":
                job = {"JOBDIR": str(self.folder / f"job{number}")}
                for end in ("stopped", "stopped", "well"):
                    await self.visit(end, job | (stops if end == "stopped" else {}))
            case _:
                await self.visit(how, {})
        for one in self.sites:
            one.log.append(f"{number} {how}")
            one.go_on()


@pytest.mark.parametrize("known", ["drop", "pass"])
@pytest.mark.parametrize("seed", ["one", "two"])
@deferred_f_from_coro_f
async def test_the_same_is_stored(known, seed, tmp_path):
    visits = Visits(seed, known, tmp_path)
    with serve_validated(visits.site):
        for number in range(VISITS):
            await visits.go(number, visits.draw.choice(HOW) if number else "stopped")
        await visits.visit("well", {})
    assert visits.saved > SITES

"""Whatever happens to a site between two visits, each mode stores what its sentence says.

With `pass` a visit stores what a first crawl of the same pages does; with `drop` all contents of
the site are stored. All sites of a test are visited by the same crawls.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import settings as profile
from scrapy.utils.defer import deferred_f_from_coro_f
from servers import cleared_database
from visited_sites import Store, Visit, first_crawl
from visits import IN_ORDER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from visited_sites import Thing

#: Sites of a test: 20, and 50 with `--hypothesis-profile=full`.
SITES = profile.default.max_examples
VISITS = 4


class Content(NamedTuple):
    text: str
    price: int

    def __str__(self) -> str:
        return f"{self.text} price:{self.price}"


@dataclass
class RandomSite:
    """A site whose pages come, go, move, change and copy each other.

    Args:
        draw: decides what happens.
        revised: whether texts are revised a little, too, so that they remain similar.
    """

    draw: random.Random
    revised: bool
    pages: dict[str, Content] = field(default_factory=dict)
    #: Prices of the entries of lists, by list and entry.
    lists: dict[str, dict[str, int]] = field(default_factory=dict)
    former: list[Content] = field(default_factory=list)
    texts: int = 0

    def __post_init__(self) -> None:
        for _ in range(self.draw.randint(1, 4)):
            self.add()
        if self.draw.random() < 0.5:
            entries = [f"e{number}" for number in range(5)]
            cut = self.draw.randint(1, 4)
            for name, part in (("l", entries[:cut]), ("m", entries[cut:])):
                self.lists[name] = {entry: self.price() for entry in part}

    def price(self) -> int:
        return self.draw.randint(5, 9)

    def address(self) -> str:
        """One that has nothing, unless all have."""
        places = [prefix + name for prefix in ("", "two/") for name in "abcd"]
        free = [place for place in places if place not in self.pages]
        return self.draw.choice(free or places)

    def add(self) -> None:
        self.texts += 1
        self.pages[self.address()] = Content(f"T{self.texts}", self.price())

    def go_on(self) -> None:
        """What happens between two visits."""
        for _ in range(self.draw.randint(0, 3)):
            changes = [self.add, self.come_back, self.list_otherwise]
            if self.pages:
                changes += [self.vanish, self.move, self.copy, self.copy]
                changes += [self.change_price, self.rewrite, self.exchange]
                changes += [self.revise] * self.revised
            self.draw.choice(changes)()

    def any_page(self) -> str:
        return self.draw.choice([*self.pages])

    def take(self) -> Content:
        content = self.pages.pop(self.any_page())
        self.former.append(content)
        return content

    vanish = take

    def move(self) -> None:
        # To another site as well.
        self.pages[self.address()] = self.take()

    def copy(self) -> None:
        self.pages[self.address()] = self.pages[self.any_page()]

    def come_back(self) -> None:
        if self.former:
            self.pages[self.address()] = self.draw.choice(self.former)

    def change_price(self) -> None:
        page = self.any_page()
        self.former.append(self.pages[page])
        self.pages[page] = self.pages[page]._replace(price=self.price())

    def rewrite(self) -> None:
        self.take()
        self.add()

    def revise(self) -> None:
        page = self.any_page()
        text = self.pages[page].text
        if len(text) < 6:
            self.pages[page] = self.pages[page]._replace(text=text + self.draw.choice("'+-"))

    def exchange(self) -> None:
        one, other = self.any_page(), self.any_page()
        self.pages[one], self.pages[other] = self.pages[other], self.pages[one]

    def list_otherwise(self) -> None:
        if not self.lists:
            return
        name, other = self.draw.sample(["l", "m"], 2)
        if len(self.lists[name]) > 1:
            entry = self.draw.choice([*self.lists[name]])
            price = self.lists[name].pop(entry)
            if self.draw.random() < 0.5:
                self.lists[other][entry] = price
        else:
            entry = self.draw.choice([*self.lists[name]])
            self.lists[name][entry] = self.price()

    def line(self) -> str:
        """The site as a visit finds it, in any order."""
        pages = [f"{place} {content}" for place, content in self.pages.items()]
        for name, entries in self.lists.items():
            listed = [f"{entry} price:{price}" for entry, price in entries.items()]
            self.draw.shuffle(listed)
            pages.append(f"{name} [{'; '.join(listed)}]")
        self.draw.shuffle(pages)
        return ", ".join(pages)


def random_lines(seed: str, *, revised: bool) -> list[str]:
    site = RandomSite(random.Random(seed), revised)
    lines = [site.line()]
    for _ in range(VISITS - 1):
        site.go_on()
        lines.append(site.line())
    return lines


def content_of(thing: Thing) -> tuple[str, ...]:
    """What an item says; entries without a text are different things at different addresses."""
    return (thing.text or thing.label, thing.facts["price"])


def report(wrong: dict[str, list[str]], lines: dict[str, list[str]]) -> str:
    return "\n\n".join("\n".join([site, *lines[site], *found]) for site, found in wrong.items())


@pytest.fixture
def settings(tmp_path):
    url = cleared_database("sqlite", tmp_path).render_as_string(hide_password=False)
    return {"SIMHASH_DATABASE_URL": url, **IN_ORDER}


def visits_of(lines: dict[str, list[str]]) -> Iterator[Visit]:
    """Of all sites at once."""
    for number in range(VISITS):
        visits = [Visit.read(site, several[number]) for site, several in lines.items()]
        yield Visit(tuple(thing for visit in visits for thing in visit.things))


@deferred_f_from_coro_f
async def test_with_pass_a_visit_stores_what_a_first_crawl_of_the_same_pages_does(
    settings, tmp_path
):
    names = [f"pass {number}" for number in range(SITES // 2)]
    lines = {name: random_lines(name, revised=True) for name in names}
    store, wrong = Store(settings | {"SIMHASH_KNOWN": "pass"}, tmp_path), defaultdict(list)
    for number, visit in enumerate(visits_of(lines)):
        await store.visit(visit)
        first = await first_crawl(settings, visit, tmp_path / f"{number}")
        stored, wanted = (
            Counter((thing.site, thing.label) for thing in outcome.stored)
            for outcome in (store.outcomes[-1], first)
        )
        for verb, things in (("lacks", wanted - stored), ("has", stored - wanted)):
            for site, label in things.elements():
                wrong[site].append(f"visit {number + 1} {verb} {label}")
    assert not wrong, report(wrong, lines)


@deferred_f_from_coro_f
async def test_with_drop_every_content_is_stored(settings, tmp_path):
    """What is stored again is judged by the oracle, in `visits_oracle`."""
    names = [f"drop {number}" for number in range(SITES)]
    lines = {name: random_lines(name, revised=False) for name in names}
    fed: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    store, wrong = Store(settings | {"SIMHASH_KNOWN": "drop"}, tmp_path), defaultdict(list)
    for number, visit in enumerate(visits_of(lines)):
        await store.visit(visit)
        for name in names:
            outcome = store.outcomes[-1].of(name)
            fed[name] |= {content_of(thing) for thing in outcome.stored}
            for one in outcome.changes:
                if (content := content_of(one.thing)) not in fed[name]:
                    wrong[name].append(f"visit {number + 1} lost {one.thing.label} {content}")
    assert not wrong, report(wrong, lines)

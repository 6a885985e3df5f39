"""Whatever happens to a site between two visits, each mode stores what its sentence says.

With `pass` a visit stores what a first crawl of the same pages does; with `drop` all contents of
the site are stored. All sites of a test are visited by the same crawls.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings as profile
from scrapy.utils.defer import deferred_f_from_coro_f
from servers import cleared_database
from visited_sites import Store, Visit, first_crawl
from visits import IN_ORDER
from visits_oracle.random_histories import ChangingSite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from visited_sites import Thing

#: Sites of a test: 20, and 50 with `--hypothesis-profile=full`.
SITES = profile.default.max_examples
VISITS = 4


def random_lines(seed: str) -> list[str]:
    """Visits of a site that changes; none of them stops, as that would end the crawl of all."""
    site, lines = ChangingSite(random.Random(seed)), list[str]()
    for _ in range(VISITS):
        lines.append(site.line().replace(" stops", ""))
        site.go_on()
    return lines


def content_of(thing: Thing) -> tuple[str, str]:
    """What an item says; a revised text is similar to its former self, or a new one."""
    return re.sub(r"#\d+", "", thing.text).rstrip("'4+-~"), thing.facts["price"]


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
    lines = {name: random_lines(name) for name in names}
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
    lines = {name: random_lines(name) for name in names}
    fed: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
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

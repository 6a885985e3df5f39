"""Visits of a site that changes, some of them killed, resumed, or open together.

A third of the groups change before each visit, all pages of a group to one new text. With "drop"
each text that is shown in the end is stored once by crawls that count; with "pass" every crawl that
ends stores each group once. The visit after the last one finds nothing new or changed, and groups
that vanish, whose pages are answered with 404, are reported as gone once.
"""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest
from loopback import article
from torture.pages import EVERY, PATHS, group_of
from torture.rows import Cases, Row
from torture.scene import at_a_moment

VISITS = 4


class Changing:
    """The texts of the groups at each visit; the pages are changed between visits only."""

    def __init__(self, here, chance: random.Random) -> None:
        self.here = here
        self.chance = chance
        self.version = dict.fromkeys(EVERY, 0)
        #: By the number of a run, the versions that it could find.
        self.found: dict[int, dict[str, int]] = {}
        self.show()

    def show(self) -> None:
        for path in PATHS:
            group = group_of(path)
            if group in self.version:
                self.here.pages[path] = article(f"{group} {self.version[group]}", path)
            else:
                self.here.pages.pop(path, None)

    def change(self) -> None:
        for group in self.chance.sample(sorted(self.version), len(self.version) // 3):
            self.version[group] += 1
        self.show()

    def vanish(self, count: int) -> None:
        for group in self.chance.sample(sorted(self.version), count):
            del self.version[group]
        self.show()

    def start(self, order: int, **settings):
        self.found[len(self.here.runs)] = dict(self.version)
        return self.here.start(order, **settings)

    def disturb(self, kind: str, order: int, **settings) -> None:
        run = self.start(order, **settings)
        if kind == "two together":
            other = self.start(order + 1, **settings)
            other.wait()
        else:
            at_a_moment(self.here, run, self.chance)
            run.kill()
        if kind == "resumed":
            run = self.start(order, **settings)
        run.wait() if kind != "killed" else None

    def stored(self) -> Counter[tuple[str, int]]:
        """How often runs that count have stored each text."""
        settled = self.here.settled()
        return Counter(
            (group, self.found[number][group])
            for number, run in enumerate(self.here.runs)
            if run.process.pid in settled
            for group in map(group_of, run.delivered)
        )


def changes_of(run) -> dict[str, int]:
    prefix = "simhash/changes/"
    found = {name.removeprefix(prefix): n for name, n in run.stats.items() if prefix in name}
    return {name: found[name] for name in sorted(found)}


@pytest.mark.parametrize("kind", ["killed", "two together", "resumed"])
@pytest.mark.parametrize("known", ["pass", "drop"])
def test_visits_of_a_site_that_changes(scene, table, seeds, kind, known):
    cases = Cases()
    for seed in seeds():
        here, chance = scene(), random.Random(f"{kind} {known} {seed}")
        site = Changing(here, chance)
        settings = {"SIMHASH_KNOWN": known}
        site.start(seed * 100, **settings).wait()
        for number in range(VISITS):
            site.change()
            job = {"JOBDIR": str(here.folder / f"job{number}")} if kind == "resumed" else {}
            site.disturb(kind, seed * 100 + 10 * number, **settings, **job)
        site.change()
        site.vanish(3)
        last = site.start(seed * 100 + 90, **settings)
        last.wait()
        after = site.start(seed * 100 + 91, **settings)
        after.wait()
        shown = Counter(list(site.version.items()))
        if known == "drop":
            stored = site.stored()
            twice = stored - Counter(dict.fromkeys(stored, 1))
            assert not after.delivered
        else:
            stored = Counter(
                (group_of(path), site.version[group_of(path)]) for path in last.delivered
            )
            twice = stored - shown
            assert sorted(map(group_of, after.delivered)) == sorted(site.version)
        lost = shown - stored
        assert changes_of(last)["gone"] == 3
        assert changes_of(after).keys() == {"unchanged"}, json.dumps(changes_of(after))
        wrong = here.row("", set(EVERY)).wrong
        name = f"a site that changes, {kind}, SIMHASH_KNOWN = {known}"
        sums = (len(lost), twice.total(), wrong)
        cases.append(Row(name, len(here.runs), len(site.version), *sums))
    assert cases.total(table)[3:] == (0, 0, 0, 0)

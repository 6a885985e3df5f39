"""Random sites, and two to four visits of each in the words of `visited_sites`."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from visited_sites import Visit

#: Addresses of a site, and of another one.
PLACES = [prefix + name for prefix in ("", "two/") for name in "abcdef"]


@dataclass
class ChangingSite:
    """A site of pages that come, go, change, move and copy each other.

    A page shows a text and its price, such as "T1' price:7"; at some addresses several.
    """

    draw: random.Random
    pages: dict[str, list[str]] = field(default_factory=dict)
    former: list[str] = field(default_factory=list)
    texts: int = 0

    def __post_init__(self) -> None:
        for _ in range(self.draw.randint(1, 4)):
            self.add()

    def go_on(self) -> None:
        """What happens between two visits."""
        for _ in range(self.draw.randint(0, 3)):
            actions = [self.add, self.come_back]
            if self.pages:
                actions += [self.vanish, self.move, self.copy, self.copy, self.exchange]
                actions += [self.price, self.revise, self.revise, self.rewrite, self.vary]
                actions += [self.fail_softly, self.move_and_revise]
            self.draw.choice(actions)()

    def line(self) -> str:
        """The site as a visit finds it, in any order."""
        shown = [f"{place} {one}" for place, several in self.pages.items() for one in several]
        self.draw.shuffle(shown)
        if self.draw.random() < 0.15 and len(shown) > 1:
            shown = shown[: self.draw.randint(1, len(shown) - 1)]
            shown[-1] += " stops"
        return ", ".join(self.counted(one) for one in shown)

    def counted(self, one: str) -> str:
        """A page with its counters."""
        views = self.draw.randint(1, 9)
        return f"{one.replace(' price', f'#{views} price')} views:{views}"

    def add(self) -> None:
        self.texts += 1
        self.pages[self.free()] = [f"T{self.texts} price:{self.draw.randint(5, 9)}"]

    def come_back(self) -> None:
        if self.former:
            self.pages[self.free()] = [self.draw.choice(self.former)]

    def vanish(self) -> None:
        self.take()

    def move(self) -> None:
        # To the other site as well.
        several = self.take()
        self.pages[self.free()] = several

    def move_and_revise(self) -> None:
        self.pages[self.free()] = [self.revised(one) for one in self.take()]

    def copy(self) -> None:
        self.pages[self.free()] = [self.draw.choice(self.pages[self.any()])]

    def exchange(self) -> None:
        one, other = self.any(), self.any()
        self.pages[one], self.pages[other] = self.pages[other], self.pages[one]

    def price(self) -> None:
        self.change(lambda one: re.sub(r"\d$", str(self.draw.randint(5, 9)), one))

    def revise(self) -> None:
        self.change(self.revised)

    def rewrite(self) -> None:
        self.take()
        self.add()

    def vary(self) -> None:
        """Another content under an address, as in another currency."""
        several = self.pages[self.any()]
        if len(several) < 3:
            several.append(re.sub(r"\d$", str(self.draw.randint(5, 9)), several[0]))

    def fail_softly(self) -> None:
        """Some addresses show one notice that something is wrong."""
        for place in self.draw.sample([*self.pages], min(len(self.pages), 2)):
            self.former += self.pages[place]
            self.pages[place] = ["S price:0"]

    def change(self, how) -> None:
        """Change what an address shows, or a content wherever it is shown."""
        old = self.draw.choice(self.pages[self.any()])
        new, everywhere, place = how(old), self.draw.random() < 0.5, self.any()
        self.former.append(old)
        for other, several in self.pages.items():
            if everywhere or other == place:
                self.pages[other] = [new if one == old else one for one in several]

    def revised(self, one: str) -> str:
        text, price = one.split(" ")
        # A sentence that is added and cut would make a text of two names.
        fitting = [change for change in REVISIONS if change not in "+-" or not {*"+-"} & {*text}]
        return f"{text if len(text) > 8 else text + self.draw.choice(fitting)} {price}"

    def any(self) -> str:
        return self.draw.choice([*self.pages])

    def take(self) -> list[str]:
        several = self.pages.pop(self.any())
        self.former += several
        return several

    def free(self) -> str:
        """An address that has nothing, unless all have."""
        return self.draw.choice([place for place in PLACES if place not in self.pages] or PLACES)


#: Three or four words, a sentence more or less, a passage: two small ones are no longer near.
REVISIONS = ("'", "'4", "+", "-", "~")


def random_history(seed: str, *, spiders: int = 1, words: str = "") -> list[str]:
    """Lines of two to four visits; of several spiders in turn, which find the same pages.

    The `words` are those of each page.
    """
    draw = random.Random(seed)
    site, lines = ChangingSite(draw), list[str]()
    for _ in range(draw.randint(2, 4)):
        spider = f"!spider:{draw.randint(1, spiders)} " if spiders > 1 else ""
        lines.append(spider + site.line().replace(" price", f"{words} price"))
        site.go_on()
    return lines


def read_lines(site: str, lines: list[str]) -> list[Visit]:
    return [Visit.read(site, line) for line in lines]

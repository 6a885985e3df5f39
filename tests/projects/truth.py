"""What a crawl of a project should come to."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from itemadapter import ItemAdapter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hosts import Hosts
    from scrapy import Spider


class Project(NamedTuple):
    """A crawl as somebody else has written it.

    Attributes:
        spider: of the project; knows nothing of duplicates.
        hosts: the site, generated.
        things: what the items are about, and how many there are of each; those of one are copies.
        thing: what an item is about.
        certain: things whose copies must all be dropped; of others they may be.
    """

    spider: type[Spider]
    hosts: Hosts
    things: Counter[str]
    thing: Callable[[ItemAdapter], str]
    certain: frozenset[str]

    def score(self, items: Iterable[object]) -> Score:
        """Hold what a crawl kept against the truth."""
        kept = Counter(self.thing(ItemAdapter(item)) for item in items)
        return Score(
            unknown=sorted(kept.keys() - self.things.keys()),
            lost=sorted(self.things.keys() - kept.keys()),
            twice=sorted(thing for thing in self.certain if kept[thing] > 1),
            kept=kept,
        )


class Score(NamedTuple):
    """What became of a crawl's items.

    Attributes:
        unknown: things that the truth knows nothing of.
        lost: things of which no item was kept.
        twice: things of which only one item should have been kept.
        kept: how many items of each thing were.
    """

    unknown: list[str]
    lost: list[str]
    twice: list[str]
    kept: Counter[str]

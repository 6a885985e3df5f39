"""Leaves out requests that would only repeat what the crawl has, and takes back what was wrong."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from secrets import randbits
from typing import TYPE_CHECKING

from scrapy import Request

from scrapy_simhash.crawl.repeats import Repeats
from scrapy_simhash.item.parts import Address
from scrapy_simhash.item.sites import same_site
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.repeats import Outcome
    from scrapy_simhash.crawl.stats import CrawlStats
    from scrapy_simhash.crawl.tracking import Page
    from scrapy_simhash.index.verdict import Verdict

__all__ = ["Pruner"]

logger = logging.getLogger(__name__)

#: Of the requests of a part that is left out one in so many is made all the same.
_TEST = 20

#: Requests that are kept to be made after all; pages whose verdicts are waited for; links that are
#: known, at about 60 bytes each. What there is no room for counts as nothing known.
_MOST_HELD, _MOST_PAGES, _MOST_LINKS = 10_000, 10_000, 1_000_000

#: Behind which suspicious pages a request was found. Others are never left out: those of `start()`,
#: of middlewares and pipelines, and what a spider downloads by itself.
_VIA = "simhash_via"

_LISTED = 20


@dataclass(slots=True)
class _Visit:
    """A page whose callback runs, or whose items have no verdict yet.

    Attributes:
        address: under which it was asked for; None where nothing is to be learned of it.
        suspects: parts without which it leads to what was met.
        via: the parts, of pages before it, that it would speak for.
        links: how many it gave.
        has_unknown: whether one of them was found nowhere else.
        items: how many it gave, once that is known.
        judged: how many of them have their verdict.
        gave: what they said, as the numbers of claims.
        outcome: as far as it is known by them.
    """

    address: Address | None
    suspects: list[str]
    via: list[str]
    links: int = 0
    has_unknown: bool = False
    items: int | None = None
    judged: int = 0
    gave: set[int] = field(default_factory=set)
    outcome: Outcome = "nothing"


class Pruner:
    """What is learned in a crawl, and done with it.

    Args:
        crawler: whose requests they are.
        budget: see :class:`Repeats`.
        never: see :class:`Repeats`.
        stats: where it is counted.

    Attributes:
        repeats: what is learned.
    """

    def __init__(
        self, crawler: Crawler, budget: int, never: Iterable[str], stats: CrawlStats
    ) -> None:
        self._crawler = crawler
        self.repeats = Repeats(budget, frozenset(never))
        self._stats = stats
        self._visits: dict[int, _Visit] = {}
        self._links: set[int] = set()
        self._held: list[tuple[frozenset[str], Request]] = []
        self._dropped = Counter[str]()

    # What callbacks yield

    def opened(self, page: Page) -> None:
        """The callback of a page is about to run."""
        request = page.response.request if page.response is not None else None
        if request is None:
            return
        address = _address(page)
        if len(self._visits) >= _MOST_PAGES:
            # Of the oldest one something was never judged.
            del self._visits[next(iter(self._visits))]
        via = list(request.meta.get(_VIA, ()))
        suspects = [] if address is None else self.repeats.suspects(address)
        self._visits[page.visit] = _Visit(address, suspects, via)

    def yielded(self, page: Page, output: Any) -> None:
        """A callback has yielded something: what is a request may be left out from now on."""
        visit = self._visits.get(page.visit)
        if not isinstance(output, Request) or output.meta.get("simhash_prune") is False:
            return
        via = [] if visit is None else self._note_link(visit, output)
        output.meta[_VIA] = via

    def _note_link(self, visit: _Visit, request: Request) -> list[str]:
        """The parts that speak for something new if it is found behind this link."""
        visit.links += 1
        address = Address.of(request.url) if request.method == "GET" else None
        if address is None:
            visit.has_unknown = True
            return [*visit.via, *visit.suspects]
        parts = address.parts()
        # What a page says in its own address it may say in those of its links.
        kinds = {_kind(part) for part in visit.suspects}
        rest = address.without([part for part in parts if _kind(part) in kinds])
        is_known = hash(rest) in self._links
        if len(self._links) < _MOST_LINKS:
            forms = [(), parts, *((part,) for part in parts)]
            self._links.update(hash(address.without(form)) for form in forms)
        if is_known or not (visit.suspects or visit.via):
            return []
        visit.has_unknown = True
        return list(dict.fromkeys([*visit.via, *visit.suspects]))

    def ended(self, page: Page, items: int) -> None:
        """A callback has ended, and yielded so many items."""
        if visit := self._visits.get(page.visit):
            visit.items = items
            self._learn_if_complete(page, visit)

    # What becomes of items

    def judged(self, page: Page, verdict: Verdict) -> None:
        """An item of a page has its verdict."""
        visit = self._visits.get(page.visit)
        if visit is None:
            return
        visit.judged += 1
        match, claim = verdict.match, verdict.claim
        if verdict.kind == "failed_open" or verdict.reason == "soft_404":
            visit.has_unknown = True
        elif verdict.kind == "duplicate" and match is not None:
            visit.gave.add(match.claim)
            # The pages of a mirror repeat another site, which says nothing of their addresses.
            visit.has_unknown |= not same_site(page.url, match.url)
        else:
            visit.outcome = "new"
            if claim is not None:
                visit.gave.add(claim.id)
            elif verdict.kind == "same" and match is not None:
                visit.gave.add(match.claim)
            else:
                # What was not compared is like nothing else.
                visit.gave.add(-randbits(62))
        self._learn_if_complete(page, visit)

    def _learn_if_complete(self, page: Page, visit: _Visit) -> None:
        if visit.items is None or visit.judged < visit.items:
            return
        del self._visits[page.visit]
        says_nothing = not visit.items and not visit.links
        if visit.outcome == "nothing" and (visit.has_unknown or says_nothing):
            visit.outcome = "unknown"
        gave = hash(frozenset(visit.gave)) if visit.gave else 0
        wrong = []
        if visit.address is not None:
            wrong += self.repeats.learn(visit.address, visit.outcome, gave)
        if visit.outcome == "new":
            wrong += self.repeats.give_up(visit.via)
        if wrong:
            self._take_back(set(wrong))

    def not_stored(self, page: Page) -> None:
        """Something that a page gave is not stored after all: what repeats it is wanted again."""
        if address := _address(page):
            self.repeats.forget(address)

    # Requests

    def leaves_out(self, request: Request) -> list[str]:
        """The parts for which a request is not to be made; none if it is."""
        meta = request.meta
        is_ours = _VIA in meta and meta.get("simhash_prune") is not False
        # It was made already, and goes on elsewhere or again.
        is_underway = "redirect_times" in meta or "retry_times" in meta
        if not is_ours or is_underway or request.method != "GET":
            return []
        address = Address.of(request.url)
        parts = [] if address is None else self.repeats.repeating(address)
        if not parts:
            return []
        if self.repeats.is_test(parts[0], _TEST):
            self._stats.count("prune/tested")
            return []
        self._stats.count("prune/dropped")
        self._dropped.update(parts)
        if len(self._held) < _MOST_HELD:
            self._held.append((frozenset(parts), request))
        return parts

    def _take_back(self, wrong: set[str]) -> None:
        """Make the requests after all that were left out for what turned out to be wrong."""
        wrong &= self._dropped.keys()
        if not wrong:
            return
        self._stats.count("prune/given_up", len(wrong))
        back = [request for parts, request in self._held if parts & wrong]
        self._held = [held for held in self._held if not held[0] & wrong]
        logger.info(
            "%s: a page was another one; requests left out for it that are made after all: %d",
            shortened(", ".join(sorted(wrong))),
            len(back),
        )
        for part in wrong:
            del self._dropped[part]
        self._put_back(back)

    def spider_idle(self) -> None:
        """Handles the signal: make what repeats nothing that is stored."""
        back = [
            request
            for _, request in self._held
            if (address := Address.of(request.url)) and not self.repeats.repeating(address)
        ]
        if back:
            gone = set(map(id, back))
            self._held = [held for held in self._held if id(held[1]) not in gone]
            self._put_back(back)

    def _put_back(self, back: Iterable[Request]) -> None:
        engine = self._crawler.engine
        for request in back:
            if engine is not None and engine.spider is not None:
                self._stats.count("prune/put_back")
                engine.crawl(request.replace(dont_filter=True))

    def say_what_was_left_out(self) -> None:
        """List the parts for which requests were left out."""
        if not self._dropped:
            return
        lines = [
            f"  {count:,} for {shortened(part, 200)}"
            for part, count in self._dropped.most_common(_LISTED)
        ]
        if len(self._dropped) > _LISTED:
            lines.append(f"  and others for {len(self._dropped) - _LISTED} more")
        logger.info(
            "Requests left out, as they would only repeat what is known: %d. To have those of a "
            "part made, name it in SIMHASH_PRUNE_NEVER:\n%s",
            self._stats.get("prune/dropped") - self._stats.get("prune/put_back"),
            "\n".join(lines),
        )


def _address(page: Page) -> Address | None:
    """Under which a page was asked for; None where nothing is to be learned of it."""
    request = page.response.request if page.response is not None else None
    if request is None or request.method != "GET" or page.is_left_alone:
        return None
    first, *_ = request.meta.get("redirect_urls") or [request.url]
    return Address.of(first)


def _kind(part: str) -> str:
    """The name of a parameter, wherever it stands; that of a tail is its place."""
    _, is_parameter, name = part.partition("?")
    return name if is_parameter else part

"""What a crawl learns of the parts of addresses: which of them only repeat what it has already.

Of each part two guesses are held, as MaybeDont (Scrapinghub, 2016) holds several:

- *same*: pages whose addresses differ in nothing else give the same. So does a session id.
- *adds nothing*: a page gives nothing new where the one whose address lacks the part was fetched.
  So does a facet, whose pages show some of what its category shows.

A single page that speaks against a guess ends it for this crawl.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scrapy_simhash.item.parts import Address

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from scrapy_simhash.history import Pattern

__all__ = ["Outcome", "Repeats"]

#: What became of a page: something of it was new; nothing was; that can't be said.
Outcome = Literal["new", "nothing", "unknown"]

#: What is remembered at most, at about 100 bytes each: what is met after that is never left out.
_MOST_MET, _MOST_PARTS = 500_000, 20_000

#: Stands for the parts of an address that say nothing, however many.
_ANY = "*"


@dataclass(slots=True)
class _Part:
    """What is known of one: pages that spoke for each guess; None once one spoke against it."""

    same: int | None = 0
    nothing: int | None = 0
    asked: int = 0

    @property
    def is_given_up(self) -> bool:
        return self.same is None and self.nothing is None


class Repeats:
    """Learns from pages, and says which requests would only repeat them.

    Args:
        budget: how many pages must speak for a guess, and none against it.
        never: names of parts of which nothing is guessed.
    """

    def __init__(self, budget: int, never: Collection[str] = ()) -> None:
        self._budget = budget
        self._never = frozenset(never)
        self._parts: dict[str, _Part] = {}
        # What was met under a hash: the same number where the same was. Of whole addresses, and of
        # what is left of them without a part.
        self._met: dict[int, int] = {}
        # Addresses that an earlier crawl stored something of.
        self._own: set[int] = set()

    def begin_with(self, patterns: Iterable[Pattern], own: Iterable[str]) -> None:
        """Take over what earlier crawls have met.

        Args:
            patterns: the parts of addresses.
            own: where something was stored: it is there for another visit of the same address.
        """
        self._own = {
            hash(address.without(())) for url in own if (address := Address.of(url)) is not None
        }
        for pattern in patterns:
            part = self._part(pattern.part)
            if part is not None:
                part.same = None if pattern.contradicted else pattern.repeats

    def suspects(self, address: Address) -> list[str]:
        """The parts without which an address leads to a page that was met."""
        return [
            name
            for name in address.parts()
            if (part := self._part(name)) is not None
            and not part.is_given_up
            and self._is_met(address, (name,), guesses=part.same is not None)
        ]

    def learn(self, address: Address, outcome: Outcome, gave: int) -> list[str]:
        """Learn from a page.

        Args:
            address: under which it was asked for.
            outcome: what became of it.
            gave: equal for pages that gave the same.

        Returns:
            the parts for which requests may have been left out wrongly.
        """
        whole = hash(address.without(()))
        if whole in self._met:
            return []
        wrong = []
        for name in address.parts():
            part = self._part(name)
            if part is not None:
                rest = address.without((name,))
                others = hash((name, rest))
                before = self._proven_of(part)
                _note(part, outcome, gave, self._met.get(others), self._met.get(hash(rest)))
                if before - self._proven_of(part):
                    wrong.append(name)
                self._remember(others, gave)
        self._remember(whole, gave)
        rest = address.without(self._saying_nothing(address))
        self._remember(hash((_ANY, rest)), gave)
        return wrong

    def give_up(self, names: Iterable[str]) -> list[str]:
        """Guess nothing of these parts any more; returns as :meth:`learn` does."""
        wrong = []
        for name in names:
            part = self._part(name)
            if part is not None:
                if self._is_proven(part):
                    wrong.append(name)
                part.same = part.nothing = None
        return wrong

    def forget(self, address: Address) -> None:
        """A page is as if it had not been fetched: nothing that it gave is stored."""
        whole = address.without(())
        for form in ((), *((name,) for name in address.parts()), self._saying_nothing(address)):
            rest = address.without(form)
            for name in (_ANY, *form):
                self._met.pop(hash((name, rest)), None)
        self._met.pop(hash(whole), None)

    def repeating(self, address: Address) -> list[str]:
        """The parts for which a request may be left out; none if it may show something new."""
        if hash(address.without(())) in self._own:
            return []
        proven = self._proven(address)
        guesses = all(self._is_same(self._parts[name]) for name in proven)
        return proven if proven and self._is_met(address, proven, guesses=guesses) else []

    def is_test(self, name: str, every: int) -> bool:
        """Whether it is time to see whether a part still repeats: each so many times."""
        part = self._parts[name]
        part.asked += 1
        return part.asked % every == 0

    def _proven(self, address: Address) -> list[str]:
        parts = ((name, self._parts.get(name)) for name in address.parts())
        return [name for name, part in parts if part is not None and self._is_proven(part)]

    def _saying_nothing(self, address: Address) -> list[str]:
        return [name for name in self._proven(address) if self._is_same(self._parts[name])]

    def _is_proven(self, part: _Part) -> bool:
        return bool(self._proven_of(part))

    def _is_same(self, part: _Part) -> bool:
        return "same" in self._proven_of(part)

    def _proven_of(self, part: _Part) -> set[str]:
        """The guesses that pages have spoken for often enough."""
        spoken = {"same": part.same, "nothing": part.nothing}
        return {guess for guess, pages in spoken.items() if (pages or 0) >= self._budget}

    def _is_met(self, address: Address, names: Collection[str], *, guesses: bool) -> bool:
        """Whether what is left of an address without some parts was fetched.

        If it is guessed that they say nothing, another address that differs in them will do.
        """
        rest = address.without(names)
        keys = [hash(rest)]
        if guesses:
            keys += [hash((name, rest)) for name in (_ANY, *names)]
        return any(key in self._met for key in keys)

    def _part(self, name: str) -> _Part | None:
        part = self._parts.get(name)
        if part is None and name not in self._never and len(self._parts) < _MOST_PARTS:
            part = self._parts[name] = _Part()
        return part

    def _remember(self, key: int, gave: int) -> None:
        if len(self._met) < _MOST_MET:
            self._met.setdefault(key, gave)


def _note(part: _Part, outcome: Outcome, gave: int, twin: int | None, bare: int | None) -> None:
    """What a page says of a part, beside one that differs in it, and the one that lacks it."""
    if outcome == "unknown":
        return
    if twin is not None and part.same is not None:
        part.same = part.same + 1 if twin == gave else None
    if bare is not None and part.nothing is not None:
        # Of two pages that are on their way at once either may be the first.
        repeats = outcome == "nothing" or bare == gave
        part.nothing = part.nothing + 1 if repeats else None

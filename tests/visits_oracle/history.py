"""Histories of sites in the words of `visited_sites`, played to whoever judges their items."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from visited_sites import Visit
from visits_oracle.contents import Content, Item

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from visited_sites import Thing
    from visits_oracle.oracle import Told

GONE = {"404", "410"}


class Judge(Protocol):
    """What a history is played to: the oracle, or an index behind an adapter."""

    def open_visit(self, spider: str = "", arguments: str = "", joins: Any = None) -> Any: ...

    def item(self, run: Any, item: Item) -> Told: ...

    def release(self, run: Any, item: Item) -> None: ...

    def crash(self, run: Any) -> None: ...

    def close(self, run: Any, *, complete: bool, gone: Iterable[str]) -> list[tuple[str, str]]: ...


class Seen(NamedTuple):
    """An item with what was made of it."""

    label: str
    item: Item
    told: Told
    refused: bool = False

    @property
    def stored(self) -> bool:
        return self.told.stored and not self.refused


class Outcome(NamedTuple):
    """A crawl: what was made of its items, in their order, and what was missing or gone."""

    run: Any
    seen: list[Seen]
    absent: list[tuple[str, str]]


class Reader:
    """Reads items from the things of a site.

    Args:
        key: the fact that identifies an item, as SIMHASH_KEY names it; "" for none.
        ignored: names of facts that are not compared.
    """

    def __init__(self, key: str = "", ignored: Collection[str] = ()) -> None:
        self._key, self._ignored, self._downloads = key, ignored, count(1)

    def items(self, page: Thing) -> Iterator[tuple[Thing, Item]]:
        """The items of a page that is downloaded now."""
        download = next(self._downloads)
        if page.words & {"200", "404", "410", "500", "503", "raises"}:
            return
        for thing in page.entries or (page,):
            facts = dict(thing.facts)
            if not thing.text:
                facts.setdefault("title", re.split(r"[?/]", thing.label)[-1])
            if "stamped" in thing.words:
                facts["fetched"] = str(download)
            shown = frozenset(
                (name, value) for name, value in facts.items() if name not in self._ignored
            )
            has_url = bool(page.entries) and not thing.label.startswith("*")
            content = Content(
                *(thing.text, shown),
                compared=bool(thing.text or page.entries),
                has_text="unread" not in thing.words,
            )
            url = thing.url if has_url else page.url
            if self._key in facts:
                identity = f"key:{facts[self._key]}"
            elif has_url or len(page.entries) < 2:
                identity = url.partition("?utm_")[0]
            else:
                identity = f"item:{content.text} {sorted(shown)}"
            listing = download if has_url and len(page.entries) > 1 else 0
            yield (
                thing,
                Item(identity, url, page.site + page.host.removeprefix("sub."), content, listing),
            )


def play(history: Sequence[Visit], judge: Judge, reader: Reader | None = None) -> list[Outcome]:
    """Let all items of all visits be judged, in their order; returns the outcomes in that order."""
    return [*_play([*history], judge, reader or Reader(), None)]


def _play(
    waiting: list[Visit], judge: Judge, reader: Reader, joins: Any, *, once: bool = False
) -> Iterator[Outcome]:
    stopped = None
    while waiting:
        visit = waiting.pop(0)
        how = visit.how
        resumed = stopped if "job" in how else None
        run = judge.open_visit(how.get("spider", ""), how.get("arg", ""), joins or resumed)
        outcome, inside = Outcome(run, [], []), list[Outcome]()
        complete, stopped = True, None
        for page in visit.things:
            for thing, item in reader.items(page):
                told = judge.item(run, item)
                outcome.seen.append(Seen(thing.label, item, told, "refused" in thing.words))
                if "refused" in thing.words:
                    judge.release(run, item)
            complete = complete and not page.words & {"500", "503", "raises", "stops"}
            if "meanwhile" in page.words:
                inside += _play(waiting, judge, reader, run, once=True)
            if "stops" in page.words:
                stopped = run
                break
        if "crash" in how:
            judge.crash(run)
        else:
            gone = [page.url for page in visit.things if page.words & GONE]
            complete = complete and bool(outcome.seen)
            outcome.absent.extend(judge.close(run, complete=complete, gone=gone))
        yield outcome
        yield from inside
        if once:
            return

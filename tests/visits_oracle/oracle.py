"""The model of visits: what is reported of an item, and whether it is stored.

A *content* is something that was stored. A *sighting* is one item that one visit met. An item is
judged by what was stored and sighted before: by the first of six rows that holds (`Oracle.row`).
Whether an item is covered is asked of contents, whether it is equal of what sightings have shown.

This is the definition; an index that gives the same answers may look things up as it likes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from visits_oracle.contents import covers, equal, likeness, resembles, same, tells_change

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from visits_oracle.contents import Item


class Told(NamedTuple):
    """What an item is: new, changed, moved, unchanged or copy; and whether it is stored.

    `origin` is the former URL of what moved or changed, `back` whether it was missing or gone.
    """

    status: str
    stored: bool
    origin: str = ""
    back: bool = False


@dataclass(eq=False)
class Run:
    """A crawl. Several that were open together are one visit."""

    visit: int
    spider: str
    arguments: str
    complete: bool = False


@dataclass(eq=False)
class Stored:
    """A content: an item that a visit has stored, in place of other contents.

    `unchanged` is the first of those that it equals, but for its state.
    """

    item: Item
    visit: int
    before: set[Stored] = field(default_factory=set)
    unchanged: Stored | None = None

    def came_of(self, since: int = 0) -> set[Stored]:
        """All that it and what it replaces have replaced, in visits since one."""
        found, waiting = set[Stored](), [self]
        while waiting:
            one = waiting.pop()
            if one.visit > since:
                waiting += one.before - found
                found |= one.before
        return found


@dataclass(eq=False)
class Sighting:
    """An item that a visit met.

    Attributes:
        run: that met it.
        item: as it was shown.
        row: of the table.
        told: what was reported of it.
        content: what it was stored as, is unchanged since, or is a copy of.
        source: the sighting that it is reported as unchanged, changed or moved from.
        released: whether a later pipeline dropped it. Then it was met, and that is all.
    """

    run: Run
    item: Item
    row: str
    told: Told
    content: Stored
    source: Sighting | None
    released: bool = False

    @property
    def _here(self) -> dict[str, Any]:
        return {"identity": self.item.identity, "listing": self.item.listing}

    def covers(self, item: Item) -> bool:
        """Whether its content covers an item; the entries of one list are never copies."""
        return covers(self.content.item._replace(**self._here), item)

    def resembles(self, item: Item) -> bool:
        """Whether an item is covered, but for a sentence more."""
        return resembles(self.content.item._replace(**self._here), item)

    def equals(self, item: Item) -> bool:
        """Whether it has shown what an item shows."""
        return equal(self.item.content, item.content)


class Row(NamedTuple):
    """The row of the table that holds.

    Attributes:
        name: its number.
        status: what is reported.
        drop_stores: whether "drop" stores the item.
        content: what stands for the item if it is not stored.
        replaces: the sightings whose contents are replaced if it is; the first is reported.
    """

    name: str
    status: str
    drop_stores: bool
    content: Stored | None = None
    replaces: Sequence[Sighting] = ()


class Oracle:
    """The visits of one namespace. `mode` is that of SIMHASH_KNOWN: "pass" or "drop"."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.runs: list[Run] = []
        self.sightings: list[Sighting] = []
        #: Sightings of what was reported as missing or gone, and in which visit.
        self.absent: list[tuple[int, Sighting]] = []

    # What an item is compared with

    def here(self, run: Run, identity: str) -> list[Sighting]:
        """What this visit was shown under an identity."""
        return [
            one
            for one in self.sightings
            if one.run.visit == run.visit and one.item.identity == identity and not one.released
        ]

    def was(self, run: Run, identity: str) -> list[Sighting]:
        """What the last visit that met an identity, before this one, was shown under it.

        If it was incomplete, it may have met only some of several contents: those that it did not
        meet still count. What is known by its digest alone is gone as soon as it shows anything
        else: then the last complete visit has not met it.
        """
        since = self._last_complete(run) if identity.startswith("item:") else 0
        visits: dict[int, list[Sighting]] = {0: [], -1: []}
        for one in self.sightings:
            is_its_own = one.item.identity == identity and not one.released
            if is_its_own and since <= one.run.visit < run.visit:
                visits.setdefault(one.run.visit, []).append(one)
        before, last = (visits[number] for number in sorted(visits)[-2:])
        are_several = any(not one.equals(before[0].item) for one in before)
        is_partial = are_several and any(not one.run.complete for one in last)
        return last + (_unmet(before, last) if is_partial else [])

    def met(self, run: Run) -> list[Sighting]:
        """What this visit, and the last one of each other spider, has met but for copies.

        With "pass", only what was stored.
        """
        return [
            one
            for one in self._current(run)
            if not one.released
            and (one.told.stored or (self.mode == "drop" and one.told.status != "copy"))
        ]

    def covering(self, run: Run, item: Item) -> list[Sighting]:
        """The sightings of `met` that cover an item, the most similar first.

        With "pass", those of other spiders' last visits cover neither a changed version of their
        own item, nor an unchanged or moved item that this spider has stored before.
        """
        found = by_likeness((one for one in self.met(run) if one.covers(item)), item)
        before = self._equal_before(run, item)[:1]
        stays = any(one.told.stored and one not in self._current(run) for one in before)
        own = [one for one in found if one.item.identity == item.identity and one.equals(item)]
        others = [one for one in found if one.item.identity != item.identity and not stays]
        here = [one for one in found if self.mode == "drop" or one.run.visit == run.visit]
        return [one for one in found if one in own + here + others]

    def _equal_before(self, run: Run, item: Item) -> list[Sighting]:
        """The equal sightings before: of its identity or, if that is new, elsewhere on the site."""
        if not (was := self.was(run, item.identity)) and not self.here(run, item.identity):
            was = [one for one in self._last(run, item) if one.item.site == item.site]
        return [one for one in was if one.equals(item)]

    def _last(self, run: Run, item: Item) -> list[Sighting]:
        """Where what covers an item was last met: not as a copy, if possible, and the latest."""
        met = [one.content for one in self.met(run)]
        found = [
            one
            for one in self.others(run, item.identity)
            if one.covers(item) or (one.resembles(item) and one.content not in met)
        ]
        found.sort(key=self.sightings.index, reverse=True)
        return sorted(found, key=lambda one: one.told.status == "copy")

    def _current(self, run: Run) -> list[Sighting]:
        """The sightings of this visit, and of the last one of each other spider."""
        last = {one.spider: one.visit for one in self.runs if one.spider != run.spider}
        return [
            one for one in self.sightings if one.run.visit in (run.visit, last.get(one.run.spider))
        ]

    def others(self, run: Run, identity: str) -> list[Sighting]:
        """What all other identities were last shown, before this visit."""
        identities = dict.fromkeys(one.item.identity for one in self.sightings)
        return [one for other in identities if other != identity for one in self.was(run, other)]

    # The table

    def row(self, run: Run, item: Item) -> Row:
        """The first row that holds for an item."""
        was, here = self.was(run, item.identity), self.here(run, item.identity)
        covering = self.covering(run, item)
        if alike := [one for one in was if one.equals(item)]:
            content = alike[0].content
            if self.mode == "drop" and not (item.content.has_text or covers(content.item, item)):
                # Others are compared with the text that its page has now.
                content = covering[0].content if covering else None
            return Row("1", "unchanged", False, content, alike[:1])
        # What of *was* is not met yet, the most similar first.
        replaces = by_likeness(_unmet(was, here), item) or here[-1:]
        if was and (told := self._told_already(run, item, was)):
            return Row("2", "copy", False, told, replaces)
        if was or (here and not covering):
            new = [
                one for one in covering if one.told.status == "new" and one.run.visit == run.visit
            ]
            stands = [one.content for one in new or covering]
            # What is equal, and was last met elsewhere, has moved there.
            met = [one.content for one in self.met(run)]
            last = [one for one in self._last(run, item) if one.content not in met]
            moved = [one for one in last if one.item.site == item.site and one.equals(item)]
            stored = stands[0] if stands else None
            return Row("3", "changed", not new, stored, [*replaces, *moved])
        if covering:
            return Row("4", "copy", False, covering[0].content)
        return self._elsewhere(run, item)

    def _told_already(self, run: Run, item: Item, was: Sequence[Sighting]) -> Stored | None:
        """The content that tells the change of a known item already, and is not what it was."""
        for one in self.here(run, item.identity):
            if one.equals(item):
                return one.content
        others = self.others(run, item.identity)
        last = [one for one in others if not self.here(run, one.item.identity)]
        for one in (*self.met(run), *last):
            if not one.covers(item) or any(
                one.content is other.content or one.equals(other.item) for other in was
            ):
                continue
            before = [then.item for then in was if then.content in one.content.came_of()]
            if any(tells_change(one.content.item, then, item) for then in before):
                return one.content
        return None

    def _elsewhere(self, run: Run, item: Item) -> Row:
        """Rows 5 and 6: what is unknown, and like nothing that is met."""
        others = self._last(run, item)
        of_site = [one for one in others if one.item.site == item.site]
        of_site = [one for one in of_site if one.covers(item)] or of_site
        if alike := [one for one in of_site if one.equals(item) and one.covers(item)]:
            has_moved = alike[0].item.address != item.address and item.identity[:5] != "item:"
            status = "moved" if has_moved else "unchanged"
            return Row("5a", status, False, alike[0].content, alike)
        if of_site:
            return Row("5b", "changed", True, None, of_site)
        if others:
            status = "copy" if self.mode == "drop" else "new"
            return Row("5c", status, False, others[0].content)
        return Row("6", "new", True)

    # A visit

    def open_visit(self, spider: str = "", arguments: str = "", joins: Run | None = None) -> Run:
        """Begin a crawl; if it `joins` one, both are one visit."""
        visit = joins.visit if joins else max((run.visit for run in self.runs), default=0) + 1
        self.runs.append(Run(visit, spider, arguments))
        return self.runs[-1]

    def item(self, run: Run, item: Item) -> Told:
        """Judge an item that a crawl meets."""
        row = self.row(run, item)
        stored = row.drop_stores if self.mode == "drop" else not self.covering(run, item)
        status = "changed" if row.name == "2" and stored else row.status
        content, replaced = row.content, {one.content for one in row.replaces}
        is_same = row.name == "1" or (row.name == "5a" and row.replaces[0].run.complete)
        then = row.replaces[0].content if is_same else None
        stays = then is not None and same(then.item.content, item.content)
        if content is None or (stored and not stays):
            content = Stored(item, run.visit, replaced, then and (then.unchanged or then))
        elif row.name == "3":
            # It stands for what others have changed to, too.
            content.before |= replaced - {content}
        source = row.replaces[0] if row.replaces else None
        is_told = source and status in ("changed", "moved") and source.item.address != item.address
        back = source is not None and self._is_absent(source)
        told = Told(status, stored, source.item.url if is_told else "", back)
        self.sightings.append(Sighting(run, item, row.name, told, content, source))
        return told

    def release(self, run: Run, item: Item) -> None:
        """A later pipeline drops the item that was judged last."""
        assert (self.sightings[-1].run, self.sightings[-1].item) == (run, item)
        self.sightings[-1].released = True

    def crash(self, run: Run) -> None:
        """Nobody knows what a crawl has stored that was killed: it does not count."""
        self.runs.remove(run)
        self.sightings = [one for one in self.sightings if one.run is not run]

    def close(self, run: Run, *, complete: bool, gone: Iterable[str] = ()) -> list[tuple[str, str]]:
        """End a crawl; `gone` are the pages of which the server said so.

        Returns what is reported as missing or gone, with its URL.
        """
        run.complete = complete
        absent = [("missing", self._then(run))] if complete else []
        absent += [("gone", self.was(run, page)) for page in gone]
        found = [(how, one) for how, then in absent for one in self._absent_of(run, then)]
        became = [one.content for _, one in found]
        told = {
            one.content.unchanged or one.content: (how, one)
            for how, one in found
            if not any(one.content in other.came_of(since=one.run.visit) for other in became)
        }
        self.absent += [(run.visit, one) for _, one in told.values()]
        return [(status, one.item.url) for status, one in told.values()]

    # Questions to a visit that is over

    def _then(self, run: Run) -> list[Sighting]:
        """What the last complete visit of the same spider and arguments met."""
        visit, alike = self._last_complete(run), self._alike(run)
        then = [one for one in self.sightings if one.run.visit == visit and one.run in alike]
        return [one for one in then if not one.released]

    def _last_complete(self, run: Run) -> int:
        """The last complete visit of the same spider and arguments, before this one."""
        return max((one.visit for one in self._alike(run) if one.visit < run.visit), default=0)

    def _alike(self, run: Run) -> list[Run]:
        """The complete runs of the same spider and arguments."""
        same = (run.spider, run.arguments)
        return [one for one in self.runs if (one.spider, one.arguments) == same and one.complete]

    def _absent_of(self, run: Run, then: Sequence[Sighting]) -> list[Sighting]:
        """One sighting of each content that is met no more and was not told as such."""
        here = self._current(run)
        identities = {one.item.identity for one in here}
        there = {one.content for one in then if one.item.identity in identities}
        shown = [other.item.content for other in here]
        there |= {
            one.content for one in then if any(same(one.item.content, other) for other in shown)
        }
        there |= {one.content for one in here}
        # What came of it since then; before, both have been there.
        there |= {
            one.content
            for one in then
            for other in here
            if one.content in other.content.came_of(since=one.run.visit)
        }
        there |= {one.content for visit, one in self.absent if then and visit >= then[0].run.visit}
        absent = [one for one in then if one.content not in there]
        # At several URLs, that of what was stored is told.
        absent.sort(key=lambda one: one.content.item.identity == one.item.identity)
        return [*{one.content: one for one in absent}.values()]

    def _is_absent(self, one: Sighting) -> bool:
        """Whether what was sighted was reported as missing or gone since."""
        return any(
            other.item.identity == one.item.identity and visit >= one.run.visit
            for visit, other in self.absent
        )

    def changes(self, visit: int) -> list[tuple[str, str, str]]:
        """What a visit tells once it is over: what is new, changed or moved, with both URLs.

        Each identity and content is reported once, and what is new only if no known item has
        changed to it.
        """
        told = dict[tuple[str, Stored], tuple[str, str, str]]()
        here = [one for one in self.sightings if one.run.visit == visit and not one.released]
        known = {one.content for one in here if one.told[:2] == ("changed", False)}
        for one in here:
            status = self._told_at_last(one)
            origin = "" if status == "new" else one.told.origin
            is_known = status == "new" and one.content in known
            if not is_known and status not in ("unchanged", "copy"):
                key = one.item.identity, one.content
                told.setdefault(key, (status, one.item.url, origin))
        return [*told.values()]

    def _told_at_last(self, one: Sighting) -> str:
        """What was reported as moved or changed at a new URL, if the former URL was met as well."""
        former = one.source and self.here(one.run, one.source.item.identity)
        if one.row not in ("5a", "5b") or not former:
            return one.told.status
        # A former URL that shows the same change as a copy has changed, too.
        kept = [
            other for other in former if (other.told.status, other.source) != ("copy", one.source)
        ]
        if any(covers(other.item, one.item) for other in kept):
            return "copy"
        return "new" if kept and one.row == "5b" else one.told.status


def by_likeness(sightings: Iterable[Sighting], item: Item) -> list[Sighting]:
    """The most similar first, of those the latest."""
    return sorted(
        sightings,
        key=lambda one: (likeness(one.item.content, item.content), one.run.visit),
        reverse=True,
    )


def _unmet(earlier: Sequence[Sighting], later: Sequence[Sighting]) -> list[Sighting]:
    """The earlier sightings of an identity that no later one is equal to, or told to come from."""
    return [
        one
        for one in earlier
        if not any(other.equals(one.item) or other.source is one for other in later)
    ]

"""What must hold of the visits of a site, whoever judged them: it knows the items and no rules.

Some faults can't be avoided, as texts do not tell what a page has become. They are counted.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from visits_oracle.contents import covers, equal, tells_change

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from visits_oracle.contents import Item
    from visits_oracle.history import Outcome, Seen

#: What is wrong with a visit.
NO_FIRST_CRAWL = "'pass' does not store what a first crawl does"
LOST = "a content of the site is covered by nothing that is stored"
LOST_REVISION = "a revision is covered only by what its page has shown before"
TWICE = "'drop' stores what a known page of the same visit shows as before"
CHANGE_TWICE = "'drop' stores a change at two addresses that showed the same before"
NEW = "told as new, but the last visit met it"
MISSING = "told as missing, but there"


def faults(mode: str, outcomes: Sequence[Outcome], told: Sequence[Iterable]) -> Counter[str]:
    """Count what is wrong with visits; `told` is what each says once it is over."""
    found = Counter[str]()
    for number, outcome in enumerate(outcomes):
        earlier = outcomes[:number]
        if mode == "pass":
            found[NO_FIRST_CRAWL] += not _is_first_crawl(outcome, earlier)
        else:
            found.update(_losses(outcome, earlier))
            found[TWICE] += _is_stored_again(outcome, earlier)
            found[CHANGE_TWICE] += _is_change_stored_again(outcome, earlier)
        there = [one.item for one in outcome.seen]
        as_before = ("unchanged", "copy")
        other = [one.item for one in outcome.seen if one.told.status not in as_before]
        then = [one.item for one in earlier[-1].seen] if earlier else []
        new = {url for status, url, _ in told[number] if status == "new"}
        found[NEW] += any(_have(then, one) for one in other if one.url in new)
        gone = {url for _, url in outcome.absent}
        before = [one.item for each in earlier for one in each.seen if one.item.url in gone]
        found[MISSING] += any(_have(before[-1:], one) for one in there)
    return found


def _have(items: Iterable[Item], item: Item) -> bool:
    return any(one.site == item.site and covers(one, item) for one in items)


def _is_first_crawl(outcome: Outcome, earlier: Sequence[Outcome]) -> bool:
    """One of a namespace in which the other spiders have stored what their last visits did.

    What they were shown under an item's own identity counts only if nothing has changed; and what
    an earlier visit has stored is stored again, as long as it is there.
    """
    others = {each.run.spider: each for each in earlier if each.run.spider != outcome.run.spider}
    last, kept = [one for each in others.values() for one in each.seen], []
    stored = [one.item for each in earlier for one in each.seen if one.stored]
    for one in outcome.seen:
        is_copy = any(covers(other, one.item) for other in kept)
        is_elsewhere = any(other.stored and _covers_now(other, one) for other in last)
        was_stored = any(
            other.site == one.item.site and equal(other.content, one.item.content)
            for other in stored
        )
        if one.told.stored:
            if is_copy or (is_elsewhere and not was_stored):
                return False
            kept.append(one.item)
        elif not is_copy and (not is_elsewhere or _has_stored(outcome.run.spider, one, earlier)):
            return False
    return True


def _has_stored(spider: str, one: Seen, earlier: Sequence[Outcome]) -> bool:
    """Whether the last visit that met an identity was this spider's, and has stored the same."""
    for outcome in reversed(earlier):
        if found := [old for old in outcome.seen if old.item.identity == one.item.identity]:
            same = [old for old in found if equal(old.item.content, one.item.content)]
            return outcome.run.spider == spider and bool(same) and all(old.stored for old in same)
    return False


def _covers_now(other: Seen, one: Seen) -> bool:
    is_changed = not equal(other.item.content, one.item.content)
    is_outdated = other.item.identity == one.item.identity and is_changed
    return covers(other.item, one.item) and not is_outdated


def _losses(outcome: Outcome, earlier: Sequence[Outcome]) -> Iterator[str]:
    """What "drop" leaves out and has not stored by the end of the visit."""
    visits = [*earlier, outcome]
    stored = [
        (one.item, visit) for visit, each in enumerate(visits) for one in each.seen if one.stored
    ]
    for one in outcome.seen:
        covering = [(item, visit) for item, visit in stored if covers(item, one.item)]
        if not covering:
            yield LOST
        was = _last_shown(one.item.identity, earlier)
        if not was or _have_equal(was, one.item):
            continue
        # What it has shown was met first, anywhere.
        first = min(
            visit
            for visit, each in enumerate(visits)
            for other in each.seen
            if _have_equal(was, other.item)
        )
        if not any(
            equal(item.content, one.item.content)
            or (
                visit >= first
                and not _have_equal(was, item)
                and any(tells_change(item, old, one.item) for old in was)
            )
            for item, visit in covering
        ):
            yield LOST_REVISION


def _last_shown(identity: str, earlier: Sequence[Outcome]) -> list[Item]:
    for outcome in reversed(earlier):
        if found := [one.item for one in outcome.seen if one.item.identity == identity]:
            return found
    return []


def _is_stored_again(outcome: Outcome, earlier: Sequence[Outcome]) -> bool:
    """Whether an unknown address is stored that shows what a known one shows as before."""
    known = [(one, _last_shown(one.item.identity, earlier)) for one in outcome.seen]
    as_before = [one.item for one, was in known if _have_equal(was, one.item)]
    return any(
        one.stored and not was and any(covers(other, one.item) for other in as_before)
        for one, was in known
    )


def _is_change_stored_again(outcome: Outcome, earlier: Sequence[Outcome]) -> bool:
    """Whether copies that become another content are both stored, now or one visit later."""
    now = _stored_changes(outcome, earlier)
    before = _stored_changes(earlier[-1], earlier[:-1]) if earlier else []
    return any(
        item.identity != other.identity
        and equal(item.content, other.content)
        and any(_have_equal(its_was, old) for old in was)
        for number, (item, was) in enumerate(now)
        for other, its_was in [*before, *now[:number]]
    )


def _stored_changes(
    outcome: Outcome, earlier: Sequence[Outcome]
) -> list[tuple[Item, Sequence[Item]]]:
    """What known addresses show otherwise than before, with what they showed."""
    known = [(one, _last_shown(one.item.identity, earlier)) for one in outcome.seen]
    return [
        (one.item, was)
        for one, was in known
        if one.stored and was and not _have_equal(was, one.item)
    ]


def _have_equal(items: Iterable[Item], item: Item) -> bool:
    return any(equal(one.content, item.content) for one in items)

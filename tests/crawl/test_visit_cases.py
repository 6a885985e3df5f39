"""Later visits of small sites store what the table says, and say what changed."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict

import pytest
from crawl.visit_cases import CASES, MODES
from scrapy.utils.defer import deferred_f_from_coro_f
from servers import ENGINES
from visited_sites import Store, Visit

#: Cases whose sites the same crawls can visit.
PLAIN = [case for case in CASES if case.is_plain]
ALONE = [case for case in CASES if not case.is_plain]


async def visit_all(case, settings, folder):
    """The outcomes of all visits of a case."""
    store, pending = Store({**settings, **case.settings}, folder), []
    for visit in case.visits:
        pending.append(visit)
        if not any("meanwhile" in thing.words for thing in visit.things):
            await store.visit(*pending)
            pending = []
    return store.outcomes


def described(changes):
    """Changes, or what is expected of them, as sorted lines without details."""
    return sorted(
        f"{getattr(one, 'label', '') or one.thing.label} {one.status}"
        f" {'stored' if one.stored else 'left out'}"
        for one in changes
    )


def wrong_verdicts(expected, changes):
    """Compare what became of items; of those with the status `?` only whether they were stored."""
    open_ones = {(one.label, one.stored) for one in expected if one.status == "?"}
    changes = [
        one._replace(status="?") if (one.thing.label, one.stored) in open_ones else one
        for one in changes
    ]
    wanted, found = Counter(described(expected)), Counter(described(changes))
    yield from (f"not found: {line}" for line in (wanted - found).elements())
    yield from (f"not expected: {line}" for line in (found - wanted).elements())


def wrong_details(expected, changes, compared):
    """Compare fields that differ, former addresses, and what came back."""
    for one in expected:
        for change in (x.change for x in changes if x.thing.label == one.label):
            if change.get("status") != one.status:
                continue
            fields = {
                name: pair
                for name, pair in (change.get("fields") or {}).items()
                if name in compared
            }
            if fields.keys() != one.fields.keys() or not all(
                wants in str(got) if wants else not got
                for name, pair in one.fields.items()
                for wants, got in zip(pair, fields[name], strict=True)
            ):
                yield f"{one.label}: fields {fields} instead of {one.fields}"
            origin = (change.get("original") or "").split("/", 3)[3:]
            if (origin or [""]) != [one.origin] and (one.origin or one.status != "moved"):
                yield f"{one.label}: from {origin} instead of {one.origin}"
            if bool(change.get("back")) != one.back:
                yield f"{one.label}: back is {change.get('back')}"


def wrong_times(outcomes):
    """What is unchanged has been so since one of the earlier visits, everything else is later."""
    said = defaultdict(set)
    for outcome in outcomes:
        for one in outcome.changes:
            if "since" not in one.change:
                if one.status != "copy":
                    yield f"{one.thing.label}: no time"
                continue
            since = dt.datetime.fromisoformat(one.change["since"])
            earlier = said[one.thing.url]
            if one.status == "unchanged" and earlier and since not in earlier:
                yield f"{one.thing.label}: unchanged since {since}, not since {earlier}"
            if one.status == "changed" and earlier and since < max(earlier):
                yield f"{one.thing.label}: changed at {since}, but known at {max(earlier)}"
            earlier.add(since)


def wrong_in(case, mode, outcomes):
    """What is not as the table has it; all lines of all visits."""
    pages = [page for visit in case.visits for page in visit.things]
    compared = {name for page in pages for thing in (page, *page.entries) for name in thing.facts}
    for number, outcome in enumerate(outcomes):
        expected = case.expected[mode][number]
        if expected is not None:
            wrong = [
                *wrong_verdicts(expected, outcome.changes),
                *wrong_details(expected, outcome.changes, compared),
            ]
            yield from (f"visit {number + 1}: {line}" for line in wrong)
    yield from wrong_times(outcomes)


def wrong_stats(case, mode, outcomes):
    for number, outcome in enumerate(outcomes):
        stats = outcome.done.stats
        # What moved may turn out to be at its old address, too; skipped pages have no items.
        skips = "SIMHASH_ON_DUPLICATE" in case.settings
        for status in () if skips else ("new", "changed", "unchanged"):
            count = sum(one.status == status for one in outcome.changes)
            if stats.get(f"changes/{status}", 0) != count:
                yield f"visit {number + 1}: {count} {status}, {stats.get(f'changes/{status}')} said"
        removed = stats.get("changes/missing", 0) + stats.get("changes/gone", 0)
        if case.removed[number] not in {None, removed}:
            yield f"visit {number + 1}: {removed} removed"
        back = sum(one.back for one in case.expected[mode][number] or ())
        if stats.get("changes/back", 0) != back:
            yield f"visit {number + 1}: {stats.get('changes/back')} back"


def visits_of_all():
    """The visits of all plain cases at once."""
    for number in range(max(len(case.visits) for case in PLAIN)):
        things = [case.visits[number].things for case in PLAIN if number < len(case.visits)]
        yield Visit(tuple(thing for several in things for thing in several))


@pytest.mark.parametrize(
    "engine",
    ["sqlite", *(pytest.param(name, marks=pytest.mark.slow) for name in ENGINES[1:])],
)
@pytest.mark.parametrize("mode", MODES)
@deferred_f_from_coro_f
async def test_sites_that_one_crawl_visits_all(settings, tmp_path, mode):
    store, wrong = Store(settings | {"SIMHASH_KNOWN": mode}, tmp_path), []
    for visit in visits_of_all():
        await store.visit(visit)
    for case in PLAIN:
        outcomes = [outcome.of(case.name) for outcome in store.outcomes[: len(case.visits)]]
        wrong += [f"{case.name}: {line}" for line in wrong_in(case, mode, outcomes)]
    assert not wrong, "\n".join(wrong)


VISITED = [(case, mode) for case in ALONE for mode in MODES]


@pytest.mark.parametrize(
    ("case", "mode"),
    [
        pytest.param(
            case, mode, id=f"{case.name}-{mode}", marks=() if case.quick else pytest.mark.slow
        )
        for case, mode in VISITED
    ],
)
@deferred_f_from_coro_f
async def test_a_site_alone(settings, tmp_path, case, mode):
    outcomes = await visit_all(case, settings | {"SIMHASH_KNOWN": mode}, tmp_path)
    wrong = [*wrong_in(case, mode, outcomes), *wrong_stats(case, mode, outcomes)]
    assert not wrong, "\n".join(wrong)

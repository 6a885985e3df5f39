"""The oracle does what the cases say, and what must hold of every history."""

from __future__ import annotations

from collections import Counter

import pytest
from crawl.visit_cases import CASES, MODES
from visits_oracle.cases import VISIT_CASES
from visits_oracle.history import Reader, play
from visits_oracle.oracle import Oracle

#: Cases of crawls that are about something else than the model: the rule of duplicates, what counts
#: as equal, pages whose callbacks are skipped.
ELSEWHERE = {
    "A text of three things of a site makes no copies on another one",
    "The same date and price written otherwise",
    "A text that is revised below the tolerance",
    "Callbacks that are skipped",
}


def wrong_in(case, mode, outcomes, missing):
    """What is not as a case has it."""
    for number, outcome in enumerate(outcomes):
        if missing[number] not in (None, len(outcome.absent)):
            yield f"visit {number + 1}: {outcome.absent} are missing"
        expected = case.expected[mode][number]
        if expected is None:
            continue
        open_ones = {(one.label, one.stored) for one in expected if one.status == "?"}
        wanted = Counter((one.label, one.status, one.stored) for one in expected)
        found = Counter(
            (
                one.label,
                "?" if (one.label, one.stored) in open_ones else one.told.status,
                one.stored,
            )
            for one in outcome.seen
        )
        yield from (f"visit {number + 1}: not {one}" for one in (wanted - found).elements())
        yield from (f"visit {number + 1}: {one}" for one in (found - wanted).elements())
        origins = {(one.label, one.status): (one.origin, one.back) for one in expected}
        for one in outcome.seen:
            origin, back = origins.get((one.label, one.told.status), ("", one.told.back))
            if back != one.told.back or (origin and not one.told.origin.endswith("/" + origin)):
                yield f"visit {number + 1}: {one}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("one", VISIT_CASES, ids=lambda one: one.case.name)
def test_a_case_of_the_model(one, mode):
    oracle = Oracle(mode)
    outcomes = play(one.case.visits, oracle, Reader(one.key))
    wrong = [*wrong_in(one.case, mode, outcomes, one.missing)]
    for number, told in enumerate(one.told):
        said = {
            " ".join([status, label_of(url)]) + (f"<{label_of(origin)}" if origin else "")
            for status, url, origin in oracle.changes(outcomes[number].run.visit)
        }
        if told is not None and said != told:
            wrong.append(f"visit {number + 1}: said {said}")
    assert not wrong, "\n".join(wrong)


def label_of(url):
    return url.split("/", 3)[3]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_of_crawls(case):
    if case.name in ELSEWHERE:
        return
    wrong = []
    reader = (
        case.settings.get("SIMHASH_KEY", [""])[0],
        case.settings.get("SIMHASH_IGNORE_FIELDS", ()),
    )
    for mode in MODES:
        outcomes = play(case.visits, Oracle(mode), Reader(*reader))
        wrong += wrong_in(case, mode, outcomes, case.removed)
    assert not wrong, "\n".join(wrong)

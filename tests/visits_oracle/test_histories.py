"""Whatever happens to a site, "pass" is a first crawl and "drop" loses nothing."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise, permutations

import pytest
from crawl.visit_cases import MODES
from hypothesis import settings as profile
from visits_oracle import truth
from visits_oracle.cases import VISIT_CASES
from visits_oracle.contents import Content, are_near, text_of
from visits_oracle.history import Reader, play
from visits_oracle.oracle import Oracle
from visits_oracle.random_histories import random_history, read_lines

#: Histories of a batch: 400, and 1,000 with `--hypothesis-profile=full`.
HISTORIES = 20 * profile.default.max_examples
#: Of how many in 10,000 histories something is wrong that texts do not tell, at most. Of what is
#: missing, more than half is there, with another counter.
BOUNDS = {truth.TWICE: 80, truth.CHANGE_TWICE: 60, truth.NEW: 80, truth.MISSING: 180}
#: A revision that is a near copy of what a page of another spider became meanwhile.
OF_SEVERAL_SPIDERS = {truth.LOST_REVISION: 2}


def judged(visits, mode, reader=None):
    oracle = Oracle(mode)
    outcomes = play(visits, oracle, reader)
    return truth.faults(mode, outcomes, [oracle.changes(each.run.visit) for each in outcomes])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("spiders", [1, 2])
def test_random_histories(mode, spiders):
    wrong, examples = Counter(), {}
    for number in range(HISTORIES):
        lines = random_history(f"{number}", spiders=spiders)
        for fault in +judged(read_lines("site", lines), mode):
            wrong[fault] += 1
            examples.setdefault(fault, lines)
    bounds = BOUNDS | (OF_SEVERAL_SPIDERS if spiders > 1 else {})
    # A batch may have a few more than its share.
    allowed = {fault: bound * HISTORIES / 10_000 + 3 for fault, bound in bounds.items()}
    too_many = [fault for fault in wrong if wrong[fault] > allowed.get(fault, 0)]
    assert not too_many, f"{wrong}\n" + "\n".join(
        "\n".join([fault, *examples[fault]]) for fault in too_many
    )


def test_the_first_visit_is_the_same_in_both_modes():
    for number in range(HISTORIES):
        first = read_lines("site", random_history(f"{number}")[-1:])
        outcomes = [play(first, Oracle(mode))[0] for mode in MODES]
        told = [[one.told for one in outcome.seen] for outcome in outcomes]
        assert told[0] == told[1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("one", VISIT_CASES, ids=lambda one: one.case.name)
def test_the_last_visit_of_a_case_in_all_orders(one, mode):
    *earlier, last = one.case.visits
    for things in islice(permutations(last.things), 120):
        wrong = +judged([*earlier, last._replace(things=things)], mode, Reader(one.key))
        assert not wrong.keys() & {truth.NO_FIRST_CRAWL, truth.LOST, truth.LOST_REVISION}


def test_texts_are_as_similar_as_their_names_say():
    names = ["T", "T'", "T'4", "T''4", "T'9", "T+", "T-", "T+'", "T-'4", "T~", "T~'", "U"]
    pairs = {name: pairs_of(text_of(Content(name))) for name in names}
    for one in names:
        for other in names:
            shared = len(pairs[one] & pairs[other]) / len(pairs[one] | pairs[other])
            is_near = are_near(one, other)
            assert (shared == 1) is (one == other)
            assert (shared >= 0.9) is is_near, f"{one} {other} {shared}"


def pairs_of(text):
    words = text.lower().replace(".", "").split()
    return {*pairwise(words)}

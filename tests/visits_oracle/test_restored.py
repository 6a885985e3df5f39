"""Items that were restored by hand, on random sites: each is stored from then on."""

from __future__ import annotations

import random
import re

import pytest
from crawl.visit_cases import MODES
from visits_oracle.history import Reader
from visits_oracle.index_judge import IndexJudge
from visits_oracle.random_histories import random_history, read_lines

from scrapy_simhash.index.upkeep import store_restored
from scrapy_simhash.index.verdict import LeftOut


def visit_once(judge, items, spider="one"):
    """What was made of each item, in the order of a visit; and the run."""
    run = judge.open_visit(spider)
    return [(judge.item(run, item), judge.last) for item in items], run


def shown(verdicts):
    """What was shown, and under which identity."""
    return {(one.row.identity, one.row.digest) for one in verdicts}


def restore(judge, run, verdicts):
    index = judge.index(run)
    index.execute(left_out=[LeftOut(one, "drop", b"item", "dict") for one in verdicts])
    numbers = [one.row.id for one in verdicts]
    # The second time nothing is left to do.
    for _ in range(2):
        store_restored(
            *(judge.database, index.id, numbers), bits=index.scheme.bits, scheme=index.scheme
        )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "numbers", [range(20), pytest.param(range(20, 140), marks=pytest.mark.slow)], ids=len
)
@pytest.mark.parametrize("spiders", [1, 2])
def test_what_was_restored_is_stored_at_later_visits(mode, numbers, spiders):
    count = 0
    for number in numbers:
        draw, reader = random.Random(f"{number}"), Reader()
        # The last visit of a history has the most copies.
        lines = random_history(f"{number}")[-1:]
        # Of two items that differ in a counter, either is stored.
        (visit,) = read_lines("site", [re.sub(r"#\d+", "", line) for line in lines])
        items = [item for page in visit.things for _, item in reader.items(page)]
        with IndexJudge(mode) as judge:
            if spiders > 1:
                judge.close(visit_once(judge, items, "other")[1], complete=True, gone=())
            seen, run = visit_once(judge, items)
            left = [verdict for told, verdict in seen if not told.stored]
            chosen = [verdict for verdict in left if draw.random() < 0.7]
            restore(judge, run, chosen)
            judge.close(run, complete=True, gone=())
            count += len(chosen)
            for _ in range(2):
                draw.shuffle(items)
                seen, run = visit_once(judge, items)
                judge.close(run, complete=True, gone=())
                assert {told.status for told, _ in seen} <= {"unchanged"}, number
                stored = shown(verdict for told, verdict in seen if told.stored)
                assert stored >= shown(chosen) if mode == "pass" else not stored, number
    assert count

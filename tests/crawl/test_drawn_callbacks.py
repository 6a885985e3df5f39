"""With the plugin a crawl stores the same items as without it, in the same order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from drawn_callbacks import ENDS, FORMS, LAST_ENDS, STEPS, Plan, stored, with_plugin
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scrapy.utils.defer import deferred_f_from_coro_f

PROGRAM = Path(__file__).parents[1] / "drawn_callbacks.py"


def plans(forms, ends, most):
    steps = st.lists(st.sampled_from(STEPS), max_size=8)
    one = st.builds(Plan, st.sampled_from(forms), steps, st.sampled_from(ends))
    return st.lists(one, min_size=1, max_size=most)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=plans(FORMS, ENDS, 3) | plans(FORMS[:3], LAST_ENDS, 1))
@deferred_f_from_coro_f
async def test_what_callbacks_yield_is_stored_as_without_the_plugin(tmp_path, drawn):
    expected = await stored(drawn)
    assert await stored(drawn, **with_plugin(tmp_path / "index.db")) == expected


def test_so_it_is_with_another_reactor(tmp_path):
    subprocess.run([sys.executable, PROGRAM, tmp_path / "index.db"], check=True, timeout=120)

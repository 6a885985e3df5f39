from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.report.visible import shortened, visible


@given(st.text())
def test_what_is_made_visible_is_the_same_json(text):
    shown = visible(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == text
    assert shortened(text).isprintable() or not set(shortened(text)) & set("\x1b\u202e\n\r")

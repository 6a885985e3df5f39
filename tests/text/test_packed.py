from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.text.packed import pack_text, unpack_text


@given(st.text())
def test_a_packed_text_comes_back_as_far_as_it_can_be_written(text: str) -> None:
    assert unpack_text(pack_text(text))[0] == text.encode("utf-8", "replace").decode()

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.report.difference import difference


@given(st.text("ab \n，中文", max_size=60), st.text("ab \n，中文", max_size=60))
def test_a_difference_leads_from_one_text_to_the_other(first, second):
    place, kept, made = 0, "", ""
    for change in difference(first, second)[1]:
        copied = first[place : place + change.copied]
        place += change.copied + change.removed
        kept += copied
        made += copied + change.added
    assert place == len(first)
    assert "".join(made.split()) == "".join(second.split())
    if first == second:
        assert kept == first


def test_a_difference_marks_single_words_and_ideographs():
    assert difference("one two three four", "one two 3 four")[1][0] == (8, 6, "3 ")
    assert difference("今天天气很好", "今天天气不好")[1][0] == (4, 1, "不")


def test_neither_passwords_nor_their_parts_are_shown():
    first, second = (f"see http://a.test/?token=hid{part}&b=1 now" for part in ("den", "ing"))
    shown = "see http://a.test/?token=***&b=1 now"
    assert difference(first, second) == (shown, [(len(shown), 0, "")])

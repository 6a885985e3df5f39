"""The compiled core finds the numbers of a text that the pure path finds."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_simhash import native
from scrapy_simhash.item import numbers as numbering
from scrapy_simhash.item.numbers import numbers_in

COMPILED = pytest.importorskip("scrapy_simhash.native._core", reason="the core is not compiled")


def both(text):
    """The numbers of a text on the pure path and by the compiled core."""
    found = []
    for core in (None, COMPILED):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(native, "core", core)
            found.append(numbers_in(text))
    return found


# Pieces of texts that decide which numbers are found, in any order.
pieces = st.sampled_from(
    [
        *("0", "1", "23", "456", "7890", "1,234", "5'000", "1’000.5", "12:30", "1.2.3", "00"),
        *("-", "−", ".", ",", ":", "'", "’", "(", " ", "\t", "\n", "\x1c", "\x85", "\u3000", "%"),
        *("a", "Z", "_", "ª", "µ", "À", "ჿ", "ᄀ", "ሀ", "῿", "Ⱡ", "Ꙁ", "ꯥ", "ꯦ", "中", "あ", "한"),
        *("٣", "७", "๓", "３", "𝟓", "\U0001fbf3", "½", "²"),
        *("\ud800", "\udfff", "\ufdfa", "e\u0301"),
        *(" ago", "ago", "sec", "seconds ago", "3 days ago", "1 hr ago", "days", "hours ago"),
        *("前", "秒前", "5分钟前", "小时", "天前", "3 天前", "于"),
        *("page", "age", " was", " last", "last ", "页", "面", "最后", "updated: 2024-01-02"),
        *("page last updated 3 May 2024", "页面最后更新于2024年5月3日", "Page was last edited"),
    ]
)
texts = st.lists(st.one_of(pieces, st.text(max_size=20)), max_size=30).map("".join)


@given(texts)
@example("page last3 days ago updated 2024-01-02 5")
@example("٣ days ago-5")
@example("1٣ days ago 中3天前-5")
@example("-1,234 (−5) a-6 −7.8 1,23 1234,567 1:234")
@example("１２３ ½ \ufdfa12")
def test_a_text_has_the_same_numbers(text):
    pure, compiled = both(text)
    assert pure == compiled


def test_a_huge_text_has_the_same_numbers():
    for text in ("1,234 5 days ago ", "７８", "9" * 99 + "-", "3天前4", "1.", " last 1", "٣"):
        pure, compiled = both(text * 20_000)
        assert pure == compiled


def test_all_characters_are_normalised_as_by_the_pure_path():
    """A newer Unicode changes none; one that the core does not know is left to Python."""
    for point in range(0x80, 0x20000):
        text = f"1{chr(point)}2 {chr(point)}-3"
        found = COMPILED.numbers(text.encode("utf-8", "surrogatepass"), False)
        plain = numbering.without_times(numbering.plain(text))
        assert found is None or found == numbering._numbers(plain), hex(point)
        assert found is not None or chr(point) not in "é’“–\xa0²…，中の한−Ж"


def test_where_the_core_sees_no_digits_there_are_none():
    """A newer Unicode might have some; the core has no tables and depends on Python for them."""
    for point in range(0x80, 0x110000):
        if chr(point).isdecimal() and not "０" <= chr(point) <= "９":
            assert COMPILED.numbers(f"{chr(point)} days ago".encode(), False) is None


@pytest.mark.parametrize("text", numbering._SIGNS_OF_THAT)
def test_relative_dates_are_left_to_the_pure_path(text):
    assert COMPILED.numbers(f"{text} 1".encode(), False) is None
    assert COMPILED.numbers(f"{text[1:]} 1".encode(), False) == ["1"]
    assert COMPILED.numbers(f"{text} 1".encode(), True) == ["1"]


@given(st.binary(max_size=99) | texts.map(lambda text: text.encode("utf-16", "replace")))
def test_numbers_of_what_is_no_utf8_do_no_harm(data):
    found = COMPILED.numbers(data, False)
    assert found is None or all(any(map(str.isdecimal, number)) for number in found)

"""Where two texts differ, and what that tells."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import prose

from scrapy_simhash.features.changes import Changes, WordEdit

WORDS = prose("a text", 400).split()


def changes(new: list[str] | str, old: list[str] | str) -> Changes:
    return Changes.of(*(text if isinstance(text, str) else " ".join(text) for text in (new, old)))


def spliced(place: int, gone: int, *words: str) -> list[str]:
    """The text with other words in place of so many."""
    return [*WORDS[:place], *words, *WORDS[place + gone :]]


def own(count: int, name: str = "own") -> list[str]:
    return [f"{name}{chr(97 + number)}" for number in range(count)]


@pytest.mark.parametrize(("place", "before", "after"), [(0, "", WORDS[2]), (398, WORDS[397], "")])
def test_a_change_at_the_end_of_a_text_has_one_neighbour(
    place: int, before: str, after: str
) -> None:
    found = changes(spliced(place, 2, "x"), WORDS)
    assert found.all == [WordEdit(["x"], WORDS[place : place + 2], before, after)]


def test_what_is_added_or_left_out_has_nothing_in_its_place() -> None:
    added, left_out = changes(spliced(50, 0, *own(20)), WORDS), changes(spliced(50, 20), WORDS)
    assert [(len(one.new), len(one.old)) for one in added.all] == [(20, 0)]
    assert [(len(one.new), len(one.old)) for one in left_out.all] == [(0, 20)]
    for found in (added, left_out):
        assert not found.replaces_passage()


def test_equal_and_scattered_edits_are_no_passage() -> None:
    edited = list(WORDS)
    for number, place in enumerate(range(10, 400, 20)):
        edited[place] = own(20)[number]
    assert changes(WORDS, WORDS).all == []
    assert len(changes(edited, WORDS).all) == 20
    assert not changes(edited, WORDS).replaces_passage()
    assert not changes(edited, WORDS).renames()


@pytest.mark.parametrize(
    ("new", "old", "expected"), [(12, 12, True), (11, 30, False), (30, 11, False)]
)
def test_a_passage_has_twelve_words_on_both_sides(new: int, old: int, expected: bool) -> None:
    assert changes(spliced(100, old, *own(new)), WORDS).replaces_passage() is expected


@pytest.mark.parametrize(("length", "words"), [(32, 4), (64, 4), (96, 6), (192, 12)])
def test_in_short_texts_fewer_words_are_a_passage(length: int, words: int) -> None:
    old = WORDS[:length]
    for count in (words, words - 1):
        new = [*old[:20], *own(count), *old[20 + count :]]
        assert changes(new, old).replaces_passage() is (count == words)


def test_an_ideograph_is_half_a_word() -> None:
    chance = random.Random(1)
    text = "".join(chr(0x4E00 + chance.randrange(2000)) for _ in range(800))
    other = "".join(chr(0x8000 + number) for number in range(24))
    assert changes(text[:300] + other + text[324:], text).replaces_passage()
    assert not changes(text[:300] + other[1:] + text[323:], text).replaces_passage()


def named(firm: str, count: int) -> list[str]:
    return [
        word
        for place in range(count)
        for word in (*WORDS[place * 30 : place * 30 + 30], *firm.split())
    ]


@pytest.mark.parametrize(("count", "expected"), [(2, False), (3, True), (12, True)])
def test_the_same_exchange_at_three_places_is_another_name(count: int, expected: bool) -> None:
    assert (
        changes([*named("Acorn Ltd", count), "end"], [*named("Birch", count), "end"]).renames()
        is expected
    )


def test_single_edits_are_no_other_name() -> None:
    edited = [
        f"{word}x" if place % 10 == 5 else word for place, word in enumerate(named("Acorn", 3))
    ]
    assert not changes(edited, named("Birch", 3)).renames(), "most exchanges do not repeat"


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("the case 7 of the court", "the case 8 of the court", True),
        ("on 5 March we met them", "on 5 April we met them", True),
        ("job R-491234 in Bonn for you", "job R-491235 in Bonn for you", True),
        ("take ¼ tsp of salt for it", "take ¾ tsp of salt for it", True),
        ("take 5 mg in all", "take 2.5 mg in all", True),
        ("take 12.5 mg in all", "take 12 mg in all", True),
        ("a sum of 250 euros", "a sum of 1,250 euros", True),
        ("there were ten of us here", "there were 10 of us here", False),
        ("we met 5 of them there", "we have met 5 of them there", False),
        ("we met all of them there", "we met none of them there", False),
    ],
)
def test_a_number_counts_where_the_new_text_has_it(new: str, old: str, expected: bool) -> None:
    around = " ".join(WORDS[:20])
    assert changes(f"{around} {new} {around}", f"{around} {old} {around}").has_numbers is expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("file 12345 of", "file 12346 of", True),
        ("a sum of 7,893,200 in all", "a sum of 7,983,200 in all", True),
        ("a sum of 12.500 € in all", "a sum of 13.500 € in all", True),
        ("a sum of 789 320 in all", "a sum of 789 321 in all", True),
        ("a sum of 1,200 in all", "a sum of 1,300 in all", False),
        ("file 12345 of", "file 123456 of", False),
        ("file 12345 or 6 of", "file 12345 or 7 of", False),
        ("on 2026-03-05 at", "on 2026-04-06 at", False),
        ("a sum of 12,500 in all", "a sum in all", False),
    ],
)
def test_a_number_of_five_digits_stands_in_place_of_a_different_one(
    new: str, old: str, expected: bool
) -> None:
    around = " ".join(WORDS[:20])
    found = changes(f"{around} {new} {around}", f"{around} {old} {around}")
    assert found.replaces_reference() is expected


@given(
    st.lists(st.sampled_from("abcdef"), max_size=30),
    st.lists(st.sampled_from("abcdef"), max_size=30),
)
def test_changes_of_any_texts(new: list[str], old: list[str]) -> None:
    found = Changes.of(" ".join(new), " ".join(old))
    text = " ".join(["", *new, ""])
    for change in found.all:
        assert " ".join(["", *filter(None, [change.before, *change.new, change.after]), ""]) in text
        assert " ".join(["", *change.old, ""]) in " ".join(["", *old, ""]) or not change.old
    assert not found.all or new != old
    assert Changes.of(" ".join(new), " ".join(new)).all == []


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("York", "Bath", True),
        ("York, England", "Bath, England", True),
        ("York, Yorkshire", "Bath, Somerset", True),
        ("New, York", "Bath", True),
        ("York", "Ely", False),
        ("New York", "Bath", False),
        ("York", "", False),
    ],
)
def test_a_value_is_replaced_where_both_texts_have_it(new: str, old: str, expected: bool) -> None:
    texts = [*WORDS[:20], "York", *WORDS[20:]], [*WORDS[:20], "Bath", *WORDS[20:]]
    assert changes(*texts).replaces(new, old) is expected

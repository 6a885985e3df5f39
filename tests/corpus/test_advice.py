"""What the last lines of `dedupe` say about items that were kept although others are similar."""

from __future__ import annotations

import json
import random
import re

import pytest
from corpora import items, jsonl
from loopback import prose

MOMENTS = [
    f"2031-0{month}-1{day} 0{month}:1{day}:2{day}" for month in range(1, 8) for day in range(5)
]


@pytest.fixture
def dedupe(call, tmp_path):
    """Call the command on items; gives its counts, or what it prints."""

    def run(given, *arguments):
        source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
        output.unlink(missing_ok=True)
        source.write_bytes(jsonl(given))
        code, out, err = call("dedupe", source, "-o", output, *arguments)
        assert code == 0, err
        return json.loads(out) if "--json" in arguments else out

    return run


def copies(count, **values):
    """Items with a copy each that has other values: the first and the second of each list."""
    for number in range(count):
        item = {"title": f"Report {prose(number, 3)}", "text": prose(number, 60)}
        for side in (0, 1):
            yield item | {name: drawn[2 * number + side] for name, drawn in values.items()}


def tokens(seed):
    chance = random.Random(seed)
    return [f"{chance.getrandbits(48):012x}" for _ in range(200)]


def test_it_says_what_kept_items_apart_and_what_to_ignore(dedupe):
    given = [*copies(3, loaded=MOMENTS)]
    given[3]["price"] = "9.50 EUR"
    assert dedupe(given).splitlines() == [
        "6 items read, 6 kept, 0 dropped",
        "Kept 3 similar items whose values differ:",
        f"  loaded: 3, as in items 1 and 2: {MOMENTS[0]} -> {MOMENTS[1]}",
        "To drop more: --ignore loaded: 2 of these differ in nothing else",
    ]
    assert dedupe(given, "--ignore", "loaded").splitlines() == [
        "6 items read, 4 kept, 2 dropped",
        "Kept 1 similar item whose values differ:",
        "  price: 1, as in items 3 and 4: (none) -> 9.50 EUR",
    ]


def at_two_urls(given):
    """Items with the URLs of one page each, of which one tells what led to it."""
    for number, item in enumerate(given):
        yield item | {"url": f"http://a.test/{number // 2}{'?from=list' * (number % 2)}"}


def test_fields_that_only_together_make_a_difference_are_named_together(dedupe):
    given = [*at_two_urls(copies(30, loaded=MOMENTS * 2, token=tokens(1)))]
    told = dedupe(given)
    assert told.endswith("--ignore loaded,token: 30 of these differ in nothing else\n")
    assert dedupe(given, "--ignore", "loaded,token").startswith(
        "60 items read, 30 kept, 30 dropped"
    )


MEANINGFUL = {
    "price": [f"{n}.50 EUR" for n in range(200)],
    "title": [f"Title {prose(n, 2)}" for n in range(200)],
    "sku": tokens(2),
    "id": [n * 77 % 1009 for n in range(200)],
    "published": MOMENTS * 9,
    "start_date": MOMENTS * 9,
    "departure": [f"2031-01-{1 + n % 28:02} 1{n % 9}:30:00" for n in range(200)],
    "town": [prose(n, 1) for n in range(200)],
    "kilometres": [random.Random(n).randrange(10**6) for n in range(200)],
}


@pytest.mark.parametrize("field", MEANINGFUL)
def test_a_field_that_may_tell_an_item_is_never_advised(dedupe, field):
    told = dedupe([*copies(40, **{field: MEANINGFUL[field]})])
    assert "Kept 40 similar items whose values differ:" in told
    assert "To drop more" not in told


def test_a_token_needs_many_pages_that_are_met_at_two_urls(dedupe):
    given = [*copies(30, token=tokens(3))]
    assert "To drop more: --ignore token: 30 of these" in dedupe([*at_two_urls(given)])
    assert "To drop more" not in dedupe([*at_two_urls(given[:38])])
    told = dedupe(given)
    assert "To drop more" not in told
    assert told.endswith("If a field does not matter, name it: --ignore FIELD\n")
    of_pages = [item | {"url": f"http://a.test/{n}"} for n, item in enumerate(given)]
    assert "To drop more" not in dedupe(of_pages)
    assert "To drop more" not in dedupe([*copies(1, loaded=MOMENTS)])


@pytest.mark.parametrize("prefer", [[], ["--prefer", "longest"]])
def test_a_second_run_drops_what_was_said(dedupe, prefer):
    chance = random.Random(3)
    given = [
        item | {"url": re.sub("//[a-d]", "//a", item["url"]), "loaded": chance.choice(MOMENTS)}
        for item in items(300, 3)
    ]
    before = dedupe(given, "--json", *prefer)
    (advice,) = before["advice"]
    after = dedupe(given, "--json", "--ignore", "loaded", *prefer)
    # Items with similar texts, which are not counted, become copies as well.
    assert 4 <= advice["more"] < after["dropped"] - before["dropped"] < 20
    assert advice["more"] < next(
        one["number"] for one in before["near"] if one["differs"] == "loaded"
    )


def test_an_item_of_the_reference_is_named_as_such(call, tmp_path):
    old, new = copies(1, price=["1.50 EUR", "2.50 EUR"])
    for name, item in (("old", old), ("new", new)):
        (tmp_path / f"{name}.jsonl").write_bytes(jsonl([item]))
    names = [tmp_path / f"{name}.jsonl" for name in ("new", "out", "old")]
    _, out, _ = call("dedupe", names[0], "-o", names[1], "--against", names[2])
    assert "price: 1, as in items 1 of OLD and 1: 1.50 EUR -> 2.50 EUR" in out

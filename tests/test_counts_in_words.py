"""No message reads "1 items were": what may be one of something says so, or stands after it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scrapy_simhash.cli.output import format_distance
from scrapy_simhash.visible import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parent.parent / "scrapy_simhash"

# A count, and behind it a word for several things that is there whatever the count is.
SEVERAL = re.compile(
    r"(?:%d|№)(?: more| of them)? (?:\w+s|were|are|have|\w+s? (?:were|are|have))\b"
)

# Where there are always many: what the limits of files and texts are counted in, and what is said
# from twenty on (`crawl.end`).
MANY = ("№ characters", "№ bytes", "items were kept although their text is near another's")


def said(tree: ast.AST) -> Iterator[str]:
    """Every string, with № for a number that is put in."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)):
                yield text
            case ast.JoinedStr(values=parts):
                yield "".join(map(piece, parts))


def piece(part: ast.expr) -> str:
    match part:
        case ast.Constant(value=str(text)):
            return text
        case ast.FormattedValue(format_spec=ast.JoinedStr(values=[ast.Constant(value=",")])):
            return "№"
    return "?"


def wrong(source: str) -> list[str]:
    return [
        text
        for text in said(ast.parse(source))
        if SEVERAL.search(text) and not any(words in text for words in MANY)
    ]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.name)
def test_a_count_is_not_followed_by_a_fixed_plural(path):
    assert wrong(path.read_text("utf-8")) == []


def test_such_a_plural_would_be_found():
    assert wrong('log("%d items were lost", n)')
    assert wrong('print(f"{n:,} more were not kept")')
    assert wrong('print(f"{n:,} claims left")')
    assert not wrong("print(f\"{n:,} {plural(n, 'claim')} left\")")


def test_one_is_not_several():
    assert [plural(count, "claim") for count in (0, 1, 2)] == ["claims", "claim", "claims"]


def test_one_bit_is_not_several():
    assert format_distance(1, 128).startswith("1 bit (")
    assert format_distance(2, 128).startswith("2 bits (")

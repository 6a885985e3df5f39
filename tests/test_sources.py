"""Mistakes that the sources themselves show."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from sources import ROOT, trees

from scrapy_simhash.cli.output import format_distance
from scrapy_simhash.visible import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

# A count, and behind it a word for several things whatever the count is.
SEVERAL = re.compile(
    r"(?:%d|№)(?: more| of them)? (?:\w+s|were|are|have|\w+s? (?:were|are|have))\b"
)

# Where there are always many: the units of limits of files and texts, and a message that is
# logged from twenty on (`crawl.end`).
MANY = ("№ characters", "№ bytes", "items were kept although their text is near another's")


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line of every string, and the string with № for a number that is formatted into it."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)):
                yield node.lineno, text
            case ast.JoinedStr(values=parts):
                yield node.lineno, "".join(map(piece, parts))


def piece(part: ast.expr) -> str:
    match part:
        case ast.Constant(value=str(text)):
            return text
        case ast.FormattedValue(format_spec=ast.JoinedStr(values=[ast.Constant(value=",")])):
            return "№"
    return "?"


def fixed_plurals(tree: ast.AST) -> list[tuple[int, str]]:
    return [
        (line, text)
        for line, text in strings(tree)
        if SEVERAL.search(text) and not any(words in text for words in MANY)
    ]


class TestCounts:
    """No message reads "1 items were"."""

    def test_a_count_is_not_followed_by_a_fixed_plural(self):
        wrong = [
            f"{path.relative_to(ROOT)}:{line}: {text}"
            for path, tree in trees().items()
            for line, text in fixed_plurals(tree)
        ]
        assert not wrong, "\n".join(wrong)

    def test_such_a_plural_would_be_found(self):
        assert fixed_plurals(ast.parse('log("%d items were lost", n)'))
        assert fixed_plurals(ast.parse('print(f"{n:,} more were not kept")'))
        assert fixed_plurals(ast.parse('print(f"{n:,} claims left")'))
        assert not fixed_plurals(ast.parse("print(f\"{n:,} {plural(n, 'claim')} left\")"))

    def test_one_is_not_several(self):
        assert [plural(count, "claim") for count in (0, 1, 2)] == ["claims", "claim", "claims"]
        assert format_distance(1, 128).startswith("1 bit (")
        assert format_distance(2, 128).startswith("2 bits (")

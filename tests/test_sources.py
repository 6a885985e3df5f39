"""Mistakes that the sources themselves show."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from sources import ROOT, trees

from scrapy_simhash.cli.output import format_distance
from scrapy_simhash.visible import plural

# A count, and behind it a word for several things whatever the count is.
SEVERAL = re.compile(
    r"(?:%d|№)(?: more| of them)? (?:\w+s|were|are|have|\w+s? (?:were|are|have))\b"
)

# Where there are always many: the units of limits of files and texts.
MANY = ("№ characters", "№ bytes", "№ values")


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


#: Phrases that this project once used in a sense of its own; each has a plain word.
PHRASES = (
    *("hang on", "hangs on", "gives the interpreter away", "by and by", "anew", "sees to"),
    *("sign of life", "signs of life", "nothing comes of", "of which nothing", "given back"),
    *("is there already", "are there already", "says nothing", "say nothing", "what it says"),
    *("what they say", "what it was told", "is told", "are told", "was told", "is said"),
    *("said of", "told of", "met again"),
    # The verb stands behind its subject.
    "(?-i:Given|Known|Left out|Compared|Not compared|Counted|Reported|Stored|Kept) (?:is|are)",
)
# They may go on in the next line of a comment.
PRIVATE = re.compile(
    "|".join(rf"\b{phrase}\b" for phrase in PHRASES).replace(" ", r"[\s#*/:>|]+"), re.IGNORECASE
)
WRITTEN = {".py", ".c", ".h", ".md", ".js", ".html", ".css"}


def written_files() -> Iterator[Path]:
    yield from sorted(ROOT.glob("*.md"))
    for folder in ("scrapy_simhash", "docs", "tests", "benchmarks", "example_project"):
        for path in sorted((ROOT / folder).rglob("*")):
            is_made = {"_build", ".scrapy"} & {*path.relative_to(ROOT).parts}
            if path.suffix in WRITTEN and not is_made and path != Path(__file__):
                yield path


class TestWords:
    def test_private_phrases_are_not_used(self):
        found = []
        for path in written_files():
            text = path.read_text("utf-8")
            for match in PRIVATE.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{path.relative_to(ROOT)}:{line}: {match[0]}")
        assert not found, "\n".join(found)

    def test_such_a_phrase_would_be_found(self):
        assert PRIVATE.search("What it says hangs on the machine.")
        assert PRIVATE.search("Left out\n    are the numbers.")
        assert not PRIVATE.search("What is left out is stored.")
        assert not PRIVATE.search("a renewed manewver of changing on")


class TestNames:
    def test_no_class_has_the_name_of_a_different_one(self):
        names = Counter(
            node.name
            for tree in trees().values()
            for node in tree.body
            if isinstance(node, ast.ClassDef)
        )
        assert [name for name, count in names.items() if count > 1] == []

    def test_constants_stand_one_a_line(self):
        paired = [
            f"{path.relative_to(ROOT)}:{node.lineno}"
            for path, tree in trees().items()
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
            and isinstance(node.value.elts[0], ast.Constant)
        ]
        assert paired == []


#: What one file, class or function may have, in lines.
FILE, CLASS, FUNCTION = 400, 250, 60


class TestSizes:
    """A file, a class or a function fits into the head of who reads it."""

    def test_no_file_class_or_function_is_longer_than_it_may_be(self):
        long = []
        for path, tree in trees().items():
            length = path.read_text("utf-8").count("\n")
            if length > FILE:
                long.append(f"{path.relative_to(ROOT)}: {length} lines")
            for node in ast.walk(tree):
                allowed = CLASS if isinstance(node, ast.ClassDef) else FUNCTION
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    length = (node.end_lineno or 0) - node.lineno + 1
                    if length > allowed:
                        place = f"{path.relative_to(ROOT)}:{node.lineno}"
                        long.append(f"{place}: {node.name}: {length} lines")
        assert not long, "\n".join(long)


#: The modules of the package by the last parts of their names.
MODULES = {
    ".".join(names[start:]): ".".join(names)
    for path in trees()
    if path.is_relative_to(ROOT / "scrapy_simhash")
    for names in [path.relative_to(ROOT).with_suffix("").parts]
    for start in range(1, len(names))
}
#: The sources of the compiled core.
CORE = {path: path.read_text() for path in (ROOT / "scrapy_simhash/native").glob("*.[ch]")}


class TestCommentsInC:
    """What comments of the compiled core name is there."""

    def missing(self, comment: str) -> list[str]:
        text = re.sub(r"\s+\*?\s*", " ", comment)
        files = re.findall(r"\b(?:\w+/)*\w+\.(?:py|[ch])\b", text)
        named = re.findall(r"\b[a-z_]+(?:\.[A-Za-z_]+)+", text)
        functions = set(re.findall(r"(?<![.\w])core_\w+", text))
        return [
            *(one for one in files if not [*(ROOT / "scrapy_simhash").rglob(one)]),
            *(one for one in functions if not any(f"{one}(" in made for made in CORE.values())),
            *(
                one
                for one in named
                for module, _, name in [one.rpartition(".")]
                if name not in ("py", "c", "h", "split")
                and not hasattr(import_module(MODULES.get(module, "builtins")), name)
            ),
        ]

    def test_every_name_is_known(self):
        assert CORE
        comments = {
            comment: path.name
            for path, source in CORE.items()
            for comment in re.findall(r"/\*.*?\*/", source, re.DOTALL)
        }
        assert [(comments[one], gone) for one in comments if (gone := self.missing(one))] == []

    def test_a_name_that_is_gone_would_be_found(self):
        names = ["density._score", "text.blocks.walk", "features/tokens.py", "tree.h", "core_page"]
        assert self.missing(f"/* {' '.join(names)} */") == []
        gone = ["gone.c", "core_gone", "density._gone"]
        assert self.missing(f"/* {', '.join(gone)} */") == gone

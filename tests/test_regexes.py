"""No regular expression takes more than linear time, whatever text it is given."""

from __future__ import annotations

import ast
import re
import signal
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from re import _compiler, _parser  # type: ignore[attr-defined]
from re._constants import (  # type: ignore[import-not-found]
    ASSERT,
    ASSERT_NOT,
    AT,
    ATOMIC_GROUP,
    BRANCH,
    GROUPREF,
    GROUPREF_EXISTS,
    IN,
    LITERAL,
    MAX_REPEAT,
    MIN_REPEAT,
    POSSESSIVE_REPEAT,
    RANGE,
    SUBPATTERN,
)
from time import thread_time
from types import FrameType, ModuleType
from typing import Any

import pytest
from sources import ROOT, trees

from scrapy_simhash.feed.csv_file import Dialect
from scrapy_simhash.text.html import _has_long_tag

METHODS = {"match", "fullmatch", "search", "sub", "subn", "findall", "finditer", "split"}
pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="a search can't be stopped on Windows"
)

REPEATS = (MAX_REPEAT, MIN_REPEAT, POSSESSIVE_REPEAT)

# Modules with a pattern of parts that are known only at run time: alternative fixed texts, and the
# dialects of tables.
OTHERS = {
    "scrapy_simhash.db.passwords",
    "scrapy_simhash.feed.csv_file",
    "scrapy_simhash.item.state",
}
DIALECTS = (
    Dialect(),
    Dialect(escapechar="\\"),
    Dialect(quotechar=None),
    Dialect(quotechar=None, escapechar="\\"),
)

# Characters of the texts that are compared.
SHORT, LONG = 2500, 10_000
# Seconds that a quadratic one exceeds with `SHORT` and with `LONG`, and after which any is stopped.
SUSPECT, SLOW, LIMIT = 0.0003, 0.005, 0.25

# Characters that a class may hold, or not, besides those that the pattern names.
USUAL = 'aA1_ \n.-/!"é中\0'


class Stopped(Exception):
    """A search has taken too long."""


@pytest.fixture(autouse=True)
def stops() -> Iterator[None]:
    before = signal.signal(signal.SIGVTALRM, stop)
    yield
    signal.signal(signal.SIGVTALRM, before)


def stop(signal_: int, frame: FrameType | None) -> None:
    raise Stopped


def ways(pattern: re.Pattern[Any], methods: set[str]) -> list[Callable[[Any], object]]:
    """How the package uses a pattern; searching stands for all that begin anywhere."""
    found: list[Callable[[Any], object]] = [
        getattr(pattern, method)
        for method in sorted(methods or {"search"})
        if method in {"match", "fullmatch", "search"}
    ]
    if not methods <= {"match", "fullmatch", "search"}:
        found.append(lambda text: sum(1 for _ in pattern.finditer(text)))
    return found


def seconds(way: Callable[[Any], object], text: str | bytes, *, best_of: int = 1) -> float:
    """CPU time; `LIMIT` if it was stopped."""
    times = []
    for _ in range(best_of):
        begun = thread_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
        try:
            way(text)
        except Stopped:
            return LIMIT
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        times.append(thread_time() - begun)
    return min(times)


class Pump:
    """The texts that may make a pattern slow: a part of it many times, between others."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._pattern = pattern
        self._tree = _parser.parse(pattern.pattern, pattern.flags)
        named = {char for node in nodes(self._tree) for char in characters(node)}
        self._alphabet = [*dict.fromkeys([*USUAL, *sorted(named)[:40]])]
        if isinstance(pattern.pattern, bytes):
            self._alphabet = [char for char in self._alphabet if char.isascii()]

    def parts(self) -> Iterator[tuple[str, str]]:
        """What comes first, and what is repeated."""
        for before, sequence in self._sequences(self._tree, ""):
            units = list(self._units(sequence))
            samples = [self._samples(unit) for unit in units]
            for first in range(len(units)):
                lead = before + "".join(texts[0] for texts in samples[:first])
                for last in range(first, len(units)):
                    for part in combined(samples[first : last + 1]):
                        yield lead, part
                        yield "", part
                for char in self._alphabet:
                    yield lead, char
        for char in self._alphabet:
            yield "", char

    def ends(self) -> list[str]:
        """What comes last: none of them matches everything."""
        return ["", "!", "\n", "\0", "a", "1"]

    def _units(self, sequence: Iterable[Any]) -> Iterator[list[Any]]:
        """The parts of a sequence; literals that follow each other are one."""
        word: list[Any] = []
        for node in sequence:
            if node[0] is LITERAL:
                word.append(node)
                continue
            if word:
                yield word
            word = []
            if node[0] not in (AT, ASSERT, ASSERT_NOT):
                yield [node]
        if word:
            yield word

    def _sequences(self, sequence: Iterable[Any], before: str) -> Iterator[tuple[str, Any]]:
        """Every sequence of the pattern, and a text that matches what comes before it."""
        yield before, sequence
        for node in sequence:
            for inner in children(node):
                yield from self._sequences(inner, before)
            before += self._samples([node])[0]

    def _samples(self, sequence: Iterable[Any]) -> list[str]:
        """Texts that a sequence matches, mostly."""
        return combined([self._samples_of(node) for node in sequence])

    def _samples_of(self, node: Any) -> list[str]:
        kind, value = node
        if kind is LITERAL:
            return [chr(value)]
        if kind in (AT, ASSERT, ASSERT_NOT, GROUPREF, GROUPREF_EXISTS):
            return [""]
        if kind in REPEATS:
            least, _, body = value
            inner = self._samples(body)
            fewer = inner[:12] if least > 1 else [""] if least == 0 else []
            return [one * max(1, least) for one in inner] + fewer
        if kind is BRANCH:
            # Each is also a sequence of its own.
            return [text for branch in value[1] for text in self._samples(branch)[:3]][:12]
        if inner := list(children(node)):
            return self._samples(inner[0])
        state = _parser.State()
        state.flags = self._tree.state.flags
        found = _compiler.compile(_parser.SubPattern(state, [node]), 0)
        return [char for char in self._alphabet if found.match(char)] or [""]


def combined(texts: list[list[str]]) -> list[str]:
    """The first text of each joined, and the same with one of them replaced."""
    firsts = [one[0] for one in texts]
    found = ["".join(firsts)]
    for place, others in enumerate(texts):
        found += ["".join([*firsts[:place], one, *firsts[place + 1 :]]) for one in others[1:]]
    return list(dict.fromkeys(found))


def children(node: Any) -> Iterator[Any]:
    """The sequences inside a node."""
    kind, value = node
    if kind in REPEATS:
        yield value[2]
    elif kind is BRANCH:
        yield from value[1]
    elif kind is SUBPATTERN:
        yield value[3]
    elif kind is ATOMIC_GROUP:
        yield value
    elif kind in (ASSERT, ASSERT_NOT):
        yield value[1]


def nodes(sequence: Iterable[Any]) -> Iterator[Any]:
    for node in sequence:
        yield node
        for inner in children(node):
            yield from nodes(inner)


def characters(node: Any) -> Iterator[str]:
    """The characters that a pattern names in one place."""
    kind, value = node
    if kind is LITERAL:
        yield chr(value)
    elif kind is RANGE:
        yield chr(value[0])
    elif kind is IN:
        for item in value:
            yield from characters(item)


def slow_text(pattern: re.Pattern[Any], methods: set[str]) -> str | None:
    """A text, shortened, for which a pattern takes more than linear time; None if none is found."""
    pump = Pump(pattern)
    for lead, part in dict.fromkeys(pump.parts()):
        for end in pump.ends() if part else []:
            for way in ways(pattern, methods):
                if is_slow(way, lead, part, end, isinstance(pattern.pattern, bytes)):
                    return f"{lead!r} + {part!r} * n + {end!r}"
    return None


def is_slow(way: Callable[[Any], object], lead: str, part: str, end: str, as_bytes: bool) -> bool:
    def text(length: int) -> str | bytes:
        whole = lead + part * max(1, (length - len(lead) - len(end)) // len(part)) + end
        return whole.encode("latin-1") if as_bytes else whole

    first = seconds(way, text(SHORT))
    if first >= LIMIT:
        return True
    if first < SUSPECT or seconds(way, text(LONG)) < min(6 * first, LIMIT):
        return False
    short, long = (seconds(way, text(length), best_of=3) for length in (SHORT, LONG))
    # The ratio is 4 if the time is linear, 16 if it is quadratic.
    return long >= LIMIT or (long > SLOW and long > 8 * short)


def uses() -> tuple[dict[re.Pattern[Any], set[str]], set[str]]:
    """The package's patterns with the methods called, and modules with others."""
    found: dict[re.Pattern[Any], set[str]] = {}
    others = set()
    for path, tree in trees().items():
        if not re.search(r"\bre\.", path.read_text("utf-8")):
            continue
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        try:
            module = import_module(name)
        except ImportError:
            continue  # of an optional package
        for node in ast.walk(tree):
            if pattern := made_by(node, module):
                method = node.func.attr  # type: ignore[attr-defined]
                found.setdefault(pattern, set()).update({method} & METHODS)
            elif is_making(node):
                others.add(name)
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                pattern = made_by(node.value, module)
                if isinstance(node.value, ast.Name):
                    pattern = vars(module).get(node.value.id)
                if isinstance(pattern, re.Pattern):
                    found.setdefault(pattern, set()).add(node.attr)
    return found, others


def is_making(node: ast.AST) -> bool:
    """Whether this is a call like `re.compile(...)` or `re.sub(...)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr)):
            return attr in METHODS | {"compile"}
    return False


def made_by(node: ast.AST, module: ModuleType) -> re.Pattern[Any] | None:
    """The pattern of such a call."""
    if not is_making(node):
        return None
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    given = node.args[:1]
    if node.func.attr == "compile":
        given = node.args
    else:
        # Flags stand behind the text.
        given += [one for one in node.args[2:] if ast.unparse(one).startswith("re.")]
    given += [one.value for one in node.keywords if one.arg == "flags"]
    try:
        return re.compile(*(eval(ast.unparse(one), vars(module)) for one in given))
    except NameError:
        return None


PATTERNS, MADE_ELSEWHERE = uses()


class TestPackage:
    """The patterns of the package, each as it is used."""

    def test_all_are_found(self):
        assert len(PATTERNS) > 50
        assert MADE_ELSEWHERE == OTHERS

    @pytest.mark.slow
    @pytest.mark.parametrize("pattern", PATTERNS, ids=lambda one: ascii(one.pattern)[:50])
    def test_time_is_linear(self, pattern):
        assert slow_text(pattern, PATTERNS[pattern]) is None

    @pytest.mark.slow
    @pytest.mark.parametrize("dialect", DIALECTS)
    @pytest.mark.parametrize("is_whole", [True, False])
    def test_time_is_linear_for_every_dialect(self, dialect, is_whole):
        cell, row = dialect.grammar(is_whole=is_whole)
        assert slow_text(cell, {"findall"}) is None
        assert slow_text(row, {"match"}) is None

    @pytest.mark.parametrize(
        "part", ["<a", "<x=/", "<a b='>", "<a b='> <a b=\">", "<a b='> \" ", "<a b=\"> ' "]
    )
    def test_tags_inside_tags(self, part):
        assert not is_slow(_has_long_tag, "", part, "", as_bytes=False)


class TestThatItFinds:
    """Patterns known to be slow, and the same ones mended."""

    @pytest.mark.parametrize(
        ("pattern", "method"),
        [
            (r"(a+)+$", "match"),
            (r"(?:a|a)*b", "match"),
            (r"\d+\d+$", "match"),
            (r"\d+$", "search"),
            (r"x.*y", "sub"),
            (rb"(?s)HEAD.*?\nlength: (\d+).*?\n\n", "match"),
            (r"name \".*\" is unknown", "search"),
        ],
    )
    def test_slow_ones(self, pattern, method):
        assert slow_text(re.compile(pattern), {method}) is not None

    @pytest.mark.parametrize(
        ("pattern", "method"),
        [(r"a+$", "match"), (r"\d+$", "match"), (r"(?<!\d)\d++$", "search"), (r"x[^xy]*y", "sub")],
    )
    def test_linear_ones(self, pattern, method):
        assert slow_text(re.compile(pattern), {method}) is None

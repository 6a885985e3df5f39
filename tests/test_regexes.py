"""No regular expression takes more than linear time, whatever text it is given."""

from __future__ import annotations

import ast
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from statistics import median
from time import thread_time
from types import FrameType, ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as profile
from hypothesis.strategies import characters, from_regex
from sources import ROOT, trees

from scrapy_simhash.feed.csv_file import Dialect
from scrapy_simhash.text.html import _has_long_tag

METHODS = {"match", "fullmatch", "search", "sub", "subn", "findall", "finditer", "split"}
pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="a search can't be stopped on Windows"
)

# Modules with a pattern of parts that are known only at run time: alternative fixed texts, and the
# dialects of tables.
OTHERS = {
    "scrapy_simhash.feed.csv_file",
    "scrapy_simhash.item.names",
}
DIALECTS = (
    Dialect(),
    Dialect(escapechar="\\"),
    Dialect(quotechar=None),
    Dialect(quotechar=None, escapechar="\\"),
)

# Texts that a pattern matches: how many are drawn, the longest part of one that is repeated beside
# the whole, how much of one is taken, and of what characters.
SAMPLES = 4
LONGEST_PART = 12
LONGEST_SAMPLE = 40
ANY = characters(exclude_categories=())
# Characters that are repeated where a sample has others, and what may come last.
USUAL = 'a1 \n.-"<'
ENDS = ("", "!", "a")
# Characters of the texts that are compared. The long ones take 8 times as long if the time is
# linear, 64 times if it is quadratic.
SHORT = 2000
LONG = 8 * SHORT
TOO_MUCH = 22
# CPU seconds: a quadratic pattern takes longer with `SHORT`; after so many a search is stopped, and
# after so many the drawing of samples, which searches in short texts.
SUSPECT = 0.0003
LIMIT = 1
DRAWING = 10


class Stopped(BaseException):
    """A search has taken too long; hypothesis takes exceptions of other classes for its own."""


@pytest.fixture(autouse=True)
def stops() -> Iterator[None]:
    before = signal.signal(signal.SIGVTALRM, stop)
    yield
    signal.signal(signal.SIGVTALRM, before)


def stop(signal_: int, frame: FrameType | None) -> None:
    raise Stopped


@contextmanager
def stopping(seconds: float) -> Iterator[None]:
    """Stop what takes more CPU time.

    Raises:
        Stopped: it was.
    """
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


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


def seconds(way: Callable[[Any], object], text: str | bytes) -> float:
    """CPU time; `LIMIT` if it was stopped."""
    begun = thread_time()
    try:
        with stopping(LIMIT):
            way(text)
    except Stopped:
        return LIMIT
    return thread_time() - begun


def samples(pattern: re.Pattern[Any]) -> list[str]:
    """Texts that a pattern matches, the same each time."""
    drawn: list[Any] = []

    @seed(0)
    @profile(
        profile.get_profile("default"),
        max_examples=SAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(from_regex(pattern, alphabet=None if isinstance(pattern.pattern, bytes) else ANY))
    def draw(text: Any) -> None:
        found = pattern.search(text)
        assert found is not None
        # With what it looks at behind it; short, as a part is repeated often in a short text.
        text = text[found.start() : found.end() + 1][:LONGEST_SAMPLE]
        drawn.append(text.decode("latin-1") if isinstance(text, bytes) else text)

    draw()
    return list(dict.fromkeys(drawn))


def families(sample: str) -> Iterator[tuple[str, str]]:
    """What comes first, and what is repeated: six families of hostile texts, from one that matches.

    The whole of it; its beginning; its end, or a part of it, behind what comes before or alone; a
    character behind its beginning, or alone.
    """
    places = range(min(len(sample), 2 * LONGEST_PART))
    for start in places:
        for end in (*range(start + 1, start + LONGEST_PART + 1), len(sample)):
            yield sample[:start], sample[start:end]
            yield "", sample[start:end]
    for start in (*places, len(sample)):
        for char in USUAL:
            yield sample[:start], char


def slow_text(pattern: re.Pattern[Any], methods: set[str]) -> str | None:
    """A text, shortened, for which a pattern takes more than linear time; None if none is found."""
    is_of_bytes = isinstance(pattern.pattern, bytes)
    try:
        with stopping(DRAWING):
            drawn = samples(pattern)
    except Stopped:
        return "one of its samples"
    texts = dict.fromkeys(pair for sample in drawn for pair in families(sample))
    for lead, part in texts:
        for end in ENDS if part else ():
            for way in ways(pattern, methods):
                if is_slow(way, lead, part, end, is_of_bytes):
                    return f"{lead!r} + {part!r} * n + {end!r}"
    return None


def is_slow(way: Callable[[Any], object], lead: str, part: str, end: str, as_bytes: bool) -> bool:
    def time_of(length: int) -> float:
        whole = lead + part * max(1, (length - len(lead) - len(end)) // len(part)) + end
        return seconds(way, whole.encode("latin-1", "replace") if as_bytes else whole)

    def growth() -> float:
        short = time_of(SHORT)
        if short < SUSPECT:
            return 0
        long = time_of(LONG)
        return TOO_MUCH if long >= LIMIT else long / short

    return growth() >= TOO_MUCH and median(growth() for _ in range(3)) >= TOO_MUCH


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

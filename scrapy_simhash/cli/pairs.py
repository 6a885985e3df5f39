"""``scrapy simhash tune --pairs``: thresholds judged by labelled pairs of texts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.table import Table
from rich.text import Text

from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.judging import Pair
from scrapy_simhash.cli.output import (
    format_similarity,
    open_console,
    print_json,
    progress_bar,
)
from scrapy_simhash.feed.files import bounded_lines
from scrapy_simhash.index.decide import Rule
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.visible import plural, shortened

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.cli.replay import Level
    from scrapy_simhash.simhash.scheme import Scheme

__all__ = ["Scores", "calls", "scores", "tune_by_pairs"]

# So much of a text that was decided wrongly is shown, in characters.
_SHOWN = 80


class _Line(NamedTuple):
    """A line of the file."""

    a: str
    b: str
    is_duplicate: bool


@dataclass(frozen=True, slots=True)
class Scores:
    """How a level judges labelled pairs.

    Attributes:
        found: near-duplicates that it calls so.
        missed: near-duplicates that it does not.
        wrong: others that it calls near-duplicates.
        right: others that it does not.
    """

    found: int
    missed: int
    wrong: int
    right: int

    @property
    def precision(self) -> float:
        """The share of what it calls near-duplicates that are."""
        return self.found / max(1, self.found + self.wrong)

    @property
    def recall(self) -> float:
        """The share of the near-duplicates that it finds."""
        return self.found / max(1, self.found + self.missed)

    @property
    def f1(self) -> float:
        """The harmonic mean of the two, from 0 to 1."""
        return 2 * self.found / max(1, 2 * self.found + self.missed + self.wrong)


class _Measured(NamedTuple):
    """Labelled pairs: element i, or column i, of each belongs to pair i.

    Attributes:
        called: shape (levels, pairs): whether a crawl would call them near-duplicates.
        labels: whether they are to whoever labelled them.
        compared: whether a crawl compares such texts at all.
        shown: their texts, shortened, and their distance and similarity, where these are known.
    """

    called: NDArray[np.bool_]
    labels: NDArray[np.bool_]
    compared: NDArray[np.bool_]
    shown: Sequence[dict[str, Any]]


def tune_by_pairs(
    project: Project, options: Namespace, tried: Sequence[Level], present: int
) -> None:
    """Judge the thresholds by labelled pairs of texts."""
    measured = _measured(project, Path(options.pairs), tried)
    figures = _figures(measured, tried, present, 2 * options.examples)
    if options.json:
        print_json(figures)
    else:
        _print_levels(figures["levels"])
        _print_mistakes(figures)


def calls(pair: Pair, tried: Sequence[Level]) -> list[bool]:
    """Whether a pair of texts is near-duplicates at each level, whatever else is said of them."""
    rules = (Rule(level.limit, level.similarity, "never") for level in tried)
    return [pair.decide(rule).kind == "duplicate" for rule in rules]


def scores(called: NDArray[np.bool_], labels: NDArray[np.bool_]) -> list[Scores]:
    """Hold what each level calls near-duplicates, of shape (levels, pairs), against the labels."""
    return [
        Scores(
            int((level & labels).sum()),
            int((~level & labels).sum()),
            int((level & ~labels).sum()),
            int((~level & ~labels).sum()),
        )
        for level in called
    ]


def _read_lines(path: Path) -> Iterator[_Line]:
    with path.open("rb") as lines:
        for number, line in bounded_lines(path, lines):
            try:
                yield _line(json.loads(line))
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise CommandError(
                    f"{path}, line {number}: wanted is an object with the texts a and b and a "
                    "label that is true or false, 1 or 0"
                ) from error


def _line(given: Mapping[str, Any]) -> _Line:
    a, b, label = given["a"], given["b"], given["label"]
    if not isinstance(a, str) or not isinstance(b, str) or label not in (True, False):
        raise ValueError(given)
    return _Line(a, b, bool(label))


def _measured(project: Project, path: Path, tried: Sequence[Level]) -> _Measured:
    settings = project.settings
    called, labels, compared, shown = [], [], [], []
    with progress_bar() as progress:
        for line in progress.track(_read_lines(path), description="Comparing"):
            pair = _pair(settings.scheme, line, settings.min_features)
            compared.append(pair is not None)
            called.append(calls(pair, tried) if pair else [False] * len(tried))
            labels.append(line.is_duplicate)
            shown.append(
                {
                    "a": line.a[:_SHOWN],
                    "b": line.b[:_SHOWN],
                    "label": line.is_duplicate,
                    "distance": pair and pair.distance,
                    "similarity": pair and pair.similarity,
                }
            )
    if not shown:
        raise CommandError(f"{path} is empty")
    return _Measured(np.array(called).T, np.array(labels), np.array(compared), shown)


def _pair(scheme: Scheme, line: _Line, min_features: int) -> Pair | None:
    """The texts of a line; None where a crawl does not compare them."""
    a, b = (Document(scheme.sketch(text), name) for name, text in zip("ab", line[:2], strict=True))
    sketches = (a.sketch, b.sketch)
    if any(sketch.fingerprint is None or sketch.size < min_features for sketch in sketches):
        return None
    return Pair.of(scheme, a, b)


def _figures(
    measured: _Measured, tried: Sequence[Level], present: int, examples: int
) -> dict[str, Any]:
    found = scores(measured.called, measured.labels)
    # Of equals the strictest: it loses nothing by being careful.
    advised = max(range(len(tried)), key=lambda level: (found[level].f1, level))
    wrong = measured.called[advised] != measured.labels
    return {
        "pairs": len(measured.labels),
        "not_compared": int((~measured.compared).sum()),
        "levels": [
            {
                "threshold": level.name,
                "limit": level.limit,
                **asdict(score),
                "precision": score.precision,
                "recall": score.recall,
                "f1": score.f1,
                "is_present": number == present,
            }
            for number, (level, score) in enumerate(zip(tried, found, strict=True))
        ],
        "recommended": tried[advised].name,
        "mistakes": [measured.shown[number] for number in np.flatnonzero(wrong)[:examples]],
    }


def _print_levels(levels: Sequence[Mapping[str, Any]]) -> None:
    table = Table("threshold", "distance up to", "precision", "recall", "F1")
    for title in ("found", "missed", "wrong"):
        table.add_column(title, justify="right")
    for level in levels:
        table.add_row(
            f"{level['threshold']} (now)" if level["is_present"] else level["threshold"],
            str(level["limit"]),
            *(f"{level[name]:.3f}" for name in ("precision", "recall", "f1")),
            *(str(level[name]) for name in ("found", "missed", "wrong")),
        )
    open_console().print(table)


def _print_mistakes(figures: Mapping[str, Any]) -> None:
    console = open_console()
    recommended = figures["recommended"]
    if figures["mistakes"]:
        table = Table("a", "b", "label", "similarity", title=f"Decided wrongly at {recommended}")
        for mistake in figures["mistakes"]:
            table.add_row(
                Text(shortened(mistake["a"])),
                Text(shortened(mistake["b"])),
                str(mistake["label"]),
                _similarity(mistake),
            )
        console.print(table)
    pairs = plural(figures["pairs"], "pair")
    console.print(f"Recommended: {recommended}, the best F1 on {figures['pairs']:,} {pairs}.")
    if figures["not_compared"]:
        console.print(
            f"Of them have too little text: {figures['not_compared']:,}. A crawl does not compare "
            "such pairs at any threshold (SIMHASH_MIN_FEATURES).",
            style="dim",
        )


def _similarity(mistake: Mapping[str, Any]) -> str:
    """What is known of it: the distance where the scheme has no shingles."""
    if mistake["similarity"] is not None:
        return format_similarity(mistake["similarity"], estimated=False)
    distance = mistake["distance"]
    return "-" if distance is None else f"{distance} {plural(distance, 'bit')}"

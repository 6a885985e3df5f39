"""``scrapy simhash tune --pairs``: thresholds judged by labelled pairs of texts."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.table import Table
from rich.text import Text

from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.output import open_console, print_json, progress_bar
from scrapy_simhash.cli.replay import Judged, scores
from scrapy_simhash.report.visible import shortened
from scrapy_simhash.simhash.measure import distance

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.cli.replay import Level

__all__ = ["tune_by_pairs"]

# So much of a text that was decided wrongly is shown, in characters.
_SHOWN = 80


class _Pair(NamedTuple):
    """A line of the file."""

    a: str
    b: str
    is_duplicate: bool


def tune_by_pairs(
    project: Project, options: Namespace, tried: Sequence[Level], present: int
) -> None:
    """Judge the thresholds by labelled pairs of texts."""
    judged, texts = _measured(project, Path(options.pairs))
    figures = _figures(judged, texts, tried, present, 2 * options.examples)
    if options.json:
        print_json(figures)
    else:
        _print_levels(figures["levels"])
        _print_mistakes(figures)


def _read_pairs(path: Path) -> Iterator[_Pair]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield _pair(json.loads(line))
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise CommandError(
                    f"{path}, line {number}: wanted is an object with the texts a and b and a "
                    "label that is true or false, 1 or 0"
                ) from error


def _pair(given: Mapping[str, Any]) -> _Pair:
    a, b, label = given["a"], given["b"], given["label"]
    if not isinstance(a, str) or not isinstance(b, str) or label not in (True, False):
        raise ValueError(given)
    return _Pair(a, b, bool(label))


def _measured(project: Project, path: Path) -> tuple[Judged, list[tuple[str, str]]]:
    """The pairs in figures, and the beginnings of their texts."""
    settings = project.settings
    rows, beginnings = [], []
    with progress_bar() as progress:
        for pair in progress.track(_read_pairs(path), description="Comparing"):
            a, b = settings.scheme.sketch(pair.a), settings.scheme.sketch(pair.b)
            apart = -1
            if a.fingerprint is not None and b.fingerprint is not None:
                apart = distance(a.fingerprint, b.fingerprint)
            rows.append((apart, a.size, b.size, pair.is_duplicate))
            beginnings.append((pair.a[:_SHOWN], pair.b[:_SHOWN]))
    if not rows:
        raise CommandError(f"{path} is empty")
    distances, sizes, other_sizes, labels = np.array(rows).T
    compared = (distances >= 0) & (np.minimum(sizes, other_sizes) >= settings.min_features)
    return Judged(distances, sizes, other_sizes, compared, labels.astype(bool)), beginnings


def _figures(
    judged: Judged,
    texts: Sequence[tuple[str, str]],
    tried: Sequence[Level],
    present: int,
    examples: int,
) -> dict[str, Any]:
    found = scores(judged, tried)
    # Of equals the strictest: it loses nothing by being careful.
    advised = max(range(len(tried)), key=lambda level: (found[level].f1, level))
    wrong = judged.called(tried[advised].limit) != judged.labels
    return {
        "pairs": len(texts),
        "not_compared": int((~judged.compared).sum()),
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
        "mistakes": [
            {
                "a": texts[number][0],
                "b": texts[number][1],
                "label": bool(judged.labels[number]),
                "distance": int(judged.distances[number]),
            }
            for number in np.flatnonzero(wrong)[:examples].tolist()
        ],
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
        table = Table("a", "b", "label", "distance", title=f"Decided wrongly at {recommended}")
        for mistake in figures["mistakes"]:
            table.add_row(
                Text(shortened(mistake["a"])),
                Text(shortened(mistake["b"])),
                str(mistake["label"]),
                str(mistake["distance"]),
            )
        console.print(table)
    console.print(f"Recommended: {recommended}, the best F1 on {figures['pairs']:,} pairs.")
    if figures["not_compared"]:
        console.print(
            f"{figures['not_compared']:,} of them have too little text: a crawl does not compare "
            "them at any threshold (SIMHASH_MIN_FEATURES).",
            style="dim",
        )

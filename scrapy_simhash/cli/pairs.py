"""``scrapy simhash tune --pairs``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table
from rich.text import Text

from scrapy_simhash.cli import replay as tuning
from scrapy_simhash.cli.output import open_console, print_json, progress_bar
from scrapy_simhash.report.visible import shortened
from scrapy_simhash.simhash.measure import distance

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from typing import Any

    from scrapy_simhash.cli.project import Project

__all__ = ["tune_by_pairs"]


def tune_by_pairs(
    project: Project, options: Namespace, tried: Sequence[tuning.Level], present: int
) -> None:
    """Judge the thresholds by labelled pairs of texts."""
    scheme = project.settings.scheme
    distances, labels, examples = [], [], []
    with Path(options.pairs).open(encoding="utf-8") as lines, progress_bar() as progress:
        for number, line in enumerate(progress.track(lines, description="Comparing"), 1):
            try:
                pair = json.loads(line)
                a, b, label = pair["a"], pair["b"], _label(pair["label"])
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{options.pairs}, line {number}: wanted is an object with the texts a and b "
                    "and a label that is true or false, 1 or 0"
                ) from error
            one, other = scheme.sketch(a).fingerprint, scheme.sketch(b).fingerprint
            distances.append(-1 if one is None or other is None else distance(one, other))
            labels.append(label)
            examples.append((a[:80], b[:80]))
    if not labels:
        raise ValueError(f"{options.pairs} is empty")
    measured, truth = np.array(distances), np.array(labels, bool)
    judged = tuning.scores(measured, truth, tried)
    # Of equals the strictest: it loses nothing by being careful.
    advised = max(range(len(tried)), key=lambda level: (judged[level].f1, level))
    called = (measured >= 0) & (measured <= tried[advised].limit)
    wrong = np.flatnonzero(called != truth)[: options.examples * 2].tolist()
    rows: list[dict[str, Any]] = [
        {
            "threshold": level.name,
            "limit": level.limit,
            **asdict(score),
            "precision": score.precision,
            "recall": score.recall,
            "f1": score.f1,
            "is_present": number == present,
        }
        for number, (level, score) in enumerate(zip(tried, judged, strict=True))
    ]
    mistakes = [
        {
            "a": examples[number][0],
            "b": examples[number][1],
            "label": labels[number],
            "distance": distances[number],
        }
        for number in wrong
    ]
    if options.json:
        print_json(
            {
                "pairs": len(labels),
                "levels": rows,
                "recommended": tried[advised].name,
                "mistakes": mistakes,
            }
        )
        return
    console = open_console()
    table = Table("threshold", "distance up to", "precision", "recall", "F1")
    for title in ("found", "missed", "wrong"):
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(
            f"{row['threshold']} (now)" if row["is_present"] else str(row["threshold"]),
            str(row["limit"]),
            *(f"{row[name]:.3f}" for name in ("precision", "recall", "f1")),
            *(str(row[name]) for name in ("found", "missed", "wrong")),
        )
    console.print(table)
    if mistakes:
        table = Table(
            "a", "b", "label", "distance", title=f"Decided wrongly at {tried[advised].name}"
        )
        for mistake in mistakes:
            table.add_row(
                Text(shortened(mistake["a"])),
                Text(shortened(mistake["b"])),
                str(mistake["label"]),
                str(mistake["distance"]),
            )
        console.print(table)
    console.print(f"Recommended: {tried[advised].name}, the best F1 on {len(labels):,} pairs.")


def _label(given: Any) -> bool:
    if given in (True, False):
        return bool(given)
    raise ValueError(given)

"""The plots of docs/accuracy.md, drawn by Vega-Lite."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.accuracy_parts.texts import Pair

__all__ = ["curve", "draw", "shares"]

Spec = dict[str, Any]

STEP = 0.05
_LEAST = 8  # pairs in a step, below which its share means nothing
_CONFIG = {
    "background": "white",
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    "legend": {"labelFontSize": 12, "title": None},
}


def shares(rows: Sequence[Mapping[str, Any]], title: str) -> Spec:
    """Bars of the share found, a row for each judge, a column for each set."""
    judges = list(dict.fromkeys(row["judge"] for row in rows))
    bars = {"mark": "bar", "encoding": {"color": {"field": "is_this", "legend": None}}}
    labels = {
        "mark": {"type": "text", "align": "left", "dx": 3},
        "encoding": {"text": {"field": "label"}},
    }
    return {
        "data": {"values": [*rows]},
        "facet": {"column": {"field": "set", "title": None, "sort": None}},
        "spec": {
            "width": 230,
            "height": {"step": 20},
            "encoding": {
                "y": {"field": "judge", "type": "nominal", "sort": judges, "title": None},
                "x": {
                    "field": "share",
                    "type": "quantitative",
                    "title": title,
                    "scale": {"domain": [0, 1.25]},
                    "axis": {"values": [0, 0.25, 0.5, 0.75, 1], "format": ".0%"},
                },
            },
            "layer": [bars, labels],
        },
    }


def curve(answers: Mapping[str, Iterable[tuple[Pair, bool]]]) -> Spec:
    """For each matcher the share of pairs that it takes for copies, by their true similarity."""
    values = []
    for matcher, pairs in answers.items():
        steps: defaultdict[int, list[bool]] = defaultdict(list)
        for pair, is_accepted in pairs:
            steps[min(int(pair.similarity / STEP), round(1 / STEP) - 1)].append(is_accepted)
        values += [
            {"judge": matcher, "similarity": (step + 0.5) * STEP, "share": sum(said) / len(said)}
            for step, said in sorted(steps.items())
            if len(said) >= _LEAST
        ]
    return {
        "data": {"values": values},
        "width": 560,
        "height": 260,
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {
                "field": "similarity",
                "type": "quantitative",
                "title": "true similarity of two texts",
                "scale": {"domain": [0.3, 1]},
            },
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": "taken for copies",
                "axis": {"format": ".0%"},
            },
            "color": {"field": "judge", "type": "nominal", "sort": None},
        },
    }


def draw(spec: Spec, path: Path) -> None:
    """Write a plot as SVG."""
    import vl_convert

    path.write_text(vl_convert.vegalite_to_svg({**spec, "config": _CONFIG}), encoding="utf-8")

"""Draw the figure of docs/scale.md from what index.py printed for several sizes.

    python benchmarks/scale_figure.py benchmarks/scale.txt docs/scale.svg

Needs matplotlib, of the group "benchmark".
"""

from __future__ import annotations

import importlib
import re
import sys
from collections import defaultdict
from pathlib import Path

_HEAD = re.compile(r"([\d,]+) documents, .*, (\w+)$")
_CLAIM = re.compile(r"  batches of 64 +(\d+) us")
_COMMAND = re.compile(r"  (stats|report|prune) +([\d.]+) s,")
#: Kinds of lines of the figure, by database.
_DASHES = {"sqlite": "-", "postgresql": "--"}
_NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
#: Readable on a light and on a dark page.
_GREY = "#818b98"
_COLOURS = {"claim": "#0969da", "stats": "#8250df", "report": "#bc4c00", "prune": "#1a7f37"}

Curves = dict[tuple[str, str], list[tuple[int, float]]]


def curves_of(printed: str) -> Curves:
    """The size and the time, by what was timed and the database."""
    curves: Curves = defaultdict(list)
    size, database = 0, ""
    for line in printed.splitlines():
        if head := _HEAD.match(line):
            size, database = int(head[1].replace(",", "")), head[2]
        elif claim := _CLAIM.match(line):
            curves["claim", database].append((size, float(claim[1])))
        elif command := _COMMAND.match(line):
            curves[command[1], database].append((size, float(command[2])))
    return curves


def draw(curves: Curves, path: Path) -> None:
    """Write the figure as SVG."""
    plot = importlib.import_module("matplotlib.pyplot")
    plot.rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "scale", "font.size": 9}
        | dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), _GREY)
        | dict.fromkeys(("xtick.color", "ytick.color"), _GREY)
    )
    figure, panels = plot.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for (name, database), points in sorted(curves.items()):
        panel = panels[0 if name == "claim" else 1]
        label = f"{name}, {_NAMES[database]}"
        panel.plot(*zip(*sorted(points), strict=True), _DASHES[database], marker="o", ms=3)
        panel.lines[-1].set(color=_COLOURS[name], label=label)
    panels[0].set(title="A claim in a batch of 64", ylabel="microseconds", ylim=(0, None))
    panels[1].set(title="A command", ylabel="seconds", yscale="log")
    for panel in panels:
        panel.set(xlabel="documents", xscale="log")
        panel.legend(frameon=False, fontsize=8)
    figure.savefig(path, transparent=True, metadata={"Date": None})


if __name__ == "__main__":
    draw(curves_of(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]))

"""Draw the figure of docs/accuracy.md from the tables of results.md.

    python -m benchmarks.accuracy_parts.figure docs/accuracy.svg

Its numbers are those of the tables.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

RESULTS = Path(__file__).with_name("results.md")

#: The rows, as the tables name them, without versions, and as the figure does.
TOOLS = {
    "this, pages": "this plugin",
    "text of trafilatura": "its index, text of trafilatura",
    "simhash, text of density": "simhash",
    "datasketch, text of density": "datasketch",
    "gaoya, text of density": "gaoya",
    "rensa, text of density": "rensa",
}

_LABELS, _PANEL, _BAR, _ROW, _TOP = 206, 250, 130, 30, 66  # pixels

_STYLE = """
    text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
    .title { font-weight: 600; }
    .note { font-size: 12px; fill: #59636e; }
    .bar { fill: #0969da; }
    .rail { fill: #eaeef2; }
    .other { fill: #818b98; }
    .wrong { fill: #b42318; }
    .page { fill: #ffffff; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .note { fill: #9198a1; }
      .bar { fill: #4493f8; }
      .rail { fill: #21262d; }
      .other { fill: #7d8590; }
      .wrong { fill: #ff7b72; }
      .page { fill: #0d1117; }
    }
"""


class Panel(NamedTuple):
    """A column of the figure.

    Attributes:
        bars: for each tool a share, and what stands behind it.
    """

    title: str
    note: str
    bars: Sequence[tuple[float, str]]


def tables_of(text: str) -> dict[str, list[list[str]]]:
    """The tables below each heading: rows of cells, the heads included."""
    found = defaultdict(list)
    heading = ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| ") and "| --- |" not in line:
            found[heading].append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def panels_of(text: str) -> list[Panel]:
    """What the figure shows of the results."""
    tables = tables_of(text)
    articles = tables["Articles under other sites' templates"]
    found, wrong = (articles[0].index(f"en, held out: {what}") for what in ("found", "wrong"))
    by_tool = {_unversioned(row[0]): row for row in articles[1:]}
    sites = tables["Web sites in two versions"]
    start = next(number for number, row in enumerate(sites) if row[0] == "all sites")
    of_sites = {_unversioned(row[0]): row for row in sites[start + 1 :]}
    lost = defaultdict(list)
    for row in tables["Sites of one template"][1:]:
        lost[_unversioned(row[1])].append([int(part) for part in row[2].split(" of ")])
    return [
        Panel(
            "Articles on other sites",
            "copies found · dropped wrongly",
            [(_share(by_tool[tool][found]), by_tool[tool][wrong]) for tool in TOOLS],
        ),
        Panel(
            "Whole sites in two versions",
            "copies found · lost",
            [(_share(of_sites[tool][1]), of_sites[tool][4]) for tool in TOOLS],
        ),
        Panel(
            "Different items, one template",
            "items lost",
            [(sum(n for n, _ in lost[tool]) / sum(n for _, n in lost[tool]), "") for tool in TOOLS],
        ),
    ]


def _unversioned(name: str) -> str:
    return re.sub(r" \d+(\.\d+)+", "", name)


def _share(cell: str) -> float:
    return float(cell.partition(" of ")[0])


def draw(panels: Sequence[Panel]) -> str:
    """The figure as SVG."""
    width, height = _LABELS + _PANEL * len(panels), _TOP + _ROW * len(TOOLS) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"  <title>{escape(_told(panels))}</title>",
        f"  <style>{_STYLE}  </style>",
        f'  <rect class="page" width="{width}" height="{height}" rx="8"/>',
    ]
    for row, name in enumerate(TOOLS.values()):
        lines.append(_text(16, _TOP + _ROW * row + 15, name, "" if row else "title"))
    for number, panel in enumerate(panels):
        left = _LABELS + _PANEL * number
        lines.append(_text(left, 26, panel.title, "title"))
        lines.append(_text(left, 46, panel.note, "note"))
        for row, (share, count) in enumerate(panel.bars):
            top = _TOP + _ROW * row
            is_loss = not count
            kind = "wrong" if is_loss else "other" if row else "bar"
            lines.append(_bar(left, top, _BAR, "rail"))
            lines.append(_bar(left, top, round(_BAR * share, 1), kind))
            lines.append(_text(left + _BAR + 8, top + 15, _figure(share), ""))
            if not is_loss:
                kind = "wrong" if count != "0" else "note"
                lines.append(_text(left + _BAR + 50, top + 15, f"· {count}", kind))
    return "\n".join([*lines, "</svg>\n"])


def _bar(left: int, top: int, width: float, kind: str) -> str:
    return f'  <rect class="{kind}" x="{left}" y="{top}" width="{width}" height="20"/>'


def _text(left: int, base: int, text: str, kind: str) -> str:
    return f'  <text class="{kind}" x="{left}" y="{base}">{escape(text)}</text>'


def _figure(share: float) -> str:
    return f"{share:.3f}"


def _told(panels: Sequence[Panel]) -> str:
    """All figures in words, for those who don't see them."""
    return ". ".join(
        f"{panel.title}, {panel.note}: "
        + ", ".join(
            f"{name} {_figure(share)}{f' · {count}' if count else ''}"
            for name, (share, count) in zip(TOOLS.values(), panel.bars, strict=True)
        )
        for panel in panels
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw(panels_of(RESULTS.read_text(encoding="utf-8"))))

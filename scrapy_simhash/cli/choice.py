"""What ``scrapy simhash tune`` prints: what each threshold keeps and what the choice costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from scrapy_simhash.cli.output import format_similarity, open_console
from scrapy_simhash.visible import plural, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from rich.console import Console

__all__ = ["choice", "print_steps", "print_tuned"]

# Below it the bands of an index are not those that its similarity would be given.
_PROMISED = 0.98

_MARKS = "[-only in what it is near-] {+only in the page itself+}"


def choice(levels: Sequence[Mapping[str, Any]], present: int, kind: str) -> list[str]:
    """What it costs to go to either side of the threshold in force, and what may be missed there.

    Args:
        levels: the figures of the levels, the loosest first.
        present: which one is in force.
        kind: "similarity" or "distance".
    """
    now = levels[present]["threshold"]
    said = []
    if present > 0:
        looser, cost = levels[present - 1], ""
        if looser["more_dropped"]:
            cost = (
                f"{_nearest(looser, kind)} Copies among them are stored once too often now; what "
                "is a page of its own would be lost."
            )
        said.append(_going(now, looser, cost))
    if present + 1 < len(levels):
        stricter, cost = levels[present + 1], ""
        if stricter["more_kept"]:
            cost = (
                f"{_nearest(levels[present], kind)} What is a page of its own among them is lost "
                "now; copies would be stored once too often."
            )
        said.append(_going(now, stricter, cost))
    missed = [
        f"{level['met']:.0%} at {level['threshold']}"
        for level in reversed(levels[: present + 1])
        if level["met"] is not None and level["met"] < _PROMISED
    ]
    if missed:
        said.append(
            "A crawl into this index may drop less than the table says, which compares all with "
            f"all: of the pairs that are just so similar its bands meet {', '.join(missed)}. A new "
            "namespace gets bands for its own similarity."
        )
    return said


def _going(now: str, level: Mapping[str, Any], cost: str) -> str:
    changes = _against_now(level).replace(", ", " and ")
    return f"Going from {now} to {level['threshold']}: {changes}. {cost}".rstrip()


def _nearest(level: Mapping[str, Any], kind: str) -> str:
    """How the pair differs that is next to the threshold in force, to have it looked at."""
    if not level["examples"]:
        return "Look at some with --examples."
    nearest = level["examples"][0]
    differs = max(
        nearest["differs"] or (),
        key=lambda piece: len(piece["removed"] + piece["added"]),
        default=None,
    )
    where = f' and differ in "{_piece(differs).plain}"' if differs else ""
    return f"The nearest two are {_alike(nearest, kind)}{where}."


def _alike(example: Mapping[str, Any], kind: str) -> str:
    if kind == "distance":
        return f"{example['distance']} {plural(example['distance'], 'bit')} apart"
    similarity, estimated = example["similarity"], example["estimated"]
    if estimated:
        return f"{format_similarity(similarity, estimated=True)} alike"
    # Never rounded up: what is just below a threshold must not read as if it were at it.
    return f"{int(similarity * 1000 + 1e-6) / 1000:.3f} alike"


def _against_now(level: Mapping[str, Any]) -> str:
    """What a level does otherwise than the one in force."""
    parts = [
        f"{level[name]:,} more {word}"
        for name, word in (("more_dropped", "dropped"), ("more_kept", "kept"))
        if level[name]
    ]
    return ", ".join(parts) or "no difference"


def print_tuned(figures: Mapping[str, Any], present: int, kind: str) -> None:
    """Print all of it.

    Args:
        figures: what is known of the levels.
        present: which one is in force.
        kind: "similarity" or "distance".
    """
    console = open_console()
    levels = figures["levels"]
    table = Table(kind)
    for title in ("kept", "dropped"):
        table.add_column(title, justify="right")
    table.add_column("against now")
    for level in levels:
        table.add_row(
            f"{level['threshold']} (now)" if level["is_present"] else level["threshold"],
            f"{level['kept']:,}",
            f"{level['dropped']:,}",
            "" if level["is_present"] else _against_now(level),
        )
    console.print(table)
    print_steps(console, levels, present, kind)
    for sentence in (*figures["choice"], _recommendation(figures, present, kind)):
        console.print(Text(sentence))
        console.print()
    for note in figures["notes"]:
        console.print(note, style="dim")


def print_steps(
    console: Console, levels: Sequence[Mapping[str, Any]], present: int, kind: str
) -> None:
    """The pairs that change sides, those next to the threshold in force first."""
    steps = [number for number, level in enumerate(levels) if level["examples"]]
    for looser in sorted(steps, key=lambda number: abs(number - present + 0.5)):
        level = levels[looser]
        console.print(
            f"Dropped at {level['threshold']}, kept at {levels[looser + 1]['threshold']}: "
            f"{level['kept_at_next']:,}, those nearest to {levels[present]['threshold']} first",
            style="bold",
        )
        grid = Table.grid(padding=(0, 2), pad_edge=True)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(overflow="fold")
        for example in level["examples"]:
            grid.add_row(_alike(example, kind), Text(shortened(example["url"])))
            grid.add_row("near", Text(shortened(example["match"])))
            grid.add_row("", _differs(example))
        console.print(grid)
        console.print()
    if steps:
        console.print(_MARKS, style="dim")
        console.print()


def _differs(example: Mapping[str, Any]) -> Text:
    if example["differs"] is None:
        return Text("one of the texts is kept no longer", style="dim")
    if not example["differs"]:
        return Text("both begin alike; what differs comes later", style="dim")
    text = Text(" … ").join(map(_piece, example["differs"]))
    others = example["changes"] - len(example["differs"])
    return text.append(f" … and {others:,} more" if others > 0 else "", style="dim")


def _piece(piece: Mapping[str, str]) -> Text:
    """A change with what stands before it: what is gone struck out, what is new underlined."""
    text = Text(f"{shortened(piece['before'])} " if piece["before"] else "")
    if piece["removed"]:
        text.append(f"[-{shortened(piece['removed'])}-]", style="red strike")
    if piece["added"]:
        text.append(f"{{+{shortened(piece['added'])}+}}", style="green underline")
    return text


def _recommendation(figures: Mapping[str, Any], present: int, kind: str) -> str:
    recommended = figures["recommended"]
    setting = f"SIMHASH_{kind.upper()} = {recommended}"
    if figures["levels"][present]["threshold"] == recommended:
        return f"Recommended: keep {setting}; no other value has fewer decisions hanging on it."
    return (
        f"Recommended: {setting}, around which fewer decisions hang. Read the examples first: "
        "fingerprints can't say what is the same to you."
    )

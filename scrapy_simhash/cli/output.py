"""Output of the commands: tables, JSON, sizes, differences."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from math import floor
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from scrapy_simhash.cli.printing import json_line, without_secrets
from scrapy_simhash.cli.project import CommandError
from scrapy_simhash.durable import new_file
from scrapy_simhash.history.record import Record
from scrapy_simhash.report.difference import LONGEST, DiffStep
from scrapy_simhash.simhash.measure import similarity_at
from scrapy_simhash.visible import plural, shortened, visible

# Where a part of a URL ends, behind its separators.
_END_OF_PART = re.compile(r"(?<=[/:])(?![/:])")
# Characters shown of a cell.
_LONGEST_CELL = 600

# Columns of a line where there is no terminal at all.
_NO_TERMINAL = 200

# Columns that the last cell of a table has at least, if it needs them.
_LAST_CELL = 20
# Columns that any other cell has at least.
_OTHER_CELL = 8

# Texts are cut at words, except in a script without spaces.
_FIRST_WORD = re.compile(r"^\S{1,30}(?=\s)")
_LAST_WORD = re.compile(r"(?<=\s)\S{1,30}$")
_WORD = re.compile(r"\S+\s*|\s+")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # Rich would exit with 1, but `| head` is no error.
        raise BrokenPipeError


def open_console() -> Console:
    """Standard output, for people; as wide as the terminal, also in a pipe to a pager."""
    is_seen = any(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    has_width = is_seen or "COLUMNS" in os.environ
    # Crawled text is never markup.
    return _Console(
        markup=False, emoji=False, highlight=False, width=None if has_width else _NO_TERMINAL
    )


def progress_bar(*, is_shown: bool = True) -> Progress:
    """A progress bar on standard error, shown only on a terminal."""
    is_unseen = not (is_shown and sys.stderr.isatty())
    return Progress(
        # Before rich 14.3 even a disabled bar prints an empty line at its end.
        console=Console(stderr=True, markup=False, emoji=False, highlight=False, quiet=is_unseen),
        transient=True,
        disable=is_unseen,
    )


@contextmanager
def working(what: str, *, is_shown: bool = True) -> Iterator[None]:
    """Show on a terminal that something takes a while."""
    with progress_bar(is_shown=is_shown) as progress:
        progress.add_task(what, total=None)
        yield


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None
) -> None:
    """Print a table, with numbers to the right. Texts are shortened, not escaped markup."""
    table = Table(*columns, title=title, title_justify="left", show_header=any(columns))
    for row in rows:
        cells = []
        for column, value in zip(table.columns, row, strict=True):
            column.overflow = "fold"
            if isinstance(value, int):
                column.justify = "right"
                value = f"{value:,}"  # noqa: PLW2901
            cells.append(Text(shortened(str(value))))
        table.add_row(*cells)
    open_console().print(table)


def print_facts(facts: Mapping[str, object], title: str | None = None) -> None:
    """Print a table of names and values; those that are None are left out."""
    print_table(("", ""), [row for row in facts.items() if row[1] is not None], title)


@contextmanager
def lines_to(path: Path | None) -> Iterator[BinaryIO]:
    """A new file, or standard output. No file is overwritten: it may hold the only copy."""
    if path is None:
        yield sys.stdout.buffer
        return
    try:
        with new_file(path) as stream:
            yield stream
    except FileExistsError as error:
        raise CommandError(f"{path} exists; remove it, or choose another name") from error


def write_lines(
    options: Namespace,
    heads: Sequence[str],
    parts: Iterable[Iterable[Record]],
    cells: Callable[[Iterable[Record]], Iterable[Sequence[Any]]],
    more: Callable[[Record], Mapping[str, Any]] = lambda _: {},
) -> None:
    """Write records as a table for people, or as JSON. See `add_lines` and `print_lines`.

    Both are without the passwords of URLs. `more` gives what stands beside a record in JSON.
    """
    if options.output is None and not options.json:
        print_lines(heads, map(cells, parts))
        return
    # What is printed shows by itself that it goes on.
    with (
        lines_to(options.output) as stream,
        working("Writing", is_shown=options.output is not None),
    ):
        for part in parts:
            told = ({**record.as_json(), **more(record)} for record in part)
            stream.writelines(json_line(without_secrets(one)) for one in told)
        stream.flush()


def print_lines(heads: Sequence[str], parts: Iterable[Iterable[Sequence[Any]]]) -> None:
    """Print the rows of parts as a table that is as wide as the terminal.

    The first part decides on the widths. Cells are shortened in the middle, as URLs are, and two
    URLs at the beginning that they have in common; the last cells are wrapped. Behind its cells a
    row may have pieces of a text, which are printed below them.
    """
    widths: list[int] = []
    console, count = open_console(), len(heads)
    for part in parts:
        rows = [*part]
        table = [[shortened(cell, _LONGEST_CELL) for cell in row[:count]] for row in rows]
        if rows and not widths:
            widths = _widths([heads, *table], console.width)
            print("  ".join(map(set_cell_size, heads, widths)).rstrip())
        indent = " " * (sum(widths[:-1]) + 2 * count - 2)
        for (*cells, last), row in zip(table, rows, strict=True):
            fitting = zip(_without_common_start(cells, widths), widths, strict=False)
            shown = [_fitted(cell, width) for cell, width in fitting]
            first, *more = Text(last).wrap(console, widths[-1]) or [Text()]
            print("  ".join([*shown, first.plain]).rstrip())
            for line in more:
                print(indent + line.plain.rstrip())
            for text in wrapped(row[count:], console.width - 4).plain.splitlines():
                print(f"    {text.rstrip()}")


def _widths(rows: Iterable[Sequence[str]], width: int) -> list[int]:
    """The width of each column, where the table is to have this width; the last takes the rest."""
    *needed, last = (max(map(cell_len, column)) for column in zip(*rows, strict=False))
    # Half of the table beside a long cell, a quarter beside two.
    share = width // (2 * max(1, sum(cells > _LAST_CELL for cells in needed)))
    left = width - 2 * len(needed) - min(last, max(_LAST_CELL, share))
    fits = (most for most in range(max(needed), _OTHER_CELL, -1) if _total(needed, most) <= left)
    cut = next(fits, _OTHER_CELL)
    widths = [min(one, cut) for one in needed]
    return [*widths, max(_LAST_CELL, width - sum(widths) - 2 * len(widths))]


def _total(needed: Iterable[int], most: int) -> int:
    return sum(min(one, most) for one in needed)


def _without_common_start(cells: list[str], widths: Sequence[int]) -> list[str]:
    """The cells of a row: two URLs without their common start, if a cut would hide the rest."""
    urls = {cell: width for cell, width in zip(cells, widths, strict=False) if "://" in cell}
    if len(urls) != 2 or all(cell_len(url) <= width for url, width in urls.items()):
        return cells
    parts = zip(*map(_END_OF_PART.split, urls), strict=False)
    start = sum(len(one) for one, _ in takewhile(lambda pair: pair[0] == pair[1], parts))
    is_shown = all(cell_len(url[start:]) <= _end_of(width) for url, width in urls.items())
    if is_shown or not start:
        return cells
    return [f"…{cell[start:]}" if cell in urls else cell for cell in cells]


def _end_of(width: int) -> int:
    """How many columns show the end of a cell whose middle is left out."""
    return width * 3 // 5


def _fitted(cell: str, width: int) -> str:
    """A cell of this width: the scheme of a URL is left out, and then what is in the middle."""
    if cell_len(cell) > width:
        cell = cell.removeprefix("http://").removeprefix("https://")
    if cell_len(cell) > width:
        end = chop_cells(cell[::-1], _end_of(width))[0][::-1]
        cell = f"{set_cell_size(cell, width - 1 - cell_len(end))}…{end}"
    return set_cell_size(cell, width)


def format_distance(value: int | None, bits: int) -> str:
    """A Hamming distance and the similarity it stands for; "-" for None."""
    if value is None:
        return "-"
    return f"{value} {plural(value, 'bit')} (similarity about {similarity_at(value, bits):.2f})"


def format_similarity(similarity: float, *, estimated: bool) -> str:
    """A similarity, with "about" if it is an estimate; rounded down, as in the report.

    So texts that differ in a word of thousands are not shown as equal.
    """
    return f"{'about ' if estimated else ''}{floor(similarity * 100 + 1e-6) / 100:.2f}"


class Piece(NamedTuple):
    """A part of a text: without a mark both texts have it, one has it with "-" or "+"."""

    text: str
    mark: str = ""

    def __str__(self) -> str:
        opened, closed, _ = _MARKS[self.mark]
        return f"{opened}{self.text}{closed}"


# Text.wrap asks for a console, and reads nothing of it.
_UNUSED = Console(width=80)

# What stands around a piece, and its style.
_MARKS = {"": ("", "", ""), "-": ("[-", "-]", "red strike"), "+": ("{+", "+}", "green underline")}


def marked_difference(first: str | None, steps: Sequence[DiffStep] | None) -> list[Piece]:
    """One text with removed and added parts, as far as people read it; see `difference`."""
    if first is None or steps is None:
        return [Piece("one of the texts is no longer kept")]
    if not any(step.removed or step.added for step in steps):
        return [Piece(f"The texts are equal (the first {LONGEST:,} characters are compared).")]
    pieces = []
    place = 0
    for step in steps:
        same = first[place : place + step.copied]
        if len(same) > 160:
            head = _LAST_WORD.sub("", same[:70]) if place else ""
            # After the last change, the end of the text is left out.
            leads_up = step.removed or step.added
            same = f"{head} […] {_FIRST_WORD.sub('', same[-70:]) if leads_up else ''}"
        place += step.copied
        removed = first[place : place + step.removed]
        place += step.removed
        for text, mark in ((same, ""), (removed, "-"), (step.added, "+")):
            if text:
                pieces.append(Piece(visible(text).replace("\n", " "), mark))
    return pieces


def wrapped(pieces: Iterable[Piece], width: int, most: int = 10_000) -> Text:
    """Lines of this width, so many columns of them, that end between words and inside no mark."""
    text, room = Text(), 0
    for piece in pieces:
        if not piece.mark:
            units = _WORD.findall(piece.text)
        elif cell_len(str(piece)) <= width:
            units = [str(piece)]
        else:
            lines = Text(piece.text).wrap(_UNUSED, width - 4)
            units = [str(piece._replace(text=line.plain)) for line in lines]
        for unit in units:
            if not (text or unit.strip()):
                continue
            needed = cell_len(unit.rstrip())
            if (most := most - needed) < 0:
                text.rstrip()
                text.append("…" if room > 0 or not text else "\n…")
                return text
            if needed > room and text:
                text.rstrip()
                text.append("\n")
                room = width
            room = (room or width) - cell_len(unit)
            text.append(unit, _MARKS[piece.mark][2])
    text.rstrip()
    return text

"""Output of the commands: tables, JSON, sizes, differences."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from scrapy_simhash.cli.printing import json_line, without_secrets
from scrapy_simhash.cli.project import CommandError
from scrapy_simhash.durable import new_file
from scrapy_simhash.report.difference import LONGEST, Change
from scrapy_simhash.simhash.measure import similarity_at
from scrapy_simhash.visible import plural, shortened, visible

_Part = TypeVar("_Part")

# Texts are cut at words, except in a script without spaces.
_FIRST_WORD, _LAST_WORD = re.compile(r"^\S{1,30}(?=\s)"), re.compile(r"(?<=\s)\S{1,30}$")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # Rich would exit with 1, but `| head` is no error.
        raise BrokenPipeError


def open_console() -> Console:
    """Standard output, for people."""
    # Crawled text is never markup. A pipe has no width of its own, and must not cut lines.
    return _Console(
        markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else 200
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
    parts: Iterable[_Part],
    in_words: Callable[[_Part], Iterable[str]],
    fields: Callable[[_Part], Iterable[Mapping[str, Any]]],
) -> None:
    """Write the lines of parts: for people on a terminal, else JSON. See `add_lines`.

    Both are without the passwords of URLs.
    """
    if options.output is None and not options.json and sys.stdout.isatty():
        for part in parts:
            for line in in_words(part):
                print(line)
        return
    # What is printed shows by itself that it goes on.
    with (
        lines_to(options.output) as stream,
        working("Writing", is_shown=options.output is not None),
    ):
        for part in parts:
            stream.writelines(json_line(without_secrets(one)) for one in fields(part))
        stream.flush()


def format_distance(value: int | None, bits: int) -> str:
    """A Hamming distance and the similarity it stands for; "-" for None."""
    if value is None:
        return "-"
    return f"{value} {plural(value, 'bit')} (similarity about {similarity_at(value, bits):.2f})"


def format_similarity(similarity: float, *, estimated: bool) -> str:
    """A similarity, with "about" if it is an estimate."""
    return f"{'about ' if estimated else ''}{similarity:.2f}"


def marked_difference(first: str | None, changes: Sequence[Change] | None) -> Text:
    """One text with removed parts struck out and added parts underlined; see `difference`."""
    if first is None or changes is None:
        return Text("one of the texts is no longer kept", style="dim")
    if not any(change.removed or change.added for change in changes):
        return Text(f"The texts are equal (the first {LONGEST:,} characters are compared).")
    text = Text()
    place = 0
    for change in changes:
        same = first[place : place + change.copied]
        if len(same) > 160:
            head = _LAST_WORD.sub("", same[:70]) if place else ""
            # After the last change, the end of the text is left out.
            leads_up = change.removed or change.added
            same = f"{head} […] {_FIRST_WORD.sub('', same[-70:]) if leads_up else ''}"
        text.append(visible(same).replace("\n", " "))
        place += change.copied
        if removed := first[place : place + change.removed]:
            text.append(f"[-{visible(removed)}-]", style="red strike")
        if change.added:
            text.append(f"{{+{visible(change.added)}+}}", style="green underline")
        place += change.removed
    return text

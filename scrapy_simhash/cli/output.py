"""Output of the commands: tables, records in groups or as JSON, sizes, differences."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import groupby, islice
from math import floor
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scrapy_simhash.cli.printing import in_values, print_lines
from scrapy_simhash.durable import new_file
from scrapy_simhash.history.record import Record
from scrapy_simhash.index.verdict import OF_TEXT
from scrapy_simhash.index.words import field_label
from scrapy_simhash.item.keys import UNIDENTIFIED, item_url
from scrapy_simhash.report.difference import LONGEST, DiffStep, difference
from scrapy_simhash.simhash.measure import similarity_at
from scrapy_simhash.visible import format_time, plural, shortened, visible

# Characters shown of a cell.
_LONGEST_CELL = 600

# Columns of a line where there is no terminal at all.
_NO_TERMINAL = 200

# Of the lines in a group.
_INDENT = "    "
# The fewest columns beside a URL in which a remark is cut; with fewer it stands below.
_SHORT_REMARK = 30

# Texts are cut at words, except in a script without spaces.
_FIRST_WORD = re.compile(r"^\S{1,30}(?=\s)")
_LAST_WORD = re.compile(r"(?<=\s)\S{1,30}$")

# Columns of a difference that are shown.
_LONGEST_DIFFERENCE = 10_000

# The maximum number of values in a line.
_VALUES = 3

# Keys that mean nothing to people: digests of items, fingerprints of requests.
_NO_NAME = re.compile(rf"{UNIDENTIFIED}|[0-9a-f]{{32,}}$")

# The number of decisions that are grouped at once.
_PART = 10_000


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


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal that something takes a while; gives what shows how far it has come."""
    console = Console(
        stderr=True, markup=False, emoji=False, highlight=False, quiet=not sys.stderr.isatty()
    )
    with console.status(what) as status:
        yield status.update


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


def lines_to(path: Path | None) -> AbstractContextManager[BinaryIO]:
    """A new file, or standard output. No file is overwritten: it may hold the only copy."""
    return nullcontext(sys.stdout.buffer) if path is None else new_file(path)


def write_lines(
    options: Namespace,
    records: Iterable[Record],
    show: Callable[[Iterable[Record]], Iterable[Group]],
    more: Callable[[Record], Mapping[str, Any]] | None = None,
    *,
    is_brief: bool = False,
) -> Counter[str]:
    """Print records in groups for people, or as JSON; gives the number of each status.

    Both are without the passwords of URLs. `more` gives what stands beside a record in JSON.
    """
    counts: Counter[str] = Counter()

    def counted() -> Iterator[Record]:
        for record in records:
            counts[record.status] += 1
            yield record

    if not options.json:
        print_groups(show(counted()), is_brief=is_brief)
        return counts
    print_lines({**record.as_json(), **(more(record) if more else {})} for record in counted())
    return counts


#: A name and the rows that it has: a URL, a remark, and a text, if any.
Group = tuple[str, Iterable[Sequence[Any]]]


def print_groups(groups: Iterable[Group], *, is_brief: bool = False) -> None:
    """Print groups: a line for the name of each, one for each of its URLs with a short remark.

    URLs stand in full, so that they can be opened. A remark that does not fit beside its URL stands
    below it; if the list is to be brief, it is cut. Texts always stand below.
    """
    console = open_console()
    for name, rows in groups:
        print(shortened(name, _LONGEST_CELL))
        for url, remark, *texts in rows:
            line = f"{_INDENT}{shortened(url, _LONGEST_CELL)}"
            room, width = console.width - cell_len(line) - 2, console.width - 2 * len(_INDENT)
            below = Text(shortened(remark, _LONGEST_CELL))
            if is_brief:
                below.truncate(room if room >= _SHORT_REMARK else width, overflow="ellipsis")
            if below.cell_len <= room:
                line, below = f"{line}  {below.plain}".rstrip(), Text()
            print(line)
            for text in (below, *texts):
                for part in text.wrap(console, width) if text else ():
                    print(f"{2 * _INDENT}{part.plain.rstrip()}")


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


def marked_difference(first: str | None, steps: Sequence[DiffStep] | None) -> Text:
    """One text with removed and added parts, as far as people read it; see `difference`."""
    if first is None or steps is None:
        return Text("one of the texts is no longer kept")
    if not any(step.removed or step.added for step in steps):
        return Text(f"The texts are equal (the first {LONGEST:,} characters are compared).")
    marked = Text()
    place = 0
    for step in steps:
        same = first[place : place + step.copied]
        if len(same) > 160:
            head = f"{_LAST_WORD.sub('', same[:70])} " if place else ""
            # After the last change, the end of the text is left out.
            leads_up = step.removed or step.added
            same = f"{head}[…] {_FIRST_WORD.sub('', same[-70:]) if leads_up else ''}"
        place += step.copied
        removed = first[place : place + step.removed]
        place += step.removed
        marked.append(_in_line(same))
        for text, mark, style in (
            (removed, "[-{}-]", "red strike"),
            (step.added, "{{+{}+}}", "green underline"),
        ):
            if text:
                line = _in_line(text)
                words = line.rstrip()
                # Lines end between words, not in a mark.
                marked.append(mark.format(words), style).append(line[len(words) :])
    marked.truncate(_LONGEST_DIFFERENCE, overflow="ellipsis")
    return marked


def _in_line(text: str) -> str:
    return visible(text).replace("\n", " ")


def by_original(records: Iterable[Record]) -> Iterator[Group]:
    """Decisions in groups, each named by the URL of the stored item."""
    records = iter(records)
    while part := list(islice(records, _PART)):
        groups = defaultdict[str, list[tuple[str, str]]](list)
        for record in part:
            groups[record.original or "(deleted)"].append((_place(record), _why(record)))
        yield from groups.items()


def _place(record: Record) -> str:
    """The URL of an item, and what tells it from others there, as the values of SIMHASH_KEY."""
    key = record.name or record.key
    is_named = key and not (item_url(key, "") or _NO_NAME.match(key))
    return f"{record.url} ({shortened(key)})".lstrip() if is_named else record.url


def _why(record: Record) -> str:
    """The reason for a decision, and what differs."""
    fields, reason = record.fields, record.reason
    if record.similarity is not None and (record.similarity < 1 or record.estimated):
        near = format_similarity(record.similarity, estimated=record.estimated)
        reason = f"{reason} ({near})"
    if record.differs in fields:
        return f"{reason}: {in_values(*fields[record.differs])}"
    some = [*fields.items()][:_VALUES]
    return "; ".join([reason, *(f"{field_label(one)}: {in_values(*both)}" for one, both in some)])


def by_status(records: Iterable[Record]) -> Iterator[Group]:
    """Changes in groups, each named by their status; with how the texts differ, if these are read.

    They come in an order by status.
    """
    for status, of_status in groupby(records, key=attrgetter("status")):
        yield status, map(_what_changed, of_status)


def by_visit(records: Iterable[Record]) -> Iterator[Group]:
    """The changes of one item as a group, with the time and the run of each."""
    rows = [
        (f"{format_time(one.created)}  run {one.run}  {one.status}", _what_changed(one)[1])
        for one in records
    ]
    if rows:
        yield "History (UTC)", rows


def _what_changed(record: Record) -> Sequence[Any]:
    parts = [record.how] if record.how else []
    for name, values in record.fields.items():
        more = ""
        if any(values):
            more = f": {in_values(*values)}"
        elif name == OF_TEXT and record.similarity is not None:
            share = format_similarity(record.similarity, estimated=False)
            more = ": nothing in common" if share == "0.00" else f": similarity {share}"
        parts.append(f"{field_label(name)}{more}")
    row = _place(record), "; ".join(parts)
    own, stored = record.own.text, record.stored.text
    if own and stored and own != stored:
        return *row, marked_difference(*difference(stored, own))
    return row


def compared_texts(record: Record) -> dict[str, Any]:
    """The text of the stored item, and the steps from it to that of the item, for programs."""
    text, steps = difference(record.stored.text, record.own.text)
    return {"text_of_original": text, "difference": steps}

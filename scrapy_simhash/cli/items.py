"""What commands have in common that give dropped items back, as JSON Lines."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from scrapy_simhash import history
from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.output import json_line, progress_bar
from scrapy_simhash.durable import new_file
from scrapy_simhash.visible import plural

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, BinaryIO

    class Packed(Protocol):
        """A dropped item."""

        @property
        def item(self) -> bytes | None:
            """Packed; None where it was not kept."""

        @property
        def item_type(self) -> str | None:
            """The path of its class."""


__all__ = ["add_choice", "give_back"]


def add_choice(parser: ArgumentParser) -> None:
    """Where they go, and since when they were dropped."""
    parser.add_argument("-o", "--output", metavar="FILE", help="instead of standard output")
    parser.add_argument(
        "--since",
        metavar="TIME",
        type=_seconds,
        help="only those since then: 2030-01-31 or 2030-01-31T12:00",
    )


def give_back(
    found: Iterable[Packed], output: str | None, told: Callable[[Any, Mapping[str, Any]], Any]
) -> None:
    """Write items, a line each, to a file or to standard output.

    Args:
        found: what is written, as it is read.
        output: the file; it is there once it is complete.
        told: gives what is written of one of them, and its fields.

    Raises:
        CommandError: there is such a file already; or some can't be read, all others are written.
    """
    written = gone = incomplete = damaged = 0
    with _stream(output) as stream, progress_bar() as progress:
        task = progress.add_task("Restoring", total=None)
        for one in found:
            if one.item is None:
                gone += 1
                continue
            try:
                fields = history.unpack(bytes(one.item))
            except ValueError:
                damaged += 1
                continue
            stream.write(json_line(told(one, fields)))
            written += 1
            incomplete += str(one.item_type).endswith("(incomplete)")
            progress.advance(task)
        stream.flush()
    print(f"{written:,} {plural(written, 'item')} given back", file=sys.stderr)
    if gone:
        print(f"Not kept (SIMHASH_QUARANTINE): {gone:,} more", file=sys.stderr)
    if incomplete:
        print(
            f"With values that could not be kept as they were: {incomplete:,} of them",
            file=sys.stderr,
        )
    if damaged:
        raise CommandError(f"{damaged:,} more can't be read: the database is damaged there")


@contextmanager
def _stream(output: str | None) -> Iterator[BinaryIO]:
    """Never over another file: what is restored may be all that there is."""
    if output is None:
        yield sys.stdout.buffer
        return
    path = Path(output)
    try:
        with new_file(path) as stream:
            yield stream
    except FileExistsError as error:
        raise CommandError(f"{path} is there already; remove it, or name another one") from error


def _seconds(given: str) -> float:
    """A time, in seconds since the epoch; in the machine's zone unless it says."""
    try:
        return datetime.fromisoformat(given).astimezone().timestamp()
    except (ValueError, OverflowError) as error:
        raise ArgumentTypeError(
            f"{given}: wanted is a time such as 2030-01-31 or 2030-01-31T12:00"
        ) from error

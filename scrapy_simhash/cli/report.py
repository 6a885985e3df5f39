"""``scrapy simhash report``: write the HTML report, one file that opens offline."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.cli.arguments import add_database, add_run
from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.output import progress_bar
from scrapy_simhash.report.subject import read_subject

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.report.subject import Subject

__all__ = ["add_arguments", "load_writer", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_database(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    add_run(parser)


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    write = load_writer()
    with project.namespace() as (database, namespace), progress_bar() as progress:
        progress.add_task("Writing the report", total=None)
        limit, similarity = project.rule.limit, project.rule.similarity
        subject = read_subject(database, namespace.name, options.run, limit, similarity)
        write(subject, Path(options.output))
    print(f"Report: {Path(options.output).absolute()}", file=sys.stderr)


def load_writer() -> Callable[[Subject, Path], None]:
    """What writes a report.

    Raises:
        CommandError: what it needs is not installed.
    """
    try:
        from scrapy_simhash.report.html import write_subject  # noqa: PLC0415 - an extra of its own
    except ImportError as error:
        raise CommandError(
            f"the report needs {error.name}: pip install 'scrapy-simhash[report]'"
        ) from error
    return write_subject

"""``scrapy simhash report``: write the HTML report, one file that opens offline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.cli.arguments import add_database, add_run
from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.output import progress_bar

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from scrapy_simhash.cli.project import Project

__all__ = ["add_arguments", "load_writer", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_database(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    add_run(parser)


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    write_report = load_writer()
    with project.namespace() as (database, namespace), progress_bar() as progress:
        progress.add_task("Writing the report", total=None)
        write_report(
            database,
            options.output,
            run=options.run,
            namespace=namespace.name,
            limit=project.rule.limit,
            similarity=project.rule.similarity,
        )


def load_writer() -> Callable[..., None]:
    """What writes a report.

    Raises:
        CommandError: what it needs is not installed.
    """
    try:
        from scrapy_simhash.report.html import write_report  # noqa: PLC0415 - an extra of its own
    except ImportError as error:
        raise CommandError(
            f"the report needs {error.name}: pip install 'scrapy-simhash[report]'"
        ) from error
    return write_report

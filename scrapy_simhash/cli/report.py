"""``scrapy simhash report``: write the HTML report, one file that opens offline."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from scrapy_simhash.cli.arguments import add_database, add_output, positive
from scrapy_simhash.cli.output import working
from scrapy_simhash.cli.project import Project
from scrapy_simhash.report.data import read_report
from scrapy_simhash.report.html import write_report

_FILE = "simhash-report.html"


def add_arguments(parser: ArgumentParser) -> None:
    """Add its options."""
    add_database(parser)
    add_output(parser, f"write the report to FILE (default: {_FILE})")
    help_ = "open with run N (default: the largest run of the last crawl)"
    parser.add_argument("--run", type=positive, metavar="N", help=help_)


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    runs = [options.run] if options.run else []
    with project.namespaces_of(runs) as (namespace, *_), working("Writing the report"):
        data = read_report(namespace, project.settings.rule, options.run)
        output = options.output or Path(_FILE)
        write_report(data, output)
    print(f"Report: {output.absolute()}", file=sys.stderr)

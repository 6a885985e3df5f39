"""``scrapy simhash explain``: show how the fingerprint of a text is computed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from scrapy_simhash.cli.arguments import add_shared
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.visible import visible


def add_explain(parser: ArgumentParser) -> None:
    """Add the options of ``explain``."""
    add_shared(parser, "json")
    parser.add_argument("text", metavar="TEXT", help="the text itself, not a file")


def run_explain(project: Project, options: Namespace) -> None:
    """Show how the fingerprint of a text is computed."""
    scheme = project.settings.scheme
    explain = getattr(scheme, "explain", None)
    if explain is None:
        raise CommandError(f"the scheme {scheme.id!r} has no explain method")
    explanation = explain(options.text)
    if options.json:
        print_json(asdict(explanation))
    else:
        print(visible(str(explanation)))

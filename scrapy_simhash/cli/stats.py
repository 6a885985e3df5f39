"""``scrapy simhash stats``: show the size of the index and its runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

from rich.filesize import decimal

from scrapy_simhash import native
from scrapy_simhash.cli.arguments import add_database, add_json
from scrapy_simhash.cli.output import open_console, print_facts, print_table, working
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import Project
from scrapy_simhash.history.namespaces import read_namespaces, read_runs
from scrapy_simhash.visible import format_time, plural, shortened


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.database() as database, working("Reading"):
        figures = [
            {
                **{name: getattr(one, name) for name in one._fields if name != "database"},
                "runs": [run._asdict() for run in read_runs(one)],
            }
            for one in read_namespaces(database, project.name)
        ]
        shown = str(database)
    if options.json:
        print_json({"database": shown, "core": native.in_use, "namespaces": figures})
        return
    count = f"{len(figures)} {plural(len(figures), 'namespace')}"
    open_console().print(f"{shown}: {count}; core: {native.in_use}")
    for one in figures:
        _print_namespace(one)


def _print_namespace(figures: Mapping[str, Any]) -> None:
    facts = {
        "stored items": f"{figures['size']:,}",
        "scheme": figures["scheme"],
        "keys": figures["plan"],
        "stored texts": decimal(figures["text_bytes"]),
        "quarantined items": decimal(figures["item_bytes"]),
        "since (UTC)": format_time(figures["created"]),
    }
    print_facts(facts, f"Namespace {shortened(figures['name'])}")
    columns = ("run", "spider", "opened (UTC)", "ended")
    counts = {"stored": "claims", "pending": "pending"}
    counts |= {"duplicates and unchanged": "drops", "orphans": "orphans"}
    rows = [
        (
            str(run["id"]),
            shortened(run["spider"], 60),
            format_time(run["opened"]),
            _ending(run),
            *(run[name] for name in counts.values()),
        )
        for run in figures["runs"]
    ]
    print_table((*columns, *counts), rows, "Runs")


def _ending(run: Mapping[str, Any]) -> str:
    if run["closed"] is None:
        return "recovered" if run["recovered"] is not None else "open"
    return shortened(run["reason"] or "closed", 40) + ("" if run["settled"] else " (not settled)")

"""``scrapy simhash stats``: show the size of the index, its runs and its growth."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from scrapy_simhash import native
from scrapy_simhash.cli.arguments import add_database, add_json
from scrapy_simhash.cli.output import open_console, print_facts, working
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import Project
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.namespaces import choose_namespace, read_namespaces, read_runs
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.visible import format_time, plural, shortened

# Periods of growth, in days.
_DAYS = (1, 7, 30)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.database() as database, working("Reading"):
        found = read_namespaces(database)
        if project.name is not None:
            found = [choose_namespace(database, project.name)]
        figures = [_figures(database, namespace) for namespace in found]
        shown = str(database)
    if options.json:
        print_json({"database": shown, "core": native.in_use, "namespaces": figures})
        return
    count = f"{len(figures)} {plural(len(figures), 'namespace')}"
    open_console().print(f"{shown}: {count}; core: {native.in_use}")
    for one in figures:
        _print_namespace(one)
        _print_runs(one["runs"])


def _figures(database: Database, namespace: NamespaceRow) -> dict[str, Any]:
    runs = read_runs(database, namespace)
    now = database.now()
    growth = {
        f"claims_last_{days}_days": sum(
            run.claims for run in runs if run.opened >= now - timedelta(days=days).total_seconds()
        )
        for days in _DAYS
    }
    return {**namespace._asdict(), "runs": [run._asdict() for run in runs], **growth}


def _print_namespace(figures: Mapping[str, Any]) -> None:
    growth = [
        f"{days} {plural(days, 'day')}: {figures[f'claims_last_{days}_days']:,}" for days in _DAYS
    ]
    rows = {
        "stored items": f"{figures['size']:,}",
        "scheme": shortened(figures["scheme"]),
        "keys": shortened(figures["plan"]),
        "stored texts": decimal(figures["text_bytes"]),
        "quarantined items": decimal(figures["item_bytes"]),
        "since (UTC)": format_time(figures["created"]),
        "new in the last": ", ".join(growth),
    }
    print_facts(rows, f"Namespace {shortened(figures['name'])}")


def _print_runs(runs: Sequence[Mapping[str, Any]]) -> None:
    table = Table("run", "spider", "opened (UTC)", "ended", title="Runs", title_justify="left")
    for title in ("stored", "pending", "duplicates and unchanged", "orphans"):
        table.add_column(title, justify="right")
    for run in runs:
        table.add_row(
            str(run["id"]),
            Text(shortened(run["spider"], 60)),
            format_time(run["opened"]),
            _ending(run),
            *(f"{run[name]:,}" for name in ("claims", "pending", "drops", "orphans")),
        )
    open_console().print(table)


def _ending(run: Mapping[str, Any]) -> str:
    if run["closed"] is None:
        return "recovered" if run["recovered"] is not None else "open"
    return shortened(run["reason"] or "closed", 40) + ("" if run["settled"] else " (not settled)")

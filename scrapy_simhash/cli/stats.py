"""``scrapy simhash stats``: show the size of the index, its runs and its growth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from scrapy_simhash import history
from scrapy_simhash.cli.arguments import add_database, add_json
from scrapy_simhash.cli.output import (
    facts_table,
    format_bytes,
    format_time,
    open_console,
    print_json,
)
from scrapy_simhash.cli.project import DAY
from scrapy_simhash.report.visible import shortened

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

    from scrapy_simhash.cli.project import Project

__all__ = ["add_arguments", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_database(parser)
    add_json(parser)


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.database() as database:
        found = history.namespaces(database)
        if project.name is not None:
            found = [history.choose_namespace(database, project.name)]
        now = database.now()
        figures = [
            {
                **namespace._asdict(),
                "runs": [row._asdict() for row in history.runs(database, namespace)],
            }
            for namespace in found
        ]
        shown = str(database)
    for one in figures:
        for days in (1, 7, 30):
            one[f"claims_last_{days}_days"] = sum(
                row["claims"] for row in one["runs"] if row["opened"] >= now - days * DAY
            )
    if options.json:
        print_json({"database": shown, "namespaces": figures})
        return
    console = open_console()
    console.print(f"{shown}: {len(figures)} namespace{'s' * (len(figures) != 1)}")
    for one in figures:
        facts = facts_table(f"Namespace {shortened(one['name'])}")
        facts.add_row("claims", f"{one['size']:,}")
        facts.add_row("scheme", one["scheme"])
        facts.add_row("keys", one["plan"])
        facts.add_row("texts kept", format_bytes(one["text_bytes"]))
        facts.add_row("items kept", format_bytes(one["item_bytes"]))
        facts.add_row("since", format_time(one["created"]))
        facts.add_row(
            "growth",
            ", ".join(
                f"{one[f'claims_last_{days}_days']:,} in {days} {'day' if days == 1 else 'days'}"
                for days in (1, 7, 30)
            ),
        )
        console.print(facts)
        runs = Table("run", "spider", "opened", "ended", title="Runs", title_justify="left")
        for title in ("claims", "pending", "dropped", "orphans"):
            runs.add_column(title, justify="right")
        for row in one["runs"]:
            runs.add_row(
                str(row["id"]),
                Text(shortened(row["spider"], 60)),
                format_time(row["opened"]),
                _ending(row),
                *(f"{row[name]:,}" for name in ("claims", "pending", "drops", "orphans")),
            )
        console.print(runs)


def _ending(row: dict[str, Any]) -> str:
    if row["closed"] is None:
        return "recovered" if row["recovered"] is not None else "open"
    return shortened(row["reason"] or "closed", 40) + ("" if row["settled"] else " (not settled)")

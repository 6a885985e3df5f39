"""``scrapy simhash stats``: show the size of the index and its runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from rich.filesize import decimal

from scrapy_simhash import native
from scrapy_simhash.cli.arguments import add_database, add_json, add_selection
from scrapy_simhash.cli.output import print_facts, print_table, working
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import Project, selected
from scrapy_simhash.db.pages import file_size
from scrapy_simhash.history.namespaces import RunRow, read_namespaces, read_runs
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.visible import format_time, plural, shortened

# Namespaces, and runs of the newest one, that are shown without --details.
_NEWEST = 10


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
    add_selection(parser, "all runs", has_site=False)
    parser.add_argument(
        "--details",
        action="store_true",
        help="show all namespaces with all of their runs, their scheme and their sizes",
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.database() as database, working("Reading"):
        found = [(one, _runs_of(one, options)) for one in read_namespaces(database, project.name)]
        shown = str(database)
        pages = file_size(project.pages)
    if options.json:
        figures = [
            {
                **{name: getattr(one, name) for name in one._fields if name != "database"},
                "runs": [run._asdict() for run in runs],
            }
            for one, runs in found
        ]
        stored = {"core": native.in_use, "pages": pages._asdict(), "namespaces": figures}
        print_json({"database": shown, **stored})
        return
    count = f"{len(found)} {plural(len(found), 'namespace')}"
    print(f"{shown}: {count}; core: {native.in_use}")
    if pages.pages:
        print(f"Stored pages (SIMHASH_REVISIT): {pages.pages:,}, {decimal(pages.bytes)}")
    found.sort(key=lambda one: (-max((run.id for run in one[1]), default=0), one[0].name))
    if options.details:
        for one, runs in found:
            _print_details(one)
            _print_runs(runs, f"Runs of {shortened(one.name)}")
        return
    rows = [
        (shortened(one.name, 60), one.size, len(runs), *(_row(runs[0])[:2] if runs else "--"))
        for one, runs in found[:_NEWEST]
    ]
    print_table(("namespace", "stored items", "runs", "last run", "started (UTC)"), rows)
    if found:
        one, runs = found[0]
        _print_runs(runs[:_NEWEST], f"The last runs of {shortened(one.name)}")
    if len(found) > _NEWEST or any(len(runs) > _NEWEST for _, runs in found):
        print("More namespaces and runs: --details")


def _runs_of(namespace: NamespaceRow, options: Namespace) -> list[RunRow]:
    runs, chosen = read_runs(namespace), selected(namespace, options)
    of_runs = [row for row in runs if chosen.runs is None or row.id in chosen.runs]
    return [row for row in of_runs if row.opened >= chosen.since]


def _print_details(one: NamespaceRow) -> None:
    facts = {
        "stored items": f"{one.size:,}",
        "scheme": one.scheme,
        "keys": one.plan,
        "stored texts": decimal(one.text_bytes),
        "items to restore": decimal(one.item_bytes),
        "since (UTC)": format_time(one.created),
    }
    print_facts(facts, f"Namespace {shortened(one.name)}")


def _print_runs(runs: Sequence[RunRow], title: str) -> None:
    columns = ["run", "started (UTC)", "spider", "ended", "checked", "kept", "dropped"]
    rows = [_row(run) for run in runs]
    # Rare: what is not known to be stored, and drops of what is not stored after all.
    for name, count in (("not stored yet", "pending"), ("original not stored", "orphans")):
        if any(getattr(run, count) for run in runs):
            columns.append(name)
            rows = [(*row, getattr(run, count)) for row, run in zip(rows, runs, strict=True)]
    print_table(columns, rows, title)


def _row(run: RunRow) -> tuple[object, ...]:
    counts: Sequence[object] = run.counts or ("-", run.claims, run.drops)
    return (
        str(run.id),
        format_time(run.opened)[:-3],
        shortened(run.spider, 60),
        _ending(run),
        *counts,
    )


def _ending(run: RunRow) -> str:
    if run.closed is None:
        return "running or crashed" if run.recovered is None else "crashed"
    return shortened(run.reason or "closed", 40) + ("" if run.settled else " (not all stored)")

"""The commands for the index itself: its size and versions; prune and reset, which delete."""

from __future__ import annotations

import platform
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from importlib.metadata import version

from rich.filesize import decimal

from scrapy_simhash import native
from scrapy_simhash.cli.arguments import add_flag, add_shared, as_setting, positive
from scrapy_simhash.cli.output import print_facts, print_table, working
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import CommandError, Project, selected
from scrapy_simhash.crawl.settings import DAY
from scrapy_simhash.db.engine import shown_url
from scrapy_simhash.db.pages import delete_file, delete_pages, file_size
from scrapy_simhash.db.transactions import drop_tables
from scrapy_simhash.exceptions import IndexMismatch, IndexUnavailable
from scrapy_simhash.history.sql import RunRow, read_namespaces, read_runs
from scrapy_simhash.index.recovery import Recovery
from scrapy_simhash.index.upkeep import claims_at, expire, forget_claims, reset_namespace
from scrapy_simhash.visible import format_time, plural, shortened

# Runs that are shown if none are chosen.
_NEWEST = 10


def run_version(project: Project, _: Namespace) -> None:
    """Print the versions that matter to the report of a bug."""
    print_facts(
        {
            "scrapy-simhash": f"{version('scrapy-simhash')}, core: {native.in_use}",
            "Python": f"{platform.python_version()}, {platform.system()} {platform.machine()}",
            **{name: version(name) for name in ("Scrapy", "SQLAlchemy", "lxml")},
            "database": _describe_database(project),
        }
    )


def _describe_database(project: Project) -> str:
    try:
        with project.database() as database:
            number = ".".join(map(str, database.engine.dialect.server_version_info or ()))
            return f"{database}: {database.engine.name} {number}"
    except (CommandError, IndexMismatch, IndexUnavailable) as error:
        return str(error)


def add_stats(parser: ArgumentParser) -> None:
    """Add the options of ``stats``."""
    add_shared(parser, "database", "json", "time", default="all runs")


def run_stats(project: Project, options: Namespace) -> None:
    """Show the size of the index and its runs."""
    with project.database() as database, working("Reading"):
        namespaces = read_namespaces(database, project.name)
        found = [(one, read_runs(one, selected(one, options))) for one in namespaces]
        shown = str(database)
        pages = file_size(project.settings.locate_pages())
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
    print_table(
        ("namespace", "stored items", "texts", "to restore", "runs", "last run (UTC)"),
        [
            (
                shortened(one.name, 60),
                one.size,
                decimal(one.text_bytes),
                decimal(one.item_bytes),
                len(runs),
                format_time(runs[0].opened if runs else None)[:16],
            )
            for one, runs in found
        ],
    )
    for one, runs in found[:1]:
        is_chosen = options.runs or options.since is not None
        shown_runs = runs if is_chosen else runs[:_NEWEST]
        _print_runs(shown_runs, f"Runs of {shortened(one.name)}")
        if len(shown_runs) < len(runs):
            print("Older runs: --since, with a run or a time")


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


def add_prune(parser: ArgumentParser) -> None:
    """Add the options of ``prune``."""
    add_shared(parser, "database")
    days = as_setting("SIMHASH_EXPIRE", positive)
    parser.add_argument("--older-than", metavar="DAYS", help="instead of SIMHASH_EXPIRE", **days)


def run_prune(project: Project, _: Namespace) -> None:
    """Delete stored items not seen for a long time."""
    if (days := project.settings.expire) is None:
        raise CommandError("--older-than DAYS or SIMHASH_EXPIRE is needed")
    with project.namespace() as namespace, working("Deleting"):
        index = project.settings.open_index(namespace.database, namespace.name)
        # First, so that the copies of what a dead crawl had claimed are orphans, and stay.
        Recovery(namespace.database).finish()
        before = namespace.database.now() - days * DAY
        count, drops = expire(index, before)
        delete_pages(project.settings.locate_pages(), before)
        left = len(index)
    print(
        f"{count:,} stored {plural(count, 'item')} and {drops:,} {plural(drops, 'duplicate')} "
        f"deleted, {left:,} stored {plural(left, 'item')} left"
    )


def add_reset(parser: ArgumentParser) -> None:
    """Add the options of ``reset``."""
    add_shared(parser, "database")
    parser.add_argument(
        "--url",
        metavar="PATTERN",
        help="only the items with such URLs; * stands for anything",
    )
    add_flag(parser, "--yes", "do not ask for confirmation")
    add_flag(parser, "--all", "delete all namespaces and tables, whatever version made them")


def run_reset(project: Project, options: Namespace) -> None:
    """Delete a namespace, or what is known of a part of a site."""
    if options.url is not None:
        _forget(project, options)
        return
    if options.all:
        url = project.settings.locate_database()
        _confirm(options, f"Delete everything in {shown_url(url)}?")
        drop_tables(url, project.settings.engine_options)
        delete_file(project.settings.locate_pages())
        print("Everything was deleted")
        return
    with project.namespace() as namespace:
        items = f"{namespace.size:,} stored {plural(namespace.size, 'item')}"
        where = f"{shortened(namespace.name)} in {namespace.database}"
        _confirm(options, f"Delete {items} of {where}?")
        with working("Deleting"):
            reset_namespace(namespace.database, namespace.name)
    print(f"{items} deleted")


def _forget(project: Project, options: Namespace) -> None:
    """Forget what was found at some URLs."""
    if options.all:
        raise CommandError("--url and --all exclude each other")
    if not options.url:
        raise CommandError("--url is empty: expected a URL, or a part of one with *")
    with project.namespace() as namespace:
        index = project.settings.open_index(namespace.database, namespace.name)
        with working("Searching"):
            # As above.
            Recovery(namespace.database).finish()
            claims = claims_at(index, options.url)
        found = f"{len(claims):,} {plural(len(claims), 'item')}"
        if claims:
            _confirm(options, f"Forget {found} of {shortened(namespace.name)}?")
            with working("Deleting"):
                forget_claims(index, claims)
    print(f"{found} forgotten")


def _confirm(options: Namespace, question: str) -> None:
    if options.yes:
        return
    if not sys.stdin.isatty():
        raise CommandError("use --yes where standard input is no terminal")
    try:
        answer = input(f"{question} [y/N] ")
    except EOFError:
        answer = ""
    if answer.strip().lower() not in {"y", "yes"}:
        raise CommandError("nothing was deleted")

"""``scrapy simhash show``: show everything known of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text
from scrapy import Request
from scrapy.utils.request import fingerprint as request_fingerprint

from scrapy_simhash import history
from scrapy_simhash.cli.arguments import add_database, add_json
from scrapy_simhash.cli.output import (
    facts_table,
    format_distance,
    format_time,
    marked_difference,
    open_console,
    print_json,
    text_changes,
)
from scrapy_simhash.index.batch import owner_of
from scrapy_simhash.report.visible import shortened
from scrapy_simhash.simhash.measure import similarity_at

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

    from scrapy_simhash.cli.project import Project

__all__ = ["add_arguments", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_database(parser)
    add_json(parser)
    parser.add_argument("url", metavar="URL", help="its URL, or its owner key")


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    url = options.url
    owners = {owner_of(url)}
    if url.startswith(("http://", "https://")):
        owners.add(owner_of(request_fingerprint(Request(url)).hex()))
    with project.namespace() as (database, namespace):
        page = history.pages(database, namespace, url, owners)
        if not page.claims and not page.drops:
            raise LookupError(f"nothing is known of {url} in the namespace {namespace.name!r}")
        wanted = {(claim.id, 0) for claim in page.claims}
        wanted |= {(drop.claim, number) for drop in page.drops for number in (0, drop.id)}
        kept = history.texts(database, namespace, wanted)
    known = {
        "url": url,
        "namespace": namespace.name,
        "versions": [
            {
                "claim": claim.id,
                "url": claim.url,
                "key": claim.key,
                "run": claim.run,
                "state": "confirmed" if claim.state else "pending",
                "fingerprint": bytes(claim.fingerprint).hex(),
                "features": claim.size,
                "nearest": claim.nearest,
                "created": claim.created,
                "seen": claim.seen,
                "text": kept.get((claim.id, 0)),
            }
            for claim in page.claims
        ],
        "duplicate_of": [
            {
                **drop._asdict(),
                "similarity": similarity_at(drop.distance, namespace.bits),
                "text_of_original": kept.get((drop.claim, 0)),
                "difference": text_changes(
                    kept.get((drop.claim, 0)), kept.get((drop.claim, drop.id))
                ),
            }
            for drop in page.drops
        ],
        "duplicates": [drop._asdict() for drop in page.duplicates],
        "duplicate_count": page.duplicate_count,
    }
    if options.json:
        print_json(known)
    else:
        _print_page(known, namespace.bits)


def _print_page(known: dict[str, Any], bits: int) -> None:
    console = open_console()
    for version in known["versions"]:
        facts = facts_table(f"Claim {version['claim']} ({version['state']})")
        for name in ("url", "key", "fingerprint", "features"):
            facts.add_row(name, Text(shortened(str(version[name]))))
        facts.add_row("run", str(version["run"]))
        facts.add_row("made", format_time(version["created"]))
        facts.add_row("met again", format_time(version["seen"]))
        facts.add_row("nearest other", format_distance(version["nearest"], bits))
        if version["text"]:
            facts.add_row("text", Text(shortened(version["text"])))
        console.print(facts)
    for drop in known["duplicate_of"]:
        met = f"run {drop['run']}, {format_time(drop['created'])}"
        facts = facts_table(f"Near-duplicate in {met}: {drop['action']}")
        facts.add_row("of", Text(shortened(drop["original"] or "a claim that is gone")))
        facts.add_row("distance", format_distance(drop["distance"], bits))
        if drop["orphaned"]:
            facts.add_row("orphan", "that claim was released; `restore --orphans` gives it back")
        console.print(facts)
        if drop["difference"] is not None:
            console.print(marked_difference(drop["text_of_original"], drop["difference"]))
    duplicates = known["duplicates"]
    if duplicates:
        table = Table("near-duplicate", "distance", "run", "met", title="Its own near-duplicates")
        for drop in duplicates:
            table.add_row(
                Text(shortened(drop["url"])),
                str(drop["distance"]),
                str(drop["run"]),
                format_time(drop["created"]),
            )
        console.print(table)
        if known["duplicate_count"] > len(duplicates):
            console.print(f"The newest {len(duplicates)} of {known['duplicate_count']:,}.")

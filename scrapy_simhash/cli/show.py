"""``scrapy simhash show``: show everything stored about a page."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text
from scrapy import Request
from scrapy.utils.request import fingerprint as request_fingerprint
from sqlalchemy import Row

from scrapy_simhash.cli.arguments import add_database, add_json
from scrapy_simhash.cli.output import (
    facts_table,
    format_distance,
    format_similarity,
    marked_difference,
    open_console,
    print_json,
    text_changes,
)
from scrapy_simhash.cli.project import Project
from scrapy_simhash.history.drops import SAME, Drop
from scrapy_simhash.history.namespaces import NotFound
from scrapy_simhash.history.pages import read_page, read_texts, read_urls
from scrapy_simhash.history.query import NamespaceRow, quality_of
from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.learned import read_learned
from scrapy_simhash.index.verdict import group_name
from scrapy_simhash.item.quality import Criterion, better_by
from scrapy_simhash.item.urls import host_of
from scrapy_simhash.report.verdict import ACTIONS, in_words
from scrapy_simhash.visible import format_time, plural, shortened

_PENDING = " (pending: not known to be stored yet)"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
    parser.add_argument("url", metavar="URL", help="its URL, or its identity key")


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    url = options.url
    identities, criteria = {identity_hash(url)}, project.settings.prefer
    if url.startswith(("http://", "https://")):
        identities.add(identity_hash(request_fingerprint(Request(url)).hex()))
    with project.namespace() as (database, namespace):
        page = read_page(database, namespace, url, identities)
        if not page.claims and not page.drops:
            raise NotFound(f"nothing is stored about {url} in {namespace.name!r}")
        wanted = {(claim.id, 0) for claim in page.claims}
        wanted |= {(drop.claim, number) for drop in page.drops for number in (0, drop.id)}
        texts = read_texts(database, namespace, wanted)
        beside = {(claim.beside, 0) for claim in page.claims if claim.beside is not None}
        others = read_urls(database, namespace, beside)
        hosts = {host_of(one) for one in (url, *(drop.url for drop in page.drops))}
        learned = [one for one in read_learned(database, namespace.id) if one.host in hosts]
    duplicate_of = [
        {
            **_duplicate(namespace, drop, criteria),
            "text_of_original": (original := texts.get((drop.claim, 0))),
            "difference": text_changes(original, texts.get((drop.claim, drop.id))),
        }
        for drop in page.drops
    ]
    figures = {
        "url": url,
        "namespace": namespace.name,
        "versions": [_version(claim, texts, others) for claim in page.claims],
        "duplicate_of": duplicate_of,
        "duplicates": [_duplicate(namespace, drop, criteria) for drop in page.duplicates],
        "duplicate_count": page.duplicate_count,
        "learned": [str(one) for one in learned],
    }
    if options.json:
        print_json(figures)
        return
    for version in figures["versions"]:
        _print_version(version, namespace.bits)
    for drop in figures["duplicate_of"]:
        _print_drop(drop)
    if figures["duplicates"]:
        _print_duplicates(figures["duplicates"], figures["duplicate_count"])
    for text in figures["learned"]:
        print(text)


def _version(
    claim: Row[Any],
    texts: Mapping[tuple[int, int], str],
    others: Mapping[tuple[int, int], str],
) -> dict[str, Any]:
    """A stored version of the page."""
    names = ("url", "key", "run", "nearest", "differs", "created", "seen")
    return {
        "claim": str(claim.id),
        **{name: getattr(claim, name) for name in names},
        "group": group_name(claim.namespace, claim.origin),
        "state": "confirmed" if claim.state else "pending",
        "fingerprint": bytes(claim.fingerprint).hex(),
        "features": claim.size,
        "beside": None if claim.beside is None else str(claim.beside),
        "beside_url": others.get((claim.beside, 0)),
        "text": texts.get((claim.id, 0)),
    }


def _duplicate(
    namespace: NamespaceRow, drop: Drop, criteria: Sequence[Criterion]
) -> dict[str, Any]:
    """A duplicate."""
    fields = drop._asdict()
    key, quality, origin = (
        fields.pop(name) for name in ("original_key", "original_quality", "origin")
    )
    mine = quality_of(fields.pop("quality"), drop.key, drop.url)
    group = by = None
    if origin is not None:
        group = group_name(namespace.id, origin)
        by = better_by(criteria, mine, quality_of(quality, key, drop.original or ""))
    # JavaScript and jq round numbers of 63 bits.
    numbers = {"id": str(drop.id), "claim": str(drop.claim)}
    return {**fields, **numbers, "group": group, "better_by": by}


def _print_version(version: Mapping[str, Any], bits: int) -> None:
    pending = _PENDING if version["state"] == "pending" else ""
    facts = facts_table(f"Stored item {version['claim']}{pending}")
    for name in ("url", "key", "group", "fingerprint", "features"):
        facts.add_row(name, Text(shortened(str(version[name]))))
    facts.add_row("run", str(version["run"]))
    facts.add_row("stored (UTC)", format_time(version["created"]))
    facts.add_row("last seen (UTC)", format_time(version["seen"]))
    if version["differs"] is not None:
        other = shortened(version["beside_url"] or "an item that was deleted")
        reason = in_words(version["differs"])
        facts.add_row("similar to", Text(f"{other}, kept because {reason}"))
    if version["nearest"] is not None:
        facts.add_row("nearest other", format_distance(version["nearest"], bits))
    if version["text"]:
        facts.add_row("text", Text(shortened(version["text"])))
    open_console().print(facts)


def _print_drop(drop: Mapping[str, Any]) -> None:
    console = open_console()
    seen = f"run {drop['run']} at {format_time(drop['created'])} UTC"
    is_unchanged = drop["action"] == SAME
    action = ACTIONS.get(drop["action"]) or shortened(drop["action"], 40)
    what = action.capitalize() if is_unchanged else f"Near-duplicate, {action},"
    facts = facts_table(f"{what} in {seen}")
    original = Text(shortened(drop["original"] or "an item that was deleted"))
    facts.add_row("earlier version" if is_unchanged else "original", original)
    apart = f"{drop['distance']} {plural(drop['distance'], 'bit')}"
    facts.add_row("similarity", f"{_similarity(drop)} ({apart} apart)")
    if drop["better_by"]:
        facts.add_row("better", f"by {drop['better_by']}; see `restore --better`")
    facts.add_row("number", f"{drop['id']}, for `restore --id`")
    if drop["orphaned"]:
        facts.add_row("orphan", "its original was not stored in the end; see `restore --orphans`")
    console.print(facts)
    if drop["difference"] is not None:
        console.print(marked_difference(drop["text_of_original"], drop["difference"]))
        console.print()


def _print_duplicates(duplicates: Sequence[Mapping[str, Any]], count: int) -> None:
    console = open_console()
    table = Table(
        "near-duplicate", "similarity", "run", "seen (UTC)", title="Near-duplicates of this page"
    )
    for drop in duplicates:
        table.add_row(
            Text(shortened(drop["url"])),
            _similarity(drop),
            str(drop["run"]),
            format_time(drop["created"]),
        )
    console.print(table)
    if count > len(duplicates):
        console.print(f"These are the newest {len(duplicates)} of {count:,}.")


def _similarity(drop: Mapping[str, Any]) -> str:
    return format_similarity(drop["similarity"], estimated=drop["estimated"])

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

from scrapy_simhash.cli import output
from scrapy_simhash.cli.arguments import add_database, add_json
from scrapy_simhash.cli.drops import action_of, described, in_lines
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import Project
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import NotFound
from scrapy_simhash.history.namespaces import choose_namespace, read_namespaces
from scrapy_simhash.history.pairs import Pair, find_addresses, read_page, read_texts, with_values
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.verdict import group_name
from scrapy_simhash.visible import format_time, shortened

# Addresses that are listed if several contain what was given.
_ADDRESSES = 30

# What is known of a page, and lines of its decisions and of its duplicates.
_Page = tuple[dict[str, Any], list[str], list[str]]

_PENDING = " (pending: not known to be stored yet)"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
    parser.add_argument("url", metavar="URL", help="its URL, a part of it, or its identity key")


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.database() as database, output.working("Searching"):
        named = None if project.name is None else choose_namespace(database, project.name)
        namespaces = read_namespaces(database) if named is None else [named]
        pages = _pages(project, database, namespaces, options.url)
        addresses: list[tuple[str, str]] = []
        if not pages:
            addresses = find_addresses(database, namespaces, options.url, limit=_ADDRESSES + 1)
            if len({url for _, url in addresses}) == 1:
                pages = _pages(project, database, namespaces, addresses[0][1])
    if not pages and not addresses:
        where = f"in {project.name!r}" if project.name else f"in {database}"
        raise NotFound(f"nothing is stored about {options.url} {where}")
    if options.json:
        for known, *_ in pages:
            print_json(known)
        if not pages:
            print_json({"addresses": [url for _, url in addresses[:_ADDRESSES]]})
        return
    for page in pages:
        _print_page(*page)
    if not pages:
        _print_addresses(addresses)


def _pages(
    project: Project, database: Database, namespaces: Sequence[NamespaceRow], url: str
) -> list[_Page]:
    """What each namespace has about a page."""
    identities = {identity_hash(url)}
    if url.startswith(("http://", "https://")):
        identities.add(identity_hash(request_fingerprint(Request(url)).hex()))
    found = []
    for namespace in namespaces:
        page = read_page(database, namespace, url, identities)
        if page.claims or page.decisions:
            both = (page.decisions, page.duplicates)
            decisions, duplicates = (
                [*with_values(database, namespace, pairs, project.settings.scheme)]
                for pairs in both
            )
            known = {
                "url": url,
                "namespace": namespace.name,
                "bits": namespace.bits,
                "versions": _versions(database, namespace, page.claims),
                "decisions": _decisions(database, namespace, decisions),
                "duplicates": [described(pair, namespace) for pair in duplicates],
                "duplicate_count": page.duplicate_count,
            }
            found.append((known, [*in_lines(decisions)], [*in_lines(duplicates)]))
    return found


def _versions(
    database: Database, namespace: NamespaceRow, claims: Sequence[Row[Any]]
) -> list[dict[str, Any]]:
    """The stored versions of the page."""
    texts = read_texts(database, namespace, {(claim.id, 0) for claim in claims})
    return [
        {
            "claim": str(claim.id),
            **{name: getattr(claim, name) for name in ("url", "key", "run", "created", "seen")},
            "group": group_name(namespace.id, claim.origin),
            "state": "confirmed" if claim.state else "pending",
            "fingerprint": bytes(claim.fingerprint).hex(),
            "features": claim.size,
            "nearest": claim.nearest,
            "text": texts.get((claim.id, 0)),
        }
        for claim in claims
    ]


def _decisions(
    database: Database, namespace: NamespaceRow, pairs: Sequence[Pair]
) -> list[dict[str, Any]]:
    """What was dropped, or kept although it is similar, with the difference of both texts."""
    texts = read_texts(database, namespace, {place for pair in pairs for place in pair.places})
    found = []
    for pair in pairs:
        new, old = map(texts.get, pair.places)
        difference = {"text_of_original": old, "difference": output.text_changes(old, new)}
        found.append({**described(pair, namespace), **difference})
    return found


def _print_page(page: Mapping[str, Any], lines: Sequence[str], others: Sequence[str]) -> None:
    for version in page["versions"]:
        rows = {"namespace": shortened(page["namespace"])}
        for name in ("url", "key", "group", "fingerprint", "features", "run"):
            rows[name] = shortened(str(version[name]))
        rows["stored (UTC)"] = format_time(version["created"])
        rows["last seen (UTC)"] = format_time(version["seen"])
        if version["nearest"] is not None:
            rows["nearest other"] = output.format_distance(version["nearest"], page["bits"])
        if version["text"]:
            rows["text"] = shortened(version["text"])
        pending = "" if version["state"] == "confirmed" else _PENDING
        output.print_facts(rows, f"Stored item {version['claim']}{pending}")
    console = output.open_console()
    for pair, line in zip(page["decisions"], lines, strict=True):
        number = f", number {pair['id']} for `restore --id`" if pair["id"] else ""
        action = action_of(pair["action"]).capitalize()
        print(f"{action} in run {pair['run']}, {pair['created']}{number}:\n{line}\n")
        console.print(output.marked_difference(pair["text_of_original"], pair["difference"]))
        console.print()
    if others:
        print(f"The newest {len(others)} of {page['duplicate_count']:,} near-duplicates of it:")
        print("\n".join(others))


def _print_addresses(found: Sequence[tuple[str, str]]) -> None:
    table = Table("namespace", title="Several addresses contain it", title_justify="left")
    table.add_column("address", overflow="fold")
    for namespace, url in found[:_ADDRESSES]:
        table.add_row(Text(shortened(namespace)), Text(shortened(url)))
    console = output.open_console()
    console.print(table)
    if len(found) > _ADDRESSES:
        console.print(f"These are the first {_ADDRESSES}; name more of the address.")

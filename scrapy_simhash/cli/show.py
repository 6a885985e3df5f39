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
    VALUE,
    format_distance,
    format_similarity,
    in_values,
    marked_difference,
    open_console,
    print_facts,
    text_changes,
    working,
)
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import Project
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import NotFound
from scrapy_simhash.history.fields import differing
from scrapy_simhash.history.namespaces import choose_namespace, read_namespaces
from scrapy_simhash.history.pages import (
    NOTHING,
    Content,
    PageHistory,
    find_addresses,
    read_contents,
    read_page,
)
from scrapy_simhash.history.pairs import SAME, Pair, Place
from scrapy_simhash.history.query import NamespaceRow, quality_of
from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.verdict import group_name
from scrapy_simhash.item.quality import Criterion, better_by
from scrapy_simhash.report.verdict import ACTIONS, in_words
from scrapy_simhash.visible import format_time, plural, shortened

# Addresses that are listed if several contain what was given.
_ADDRESSES = 30

# What is printed as JSON of a duplicate, in this order.
_OF_DROP = (
    *("id", "run", "created", "url", "key", "claim", "distance", "similarity", "estimated"),
    *("action", "orphaned", "original", "first_seen"),
)

_PENDING = " (pending: not known to be stored yet)"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
    parser.add_argument("url", metavar="URL", help="its URL, a part of it, or its identity key")


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.database() as database, working("Searching"):
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
        for page in pages:
            print_json(page)
        if not pages:
            print_json({"addresses": [url for _, url in addresses[:_ADDRESSES]]})
        return
    for page in pages:
        _print_page(page)
    if not pages:
        _print_addresses(addresses)


def _pages(
    project: Project, database: Database, namespaces: Sequence[NamespaceRow], url: str
) -> list[dict[str, Any]]:
    """What each namespace has about a page."""
    identities = {identity_hash(url)}
    if url.startswith(("http://", "https://")):
        identities.add(identity_hash(request_fingerprint(Request(url)).hex()))
    found = []
    for namespace in namespaces:
        page = read_page(database, namespace, url, identities)
        if page.claims or page.drops:
            found.append(_figures(database, namespace, url, page, project.settings.prefer))
    return found


def _figures(
    database: Database,
    namespace: NamespaceRow,
    url: str,
    page: PageHistory,
    criteria: Sequence[Criterion],
) -> dict[str, Any]:
    wanted = {(claim.id, 0) for claim in page.claims}
    wanted |= {place for drop in page.drops for place in drop.places}
    beside = {(claim.beside, 0) for claim in page.claims if claim.beside is not None}
    kept = read_contents(database, namespace, wanted | beside)
    return {
        "url": url,
        "namespace": namespace.name,
        "bits": namespace.bits,
        "versions": [_version(claim, kept) for claim in page.claims],
        "duplicate_of": [
            _duplicate(namespace, drop, criteria)
            | _compared(*(kept.get(place, NOTHING) for place in drop.places))
            for drop in page.drops
        ],
        "duplicates": [_duplicate(namespace, drop, criteria) for drop in page.duplicates],
        "duplicate_count": page.duplicate_count,
    }


def _compared(mine: Content, theirs: Content) -> dict[str, Any]:
    """What differs between a duplicate and its original."""
    # An item that is compared as a whole has an empty text.
    original, text = theirs.text or None, mine.text or None
    return {
        "fields": differing(mine.values, theirs.values),
        "text_of_original": original,
        "difference": text_changes(original, text),
    }


def _version(claim: Row[Any], kept: Mapping[Place, Content]) -> dict[str, Any]:
    """A stored version of the page."""
    mine, theirs = (kept.get((one, 0), NOTHING) for one in (claim.id, claim.beside))
    names = ("url", "key", "run", "nearest", "differs", "created", "seen")
    return {
        "claim": str(claim.id),
        **{name: getattr(claim, name) for name in names},
        "group": group_name(claim.namespace, claim.origin),
        "state": "confirmed" if claim.state else "pending",
        "fingerprint": bytes(claim.fingerprint).hex(),
        "features": claim.size,
        "beside": None if claim.beside is None else str(claim.beside),
        "beside_url": claim.beside_url,
        "fields": differing(mine.values, theirs.values, claim.differs),
        "text": mine.text or None,
    }


def _duplicate(
    namespace: NamespaceRow, drop: Pair, criteria: Sequence[Criterion]
) -> dict[str, Any]:
    """A duplicate."""
    fields = {name: getattr(drop, name) for name in _OF_DROP}
    group = by = None
    if drop.origin is not None:
        group = group_name(namespace.id, drop.origin)
        stored = quality_of(drop.original_quality, drop.original_key, drop.original)
        by = better_by(criteria, quality_of(drop.quality, drop.key, drop.url), stored)
    # JavaScript and jq round numbers of 63 bits.
    numbers = {"id": str(drop.id), "claim": str(drop.claim)}
    return {**fields, **numbers, "group": group, "better_by": by}


def _print_page(page: Mapping[str, Any]) -> None:
    for version in page["versions"]:
        _print_version(version, page["namespace"], page["bits"])
    for drop in page["duplicate_of"]:
        _print_drop(drop, page["namespace"])
    if page["duplicates"]:
        _print_duplicates(page["duplicates"], page["duplicate_count"])


def _print_addresses(found: Sequence[tuple[str, str]]) -> None:
    table = Table("namespace", title="Several addresses contain it", title_justify="left")
    table.add_column("address", overflow="fold")
    for namespace, url in found[:_ADDRESSES]:
        table.add_row(Text(shortened(namespace)), Text(shortened(url)))
    console = open_console()
    console.print(table)
    if len(found) > _ADDRESSES:
        console.print(f"These are the first {_ADDRESSES}; name more of the address.")


def _print_version(version: Mapping[str, Any], namespace: str, bits: int) -> None:
    rows = {"namespace": shortened(namespace)}
    for name in ("url", "key", "group", "fingerprint", "features", "run"):
        rows[name] = shortened(str(version[name]))
    rows["stored (UTC)"] = format_time(version["created"])
    rows["last seen (UTC)"] = format_time(version["seen"])
    if version["differs"] is not None:
        other = shortened(version["beside_url"] or "an item that was deleted")
        rows["similar to"] = f"{other}, kept because {in_words(version['differs'])}"
    rows |= _values(version["fields"])
    if version["nearest"] is not None:
        rows["nearest other"] = format_distance(version["nearest"], bits)
    if version["text"]:
        rows["text"] = shortened(version["text"])
    pending = _PENDING if version["state"] == "pending" else ""
    print_facts(rows, f"Stored item {version['claim']}{pending}")


def _values(fields: Mapping[str, tuple[str | None, str | None]]) -> dict[str, str]:
    """Rows with the values of both sides."""
    return {
        f"its {shortened(name, VALUE)}, and here": in_values(*both) for name, both in fields.items()
    }


def _print_drop(drop: Mapping[str, Any], namespace: str) -> None:
    is_unchanged = drop["action"] == SAME
    action = ACTIONS.get(drop["action"]) or shortened(drop["action"], 40)
    what = action.capitalize() if is_unchanged else f"Near-duplicate, {action},"
    apart = f"{drop['distance']} {plural(drop['distance'], 'bit')}"
    by, is_orphan = drop["better_by"], drop["orphaned"]
    rows = {
        "namespace": shortened(namespace),
        "earlier version" if is_unchanged else "original": shortened(
            drop["original"] or "an item that was deleted"
        ),
        "similarity": f"{_similarity(drop)} ({apart} apart)",
        **_values(drop["fields"]),
        "better": f"by {by}; see `restore --better`" if by else None,
        "number": f"{drop['id']}, for `restore --id`",
        "orphan": "its original was not stored in the end; see `restore --orphans`"
        if is_orphan
        else None,
    }
    print_facts(rows, f"{what} in run {drop['run']} at {format_time(drop['created'])} UTC")
    if drop["difference"] is not None:
        console = open_console()
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

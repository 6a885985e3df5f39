"""``scrapy simhash show``: show everything stored about a page."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from scrapy import Request
from scrapy.utils.request import fingerprint as request_fingerprint
from sqlalchemy import Row

from scrapy_simhash.cli import output
from scrapy_simhash.cli.arguments import add_shared
from scrapy_simhash.cli.printing import print_lines
from scrapy_simhash.cli.project import Project, selected
from scrapy_simhash.exceptions import NotFound
from scrapy_simhash.history.page import PageHistory, find_addresses, read_page
from scrapy_simhash.history.sql import NamespaceRow, Selection, read_namespaces
from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.verdict import group_name
from scrapy_simhash.item.keys import untracked
from scrapy_simhash.report.difference import difference
from scrapy_simhash.visible import format_time, iso_time, without_passwords

# Addresses that are listed if several contain what was given.
_ADDRESSES = 30

# With the URL.
_Page = tuple[str, NamespaceRow, PageHistory]


def add_show(parser: ArgumentParser) -> None:
    """Add the options of ``show``."""
    add_shared(parser, "database", "json", "time", "site", default="everything")
    parser.add_argument(
        "url",
        metavar="URL",
        help="its URL, the end of its path, a part of it (*** stands for anything), or its "
        "identity key",
    )


def run_show(project: Project, options: Namespace) -> None:
    """Show everything stored about a page."""
    with project.database() as database, output.working("Searching"):
        namespaces = read_namespaces(database, project.name)
        addresses: list[tuple[str, str]] = []
        if not (pages := _pages(project, namespaces, options.url, options)):
            found = find_addresses(namespaces, options.url, limit=_ADDRESSES + 1)
            site = Selection(site=options.site or "")
            addresses = [one for one in found if site.has(one[1])]
            urls = {address for _, address in addresses}
            # Those that differ in a password alone look the same wherever they are shown.
            if len(set(map(without_passwords, urls))) == 1:
                pages = [page for url in urls for page in _pages(project, namespaces, url, options)]
                addresses = []
    if not (pages or addresses):
        where = f"in {project.name!r}" if project.name else f"in {database}"
        raise NotFound(f"nothing is stored about {options.url} {where}")
    if options.json:
        print_lines(_figures(*page) for page in pages)
        print_lines({"namespace": name, "url": url} for name, url in addresses[:_ADDRESSES])
        return
    for _, namespace, page in pages:
        _print_page(namespace, page)
    if addresses:
        title = "Several URLs fit"
        output.print_table(("namespace", "URL"), addresses[:_ADDRESSES], title)
        if len(addresses) > _ADDRESSES:
            print(f"These are the first {_ADDRESSES}; name more of the URL.")


def _pages(
    project: Project, namespaces: Sequence[NamespaceRow], url: str, options: Namespace
) -> list[_Page]:
    """What each namespace has about a page."""
    plain = untracked(url)
    identities = {identity_hash(url), identity_hash(plain)}
    if url.startswith(("http://", "https://")):
        identities.add(identity_hash(request_fingerprint(Request(plain)).hex()))
    scheme = project.settings.scheme
    found = [
        (url, one, read_page(one, url, identities, selected(one, options), scheme))
        for one in namespaces
    ]
    return [one for one in found if any(one[2][:4])]


def _figures(url: str, namespace: NamespaceRow, page: PageHistory) -> dict[str, Any]:
    return {
        "url": url,
        "namespace": namespace.name,
        "bits": namespace.bits,
        "versions": [_version(namespace, page, claim) for claim in page.claims],
        "changes": [one.as_json() for one in page.changes],
        "decisions": [one.as_json() | output.compared_texts(one) for one in page.decisions],
        "duplicates": [one.as_json() for one in page.duplicates],
        "duplicate_count": page.duplicate_count,
    }


def _version(namespace: NamespaceRow, page: PageHistory, claim: Row[Any]) -> dict[str, Any]:
    """A stored version of the page."""
    return {
        "claim": str(claim.id),
        **{name: getattr(claim, name) for name in ("url", "key", "run", "created", "seen")},
        "group": group_name(namespace.id, claim.origin),
        "state": "confirmed" if claim.state else "pending",
        "fingerprint": bytes(claim.fingerprint).hex(),
        "features": claim.size,
        "nearest": claim.nearest,
        "text": page.texts.get(claim.id),
    }


def _print_page(namespace: NamespaceRow, page: PageHistory) -> None:
    output.print_groups(output.by_visit(page.changes))
    for claim in page.claims:
        version = _version(namespace, page, claim)
        names = ("url", "key", "group", "fingerprint", "features", "run")
        facts = {"namespace": namespace.name, **{name: str(version[name]) for name in names}}
        facts["stored (UTC)"] = format_time(claim.created)
        facts["last seen (UTC)"] = format_time(claim.seen)
        if claim.nearest is not None:
            facts["nearest other"] = output.format_distance(claim.nearest, namespace.bits)
        facts["text"] = version["text"]
        pending = "" if claim.state else " (not known to be stored yet)"
        output.print_facts(facts, f"Stored item {claim.id}{pending}")
    console = output.open_console()
    for one in page.decisions:
        number = f", id {one.id} for `restore --id`" if one.id else ""
        print(f"{one.status.capitalize()} in run {one.run}, {iso_time(one.created)}{number}:")
        output.print_groups(output.by_original([one]))
        print()
        texts = difference(one.stored.text, one.own.text)
        console.print(output.marked_difference(*texts), "")
    if page.duplicates:
        shown = len(page.duplicates)
        print(f"The newest {shown} of {page.duplicate_count:,} near-duplicates of it:")
        output.print_groups(output.by_original(page.duplicates))

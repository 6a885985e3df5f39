"""``scrapy simhash restore``: write dropped items as JSON Lines, and note that they are stored."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from itemadapter import ItemAdapter
from scrapy import Spider, signals
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.misc import load_object

from scrapy_simhash.cli.arguments import add_flag, add_output, add_shared, item_id
from scrapy_simhash.cli.output import lines_to, working
from scrapy_simhash.cli.printing import json_line, without_secrets
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.crawl.components import SimhashPipeline
from scrapy_simhash.crawl.quarantine import unpack
from scrapy_simhash.crawl.scrapy_internals import is_replaced
from scrapy_simhash.history.decisions import choose_drops, count_unlisted, read_items
from scrapy_simhash.history.record import Record
from scrapy_simhash.history.sql import NamespaceRow, read_namespaces
from scrapy_simhash.index.recovery import Recovery
from scrapy_simhash.index.upkeep import store_restored
from scrapy_simhash.simhash.scheme import keyed
from scrapy_simhash.visible import plural

# The numbers of dropped items, by their namespaces.
_Chosen = Sequence[tuple[NamespaceRow, Sequence[int]]]
# Dropped items: the record of each, its fields, and the path of its class.
_Found = Iterable[tuple[Record, dict[str, Any], str]]


def add_restore(parser: ArgumentParser) -> None:
    """Add the options of ``restore``."""
    add_shared(parser, "database", "time", "site", default="everything")
    sinks = parser.add_mutually_exclusive_group()
    add_output(sinks, "write to a new FILE, not to standard output")
    sinks.add_argument(
        "--pipelines",
        metavar="SPIDER",
        help="send the items through the item pipelines and feeds of a spider instead",
    )
    add_flag(parser, "--orphans", "only items whose original was not stored after all")
    parser.add_argument(
        "--id",
        type=item_id,
        action="append",
        metavar="ID",
        help="only the item with this id in the report, `show` or `drops --json` (may be repeated)",
    )
    add_flag(parser, "--with-original", "write each item together with what it was a copy of")


def run_restore(project: Project, options: Namespace) -> None:
    """Write dropped items, or send them through the pipelines of a spider."""
    if options.id:
        with project.database() as database:
            namespaces = read_namespaces(database, project.name)
            of_ids = [
                (one, [number for place, number in options.id if place == one.id])
                for one in namespaces
            ]
            _check_ids(of_ids, options)
            _restore(project, of_ids, options, Counter())
        return
    with project.selections(options) as selected:
        chosen, rest = list[tuple[NamespaceRow, Sequence[int]]](), Counter[str]()
        for namespace, selection in selected:
            if options.orphans:
                # The copies of what a dead crawl had claimed are orphans from then on.
                Recovery(namespace.database).finish()
            numbers, others = choose_drops(namespace, selection, orphans=options.orphans)
            chosen.append((namespace, numbers))
            if not options.orphans:
                rest += others
                rest["stored by an earlier crawl"] += count_unlisted(namespace, selection)
        _restore(project, chosen, options, rest)


def _check_ids(chosen: _Chosen, options: Namespace) -> None:
    known = {drop.id for one, numbers in chosen for drop, *_ in read_items(one, numbers)}
    ids = ("-".join(map(str, one)) for one in options.id)
    if unknown := ", ".join(one for one in ids if one not in known):
        raise CommandError(
            f"no dropped item has the id {unknown}; `scrapy simhash drops --json` lists them"
        )


def _restore(project: Project, chosen: _Chosen, options: Namespace, rest: Counter[str]) -> None:
    """Write items, and note that they are stored, so that no crawl drops them again."""
    counts: Counter[str] = Counter()
    found = _items(chosen, counts)
    if options.pipelines is None:
        stored = _write(found, options)
    else:
        stored = resend(project.scrapy, options.pipelines, found)
        counts["refused"] = counts["found"] - len(stored)
    counts["written"] = len(stored)
    for namespace, _ in chosen:
        scheme = keyed(project.settings.scheme, namespace.database.secret)
        is_own = scheme.id == namespace.scheme
        numbers = [number for place, number in map(item_id, stored) if place == namespace.id]
        store_restored(
            *(namespace.database, namespace.id, numbers),
            bits=namespace.bits,
            scheme=scheme if is_own else None,
        )
    _print(counts, rest)


def _items(chosen: _Chosen, counts: Counter[str]) -> _Found:
    """The items that are kept; others are counted."""
    for namespace, numbers in chosen:
        for record, item, kind in read_items(namespace, numbers):
            if item is None:
                counts["gone"] += 1
                continue
            try:
                fields = unpack(bytes(item))
            except ValueError:
                counts["damaged"] += 1
                continue
            counts["found"] += 1
            counts["incomplete"] += kind.endswith("(incomplete)")
            yield record, fields, kind


def _write(found: _Found, options: Namespace) -> list[str]:
    """Write items as JSON Lines; returns their ids."""
    written = []
    with lines_to(options.output) as stream, working("Restoring"):
        for record, fields, _ in found:
            # What was dropped is returned as it was.
            told = without_secrets(record.as_json()) if options.with_original else {}
            stream.write(json_line({**told, "item": fields} if told else fields))
            written.append(str(record.id))
        stream.flush()
    return written


def _print(counts: Counter[str], rest: Counter[str]) -> None:
    shown = {name: f"{count:,} {plural(count, 'item')}" for name, count in counts.items() if count}
    others = ", ".join(f"{count:,} {name}" for name, count in rest.items() if count)
    total = rest.total() + counts["written"] + counts["gone"] + counts["damaged"]
    of_all = f" of {total:,}; the others: {others}" if others else ""
    print(f"{shown.get('written', '0 items')} restored{of_all}", file=sys.stderr)
    if "gone" in shown:
        print(f"Not kept (SIMHASH_QUARANTINE), or never made: {shown['gone']}", file=sys.stderr)
    if "refused" in shown:
        print(f"Dropped by an item pipeline, or failed there: {shown['refused']}", file=sys.stderr)
    if "incomplete" in shown:
        print(f"Without values that could not be kept: {shown['incomplete']}", file=sys.stderr)
    if "damaged" in shown:
        raise CommandError(f"{shown['damaged']} can't be read: the database is damaged")


def resend(settings: Settings, name: str, found: _Found) -> list[str]:
    """Let a spider yield items, in place of a crawl; returns the ids of those that were stored."""
    try:
        spidercls: Any = get_spider_loader(settings).load(name)
    except KeyError as error:
        raise CommandError(f"there is no spider {name!r}") from error
    sent, refused = list[tuple[str, Any]](), set[int]()

    class Resending(spidercls):  # type: ignore[misc]
        async def start(self) -> AsyncIterator[Any]:
            for record, fields, kind in found:
                item = _item(fields, kind)
                sent.append((str(record.id), item))
                yield item

    own = settings.copy()
    # Of a higher priority than the settings of the spider: nothing may drop the items again.
    own.setdict({"SIMHASH_ENABLED": False, "JOBDIR": None}, priority="cmdline")
    process = CrawlerProcess(own)
    crawler = process.create_crawler(Resending)
    _check_stores(crawler)

    def refuse(item: Any, spider: Spider) -> None:
        refused.add(id(item))

    for signal in (signals.item_dropped, signals.item_error):
        crawler.signals.connect(refuse, signal)
    process.crawl(crawler)
    process.start()
    stats = crawler.stats.get_stats() if crawler.stats else {}
    is_lost = any(str(key).startswith("feedexport/failed_count") for key in stats)
    if process.bootstrap_failed or is_lost or stats.get("finish_reason") != "finished":
        raise CommandError("the items were not stored; see the log above")
    return [number for number, item in sent if id(item) not in refused]


def _check_stores(crawler: Crawler) -> None:
    """Raise CommandError if nothing stores the items, or a feed would replace an older one."""
    feeds = {str(uri): given for uri, given in crawler.settings.getdict("FEEDS").items()}
    if replaced := [uri for uri, given in feeds.items() if is_replaced(uri, given)]:
        raise CommandError(
            f"the feed {replaced[0]} would be replaced by the restored items alone; write them "
            "to a file with -o"
        )
    pipelines = crawler.settings.getwithbase("ITEM_PIPELINES")
    others = {load_object(one) for one, place in pipelines.items() if place is not None}
    if not feeds and others <= {SimhashPipeline}:
        raise CommandError("nothing would store the items: the spider has no pipeline and no feed")


def _item(fields: dict[str, Any], kind: str) -> Any:
    """An item of its own class, if the project has loaded that; else a dict."""
    module, _, name = kind.rpartition(".")
    cls = getattr(sys.modules.get(module), name, None)
    if not isinstance(cls, type) or not ItemAdapter.is_item_class(cls):
        return fields
    try:
        return cls(**fields)
    except (KeyError, TypeError):  # its fields are others now
        return fields

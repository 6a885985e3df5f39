"""What to change, so that fewer copies are crawled and fewer items change."""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from scrapy_simhash.history.advice import Pattern, SettingAdvice
from scrapy_simhash.history.record import Record
from scrapy_simhash.index.verdict import OF_TEXT
from scrapy_simhash.item.facts import PAGE, REST_OF_ITEM
from scrapy_simhash.item.irrelevant import LEAST, Example
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.urls import host_of
from scrapy_simhash.report.causes import LONGEST_NAME, cause_of, is_view
from scrapy_simhash.report.data import ReportData
from scrapy_simhash.visible import plural, shortened

_TEXTS = {OF_TEXT, REST_OF_ITEM}
# Marks of the names of fields that tell which item it is.
_TELLING = ("code", "dated", "price", "serial", "title")
# Fields that change most items are advised from so many changes on.
_LEAST_CHANGES = 10
# A field is advised if it changes this share of the changed items.
_LEAST_SHARE = 0.25


def steps(data: ReportData) -> Iterator[SettingAdvice]:
    """What to change, the most important first."""
    yield from data.advice
    advised = {name for advice in data.advice for name in advice.fields}
    changes = [one for one in data.changes if one.status == "changed"]
    duplicates = data.duplicates
    noise = [*find_noise(changes, advised)]
    yield from noise if len(changes) > len(duplicates) else []
    if data.counts:
        yield from _repeating(data)
    yield from _avoidable(duplicates, data.patterns, data.unruled)
    yield from noise if len(changes) <= len(duplicates) else []


def find_noise(changes: Iterable[Record], advised: Collection[str] = ()) -> Iterator[SettingAdvice]:
    """Fields that alone or together change most items, unless they tell what these are."""
    together, examples = Counter[frozenset[str]](), dict[frozenset[str], Example]()
    for one in changes:
        values = {name: (new or "", old or "") for name, (old, new) in one.fields.items()}
        together[fields := frozenset(values)] += 1
        examples.setdefault(fields, Example(one.url, one.url, values))
    total, often = together.total(), Counter[str]()
    for fields, count in together.items():
        often.update(dict.fromkeys(fields, count))
    least = max(_LEAST_CHANGES, _LEAST_SHARE * total)
    noise = {name for name, count in often.items() if count >= least and not _tells(name)}
    alone = {fields: count for fields, count in together.items() if fields and fields <= noise}
    count = sum(alone.values())
    names = sorted(frozenset[str]().union(*alone))
    if count >= _LEAST_CHANGES and count * 2 > total and not {*names} <= {*advised}:
        listed = " and ".join(f"`{shortened(name, 80)}`" for name in names)
        these = "this field" if len(names) == 1 else "these fields"
        yield SettingAdvice(
            f"SIMHASH_IGNORE_FIELDS = {names}",
            f"{count:,} of {total:,} changed items changed only in {listed}. If that does not "
            f"matter, ignore {these}: then these items are unchanged",
            [examples[max(alone, key=len)]],
        )
    texts = sum(count for fields, count in together.items() if fields and fields <= _TEXTS)
    if texts >= _LEAST_CHANGES and texts * 2 > total:
        yield SettingAdvice(
            "SIMHASH_CHANGE_SIMILARITY = 0.9",
            f"{texts:,} of {total:,} changed items changed only in their text, which "
            "`scrapy simhash changes --texts` shows. If that is a box beside the article, let the "
            "spider select the article alone, or lower the similarity: then edits of a few words, "
            "but for numbers, are no change",
        )


def _tells(name: str) -> bool:
    """Whether a field tells what an item is."""
    is_own = not name.startswith((PAGE, "("))
    return not is_own or not name_of(name).marks.isdisjoint(_TELLING)


def _repeating(data: ReportData) -> Iterator[SettingAdvice]:
    """What to do about parts of URLs that only repeat pages."""
    unruled = data.unruled
    ruled = [one for one in data.patterns if one.part not in unruled]
    for parts in filter(None, (ruled, [one for one in data.patterns if one.part in unruled])):
        saved = sum(one.repeats for one in parts)
        listed = ", ".join(f"`{shortened(one.part, 80)}`" for one in parts[:3])
        name = shlex.quote(shortened(data.namespace.name))
        command, why = "", "after a crawl, `scrapy simhash patterns --rules FILE` writes rules"
        if parts is not ruled and len(parts) == 1:
            why = f"there is no rule for it: {unruled[parts[0].part]}"
        elif parts is not ruled:
            why = "there is no rule for them: `scrapy simhash patterns --rules FILE` says why"
        elif not data.is_trial:
            command = f"scrapy simhash patterns --namespace {name} --rules rules.json"
            why = "rules for duplicate-url-discarder avoid them"
        yield SettingAdvice(
            command,
            f"Up to {saved:,} {plural(saved, 'download')} only repeated pages because of {listed}"
            f"{' …' if len(parts) > 3 else ''}; {why}",
        )


def _avoidable(
    drops: Iterable[Record], patterns: Iterable[Pattern], unruled: Mapping[str, str]
) -> Iterator[SettingAdvice]:
    """What else made the URLs of duplicates, and how not to crawl them.

    The patterns are parts of URLs that only repeat pages: these are known already.
    """
    pairs = [(drop.page, drop.original_page or "") for drop in drops]
    yield from _mirrors(pairs)
    views, names = Counter[str](), Counter[str]()
    known = defaultdict[str | None, set[str]](set)
    for one in patterns:
        known[host_of(f"http://{one.part}")].add(one.part.partition("?")[2])
    for url, original in pairs:
        cause = cause_of(url, original)
        names.update({*cause.names} - known[host_of(url)] - known[host_of(original)])
        if cause.added and is_view(cause.added[1:]):
            views[cause.added] += 1
    for added, count in _often(views):
        yield SettingAdvice(
            f"LinkExtractor(deny=[{f'{re.escape(added)}(/|$)'!r}])",
            f"{_duplicates(count)} had `{added}` in the path of one URL. If that is another view "
            "of the same page, do not follow links to it",
        )
    reasons = {part.partition("?")[2]: reason for part, reason in unruled.items()}
    needed = f"that needs {LEAST} different pages in one folder, each the same without it"
    for name, count in _often(names):
        yield SettingAdvice(
            "",
            f"{_duplicates(count)} have another `{shortened(name, LONGEST_NAME)}` in the URL than "
            f"their originals. There is no rule for it: {reasons.get(name, needed)}",
        )


def _mirrors(pairs: Sequence[tuple[str, str]]) -> Iterator[SettingAdvice]:
    """Hosts that have the same pages under the same paths."""
    found = Counter[tuple[str, ...]]()
    paths = defaultdict[str, set[str]](set)
    copies = Counter[str]()
    for url, original in pairs:
        cause = cause_of(url, original)
        for one in (url, original):
            paths[host_of(one) or ""].add(one.partition("?")[0])
        if cause.hosts and not cause.added:
            found[cause.hosts] += 1
            copies[host_of(url) or ""] += 1
    for both, count in _often(found):
        hosts = sorted({host.partition(":")[0] for host in both} - {""})
        if len(hosts) > 1:
            # Who denies a domain denies all its hosts. Of two mirrors, the one that has less goes
            # first. Which of them the crawl starts from is not known.
            parts = tuple(f".{host}" for host in hosts)
            mirror, other = sorted(
                hosts, key=lambda one: (not one.endswith(parts), len(paths[one]), -copies[one])
            )
            is_inside = mirror.endswith(f".{other}")
            instead = "" if is_inside else f", or `{other!r}` if the crawl starts on `{mirror}`"
            yield SettingAdvice(
                "",
                f"{_duplicates(count)} had the same path on `{mirror}` and `{other}`. If one is a "
                "mirror of the other, follow links to one of them only: "
                f"`LinkExtractor(deny_domains=[{mirror!r}])`{instead}",
            )


def _often(found: Counter[Any]) -> list[tuple[Any, int]]:
    return [(one, count) for one, count in found.most_common(3) if count >= LEAST]


def _duplicates(count: int) -> str:
    return f"{count:,} {plural(count, 'duplicate')}"

"""What made the URLs of duplicates, and what to change, so that fewer are crawled or change."""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from scrapy_simhash.history.advice import SettingAdvice
from scrapy_simhash.history.record import Record
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import OF_TEXT
from scrapy_simhash.index.words import UNCHANGED
from scrapy_simhash.item.facts import PAGE, REST_OF_ITEM
from scrapy_simhash.item.irrelevant import LEAST, Example
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.urls import host_of, same_site, view_of
from scrapy_simhash.report.data import ReportData
from scrapy_simhash.visible import plural, shortened

# Folders that are named: those with a digit are as many as there are pages.
_FOLDERS = re.compile(r"[^\W\d]+(?:[-.][^\W\d]+)*(?:/[^\W\d]+(?:[-.][^\W\d]+)*)?")

# Characters shown of a host, a folder or a parameter.
_LONGEST_NAME = 40

_TEXTS = {OF_TEXT, REST_OF_ITEM}
# Marks of the names of fields that tell which item it is.
_TELLING = ("code", "dated", "price", "serial", "title")
# Fields that change most items are advised from so many changes on.
_LEAST_CHANGES = 10
# A field is advised if it changes this share of the changed items.
_LEAST_SHARE = 0.25


class Cause(NamedTuple):
    """How the URL of a duplicate differs from that of its original.

    In `added` is what only one of the paths has, such as "/print"; in `hosts` are both hosts if
    they differ, and in `names` the parameters that differ. Where more differs, all is in `text`.
    """

    text: str = ""
    added: str = ""
    hosts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.text:
            return self.text
        hosts = [f"`{shortened(host, _LONGEST_NAME)}`" for host in self.hosts]
        names = [f"`{shortened(name, _LONGEST_NAME)}`" for name in self.names[:3]]
        parts = [f"`{self.added}` in the path" if self.added else "same path"]
        parts += [f"on {' and '.join(hosts)}"] if hosts else []
        parts += [f"other {', '.join(names)}{' …' if len(self.names) > 3 else ''}"] if names else []
        return ", ".join(parts)


def how(record: Record) -> str:
    """What the URL of a duplicate has in common with that of its original, as a phrase.

    Of a change, where the item was before, and which site lists it.
    """
    if record.is_change:
        told = {"listed by": record.listed_by, "from": record.original}
        told["formerly"] = record.formerly
        return "; ".join(f"{what} {where}" for what, where in told.items() if where)
    if record.status == UNCHANGED:
        return "unchanged since an earlier crawl"
    return str(cause_of(record.url, record.original)) if record.original else "original deleted"


@lru_cache(maxsize=1 << 17)
def cause_of(url: str, original: str) -> Cause:
    """How the URL of a duplicate differs from that of its original."""
    if url == original:
        return Cause("listed again under the same URL")
    is_near = same_site(url, original)
    try:
        new, old = urlsplit(url), urlsplit(original)
    except ValueError:
        return Cause("at another URL")
    hosts = tuple(sorted({one.netloc.rpartition("@")[2].lower() for one in (new, old)}))
    ours, theirs = ([*filter(None, one.path.split("/"))] for one in (new, old))
    added = _added(ours, theirs)
    # Every site has a first page.
    if added is None or not (is_near or (ours and theirs)):
        is_folder = ours[-1:] == theirs[-1:] != []
        here = "in another folder" if is_folder else "elsewhere on the site"
        return Cause(here if is_near else "on another site")
    given = {*new.query.split("&")} ^ {*old.query.split("&")}
    names = tuple(sorted({part.partition("=")[0] for part in given} - {""}))
    found = Cause("", added, hosts if len(hosts) > 1 else (), names)
    if any(found):
        return found
    is_here = url.partition("#")[2] == original.partition("#")[2]
    return Cause("the same URL, written differently" if is_here else "elsewhere on the page")


def _added(ours: Sequence[str], theirs: Sequence[str]) -> str | None:
    """What one path has and the other lacks, such as "/print"; None if more differs.

    It is a folder, or a view in the place of another folder.
    """
    if ours == theirs:
        return ""
    short, long = sorted((ours, theirs), key=len)
    more = len(long) - len(short)
    start = next((place for place, one in enumerate(short) if one != long[place]), len(short))
    end = start + (more or 1)
    if short[end - more :] != long[end:]:
        return None
    views = [one for folder in (short, long) for one in folder[start:end] if _is_view(one)]
    found = "/".join(long[start:end]) if more else views[0] if views else ""
    return f"/{found}" if len(found) <= _LONGEST_NAME and _FOLDERS.fullmatch(found) else None


def _is_view(folder: str) -> bool:
    """Whether a folder has other views of pages, such as "print"."""
    return view_of(f"http://a/{folder}/b", "http://a/b") is not None


def steps(data: ReportData) -> Iterator[SettingAdvice]:
    """What to change, the most important first."""
    yield from data.advice
    advised = {name for advice in data.advice for name in advice.fields}
    changes = [one for one in data.changes if one.status == "changed"]
    duplicates = data.duplicates
    noise = [*find_noise(changes, data.rule, advised)]
    yield from noise if len(changes) > len(duplicates) else []
    if data.counts and data.patterns:
        yield _repeating(data)
    pairs = [(drop.page, drop.original_page or "") for drop in duplicates]
    yield from _mirrors(pairs)
    yield from _views(pairs)
    yield from noise if len(changes) <= len(duplicates) else []


def find_noise(
    changes: Iterable[Record], rule: Rule, advised: Collection[str] = ()
) -> Iterator[SettingAdvice]:
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
    if texts >= _LEAST_CHANGES and texts * 2 > total and rule.change_similarity == 1:
        yield SettingAdvice(
            "SIMHASH_CHANGE_SIMILARITY = 0.9",
            f"{texts:,} of {total:,} changed items changed only in their text: `scrapy simhash "
            "changes --texts` shows main texts. If that is a box beside the article, let the "
            "spider select the article alone, or lower the similarity: then edits of a few words, "
            "but for numbers, are no change",
        )


def _tells(name: str) -> bool:
    """Whether a field tells what an item is."""
    is_own = not name.startswith((PAGE, "("))
    return not is_own or not name_of(name).marks.isdisjoint(_TELLING)


def _repeating(data: ReportData) -> SettingAdvice:
    """What to do about parts of URLs that only repeat pages."""
    saved = sum(one.repeats for one in data.patterns)
    listed = ", ".join(f"`{shortened(one.part, 80)}`" for one in data.patterns[:3])
    more = " …" if len(data.patterns) > 3 else ""
    name = shlex.quote(shortened(data.namespace.name))
    return SettingAdvice(
        "" if data.is_trial else f"scrapy simhash patterns --namespace {name} --rules rules.json",
        f"Up to {saved:,} {plural(saved, 'download')} only repeated pages because of "
        f"{listed}{more}; rules for duplicate-url-discarder avoid them: after a crawl, `scrapy "
        "simhash patterns --rules FILE` writes them, or says why there is none",
    )


def _views(pairs: Sequence[tuple[str, str]]) -> Iterator[SettingAdvice]:
    """Other views of pages, such as those to print."""
    added = (cause_of(*pair).added for pair in pairs)
    for view, count in _often(Counter(one for one in added if one and _is_view(one[1:]))):
        yield SettingAdvice(
            f"LinkExtractor(deny=[{f'{re.escape(view)}(/|$)'!r}])",
            f"{_duplicates(count)} had `{view}` in the path of one URL. If that is another view "
            "of the same page, do not follow links to it",
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

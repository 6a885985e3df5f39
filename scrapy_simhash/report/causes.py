"""What made the URLs of duplicates, and what to change, so that fewer are crawled or change."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

from scrapy_simhash.history.advice import SettingAdvice
from scrapy_simhash.history.record import Record
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import OF_TEXT
from scrapy_simhash.index.words import UNCHANGED
from scrapy_simhash.item.facts import PAGE, REST_OF_ITEM
from scrapy_simhash.item.irrelevant import Example
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.urls import same_site, view_of
from scrapy_simhash.report.data import ReportData
from scrapy_simhash.visible import plural, shortened

# Characters shown of a host or a parameter.
_LONGEST_NAME = 40

_TEXTS = {OF_TEXT, REST_OF_ITEM}
# Marks of the names of fields that tell which item it is.
_TELLING = ("code", "dated", "price", "serial", "title")
# Fields that change most items are advised from so many changes on.
_LEAST_CHANGES = 10
# A field is advised if it changes this share of the changed items.
_LEAST_SHARE = 0.25


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
    return cause_of(record.url, record.original) if record.original else "original deleted"


@lru_cache(maxsize=1 << 17)
def cause_of(url: str, original: str) -> str:
    """How the URL of a duplicate differs from that of its original."""
    if url == original:
        return "listed again under the same URL"
    try:
        new, old = urlsplit(url), urlsplit(original)
    except ValueError:
        return "at another URL"
    is_near = same_site(url, original)
    ours, theirs = ([*filter(None, one.path.split("/"))] for one in (new, old))
    # Every site has a first page.
    if ours == theirs and (is_near or ours):
        return _on_one_path(new, old)
    if not is_near:
        return "on another site"
    if view_of(url, original):
        return "another view of the page, such as for printing"
    return "in another folder" if ours[-1:] == theirs[-1:] != [] else "elsewhere on the site"


def _on_one_path(new: SplitResult, old: SplitResult) -> str:
    """How two URLs with the same path differ."""
    hosts = sorted({one.netloc.rpartition("@")[2].lower() for one in (new, old)})
    given = {*new.query.split("&")} ^ {*old.query.split("&")}
    names = sorted({part.partition("=")[0] for part in given} - {""})
    shown = [f"`{shortened(name, _LONGEST_NAME)}`" for name in (*hosts, *names[:3])]
    parts = ["same path"]
    if len(hosts) > 1:
        parts.append(f"on {' and '.join(shown[:2])}")
    if names:
        parts.append(f"other {', '.join(shown[len(hosts) :])}{' …' if len(names) > 3 else ''}")
    if len(parts) > 1:
        return ", ".join(parts)
    is_here = new.fragment == old.fragment
    return "the same URL, written differently" if is_here else "elsewhere on the page"


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
        "simhash patterns --rules FILE` writes them",
    )

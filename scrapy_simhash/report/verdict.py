"""The result of one or more crawls in sentences, what to change, and a list of findings."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode

from scrapy_simhash.db.values import SAME
from scrapy_simhash.history.advice import SettingAdvice, find_noise
from scrapy_simhash.index.words import (
    changes_in_words,
    difference_in_words,
    field_label,
    is_part,
    pages_in_words,
    skipped_in_words,
)
from scrapy_simhash.report.data import ReportData
from scrapy_simhash.visible import plural, shortened


def headline(data: ReportData) -> str:
    """What was checked, and how much of it was repeated."""
    stats = data.stats
    checked = int(stats.get("checked", 0))
    dropped, duplicates, stored = _dropped(data)
    what = plural(checked, "item")
    has_finished = checked or pages_in_words(stats)
    seen = f"{checked:,} {what} checked" if has_finished else "No crawl has finished yet"
    done = "would be dropped" if data.is_trial else "dropped"
    parts = [_duplicates(dropped, checked, done)] if dropped or not stored else []
    if same := dropped - duplicates:
        share = _share(dropped, checked)
        parts = [
            f"{dropped:,} {done}{share}, {same:,} of them unchanged"
            if duplicates
            else f"{same:,} unchanged {plural(same, 'item')} {done}{share}"
        ]
    if stored:
        parts.append(_duplicates(stored, checked, "found and stored anyway"))
    return f"{seen}: {', '.join(parts)}."


def _dropped(data: ReportData) -> tuple[int, int, int]:
    """How much was dropped, how many duplicates these are, and how many others were stored.

    These are the numbers of the log. Fewer have a row: items in which nothing at all has changed
    have none.
    """
    counts, stats = data.counts, data.stats
    reported = counts["report"]
    dropped, found = counts.total() - reported, counts.total() - counts[SAME]
    if "dropped" in stats:
        dropped, found = int(stats["dropped"]), int(stats.get("duplicates", 0))
    duplicates = min(dropped, max(0, found - reported))
    return dropped, duplicates, found - duplicates


def remarks(data: ReportData) -> Iterator[str]:
    """What was lost, which is nothing if all went well, and what else is to be known."""
    stats = data.stats
    dropped, *_ = _dropped(data)
    if pages := pages_in_words(stats):
        yield f"{pages}."
    if orphans := sum(row.orphans for row in data.runs):
        yield (
            f"{orphans:,} {plural(orphans, 'duplicate')} dropped whose original was not stored in "
            "the end: `scrapy simhash restore --orphans` returns "
            f"{'it' if orphans == 1 else 'them'}."
        )
    elif dropped and data.is_trial:
        yield "Nothing would be lost: the original of each would be stored."
    elif pending := sum(row.pending for row in data.runs):
        yield f"It is not known yet whether {pending:,} {plural(pending, 'item')} will be stored."
    elif dropped:
        kept = any(drop.has_item for drop in data.drops)
        more = ", and `scrapy simhash restore` returns those in quarantine" if kept else ""
        yield f"The original of each was stored{more}."
    if unchecked := int(stats.get("failed_open", 0)):
        items = plural(unchecked, "item")
        yield f"{unchecked:,} {items} stored without a check: the index did not answer."
    if changes := changes_in_words(data.change_counts()):
        yield f"{changes}."


def skipped(stats: Mapping[str, float]) -> list[tuple[int, str]]:
    """How many items were not compared, and why, the most frequent reason first."""
    found = [
        (int(count), skipped_in_words(name.removeprefix("skipped/")))
        for name, count in stats.items()
        if name.startswith("skipped/")
    ]
    return sorted(found, key=lambda one: (-one[0], one[1]))


def _duplicates(count: int, checked: int, action: str) -> str:
    if not count:
        return "no duplicates found"
    return f"{count:,} {plural(count, 'duplicate')} {action}{_share(count, checked)}"


def _share(count: int, checked: int) -> str:
    return f" ({count / checked:.1%})" if 0 < count <= checked else ""


def steps(data: ReportData) -> Iterator[SettingAdvice]:
    """What to change."""
    yield from data.advice
    if data.patterns:
        yield _repeating(data)
    advised = {name for advice in data.advice for name in advice.fields}
    changed = [one for one in data.changes if one.status == "changed"]
    yield from find_noise(changed, data.rule, advised)


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


# Findings of each kind; the rest is in the table of decisions.
_MOST = 8


class Finding(NamedTuple):
    """Items with one outcome that have something in common, and their share of all.

    The filters, a fragment of the report's URL, show their rows. The example is the URL of one of
    them and that of the stored item.
    """

    outcome: str
    what: str
    items: int
    share: str
    filters: str
    example: tuple[str, str] | None


def findings(data: ReportData) -> Iterator[Finding]:
    """What was repeated, kept and not compared, the most frequent first in each of these."""
    checked = max(1, int(data.stats.get("checked", 0)))

    def found(
        outcome: str, what: str, count: int, example: tuple[str, str] | None = None, **more: str
    ) -> Finding:
        filters = urlencode(more, quote_via=quote)
        share = min(1, count / checked)
        shown = f"{share:.1%}" if share >= 0.001 else "<0.1%"
        return Finding(outcome, what, count, shown, filters, example)

    repeats = Counter(drop.how for drop in data.drops)
    examples = {drop.how: (drop.url, drop.original or "") for drop in data.drops}
    for what, count in repeats.most_common(_MOST):
        yield found("repeated", what, count, examples[what], how=what)
    pairs = {pair.differs: (pair.url, pair.original or "") for pair in data.kept}
    for name, count in data.differs.most_common(_MOST):
        more = {"status": "kept", "field": field_label(name)}
        yield found("kept", difference_in_words(name), count, pairs.get(name), **more)
    changes = [one for one in data.changes if one.status == "changed"]
    urls = [(name, one.url) for one in changes for name in one.fields]
    fields, examples_of = Counter(name for name, _ in urls), dict(urls)
    for name, count in fields.most_common(_MOST):
        label = field_label(name)
        shown = {"status": "changed", "field": label}
        what = f"in the {label}" if is_part(name) else f"in `{label}`"
        yield found("changed", what, count, (examples_of[name], ""), **shown)
    for count, reason in skipped(data.stats)[:_MOST]:
        yield found("not compared", reason, count)

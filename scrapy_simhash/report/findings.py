"""What a crawl repeated and kept, as a list of findings, and what to change."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, urlencode

from scrapy_simhash.history.advice import Example
from scrapy_simhash.history.changes import Change
from scrapy_simhash.history.pairs import SAME, Pair
from scrapy_simhash.item.facts import PAGE
from scrapy_simhash.item.urls import same_site, split_url
from scrapy_simhash.report.subject import Subject
from scrapy_simhash.report.verdict import field_label, in_words, skipped
from scrapy_simhash.visible import plural, shortened

# Findings of each kind; the rest is in the table of decisions.
_MOST = 8

_TEXT = "text"


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


class Step(NamedTuple):
    """Something to change or to do: a line to copy, its effect, and examples of two items."""

    line: str
    effect: str
    examples: Sequence[Example]


def findings(subject: Subject) -> Iterator[Finding]:
    """What was repeated, kept and not compared, the most frequent first in each of these."""
    checked = max(1, int(subject.stats.get("checked", 0)))
    run = "all" if subject.run is None else str(subject.run)

    def found(
        outcome: str, what: str, count: int, example: tuple[str, str] | None = None, **more: str
    ) -> Finding:
        filters = urlencode({"run": run, **more}, quote_via=quote) if more else ""
        share = min(1, count / checked)
        shown = f"{share:.1%}" if share >= 0.001 else "<0.1%"
        return Finding(outcome, what, count, shown, filters, example)

    repeats = Counter(map(how, subject.drops))
    examples = {how(drop): (drop.url, drop.original or "") for drop in subject.drops}
    for what, count in repeats.most_common(_MOST):
        yield found("repeated", what, count, examples[what], how=what)
    pairs = {pair.differs: (pair.url, pair.original or "") for pair in subject.kept}
    for name, count in subject.reasons[:_MOST]:
        more = {"action": "kept", "field": field_label(name)}
        yield found("kept", in_words(name), count, pairs.get(name), **more)
    changes = [one for one in subject.changes if one.status == "changed"]
    fields = Counter(name for one in changes for name, *_ in changed_fields(one))
    urls = {name: one.url for one in changes for name, *_ in changed_fields(one)}
    for name, count in fields.most_common(_MOST):
        shown = {"changes-action": "changed", "changes-field": shortened(name, 80)}
        what = "in the text" if name == _TEXT else f"in `{shortened(name, 80)}`"
        yield found("changed", what, count, (urls[name], ""), **shown)
    for count, reason in skipped(subject.stats)[:_MOST]:
        yield found("not compared", reason, count)


def changed_fields(change: Change) -> list[tuple[str, str | None, str | None]]:
    """The fields that changed with both values, without facts of the page that repeat one."""
    own = [values for name, values in change.fields.items() if not name.startswith(PAGE)]
    found = [
        (name, values[0], values[1])
        for name, values in change.fields.items()
        if not name.startswith(PAGE) or values not in own
    ]
    is_text = change.status == "changed" and (change.similarity or 1) < 1
    return [*found, (_TEXT, None, None)] if is_text and _TEXT not in change.fields else found


def how(drop: Pair) -> str:
    """What the URL of a duplicate has in common with that of its original."""
    if drop.action == SAME:
        return "unchanged since an earlier visit"
    return "an original that is gone" if drop.original is None else _how(drop.url, drop.original)


@lru_cache(maxsize=1 << 17)
def _how(url: str, original: str) -> str:
    if url == original:
        return "listed again under the same URL"
    if not same_site(url, original):
        return "on another site"
    new, old = split_url(url), split_url(original)
    if new.path.rstrip("/") != old.path.rstrip("/"):
        is_folder = new.path.rpartition("/")[2] == old.path.rpartition("/")[2] != ""
        return "in another folder of the site" if is_folder else "elsewhere on the site"
    given = {*new.query.split("&")} ^ {*old.query.split("&")}
    if names := sorted({part.partition("=")[0] for part in given} - {""}):
        listed = ", ".join(f"`{shortened(name, 40)}`" for name in names[:3])
        return f"the same path, another {listed}{' …' if len(names) > 3 else ''}"
    is_host = new.netloc != old.netloc
    return "the same path on another host" if is_host else "the same URL, written otherwise"


def steps(subject: Subject) -> Iterator[Step]:
    """What to change, or to do, the most important first."""
    name = shlex.quote(shortened(subject.namespace.name))
    command = f"scrapy simhash {{}} --namespace {name} {{}}"
    orphans = sum(row.orphans for row in subject.runs)
    if orphans and not subject.is_trial:
        they = "it" if orphans == 1 else "them"
        yield Step(
            command.format("restore", "--orphans -o orphans.jsonl"),
            f"{orphans:,} {plural(orphans, 'item')} dropped for an original that was not stored in "
            f"the end: this returns {they}.",
            (),
        )
    for advice in subject.advice:
        yield Step(advice.setting, f"{advice.effect}.", advice.examples)
    parts = [one for one in subject.patterns if "?" in one.part]
    if parts and not subject.is_trial:
        saved = sum(one.repeats for one in parts)
        listed = ", ".join(f"`{shortened(one.part, 80)}`" for one in parts[:3])
        # A place with a wildcard gets no rule.
        has_rules = not any("*" in one.part for one in parts)
        by = "by rules for duplicate-url-discarder" if has_rules else "without such links"
        yield Step(
            command.format("patterns", "--rules rules.json" if has_rules else "").strip(),
            f"Up to {saved:,} {plural(saved, 'download')} that only repeated pages would be saved "
            f"{by}: {listed}{' …' if len(parts) > 3 else ''}.",
            (),
        )
    better = int(subject.stats.get("duplicates/better", 0))
    if better and not subject.is_trial:
        yield Step(
            command.format("restore", "--better -o better.jsonl"),
            f"{better:,} dropped {plural(better, 'item')} better than the stored one, by "
            "`SIMHASH_PREFER`: this returns the best of each group.",
            (),
        )

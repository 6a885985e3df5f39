"""The result of one or more crawls, in sentences and as a list of findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode

from scrapy_simhash.db.values import SAME
from scrapy_simhash.item.addresses import same_site, split_url
from scrapy_simhash.item.facts import DETAILS, PAGE
from scrapy_simhash.visible import plural, shortened

if TYPE_CHECKING:
    from scrapy_simhash.history.pairs import Change, Pair
    from scrapy_simhash.report.subject import Subject

_ACTIONS = {
    "drop": "dropped",
    "skip": "skipped",
    "report": "stored anyway",
    SAME: "unchanged",
    "kept": "kept",
}

# What keeps items apart beside fields: its name in lists, and a sentence.
_PARTS = {
    "(address)": ("URL in the list", "one page lists them under different URLs"),
    "(names)": ("names in the text", "a name in the text was replaced throughout"),
    "(not compared)": ("texts not compared", "the texts were not compared"),
    "(numbers)": ("numbers in the text", "numbers in the text differ"),
    "(others)": ("other fields", "other fields differ"),
    "(passage)": ("passage of the text", "a passage of the text was replaced"),
    "(rest of the item)": ("text of the item", "the texts of the items differ"),
    "(rest of the page)": ("rest of the page", "the pages differ outside their main texts"),
    DETAILS: ("numbers in tables of the page", "numbers in tables of the pages differ"),
}

_SKIPPED = {
    "disabled": "their request turns the check off",
    "error_page": "the server sent an error page",
    "no_main_text": "the page has hardly any text of its own",
    "no_text": "neither the item nor its page has text",
    "not_text": "the page is not HTML",
    "too_complex": "the page has too many tags",
    "too_large": "the text is too long",
    "too_short": "the text is too short",
    "unreadable": "the item could not be read completely",
}


def action_in_words(action: str) -> str:
    """What was done with a duplicate or a similar item."""
    return _ACTIONS.get(action) or shortened(action, 40)


def in_words(differs: str) -> str:
    """What keeps two items apart, as "`price` differs"; see `Verdict.differs`."""
    if differs in _PARTS:
        return _PARTS[differs][1]
    field = f"`{shortened(differs.removeprefix(PAGE), 80)}`"
    return f"{field} of the page differs" if differs.startswith(PAGE) else f"{field} differs"


def field_label(differs: str) -> str:
    """The field that keeps two items apart, or what else does."""
    if differs in _PARTS:
        return _PARTS[differs][0]
    field = shortened(differs.removeprefix(PAGE), 80)
    return f"{field} of the page" if differs.startswith(PAGE) else field


def headline(subject: Subject) -> str:
    """What was checked, and how much of it was repeated."""
    counts, stats = subject.counts, subject.stats
    checked = int(stats.get("checked", 0))
    reported = counts.get("report", 0)
    dropped = counts.total() - counts.get(SAME, 0) - reported
    what = "items and pages" if stats.get("pages/skipped") else plural(checked, "item")
    seen = f"{checked:,} {what} checked" if checked else "No crawl has finished yet"
    if subject.is_trial:
        parts = [_duplicates(dropped, checked, "would be dropped")]
    else:
        parts = [_duplicates(dropped, checked, "dropped")] if dropped or not reported else []
    if reported:
        parts.append(_duplicates(reported, checked, "found and stored anyway"))
    return f"{seen}: {', '.join(parts)}."


def remarks(subject: Subject) -> Iterator[str]:
    """What was lost, which is nothing if all went well, and what else is to be known."""
    counts, stats = subject.counts, subject.stats
    dropped = counts.total() - counts.get("report", 0)
    if same := counts.get(SAME, 0):
        yield f"{same:,} more dropped because they had not changed since an earlier visit."
    if orphans := sum(row.orphans for row in subject.runs):
        yield (
            f"{orphans:,} dropped for an original that was not stored in the end: "
            f"`scrapy simhash restore --orphans` returns {'it' if orphans == 1 else 'them'}."
        )
    elif dropped and subject.is_trial:
        yield "Nothing would be lost: the original of each would be stored."
    elif pending := sum(row.pending for row in subject.runs):
        yield f"{pending:,} {plural(pending, 'item')} not known to be stored yet."
    elif dropped:
        kept = any(drop.has_item for drop in subject.drops)
        more = ", and `scrapy simhash restore` returns those in quarantine" if kept else ""
        yield f"Nothing was lost: the original of each was stored{more}."
    if better := int(stats.get("duplicates/better", 0)):
        are = "duplicate is better than its" if better == 1 else "duplicates are better than their"
        # The index of a trial is deleted, so no command can read it.
        best = "" if subject.is_trial else ": see `scrapy simhash restore --better`"
        yield f"{better:,} {are} original{best}."
    if unchecked := int(stats.get("failed_open", 0)):
        yield f"{unchecked:,} stored unchecked because the index did not answer."
    if counted := subject.change_counts():
        listed = ", ".join(f"{count:,} {name}" for name, count in counted.items())
        yield f"Compared with earlier crawls: {listed}."


def skipped(stats: Mapping[str, float]) -> list[tuple[int, str]]:
    """How many items were not compared, and why, the most frequent reason first."""
    found = [
        (int(count), _SKIPPED.get(name.removeprefix("skipped/"), name.removeprefix("skipped/")))
        for name, count in stats.items()
        if name.startswith("skipped/")
    ]
    return sorted(found, key=lambda one: (-one[0], one[1]))


def _duplicates(count: int, checked: int, action: str) -> str:
    share = f" ({count / checked:.1%})" if 0 < count <= checked else ""
    return f"{f'{count:,}' if count else 'no'} {plural(count, 'duplicate')} {action}{share}"


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

"""The result of one or more crawls, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scrapy_simhash.history.pairs import SAME
from scrapy_simhash.item.urls import same_site
from scrapy_simhash.report.subject import Subject
from scrapy_simhash.visible import plural, shortened

# A list of reasons names the most frequent ones up to this number.
_NAMED = 5

#: Actions on duplicates, in words.
ACTIONS = {
    "drop": "dropped",
    "skip": "skipped",
    "report": "stored anyway",
    SAME: "unchanged",
    "kept": "kept",
}

_DIFFERS = {
    "(address)": "one page lists them under different URLs",
    "(names)": "a name in the text is exchanged for another one",
    "(numbers)": "the numbers in the text differ",
    "(others)": "another field differs",
    "(passage)": "a passage of the text stands in place of another one",
    "(rest of the page)": "the rest of the page differs",
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


def in_words(differs: str) -> str:
    """What keeps two items apart, as "`price` differs"; see `Verdict.differs`."""
    return _DIFFERS.get(differs) or f"`{shortened(differs, 80)}` differs"


def field_label(differs: str) -> str:
    """The field that keeps two items apart, or what else does."""
    return _DIFFERS.get(differs) or shortened(differs, 80)


def in_sentences(subject: Subject) -> list[str]:
    """The number of checked items, of duplicates, and of items that were kept, with the reasons."""
    return [headline(subject), *remarks(subject), *_reasons(subject)]


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
    return f"{seen}: {', '.join(parts)}. {_sites(subject)}".rstrip()


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


def _reasons(subject: Subject) -> Iterator[str]:
    """Why items were kept although they are similar, and not compared."""
    if similar := sum(count for _, count in subject.reasons):
        reasons = [(count, in_words(name)) for name, count in subject.reasons]
        yield f"{similar:,} kept although the text is similar to another's{_because(reasons)}."
    if count := sum(count for count, _ in skipped(subject.stats)):
        which = "not compared" if subject.is_trial else "stored without comparison"
        yield f"{count:,} {which}{skipped_in_words(subject.stats)}."


def skipped_in_words(stats: Mapping[str, float]) -> str:
    """Why items were not compared, as ", because the text is too short"."""
    return _because(skipped(stats))


def skipped(stats: Mapping[str, float]) -> list[tuple[int, str]]:
    """How many items were not compared, and why, the most frequent reason first."""
    prefix = "skipped/"
    found = [
        (int(count), name.removeprefix(prefix))
        for name, count in stats.items()
        if name.startswith(prefix)
    ]
    found.sort(key=lambda one: (-one[0], one[1]))
    return [(count, _SKIPPED.get(name, name)) for count, name in found]


def _duplicates(count: int, checked: int, action: str) -> str:
    share = f" ({count / checked:.1%})" if 0 < count <= checked else ""
    return f"{f'{count:,}' if count else 'no'} {plural(count, 'duplicate')} {action}{share}"


def _sites(subject: Subject) -> str:
    """How many duplicates come from the site of their original."""
    known = [same_site(one.url, one.original) for one in subject.duplicates if one.original]
    if not known:
        return ""
    here, there = sum(known), len(known) - sum(known)
    if here and there:
        come = "duplicate comes" if here == 1 else "duplicates come"
        their = "its" if here == 1 else "their"
        return f"{here:,} {come} from the same site as {their} original, {there:,} from another."
    come, their = ("It comes", "its") if len(known) == 1 else ("All come", "their")
    return f"{come} from {'the same site as' if here else 'another site than'} {their} original."


def _because(counted: list[tuple[int, str]]) -> str:
    """The reasons, after a comma if there is only one, else with their counts after a colon."""
    if len(counted) == 1:
        return f", because {counted[0][1]}"
    listed = [f"{count:,} because {reason}" for count, reason in counted[:_NAMED]]
    if others := sum(count for count, _ in counted[_NAMED:]):
        listed.append(f"{others:,} for other reasons")
    return f": {', '.join(listed)}"

"""What came of one or more crawls, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash import history
from scrapy_simhash.item.sites import same_site
from scrapy_simhash.report.differs import in_words
from scrapy_simhash.visible import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy_simhash.report.subject import Subject

__all__ = ["in_sentences", "skipped_counts", "skipped_in_words"]

# Of what kept items apart, and of what could not be compared, so many are named.
_NAMED = 5

_SKIPPED = {
    "disabled": "their requests say so",
    "error_page": "the server sent an error page",
    "no_main_text": "the page has hardly any text of its own",
    "no_text": "neither item nor page says anything",
    "not_text": "the page is no HTML",
    "too_complex": "the page has too many tags",
    "too_large": "the text is too long",
    "too_short": "the text is too short",
    "unreadable": "the item could not be read to its end",
}


def in_sentences(subject: Subject) -> list[str]:
    """The verdict: what was checked, what of it was left out, what was kept and why."""
    return list(_sentences(subject))


def _sentences(subject: Subject) -> Iterator[str]:
    counts, stats = subject.counts, subject.stats
    checked = int(stats.get("checked", 0))
    same = counts.get(history.SAME, 0)
    reported = counts.get("report", 0)
    dropped = sum(counts.values()) - same - reported
    what = "items and pages" if stats.get("pages/skipped") else plural(checked, "item")
    met = (
        f"{checked:,} {what} checked" if checked else "No crawl has closed and counted what it met"
    )
    if subject.is_trial:
        parts = [_copies(dropped, checked, "would be left out")]
    else:
        parts = [_copies(dropped, checked, "left out")] if dropped or not reported else []
    if reported:
        parts.append(_copies(reported, checked, "found and stored all the same"))
    yield f"{met}: {', '.join(parts)}. {_where(subject)}".rstrip()
    if same:
        yield f"{same:,} more left out, as they had not changed since an earlier visit."
    elif dropped and not subject.is_trial:
        yield "Nothing else was left out."
    if better := int(stats.get("duplicates/better", 0)):
        # Of a trial the index is gone, and what would look into it with it.
        best = "" if subject.is_trial else ": `scrapy simhash better` gives the best of each"
        copies = "copy" if better == 1 else "copies"
        yield f"{better:,} {copies} better than what was stored before{best}."
    if near := sum(count for _, count in subject.kept.counts):
        reasons = [(count, f"because {in_words(name)}") for name, count in subject.kept.counts]
        yield f"{near:,} kept although the text is near that of another: {_listed(reasons)}."
    if skipped := sum(count for _, count in skipped_counts(stats)):
        yield f"{skipped:,} stored without a comparison: {skipped_in_words(stats)}."
    if unchecked := int(stats.get("failed_open", 0)):
        yield f"{unchecked:,} stored unchecked, as the index did not answer."
    if orphans := sum(row.orphans for row in subject.runs):
        yield (
            f"{orphans:,} left out beside something that was not stored in the end: "
            f"`scrapy simhash restore --orphans` gives {'it' if orphans == 1 else 'them'} back."
        )


def skipped_counts(stats: Mapping[str, float]) -> list[tuple[str, int]]:
    """Why items were not compared, and how many, the most frequent first."""
    prefix = "skipped/"
    found = [
        (name.removeprefix(prefix), int(count))
        for name, count in stats.items()
        if name.startswith(prefix)
    ]
    return sorted(found, key=lambda one: (-one[1], one[0]))


def skipped_in_words(stats: Mapping[str, float]) -> str:
    """Why items were not compared: "3 as the text is too short"."""
    return _listed(
        [(count, f"as {_SKIPPED.get(name, name)}") for name, count in skipped_counts(stats)]
    )


def _copies(count: int, checked: int, done: str) -> str:
    share = f" ({count / checked:.1%})" if 0 < count <= checked else ""
    return f"{f'{count:,}' if count else 'no'} {'copy' if count == 1 else 'copies'} {done}{share}"


def _where(subject: Subject) -> str:
    """Whether the copies stand on the site of what they are copies of."""
    known = [same_site(one.url, one.original) for one in subject.duplicates if one.original]
    if not known:
        return ""
    here, there = sum(known), len(known) - sum(known)
    if not here or not there:
        which = "It is" if len(known) == 1 else "All are"
        return f"{which} from {'another' if there else 'the same'} site."
    return f"From the site of what they are copies of: {here:,}; from another: {there:,}."


def _listed(counted: list[tuple[int, str]]) -> str:
    said = [f"{count:,} {reason}" for count, reason in counted[:_NAMED]]
    if rest := sum(count for count, _ in counted[_NAMED:]):
        said.append(f"{rest:,} for other reasons")
    return ", ".join(said)

"""The words for a decision, in the log, the terminal and the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from scrapy_simhash.db.values import SAME, ComparedBy
from scrapy_simhash.index.verdict import ADDED_PASSAGE, BY_HAND, OF_TEXT
from scrapy_simhash.item.facts import PAGE, ROW
from scrapy_simhash.visible import plural, shortened

#: How an item ends in a crawl that has checked it.
Ending = Literal["stored", "left out", "dropped by later pipelines or feeds"]

#: The status of an item that was kept although another one is similar.
KEPT = "kept"
#: The status of an item that is what an earlier crawl stored.
UNCHANGED = "unchanged"
#: The status of a duplicate that was only reported.
STORED = "stored anyway"

_STATUSES = {"drop": "dropped", "report": STORED, SAME: UNCHANGED}

# What items may be, compared with earlier crawls.
_SINCE_EARLIER = ("new", "changed", "moved", "missing", "gone", "back")

# What items are in the sum of a crawl, in this order.
_IN_SUM = ("new", "changed", "moved", "copy", UNCHANGED)

# Why an item was not compared, by the reason of its verdict.
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

# What keeps items apart beside fields: its name in lists, and a sentence.
_PARTS = {
    ADDED_PASSAGE: ("added passage", "a passage of the text is not in the other text"),
    "(address)": ("URL or key in the list", "one page lists them under different URLs or keys"),
    "(names)": ("names in the text", "a name in the text was replaced throughout"),
    "(not compared)": ("texts not compared", "the texts were not compared"),
    "(numbers)": ("numbers in the text", "numbers in the text differ"),
    "(others)": ("other fields", "other fields differ"),
    "(passage)": ("passage of the text", "a passage of the text was replaced"),
    "(rest of the item)": ("text of the item", "the texts of the items differ"),
    OF_TEXT: ("text", "the texts differ"),
    BY_HAND: ("restored", "it was restored by hand"),
    "(rest of the page)": ("rest of the page", "the pages differ outside their main texts"),
}


def kept_in_words(count: int) -> str:
    """How many items were kept although others are similar."""
    return f"Kept {count:,} similar {plural(count, 'item')} whose values differ"


def changes_in_words(counts: Mapping[str, int]) -> str:
    """How much is new, changed, and so on; "" if all is new, as in a first crawl, or unchanged."""
    is_first = not any(counts.get(status) for status in (*_SINCE_EARLIER[1:], UNCHANGED))
    shown = [f"{counts[status]:,} {status}" for status in _SINCE_EARLIER if counts.get(status)]
    return "" if is_first or not shown else f"Changes: {', '.join(shown)}"


def items_in_words(ended: Mapping[Ending, Mapping[str, int]]) -> str:
    """The sum of a crawl: how its items ended, by what they are.

    That is a status, or `skipped/` and the reason of a verdict.
    """
    total, parts = 0, []
    for end, counts in ended.items():
        if end == "dropped by later pipelines or feeds" and not counts:
            continue
        names = sorted(counts, key=lambda name: (*_IN_SUM, name).index(name))
        named = ", ".join(f"{counts[name]:,} {_kind(name, counts[name])}" for name in names)
        count = sum(counts.values())
        parts.append(f"{count:,} {end} ({named})" if named else f"{count:,} {end}")
        total += count
    return f"{total:,} {plural(total, 'item')}: {', '.join(parts)}"


def _kind(name: str, count: int) -> str:
    kind, _, reason = name.partition("/")
    if kind == "skipped":
        return f"not compared as {skipped_in_words(reason)}"
    names = {"copy": "copy" if count == 1 else "copies", UNCHANGED: "as before"}
    return names.get(name, name)


def skipped_in_words(reason: str) -> str:
    """Why an item was not compared."""
    return _SKIPPED.get(reason, reason)


def pages_in_words(stats: Mapping[str, float]) -> str:
    """How many known pages were not downloaded; "" if no page was known."""
    known, size, *saved = (
        int(stats.get(f"revisit/{name}", 0))
        for name in ("known", "bytes_not_downloaded", "not_modified", "fresh")
    )
    are = "page was" if known == 1 else "pages were"
    what = f"{sum(saved):,} of {known:,} known {are} not downloaded ({size:,} bytes)"
    return what if known else ""


def status_of(action: str) -> str:
    """The status of a duplicate, by what was done with it."""
    return _STATUSES.get(action) or shortened(action, 40)


def is_part(differs: str) -> bool:
    """Whether it is no field that differs, but the text or the like; see `Verdict.differs`."""
    return differs in _PARTS


def difference_in_words(differs: str) -> str:
    """What keeps two items apart, as "`price` differs"; see `Verdict.differs`."""
    if differs in _PARTS:
        return _PARTS[differs][1]
    field = f"`{_field(differs)}`"
    return f"{field} of the page differs" if differs.startswith(PAGE) else f"{field} differs"


def field_label(differs: str) -> str:
    """The field that keeps two items apart, or what else does."""
    if differs in _PARTS:
        return _PARTS[differs][0]
    field = _field(differs)
    return f"{field} of the page" if differs.startswith(PAGE) else field


def likeness_in_words(compared_by: int, *, is_equal: bool) -> str:
    """What a duplicate shares with its original."""
    if compared_by == ComparedBy.EXACT:
        return "equal items"
    what = "main texts" if compared_by == ComparedBy.PAGE else "texts"
    return f"{'equal' if is_equal else 'similar'} {what}"


def _field(name: str) -> str:
    """The name of a field, or the label of a row of the page."""
    return shortened(name.removeprefix(ROW).removeprefix(PAGE), 80)

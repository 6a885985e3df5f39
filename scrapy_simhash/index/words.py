"""The words for a decision, in the log, the terminal and the report."""

from __future__ import annotations

from collections.abc import Mapping

from scrapy_simhash.db.values import SAME, ComparedBy
from scrapy_simhash.index.verdict import BY_HAND, OF_TEXT
from scrapy_simhash.item.facts import PAGE, ROW
from scrapy_simhash.visible import plural, shortened

#: The status of an item that was kept although another one is similar.
KEPT = "kept"
#: The status of an item that is what an earlier crawl stored.
UNCHANGED = "unchanged"
#: The status of a duplicate that was only reported.
STORED = "stored anyway"

_STATUSES = {"drop": "dropped", "report": STORED, SAME: UNCHANGED}

# What items may be, compared with earlier crawls.
_SINCE_EARLIER = ("new", "changed", "moved", "unchanged", "missing", "gone", "back")

# What keeps items apart beside fields: its name in lists, and a sentence.
_PARTS = {
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
    """How much is new, changed, and so on; "" if all is new, as in a first crawl."""
    if not any(counts.get(status) for status in _SINCE_EARLIER[1:]):
        return ""
    shown = [f"{counts[status]:,} {status}" for status in _SINCE_EARLIER if counts.get(status)]
    return f"Compared with earlier crawls: {', '.join(shown)}"


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

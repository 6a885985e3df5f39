"""Writes the table of evidence into duplicates.md, from the one that decides."""

from __future__ import annotations

import re
from pathlib import Path

from scrapy_simhash.item.evidence import TABLE, Evidence, Relation, Weight, weight

PAGE = Path(__file__).parent / "duplicates.md"
_TABLE = re.compile(r"(?<=<!-- evidence -->\n).*(?=\n<!-- /evidence -->)", re.DOTALL)

NAMES = {
    Evidence.AMOUNT: "amount of money",
    Evidence.TITLE: "title",
    Evidence.NUMBERED: "numbers in titles of equal words",
    Evidence.DATE: "day",
    Evidence.TIME: "year of a day, time of day",
    Evidence.TEXT: "other value, such as a code or a town",
    Evidence.SECTION: "category, tag, author, summary",
    Evidence.STOCK: "stock",
    Evidence.STATE: "state",
    Evidence.REST: "the item's text beside its page's",
    Evidence.NUMBERS: "number in the text",
    Evidence.PASSAGE: "passage",
    Evidence.NAMES: "name replaced throughout",
}
WORDS = {
    Weight.NEVER: "no",
    Weight.REFERENCE: "if replaced, and of five digits or more",
    Weight.REPLACED: "if replaced",
    Weight.BOTH: "if both have one",
    Weight.NONE_EQUAL: "if both have one, or the stored item none that is equal",
    Weight.ALWAYS: "yes",
}
_HERE = Relation.SAME_SITE
COLUMNS = {
    "same site": {_HERE},
    "other view": {_HERE, Relation.VIEW},
    "other site": {Relation.OTHER_SITE},
}


def table() -> str:
    """The table in Markdown, with one row for the kinds that weigh the same."""
    names: dict[tuple[str, ...], list[str]] = {}
    for kind in TABLE:
        found = (weight(kind, frozenset(relations)) for relations in COLUMNS.values())
        names.setdefault(tuple(WORDS[one] for one in found), []).append(NAMES[kind])
    rows = [["difference in", *COLUMNS], ["-"] * (len(COLUMNS) + 1)]
    rows += [["; ".join(kinds), *cells] for cells, kinds in names.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def page() -> str:
    """The page with the present table."""
    return _TABLE.sub(table(), PAGE.read_text("utf-8"))


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

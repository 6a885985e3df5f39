"""The rows of a report's tables, and the fields and texts of each, packed for its script."""

from __future__ import annotations

import base64
import json
import shlex
import zlib
from collections import Counter
from typing import Any, NamedTuple

from scrapy_simhash.history.pairs import KEPT, Change, Pair, differing_values, with_contents
from scrapy_simhash.item.urls import site
from scrapy_simhash.report.causes import how
from scrapy_simhash.report.difference import LONGEST, difference
from scrapy_simhash.report.subject import Subject
from scrapy_simhash.report.verdict import action_in_words, changed_fields, field_label
from scrapy_simhash.simhash.scheme import load_scheme
from scrapy_simhash.visible import shortened, visible

#: The details of so many rows are unpacked together.
BLOCK = 40

# Limits of one file: rows with details, and their packed size in bytes.
MOST_DETAILS, MOST_BYTES = 5_000, 8_000_000

#: Rows of each table that are not packed, as many as are printed.
MOST_PLAIN = 1_000

# At most so many rows with details are kept items, and as many changes; others are duplicates.
_MOST_KEPT = 1_000

# Characters shown of a URL; of a field's value, and of one in the table.
_URL, _VALUE, _SHORT = 500, 2_000, 80

# Fields that name an item, the preferred ones first.
_TITLES = ("title", "headline", "name", "heading")


class Packed(NamedTuple):
    """The rows of both tables, the details in blocks, and how many decisions have details.

    The first rows are plain data, so that they are there once the page has loaded, and a browser
    without a window prints them; the others are packed, and counted by run in `left`.
    """

    first: dict[str, Any]
    rows: str
    blocks: list[str]
    details: int


def pack(subject: Subject, opened: int | None) -> Packed:
    """Pack everything that the script shows."""
    rows: list[Any] = [*subject.drops, *subject.kept[::-1], *subject.changes]
    # The least similar pairs are the ones to look at, those of the opened run before all.
    order = sorted(
        range(len(rows)),
        key=lambda number: (rows[number].run != opened, _near(subject, rows[number])),
    )
    of_kept, of_changes = len(subject.drops), len(subject.drops) + len(subject.kept)
    chosen = [
        *[number for number in order if of_kept <= number < of_changes][:_MOST_KEPT],
        *[number for number in order if of_changes <= number][:_MOST_KEPT],
        *[number for number in order if number < of_kept],
    ][:MOST_DETAILS]
    listed: dict[int, dict[str, Any]] = {}
    blocks: list[str] = []
    default, left = load_scheme(), MOST_BYTES
    scheme = default if subject.namespace.scheme.startswith(default.id) else None
    for start in range(0, len(chosen), BLOCK):
        if left <= 0:
            break
        numbers = chosen[start : start + BLOCK]
        part = [rows[number] for number in numbers]
        contents = with_contents(subject.namespace, part, scheme)
        details: dict[int, Any] = {}
        for number, row in zip(numbers, contents, strict=True):
            detail = -1
            if compared := _compared(row):
                detail = len(blocks) * BLOCK + len(details)
                details[detail] = compared
            listed[number] = _listed(subject, number, row, detail)
        if details:
            blocks.append(_packed(details))
            left -= len(blocks[-1])
    every = [listed.get(number) or _listed(subject, number, row) for number, row in enumerate(rows)]
    name = shlex.quote(shortened(subject.namespace.name))
    first: dict[str, Any] = {
        "block": BLOCK,
        "command": "" if subject.is_trial else f"scrapy simhash restore --namespace {name} --id ",
    }
    rest: dict[str, Any] = {}
    for table, is_change in (("rows", False), ("changes", True)):
        numbers = [number for number in order if (number >= of_changes) is is_change]
        first[table] = [every[number] for number in sorted(numbers[:MOST_PLAIN])]
        rest[table] = [every[number] for number in sorted(numbers[MOST_PLAIN:])]
    first["left"] = {name: Counter(row["run"] for row in left) for name, left in rest.items()}
    with_details = sum(row["detail"] >= 0 for row in every[:of_changes])
    return Packed(first, _packed(rest) if any(rest.values()) else "", blocks, with_details)


def _near(subject: Subject, row: Pair | Change) -> float:
    return subject.threshold if row.similarity is None else row.similarity


def _listed(subject: Subject, number: int, row: Pair | Change, detail: int = -1) -> dict[str, Any]:
    """A row as the script knows it.

    Of a field that differs it has the name, the stored value and the item's own, if known.
    """
    mine, stored = row.mine.values, row.stored.values
    names = {name.lower(): name for name in (*stored, *mine)}
    title = next((names[name] for name in _TITLES if name in names), "")
    fields = [(name, *both) for name, both in differing_values(mine, stored).items()]
    about = "about " if row.estimated else ""
    if isinstance(row, Change):
        key, original = f"c{number}", row.origin or row.url
        similarity, action = row.similarity, row.status
        means = f"from {row.origin}" if row.origin else row.lister and f"listed by {row.lister}"
        fields = changed_fields(row) or fields
        first_seen, distance, can_be_restored = None, None, False
    else:
        # Strings: JavaScript has no integers of 63 bits.
        is_kept = row.action == KEPT
        key = f"k{row.id}" if is_kept else str(row.id)
        original = row.original or f"item {row.claim}, deleted"
        similarity = _near(subject, row)
        if row.similarity is None:
            about = "at least "
        action = action_in_words(row.action)
        if subject.is_trial and row.action == "drop":
            action = "would be dropped"
        action += ", orphan" if row.orphaned else ""
        means = "" if is_kept else how(row)
        if is_kept:
            reason = row.differs
            fields = [one for one in fields if one[0] == reason] or [(reason, None, None)]
        first_seen, distance, can_be_restored = row.first_seen, row.distance, row.has_item
    return {
        "key": key,
        "url": shortened(row.url, _URL),
        "title": shortened(mine.get(title, ""), 200),
        "original": {
            "item": str(row.places[1][0]),
            "url": shortened(original, _URL),
            "first": first_seen and int(first_seen),
            "title": shortened(stored.get(title, ""), 200),
        },
        "similarity": similarity and round(similarity, 4),
        "about": about,
        "seen": int(row.created),
        "action": action,
        "run": row.run,
        "detail": detail,
        "fields": [
            [field_label(name), *(_shown(value, _SHORT) for value in values)]
            for name, *values in fields
        ],
        "restorable": can_be_restored,
        "site": shortened(site(row.url) or "(no site)", 80),
        "distance": distance,
        "how": shortened(means, _URL),
    }


def _compared(row: Pair | Change) -> list[Any] | None:
    """The stored text, the steps to the other one, and the values of both; None without any."""
    mine, stored = row.mine, row.stored
    both = (text and visible(text[:LONGEST])[:LONGEST] for text in (stored.text, mine.text))
    text, steps = difference(*both) if mine.text and stored.text else ("", None)
    names = {**mine.values, **stored.values} if mine.values and stored.values else ()
    fields = [
        [field_label(name), _shown(mine.values.get(name)), _shown(stored.values.get(name))]
        for name in names
    ]
    return [text, steps, fields] if steps is not None or fields else None


def _shown(value: str | None, length: int = _VALUE) -> str | None:
    return None if value is None else shortened(value, length)


def _packed(value: Any) -> str:
    """The value as compressed JSON in Base64."""
    encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )
    return base64.b64encode(zlib.compress(encoded, 6)).decode()

"""The rows of a report's table, and the fields and texts of each, packed for its script."""

from __future__ import annotations

import base64
import json
import shlex
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from scrapy_simhash.history.drops import numbers_with_items
from scrapy_simhash.history.fields import Field, read_fields
from scrapy_simhash.history.pages import read_texts
from scrapy_simhash.item.urls import site
from scrapy_simhash.report.difference import LONGEST, difference
from scrapy_simhash.report.subject import Subject
from scrapy_simhash.report.verdict import ACTIONS
from scrapy_simhash.visible import format_time, shortened, visible

#: The details of so many rows are unpacked together.
BLOCK = 40

# Limits of one file: rows with details, their packed size in bytes, runs to filter by.
MOST_DETAILS, MOST_BYTES, _MOST_RUNS = 5_000, 8_000_000, 100

# At most so many rows with details are kept items; the others are duplicates.
_MOST_KEPT = 1_000

# Characters shown of a field's value.
_VALUE = 2_000

# Fields that name an item, the preferred ones first.
_TITLES = ("title", "headline", "name", "heading")


class Packed(NamedTuple):
    """The table, the details in blocks of up to `BLOCK` rows, and how many rows have details."""

    table: str
    blocks: list[str]
    details: int


class _Row(NamedTuple):
    """An item that was dropped, or kept although it is similar to a stored one."""

    url: str
    claim: int  # the number of the stored item
    original: str
    first_seen: float | None
    texts: tuple[int, int]  # the key of its own text in `read_texts`
    similarity: float
    about: Literal["", "about ", "at least "]  # "" if the similarity is exact
    distance: int | None  # in bits
    created: float
    action: str
    run: int
    number: int  # of the duplicate; 0 for a kept item
    can_be_restored: bool
    differing: Sequence[str]  # fields, as far as they are known
    title: str = ""
    original_title: str | None = None  # None if unknown


def pack(subject: Subject) -> Packed:
    """Pack everything that the script shows."""
    rows = [*_dropped(subject), *_kept(subject)]
    # The least similar pairs are the ones to look at.
    ordered = sorted(
        range(len(rows)), key=lambda place: (rows[place].number > 0, rows[place].similarity)
    )
    kept = sum(not row.number for row in rows)
    chosen = [*ordered[: min(kept, _MOST_KEPT)], *ordered[kept:]][:MOST_DETAILS]
    blocks, places = _pack_details(subject, rows, chosen)
    return Packed(_pack_table(subject, rows, places), blocks, len(places))


def _dropped(subject: Subject) -> Iterator[_Row]:
    actions = ACTIONS | {"drop": "would be dropped"} if subject.is_trial else ACTIONS
    with_items = numbers_with_items(subject.database, subject.namespace, subject.run)
    for drop in subject.drops:
        action = actions.get(drop.action) or shortened(drop.action, 40)
        yield _Row(
            drop.url or drop.key,
            drop.claim,
            drop.original or f"item {drop.claim}, deleted",
            drop.first_seen,
            (drop.claim, drop.id),
            drop.similarity,
            "about " if drop.estimated else "",
            drop.distance,
            drop.created,
            action + (", orphan" if drop.orphaned else ""),
            drop.run,
            drop.id,
            drop.id in with_items,
            (),
        )


def _kept(subject: Subject) -> Iterator[_Row]:
    for pair in subject.kept.pairs:
        yield _Row(
            pair.url or f"item {pair.claim}",
            pair.beside or 0,  # null only in a damaged database
            pair.other or f"item {pair.beside}, deleted",
            None,
            (pair.claim, 0),
            subject.threshold,
            "at least ",
            None,
            pair.created,
            "kept",
            pair.run,
            0,
            False,
            [pair.differs],
        )


def _named(row: _Row, fields: Sequence[Field]) -> _Row:
    """The row of an item with these fields."""
    if not fields:
        return row
    title = _title(fields)
    shown = "" if title is None else shortened(title.value, 200)
    return row._replace(
        title=shown,
        original_title=shown if title is not None and title.mark == "same" else None,
        differing=[field.name for field in fields if field.mark in {"differs", "missing"}],
    )


def _title(fields: Sequence[Field]) -> Field | None:
    found = {field.name.lower(): field for field in reversed(fields) if field.value}
    return next((found[name] for name in _TITLES if name in found), None)


def _pack_table(subject: Subject, rows: Iterable[_Row], places: Mapping[int, int]) -> str:
    # By the number of the stored item: place in the list, number, URL, time, title if known.
    originals: dict[int, list[Any]] = {}
    listed = []
    for number, row in enumerate(rows):
        original = originals.get(row.claim)
        if original is None:
            first_seen = None if row.first_seen is None else int(row.first_seen)
            original = [len(originals), str(row.claim), shortened(row.original, 500), first_seen]
            originals[row.claim] = original
        if row.original_title is not None and len(original) == 4:
            original.append(row.original_title)
        listed.append(
            [
                shortened(row.url, 500),
                row.title,
                original[0],
                round(row.similarity, 4),
                row.about,
                int(row.created),
                row.action,
                row.run,
                places.get(number, -1),
                [shortened(name, 80) for name in row.differing],
                # A string, as JavaScript has no integers of 63 bits.
                str(row.number) if row.can_be_restored else "",
                shortened(site(row.url) or "(no site)", 80),
                row.distance,
            ]
        )
    name = shlex.quote(shortened(subject.namespace.name))
    command = "" if subject.is_trial else f"scrapy simhash restore --namespace {name} --id "
    return _packed(
        {
            "rows": listed,
            "originals": [original[1:] for original in originals.values()],
            "runs": [
                (row.id, f"{row.id}: {shortened(row.spider, 60)}, {format_time(row.opened)}")
                for row in subject.runs[:_MOST_RUNS]
            ],
            "block": BLOCK,
            "command": command,
        }
    )


def _pack_details(
    subject: Subject, rows: list[_Row], chosen: Sequence[int]
) -> tuple[list[str], dict[int, int]]:
    """Blocks of details, and for each row that has some their place in the blocks.

    Rows whose items are read for it get their titles: to unpack every item would take long.
    """
    blocks: list[str] = []
    places: dict[int, int] = {}
    left = MOST_BYTES
    for start in range(0, len(chosen), BLOCK):
        if left <= 0:
            break
        some = chosen[start : start + BLOCK]
        wanted = [key for place in some for key in ((rows[place].claim, 0), rows[place].texts)]
        kept = read_texts(subject.database, subject.namespace, wanted)
        numbers = [rows[place].number for place in some if rows[place].number]
        items = read_fields(subject.database, subject.namespace, numbers)
        texts: dict[str, str] = {}
        details: dict[int, Any] = {}
        for place in some:
            found = items.get(rows[place].number, [])
            row = rows[place] = _named(rows[place], found)
            first, second = kept.get((row.claim, 0)), kept.get(row.texts)
            changes = None
            if first is not None and second is not None:
                first, second = (visible(one[:LONGEST])[:LONGEST] for one in (first, second))
                texts[str(row.claim)] = first
                changes = difference(first, second)
            fields = [
                (shortened(field.name, 80), shortened(field.value, _VALUE), field.mark)
                for field in found
            ]
            if changes is not None or fields:
                places[place] = len(blocks) * BLOCK + len(details)
                details[places[place]] = [str(row.claim), changes, fields]
        if details:
            blocks.append(_packed({"texts": texts, "details": details}))
            left -= len(blocks[-1])
    return blocks, places


def _packed(value: Any) -> str:
    """The value as compressed JSON in Base64."""
    encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )
    return base64.b64encode(zlib.compress(encoded, 6)).decode()

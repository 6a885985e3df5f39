"""The rows of a report's tables, and the fields and texts of each, packed for its script."""

from __future__ import annotations

import base64
import json
import shlex
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scrapy_simhash.history.pairs import (
    KEPT,
    NOTHING,
    Content,
    Pair,
    Place,
    differing,
    read_contents,
    true_similarity,
)
from scrapy_simhash.item.addresses import site
from scrapy_simhash.report.difference import LONGEST, difference
from scrapy_simhash.report.subject import Subject
from scrapy_simhash.report.verdict import ACTIONS, changed_fields, field_label, how
from scrapy_simhash.simhash.scheme import Scheme, load_scheme
from scrapy_simhash.visible import shortened, visible

#: The details of so many rows are unpacked together.
BLOCK = 40

# Limits of one file: rows with details, and their packed size in bytes.
MOST_DETAILS, MOST_BYTES = 5_000, 8_000_000

# At most so many rows with details are kept items, and as many changes; others are duplicates.
_MOST_KEPT = 1_000

# Characters shown of a field's value, and of one in the table.
_VALUE, _SHORT = 2_000, 80

# Fields that name an item, the preferred ones first.
_TITLES = ("title", "headline", "name", "heading")


class Packed(NamedTuple):
    """The rows of both tables, the details in blocks, and how many decisions have details."""

    rows: str
    blocks: list[str]
    details: int


@dataclass(slots=True)
class _Row:
    """An item that was dropped, kept although it is similar to a stored one, or changed.

    Of a field that differs there are its name, the stored value and the item's own, if known.
    `mine` and `stored` are the places of both texts.
    """

    key: str
    url: str
    original: str
    similarity: float | None
    seen: float
    action: str
    run: int
    mine: Place
    stored: Place
    about: str = ""  # or "about " or "at least "
    fields: Sequence[Sequence[str | None]] = ()
    first_seen: float | None = None
    can_be_restored: bool = False
    distance: int | None = None
    how: str = ""
    title: str = ""
    original_title: str | None = None
    detail: int = -1


def pack(subject: Subject, opened: int | None) -> Packed:
    """Pack everything that the script shows."""

    def first(rows: list[_Row], most: int | None = None) -> list[_Row]:
        """The least similar pairs are the ones to look at, those of the opened run before all."""
        return sorted(rows, key=lambda row: (row.run != opened, row.similarity or 0))[:most]

    dropped, kept = (
        list(_decided(subject, pairs)) for pairs in (subject.drops, subject.kept[::-1])
    )
    changes = list(_changes(subject))
    chosen = [*first(kept, _MOST_KEPT), *first(changes, _MOST_KEPT), *first(dropped)]
    blocks = _pack_details(subject, chosen[:MOST_DETAILS])
    name = shlex.quote(shortened(subject.namespace.name))
    originals: dict[tuple[int, str], list[Any]] = {}
    table = {
        "rows": [_listed(row, originals) for row in (*dropped, *kept)],
        "changes": [_listed(row, originals) for row in changes],
        "originals": [original[1:] for original in originals.values()],
        "block": BLOCK,
        "command": "" if subject.is_trial else f"scrapy simhash restore --namespace {name} --id ",
    }
    return Packed(_packed(table), blocks, sum(row.detail >= 0 for row in (*dropped, *kept)))


def _decided(subject: Subject, pairs: Iterable[Pair]) -> Iterator[_Row]:
    actions = ACTIONS | {"drop": "would be dropped"} if subject.is_trial else ACTIONS
    for pair in pairs:
        is_kept = pair.action == KEPT
        action = actions.get(pair.action) or shortened(pair.action, 40)
        near, about = pair.similarity, "about " if pair.estimated else ""
        if near is None:
            near, about = subject.threshold, "at least "
        yield _Row(
            # A string: JavaScript has no integers of 63 bits.
            f"k{pair.id}" if is_kept else str(pair.id),
            pair.url or pair.key,
            pair.original or f"item {pair.claim}, deleted",
            *(near, pair.created, action + (", orphan" if pair.orphaned else ""), pair.run),
            *(*pair.places, about),
            fields=[(field_label(pair.differs), None, None)] if is_kept else (),
            first_seen=pair.first_seen,
            can_be_restored=pair.has_item,
            distance=pair.distance,
            how="" if is_kept else how(pair),
        )


def _changes(subject: Subject) -> Iterator[_Row]:
    for number, change in enumerate(subject.changes):
        stored, mine = change.texts
        origin = change.origin or ""
        yield _Row(
            *(f"c{number}", change.url, origin or change.url, change.similarity, change.created),
            *(change.status, change.run, mine, stored),
            fields=changed_fields(change),
            how=shortened(origin, 500),
        )


def _listed(row: _Row, originals: dict[tuple[int, str], list[Any]]) -> list[Any]:
    """The row as the script knows it, with the number of its original among all."""
    claim = row.stored[0]
    original = originals.get((claim, row.original))
    if original is None:
        first_seen = None if row.first_seen is None else int(row.first_seen)
        original = [len(originals), str(claim), shortened(row.original, 500), first_seen]
        originals[claim, row.original] = original
    if row.original_title is not None and len(original) == 4:
        original.append(row.original_title)
    fields = [
        [shortened(name or "", _SHORT), *(one and shortened(one, _SHORT) for one in values)]
        for name, *values in row.fields
    ]
    near = None if row.similarity is None else round(row.similarity, 4)
    own_site = shortened(site(row.url) or "(no site)", 80)
    return [
        *(row.key, shortened(row.url, 500), row.title, original[0], near, row.about),
        *(int(row.seen), row.action, row.run, row.detail, fields, row.can_be_restored),
        *(own_site, row.distance, row.how),
    ]


def _pack_details(subject: Subject, chosen: Sequence[_Row]) -> list[str]:
    """Blocks of details. Rows with some get titles, values and exact similarities."""
    blocks: list[str] = []
    left = MOST_BYTES
    default = load_scheme()
    scheme = default if subject.namespace.scheme.startswith(default.id) else None
    for start in range(0, len(chosen), BLOCK):
        if left <= 0:
            break
        rows = chosen[start : start + BLOCK]
        places = {place for row in rows for place in (row.mine, row.stored)}
        contents = read_contents(subject.database, subject.namespace, places)
        block = _block(rows, contents, scheme, len(blocks) * BLOCK)
        if block["details"]:
            blocks.append(_packed(block))
            left -= len(blocks[-1])
    return blocks


def _block(
    rows: Sequence[_Row], contents: Mapping[Place, Content], scheme: Scheme | None, start: int
) -> dict[str, Any]:
    """The details of rows, by their number, and the texts of the stored items."""
    texts: dict[str, str] = {}
    details: dict[int, Any] = {}
    for row in rows:
        mine, stored = (contents.get(place, NOTHING) for place in (row.mine, row.stored))
        _describe(row, mine.values, stored.values)
        old, new = stored.text, mine.text
        name, changes = "{}.{}".format(*row.stored), None
        if old and new:
            if scheme and (row.about or row.similarity is None):
                row.similarity, row.about = true_similarity(scheme, old, new), ""
            old, new = (visible(text[:LONGEST])[:LONGEST] for text in (old, new))
            texts[name] = old
            changes = difference(old, new)
        names = {**mine.values, **stored.values} if mine.values and stored.values else {}
        fields = [
            [
                shortened(name, _SHORT),
                _shown(mine.values.get(name)),
                _shown(stored.values.get(name)),
            ]
            for name in names
        ]
        if changes is not None or fields:
            row.detail = start + len(details)
            details[row.detail] = [name, changes, fields]
    return {"texts": texts, "details": details}


def _describe(row: _Row, mine: Mapping[str, str], stored: Mapping[str, str]) -> None:
    """Add the titles of both items, and the values of fields that differ."""
    names = {name.lower(): name for name in (*stored, *mine)}
    if title := next((names[name] for name in _TITLES if name in names), None):
        row.title = shortened(mine.get(title, ""), 200)
        row.original_title = _shown(stored.get(title), 200)
    found = [(name, *values) for name, values in differing(mine, stored).items()]
    if row.action == "kept":
        row.fields = [one for one in found if one[0] == row.fields[0][0]] or row.fields
    else:
        row.fields = row.fields or found


def _shown(value: str | None, length: int = _VALUE) -> str | None:
    return None if value is None else shortened(value, length)


def _packed(value: Any) -> str:
    """The value as compressed JSON in Base64."""
    encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )
    return base64.b64encode(zlib.compress(encoded, 6)).decode()

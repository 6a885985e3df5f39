"""Records of decisions and changes, for people and for programs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import attrgetter
from typing import Any

from scrapy_simhash.cli.output import Group, format_similarity, marked_difference
from scrapy_simhash.cli.printing import in_values
from scrapy_simhash.history.record import Record
from scrapy_simhash.index.verdict import OF_TEXT
from scrapy_simhash.index.words import field_label
from scrapy_simhash.item.keys import UNIDENTIFIED, item_url
from scrapy_simhash.report.difference import difference
from scrapy_simhash.visible import format_time, shortened

# Values of a line.
_VALUES = 3

# Keys that people do not know: digests of items, fingerprints of requests.
_NO_NAME = re.compile(rf"{UNIDENTIFIED}|[0-9a-f]{{32,}}$")

# Decisions that are put in groups at once.
_PART = 10_000


def by_original(records: Iterable[Record]) -> Iterator[Group]:
    """Decisions in groups, each named by the URL of the stored item."""
    records = iter(records)
    while part := list(islice(records, _PART)):
        groups = defaultdict[str, list[tuple[str, str]]](list)
        for record in part:
            groups[record.original or "(deleted)"].append((_place(record), _why(record)))
        yield from groups.items()


def _place(record: Record) -> str:
    """The URL of an item, and the values of SIMHASH_KEY that tell it from others there."""
    key = record.key
    is_named = key and not (item_url(key, "") or _NO_NAME.match(key))
    return f"{record.url} ({shortened(key)})" if is_named else record.url


def _why(record: Record) -> str:
    """The reason for a decision, and what differs."""
    fields, reason = record.fields, record.reason
    if record.similarity is not None and (record.similarity < 1 or record.estimated):
        near = format_similarity(record.similarity, estimated=record.estimated)
        reason = f"{reason} ({near})"
    if record.differs in fields:
        return f"{reason}: {in_values(*fields[record.differs])}"
    some = [*fields.items()][:_VALUES]
    return "; ".join([reason, *(f"{field_label(one)}: {in_values(*both)}" for one, both in some)])


def by_status(records: Iterable[Record]) -> Iterator[Group]:
    """Changes in groups, each named by their status; with how the texts differ, if these are read.

    They come in an order by status.
    """
    for status, of_status in groupby(records, key=attrgetter("status")):
        yield status, map(_what_changed, of_status)


def by_visit(records: Iterable[Record]) -> Iterator[Group]:
    """The changes of one item as a group, with the time and the run of each."""
    rows = [
        (f"{format_time(one.created)}  run {one.run}  {one.status}", _what_changed(one)[1])
        for one in records
    ]
    if rows:
        yield "History (UTC)", rows


def _what_changed(record: Record) -> Sequence[Any]:
    parts = [record.how] if record.how else []
    for name, values in record.fields.items():
        more = ""
        if any(values):
            more = f": {in_values(*values)}"
        elif name == OF_TEXT and record.similarity is not None:
            share = format_similarity(record.similarity, estimated=False)
            more = ": nothing in common" if share == "0.00" else f": similarity {share}"
        parts.append(f"{field_label(name)}{more}")
    row = _place(record), "; ".join(parts)
    own, stored = record.own.text, record.stored.text
    if own and stored and own != stored:
        return *row, marked_difference(*difference(stored, own))
    return row


def compared_texts(record: Record) -> dict[str, Any]:
    """The text of the stored item, and the steps from it to that of the item, for programs."""
    text, steps = difference(record.stored.text, record.own.text)
    return {"text_of_original": text, "difference": steps}

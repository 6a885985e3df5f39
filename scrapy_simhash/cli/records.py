"""Records of decisions and changes, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scrapy_simhash.cli.output import Piece, format_similarity, marked_difference
from scrapy_simhash.cli.printing import in_values
from scrapy_simhash.history.record import Record
from scrapy_simhash.index.verdict import OF_TEXT
from scrapy_simhash.index.words import field_label
from scrapy_simhash.report.causes import how
from scrapy_simhash.report.difference import difference

#: Of a table of decisions, and of one of changes.
DECISION_HEADS = ("similarity", "item", "similar to", "reason")
CHANGE_HEADS = ("status", "item", "what changed")

# Values of a line.
_VALUES = 3


def decision_cells(records: Iterable[Record]) -> Iterator[Sequence[str]]:
    """Decisions as rows of a table for people, with the heads `DECISION_HEADS`."""
    for record in records:
        similarity, fields, reason = "-", record.fields, record.reason
        if record.similarity is not None:
            similarity = format_similarity(record.similarity, estimated=record.estimated)
        if record.differs in fields:
            reason = f"{reason}: {in_values(*fields[record.differs])}"
        else:
            some = [*fields.items()][:_VALUES]
            values = (f"{field_label(one)}: {in_values(*both)}" for one, both in some)
            reason = "; ".join([reason, *values])
        yield similarity, record.url, record.original or "(deleted)", reason


def change_cells(records: Iterable[Record]) -> Iterator[Sequence[Any]]:
    """Changes as rows with the heads `CHANGE_HEADS`, and then how the texts differ, if read."""
    for record in records:
        parts = [how(record)] if how(record) else []
        for name, values in record.fields.items():
            more = ""
            if any(values):
                more = f": {in_values(*values)}"
            elif name == OF_TEXT and record.similarity is not None:
                share = format_similarity(record.similarity, estimated=False)
                more = ": nothing in common" if share == "0.00" else f": similarity {share}"
            parts.append(f"{field_label(name)}{more}")
        texts: list[Piece] = []
        if record.own.text and record.stored.text and record.own.text != record.stored.text:
            texts = marked_difference(*difference(record.stored.text, record.own.text))
        yield record.status, record.url, "; ".join(parts), *texts


def compared_texts(record: Record) -> dict[str, Any]:
    """The text of the stored item, and the steps from it to that of the item, for programs."""
    text, steps = difference(record.stored.text, record.own.text)
    return {"text_of_original": text, "difference": steps}

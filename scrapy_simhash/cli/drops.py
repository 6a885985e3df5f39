"""``scrapy simhash drops``: list what a crawl dropped, or kept although another item is similar."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scrapy_simhash.cli.arguments import add_database, add_lines, add_run
from scrapy_simhash.cli.output import format_similarity, write_lines
from scrapy_simhash.cli.printing import in_values
from scrapy_simhash.cli.project import Project
from scrapy_simhash.db.values import SAME, ComparedBy
from scrapy_simhash.history.namespaces import find_run
from scrapy_simhash.history.pairs import KEPT, Pair, read_pairs, with_contents
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.verdict import group_name
from scrapy_simhash.report.verdict import action_in_words, field_label, in_words
from scrapy_simhash.visible import iso_time

#: Of a table of pairs.
HEADS = ("similarity", "item", "similar to", "reason")

# Values of a line.
_VALUES = 3


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_lines(parser)
    add_run(
        parser, "of run N (default: the newest); what a later run dropped again belongs to that one"
    )
    parser.add_argument(
        "--kept",
        action="store_true",
        help="list what was kept although another item is similar, and why",
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    counts: Counter[str] = Counter()
    with project.database() as database:
        number, namespaces = find_run(database, project.name, options.run)

        def pages() -> Iterator[tuple[NamespaceRow, list[Pair]]]:
            for namespace in namespaces:
                for page in read_pairs(namespace, number, kept=options.kept):
                    counts.update(pair.action for pair in page)
                    scheme = project.settings.scheme
                    yield namespace, [*with_contents(namespace, page, scheme)]

        write_lines(
            options,
            HEADS,
            pages(),
            lambda page: in_cells(page[1]),
            lambda page: (described(pair, page[0]) for pair in page[1]),
        )
    named = ", ".join(repr(namespace.name) for namespace in namespaces)
    shown = ", ".join(f"{count:,} {action_in_words(action)}" for action, count in counts.items())
    lines = [f"{shown or ('nothing kept' if options.kept else 'nothing dropped')}"]
    if options.kept:
        lines[0] += " although another item is similar"
        lines += ["If a field is irrelevant, name it in SIMHASH_IGNORE_FIELDS"] * bool(counts)
    else:
        if counts.keys() - {"report"}:
            lines.append(f"To restore: scrapy simhash restore --run {number}")
        command = f"scrapy simhash drops --kept --run {number}"
        lines.append(f"What was kept although another item is similar: {command}")
    print(f"Run {number} of {named}: {'. '.join(lines)}", file=sys.stderr)


def in_cells(pairs: Iterable[Pair]) -> Iterator[Sequence[str]]:
    """Pairs as rows of a table for people, with the heads `HEADS`."""
    for pair in pairs:
        similarity, fields = "-", pair.fields
        if pair.similarity is not None:
            similarity = format_similarity(pair.similarity, estimated=pair.estimated)
        if pair.differs in fields:
            reason = f"{_reason(pair)}: {in_values(*fields[pair.differs])}"
        else:
            some = [*fields.items()][:_VALUES]
            values = (f"{field_label(one)}: {in_values(*both)}" for one, both in some)
            reason = "; ".join([_reason(pair), *values])
        url, other = pair.addresses
        yield similarity, url, other or "(deleted)", reason


def described(pair: Pair, namespace: NamespaceRow) -> dict[str, Any]:
    """A pair for programs."""
    url, original = pair.addresses
    return {
        "action": pair.action,
        "url": url,
        "key": pair.key,
        "original": original,
        "similarity": None if pair.similarity is None else round(pair.similarity, 4),
        "estimated": pair.estimated,
        "reason": _reason(pair),
        "fields": pair.fields,
        "created": iso_time(pair.created),
        "namespace": namespace.name,
        "run": pair.run,
        "group": None if pair.origin is None else group_name(namespace.id, pair.origin),
        # JavaScript and jq round numbers of 63 bits.
        "id": None if pair.action == KEPT else str(pair.id),
    }


def _reason(pair: Pair) -> str:
    if pair.differs:
        return in_words(pair.differs)
    if pair.action == SAME:
        return "unchanged"
    if pair.compared_by == ComparedBy.EXACT:
        reason = "equal items"
    else:
        what = "main texts" if pair.compared_by == ComparedBy.PAGE else "texts"
        is_same = pair.similarity == 1 and not pair.estimated
        reason = f"{'equal' if is_same else 'similar'} {what}"
    return f"{reason}, but the original was not stored in the end" if pair.orphaned else reason

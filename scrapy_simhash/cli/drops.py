"""``scrapy simhash drops``: list what a crawl dropped, or kept although another item is similar."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from scrapy_simhash.cli.arguments import add_database, add_lines, add_run
from scrapy_simhash.cli.output import VALUE, format_similarity, in_values, write_lines
from scrapy_simhash.cli.project import Project
from scrapy_simhash.db.values import EXACT, PAGE
from scrapy_simhash.history.fields import with_values
from scrapy_simhash.history.namespaces import find_run
from scrapy_simhash.history.pairs import KEPT, SAME, Pair, read_pairs
from scrapy_simhash.report.verdict import ACTIONS, in_words
from scrapy_simhash.visible import iso_time, shortened

# Characters shown of an address; a column of addresses is at most so wide; values of a line.
_ADDRESS, _COLUMN, _VALUES = 300, 60, 3


class _Listed(NamedTuple):
    """A pair, its namespace, and the widths of the two columns of addresses."""

    pair: Pair
    namespace: str
    widths: tuple[int, int]


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
    scheme = project.settings.scheme
    with project.database() as database:
        number, namespaces = find_run(database, project.name, options.run)
        found = (
            one
            for namespace in namespaces
            for one in _listed(
                namespace.name,
                (
                    [*with_values(database, namespace, page, scheme)]
                    for page in read_pairs(database, namespace, number, kept=options.kept)
                ),
                counts,
            )
        )
        write_lines(options, found, _line, _fields)
    named = ", ".join(repr(namespace.name) for namespace in namespaces)
    shown = ", ".join(f"{count:,} {_action(action)}" for action, count in counts.items())
    if options.kept:
        shown = f"{shown or 'nothing kept'} although another item is similar"
        more = "If a field is irrelevant, name it in SIMHASH_IGNORE_FIELDS"
    else:
        shown = shown or "nothing dropped"
        more = (
            f"To restore: scrapy simhash restore --run {number}. What was kept although another "
            f"item is similar: scrapy simhash drops --kept --run {number}"
        )
    print(f"Run {number} of {named}: {shown}. {more}", file=sys.stderr)


def _listed(namespace: str, pages: Iterable[list[Pair]], counts: Counter[str]) -> Iterator[_Listed]:
    for page in pages:
        widths = [
            min(_COLUMN, max((len(shortened(url or "", _ADDRESS)) for url in column), default=0))
            for column in zip(*(pair.addresses for pair in page), strict=True)
        ]
        for pair in page:
            counts[pair.action] += 1
            yield _Listed(pair, namespace, (widths[0], widths[1]))


def _action(action: str) -> str:
    return ACTIONS.get(action, shortened(action, 40))


def _reason(pair: Pair) -> str:
    if pair.differs:
        return in_words(pair.differs)
    if pair.action == SAME:
        return "unchanged"
    if pair.compared_by == EXACT:
        return "the items are equal"
    what = "main texts of the pages" if pair.compared_by == PAGE else "texts"
    is_same = pair.similarity == 1 and not pair.estimated
    return f"the {what} are {'equal' if is_same else 'similar'}"


def in_lines(pairs: Iterable[Pair]) -> Iterator[str]:
    """Pairs as lines of a table for people."""
    return map(_line, _listed("", [[*pairs]], Counter()))


def _line(listed: _Listed) -> str:
    pair, _, (width, other_width) = listed
    similarity = "-"
    if pair.similarity is not None:
        similarity = format_similarity(pair.similarity, estimated=pair.estimated)
    url, other = (shortened(one or "(deleted)", _ADDRESS) for one in pair.addresses)
    values = [
        (f"{shortened(name, VALUE)}: " if name != pair.differs else "") + in_values(*both)
        for name, both in [*pair.fields.items()][: 1 if pair.differs in pair.fields else _VALUES]
    ]
    reason = ": ".join([_reason(pair), "; ".join(values)] if values else [_reason(pair)])
    return f"{similarity:>10}  {url:{width}}  {other:{other_width}}  {reason}"


def _fields(listed: _Listed) -> dict[str, Any]:
    pair = listed.pair
    url, original = pair.addresses
    return {
        "action": pair.action,
        "url": url,
        "original": original,
        "similarity": None if pair.similarity is None else round(pair.similarity, 4),
        "estimated": pair.estimated,
        "reason": _reason(pair),
        "fields": pair.fields,
        "created": iso_time(pair.created),
        "namespace": listed.namespace,
        "run": pair.run,
        # JavaScript and jq round numbers of 63 bits.
        "id": None if pair.action == KEPT else str(pair.id),
    }

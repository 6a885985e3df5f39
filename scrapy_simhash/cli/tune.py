"""``scrapy simhash tune``: what other similarities would drop, from what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.table import Table
from rich.text import Text

from scrapy_simhash import history
from scrapy_simhash.cli.arguments import add_database, add_json, add_run, not_negative, positive
from scrapy_simhash.cli.output import (
    excerpts,
    marked_excerpts,
    open_console,
    print_json,
    progress_bar,
    text_changes,
)
from scrapy_simhash.cli.project import CommandError
from scrapy_simhash.cli.replay import Similarities, levels, replay
from scrapy_simhash.simhash.measure import distance, similarity_at
from scrapy_simhash.simhash.scheme import keyed
from scrapy_simhash.visible import plural, shortened

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray
    from rich.console import Console

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.cli.replay import Level, Replay
    from scrapy_simhash.db.transactions import Database

__all__ = ["add_arguments", "print_tuned", "run", "tuned"]

_LIMIT, _EXAMPLES = 50_000, 3


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
    add_run(parser)
    parser.add_argument(
        "--examples",
        type=not_negative,
        default=_EXAMPLES,
        metavar="N",
        help="borderline pairs to show on each side of the present threshold (default: 3)",
    )
    parser.add_argument(
        "--limit",
        type=positive,
        default=_LIMIT,
        metavar="N",
        help="replay only the newest N stored items and N duplicates (default: 50000)",
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.namespace() as (database, namespace):
        figures = tuned(
            project,
            database,
            namespace,
            run=options.run,
            limit=options.limit,
            examples=options.examples,
        )
    if options.json:
        print_json(figures)
    else:
        print_tuned(open_console(), figures)


def tuned(
    project: Project,
    database: Database,
    namespace: history.NamespaceRow,
    *,
    run: int | None = None,
    limit: int = _LIMIT,
    examples: int = _EXAMPLES,
) -> dict[str, Any]:
    """What each threshold would drop, and the pairs closest to the present one.

    Args:
        project: has the present threshold.
        database: where the documents are.
        namespace: their namespace.
        run: counts only the documents of this run.
        limit: replays the newest so many stored items and duplicates.
        examples: the number of pairs on each side of the present threshold.

    Raises:
        CommandError: the namespace has another scheme than the project.
        NotFound: there is nothing to decide on.
    """
    scheme, rule = keyed(project.settings.scheme, database.secret), project.rule
    if namespace.scheme != scheme.id:
        raise CommandError(
            f"namespace {namespace.name!r} has the scheme {namespace.scheme!r}, the project has "
            f"{scheme.id!r}: change SIMHASH_SCHEME"
        )
    documents = history.documents(database, namespace, run, limit=limit)
    counted = np.array([run in {None, row.run} for row in documents.rows], bool)
    if not counted.any():
        of_run = "" if run is None else f" of run {run}"
        raise history.NotFound(f"the namespace {namespace.name!r} has nothing{of_run} to replay")
    tried, present = levels(rule, scheme.bits)
    measure = Similarities(database, namespace, scheme, documents, tried[0].similarity or 0.0)
    with progress_bar() as progress:
        task = progress.add_task("Replaying", total=len(documents))
        replays = replay(
            documents,
            tried,
            measure,
            rule,
            advance=lambda count: progress.advance(task, count),
        )
    borderline = _Borderline(database, namespace, documents, counted)
    return {
        "namespace": namespace.name,
        "run": run,
        "documents": int(counted.sum()),
        "left_out": documents.left_out,
        "setting": "SIMHASH_DISTANCE" if rule.similarity is None else "SIMHASH_SIMILARITY",
        "levels": [
            {
                "threshold": level.name,
                "limit": level.limit,
                "dropped": int((counted & ~one.kept).sum()),
                "kept": int((counted & one.kept).sum()),
                "is_present": number == present,
            }
            for number, (level, one) in enumerate(zip(tried, replays, strict=True))
        ],
        # The pairs closest to the present threshold come first.
        "borderline": [
            {
                "dropped_at": tried[looser].name,
                "kept_at": tried[looser + 1].name,
                "pairs": borderline.describe(
                    borderline.pairs(replays[looser], replays[looser + 1], tried[looser + 1])[
                        :: 1 if looser == present else -1
                    ][:examples]
                ),
            }
            for looser in (present, present - 1)
            if 0 <= looser < len(tried) - 1
        ],
    }


class _Pair(NamedTuple):
    """A dropped document and its match, by their numbers."""

    similarity: float
    number: int
    match: int
    estimated: bool


class _Borderline:
    """Finds and describes pairs that one level drops and the next one keeps."""

    def __init__(
        self,
        database: Database,
        namespace: history.NamespaceRow,
        documents: history.Documents,
        counted: NDArray[np.bool_],
    ) -> None:
        self._database = database
        self._namespace = namespace
        self._documents = documents
        self._counted = counted

    def pairs(self, looser: Replay, stricter: Replay, level: Level) -> list[_Pair]:
        """The pairs, sorted by similarity.

        Later crawls of the same two pages give no pair of their own. A document that the stricter
        level keeps only because it drops its match gives none.
        """
        rows = self._documents.rows
        found: dict[tuple[object, ...], _Pair] = {}
        for number, (match, known, is_estimate) in looser.matches.items():
            if not (self._counted[number] and stricter.kept[number]):
                continue
            apart = self._distance(number, match)
            similarity = similarity_at(apart, self._namespace.bits) if known is None else known
            is_near = (
                apart <= level.limit if level.similarity is None else similarity >= level.similarity
            )
            if not is_near:
                one, other = rows[number], rows[match]
                pages = (one.url, other.url, one.fingerprint, other.fingerprint)
                pair = _Pair(similarity, number, match, known is None or is_estimate)
                found.setdefault(pages, pair)
        return sorted(found.values())

    def describe(self, pairs: Sequence[_Pair]) -> list[dict[str, Any]]:
        """The pairs with their addresses and differences."""
        places = self._documents.places
        wanted = {places[number] for pair in pairs for number in (pair.number, pair.match)}
        urls = history.urls(self._database, self._namespace, wanted)
        described = []
        for pair in pairs:
            place, other = places[pair.number], places[pair.match]
            # One pair at a time: texts may be large.
            texts = history.texts(self._database, self._namespace, (place, other))
            changes = text_changes(texts.get(other), texts.get(place))
            described.append(
                {
                    "url": urls.get(place),
                    "match": urls.get(other),
                    "similarity": pair.similarity,
                    "estimated": pair.estimated,
                    "distance": self._distance(pair.number, pair.match),
                    "changes": None if changes is None else len(changes),
                    "differs": None if changes is None else excerpts(texts[other], changes),
                }
            )
        return described

    def _distance(self, number: int, match: int) -> int:
        one, other = (self._documents.rows[row].fingerprint for row in (number, match))
        return distance(int.from_bytes(one, "big"), int.from_bytes(other, "big"))


def print_tuned(console: Console, figures: Mapping[str, Any]) -> None:
    """Print the table and the borderline pairs."""
    table = Table(figures["setting"].removeprefix("SIMHASH_").lower())
    for title in ("dropped", "kept"):
        table.add_column(title, justify="right")
    for level in figures["levels"]:
        table.add_row(
            f"{level['threshold']} (now)" if level["is_present"] else level["threshold"],
            f"{level['dropped']:,}",
            f"{level['kept']:,}",
        )
    console.print(table)
    if left_out := figures["left_out"]:
        console.print(f"Not replayed (--limit): {left_out:,} older stored items.")
    steps = [step for step in figures["borderline"] if step["pairs"]]
    for step in steps:
        title = f"Dropped at {step['dropped_at']}, kept at {step['kept_at']}:"
        console.print(f"\n{title}", style="bold")
        grid = Table.grid(padding=(0, 2), pad_edge=True)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(overflow="fold")
        for pair in step["pairs"]:
            grid.add_row(_closeness(pair, figures["setting"]), Text(shortened(pair["url"] or "?")))
            grid.add_row("match", Text(shortened(pair["match"] or "?")))
            grid.add_row("", marked_excerpts(pair["differs"], pair["changes"]))
        console.print(grid)
    if steps:
        console.print("\n[-only in the match-] {+only in the page+}", style="dim")


def _closeness(pair: Mapping[str, Any], setting: str) -> str:
    if setting == "SIMHASH_DISTANCE":
        return f"{pair['distance']} {plural(pair['distance'], 'bit')}"
    if pair["estimated"]:
        return f"about {pair['similarity']:.2f}"
    # Rounded down: a similarity just below a threshold must not look equal to it.
    return f"{int(pair['similarity'] * 1000 + 1e-6) / 1000:.3f}"

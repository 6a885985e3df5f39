"""``scrapy simhash tune``: what other similarities would drop, from what is stored."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scrapy_simhash.cli.arguments import add_database, add_json, add_run, not_negative, positive
from scrapy_simhash.cli.output import marked_difference, open_console, progress_bar, text_changes
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.cli.replay import Level, Replay, Similarities, levels, replay
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import NotFound
from scrapy_simhash.history.documents import Documents, read_documents
from scrapy_simhash.history.pages import read_texts
from scrapy_simhash.history.query import NamespaceRow
from scrapy_simhash.index.learned import read_learned
from scrapy_simhash.index.rule import Met
from scrapy_simhash.simhash.measure import similarity_at
from scrapy_simhash.simhash.scheme import keyed
from scrapy_simhash.visible import plural, shortened

_LIMIT, _EXAMPLES = 50_000, 3

# Characters shown of a difference.
_SHOWN = 500


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
    with project.namespace_of(options.run) as (database, namespace):
        chosen = {name: getattr(options, name) for name in ("run", "limit", "examples")}
        figures = tuned(project, database, namespace, **chosen)
    if options.json:
        print_json(figures)
    else:
        print_tuned(open_console(), figures)


def tuned(
    project: Project,
    database: Database,
    namespace: NamespaceRow,
    *,
    run: int | None = None,
    limit: int = _LIMIT,
    examples: int = _EXAMPLES,
) -> dict[str, Any]:
    """What each threshold would drop, and the pairs closest to the present one, on each side.

    Counts only the documents of the given run. See the options for `limit` and `examples`.
    """
    scheme, rule = keyed(project.settings.scheme, database.secret), project.settings.rule
    if namespace.scheme != scheme.id:
        raise CommandError(
            f"namespace {namespace.name!r} has the scheme {namespace.scheme!r}, the project has "
            f"{scheme.id!r}: change SIMHASH_SCHEME"
        )
    documents = read_documents(database, namespace, run, limit=limit)
    counted = np.array([run in {None, row.run} for row in documents.rows], bool)
    if not counted.any():
        raise NotFound(f"the namespace {namespace.name!r} has nothing to replay")
    tried, present = levels(rule, scheme.bits)
    learned = read_learned(database, namespace.id) if rule.learn else ()
    measure = Similarities(database, namespace, scheme, documents, tried[0].similarity or 0.0)
    with progress_bar() as progress:
        advance = partial(
            progress.advance, progress.add_task("Replaying", total=len(documents.rows))
        )
        changes = measure.changes
        replays = replay(documents, tried, measure, rule, changes, learned=learned, advance=advance)
    steps = []
    # The steps next to the present level; in each, the pairs closest to it first.
    for looser in (present, present - 1):
        if 0 <= looser < len(tried) - 1:
            stricter = tried[looser + 1]
            pairs = _borderline(documents, replays[looser], replays[looser + 1], stricter, counted)
            pairs.sort(key=lambda pair: pair[1].similarity or 0.0, reverse=looser < present)
            shown = [_described(database, namespace, documents, *one) for one in pairs[:examples]]
            names = {"dropped_at": tried[looser].threshold, "kept_at": stricter.threshold}
            steps.append({**names, "pairs": shown})
    return {
        "namespace": namespace.name,
        "run": run,
        "documents": int(counted.sum()),
        "left_out": documents.left_out,
        "setting": "SIMHASH_DISTANCE" if rule.similarity is None else "SIMHASH_SIMILARITY",
        "levels": [
            {
                **level._asdict(),
                "dropped": int((counted & ~one.kept).sum()),
                "kept": int((counted & one.kept).sum()),
                "is_present": level is tried[present],
            }
            for level, one in zip(tried, replays, strict=True)
        ],
        "borderline": steps,
    }


def _borderline(
    documents: Documents, looser: Replay, stricter: Replay, level: Level, counted: NDArray[np.bool_]
) -> list[tuple[int, Met]]:
    """The documents that one level drops and the stricter one keeps, each with its match.

    Later crawls of the same two pages give no pair of their own. A document that the stricter level
    keeps only because it drops its match gives none.
    """
    found: dict[tuple[object, ...], tuple[int, Met]] = {}
    for number, match in looser.matches.items():
        if not (counted[number] and stricter.kept[number]):
            continue
        one, other = documents.rows[number], match.claim
        similarity, is_estimate = match.similarity, match.estimated
        if similarity is None:
            similarity = similarity_at(match.distance, 8 * len(one.fingerprint))
            is_estimate = True
        is_near = match.distance <= level.limit
        if level.similarity is not None:
            is_near = similarity >= level.similarity
        if not is_near:
            pages = (one.url, other.url, one.fingerprint, other.fingerprint)
            pair = (number, match._replace(similarity=similarity, estimated=is_estimate))
            found.setdefault(pages, pair)
    return list(found.values())


def _described(
    database: Database, namespace: NamespaceRow, documents: Documents, number: int, match: Met
) -> dict[str, Any]:
    """A pair with its addresses and differences."""
    place, other = documents.places[number], documents.places[match.claim.id - 1]
    texts = read_texts(database, namespace, (place, other))
    return {
        "url": documents.rows[number].url,
        "match": documents.rows[match.claim.id - 1].url,
        "similarity": match.similarity,
        "estimated": match.estimated,
        "distance": match.distance,
        "text_of_match": texts.get(other),
        "difference": text_changes(texts.get(other), texts.get(place)),
    }


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
            grid.add_row(_closeness(pair, figures["setting"]), Text(shortened(pair["url"])))
            grid.add_row("match", Text(shortened(pair["match"])))
            differs = marked_difference(pair["text_of_match"], pair["difference"])
            differs.truncate(_SHOWN, overflow="ellipsis")
            grid.add_row("", differs)
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

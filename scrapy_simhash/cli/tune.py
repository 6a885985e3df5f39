"""``scrapy simhash tune``: replay what is stored at other similarities, without crawling again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table
from rich.text import Text

from scrapy_simhash import history
from scrapy_simhash.cli.arguments import add_database, add_json, add_run, positive
from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.output import (
    format_similarity,
    open_console,
    print_json,
    progress_bar,
)
from scrapy_simhash.cli.pairs import tune_by_pairs
from scrapy_simhash.cli.replay import levels, recommend, replay, steps
from scrapy_simhash.cli.similarities import Similarities
from scrapy_simhash.report.visible import shortened
from scrapy_simhash.simhash.measure import similarity_at

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.cli.replay import Level
    from scrapy_simhash.db.transactions import Database

__all__ = ["add_arguments", "run"]

_OTHER_NUMBER = (
    "Another number at the present threshold means another setting then, or claims that are gone."
)
_ALL_WITH_ALL = (
    "Each page is compared with every one kept before it, so this finds what the keys of the index "
    "may have missed; it knows nothing of pages that were released, expired or skipped."
)


# Of an estimate, from which on the texts are read; its standard error is .03 at most.
_ERROR = 0.15


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_database(parser)
    add_json(parser)
    add_run(parser)
    parser.add_argument(
        "--pairs",
        metavar="FILE",
        help="judge by labelled pairs instead: JSON Lines with a, b and label",
    )
    parser.add_argument("--examples", type=int, default=3, metavar="N", help="for each step")
    parser.add_argument(
        "--limit",
        type=positive,
        default=50_000,
        metavar="N",
        help="replay the newest so many claims and duplicates (default: 50000)",
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    settings, rule = project.settings, project.rule
    is_distance = rule.similarity is None
    tried, present = levels(
        settings.similarity, rule.limit if is_distance else None, settings.scheme.bits
    )
    if options.pairs is not None:
        tune_by_pairs(project, options, tried, present)
        return
    with project.namespace() as (database, namespace):
        if namespace.scheme != settings.scheme.id:
            raise CommandError(
                f"namespace {namespace.name!r} has the scheme {namespace.scheme!r}, the project "
                f"{settings.scheme.id!r}: set SIMHASH_SCHEME to the former"
            )
        documents = history.documents(database, namespace, options.run, limit=options.limit)
        counted = _counted(namespace, documents, options.run)
        least = min((level.similarity or 0.0) for level in tried) - _ERROR
        measure = Similarities(database, namespace, settings.scheme, documents, least)
        with progress_bar() as progress:
            task = progress.add_task("Replaying", total=len(documents))
            replayed = replay(
                documents,
                tried,
                measure,
                facts=rule.facts,
                same_url=rule.same_url,
                advance=lambda count: progress.advance(task, count),
            )
        pairs = steps(replayed, counted, options.examples)
        examples = _examples(database, namespace, documents, measure, pairs)
    kept = replayed.kept[:, counted]
    figures = {
        "namespace": namespace.name,
        "run": options.run,
        "documents": int(counted.sum()),
        "levels": _levels(tried, present, kept, examples),
        "recommended": tried[recommend(kept, present)].name,
        "notes": _notes(documents, counted),
    }
    if options.json:
        print_json(figures)
        return
    _print_levels(figures, "distance" if is_distance else "similarity")


def _counted(
    namespace: history.NamespaceRow, documents: history.Documents, run: int | None
) -> NDArray[np.bool_]:
    """Which of the documents are asked about."""
    counted = np.array([run in {None, row.run} for row in documents.rows], bool)
    if not counted.any():
        of_run = "" if run is None else f" of run {run}"
        raise history.NotFound(f"there is nothing{of_run} in {namespace.name!r}")
    return counted


def _levels(
    tried: Sequence[Level],
    present: int,
    kept: NDArray[np.bool_],
    examples: Sequence[Sequence[Mapping[str, Any]]],
) -> list[dict[str, Any]]:
    return [
        {
            "threshold": level.name,
            "limit": level.limit,
            "kept": int(kept[number].sum()),
            "dropped": int((~kept[number]).sum()),
            "decided_otherwise": int((kept[number] != kept[present]).sum()),
            "is_present": number == present,
            # The strictest level has no stricter one to differ from.
            "examples": examples[number] if number < len(examples) else [],
        }
        for number, level in enumerate(tried)
    ]


def _examples(
    database: Database,
    namespace: history.NamespaceRow,
    documents: history.Documents,
    measure: Similarities,
    steps: Sequence[Sequence[tuple[int, int]]],
) -> list[list[dict[str, Any]]]:
    """The pairs of each step with their URLs and similarities."""
    pairs = {pair for step in steps for pair in step}
    places = {number: documents.places[number] for pair in pairs for number in pair}
    urls = history.urls(database, namespace, places.values())
    similarities = measure(pairs)

    def example(pair: tuple[int, int]) -> dict[str, Any]:
        url, match = (urls.get(places[number], "?") for number in pair)
        one, other = (documents.rows[number].fingerprint for number in pair)
        apart = (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()
        similarity, estimated = similarities[pair]
        if similarity is None:
            similarity, estimated = similarity_at(apart, namespace.bits), True
        return {
            "url": url,
            "match": match,
            "distance": apart,
            "similarity": similarity,
            "estimated": estimated,
        }

    return [[example(pair) for pair in step] for step in steps]


def _notes(documents: history.Documents, counted: NDArray[np.bool_]) -> list[str]:
    is_drop = np.array([duplicate > 0 for _, duplicate in documents.places], bool)
    dropped = int(is_drop[counted].sum())
    notes = [
        _ALL_WITH_ALL,
        f"{dropped:,} of {int(counted.sum()):,} were dropped when crawled. {_OTHER_NUMBER}",
    ]
    if documents.left_out:
        notes.append(f"{documents.left_out:,} older claims were left out (--limit).")
    return notes


def _print_levels(figures: Mapping[str, Any], kind: str) -> None:
    console = open_console()
    levels = figures["levels"]
    table = Table(kind, "distance up to", "kept", "dropped", "decided otherwise than now")
    for level in levels:
        table.add_row(
            f"{level['threshold']} (now)" if level["is_present"] else level["threshold"],
            *(f"{level[name]:,}" for name in ("limit", "kept", "dropped", "decided_otherwise")),
        )
    console.print(table)
    for number, level in enumerate(levels):
        if level["examples"]:
            after = levels[number + 1]["threshold"]
            title = f"Dropped at {level['threshold']}, kept at {after}"
            console.print(_examples_table(title, level["examples"]))
    recommended = figures["recommended"]
    setting = f"SIMHASH_{kind.upper()} = {recommended}"
    is_present = any(level["is_present"] and level["threshold"] == recommended for level in levels)
    console.print(
        f"Recommended: keep {setting}; no other value has fewer decisions hanging on it."
        if is_present
        else f"Recommended: {setting}, around which fewer decisions hang. Read the examples "
        "first: fingerprints can't say what is the same to you."
    )
    for note in figures["notes"]:
        console.print(note, style="dim")


def _examples_table(title: str, examples: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(
        "dropped",
        "near-duplicate of",
        "similarity",
        "distance",
        title=title,
        title_justify="left",
    )
    for example in examples:
        table.add_row(
            Text(shortened(example["url"])),
            Text(shortened(example["match"])),
            format_similarity(example["similarity"], estimated=example["estimated"]),
            str(example["distance"]),
        )
    return table

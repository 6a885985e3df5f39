"""``scrapy simhash tune``: replay what is stored at other similarities, without crawling again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table
from rich.text import Text

from scrapy_simhash import history
from scrapy_simhash.cli.arguments import add_database, add_json, add_run, positive
from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.output import open_console, print_json, progress_bar
from scrapy_simhash.cli.pairs import tune_by_pairs
from scrapy_simhash.cli.replay import levels, recommend, replay, steps
from scrapy_simhash.report.visible import shortened
from scrapy_simhash.simhash.measure import jaccard, similarity_at
from scrapy_simhash.simhash.scheme import own_distance

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.cli.replay import Level, Pair
    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.simhash.scheme import Scheme

__all__ = ["add_arguments", "run"]

_OTHER_NUMBER = (
    "Another number at the present threshold means another setting then, or claims that are gone."
)
_ALL_WITH_ALL = (
    "Each page is compared with every one kept before it, so this finds what the keys of the index "
    "may have missed; it knows nothing of pages that were released, expired or skipped."
)


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
    settings = project.settings
    distance = own_distance(settings.scheme) if settings.distance is None else settings.distance
    tried, present = levels(settings.similarity, distance, settings.scheme.bits)
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
        counted = np.ones(len(documents), bool)
        if options.run is not None:
            counted = documents.runs == options.run
        if not counted.any():
            of_run = "" if options.run is None else f" of run {options.run}"
            raise history.NotFound(f"there is nothing{of_run} in {namespace.name!r}")
        with progress_bar() as progress:
            task = progress.add_task("Replaying", total=len(documents))
            kept = replay(documents, tried, lambda count: progress.advance(task, count))
        pairs = steps(documents, kept, counted, options.examples)
        examples = _examples(database, namespace, settings.scheme, documents, pairs)
    kept = kept[:, counted]
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
    _print_levels(figures, "similarity" if distance is None else "distance")


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
    scheme: Scheme,
    documents: history.Documents,
    steps: Sequence[Sequence[Pair]],
) -> list[list[dict[str, Any]]]:
    """The pairs of each step with their URLs and, where texts are kept, exact similarities."""
    named = {number for step in steps for pair in step for number in (pair.document, pair.match)}
    places = {
        number: (int(documents.claims[number]), int(documents.numbers[number])) for number in named
    }
    urls = history.urls(database, namespace, places.values())
    texts = history.texts(database, namespace, places.values())
    return [
        [
            {
                "url": urls.get(places[pair.document], "?"),
                "match": urls.get(places[pair.match], "?"),
                "distance": pair.distance,
                "similarity": similarity_at(pair.distance, scheme.bits),
                "jaccard": _jaccard(
                    scheme, texts.get(places[pair.document]), texts.get(places[pair.match])
                ),
            }
            for pair in step
        ]
        for step in steps
    ]


def _jaccard(scheme: Scheme, text: str | None, other: str | None) -> float | None:
    """The exact similarity of two texts, if both are kept and the scheme has shingles."""
    if text is None or other is None:
        return None
    a, b = scheme.sketch(text).shingles, scheme.sketch(other).shingles
    return None if a is None or b is None else jaccard(a, b)


def _notes(documents: history.Documents, counted: NDArray[np.bool_]) -> list[str]:
    dropped = int((~documents.kept[counted]).sum())
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
        "distance",
        "estimated",
        "exact",
        title=title,
        title_justify="left",
    )
    for example in examples:
        exact = example["jaccard"]
        table.add_row(
            Text(shortened(example["url"])),
            Text(shortened(example["match"])),
            str(example["distance"]),
            f"{example['similarity']:.2f}",
            "" if exact is None else f"{exact:.2f}",
        )
    return table

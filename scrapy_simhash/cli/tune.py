"""``scrapy simhash tune``: replay what is stored at other similarities, without crawling again."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from rich.table import Table
from rich.text import Text

from scrapy_simhash import history
from scrapy_simhash.cli import replay as tuning
from scrapy_simhash.cli.arguments import add_database, add_json, positive
from scrapy_simhash.cli.output import open_console, print_json, progress_bar
from scrapy_simhash.cli.pairs import tune_by_pairs
from scrapy_simhash.cli.texts import jaccard
from scrapy_simhash.report.visible import shortened
from scrapy_simhash.simhash.measure import similarity_at

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from typing import Any

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.db.transactions import Database

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
    parser.add_argument("--run", type=int, metavar="N", help="of this run only")
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
    tried, present = tuning.levels(settings.similarity, settings.distance, settings.scheme.bits)
    if options.pairs is not None:
        tune_by_pairs(project, options, tried, present)
        return
    with project.namespace() as (database, namespace):
        if namespace.scheme != settings.scheme.id:
            raise ValueError(
                f"namespace {namespace.name!r} has the scheme {namespace.scheme!r}, the project "
                f"{settings.scheme.id!r}: set SIMHASH_SCHEME to the former"
            )
        documents = history.documents(database, namespace, options.run, limit=options.limit)
        counted = np.ones(len(documents), bool)
        if options.run is not None:
            counted = documents.runs == options.run
        if not counted.any():
            raise LookupError(f"there is nothing of run {options.run} in {namespace.name!r}")
        with progress_bar() as progress:
            task = progress.add_task("Replaying", total=len(documents))
            kept = tuning.replay(documents, tried, lambda count: progress.advance(task, count))
        pairs = tuning.steps(documents, kept, counted, options.examples)
        urls, jaccards = _names_of(database, namespace, documents, pairs)
    kept = kept[:, counted]
    advised = tuning.recommend(kept, present)
    rows: list[dict[str, Any]] = [
        {
            "threshold": level.name,
            "limit": level.limit,
            "kept": int(kept[number].sum()),
            "dropped": int((~kept[number]).sum()),
            "decided_otherwise": int((kept[number] != kept[present]).sum()),
            "is_present": number == present,
            "examples": [
                {
                    "url": urls[pair.document],
                    "match": urls[pair.match],
                    "distance": pair.distance,
                    "similarity": similarity_at(pair.distance, namespace.bits),
                    "jaccard": jaccards.get((pair.document, pair.match)),
                }
                for pair in (pairs[number] if number < len(pairs) else [])
            ],
        }
        for number, level in enumerate(tried)
    ]
    stored = int((~documents.kept[counted]).sum())
    notes = [
        _ALL_WITH_ALL,
        f"{stored:,} of {int(counted.sum()):,} were dropped when crawled. {_OTHER_NUMBER}",
    ]
    if documents.left_out:
        notes.append(f"{documents.left_out:,} older claims were left out (--limit).")
    if options.json:
        print_json(
            {
                "namespace": namespace.name,
                "run": options.run,
                "documents": int(counted.sum()),
                "levels": rows,
                "recommended": tried[advised].name,
                "notes": notes,
            }
        )
    else:
        _print_levels(rows, settings.distance is not None, advised, notes)


def _print_levels(
    rows: Sequence[dict[str, Any]], by_distance: bool, advised: int, notes: Sequence[str]
) -> None:
    console = open_console()
    kind = "distance" if by_distance else "similarity"
    table = Table(kind, "distance up to", "kept", "dropped", "decided otherwise than now")
    for row in rows:
        table.add_row(
            f"{row['threshold']} (now)" if row["is_present"] else row["threshold"],
            *(f"{row[name]:,}" for name in ("limit", "kept", "dropped", "decided_otherwise")),
        )
    console.print(table)
    for number, row in enumerate(rows):
        if row["examples"]:
            after = rows[number + 1]["threshold"]
            examples = Table(
                "dropped",
                "near-duplicate of",
                "distance",
                "estimated",
                "exact",
                title=f"Dropped at {row['threshold']}, kept at {after}",
                title_justify="left",
            )
            for example in row["examples"]:
                exact = example["jaccard"]
                examples.add_row(
                    Text(shortened(example["url"])),
                    Text(shortened(example["match"])),
                    str(example["distance"]),
                    f"{example['similarity']:.2f}",
                    "" if exact is None else f"{exact:.2f}",
                )
            console.print(examples)
    setting = f"SIMHASH_{kind.upper()} = {rows[advised]['threshold']}"
    console.print(
        f"Recommended: keep {setting}; no other value has fewer decisions hanging on it."
        if rows[advised]["is_present"]
        else f"Recommended: {setting}, around which fewer decisions hang. Read the examples "
        "first: fingerprints can't say what is the same to you."
    )
    for note in notes:
        console.print(note, style="dim")


def _names_of(
    database: Database,
    namespace: history.NamespaceRow,
    documents: history.Documents,
    pairs: Sequence[Sequence[tuning.Pair]],
) -> tuple[dict[int, str], dict[tuple[int, int], float]]:
    """The URLs of the examples and, where their texts are kept, their exact similarities."""
    both = [pair for step in pairs for pair in step]
    named = {number for pair in both for number in (pair.document, pair.match)}
    places = {
        number: (int(documents.claims[number]), int(documents.numbers[number])) for number in named
    }
    urls = history.urls(database, namespace, places.values())
    kept = history.texts(database, namespace, places.values())
    jaccards = {}
    if namespace.scheme.startswith("shingles/"):
        for pair in both:
            texts = [kept.get(places[number]) for number in (pair.document, pair.match)]
            if None not in texts:
                jaccards[pair.document, pair.match] = jaccard(*cast("list[str]", texts))
    return {number: urls.get(place, "?") for number, place in places.items()}, jaccards

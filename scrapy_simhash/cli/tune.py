"""``scrapy simhash tune``: replay what is stored at other similarities, without crawling again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash import history
from scrapy_simhash.cli.arguments import add_database, add_json, add_run, not_negative, positive
from scrapy_simhash.cli.borderline import describe, steps
from scrapy_simhash.cli.choice import choice, print_tuned
from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.output import print_json, progress_bar
from scrapy_simhash.cli.pairs import tune_by_pairs
from scrapy_simhash.cli.replay import levels, recommend, replay
from scrapy_simhash.cli.similarities import Similarities
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.plan import load_keys
from scrapy_simhash.simhash.scheme import keyed

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.cli.replay import Level
    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.keys.blocks import Blocks

__all__ = ["add_arguments", "run", "tuned"]

_OTHER_NUMBER = (
    "Another number at the present threshold means another setting then, or claims that are gone."
)
_ALL_WITH_ALL = (
    "Each page is compared with every one kept before it, so this finds what the keys of the index "
    "may have missed; it knows nothing of pages that were released, expired or skipped."
)


# Of an estimate, from which on the texts are read; its standard error is .03 at most.
_ERROR = 0.15

_LIMIT, _EXAMPLES = 50_000, 3


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
    parser.add_argument(
        "--examples",
        type=not_negative,
        default=_EXAMPLES,
        metavar="N",
        help="pairs that are shown of each step (default: 3)",
    )
    parser.add_argument(
        "--limit",
        type=positive,
        default=_LIMIT,
        metavar="N",
        help="replay the newest so many claims and duplicates (default: 50000)",
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    if options.pairs is not None:
        tune_by_pairs(project, options, *_tried(project))
        return
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
        print_tuned(figures, _tried(project)[1], _kind(project))


def tuned(
    project: Project,
    database: Database,
    namespace: history.NamespaceRow,
    *,
    run: int | None = None,
    limit: int = _LIMIT,
    examples: int = _EXAMPLES,
) -> dict[str, Any]:
    """What each threshold would have decided, and the pairs on which the choice hangs.

    Args:
        project: whose thresholds.
        database: where the documents are.
        namespace: in which one.
        run: the run that is asked about; all of them otherwise.
        limit: the newest so many claims and duplicates are decided on again.
        examples: pairs that are told of each step.

    Raises:
        CommandError: the namespace has another scheme than the project.
        NotFound: there is nothing to decide on.
    """
    rule, (tried, present) = project.rule, _tried(project)
    scheme = keyed(project.settings.scheme, database.secret)
    if namespace.scheme != scheme.id:
        raise CommandError(
            f"namespace {namespace.name!r} has the scheme {namespace.scheme!r}, the project "
            f"{scheme.id!r}: set SIMHASH_SCHEME to the former"
        )
    documents = history.documents(database, namespace, run, limit=limit)
    counted = _counted(namespace, documents, run)
    least = min((level.similarity or 0.0) for level in tried) - _ERROR
    measure = Similarities(database, namespace, scheme, documents, least)
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
    found = steps(
        replayed,
        documents,
        tried,
        present,
        counted=counted,
        bits=namespace.bits,
        examples=examples,
    )
    described = describe(database, namespace, documents, found)
    kept = replayed.kept[:, counted]
    keys = load_keys(namespace.plan)
    figures: dict[str, Any] = {
        "namespace": namespace.name,
        "run": run,
        "documents": int(counted.sum()),
        "keys": namespace.plan,
        "levels": _levels(tried, present, kept, keys),
        "recommended": tried[recommend(kept, present)].name,
        "notes": _notes(documents, counted),
    }
    for level, step, pairs in zip(figures["levels"], found, described, strict=False):
        level |= {"kept_at_next": step.changing, "examples": pairs}
    figures["choice"] = choice(figures["levels"], present, _kind(project))
    return figures


def _tried(project: Project) -> tuple[list[Level], int]:
    settings, rule = project.settings, project.rule
    limit = rule.limit if rule.similarity is None else None
    return levels(settings.similarity, limit, settings.scheme.bits)


def _kind(project: Project) -> str:
    return "distance" if project.rule.similarity is None else "similarity"


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
    tried: Sequence[Level], present: int, kept: NDArray[np.bool_], keys: Bands | Blocks
) -> list[dict[str, Any]]:
    now = kept[present]
    return [
        {
            "threshold": level.name,
            "limit": level.limit,
            "kept": int(kept[number].sum()),
            "dropped": int((~kept[number]).sum()),
            "more_dropped": int((now & ~kept[number]).sum()),
            "more_kept": int((~now & kept[number]).sum()),
            "decided_otherwise": int((kept[number] != now).sum()),
            "is_present": number == present,
            "met": _met(keys, level),
            # The strictest level has no stricter one to differ from.
            "kept_at_next": 0,
            "examples": [],
        }
        for number, level in enumerate(tried)
    ]


def _met(keys: Bands | Blocks, level: Level) -> float | None:
    """The share of the pairs of just that similarity that the index meets; None for a distance."""
    if level.similarity is None or not isinstance(keys, Bands):
        return None
    return keys.recall(level.similarity)


def _notes(documents: history.Documents, counted: NDArray[np.bool_]) -> list[str]:
    is_drop = np.array([duplicate > 0 for _, duplicate in documents.places], bool)
    dropped = int(is_drop[counted].sum())
    notes = [
        _ALL_WITH_ALL,
        f"Dropped when crawled: {dropped:,} of {int(counted.sum()):,}. {_OTHER_NUMBER}",
    ]
    if documents.left_out:
        notes.append(f"Older claims left out (--limit): {documents.left_out:,}.")
    return notes

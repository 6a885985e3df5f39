"""``scrapy simhash tune``: what other similarities would drop, from what is stored."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row

from scrapy_simhash.cli.arguments import add_database, add_json, add_run
from scrapy_simhash.cli.output import (
    marked_difference,
    open_console,
    print_table,
    progress_bar,
    wrapped,
)
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.cli.records import compared_texts
from scrapy_simhash.corpus.greedy import Decisions, decide_corpus
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import NOTHING, Sketches, SketchStore, make_part
from scrapy_simhash.exceptions import NotFound
from scrapy_simhash.history.decisions import with_contents
from scrapy_simhash.history.documents import read_documents, read_stored
from scrapy_simhash.history.record import Record
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.simhash.measure import hamming, similarity_at
from scrapy_simhash.simhash.scheme import keyed
from scrapy_simhash.visible import plural, shortened

# The newest stored items that are decided on, and as many duplicates.
_LIMIT = 50_000

# In the table.
_SIMILARITIES = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)

# Borderline pairs on each side of the present threshold.
_EXAMPLES = 3
# Characters shown of a difference.
_LONGEST_DIFFERENCE = 500


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
    add_run(parser)


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.namespace_of(options.run) as namespace:
        figures = tuned(project, namespace, options.run)
    if options.json:
        print_json(figures)
    else:
        print_tuned(figures)


def tuned(project: Project, namespace: NamespaceRow, run: int | None = None) -> dict[str, Any]:
    """What each threshold would drop, and the pairs closest to the present one, on each side.

    Counts only the documents of the given run.
    """
    settings, secret = project.settings, namespace.database.secret
    # A corpus has no visits; these are decided on as one.
    rule, scheme = replace(settings.rule, known=None), keyed(settings.scheme, secret)
    if namespace.scheme != scheme.id:
        raise CommandError(
            f"namespace {namespace.name!r} has the scheme {namespace.scheme!r}, the project has "
            f"{scheme.id!r}: change SIMHASH_SCHEME"
        )
    tried = levels(rule, scheme.bits)
    present = [threshold(level) for level in tried].index(threshold(rule))
    rows = read_stored(namespace, run, limit=_LIMIT)
    is_own = np.array([run in {None, row.run} for row in rows], bool)
    with closing(SketchStore(Path(gettempdir()))) as store, progress_bar() as progress:
        task = progress.add_task("Sketching", total=len(rows))
        # The keys that find most are used for all levels.
        plan = Plan.make(tried[0], secret)
        for documents in read_documents(namespace, rows, scheme):
            store.append(make_part(documents, plan))
            progress.advance(task, len(documents))
        sketches = store.read(plan, 0)
        has_text = sketches.rows["compared_by"] != NOTHING
        progress.update(task, description="Deciding", completed=0, total=len(tried))
        decisions = []
        for level in tried:
            at_level = replace(plan, rule=level)
            decisions.append(decide_corpus(sketches, at_level, reference=int((~is_own).sum())))
            progress.advance(task)
    counted = is_own & has_text
    if not counted.any():
        raise NotFound(f"the namespace {namespace.name!r} has nothing to replay")
    steps = []
    # The steps next to the present level; in each, the pairs closest to it first.
    for number in (present, present - 1):
        if 0 <= number < len(tried) - 1:
            stricter = tried[number + 1]
            least = stricter.threshold or similarity_at(stricter.limit, scheme.bits)
            dropped = borderline(decisions[number], decisions[number + 1], least, counted)
            closest = dropped[:: 1 if number == present else -1][:_EXAMPLES]
            names = {"dropped_at": threshold(tried[number]), "kept_at": threshold(stricter)}
            pairs = _measured(closest, rows, sketches)
            steps.append({**names, "pairs": _described(namespace, pairs)})
    return {
        "namespace": namespace.name,
        "run": run,
        "documents": int(counted.sum()),
        "left_out": int((~has_text).sum()) + max(0, namespace.size - _LIMIT),
        "setting": "SIMHASH_SIMILARITY" if rule.threshold else "SIMHASH_DISTANCE",
        "levels": [
            _counts(level, decided.kept[counted])
            for level, decided in zip(tried, decisions, strict=True)
        ],
        "present": threshold(rule),
        "borderline": steps,
    }


def _measured(
    pairs: Sequence[tuple[int, int, float]], rows: Sequence[Row[Any]], sketches: Sketches
) -> list[tuple[Row[Any], Row[Any], float, int]]:
    """The rows of pairs, with the similarity and the distance of each."""
    places = np.array([pair[:2] for pair in pairs], np.uint32).reshape(-1, 2)
    apart = hamming(*sketches.fingerprints(*places.T)).tolist()
    return [
        (rows[number], rows[match], near, bits)
        for (number, match, near), bits in zip(pairs, apart, strict=True)
    ]


def _counts(rule: Rule, kept: NDArray[np.bool_]) -> dict[str, Any]:
    dropped = int((~kept).sum())
    return {"threshold": threshold(rule), "dropped": dropped, "kept": int(kept.sum())}


def threshold(rule: Rule) -> str:
    """The value of the setting that gives a rule."""
    return str(rule.limit) if rule.threshold is None else f"{rule.threshold:g}"


def levels(rule: Rule, bits: int) -> list[Rule]:
    """The rules to try, the loosest first; the present one is among them."""
    if rule.threshold is None:
        distances = range(min(rule.limit + 4, bits // 2), max(rule.limit - 4, 0) - 1, -1)
        return [replace(rule, distance=distance) for distance in distances]
    similarities = sorted({*_SIMILARITIES, rule.threshold})
    return [replace(rule, similarity=similarity) for similarity in similarities]


def borderline(
    looser: Decisions, stricter: Decisions, least: float, counted: NDArray[np.bool_]
) -> list[tuple[int, int, float]]:
    """The documents that one level drops and the stricter one keeps, the least similar first.

    Each with its match and their similarity. One that the stricter level keeps only because it
    drops the match is left out.
    """
    is_below = looser.similarities < np.float32(least)
    numbers = np.flatnonzero(counted & ~looser.kept & stricter.kept & is_below)
    columns = (numbers, looser.matches[numbers], looser.similarities[numbers])
    pairs = zip(*(column.tolist() for column in columns), strict=True)
    return sorted(pairs, key=lambda pair: pair[2])


def _described(
    namespace: NamespaceRow, pairs: Iterable[tuple[Row[Any], Row[Any], float, int]]
) -> list[dict[str, Any]]:
    """Pairs, each with its similarity and distance, with their addresses and differences."""
    records = [
        Record(
            status="",
            page=row.url,
            original_page=other.url,
            similarity=similarity,
            distance=bits,
            places=(row.number, other.number),
        )
        for row, other, similarity, bits in pairs
    ]
    return [
        {
            "url": record.url,
            "original": record.original,
            "similarity": round(record.similarity or 0.0, 6),
            "distance": record.distance,
            **compared_texts(record),
        }
        for record in with_contents(namespace, records, None)
    ]


def print_tuned(figures: Mapping[str, Any]) -> None:
    """Print the table and the borderline pairs."""
    name, now = figures["setting"].removeprefix("SIMHASH_").lower(), figures["present"]
    rows = [
        (
            level["threshold"] + " (now)" * (level["threshold"] == now),
            level["dropped"],
            level["kept"],
        )
        for level in figures["levels"]
    ]
    print_table((name, "dropped", "kept"), rows)
    console = open_console()
    if left_out := figures["left_out"]:
        console.print(f"Not compared: {left_out:,}, as they are older or their texts are gone.")
    steps = [step for step in figures["borderline"] if step["pairs"]]
    for step in steps:
        title = f"Dropped at {step['dropped_at']}, kept at {step['kept_at']}:"
        console.print(f"\n{title}", style="bold")
        for pair in step["pairs"]:
            urls = (shortened(pair[side]) for side in ("url", "original"))
            line = "  ".join([in_words(pair, figures["setting"]), *urls])
            console.print(line, soft_wrap=True)
            pieces = marked_difference(pair["text_of_original"], pair["difference"])
            console.print(wrapped(pieces, console.width, _LONGEST_DIFFERENCE), "")
    if steps:
        console.print("[-only in the match-] {+only in the page+}", style="dim")


def in_words(pair: Mapping[str, Any], setting: str) -> str:
    """How close the texts of a pair are."""
    if setting == "SIMHASH_DISTANCE":
        return f"{pair['distance']} {plural(pair['distance'], 'bit')}"
    # Rounded down: a similarity just below a threshold must not look equal to it.
    return f"{int(pair['similarity'] * 1000 + 1e-4) / 1000:.3f}"

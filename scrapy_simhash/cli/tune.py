"""``scrapy simhash tune``: what other similarities would drop, from what is stored."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scrapy_simhash.cli.arguments import add_database, add_json, add_run
from scrapy_simhash.cli.output import marked_difference, open_console, progress_bar, text_changes
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import EXACT
from scrapy_simhash.exceptions import NotFound
from scrapy_simhash.features.changes import Changes
from scrapy_simhash.features.hashes import similarity_of
from scrapy_simhash.history.documents import Documents, read_documents
from scrapy_simhash.history.pages import read_texts
from scrapy_simhash.history.query import NamespaceRow
from scrapy_simhash.index.decide import decide
from scrapy_simhash.index.rule import Met, Rule, met_with
from scrapy_simhash.index.similarity_cache import changes_of
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.names import name_of
from scrapy_simhash.simhash.measure import SIMILARITIES, candidate_limit, hamming, jaccard
from scrapy_simhash.simhash.scheme import Scheme, keyed
from scrapy_simhash.text.markup import PAGE_FACTS
from scrapy_simhash.visible import plural, shortened

# The newest stored items that are decided on, and as many duplicates.
_LIMIT = 50_000

# Borderline pairs on each side of the present threshold, and characters shown of a difference.
_EXAMPLES, _SHOWN = 3, 500

# Documents that one is compared with at most; those of its identity and equal facts come first.
_MOST = 32

# Texts that are kept in memory, and their shingles.
_TEXTS = 1000

# An estimate may be off by this much: its standard error is at most .03.
_ERROR = 0.15

# Names that the rule treats specially; the index stores only hashes of names.
_PAGE_FACTS = {name_of(name).key: name for name in PAGE_FACTS}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
    add_run(parser)


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.namespace_of(options.run) as (database, namespace):
        figures = tuned(project, database, namespace, options.run)
    if options.json:
        print_json(figures)
    else:
        print_tuned(open_console(), figures)


def tuned(
    project: Project, database: Database, namespace: NamespaceRow, run: int | None = None
) -> dict[str, Any]:
    """What each threshold would drop, and the pairs closest to the present one, on each side.

    Counts only the documents of the given run.
    """
    scheme, rule = keyed(project.settings.scheme, database.secret), project.settings.rule
    if namespace.scheme != scheme.id:
        raise CommandError(
            f"namespace {namespace.name!r} has the scheme {namespace.scheme!r}, the project has "
            f"{scheme.id!r}: change SIMHASH_SCHEME"
        )
    documents = read_documents(database, namespace, run, limit=_LIMIT)
    counted = np.array([run in {None, row.run} for row in documents.rows], bool)
    if not counted.any():
        raise NotFound(f"the namespace {namespace.name!r} has nothing to replay")
    tried, present = levels(rule, scheme.bits)
    compare = Comparison(database, namespace, scheme, documents, tried[0].rule.similarity or 0.0)
    with progress_bar() as progress:
        task = progress.add_task("Deciding", total=len(documents.rows))
        replays = replay(documents, tried, compare, partial(progress.advance, task))
    steps = []
    # The steps next to the present level; in each, the pairs closest to it first.
    for looser in (present, present - 1):
        if 0 <= looser < len(tried) - 1:
            stricter = tried[looser + 1]
            pairs = borderline(replays[looser], replays[looser + 1], stricter.rule)
            pairs = [pair for pair in pairs if counted[pair[0]]]
            pairs.sort(key=lambda pair: _closeness(pair[1]), reverse=looser < present)
            names = {"dropped_at": tried[looser].threshold, "kept_at": stricter.threshold}
            shown = [_described(documents, compare, *pair) for pair in pairs[:_EXAMPLES]]
            steps.append({**names, "pairs": shown})
    return {
        "namespace": namespace.name,
        "run": run,
        "documents": int(counted.sum()),
        "left_out": documents.left_out,
        "setting": "SIMHASH_DISTANCE" if rule.similarity is None else "SIMHASH_SIMILARITY",
        "levels": [
            {
                "threshold": level.threshold,
                "limit": level.rule.limit,
                "similarity": level.rule.similarity,
                "dropped": int((counted & ~one.kept).sum()),
                "kept": int((counted & one.kept).sum()),
                "is_present": level is tried[present],
            }
            for level, one in zip(tried, replays, strict=True)
        ],
        "borderline": steps,
    }


class Level(NamedTuple):
    """A value of the setting to try, and the rule with it."""

    threshold: str
    rule: Rule


def levels(rule: Rule, bits: int) -> tuple[list[Level], int]:
    """The thresholds to try, the loosest first, and the position of the present one."""
    rule = Rule(rule.limit, rule.similarity, rule.facts)
    if rule.similarity is not None:
        tried = sorted({*SIMILARITIES, rule.similarity})
        named = [
            Level(f"{one:g}", replace(rule, limit=candidate_limit(one), similarity=one))
            for one in tried
        ]
        return named, tried.index(rule.similarity)
    around = range(min(rule.limit + 4, bits // 2), max(rule.limit - 4, 0) - 1, -1)
    return [Level(str(one), replace(rule, limit=one)) for one in around], around.index(rule.limit)


class Comparison:
    """Compares stored documents: by their texts where both are kept, by an estimate elsewhere.

    Texts whose estimated similarity is far below the least that matters are not read.
    """

    def __init__(
        self,
        database: Database,
        namespace: NamespaceRow,
        scheme: Scheme,
        documents: Documents,
        least: float = 0.0,
    ) -> None:
        self._rows = documents.rows
        self._least = least - _ERROR

        def text(number: int) -> str | None:
            place = documents.places[number]
            return read_texts(database, namespace, [place]).get(place)

        def shingles(number: int) -> NDArray[np.uint64] | None:
            found = self.text(number)
            return None if found is None else scheme.sketch(found).shingles

        self.text, self._shingles = lru_cache(_TEXTS)(text), lru_cache(_TEXTS)(shingles)

    def similarity(self, one: int, other: int) -> tuple[float | None, bool]:
        """That of two documents, by their numbers, and whether it is an estimate."""
        a, b = self._rows[one], self._rows[other]
        if a.minhash is None or b.minhash is None:
            return None, False
        if (a.minhash, a.fingerprint, a.size) == (b.minhash, b.fingerprint, b.size):
            return 1.0, False
        estimate = similarity_of(a.minhash, b.minhash)
        if estimate >= self._least:
            mine, theirs = self._shingles(one), self._shingles(other)
            if mine is not None and theirs is not None:
                return jaccard(mine, theirs), False
        return estimate, True

    def changes(self, one: int, other: int) -> Changes | None:
        """How the text of a document differs from that of another; None if one is not kept."""
        new, old = self.text(one), self.text(other)
        return None if new is None or old is None else changes_of(new, old)


class Replay(NamedTuple):
    """What one level decides: which documents are kept, and the match of each that is dropped."""

    kept: NDArray[np.bool_]
    matches: dict[int, Met]


def replay(
    documents: Documents,
    tried: Sequence[Level],
    compare: Comparison,
    advance: Callable[[int], None] = lambda count: None,
) -> list[Replay]:
    """Decide on the documents again by the rule of the index, one after another, at each level.

    Each is compared with all that were kept before it, so this finds near-duplicates that the keys
    of an index may miss. `advance` is called with the number of documents done.
    """
    rows = documents.rows
    replays = [Replay(np.ones(len(rows), np.bool_), {}) for _ in tried]
    claimed = np.zeros((len(tried), len(rows)), np.bool_)
    neighbours = _Neighbours(documents, max(level.rule.limit for level in tried))
    for number, mine in enumerate(rows):
        met = [
            met_with(
                mine,
                rows[other],
                distance,
                partial(compare.similarity, number, other),
                partial(compare.changes, number, other),
            )
            for other, distance in neighbours.of(number, np.any(claimed[:, :number], axis=0))
        ]
        if not met:
            claimed[:, number] = True
            advance(1)
            continue
        facts = None
        if mine.facts is not None and mine.compared_by != EXACT:
            facts = Facts(Facts.unpack(mine.facts).records, _PAGE_FACTS)
        for level, has_claim, one in zip(tried, claimed, replays, strict=True):
            here = [other for other in met if has_claim[other.claim.id - 1]]
            (decision,) = decide([mine], [facts], [here], lambda *_: (), rule=level.rule, made={})
            has_claim[number] = decision.claims
            if decision.kind == "duplicate" and decision.match is not None:
                one.kept[number] = False
                one.matches[number] = decision.match
        advance(1)
    return replays


class _Neighbours:
    """Finds the documents that one is compared with."""

    def __init__(self, documents: Documents, limit: int) -> None:
        rows = documents.rows
        packed = np.frombuffer(b"".join(row.fingerprint for row in rows), np.uint8)
        self._fingerprints = packed.reshape(len(rows), -1)
        self._identities = np.array([row.identity for row in rows], np.int64)
        self._facts = np.array([hash(row.facts) for row in rows], np.int64)
        self._limit = limit

    def of(self, number: int, candidates: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
        """Earlier documents among the candidates, the most important first, with the distances."""
        apart = hamming(self._fingerprints[number], self._fingerprints[:number])
        near = np.flatnonzero(candidates & (apart <= self._limit))
        importance = np.where(self._facts[near] == self._facts[number], 1, 2)
        importance[self._identities[near] == self._identities[number]] = 0
        chosen = near[np.lexsort((apart[near], importance))][:_MOST]
        return zip(chosen.tolist(), apart[chosen].tolist(), strict=True)


def borderline(looser: Replay, stricter: Replay, rule: Rule) -> list[tuple[int, Met]]:
    """The documents that one level drops and the stricter one keeps, each with its match.

    One that the stricter level, of this rule, keeps only because it drops the match is left out.
    """
    return [
        (number, match)
        for number, match in looser.matches.items()
        if stricter.kept[number]
        and (
            match.distance > rule.limit
            if rule.similarity is None
            else (match.similarity or 0.0) < rule.similarity
        )
    ]


def _closeness(match: Met) -> tuple[float, int]:
    return match.similarity or 0.0, -match.distance


def _described(
    documents: Documents, compare: Comparison, number: int, match: Met
) -> dict[str, Any]:
    """A pair with its addresses and differences."""
    other = match.claim.id - 1
    text = compare.text(other)
    return {
        "url": documents.rows[number].url,
        "match": documents.rows[other].url,
        "similarity": match.similarity,
        "estimated": match.estimated,
        "distance": match.distance,
        "text_of_match": text,
        "difference": text_changes(text, compare.text(number)),
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
        console.print(f"Not compared: {left_out:,} older stored items.")
    steps = [step for step in figures["borderline"] if step["pairs"]]
    for step in steps:
        title = f"Dropped at {step['dropped_at']}, kept at {step['kept_at']}:"
        console.print(f"\n{title}", style="bold")
        grid = Table.grid(padding=(0, 2), pad_edge=True)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(overflow="fold")
        for pair in step["pairs"]:
            grid.add_row(in_words(pair, figures["setting"]), Text(shortened(pair["url"])))
            grid.add_row("match", Text(shortened(pair["match"])))
            differs = marked_difference(pair["text_of_match"], pair["difference"])
            differs.truncate(_SHOWN, overflow="ellipsis")
            grid.add_row("", differs)
        console.print(grid)
    if steps:
        console.print("\n[-only in the match-] {+only in the page+}", style="dim")


def in_words(pair: Mapping[str, Any], setting: str) -> str:
    """How close the texts of a pair are."""
    if setting == "SIMHASH_DISTANCE":
        return f"{pair['distance']} {plural(pair['distance'], 'bit')}"
    if pair["estimated"]:
        return f"about {pair['similarity']:.2f}"
    # Rounded down: a similarity just below a threshold must not look equal to it.
    return f"{int(pair['similarity'] * 1000 + 1e-6) / 1000:.3f}"

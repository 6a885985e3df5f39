"""What the sub-commands of ``scrapy simhash`` do. Their command line is in `commands.py`."""

from __future__ import annotations

import json
import os
import sys
import zlib
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import data_path
from scrapy.utils.request import fingerprint as request_fingerprint
from sqlalchemy.engine import make_url

from scrapy_simhash.cli import replay as tuning
from scrapy_simhash.crawl.quarantine import unpack
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.db.transactions import Database, check_url
from scrapy_simhash.exceptions import IndexUnavailable, SchemaMismatch
from scrapy_simhash.features.tokens import shingles
from scrapy_simhash.feed.dedupe import Counts, Feed, dedupe
from scrapy_simhash.history import drops as history
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.upkeep import (
    expire_claims,
    expire_duplicates,
    rebuild_keys,
    reset_namespace,
)
from scrapy_simhash.index.verdict import owner_of
from scrapy_simhash.keys.plan import choose_limits
from scrapy_simhash.report.difference import LONGEST, difference
from scrapy_simhash.report.visible import shortened, visible
from scrapy_simhash.simhash.measure import distance, similarity_at
from scrapy_simhash.text.density import page_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from scrapy.http import Response
    from scrapy.settings import Settings as ScrapySettings
    from sqlalchemy.engine import URL

    from scrapy_simhash.report.difference import Change

__all__ = ["run"]

_TROUBLE = (
    EOFError,
    ImportError,
    IndexUnavailable,
    LookupError,
    OSError,
    SchemaMismatch,
    TypeError,
    ValueError,
    zlib.error,
)

_DAY = 86400

_OTHER_NUMBER = (
    "Another number at the present threshold means another setting then, or claims that are gone."
)
_ALL_WITH_ALL = (
    "Each page is compared with every one kept before it, so this finds what the keys of the index "
    "may have missed; it knows nothing of pages that were released, expired or skipped."
)


def run(settings: ScrapySettings, options: Namespace) -> int:
    """Do what the command line asks for.

    Returns:
        the exit code: 0, or 1 after trouble, which is told in one line of standard error.
    """
    try:
        _COMMANDS[options.command](_Project(settings, options), options)
    except KeyboardInterrupt:
        print("scrapy simhash: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Who read the output has seen enough. What is still buffered must not fail at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except _TROUBLE as error:
        # A LookupError shows its message as a Python literal.
        message = error.args[0] if isinstance(error, LookupError) and error.args else error
        line = " ".join(visible(str(message)).split()) or type(error).__name__
        print(f"scrapy simhash {options.command}: {line}", file=sys.stderr)
        return 1
    return 0


class _Project:
    """The settings of the project, and its database."""

    def __init__(self, settings: ScrapySettings, options: Namespace) -> None:
        self.scrapy = settings
        self.settings = Settings.read(settings)
        self._url: str | None = getattr(options, "database", None)
        self._name: str | None = getattr(options, "namespace", None)

    @property
    def limit(self) -> int:
        """The distance up to which documents are near-duplicates."""
        settings = self.settings
        return choose_limits(settings.scheme, settings.similarity, settings.distance)[1]

    @property
    def name(self) -> str | None:
        """The namespace that is asked for; None where its name depends on the spider."""
        given = self.settings.namespace
        return self._name or (None if "{spider}" in given else given)

    @contextmanager
    def database(self) -> Iterator[Database]:
        """The database, which must be there."""
        url = self.database_url
        path = url.database
        if (
            url.get_backend_name() == "sqlite"
            and path
            and not path.startswith("file:")
            and not Path(path).exists()
        ):
            raise FileNotFoundError(
                f"there is no database {path} yet: nothing was crawled, or --database is wanted"
            )
        database = Database(
            url, options=self.settings.engine_options, timeout=self.settings.timeout
        )
        try:
            yield database
        finally:
            database.close()

    @property
    def given_database(self) -> bool:
        """Whether the command line names a database."""
        return self._url is not None

    @property
    def database_url(self) -> URL:
        """That of the command line, of the project, or of its own file."""
        if self._url is not None:
            # A file is what people have at hand.
            return check_url(self._url if "://" in self._url else f"sqlite:///{self._url}")
        if self.settings.database_url is not None:
            return self.settings.database_url
        return make_url(f"sqlite:///{Path(data_path('simhash')) / 'index.db'}")

    @contextmanager
    def namespace(self) -> Iterator[tuple[Database, history.Namespace]]:
        """The database and the namespace in it."""
        with self.database() as database:
            yield database, history.choose_namespace(database, self.name)

    def index(self, database: Database, namespace: str, **more: Any) -> Index:
        """An index with the project's settings."""
        settings = self.settings
        return Index(
            database,
            namespace=namespace,
            similarity=settings.similarity,
            distance=settings.distance,
            candidates=settings.candidates,
            scheme=settings.scheme,
            text_budget=settings.text_budget,
            **more,
        )


# The sub-commands, by their names


def _stats(project: _Project, options: Namespace) -> None:
    with project.database() as database:
        found = history.namespaces(database)
        if project.name is not None:
            found = [history.choose_namespace(database, project.name)]
        now = database.now()
        figures = [
            {
                **namespace._asdict(),
                "bits": namespace.bits,
                "runs": [row._asdict() for row in history.runs(database, namespace)],
            }
            for namespace in found
        ]
        shown = str(database)
    for one in figures:
        for days in (1, 7, 30):
            one[f"claims_last_{days}_days"] = sum(
                row["claims"] for row in one["runs"] if row["opened"] >= now - days * _DAY
            )
    if options.json:
        _print_json({"database": shown, "namespaces": figures})
        return
    console = _console()
    console.print(f"{shown}: {len(figures)} namespace{'s' * (len(figures) != 1)}")
    for one in figures:
        facts = _facts(f"Namespace {shortened(one['name'])}")
        facts.add_row("claims", f"{one['size']:,}")
        facts.add_row("scheme", one["scheme"])
        facts.add_row("keys", one["plan"])
        facts.add_row("texts kept", _bytes(one["text_bytes"]))
        facts.add_row("items kept", _bytes(one["item_bytes"]))
        facts.add_row("since", _time(one["created"]))
        facts.add_row(
            "growth",
            ", ".join(
                f"{one[f'claims_last_{days}_days']:,} in {days} {'day' if days == 1 else 'days'}"
                for days in (1, 7, 30)
            ),
        )
        console.print(facts)
        runs = Table("run", "spider", "opened", "ended", title="Runs", title_justify="left")
        for title in ("claims", "pending", "dropped", "orphans"):
            runs.add_column(title, justify="right")
        for row in one["runs"]:
            runs.add_row(
                str(row["id"]),
                Text(shortened(row["spider"], 60)),
                _time(row["opened"]),
                _ending(row),
                *(f"{row[name]:,}" for name in ("claims", "pending", "drops", "orphans")),
            )
        console.print(runs)


def _show(project: _Project, options: Namespace) -> None:
    url = options.url
    owners = {owner_of(url)}
    if url.startswith(("http://", "https://")):
        owners.add(owner_of(request_fingerprint(Request(url)).hex()))
    with project.namespace() as (database, namespace):
        page = history.pages(database, namespace, url, owners)
        if not page.claims and not page.drops:
            raise LookupError(f"nothing is known of {url} in the namespace {namespace.name!r}")
        wanted = {(claim.id, 0) for claim in page.claims}
        wanted |= {(drop.claim, number) for drop in page.drops for number in (0, drop.id)}
        kept = history.texts(database, namespace, wanted)
    known = {
        "url": url,
        "namespace": namespace.name,
        "versions": [
            {
                "claim": claim.id,
                "url": claim.url,
                "key": claim.key,
                "run": claim.run,
                "state": "confirmed" if claim.state else "pending",
                "fingerprint": bytes(claim.fingerprint).hex(),
                "features": claim.size,
                "nearest": claim.nearest,
                "created": claim.created,
                "seen": claim.seen,
                "text": kept.get((claim.id, 0)),
            }
            for claim in page.claims
        ],
        "duplicate_of": [
            {
                **drop._asdict(),
                "similarity": similarity_at(drop.distance, namespace.bits),
                "text_of_original": kept.get((drop.claim, 0)),
                "difference": _changes(kept.get((drop.claim, 0)), kept.get((drop.claim, drop.id))),
            }
            for drop in page.drops
        ],
        "duplicates": [drop._asdict() for drop in page.duplicates],
        "duplicate_count": page.duplicate_count,
    }
    if options.json:
        _print_json(known)
    else:
        _print_page(known, namespace.bits)


def _print_page(known: dict[str, Any], bits: int) -> None:
    console = _console()
    for version in known["versions"]:
        facts = _facts(f"Claim {version['claim']} ({version['state']})")
        for name in ("url", "key", "fingerprint", "features"):
            facts.add_row(name, Text(shortened(str(version[name]))))
        facts.add_row("run", str(version["run"]))
        facts.add_row("made", _time(version["created"]))
        facts.add_row("met again", _time(version["seen"]))
        facts.add_row("nearest other", _distance(version["nearest"], bits))
        if version["text"]:
            facts.add_row("text", Text(shortened(version["text"])))
        console.print(facts)
    for drop in known["duplicate_of"]:
        met = f"run {drop['run']}, {_time(drop['created'])}"
        facts = _facts(f"Near-duplicate in {met}: {drop['action']}")
        facts.add_row("of", Text(shortened(drop["original"] or "a claim that is gone")))
        facts.add_row("distance", _distance(drop["distance"], bits))
        if drop["orphaned"]:
            facts.add_row("orphan", "that claim was released; `restore --orphans` gives it back")
        console.print(facts)
        if drop["difference"] is not None:
            console.print(_marked(drop["text_of_original"], drop["difference"]))
    duplicates = known["duplicates"]
    if duplicates:
        table = Table("near-duplicate", "distance", "run", "met", title="Its own near-duplicates")
        for drop in duplicates:
            table.add_row(
                Text(shortened(drop["url"])),
                str(drop["distance"]),
                str(drop["run"]),
                _time(drop["created"]),
            )
        console.print(table)
        if known["duplicate_count"] > len(duplicates):
            console.print(f"The newest {len(duplicates)} of {known['duplicate_count']:,}.")


def _report(project: _Project, options: Namespace) -> None:
    try:
        from scrapy_simhash.report.html import write_report  # noqa: PLC0415 - an extra of its own
    except ImportError as error:
        raise ImportError(
            f"the report needs {error.name}: pip install 'scrapy-simhash[report]'"
        ) from error
    with project.namespace() as (database, namespace), _progress() as progress:
        progress.add_task("Writing the report", total=None)
        write_report(
            database,
            options.output,
            run=options.run,
            namespace=namespace.name,
            limit=project.limit,
        )


def _tune(project: _Project, options: Namespace) -> None:
    settings = project.settings
    tried, present = tuning.levels(settings.similarity, settings.distance, settings.scheme.bits)
    if options.pairs is not None:
        _tune_by_pairs(project, options, tried, present)
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
        with _progress() as progress:
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
        _print_json(
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
    console = _console()
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
    namespace: history.Namespace,
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
                jaccards[pair.document, pair.match] = _jaccard(*cast("list[str]", texts))
    return {number: urls.get(place, "?") for number, place in places.items()}, jaccards


def _tune_by_pairs(
    project: _Project, options: Namespace, tried: Sequence[tuning.Level], present: int
) -> None:
    scheme = project.settings.scheme
    distances, labels, examples = [], [], []
    with Path(options.pairs).open(encoding="utf-8") as lines, _progress() as progress:
        for number, line in enumerate(progress.track(lines, description="Comparing"), 1):
            try:
                pair = json.loads(line)
                a, b, label = pair["a"], pair["b"], _label(pair["label"])
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{options.pairs}, line {number}: wanted is an object with the texts a and b "
                    "and a label that is true or false, 1 or 0"
                ) from error
            one, other = scheme.sketch(a).fingerprint, scheme.sketch(b).fingerprint
            distances.append(-1 if one is None or other is None else distance(one, other))
            labels.append(label)
            examples.append((a[:80], b[:80]))
    if not labels:
        raise ValueError(f"{options.pairs} is empty")
    measured, truth = np.array(distances), np.array(labels, bool)
    judged = tuning.scores(measured, truth, tried)
    # Of equals the strictest: it loses nothing by being careful.
    advised = max(range(len(tried)), key=lambda level: (judged[level].f1, level))
    called = (measured >= 0) & (measured <= tried[advised].limit)
    wrong = np.flatnonzero(called != truth)[: options.examples * 2].tolist()
    rows: list[dict[str, Any]] = [
        {
            "threshold": level.name,
            "limit": level.limit,
            **asdict(score),
            "precision": score.precision,
            "recall": score.recall,
            "f1": score.f1,
            "is_present": number == present,
        }
        for number, (level, score) in enumerate(zip(tried, judged, strict=True))
    ]
    mistakes = [
        {
            "a": examples[number][0],
            "b": examples[number][1],
            "label": labels[number],
            "distance": distances[number],
        }
        for number in wrong
    ]
    if options.json:
        _print_json(
            {
                "pairs": len(labels),
                "levels": rows,
                "recommended": tried[advised].name,
                "mistakes": mistakes,
            }
        )
        return
    console = _console()
    table = Table("threshold", "distance up to", "precision", "recall", "F1")
    for title in ("found", "missed", "wrong"):
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(
            f"{row['threshold']} (now)" if row["is_present"] else str(row["threshold"]),
            str(row["limit"]),
            *(f"{row[name]:.3f}" for name in ("precision", "recall", "f1")),
            *(str(row[name]) for name in ("found", "missed", "wrong")),
        )
    console.print(table)
    if mistakes:
        table = Table(
            "a", "b", "label", "distance", title=f"Decided wrongly at {tried[advised].name}"
        )
        for mistake in mistakes:
            table.add_row(
                Text(shortened(mistake["a"])),
                Text(shortened(mistake["b"])),
                str(mistake["label"]),
                str(mistake["distance"]),
            )
        console.print(table)
    console.print(f"Recommended: {tried[advised].name}, the best F1 on {len(labels):,} pairs.")


def _restore(project: _Project, options: Namespace) -> None:
    since = None
    if options.since is not None:
        try:
            given = datetime.fromisoformat(options.since)
        except ValueError as error:
            raise ValueError(
                f"--since {options.since}: wanted is a time such as 2030-01-31 or 2030-01-31T12:00"
            ) from error
        since = given.astimezone().timestamp()
    restored = gone = incomplete = 0
    with ExitStack() as stack:
        database, namespace = stack.enter_context(project.namespace())
        if options.output is None:
            stream = sys.stdout.buffer
        else:
            # Never over another file: what is restored may be all that there is.
            stream = stack.enter_context(Path(options.output).open("xb"))
        progress = stack.enter_context(_progress())
        task = progress.add_task("Restoring", total=None)
        for row in history.quarantined(
            database,
            namespace,
            orphans=options.orphans,
            run=options.run,
            since=since,
            min_distance=options.min_distance,
        ):
            if row.item is None:
                gone += 1
                continue
            stream.write(_json_line(unpack(bytes(row.item))))
            restored += 1
            incomplete += row.item_type.endswith("(incomplete)")
            progress.advance(task)
        stream.flush()
    print(f"{restored:,} items restored", file=sys.stderr)
    if gone:
        print(f"{gone:,} more were not kept (SIMHASH_QUARANTINE)", file=sys.stderr)
    if incomplete:
        print(
            f"{incomplete:,} of them have values that could not be kept as they were",
            file=sys.stderr,
        )


def _prune(project: _Project, options: Namespace) -> None:
    days = options.older_than or project.settings.expire
    if days is None:
        raise ValueError("--older-than DAYS is wanted, as SIMHASH_EXPIRE is not set")
    with project.namespace() as (database, namespace), _progress() as progress:
        progress.add_task("Forgetting", total=None)
        index = project.index(database, namespace.name)
        before = database.now() - days * _DAY
        count, drops = expire_claims(index, before), expire_duplicates(index, before)
        left = len(index)
    if options.json:
        _print_json(
            {"namespace": namespace.name, "forgotten": count, "duplicates": drops, "left": left}
        )
    else:
        print(f"{count:,} claims and {drops:,} drops forgotten, {left:,} claims left")


def _reset(project: _Project, options: Namespace) -> None:
    with project.namespace() as (database, namespace):
        if not options.yes:
            if not sys.stdin.isatty():
                raise ValueError("--yes is wanted where nobody can be asked")
            name = shortened(namespace.name)
            answer = input(f"Forget {namespace.size:,} claims of {name} in {database}? [y/N] ")
            if answer.strip().lower() not in {"y", "yes"}:
                raise ValueError("nothing was forgotten")
        reset_namespace(database, namespace.name)
    if options.json:
        _print_json({"namespace": namespace.name, "forgotten": namespace.size})
    else:
        print(f"{namespace.size:,} claims forgotten")


def _compare(project: _Project, options: Namespace) -> None:
    scheme, limit = project.settings.scheme, project.limit
    texts = _texts_of(project, (options.a, options.b))
    sketches = [scheme.sketch(text) for text in texts]
    prints = [sketch.fingerprint for sketch in sketches]
    few = min(sketch.size for sketch in sketches) < project.settings.min_features
    apart = None if None in prints else distance(*cast("list[int]", prints))
    same = apart is not None and apart <= limit and not few
    verdict = "near-duplicates" if same else "different"
    if apart is None or few:
        verdict = "not compared: too little text"
    known: dict[str, Any] = {
        "scheme": scheme.id,
        "texts": [
            {
                "source": source,
                "characters": len(text),
                "features": sketch.size,
                "fingerprint": None
                if sketch.fingerprint is None
                else f"{sketch.fingerprint:0{-(-scheme.bits // 4)}x}",
            }
            for source, text, sketch in zip((options.a, options.b), texts, sketches, strict=True)
        ],
        "distance": apart,
        "limit": limit,
        "similarity": None if apart is None else similarity_at(apart, scheme.bits),
        "jaccard": _jaccard(*texts) if scheme.id.startswith("shingles/") else None,
        "verdict": verdict,
    }
    if options.json:
        _print_json({**known, "difference": _changes(*texts)})
        return
    console = _console()
    table = Table("", "A", "B")
    for name in ("source", "characters", "features", "fingerprint"):
        table.add_row(name, *(Text(shortened(str(text[name]))) for text in known["texts"]))
    console.print(table)
    facts = _facts(verdict)
    facts.add_row("scheme", scheme.id)
    facts.add_row("distance", _distance(apart, scheme.bits))
    facts.add_row("near-duplicates up to", str(limit))
    if known["jaccard"] is not None:
        facts.add_row("shingles in common", f"{known['jaccard']:.3f}")
    console.print(facts)
    console.print(_marked(texts[0], _changes(*texts) or []))


def _dedupe(project: _Project, options: Namespace) -> None:
    source, output = Feed(Path(options.input)), Path(options.output)
    outputs = [output, *([Path(options.dropped)] if options.dropped else [])]
    fields = _fields(project, options)
    progress_file = output.with_name(f"{output.name}.progress")
    own = output.with_name(f"{output.name}.index")
    _check_feeds(source, outputs, resumes=progress_file.exists())
    if not project.given_database and not progress_file.exists():
        own.unlink(missing_ok=True)
    database = Database(
        project.database_url if project.given_database else f"sqlite:///{own}",
        options=project.settings.engine_options if project.given_database else None,
        # Nobody waits for a single answer here.
        timeout=max(60.0, project.settings.timeout),
    )
    try:
        # What was confirmed is stored, whatever became of the call that did it.
        run = Run.open(database, spider="dedupe", job=str(output), on_crash="keep")
        index = project.index(database, options.namespace or "dedupe", run=run)
        # The feed has the texts.
        index.text_budget = 0
        with _progress() as progress:
            task = progress.add_task("Comparing", total=None)

            def advance(counts: Counts) -> None:
                done = f"{counts.dropped:,} near-duplicates dropped"
                progress.update(task, completed=counts.read, description=done)

            counts = dedupe(
                index,
                source,
                outputs,
                fields,
                progress_file,
                min_features=project.settings.min_features,
                advance=advance,
            )
        run.close(settled=True, reason="finished")
    finally:
        database.close()
    if not project.given_database:
        own.unlink()
    if options.json:
        _print_json(asdict(counts))
    else:
        print(
            f"{counts.read:,} items read, {counts.kept:,} kept, {counts.dropped:,} dropped"
            + (f", {counts.unchecked:,} too short to check" if counts.unchecked else "")
        )


def _fields(project: _Project, options: Namespace) -> list[str]:
    given = options.fields or project.scrapy.get("SIMHASH_FIELDS")
    fields = given.split(",") if isinstance(given, str) else given
    if not isinstance(fields, (list, tuple)) or not all(map(str.strip, fields)):
        raise ValueError(
            "--fields is wanted: which fields of an item are compared, such as title,text"
        )
    return [name.strip() for name in fields]


def _check_feeds(source: Feed, outputs: Sequence[Path], *, resumes: bool) -> None:
    """Refuse what would overwrite something."""
    if not source.path.is_file():
        raise FileNotFoundError(f"there is no file {source.path}")
    for path in outputs:
        if Feed(path).is_csv != source.is_csv:
            raise ValueError(f"{path} and {source.path} must have the same form")
        if path.exists() and path.samefile(source.path):
            raise ValueError(f"{path} is the input")
        if path.exists() and not resumes:
            raise FileExistsError(f"{path} is there already; remove it, or name another one")


def _explain(project: _Project, options: Namespace) -> None:
    scheme = project.settings.scheme
    explain = getattr(scheme, "explain", None)
    if explain is None:
        raise TypeError(f"the scheme {scheme.id!r} does not explain itself")
    explanation = explain(options.text)
    if options.json:
        _print_json(asdict(explanation))
    else:
        print(visible(str(explanation)))


def _rebuild(project: _Project, options: Namespace) -> None:
    with project.namespace() as (database, namespace), _progress() as progress:
        task = progress.add_task("Making keys", total=None)
        index = project.index(database, namespace.name)
        plan = rebuild_keys(
            index,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    if options.json:
        _print_json({"namespace": namespace.name, "before": namespace.plan, "plan": plan.id})
    else:
        print(f"The keys of {shortened(namespace.name)} are {plan.id}, they were {namespace.plan}")


# Texts


def _texts_of(project: _Project, sources: Sequence[str]) -> list[str]:
    """The texts of URLs and files."""
    urls = [source for source in sources if source.startswith(("http://", "https://"))]
    pages = _download(project.scrapy, urls) if urls else {}
    texts = []
    for source in sources:
        if source in pages:
            texts.append(page_text(pages[source], extractor=project.settings.extractor))
            continue
        content = Path(source).read_bytes()
        is_page = content.lstrip()[:1] == b"<"
        texts.append(
            page_text(content, extractor=project.settings.extractor)
            if is_page
            else content.decode("utf-8-sig", "replace")
        )
    return texts


class _Downloads(Spider):
    """Fetches pages the way the project's spiders would."""

    name = "simhash"
    urls: list[str]
    bodies: dict[str, bytes]

    async def start(self) -> Any:
        for url in self.urls:
            yield Request(url, self.parse, cb_kwargs={"asked": url}, dont_filter=True)

    def parse(self, response: Response, asked: str) -> None:
        self.bodies[asked] = response.body


def _download(settings: ScrapySettings, urls: Iterable[str]) -> dict[str, bytes]:
    bodies: dict[str, bytes] = {}
    quiet = settings.copy()
    quiet.setdict(
        {
            "SIMHASH_ENABLED": False,
            "ITEM_PIPELINES": {},
            "FEEDS": {},
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
        },
        priority="cmdline",
    )
    process = AsyncCrawlerProcess(quiet)
    process.crawl(_Downloads, urls=list(urls), bodies=bodies)
    process.start()
    for url in urls:
        if url not in bodies:
            raise ConnectionError(f"{url} could not be fetched")
    return bodies


def _jaccard(a: str, b: str) -> float:
    one, other = shingles(a), shingles(b)
    common = np.intersect1d(one, other, assume_unique=True).size
    return common / max(1, one.size + other.size - common)


def _changes(first: str | None, second: str | None) -> list[Change] | None:
    if first is None or second is None:
        return None
    return difference(first[:LONGEST], second[:LONGEST])


def _marked(first: str, changes: Sequence[Change]) -> Text:
    """The difference in one text: what is gone struck out, what is new underlined."""
    text = Text()
    place = 0
    for change in changes:
        same = first[place : place + change.copied]
        if len(same) > 160:
            same = f"{same[:70] if place else ''} […] {same[-70:]}"
        text.append(visible(same).replace("\n", " "))
        place += change.copied
        if removed := first[place : place + change.removed]:
            text.append(f"[-{visible(removed)}-]", style="red strike")
        if change.added:
            text.append(f"{{+{visible(change.added)}+}}", style="green underline")
        place += change.removed
    return text


def _label(given: Any) -> bool:
    if given in (True, False):
        return bool(given)
    raise ValueError(given)


# Printing


def _console() -> Console:
    # Nothing that was crawled is markup. A pipe has no width: nothing is to be cut there.
    return Console(
        markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else 200
    )


def _progress() -> Progress:
    """On standard error, and only where somebody looks at it."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True, markup=False, emoji=False, highlight=False),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def _facts(title: str) -> Table:
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _print_json(value: Any) -> None:
    sys.stdout.buffer.write(_json_line(value, indent=2))
    sys.stdout.buffer.flush()


def _json_line(value: Any, indent: int | None = None) -> bytes:
    # Escaped, control characters of any kind reach neither a terminal nor an editor.
    text = visible(json.dumps(value, ensure_ascii=False, indent=indent))
    return text.encode() + b"\n"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


def _bytes(count: int) -> str:
    size, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"


def _distance(value: int | None, bits: int) -> str:
    if value is None:
        return "-"
    return f"{value} bits (similarity about {similarity_at(value, bits):.2f})"


def _ending(row: dict[str, Any]) -> str:
    if row["closed"] is None:
        return "recovered" if row["recovered"] is not None else "open"
    return shortened(row["reason"] or "closed", 40) + ("" if row["settled"] else " (not settled)")


_COMMANDS: Mapping[str, Callable[[_Project, Namespace], None]] = {
    "stats": _stats,
    "show": _show,
    "report": _report,
    "tune": _tune,
    "restore": _restore,
    "prune": _prune,
    "reset": _reset,
    "compare": _compare,
    "dedupe": _dedupe,
    "explain": _explain,
    "rebuild": _rebuild,
}

"""``scrapy simhash dedupe``: leave the near-duplicates out of what is on disk."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.cli.arguments import add_database, add_json, add_prefer, positive
from scrapy_simhash.cli.output import print_json, progress_bar
from scrapy_simhash.cli.project import CommandError, open_database
from scrapy_simhash.corpus.dedupe import Targets, check_free, dedupe_corpus
from scrapy_simhash.corpus.groups import check_groups_file
from scrapy_simhash.corpus.workers import Sketcher, usable_cores
from scrapy_simhash.db.secret import secret_of
from scrapy_simhash.feed.dedupe import dedupe
from scrapy_simhash.feed.documents import ItemReader, PageReader, What
from scrapy_simhash.feed.files import Feed
from scrapy_simhash.feed.source import find_files, identity_of, open_source
from scrapy_simhash.feed.warc import WarcFile
from scrapy_simhash.index.runs import Run
from scrapy_simhash.visible import plural

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator, Sequence

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.corpus.plan import Plan
    from scrapy_simhash.feed.progress import FeedCounts
    from scrapy_simhash.feed.source import Source
    from scrapy_simhash.index.index import Index

__all__ = ["add_arguments", "run"]

_SETTINGS = {"fields": "fields", "ignore": "ignore_fields", "key": "key"}


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_database(parser)
    add_json(parser)
    parser.add_argument(
        "input",
        metavar="IN",
        nargs="+",
        help="JSON Lines (.jsonl, .jl), CSV, Parquet or WARC, also .gz, .bz2, .xz, .zst; several "
        "of one form, a folder or a pattern",
    )
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="in the same form")
    parser.add_argument(
        "--index",
        action="store_true",
        help="compare with what the index knows as well, and keep there what is kept "
        "(--database says the same)",
    )
    parser.add_argument(
        "--groups",
        metavar="FILE",
        help="a table of what is a copy of what, as .csv, .jsonl or .parquet",
    )
    add_prefer(parser, "which copy to keep, instead of the first")
    parser.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="processes (default: as many as there are cores)",
    )
    parser.add_argument(
        "--fields",
        metavar="A,B",
        help="these alone say what an item is (default: SIMHASH_FIELDS, else all of them)",
    )
    parser.add_argument(
        "--ignore", metavar="A,B", help="these say nothing (default: SIMHASH_IGNORE_FIELDS)"
    )
    parser.add_argument(
        "--key",
        metavar="A,B",
        help="these identify an item among others of its page (default: SIMHASH_KEY, else its own "
        "address)",
    )
    parser.add_argument(
        "--facts",
        choices=("auto", "always", "never"),
        help="where items that say other things are kept although their texts are near: on one "
        "site, and by their prices anywhere; always; never (default: SIMHASH_FACTS)",
    )
    parser.add_argument("--dropped", metavar="FILE", help="keep there what was left out")


class _Files(NamedTuple):
    """What is read, and what is written: what is kept, then what is dropped if it is wanted."""

    sources: Sequence[Source]
    outputs: Sequence[Path]


@contextmanager
def _shown() -> Iterator[Callable[[int, str], None]]:
    """Shows how many items something was done with, and what."""
    with progress_bar() as progress:
        task = progress.add_task("Comparing", total=None)
        yield lambda done, what: progress.update(task, completed=done, description=what)


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    output = Path(options.output)
    sources = [open_source(path) for given in options.input for path in find_files(given)]
    outputs = [output, *([Path(options.dropped)] if options.dropped else [])]
    _check_files(sources, outputs)
    fields, ignore, key = (_names(project, options, name) for name in ("fields", "ignore", "key"))
    # What a crawl has written into its items says nothing of them.
    groups = [project.settings.group_field] if project.settings.group_field else []
    what = What(fields, [*(ignore or ()), *groups], key)
    dedupe_by = _through_index if options.index or project.given_database else _as_corpus
    counts = dedupe_by(project, options, _Files(sources, outputs), what)
    if options.json:
        print_json(asdict(counts))
    else:
        print(
            f"{counts.read:,} {plural(counts.read, 'item')} read, {counts.kept:,} kept, "
            f"{counts.dropped:,} dropped"
            + (f", {counts.unchecked:,} with nothing to check" if counts.unchecked else "")
        )


def _as_corpus(project: Project, options: Namespace, files: _Files, what: What) -> FeedCounts:
    """By sorting, in memory, without an index."""
    if options.namespace:
        raise CommandError("--namespace is a part of an index: add --index, or --database")
    sources, outputs = files
    output, settings = outputs[0], project.settings
    earlier = output.with_name(f"{output.name}.progress")
    if earlier.exists():
        raise CommandError(
            f"{earlier} was left by a call that went through an index: repeat that one, with "
            "--database, or remove this file to begin anew"
        )
    groups = Path(options.groups) if options.groups else None
    if groups is not None:
        check_groups_file(groups)
    criteria = project.settings.prefer if options.prefer is None else options.prefer
    feed = identity_of(sources)
    # The same input has the same output every time; who writes a page can't know the corpus yet.
    secret = secret_of(settings.secret or feed)
    plan = project.plan(secret, facts=options.facts)
    sketcher = Sketcher(sources, _reader(project, sources[0], feed, plan, what), plan, criteria)
    # What the sketches hang on; the id of a scheme tells its secret from others.
    compared = [plan.scheme.id, plan.keys.id, str(plan.rule), str(settings.min_features)]
    with _shown() as show:
        return dedupe_corpus(
            sources,
            Targets(output, outputs[1] if outputs[1:] else None, groups),
            sketcher,
            output.with_name(f"{output.name}.work"),
            options=[*what.noted(), *compared, ",".join(one.name for one in criteria)],
            processes=options.workers or usable_cores(),
            advance=lambda phase, done: show(done, phase),
        )


def _reader(
    project: Project, source: Source, feed: str, plan: Plan, what: What
) -> ItemReader | PageReader:
    """What makes the documents."""
    settings = project.settings
    if not isinstance(source, WarcFile):
        return ItemReader(
            feed,
            plan.scheme,
            what,
            plan.secret,
            min_features=settings.min_features,
            max_text=settings.max_text,
        )
    return PageReader(
        feed,
        plan.scheme,
        extractor=settings.extractor,
        min_features=settings.min_features,
        max_text=settings.max_text,
        secret=plan.secret,
    )


def _through_index(project: Project, options: Namespace, files: _Files, what: What) -> FeedCounts:
    """One item after another, with what the index knows."""
    sources, outputs = files
    for name in ("groups", "prefer", "workers"):
        if getattr(options, name):
            raise CommandError(
                f"--{name} is for a corpus at once: leave out --index and --database"
            )
    if len(sources) > 1 or not isinstance(source := sources[0], Feed):
        raise CommandError("with an index one file of JSON Lines or CSV is compared at a time")
    if unknown := {path.suffix for path in outputs} & {".bz2", ".xz", ".zst"}:
        raise CommandError(f"{unknown.pop()} can't be written with an index; .gz can")
    output = outputs[0]
    progress_file = output.with_name(f"{output.name}.progress")
    if not progress_file.exists():
        check_free(outputs)

    with _shown() as show, _index(project, options, str(output)) as index:
        return dedupe(
            index,
            source,
            outputs,
            what.fields,
            progress_file,
            ignore=what.ignore,
            key=what.key,
            min_features=project.settings.min_features,
            max_text=project.settings.max_text,
            advance=lambda counts: show(counts.read, f"{counts.dropped:,} dropped"),
        )


@contextmanager
def _index(project: Project, options: Namespace, job: str) -> Iterator[Index]:
    """The index; its run is settled at the end."""
    database = open_database(
        project.database_url,
        options=project.settings.engine_options,
        # Nobody waits for a single answer here.
        timeout=max(60.0, project.settings.timeout),
        secret=project.settings.secret,
    )
    # No claim is missing of what is noted as done.
    with closing(database), database.durable():
        # What was confirmed is stored, whatever became of the call that did it.
        run = Run.open(database, spider="dedupe", job=job, on_crash="keep")
        # The feed has the texts.
        index = project.index(database, options.namespace or "dedupe", run=run, text_budget=0)
        rule = index.lookup.rule
        index.lookup.rule = replace(rule, facts=options.facts or project.rule.facts)
        yield index
        run.close(settled=True, reason="finished")


def _names(project: Project, options: Namespace, name: str) -> Sequence[str] | None:
    """The names of fields of the command line, or of the project's setting."""
    given = getattr(options, name)
    if given is None:
        setting = getattr(project.settings, _SETTINGS[name], None)
        # The items of a feed are of no class but dict.
        return list(setting.of({})) or None if setting is not None else None
    names: list[str] = [one.strip() for one in given.split(",")]
    if not all(names):
        raise CommandError(f"--{name}: names of fields are wanted, such as title,text")
    return names


def _check_files(sources: Sequence[Source], outputs: Sequence[Path]) -> None:
    """Refuse what can't be read, is of several forms, or would overwrite the input."""
    for source in sources:
        if not source.path.is_file():
            what = "is no file" if source.path.exists() else "is not there"
            raise CommandError(f"{source.path} {what}")
        if source.form != sources[0].form:
            raise CommandError(f"{source.path} and {sources[0].path} must have the same form")
    if len({path.resolve() for path in outputs}) < len(outputs):
        raise CommandError(f"-o and --dropped are the same file, {outputs[0]}")
    for path in outputs:
        if not sources[0].can_be(path):
            raise CommandError(f"{path} and {sources[0].path} must have the same form")
        if any(path.exists() and path.samefile(source.path) for source in sources):
            raise CommandError(f"{path} is the input")

"""``scrapy simhash dedupe``: leave the near-duplicates out of an existing feed."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.cli.arguments import add_database, add_json
from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.output import print_json, progress_bar
from scrapy_simhash.cli.project import open_database
from scrapy_simhash.feed.dedupe import dedupe
from scrapy_simhash.feed.files import Feed
from scrapy_simhash.index.runs import Run

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.feed.progress import FeedCounts
    from scrapy_simhash.index.index import Index

__all__ = ["add_arguments", "run"]

_SETTINGS = {"fields": "fields", "ignore": "ignore_fields", "key": "key"}


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_database(parser)
    add_json(parser)
    parser.add_argument(
        "input", metavar="IN", help="JSON Lines (.jsonl, .jl) or CSV (.csv), also .gz"
    )
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="in the same form")
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


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    source, output = Feed(Path(options.input)), Path(options.output)
    outputs = [output, *([Path(options.dropped)] if options.dropped else [])]
    fields, ignore, key = (_names(project, options, name) for name in ("fields", "ignore", "key"))
    progress_file = output.with_name(f"{output.name}.progress")
    resumes = progress_file.exists()
    _check_feeds(source, outputs, resumes=resumes)
    own = None if project.given_database else output.with_name(f"{output.name}.index")
    if own is not None:
        _check_own_index(own, progress_file, resumes=resumes)
    secret = project.settings.secret
    if own is not None and secret is None and not resumes:
        # The same input has the same output every time; who writes a page can't know the feed yet.
        secret = source.identity()
    with _index(project, options, own, secret, str(output)) as index, progress_bar() as progress:
        task = progress.add_task("Comparing", total=None)

        def advance(counts: FeedCounts) -> None:
            done = f"{counts.dropped:,} near-duplicates dropped"
            progress.update(task, completed=counts.read, description=done)

        counts = dedupe(
            index,
            source,
            outputs,
            fields,
            progress_file,
            ignore=ignore or (),
            key=key,
            min_features=project.settings.min_features,
            max_text=project.settings.max_text,
            advance=advance,
        )
    if own is not None:
        own.unlink()
    if options.json:
        print_json(asdict(counts))
    else:
        print(
            f"{counts.read:,} items read, {counts.kept:,} kept, {counts.dropped:,} dropped"
            + (f", {counts.unchecked:,} with nothing to check" if counts.unchecked else "")
        )


@contextmanager
def _index(
    project: Project, options: Namespace, own: Path | None, secret: str | None, job: str
) -> Iterator[Index]:
    """The index of the project, or one for this call alone; its run is settled at the end."""
    database = open_database(
        project.database_url if own is None else f"sqlite:///{own}",
        options=project.settings.engine_options if own is None else None,
        # Nobody waits for a single answer here.
        timeout=max(60.0, project.settings.timeout),
        secret=secret,
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


def _check_own_index(own: Path, progress_file: Path, *, resumes: bool) -> None:
    """Begin with an empty index, or go on with the one that there was."""
    if not resumes:
        # A log that a killed call has left would be read into the new one.
        for suffix in ("", "-wal", "-shm", "-journal"):
            own.with_name(f"{own.name}{suffix}").unlink(missing_ok=True)
    elif not own.exists():
        raise CommandError(
            f"{own} is gone: an earlier call that was interrupted has what it knows in it. Put it "
            f"back, or remove what it has written and {progress_file} to begin anew"
        )


def _names(project: Project, options: Namespace, name: str) -> list[str] | None:
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


def _check_feeds(source: Feed, outputs: Sequence[Path], *, resumes: bool) -> None:
    """Refuse what would overwrite something."""
    if not source.path.is_file():
        what = "is no file" if source.path.exists() else "is not there"
        raise CommandError(f"{source.path} {what}")
    if len({path.resolve() for path in outputs}) < len(outputs):
        raise CommandError(f"-o and --dropped are the same file, {outputs[0]}")
    for path in outputs:
        if Feed(path).is_csv != source.is_csv:
            raise CommandError(f"{path} and {source.path} must have the same form")
        if path.exists() and path.samefile(source.path):
            raise CommandError(f"{path} is the input")
        if path.exists() and not resumes:
            raise CommandError(f"{path} is there already; remove it, or name another one")

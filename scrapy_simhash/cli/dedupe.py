"""``scrapy simhash dedupe``: leave the near-duplicates out of an existing feed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.cli.arguments import add_database, add_json
from scrapy_simhash.cli.output import print_json, progress_bar
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.feed.dedupe import dedupe
from scrapy_simhash.feed.files import Feed
from scrapy_simhash.index.runs import Run

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.feed.progress import FeedCounts

__all__ = ["add_arguments", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_database(parser)
    add_json(parser)
    parser.add_argument(
        "input", metavar="IN", help="JSON Lines (.jsonl, .jl) or CSV (.csv), also .gz"
    )
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="in the same form")
    parser.add_argument(
        "--fields", metavar="A,B", help="the fields to compare, instead of SIMHASH_FIELDS"
    )
    parser.add_argument("--dropped", metavar="FILE", help="keep there what was left out")


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
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
        # The feed has the texts.
        index = project.index(database, options.namespace or "dedupe", run=run, text_budget=0)
        with progress_bar() as progress:
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
                min_features=project.settings.min_features,
                advance=advance,
            )
        run.close(settled=True, reason="finished")
    finally:
        database.close()
    if not project.given_database:
        own.unlink()
    if options.json:
        print_json(asdict(counts))
    else:
        print(
            f"{counts.read:,} items read, {counts.kept:,} kept, {counts.dropped:,} dropped"
            + (f", {counts.unchecked:,} too short to check" if counts.unchecked else "")
        )


def _fields(project: Project, options: Namespace) -> list[str]:
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

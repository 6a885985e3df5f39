"""``scrapy simhash try``: a short crawl that stores nothing, and what would be left out of it."""

from __future__ import annotations

import logging
import re
from argparse import ArgumentTypeError
from argparse import Namespace as Options
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote

from itemadapter import ItemAdapter
from rich.table import Table
from rich.text import Text
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.conf import arglist_to_dict
from scrapy.utils.misc import load_object

from scrapy_simhash.cli.arguments import positive
from scrapy_simhash.cli.choice import print_steps
from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.output import open_console, progress_bar
from scrapy_simhash.cli.project import Project
from scrapy_simhash.cli.report import load_writer
from scrapy_simhash.cli.tune import tuned
from scrapy_simhash.crawl.addon import Addon
from scrapy_simhash.crawl.pipeline import SimhashPipeline
from scrapy_simhash.report.differs import in_words
from scrapy_simhash.report.subject import read_subject, sum_stats
from scrapy_simhash.report.verdict import in_sentences, skipped_in_words
from scrapy_simhash.visible import plural, shortened, visible

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping
    from typing import Any

    from rich.console import Console
    from scrapy.crawler import Crawler
    from scrapy.settings import Settings as ScrapySettings

    from scrapy_simhash.index.decide import Rule
    from scrapy_simhash.report.subject import Subject

__all__ = ["add_arguments", "run"]

# Where the add-on puts the pipeline.
_PLACE = 100

# So many fields are listed, of those that kept items apart, and of those that items have.
_FIELDS = 15

# The name of a field of an item: others are of the page, or of the text.
_IS_FIELD = re.compile(r"[\w .-]+")


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    parser.add_argument("spider", metavar="SPIDER", help="its name, as for `scrapy crawl`")
    parser.add_argument(
        "-a",
        dest="arguments",
        action="append",
        default=[],
        type=_argument,
        metavar="NAME=VALUE",
        help="an argument of the spider (may be repeated)",
    )
    parser.add_argument(
        "--pages",
        type=positive,
        default=300,
        metavar="N",
        help="end after about so many pages; those on their way still come in (default: 300)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="where the report is written (default: simhash-try-SPIDER.html)",
    )


def run(project: Project, options: Options) -> None:
    """Run the command."""
    path = options.output or Path(f"simhash-try-{quote(options.spider, safe='')}.html")
    if not path.parent.is_dir():
        raise CommandError(f"there is no folder {path.parent} to write the report to")
    with TemporaryDirectory(prefix="simhash-try-") as folder:
        crawler, fields = _crawl(_trial_settings(project.scrapy, folder, options.pages), options)
        trial = Project(crawler.settings, Options())
        rule, name = trial.rule, trial.settings.namespace_of(crawler.spider)
        with trial.database() as database:
            subject = read_subject(database, name, None, rule.limit, rule.similarity, is_trial=True)
            console = open_console()
            _print_verdict(console, crawler, subject, fields)
            figures = None
            if subject.namespace.size:
                figures = tuned(trial, database, subject.namespace)
                _print_borderline(console, figures, kind=_kind(rule))
            said = _write_report(path, subject)
    _print_settings(console, project.scrapy, subject, figures)
    console.print(Text(said))


def _argument(given: str) -> str:
    if "=" not in given.strip("="):
        raise ArgumentTypeError(f"{given!r}: NAME=VALUE is wanted")
    return given


def _trial_settings(settings: ScrapySettings, folder: str, pages: int) -> ScrapySettings:
    """The settings of a crawl that leaves nothing behind."""
    trial = settings.copy()
    trial.setdefault_in_component_priority_dict("ADDONS", Addon, 500)
    own = {
        "SIMHASH_ENABLED": True,
        "SIMHASH_DATABASE_URL": f"sqlite:///{folder}/index.db",
        "SIMHASH_ENGINE_OPTIONS": {},
        # What would be dropped is kept for the report.
        "SIMHASH_ON_DUPLICATE": "drop",
        "SIMHASH_QUARANTINE": True,
        "SIMHASH_RESET": False,
        "SIMHASH_REPORT": None,
        "CLOSESPIDER_PAGECOUNT": pages,
        # Nothing is stored, nor is what an earlier crawl has left to do.
        "ITEM_PIPELINES": {SimhashPipeline: _PLACE},
        "FEEDS": {},
        "JOBDIR": None,
    }
    # The log of a project's crawls is not replaced by that of a trial.
    quiet = {"LOG_LEVEL": "WARNING", "LOG_FILE": None}
    given = SETTINGS_PRIORITIES["cmdline"]
    own |= {name: value for name, value in quiet.items() if trial.getpriority(name) != given}
    # A spider's own settings come after those of the project.
    trial.setdict(own, priority="cmdline")
    return trial


def _crawl(settings: ScrapySettings, options: Options) -> tuple[Crawler, Mapping[str, int]]:
    """Crawl; gives the crawler, and how long the longest text of each field was, in characters.

    Raises:
        CommandError: there is no such spider, it could not be started, or it gave no items.
    """
    process = _process(settings)
    # That nothing stores is meant, and what was kept is told below.
    for module in ("storing", "end"):
        logging.getLogger(f"scrapy_simhash.crawl.{module}").setLevel(logging.ERROR)
    crawler = process.create_crawler(_known(process.spider_loader.list(), options.spider))
    fields: dict[str, int] = {}

    def note_fields(item: Any) -> None:
        for name, value in ItemAdapter(item).items():
            length = len(value) if isinstance(value, str) else 0
            fields[str(name)] = max(length, fields.get(str(name), 0))

    with progress_bar() as progress:
        task = progress.add_task("Crawling", total=options.pages)

        def advance() -> None:
            progress.advance(task)

        for signal in (signals.item_scraped, signals.item_dropped):
            crawler.signals.connect(note_fields, signal)
        crawler.signals.connect(advance, signals.response_received)
        process.crawl(crawler, **arglist_to_dict(options.arguments))
        process.start()
    if process.bootstrap_failed:
        raise CommandError("the crawl could not be started: the log above says why")
    if not fields:
        raise CommandError(
            f"the spider {options.spider!r} gave no items ({_fetched(crawler)}), and it is items "
            "that are compared; -s LOG_LEVEL=INFO shows what it did, --pages lets it go on longer"
        )
    stats = sum_stats([_stats(crawler)])
    if not any(stats.get(kind) for kind in ("unique", "duplicates", "same")):
        raise CommandError(
            f"the spider {options.spider!r} gave items ({_fetched(crawler)}), of which none could "
            f"be compared: {skipped_in_words(stats)}. {_longest(fields)}"
        )
    return crawler, fields


def _process(settings: ScrapySettings) -> AsyncCrawlerProcess | CrawlerProcess:
    """The one that Scrapy's own commands would crawl in."""
    is_asyncio = "asyncio" in (settings["TWISTED_REACTOR"] or "")
    is_forced = settings.getbool("FORCE_CRAWLER_PROCESS")
    if (is_asyncio and not is_forced) or not settings.getbool("TWISTED_REACTOR_ENABLED", True):
        return AsyncCrawlerProcess(settings)
    return CrawlerProcess(settings)


def _known(names: list[str], name: str) -> str:
    """The name of a spider that there is."""
    if name in names:
        return name
    if not names:
        raise CommandError("there are no spiders here: run this in the folder of a Scrapy project")
    close = get_close_matches(name, names, 1)
    there = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(names))}"
    raise CommandError(f"there is no spider {name!r}; {there}")


def _longest(fields: Mapping[str, int]) -> str:
    longest = sorted(fields.items(), key=lambda field: -field[1])[:_FIELDS]
    listed = ", ".join(f"{shortened(name, 40)} ({length:,})" for name, length in longest)
    return f"The fields, with the characters of their longest value: {listed}"


def _stats(crawler: Crawler) -> dict[str, Any]:
    assert crawler.stats is not None  # noqa: S101 - Scrapy has made them
    return crawler.stats.get_stats()


def _fetched(crawler: Crawler) -> str:
    get = _stats(crawler).get
    pages, errors = get("response_received_count", 0), get("log_count/ERROR", 0)
    said = f"{pages:,} {plural(pages, 'page')}"
    return f"{said}, {errors:,} {plural(errors, 'error')} logged" if errors else said


def _print_verdict(
    console: Console, crawler: Crawler, subject: Subject, fields: Mapping[str, int]
) -> None:
    """What came of it, and what kept items apart."""
    first, *others = in_sentences(subject)
    console.print(Text(f"{subject.runs[0].spider}: {_fetched(crawler)}, {first}", style="bold"))
    for sentence in others:
        console.print(Text(sentence))
    if not any(subject.stats.get(f"text/{size}") for size in ("8_to_31", "from_32")):
        console.print(
            Text(
                "Neither items nor pages have a text that is long enough to be compared, so only "
                "equal items are copies. A field is text from 32 different pairs of neighbouring "
                f"words on. {_longest(fields)}"
            )
        )
    if subject.kept.counts:
        table = Table("kept because", title="What kept items apart", title_justify="left")
        table.add_column("items", justify="right")
        table.add_column("the newest one, and what it was kept beside", overflow="fold")
        newest = {pair.differs: pair for pair in reversed(subject.kept.pairs)}
        for differs, count in subject.kept.counts[:_FIELDS]:
            pair = newest.get(differs)
            shown = f"{shortened(pair.url)}\n{shortened(pair.other or '?')}" if pair else ""
            table.add_row(Text(in_words(differs)), f"{count:,}", Text(shown))
        console.print(table)


def _print_borderline(console: Console, figures: Mapping[str, Any], kind: str) -> None:
    """The pairs next to the threshold in force, on either side."""
    present = next(place for place, one in enumerate(figures["levels"]) if one["is_present"])
    levels = [
        one if place in {present - 1, present} else {**one, "examples": []}
        for place, one in enumerate(figures["levels"])
    ]
    console.print()
    if any(level["examples"] for level in levels):
        print_steps(console, levels, present, kind)
    else:
        console.print("No pair is near the border: none changes sides at the next values.\n")


def _write_report(path: Path, subject: Subject) -> str:
    """Write the report, if that can be done; says where it is, or what it needs."""
    try:
        write = load_writer()
    except CommandError as error:
        return f"No report: {error}"
    write(subject, path)
    return f"Report: {path.absolute()}"


def _print_settings(
    console: Console, settings: ScrapySettings, subject: Subject, figures: Mapping[str, Any] | None
) -> None:
    """What is to be put into the settings of the project."""
    before = settings.getdict("ITEM_PIPELINES")
    unheard = [
        str(name)
        for name, order in before.items()
        if order is not None and order < _PLACE and not str(name).endswith("SimhashPipeline")
    ]
    console.print(
        Text(
            "Nothing was stored: no feed was written, no item pipeline ran but SimhashPipeline, "
            "and the index is gone."
            + (f" What {', '.join(unheard)} would change first was not seen." if unheard else "")
        )
    )
    lines = []
    if not any(load_object(addon) is Addon for addon in settings.getdict("ADDONS")):
        lines.append('ADDONS = {"scrapy_simhash.Addon": 500}')
    fields = [name for name, _ in subject.kept.counts if _IS_FIELD.fullmatch(name)]
    if fields:
        lines += [
            f"# Items were kept apart by {', '.join(fields[:_FIELDS])}. Name those that say",
            "# nothing of what an item is, such as a counter, a rank or a random id:",
            f"# SIMHASH_IGNORE_FIELDS = [{fields[0]!r}]",
        ]
    if figures and subject.similarity not in {None, float(figures["recommended"])}:
        lines += [
            f"# Fewer decisions hang on it than on {subject.similarity:g}: look at the pairs above",
            f"# SIMHASH_SIMILARITY = {figures['recommended']}",
        ]
    if lines:
        console.print("\nTo paste into settings.py:\n")
        console.print(Text("\n".join(f"    {visible(line)}" for line in lines)))
    else:
        console.print("The settings of the project need no change for this.")
    console.print()


def _kind(rule: Rule) -> str:
    return "distance" if rule.similarity is None else "similarity"

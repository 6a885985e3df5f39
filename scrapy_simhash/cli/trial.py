"""``scrapy simhash try``: a trial crawl that stores nothing, and what it would drop."""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentParser
from argparse import Namespace as Options
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import Any, ClassVar, Self
from urllib.parse import quote

from rich.console import Console
from scrapy import Spider
from scrapy.cmdline import execute
from scrapy.crawler import Crawler
from scrapy.extensions.logstats import LogStats
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.settings import Settings as ScrapySettings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.misc import load_object

from scrapy_simhash.cli.arguments import add_output, as_setting, positive
from scrapy_simhash.cli.main import name_and_value
from scrapy_simhash.cli.output import by_original, open_console, print_groups
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.crawl import components, end
from scrapy_simhash.crawl.components import Addon, SimhashPipeline
from scrapy_simhash.history.decisions import with_contents
from scrapy_simhash.history.record import Record
from scrapy_simhash.history.sql import choose_namespace
from scrapy_simhash.report.data import ReportData, read_report, sum_stats
from scrapy_simhash.report.html import write_report
from scrapy_simhash.report.verdict import findings, headline, remarks, skipped
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.visible import plural, visible

# The order of the pipeline, as the add-on sets it.
_ORDER = 100

# The pages of a trial crawl.
_PAGES = 300

# The most reasons with an example.
_EXAMPLES = 15

# The exit code of Scrapy's commands where they are used wrongly.
_USAGE = 2


def add_try(parser: ArgumentParser) -> None:
    """Add the options of ``try``."""
    parser.add_argument(
        "spider",
        metavar="SPIDER",
        help="the name of a spider, as for `scrapy crawl`, or a file, as for `scrapy runspider`",
    )
    parser.add_argument(
        "-a",
        dest="arguments",
        action="append",
        default=[],
        type=name_and_value,
        metavar="NAME=VALUE",
        help="set a spider argument (may be repeated)",
    )
    parser.add_argument(
        "--pages",
        metavar="N",
        help=f"stop after about N pages; requests in progress are completed (default: {_PAGES})",
        **as_setting("CLOSESPIDER_PAGECOUNT", positive),
    )
    add_output(parser, "write the report to FILE (default: simhash-try-SPIDER.html)")


def run_try(project: Project, options: Options) -> None:
    """Crawl some pages, and show what would be dropped."""
    with TemporaryDirectory(prefix="simhash-try-") as folder:
        crawler = _crawl(_trial_settings(project.scrapy, folder), options)
        trial = Project(crawler.settings, Options())
        spider = crawler.spidercls.name
        path = options.output or Path(f"simhash-try-{quote(str(spider), safe='')}.html")
        with trial.database() as database:
            name = trial.settings.namespace_of(crawler.spider)
            namespace = choose_namespace(database, name)
            data = read_report(namespace, trial.settings.rule, is_trial=True)
            console = open_console()
            _print_verdict(console, crawler, data, trial.settings.scheme)
            write_report(data, path)
    _print_settings(console, project.scrapy, data)
    console.print(f"Report: {path.absolute()}")


def _trial_settings(settings: ScrapySettings, folder: str) -> ScrapySettings:
    """The settings of a crawl that stores nothing."""
    trial = settings.copy()
    trial.setdefault_in_component_priority_dict("ADDONS", Addon, 500)
    own = {
        "SIMHASH_ENABLED": True,
        "SIMHASH_DATABASE_URL": f"{folder}/index.db",
        "SIMHASH_ENGINE_OPTIONS": {},
        # The report shows what would be dropped.
        "SIMHASH_ON_DUPLICATE": "drop",
        "SIMHASH_QUARANTINE": 1 << 30,
        "SIMHASH_RESET": False,
        "SIMHASH_REPORT": None,
        "ITEM_PIPELINES": {TrialPipeline: 0, SimhashPipeline: _ORDER},
        "FEEDS": {},
        "JOBDIR": None,
        "LOGSTATS_INTERVAL": 5,
    }
    # The log file of the project's crawls must not be overwritten.
    usual = {"LOG_LEVEL": "WARNING", "LOG_FILE": None, "CLOSESPIDER_PAGECOUNT": _PAGES}
    given = SETTINGS_PRIORITIES["cmdline"]
    own |= {name: value for name, value in usual.items() if trial.getpriority(name) != given}
    # A higher priority than that of the spider's custom settings.
    trial.setdict(own, priority="cmdline")
    return trial


class TrialPipeline(LogStats):
    """Keeps the crawler, and prints a line about the crawl every LOGSTATS_INTERVAL."""

    crawler: ClassVar[Crawler | None] = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy."""
        TrialPipeline.crawler = crawler
        return super().from_crawler(crawler)

    def log(self, spider: Spider) -> None:
        """Called every interval."""
        get, most = self.stats.get_value, spider.settings.getint("CLOSESPIDER_PAGECOUNT")
        items, copies = get("simhash/checked", 0), get("simhash/duplicates", 0)
        print(
            f"Crawling: {get('response_received_count', 0):,} of about {most:,} "
            f"{plural(most, 'page')}, {items:,} {plural(items, 'item')} checked, {copies:,} "
            f"{plural(copies, 'duplicate')}",
            file=sys.stderr,
            flush=True,
        )


def _crawl(settings: ScrapySettings, options: Options) -> Crawler:
    """Crawl as `scrapy crawl` and `scrapy runspider` do; gives the crawler."""
    is_file = options.spider.endswith(".py")
    if not is_file:
        _check_name(settings, options.spider)
    elif not Path(options.spider).is_file():
        raise CommandError(f"there is no file {options.spider}")
    # These warn that nothing is stored, which is intended here, or repeat what is printed below.
    for module in (components, end):
        module.logger.setLevel(logging.ERROR)
    given = [part for one in options.arguments for part in ("-a", "=".join(one))]
    failed = False
    try:
        execute(["scrapy", "runspider" if is_file else "crawl", options.spider, *given], settings)
    except SystemExit as ended:
        if ended.code == _USAGE:
            raise  # Scrapy has said what is wrong
        failed = bool(ended.code)
    crawler = TrialPipeline.crawler
    if failed or crawler is None:
        raise CommandError("the crawl could not be started; see the log above")
    _check_result(crawler)
    return crawler


def _check_name(settings: ScrapySettings, name: str) -> None:
    """Raise CommandError if the project has no spider of this name."""
    names = get_spider_loader(settings).list()
    if not names:
        raise CommandError(
            "there are no spiders here: run this in a Scrapy project, or name the file of a spider"
        )
    if name not in names:
        close = get_close_matches(name, names, 1)
        there = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(names))}"
        raise CommandError(f"there is no spider {name!r}; {there}")


def _check_result(crawler: Crawler) -> None:
    """Raise CommandError if the crawl gave nothing to compare."""
    stats, name = sum_stats([_stats(crawler)]), crawler.spidercls.name
    if not any(stats.get(f"item_{kind}_count") for kind in ("scraped", "dropped")):
        raise CommandError(
            f"the spider {name!r} gave no items ({_fetched(crawler)}), so there is nothing to "
            "compare; try -s LOG_LEVEL=INFO to see why, or more --pages"
        )
    if not any(stats.get(kind) for kind in ("unique", "duplicates", "same")):
        reasons = " or ".join(reason for _, reason in skipped(stats)) or "of errors"
        raise CommandError(
            f"none of the items of the spider {name!r} could be compared ({_fetched(crawler)}), "
            f"because {reasons}"
        )


def _stats(crawler: Crawler) -> dict[str, Any]:
    assert crawler.stats is not None  # noqa: S101 - set when the crawler is made
    return crawler.stats.get_stats()


def _fetched(crawler: Crawler) -> str:
    get = _stats(crawler).get
    pages, errors = get("response_received_count", 0), get("log_count/ERROR", 0)
    fetched = f"{pages:,} {plural(pages, 'page')}"
    return f"{fetched}, {errors:,} {plural(errors, 'error')} logged" if errors else fetched


def _print_verdict(console: Console, crawler: Crawler, data: ReportData, scheme: Scheme) -> None:
    """Print the result, and the fields that kept items apart."""
    spider = data.runs[0].spider
    console.print(f"{spider}: {_fetched(crawler)}, {headline(data)}", style="bold")
    for remark in remarks(data):
        console.print(remark)
    for one in findings(data):
        console.print(f"{one.items:,} ({one.share}) {one.outcome}: {one.what}")
    if not any(data.stats.get(f"text/{size}") for size in ("8_to_31", "from_32")):
        console.print(
            "Neither items nor pages have texts long enough to compare, so only equal items are "
            "duplicates. A field counts as text from 32 different pairs of neighbouring words on."
        )
    examples: dict[str, Record] = {}
    for pair in data.kept:
        examples.setdefault(pair.differs, pair)
    if examples:
        some = [*examples.values()][:_EXAMPLES]
        shown = with_contents(data.namespace, some, scheme)
        console.print("\nSimilar items that were kept, one for each reason:", style="bold")
        print_groups(by_original(shown))


def _print_settings(console: Console, settings: ScrapySettings, data: ReportData) -> None:
    """Print lines for the project's settings."""
    earlier = [
        str(name)
        for name, order in settings.getdict("ITEM_PIPELINES").items()
        if order is not None and order < _ORDER and not str(name).endswith("SimhashPipeline")
    ]
    missing = f" Changes that {', '.join(earlier)} would make first are missing." if earlier else ""
    console.print(
        "Nothing was stored: feeds and all item pipelines except SimhashPipeline were disabled, "
        f"and the index is deleted.{missing}"
    )
    lines = []
    if not any(load_object(addon) is Addon for addon in settings.getdict("ADDONS")):
        lines.append('ADDONS = {"scrapy_simhash.Addon": 500}')
    for one in data.advice:
        lines += [f"# {line}" for line in wrap(f"{one.effect}. The report shows some.", 90)]
        lines.append(one.setting)
    if lines:
        console.print("\nTo paste into settings.py:\n")
        for line in lines:
            console.print(f"    {visible(line)}")
        console.print()

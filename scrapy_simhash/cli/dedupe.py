"""``scrapy simhash dedupe``: remove the near-duplicates from existing files."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, redirect_stdout, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory

from scrapy_simhash.cli.arguments import add_shared, checked, output_file, positive
from scrapy_simhash.cli.printing import in_values, print_json
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.corpus.dedupe import Counts, Targets, dedupe_corpus
from scrapy_simhash.corpus.plan import Plan, criteria_of
from scrapy_simhash.corpus.workers import Sketcher
from scrapy_simhash.crawl.fields import Fields, UnusedFieldCheck
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.db.values import secret_of
from scrapy_simhash.durable import open_new
from scrapy_simhash.feed.documents import ItemReader
from scrapy_simhash.feed.files import find_files, identity_of, is_table, open_source
from scrapy_simhash.feed.source import (
    NAME_IT,
    RecordError,
    Source,
    format_of,
    text_encoding,
)
from scrapy_simhash.index.words import field_label, kept_in_words
from scrapy_simhash.item.irrelevant import has_meaning
from scrapy_simhash.visible import plural, shortened, visible

# Items of each file that are looked at for the fields that options name.
_FIRST_ITEMS = 20


def add_dedupe(parser: ArgumentParser) -> None:
    """Add the options of ``dedupe``."""
    add_shared(parser, "json")
    _add_files(parser)
    parser.add_argument(
        "--prefer",
        metavar="A,B",
        type=checked(lambda given: criteria_of(given.split(","))),
        default=(),
        help="which copy to keep instead of the first: own-site=example.com, https, canonical, "
        "longest, earliest, shortest-url",
    )
    parser.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="processes (default: one for each core, after a few seconds)",
    )
    _add_compared(parser)


def _add_files(parser: ArgumentParser) -> None:
    """Options for what is read and written."""
    parser.add_argument(
        "input",
        metavar="IN",
        nargs="+",
        help="JSON (.jsonl, .json), CSV (.csv, .tsv), Parquet or WARC, also .gz, .bz2, .xz, .zst; "
        "several files of one format, a folder or a pattern; - for standard input",
    )
    parser.add_argument(
        "--against",
        metavar="OLD",
        nargs="+",
        default=[],
        help="also drop what these files have already, and write nothing of them; of any format",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=output_file,
        required=True,
        metavar="OUT",
        help="a new file, of the same format or JSON, CSV or Parquet, in UTF-8; - for standard "
        "output",
    )
    parser.add_argument(
        "--format",
        default="jsonl",
        metavar="SUFFIX",
        help="the format of standard input and output: a suffix such as csv or json.gz "
        "(default: jsonl)",
    )
    parser.add_argument(
        "--encoding",
        type=checked(text_encoding),
        metavar="NAME",
        help="the encoding of JSON and CSV without a byte order mark: gb18030, big5, cp1252 or "
        "any that Python knows (default: UTF-8 or, if it is not, a guess)",
    )
    parser.add_argument(
        "--no-header",
        dest="header",
        action="store_false",
        help="in CSV, the first row is an item, and no column has a name",
    )
    for option, purpose in (
        ("--dropped", "write the near-duplicates to this file"),
        ("--rejects", "write lines that can't be read, which are always reported, to this file"),
        (
            "--groups",
            "write a table of duplicates and their originals, as .csv, .jsonl or .parquet",
        ),
    ):
        parser.add_argument(option, type=output_file, metavar="FILE", help=purpose)


def _add_compared(parser: ArgumentParser) -> None:
    """Options for what is compared."""
    for option, purpose in (
        ("--fields", "compare these fields only (default: SIMHASH_FIELDS or all)"),
        ("--ignore", "irrelevant fields (default: SIMHASH_IGNORE_FIELDS)"),
        ("--key", "fields that identify an item on its page (default: SIMHASH_KEY, or its URL)"),
    ):
        parser.add_argument(option, type=_names, metavar="A,B", help=purpose)
    parser.add_argument(
        "--facts",
        choices=("auto", "always", "never"),
        help="when different facts keep items with similar texts (default: SIMHASH_FACTS)",
    )


def _names(given: str) -> list[str]:
    names = [one.strip() for one in given.split(",")]
    if not all(names):
        raise ArgumentTypeError("expected names of fields, such as title,text")
    return names


def run_dedupe(project: Project, options: Namespace) -> int:
    """Remove near-duplicates from files. The exit code is 3 if lines could not be read."""
    with TemporaryDirectory(prefix="simhash-") as folder:
        # It is read twice, and nothing is written to standard output before all is done.
        spooled = Path(folder, f"standard-input.{options.format}")
        if "-" in (*options.input, *options.against):
            with open_new(spooled) as stream:
                copyfileobj(sys.stdin.buffer, stream)
        is_piped = options.output == Path("-")
        kept = Path(folder, f"standard-output.{options.format}") if is_piped else options.output
        reference, sources = (
            [
                open_source(path, options.encoding, has_header=options.header)
                for name in given
                for path in ([spooled] if name == "-" else find_files(name))
            ]
            for given in (options.against, options.input)
        )
        targets = Targets(kept, options.dropped, options.groups, options.rejects)
        _check_files(sources, reference, targets)
        for note in (note for source in (*reference, *sources) for note in source.notes):
            _tell(note)
        sketcher = _sketcher(project, options, [*reference, *sources])
        _tell_unused_fields(options, sources)
        with _shown() as advance:
            given = {"workers": options.workers, "references": len(reference)}
            counts = dedupe_corpus(sketcher, targets, **given, advance=advance)
        if is_piped:
            with targets.kept.open("rb") as stream:
                copyfileobj(stream, sys.stdout.buffer)
            sys.stdout.flush()
        with redirect_stdout(sys.stderr) if is_piped else nullcontext():
            _print(counts, options)
    return 3 if counts.rejected or counts.unreadable else 0


def _tell(problem: str) -> None:
    print(f"scrapy simhash dedupe: {visible(problem)}", file=sys.stderr)


def _print(counts: Counts, options: Namespace) -> None:
    undecoded = [problem for problem in counts.problems if problem.endswith(NAME_IT)]
    told = [problem for problem in counts.problems if problem not in undecoded[1:]]
    for problem in told:
        _tell(problem)
    if (others := counts.rejected + counts.unreadable - len(told)) > 0:
        _tell(f"{others:,} more {plural(others, 'line')} can't be read")
    if options.json:
        near = [one._asdict() for one in counts.near]
        advice = [{"ignore": one.fields, "more": one.number} for one in counts.advice]
        print_json({**counts._asdict(), "near": near, "advice": advice})
        return
    known = f" ({counts.known:,} found in OLD, among {counts.reference:,})"
    print(
        f"{counts.read:,} {plural(counts.read, 'item')} read, {counts.kept:,} kept, "
        f"{counts.dropped:,} dropped"
        + (known if options.against else "")
        + (f", {counts.unchecked:,} kept without a check" if counts.unchecked else "")
        + (f", {counts.rejected:,} rejected" if counts.rejected else "")
    )
    if counts.written:
        names = ", ".join(visible(name) or '""' for name in counts.written)
        print(f"Not compared, as it only tells when, or in which order, items were stored: {names}")
    for line in _explained(counts):
        print(line)


def _explained(counts: Counts) -> Iterator[str]:
    """What keeps items apart although they are similar, and what to do if it does not matter."""
    if not counts.near:
        return
    yield f"{kept_in_words(sum(near.number for near in counts.near))}:"
    for near in counts.near:
        values = "" if near.values == (None, None) else f": {in_values(*near.values[::-1])}"
        pair = " and ".join(str(one) if one > 0 else f"{-one} of OLD" for one in near.items[::-1])
        yield f"  {field_label(near.differs)}: {near.number:,}, as in items {pair}{values}"
    advised = {name for advice in counts.advice for name in advice.fields}
    for advice in counts.advice:
        names, number = ",".join(advice.fields), f"{advice.number:,}"
        yield f"To drop more: --ignore {names}: {number} of these differ in nothing else"
    if not all(has_meaning(near.differs) or near.differs in advised for near in counts.near):
        yield "If a field does not matter, name it: --ignore FIELD"


def _sketcher(project: Project, options: Namespace, sources: Sequence[Source]) -> Sketcher:
    settings = project.settings
    # By default the secret depends on the input: equal inputs give equal outputs, and the author of
    # a page can't know it.
    secret = secret_of(settings.secret or identity_of(sources))
    plan = Plan.make(
        replace(settings.rule, facts=options.facts or settings.facts),
        secret,
        expected_size=settings.expected_size,
        prefer=options.prefer,
    )
    return Sketcher(sources, _reader(plan, settings, options), plan)


def _reader(plan: Plan, settings: Settings, options: Namespace) -> ItemReader:
    def chosen(given: Sequence[str] | None, setting: Fields | None) -> Sequence[str] | None:
        if given is not None or setting is None:
            return given
        # Items of a feed have no class but dict.
        return list(setting.of({})) or None

    # A crawl writes this field to its items.
    group = [settings.group_field.name] if settings.group_field else []
    return ItemReader(
        *(plan.scheme, plan.secret, settings.min_features, settings.max_text),
        only=chosen(options.fields, settings.fields),
        ignore=[*(chosen(options.ignore, settings.ignore_fields) or ()), *group],
        key=chosen(options.key, settings.key),
        extractor=settings.extractor,
    )


def _tell_unused_fields(options: Namespace, sources: Sequence[Source]) -> None:
    """Tell which options name fields that none of the first items has."""
    named = {name: getattr(options, name) for name in ("fields", "ignore", "key")}
    given = {f"--{name}": Fields(value) for name, value in named.items() if value}
    check = UnusedFieldCheck(tell=_tell, **given)
    for source in sources if given else ():
        with closing(source.records()) as records:
            for record in islice(records, _FIRST_ITEMS):
                with suppress(RecordError):
                    check.see(source.item(record))
    check.report()


@contextmanager
def _shown() -> Iterator[Callable[[str, int], None]]:
    """Show the phase, and the number of items done."""
    if not sys.stderr.isatty():
        yield lambda phase, done: None
        return
    from scrapy_simhash.cli.output import working  # noqa: PLC0415 - takes long to import

    with working("Reading") as show:
        yield lambda phase, done: show(f"{phase} ({done:,})")


def _check_files(sources: Sequence[Source], reference: Sequence[Source], targets: Targets) -> None:
    """Refuse inputs that can't be read together, and outputs that can't be written."""
    first = sources[0]
    for source in sources:
        if source.form != first.form:
            forms = " and ".join(
                f"{one.path} ({shortened(one.form, 80)})" for one in (source, first)
            )
            raise CommandError(f"{forms} have different formats")
    for source in reference:
        if any(source.path.samefile(one.path) for one in sources):
            raise CommandError(f"{source.path} is given as an input and with --against")
    paths = targets.paths()
    if len({path.resolve() for path in paths}) < len(paths):
        raise CommandError("-o, --dropped, --groups and --rejects must be different files")
    for path in filter(None, (targets.kept, targets.dropped, targets.groups)):
        is_copy = path != targets.groups and format_of(path) in first.suffixes
        if not is_copy and not is_table(path):
            allowed = ".jsonl, .json, .csv, .tsv or .parquet"
            raise CommandError(f"{path}: the name must end in {allowed}")

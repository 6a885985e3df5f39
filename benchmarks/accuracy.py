r"""How right the verdicts are, on real and on generated pages, beside other tools.

    python -m benchmarks.accuracy --pages pages.tar.xz --pairs pairs.jsonl.xz --sites FOLDER \
        --out benchmarks/accuracy_parts/results.md

PAGES is an archive of real HTML pages in folders named after languages; PAIRS a file of labelled
pairs of texts, see benchmarks/pairs.py. FOLDER is where the packages are unpacked that have web
sites in them; missing ones are downloaded. All tables are written to the file OUT, or printed.
`--only` measures some parts. docs/accuracy.md quotes the most important rows by hand.

Truth is known by the making of a set, or by the selector of a site, and never by our extractor. The
pages are divided by the hash of their names: what was tuned looks at one half, the other is held
out. All is seeded; two runs give the same figures. All of it takes about 20 minutes of a processor,
most of it for other tools: `--judges this` leaves them out, `--limit 100` measures a part of each
set.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.accuracy_parts.catalogue import GENERATED, generate
from benchmarks.accuracy_parts.judges import PLUGIN
from benchmarks.accuracy_parts.others import installed, matchers, text_judges, text_of
from benchmarks.accuracy_parts.packages import SITES, fetch
from benchmarks.accuracy_parts.pages import write
from benchmarks.accuracy_parts.short import CLASSES, measure_class
from benchmarks.accuracy_parts.sites import Truth, count_drops, read_site, visits_of_site
from benchmarks.accuracy_parts.syndication import read_sources, syndication
from benchmarks.accuracy_parts.tables import Section, share, table
from benchmarks.accuracy_parts.texts import EDITS, accepted, edited, read_pairs
from benchmarks.accuracy_parts.visits import HALVES, Tally, half_of, tally
from scrapy_simhash.features.shingles import shingles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.accuracy_parts.judges import Plugin
    from benchmarks.accuracy_parts.others import TextJudge
    from benchmarks.accuracy_parts.sites import Drops
    from benchmarks.accuracy_parts.texts import Pair

OTHERS = 200  # things of a generated site that other tools are given
NONE = Tally(0, 0, 0, 0, 0, 0)


def measure_syndication(options: argparse.Namespace) -> Section:
    """Articles of real pages in the templates of others, and pages fetched again."""
    sets = syndication(read_sources(options.pages), options.seed, options.limit)
    judges = judges_of(options)
    rows = []
    for judge in judges:
        row = [judge.name]
        for visits in sets.values():
            counted = tally(visits, judge.judge(visits))
            for half in HALVES:
                copies = counted.get(("syndicated", half), NONE)
                again = counted.get(("fetched again", half), NONE)
                wrong = sum(count.wrong for (_, of), count in counted.items() if of == half)
                row += [share(copies.found, copies.copies), wrong, share(again.found, again.copies)]
        rows.append(row)
    columns = ["", *(
        f"{language}, {half}: {what}"
        for language in sets
        for half in HALVES
        for what in ("found", "wrong", "fetched again")
    )]  # fmt: skip
    sizes = {
        f"{language} pages": sum(visit.kind == "original" for visit in visits)
        for language, visits in sets.items()
    }
    return Section("syndication", table(columns, rows), sizes)


def measure_sites(options: argparse.Namespace) -> Section:
    """Real web sites in two versions, by the selectors of their content."""
    judges = judges_of(options)
    rows, sizes = [], {}
    total: dict[str, list[int]] = {judge.name: [0] * 7 for judge in judges}
    for site in SITES:
        try:
            folders = [fetch(site, version, options.sites) for version in site.versions]
        except OSError as error:
            print(error, file=sys.stderr)
            continue
        pages = [list(read_site(folder, site.content, options.limit)) for folder in folders]
        visits = visits_of_site("manual", list(zip(site.versions, pages, strict=True)))
        truth = Truth.of(visits)
        name = f"{site.name}, {site.script}: {site.package} {' and '.join(site.versions)}"
        sizes[name] = len(visits)
        for judge in judges:
            judged = judge.judge(visits)
            drops = count_drops(visits, judged, truth, HALVES)
            held = count_drops(visits, judged, truth, HALVES[1:])
            total[judge.name] = [a + b for a, b in zip(total[judge.name], drops[1:8], strict=True)]
            if judge in judges[:3]:
                rows.append(
                    [site.name if judge is judges[0] else "", judge.name, *site_row(drops, held)]
                )
    columns = ["site", "", *SITE_COLUMNS]
    sums = []
    for name, (copies, found, again, again_found, drops, lost, grey) in total.items():
        sums.append([name, share(found, copies), share(again_found, again), drops, lost, grey])
    text = table(columns, rows) + "\n\n" + table(["all sites", *SUM_COLUMNS], sums)
    return Section("sites", text, sizes)


SUM_COLUMNS = ("found", "session ids, print views", "drops", "lost", "grey")
SITE_COLUMNS = (*SUM_COLUMNS, "held out: found", "lost", "kept copies, why")


def site_row(drops: Drops, held: Drops) -> list[object]:
    """The figures of a site, all and held out, and what kept copies."""
    return [
        share(drops.found, drops.copies),
        share(drops.again_found, drops.again),
        drops.drops,
        drops.lost,
        drops.grey,
        share(held.found, held.copies),
        held.lost,
        ", ".join(f"{name} {count}" for name, count in drops.differs.most_common(3)),
    ]


def measure_generated(options: argparse.Namespace) -> Section:
    """Sites of one template whose pages are different things."""
    rows, sizes = [], {}
    for kind in GENERATED:
        everything = generate(kind, min(kind.things, 10 * options.limit))
        some = generate(kind, min(kind.things, options.limit, OTHERS))
        sizes[kind.name] = len(everything)
        for judge in judges_of(options):
            visits = everything if judge in PLUGIN else some
            count = tally(visits, judge.judge(visits), ())[()]
            lost = f"{count.lost} of {count.things}"
            rows.append(
                [kind.name, judge.name, lost, share(count.found, count.copies), count.wrong]
            )
    return Section("generated", table(["site", "", "lost", "copies found", "wrong"], rows), sizes)


def measure_pairs(options: argparse.Namespace) -> Section:
    """Labelled pairs of texts."""
    pairs = some_of(read_pairs(options.pairs), options.limit)
    answers = {
        name: [(pair, accepted(pair, matcher)) for pair in pairs]
        for name, matcher in matchers().items()
    }
    ours = answers["this"]
    rows = []
    for language in ("en", "zh"):
        for length in ("<50", "50-200", "200-1000", ">1000"):
            some = [
                (p, scored) for p, scored in ours if (p.language, p.length) == (language, length)
            ]
            rows.append([f"{language}, {length} tokens", *pair_figures(some)])
    for name, scored in answers.items():
        rows += [
            [f"{name}, {half}", *pair_figures([one for one in scored if one[0].half == half])]
            for half in HALVES
        ]
    return Section("pairs", table(["", *PAIR_COLUMNS], rows), {"pairs": len(pairs)})


def some_of(pairs: Iterable[Pair], limit: int) -> list[Pair]:
    """Ten times the limit of all pairs, evenly."""
    every = list(pairs)
    return every[:: max(1, len(every) // (10 * limit))]


PAIR_COLUMNS = (
    "found of J >= .93",
    "accepted of J <= .85",
    "accepted of J < .5",
    "by the label: found of J >= .93",
    "accepted of J <= .85",
)


def pair_figures(answers: Sequence[tuple[Pair, bool]]) -> Iterator[str]:
    """The shares accepted, by the true similarity and by the one that the file gives."""
    for of, least, most in (
        ("similarity", 0.93, 1.0),
        ("similarity", 0.0, 0.85),
        ("similarity", 0.0, 0.4999),
        ("label", 0.93, 1.0),
        ("label", 0.0, 0.85),
    ):
        some = [scored for pair, scored in answers if least <= getattr(pair, of) <= most]
        yield share(sum(some), len(some))


def measure_edits(options: argparse.Namespace) -> Section:
    """Texts edited in a known way."""
    pairs = some_of(edited(read_pairs(options.pairs), options.seed), options.limit)
    answers = {
        name: [accepted(pair, matcher) for pair in pairs] for name, matcher in matchers().items()
    }
    rows = []
    for language in ("en", "zh"):
        for edit, *_ in EDITS:
            at = [n for n, p in enumerate(pairs) if (p.language, p.length) == (language, edit)]
            mean = sum(pairs[n].similarity for n in at) / max(1, len(at))
            found = (share(sum(scored[n] for n in at), len(at)) for scored in answers.values())
            rows.append([f"{language}, {edit}", f"{mean:.2f}", *found])
    columns = ["", "mean true similarity", *answers]
    return Section("edits", table(columns, rows), {"edited texts": len(pairs)})


def measure_short(options: argparse.Namespace) -> Section:
    """Texts of a few words, beside longer ones."""
    rows = []
    for least, end in CLASSES:
        figures = measure_class(least, end, options.seed)
        rows.append([f"{least} to {end - 1}", *(f"{figure:.3f}" for figure in figures)])
    columns = ["shingles", "meet", "near by the distance", "error of a sketch", "of a distance"]
    return Section("short texts", table(columns, rows), {})


def measure_main_text(options: argparse.Namespace) -> Section:
    """The extractors beside each other, as nobody has marked the main text of these pages."""
    sources = list(read_sources(options.pages))
    names = ["density", "body", *filter(installed, ("trafilatura", "resiliparse"))]
    texts = {name: [text_of(name, source.body) for source in sources] for name in names}
    references = {"the article's element": [source.text for source in sources]}
    if "trafilatura" in texts:
        references["trafilatura"] = texts["trafilatura"]
    columns = ["text of", *(f"{name}, {half}" for name in references for half in HALVES)]
    halves = [half_of(source.name) for source in sources]
    rows = [
        [name, *(f"{score:.3f}" for score in mean_f1(scored, references.values(), halves))]
        for name, scored in texts.items()
    ]
    return Section("main text", table(columns, rows), {"pages": len(sources)})


def mean_f1(
    texts: Sequence[str], references: Iterable[Sequence[str]], halves: Sequence[str]
) -> Iterator[float]:
    """The mean F1 of pairs of tokens, for each reference and half."""
    for reference in references:
        for half in HALVES:
            yield fmean(
                f1(a, b) for a, b, of in zip(texts, reference, halves, strict=True) if of == half
            )


def f1(text: str, reference: str) -> float:
    """The harmonic mean of what of a text is right and what of the reference it has."""
    a, b = shingles(text), shingles(reference)
    common = np.intersect1d(a, b, assume_unique=True).size
    return 2 * common / (a.size + b.size) if a.size + b.size else 1.0


def judges_of(options: argparse.Namespace) -> list[Plugin | TextJudge]:
    """The plugin and what it is set beside, or those whose names hold one of some words."""
    judges = [*PLUGIN, *text_judges()]
    if not options.judges:
        return judges
    return [judge for judge in judges if any(word in judge.name for word in options.judges)]


MEASURES = {
    "syndication": measure_syndication,
    "sites": measure_sites,
    "generated": measure_generated,
    "pairs": measure_pairs,
    "edits": measure_edits,
    "short texts": measure_short,
    "main text": measure_main_text,
}


def measure(name: str, options: argparse.Namespace) -> Section:
    """Measure a part, and say how long it took."""
    started = time.perf_counter()
    section = MEASURES[name](options)
    print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return section


def main() -> None:
    """Measure, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=Path, required=True, help="a tar archive of HTML pages")
    parser.add_argument("--pairs", type=Path, required=True, help="labelled pairs of texts")
    parser.add_argument("--sites", type=Path, required=True, help="folder of unpacked packages")
    parser.add_argument("--out", type=Path, help="file for the tables")
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=[*MEASURES])
    parser.add_argument("--judges", nargs="+", help="words in the names of those to measure")
    parser.add_argument("--limit", type=int, default=1000, help="pages of a set, about")
    parser.add_argument("--jobs", type=int, default=2, help="parts that are measured at once")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.out and (options.judges or options.only != [*MEASURES]):
        parser.error("a part of the figures is printed, not written: leave out --out")
    with ProcessPoolExecutor(options.jobs) as pool:
        write(list(pool.map(measure, options.only, repeat(options))), options.out)


if __name__ == "__main__":
    main()

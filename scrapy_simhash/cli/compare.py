"""``scrapy simhash compare``: compare two pages or texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from scrapy_simhash.cli.arguments import add_json
from scrapy_simhash.cli.output import (
    facts_table,
    format_distance,
    marked_difference,
    open_console,
    print_json,
    text_changes,
)
from scrapy_simhash.cli.texts import texts_of
from scrapy_simhash.report.visible import shortened
from scrapy_simhash.simhash.measure import distance, jaccard, near, similarity_at

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping, Sequence
    from typing import Any

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.crawl.settings import Settings
    from scrapy_simhash.simhash.scheme import Sketch

__all__ = ["add_arguments", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_json(parser)
    parser.add_argument("a", metavar="A", help="a URL or a file")
    parser.add_argument("b", metavar="B", help="a URL or a file")


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    sources = (options.a, options.b)
    texts = texts_of(project, sources)
    figures = _figures(project, sources, texts)
    changes = text_changes(*texts) or []
    if options.json:
        print_json({**figures, "difference": changes})
        return
    _print_figures(figures, project.settings.scheme.bits)
    open_console().print(marked_difference(texts[0], changes))


def _figures(project: Project, sources: Sequence[str], texts: Sequence[str]) -> dict[str, Any]:
    scheme = project.settings.scheme
    sketches = [scheme.sketch(text) for text in texts]
    a, b = sketches
    apart = None
    if a.fingerprint is not None and b.fingerprint is not None:
        apart = distance(a.fingerprint, b.fingerprint)
    exact = None
    if a.shingles is not None and b.shingles is not None:
        exact = jaccard(a.shingles, b.shingles)
    is_near = apart is not None and near(apart, a.size, b.size, project.limit)
    verdict = _not_compared(project.settings, texts, sketches)
    return {
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
            for source, text, sketch in zip(sources, texts, sketches, strict=True)
        ],
        "distance": apart,
        "limit": project.limit,
        "similarity": None if apart is None else similarity_at(apart, scheme.bits),
        "jaccard": exact,
        "verdict": verdict or ("near-duplicates" if is_near else "different"),
    }


def _not_compared(
    settings: Settings, texts: Sequence[str], sketches: Sequence[Sketch]
) -> str | None:
    """Why a crawl would not compare these texts; None where it would."""
    for name, text, sketch in zip("AB", texts, sketches, strict=True):
        if len(text) > settings.max_text:
            return (
                f"not compared: {name} has {len(text):,} characters, more than SIMHASH_MAX_TEXT = "
                f"{settings.max_text:,}"
            )
        if sketch.fingerprint is None:
            return f"not compared: {name} has too little text for a fingerprint"
        if sketch.size < settings.min_features:
            return (
                f"not compared: {name} has {sketch.size:,} features, fewer than "
                f"SIMHASH_MIN_FEATURES = {settings.min_features:,}"
            )
    return None


def _print_figures(figures: Mapping[str, Any], bits: int) -> None:
    console = open_console()
    table = Table("", "A", "B")
    for name in ("source", "characters", "features", "fingerprint"):
        table.add_row(name, *(Text(shortened(str(text[name]))) for text in figures["texts"]))
    console.print(table)
    facts = facts_table()
    facts.add_row("verdict", figures["verdict"])
    facts.add_row("scheme", figures["scheme"])
    facts.add_row("distance", format_distance(figures["distance"], bits))
    facts.add_row("near-duplicates up to", str(figures["limit"]))
    if figures["jaccard"] is not None:
        facts.add_row("shingles in common", f"{figures['jaccard']:.3f}")
    console.print(facts)

"""``scrapy simhash compare``: compare two pages or texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

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
from scrapy_simhash.cli.texts import jaccard, texts_of
from scrapy_simhash.report.visible import shortened
from scrapy_simhash.simhash.measure import distance, similarity_at

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

    from scrapy_simhash.cli.project import Project

__all__ = ["add_arguments", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_json(parser)
    parser.add_argument("a", metavar="A", help="a URL or a file")
    parser.add_argument("b", metavar="B", help="a URL or a file")


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    scheme, limit = project.settings.scheme, project.limit
    texts = texts_of(project, (options.a, options.b))
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
        "jaccard": jaccard(*texts) if scheme.id.startswith("shingles/") else None,
        "verdict": verdict,
    }
    if options.json:
        print_json({**known, "difference": text_changes(*texts)})
        return
    console = open_console()
    table = Table("", "A", "B")
    for name in ("source", "characters", "features", "fingerprint"):
        table.add_row(name, *(Text(shortened(str(text[name]))) for text in known["texts"]))
    console.print(table)
    facts = facts_table(verdict)
    facts.add_row("scheme", scheme.id)
    facts.add_row("distance", format_distance(apart, scheme.bits))
    facts.add_row("near-duplicates up to", str(limit))
    if known["jaccard"] is not None:
        facts.add_row("shingles in common", f"{known['jaccard']:.3f}")
    console.print(facts)
    console.print(marked_difference(texts[0], text_changes(*texts) or []))

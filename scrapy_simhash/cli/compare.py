"""``scrapy simhash compare``: compare two pages or texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from scrapy_simhash.cli.arguments import add_json
from scrapy_simhash.cli.judging import Pair
from scrapy_simhash.cli.output import (
    facts_table,
    format_distance,
    format_similarity,
    marked_difference,
    open_console,
    print_json,
    text_changes,
)
from scrapy_simhash.cli.sources import read_sources
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.folding import fold
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.urls import same_site
from scrapy_simhash.report.verdict import in_words
from scrapy_simhash.text.page_sketch import containment
from scrapy_simhash.visible import plural, shortened

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping, Sequence
    from typing import Any

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.cli.sources import Source
    from scrapy_simhash.crawl.settings import Settings
    from scrapy_simhash.index.decide import Rule
    from scrapy_simhash.simhash.scheme import Scheme

__all__ = ["add_arguments", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_json(parser)
    parser.add_argument("a", metavar="A", help="a URL or a file: of HTML, or a text")
    parser.add_argument("b", metavar="B", help="a URL or a file: of HTML, or a text")


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    sources = read_sources(project, (options.a, options.b))
    figures = _figures(project, sources)
    texts = [source.text for source in sources]
    changes = text_changes(*texts) or []
    if options.json:
        print_json({**figures, "difference": changes})
        return
    _print_figures(figures, project.settings.scheme.bits)
    open_console().print(marked_difference(texts[0], changes))


def _figures(project: Project, sources: Sequence[Source]) -> dict[str, Any]:
    scheme, rule = project.settings.scheme, project.rule
    a, b = documents = [
        _document(scheme, source, name) for source, name in zip(sources, "AB", strict=True)
    ]
    pair = None
    if a.sketch.fingerprint is not None and b.sketch.fingerprint is not None:
        pair = Pair.of(scheme, a, b)
    verdict = _not_compared(project.settings, sources, documents)
    rest = None
    if a.rest is not None and b.rest is not None and same_site(a.url, b.url):
        rest = containment(a.rest, b.rest)
    return {
        "scheme": scheme.id,
        "texts": [
            {
                "source": source.name,
                "characters": len(source.text),
                "features": document.sketch.size,
                "fingerprint": _hexadecimal(document.sketch.fingerprint, scheme.bits),
                "facts": source.facts,
            }
            for source, document in zip(sources, documents, strict=True)
        ],
        "similarity": pair and pair.similarity,
        "wanted": rule.similarity,
        "distance": pair and pair.distance,
        "estimate": pair and pair.estimate,
        "limit": rule.limit,
        "rest": rest,
        "verdict": verdict or (_verdict(pair, rule) if pair else ""),
    }


def _document(scheme: Scheme, source: Source, key: str) -> Document:
    """A page as a crawl compares it that stores nothing else of it; a text by itself."""
    facts = None
    if source.facts is not None:
        said = {name: fold(name_of(name), value) for name, value in source.facts.items()}
        known = {name: folded for name, folded in said.items() if folded is not None}
        facts = Facts.of(known).with_numbers(source.text)
    return Document(scheme.sketch(source.text), key, source.url, facts=facts, rest=source.rest)


def _hexadecimal(fingerprint: int | None, bits: int) -> str | None:
    return None if fingerprint is None else f"{fingerprint:0{-(-bits // 4)}x}"


def _verdict(pair: Pair, rule: Rule) -> str:
    decision = pair.decide(rule)
    if decision.differs is not None:
        return f"different things: {in_words(decision.differs)}"
    return "different" if decision.kind == "unique" else "near-duplicates"


def _not_compared(
    settings: Settings, sources: Sequence[Source], documents: Sequence[Document]
) -> str | None:
    """Why a crawl would not compare these texts; None where it would."""
    for name, source, document in zip("AB", sources, documents, strict=True):
        sketch = document.sketch
        if source.excess:
            return f"not compared: {name} has more {source.excess} than a crawl looks at"
        if len(source.text) > settings.max_text:
            return (
                f"not compared: {name} has {len(source.text):,} characters, more than "
                f"SIMHASH_MAX_TEXT = {settings.max_text:,}"
            )
        if sketch.fingerprint is None:
            return f"not compared: {name} has too little text for a fingerprint"
        if sketch.size < settings.min_features:
            features = plural(sketch.size, "feature")
            return (
                f"not compared: {name} has {sketch.size:,} {features}, fewer than "
                f"SIMHASH_MIN_FEATURES = {settings.min_features:,}"
            )
        if not source.speaks:
            return f"not compared: the main text of {name} is a footer"
    return None


def _print_figures(figures: Mapping[str, Any], bits: int) -> None:
    console = open_console()
    table = Table("", "A", "B")
    texts = figures["texts"]
    for name in ("source", "characters", "features", "fingerprint"):
        table.add_row(name, *(Text(shortened(str(text[name]))) for text in texts))
    said = [text["facts"] or {} for text in texts]
    for name in sorted({name for facts in said for name in facts}):
        table.add_row(
            Text(shortened(name, 80)), *(Text(shortened(facts.get(name, ""))) for facts in said)
        )
    console.print(table)
    facts = facts_table()
    facts.add_row("verdict", Text(figures["verdict"]))
    facts.add_row("scheme", figures["scheme"])
    if figures["similarity"] is not None:
        wanted = "" if figures["wanted"] is None else f"; {figures['wanted']:g} is asked for"
        known = format_similarity(figures["similarity"], estimated=False)
        facts.add_row("similarity", f"{known}{wanted}")
    facts.add_row("distance", format_distance(figures["distance"], bits))
    facts.add_row("compared up to", f"{figures['limit']} {plural(figures['limit'], 'bit')}")
    if figures["rest"] is not None:
        facts.add_row("rest of the page", f"{figures['rest']:.2f} of the smaller one is on both")
    console.print(facts)

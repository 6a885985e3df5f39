"""``scrapy simhash compare``: compare two pages or texts."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rich.table import Table
from rich.text import Text

from scrapy_simhash.cli.arguments import add_json
from scrapy_simhash.cli.output import (
    format_distance,
    format_similarity,
    marked_difference,
    open_console,
    print_facts,
    text_changes,
)
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import Project
from scrapy_simhash.cli.sources import Source, read_sources
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.index.batch import document_row
from scrapy_simhash.index.decide import decide
from scrapy_simhash.index.rule import Met, Rule
from scrapy_simhash.index.similarity_cache import changes_of
from scrapy_simhash.index.verdict import Claimant, Document
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.folding import fold
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.urls import same_site
from scrapy_simhash.report.verdict import in_words
from scrapy_simhash.simhash.measure import distance, jaccard, similarity_at
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.text.page import containment
from scrapy_simhash.visible import plural, shortened


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_json(parser)
    parser.add_argument("a", metavar="A", help="a URL, or a file with HTML or plain text")
    parser.add_argument("b", metavar="B", help="a URL, or a file with HTML or plain text")


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
    scheme, rule = project.settings.scheme, project.settings.rule
    a, b = documents = [
        _document(scheme, source, name) for source, name in zip(sources, "AB", strict=True)
    ]
    verdict = _not_compared(project.settings, sources, documents)
    similarity = apart = shared = None
    if a.sketch.fingerprint is not None and b.sketch.fingerprint is not None:
        if a.sketch.shingles is not None and b.sketch.shingles is not None:
            similarity = jaccard(a.sketch.shingles, b.sketch.shingles)
        apart = distance(a.sketch.fingerprint, b.sketch.fingerprint)
        verdict = verdict or _verdict(scheme, rule, documents, apart, similarity)
    if a.page_sketch is not None and b.page_sketch is not None and same_site(a.url, b.url):
        shared = containment(a.page_sketch, b.page_sketch)
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
        "similarity": similarity,
        "threshold": rule.similarity,
        "distance": apart,
        "estimate": None if apart is None else similarity_at(apart, scheme.bits),
        "limit": rule.limit,
        "page_sketch": shared,
        "verdict": verdict,
    }


def _document(scheme: Scheme, source: Source, key: str) -> Document:
    """A page as a crawl without items compares it; of a text, the text alone."""
    facts = None
    if source.facts is not None:
        found = {name: fold(name_of(name), value) for name, value in source.facts.items()}
        known = {name: folded for name, folded in found.items() if folded is not None}
        facts = Facts.of(known).with_numbers(source.text)
    return Document(
        scheme.sketch(source.text),
        key,
        source.url,
        text=source.text,
        facts=facts,
        page_sketch=source.page_sketch,
    )


def _hexadecimal(fingerprint: int | None, bits: int) -> str | None:
    return None if fingerprint is None else f"{fingerprint:0{-(-bits // 4)}x}"


def _verdict(
    scheme: Scheme, rule: Rule, documents: Sequence[Document], apart: int, similarity: float | None
) -> str:
    """What a crawl decides on the second document after storing the first."""
    rows = [
        document_row(
            document, namespace=0, claimant=Claimant(0, 0), now=0.0, width=-(-scheme.bits // 8)
        )._replace(id=number)
        for number, document in enumerate(documents, 1)
    ]
    new, old = reversed(documents)
    changes = partial(changes_of, new.text or "", old.text or "")
    met = [(), [Met(apart, similarity, False, rows[0], changes)]]
    facts = [document.facts for document in documents]
    decision = decide(rows, facts, met, lambda *_: (), rule=rule, made={})[1]
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
            return f"not compared: {name} has more {source.excess} than a crawl accepts"
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
        if not source.is_representative:
            return f"not compared: the main text of {name} is a footer"
    return None


def _print_figures(figures: Mapping[str, Any], bits: int) -> None:
    console = open_console()
    table = Table("", "A", "B")
    texts = figures["texts"]
    for name in ("source", "characters", "features", "fingerprint"):
        values = [text[name] for text in texts]
        shown = (f"{one:,}" if isinstance(one, int) else str(one) for one in values)
        table.add_row(name, *(Text(shortened(one)) for one in shown))
    known = [text["facts"] or {} for text in texts]
    for name in sorted({name for facts in known for name in facts}):
        table.add_row(
            Text(shortened(name, 80)), *(Text(shortened(facts.get(name, ""))) for facts in known)
        )
    console.print(table)
    similarity = page_sketch = None
    if figures["similarity"] is not None:
        least = "" if figures["threshold"] is None else f" (threshold {figures['threshold']:g})"
        similarity = f"{format_similarity(figures['similarity'], estimated=False)}{least}"
    if figures["page_sketch"] is not None:
        page_sketch = f"{figures['page_sketch']:.0%} of the text of the smaller page"
    rows = {
        "verdict": figures["verdict"],
        "scheme": figures["scheme"],
        "similarity": similarity,
        "distance of fingerprints": format_distance(figures["distance"], bits),
        "largest distance compared": f"{figures['limit']} {plural(figures['limit'], 'bit')}",
        "on both whole pages": page_sketch,
    }
    print_facts(rows)

"""``scrapy simhash compare``: compare two pages or texts."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from scrapy_simhash.cli import output
from scrapy_simhash.cli.arguments import add_shared
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.feed.documents import NO_CRAWL
from scrapy_simhash.index.batch import document_row
from scrapy_simhash.index.comparing import changes_of
from scrapy_simhash.index.decide import decide
from scrapy_simhash.index.rule import Rule, fingerprint_distance
from scrapy_simhash.index.verdict import ClaimRow, Document, Match
from scrapy_simhash.index.words import difference_in_words
from scrapy_simhash.item.content import read_facts
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.values import short
from scrapy_simhash.report.difference import difference
from scrapy_simhash.simhash.measure import distance, jaccard
from scrapy_simhash.text.html import parse_within_limits
from scrapy_simhash.text.page import containment, read_page
from scrapy_simhash.text.page_facts import page_facts

# The largest file that is read.
_MOST = 64 << 20


def add_compare(parser: ArgumentParser) -> None:
    """Add the options of ``compare``."""
    add_shared(parser, "json")
    for name in ("a", "b"):
        parser.add_argument(
            name,
            metavar=name.upper(),
            help="a file with HTML or plain text; - for standard input",
        )


def run_compare(project: Project, options: Namespace) -> None:
    """Compare two pages or texts."""
    settings, names = project.settings, (options.a, options.b)
    a, b = documents = [
        _document(page, f"https://one.site/{n}", settings) for n, page in enumerate(_pages(names))
    ]
    bits = settings.scheme.bits
    figures = _compared(a, b, settings.rule, bits)
    figures["texts"] = [
        {"source": name, **_of_page(document, bits)}
        for name, document in zip(names, documents, strict=True)
    ]
    text, changes = difference(*(None if one is None else one.text for one in documents))
    if options.json:
        print_json({**figures, "difference": changes or []})
        return
    _print_figures(figures, bits)
    if changes is not None:
        output.open_console().print(output.marked_difference(text, changes))


def _pages(names: Sequence[str]) -> Iterator[bytes | str]:
    """Read files. Content that begins with "<" is a page, which stays bytes, all other a text."""
    for name in names:
        if name.startswith(("http://", "https://")):
            raise CommandError(
                f"{name}: pages are not downloaded; save it to a file, or pipe it: "
                "curl -L URL | scrapy simhash compare - FILE"
            )
        with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as stream:
            content = stream.read(_MOST + 1)
        if len(content) > _MOST:
            raise CommandError(f"{name}: larger than 64 MiB")
        if content.removeprefix(BOM_UTF8).lstrip()[:1] == b"<":
            yield content
        else:
            yield content.decode("utf-8-sig", "replace")


def _document(page: bytes | str, url: str, settings: Settings) -> Document | None:
    """The document of a page or a text; None if its text is too short or too long."""
    own: dict[str, Any] = {}
    if isinstance(page, str):
        text, page_sketch = page, None
    else:
        if (root := parse_within_limits(page)) is None:
            return None
        says = read_page(root, settings.extractor, most=settings.max_text)
        if says is None or not says.is_representative:
            return None
        text, page_sketch, own = says.text, says.page_sketch, page_facts(root)
    if not text.strip() or len(text) > settings.max_text:
        return None
    sketch = settings.scheme.sketch(text)
    if sketch.fingerprint is None or sketch.size < settings.min_features:
        return None
    facts = read_facts(own, page_url="", **NO_CRAWL) if own else Facts()
    more: dict[str, Any] = {"facts": facts, "values": own, "page_sketch": page_sketch}
    return Document(sketch, url, url, alone=False, text=text, **more)


def _of_page(document: Document | None, bits: int) -> dict[str, Any]:
    if document is None:
        return dict.fromkeys(("characters", "features", "fingerprint", "facts"))
    return {
        "characters": len(document.text or ""),
        "features": document.sketch.size,
        "fingerprint": f"{document.sketch.fingerprint or 0:0{-(-bits // 4)}x}",
        "facts": document.values,
    }


def _compared(a: Document | None, b: Document | None, rule: Rule, bits: int) -> dict[str, Any]:
    figures: dict[str, Any] = dict.fromkeys(("verdict", "similarity", "distance", "page_sketch"))
    figures |= {"threshold": rule.threshold, "limit": rule.limit}
    if a is None or b is None:
        what = f"the main text of {'A' if a is None else 'B'} is missing, too short, too long or"
        return figures | {"verdict": f"not compared: {what} a footer"}
    figures["distance"] = distance(a.sketch.fingerprint or 0, b.sketch.fingerprint or 0)
    if a.sketch.shingles is not None and b.sketch.shingles is not None:
        figures["similarity"] = jaccard(a.sketch.shingles, b.sketch.shingles)
    if a.page_sketch is not None and b.page_sketch is not None:
        figures["page_sketch"] = containment(a.page_sketch, b.page_sketch)
    return figures | {"verdict": _verdict(rule, (a, b), figures["similarity"], -(-bits // 8))}


def _verdict(
    rule: Rule, documents: Sequence[Document], similarity: float | None, width: int
) -> str:
    """What a crawl decides on the second document after storing the first."""
    rows = [
        document_row(document, ClaimRow(id=number, origin=number), width)
        for number, document in enumerate(documents, 1)
    ]
    old, new = documents
    changes = partial(changes_of, new.text or "", old.text or "")
    match = Match(rows[0], fingerprint_distance(*rows), similarity, changes=changes)
    verdict = decide(rows[1], new.facts, [match], rule=rule)
    if verdict.differs is not None:
        return f"different items: {difference_in_words(verdict.differs)}"
    return "different" if verdict.kind == "unique" else "near-duplicates"


def _print_figures(figures: Mapping[str, Any], bits: int) -> None:
    rows: list[tuple[str, ...]] = []
    texts = figures["texts"]
    for name in ("source", "characters", "features", "fingerprint"):
        values = [text[name] or "-" for text in texts]
        rows.append((name, *(f"{one:,}" if isinstance(one, int) else one for one in values)))
    known = [text["facts"] or {} for text in texts]
    names = sorted({name for facts in known for name in facts})
    rows += ((name, *(short(facts.get(name, "")) for facts in known)) for name in names)
    output.print_table(("", "A", "B"), rows)
    shared = figures["page_sketch"]
    facts = {"verdict": figures["verdict"]}
    if figures["similarity"] is not None:
        least = figures["threshold"]
        shown = output.format_similarity(figures["similarity"], estimated=False)
        facts["similarity"] = shown if least is None else f"{shown} (threshold {least:g})"
    facts["distance of fingerprints"] = output.format_distance(figures["distance"], bits)
    if shared is not None:
        facts["on both whole pages"] = f"{shared:.0%} of the text of the smaller page"
    output.print_facts(facts)

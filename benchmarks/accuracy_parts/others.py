"""Texts as judges: an extractor, and an index of this package or of another one that compares.

Other packages are measured where they are installed, see the extra `benchmark`. Those that take
features are given pairs of tokens, as this package makes them, so that all languages are alike.
"""

from __future__ import annotations

from functools import cache, lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from benchmarks.accuracy_parts.visits import Judged
from benchmarks.peers import PEERS
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.features.shingles import shingle_names
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.runs import Run
from scrapy_simhash.text.html import parse_html
from scrapy_simhash.text.page import load_extractor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.accuracy_parts.visits import Visit
    from benchmarks.peers import Matcher

__all__ = ["TextJudge", "extractors", "installed", "matchers", "text_judges", "text_of"]

SIMILARITY = 0.8  # that other packages find


class TextJudge(NamedTuple):
    """An extractor with a matcher; nothing but texts counts.

    Attributes:
        name: in tables.
        extractor: of `text_of`.
        matcher: makes an empty one.
    """

    name: str
    extractor: str
    matcher: Callable[[], Matcher]

    def judge(self, visits: Sequence[Visit]) -> list[Judged]:
        """Judge visits in their order."""
        matcher = self.matcher()
        judged = []
        for number, visit in enumerate(visits):
            text = visit.text if visit.page is None else text_of(self.extractor, visit.page)
            judged.append(Judged(matcher.meet(number, text) if text.strip() else None))
        return judged


class _This:
    """The index of this package, by texts alone."""

    names = count()

    def __init__(self) -> None:
        database, run = _in_memory()
        self._index = Index(database, namespace=str(next(self.names)), run=run)

    def meet(self, number: int, text: str) -> int | None:
        verdict = self._index.claim(text, key=str(number))
        self._index.confirm(verdict)
        return int(verdict.match.key) if verdict.kind == "duplicate" and verdict.match else None


@lru_cache(maxsize=1)
def _in_memory() -> tuple[Database, Run]:
    database = Database("sqlite://")
    return database, Run.open(database)


def matchers() -> dict[str, Callable[[], Matcher]]:
    """The matchers that are installed, by their names and versions."""
    return {"this": _This} | {
        named(package): partial(peer, shingle_names, SIMILARITY)
        for package, peer in PEERS.items()
        if installed(package)
    }


def text_judges() -> list[TextJudge]:
    """Every extractor with the index of this package, then other matchers with two extractors."""
    extractors = ["density", "body"]
    extractors += [name for name in ("trafilatura", "resiliparse") if installed(name)]
    known = matchers()
    this = known.pop("this")
    judges = [TextJudge(f"text of {named(name)}", name, this) for name in extractors]
    for extractor in ("density", "trafilatura"):
        if extractor in extractors:
            judges += [
                TextJudge(f"{name}, text of {extractor}", extractor, matcher)
                for name, matcher in known.items()
            ]
    return judges


def named(package: str) -> str:
    """A name with the version, where it is that of a package."""
    return f"{package} {installed(package)}".strip()


def installed(package: str) -> str:
    """The version of a package that is installed, or an empty string."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@cache
def text_of(extractor: str, page: bytes) -> str:
    """The main text of a page by an extractor's name: one of this package, or a package's."""
    root = parse_html(page)
    if root is None:
        return ""
    if extractor not in _PACKAGES:
        return load_extractor(extractor)(root)
    return _PACKAGES[extractor](etree.tostring(root, encoding="unicode", method="html"))


def extractors() -> list[str]:
    """What `text_of` knows and is installed."""
    return ["density", "body", *filter(installed, ("trafilatura", *_PACKAGES))]


def _resiliparse(markup: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return extract_plain_text(markup, main_content=True)


def _readability(markup: str) -> str:
    from readability import Document

    root = parse_html(Document(markup).summary())
    return "" if root is None else load_extractor("body")(root)


def _justext(markup: str) -> str:
    from justext import get_stoplist, justext

    paragraphs = justext(markup, get_stoplist("English"))
    return "\n".join(one.text for one in paragraphs if not one.is_boilerplate)


_PACKAGES = {
    "resiliparse": _resiliparse,
    "readability-lxml": _readability,
    "jusText": _justext,
}

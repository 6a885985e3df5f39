"""Texts as judges: an extractor, and an index of this package or of another one that compares.

Other packages are measured where they are installed, see the extra `benchmark`. Those that take
features are given pairs of tokens, as this package makes them, so that all languages are alike.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from lxml import etree

from benchmarks.accuracy_parts.visits import Judged
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.features.shingles import shingle_names
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.runs import Run
from scrapy_simhash.text.html import parse_html
from scrapy_simhash.text.page import load_extractor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.accuracy_parts.visits import Visit

__all__ = ["Matcher", "TextJudge", "extractors", "installed", "matchers", "text_judges", "text_of"]


class Matcher(Protocol):
    """Texts that are stored, and how one that is near is found."""

    def meet(self, number: int, text: str) -> int | None:
        """Return the number of a stored text that this one is near; store it if none is."""


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


class _Simhash:
    """simhash, with its own features, and the distance that the literature has.

    Version 2.1.2 fails, with numpy 2, on a text that has a feature more than 255 times.
    """

    def __init__(self) -> None:
        from simhash import Simhash, SimhashIndex

        self._fingerprint = Simhash
        self._index = SimhashIndex([], k=3)

    def meet(self, number: int, text: str) -> int | None:
        try:
            fingerprint = self._fingerprint(text)
        except OverflowError:
            return None
        near = self._index.get_near_dups(fingerprint)
        if near:
            return min(map(int, near))
        self._index.add(str(number), fingerprint)
        return None


class _Datasketch:
    """datasketch: MinHash of 128 permutations, LSH at a similarity of .8."""

    def __init__(self) -> None:
        from datasketch import MinHash, MinHashLSH

        self._minhash = MinHash
        self._index = MinHashLSH(num_perm=128, params=_bands())

    def meet(self, number: int, text: str) -> int | None:
        features = [name.encode("utf-8", "replace") for name in shingle_names(text)]
        if not features:
            return None
        minhash = self._minhash(num_perm=128)
        minhash.update_batch(features)
        near = self._index.query(minhash)
        if near:
            return min(near)
        self._index.insert(number, minhash)
        return None


@lru_cache(maxsize=1)
def _bands() -> tuple[int, int]:
    """How datasketch divides permutations; finding that out takes most of the time."""
    from datasketch import MinHashLSH

    index = MinHashLSH(threshold=0.8, num_perm=128)
    return index.b, index.r


class _Gaoya:
    """gaoya: MinHash of 100 hashes in 20 bands, at a similarity of .8."""

    def __init__(self) -> None:
        from gaoya.minhash import MinHashStringIndex

        self._index = MinHashStringIndex(
            jaccard_threshold=0.8, num_bands=20, band_size=5, analyzer=_features
        )

    def meet(self, number: int, text: str) -> int | None:
        near = self._index.query(text)
        if near:
            return min(near)
        self._index.insert_document(number, text)
        return None


class _Rensa:
    """rensa: MinHash of 128 permutations in 16 bands, at an estimated similarity of .8."""

    def __init__(self) -> None:
        from rensa import RMinHash, RMinHashLSH

        self._minhash = RMinHash
        self._index = RMinHashLSH(threshold=0.8, num_perm=128, num_bands=16)
        self._kept: dict[int, Any] = {}

    def meet(self, number: int, text: str) -> int | None:
        minhash = self._minhash(num_perm=128, seed=1)
        minhash.update(_features(text))
        near = [one for one in self._index.query(minhash) if self._is_near(minhash, one)]
        if near:
            return min(near)
        self._index.insert(number, minhash)
        self._kept[number] = minhash
        return None

    def _is_near(self, minhash: Any, other: int) -> bool:
        return bool(minhash.jaccard(self._kept[other]) >= 0.8)


def _features(text: str) -> list[str]:
    return list(shingle_names(text))


def matchers() -> dict[str, Callable[[], Matcher]]:
    """The matchers that are installed, by their names and versions."""
    known = {"simhash": _Simhash, "datasketch": _Datasketch, "gaoya": _Gaoya, "rensa": _Rensa}
    return {"this": _This} | {
        f"{package} {installed(package)}": matcher
        for package, matcher in known.items()
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

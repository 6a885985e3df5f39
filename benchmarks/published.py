r"""Measured in public: sets that others marked, each by its own scorer, beside other packages.

    python -m benchmarks.published --articles FOLDER --cleaned FOLDER --out published.md

Main texts. `--articles` is a checkout of github.com/scrapinghub/article-extraction-benchmark, whose
own evaluate.py scores; `--cleaned` one of github.com/j-szulc/html-cleaning-dataset-merged, with
CleanEval, CleanPortalEval, L3S-GN1 and Dragnet, each scored by the same shingles of four words, as
the mean F1 of its pages; pages without a marked text are left out. Extractors get the page as a
str, decoded by this package, and 60 s; what fails counts as no text.

Near-duplicates. `--core` is a file of the rows of pinecone/core-2020-05-10-deduplication as JSON
lines, scored as text-dedup does (its "macro F1" is the mean precision of the two classes);
`--news-copy` a folder with NEWS-COPY's `*_inf_data.json` and `*_gt.json`, scored by the adjusted
Rand index; `--spotsigs` the gold set of SpotSigs, a folder of pages for each cluster, scored by the
F1 of pairs. Each matcher takes the texts in their order; a text joins the group of what it matches.

What is not installed is left out: `pip install --group benchmark`. Half of each set was tuned on,
the even pages in the order of their names: figures are given for all, and for the half held out.
"""

from __future__ import annotations

import argparse
import gzip
import html
import importlib.util
import json
import re
import signal
import sys
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import comb
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.accuracy_parts.others import extractors, matchers, named, text_of
from benchmarks.accuracy_parts.tables import table
from scrapy_simhash.text.html import decode, parse_html

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from benchmarks.peers import Matcher

SECONDS = 60  # that an extractor has for a page
CLEANED = {
    "CleanEval final": "cleaneval-final",
    "CleanEval dev": "cleaneval-dev",
    "CleanPortalEval": "CleanPortalEval-master",
    "L3S-GN1": "page-signal-master",
    "Dragnet": "dragnet_data",
}
# The classes of headlines, full text and supplements; others are of related stories and comments.
ARTICLE = re.compile("x-nc-sel[123]")


class Marked(NamedTuple):
    """A page with the main text that somebody marked."""

    name: str
    page: bytes
    text: str


def read_articles(folder: Path) -> list[Marked]:
    """Read the pages of article-extraction-benchmark."""
    truth = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    return [
        Marked(name, gzip.decompress((folder / f"html/{name}.html.gz").read_bytes()), article)
        for name, article in sorted((name, marked["articleBody"]) for name, marked in truth.items())
    ]


def read_cleaned(folder: Path) -> list[Marked]:
    """Read one of the sets of html-cleaning-dataset-merged."""
    pages = []
    for path in sorted((folder / "GoldStandard").glob("*.txt")):
        page = folder / "input" / f"{path.stem}.html"
        text = (_of_spans if folder.name == "page-signal-master" else _of_gold)(path.read_bytes())
        if page.exists() and re.search(r"\w", text):
            pages.append(Marked(path.stem, page.read_bytes(), text))
    return pages


def _of_spans(body: bytes) -> str:
    """The text of a page whose texts are in spans by their class."""
    root = parse_html(body)
    spans = () if root is None else root.iter("span")
    marked = (span for span in spans if ARTICLE.fullmatch(span.get("class", "")))
    return " ".join(text for span in marked for text in span.xpath("text()"))


def _of_gold(body: bytes) -> str:
    """A text with a URL in the first line and a few tags; Dragnet has comments at the end."""
    text = re.sub(r"\A\s*URL.*", "", decode(body))
    text = re.split(r".*\(\)\s+COMMENTS\s*\n|.*\^&\*\s+COMMENTS\s*\n", text)[0]
    return html.unescape(re.sub(r"<!--.*?-->|</?[a-zA-Z][^>]*>", " ", text, flags=re.DOTALL))


def four_words(text: str) -> Counter[tuple[str, ...]]:
    """The shingles of four words of a text; a shorter one is one shingle."""
    words = re.findall(r"\w+", text)
    return Counter(tuple(words[at : at + 4]) for at in range(max(bool(words), len(words) - 3)))


def f1(truth: str, text: str) -> float:
    """What two texts have of each other, by shingles of four words."""
    a, b = four_words(truth), four_words(text)
    return 2 * (a & b).total() / (a.total() + b.total()) if a or b else 1.0


def mean_f1(pages: Sequence[Marked], texts: Sequence[str]) -> float:
    """The mean F1 of the pages."""
    return fmean(f1(page.text, text) for page, text in zip(pages, texts, strict=True))


def own_scorer(folder: Path) -> Callable[[Sequence[Marked], Sequence[str]], float]:
    """The F1 of article-extraction-benchmark, by the program that comes with it."""
    spec = importlib.util.spec_from_file_location("evaluate", folder / "evaluate.py")
    if spec is None or spec.loader is None:
        raise OSError(f"{folder} has no evaluate.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)

    def score(pages: Sequence[Marked], texts: Sequence[str]) -> float:
        truth = {page.name: {"articleBody": page.text} for page in pages}
        said = {page.name: {"articleBody": t} for page, t in zip(pages, texts, strict=True)}
        return float(program.evaluate(truth, said, 0)["f1"])

    return score


def extract(name: str, page: bytes) -> str | None:
    """The text of a page; None if that fails or takes too long."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        return text_of(name, page)
    except Exception:  # noqa: BLE001 (a page that another package cannot read is a result)
        return None
    finally:
        signal.alarm(0)


def measure_texts(
    pages: Sequence[Marked],
    score: Callable[[Sequence[Marked], Sequence[str]], float],
    names: Iterable[str],
    jobs: int,
) -> dict[str, Any]:
    """The figures of each extractor."""
    rows = {}
    with ProcessPoolExecutor(jobs) as pool:
        for name in names:
            found = list(pool.map(partial(extract, name), [page.page for page in pages]))
            texts = [text or "" for text in found]
            rows[named(name)] = {
                "f1": round(score(pages, texts), 4),
                "held out": round(score(pages[1::2], texts[1::2]), 4),
                "failed": found.count(None),
            }
    return {"pages": len(pages), "results": rows}


class Document(NamedTuple):
    """A text, and the names of its copies."""

    name: str
    text: str
    copies: frozenset[str]


def read_core(path: Path) -> list[Document]:
    """Read CORE, one document a line."""
    documents = []
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            text = f"{row['processed_title']} {row['processed_abstract']}"
            copies = frozenset(map(str, row["labelled_duplicates"] or ()))
            documents.append(Document(str(row["core_id"]), text, copies))
    return documents


def read_news_copy(folder: Path) -> list[Document]:
    """Read NEWS-COPY: articles, and pairs of which groups are made."""
    texts: dict[str, str] = {}
    pairs: list[tuple[str, str]] = []
    for path in sorted(folder.glob("*_inf_data.json")):
        rows = json.loads(path.read_text(encoding="utf-8"))
        texts |= {name: row["article"] for name, row in rows.items()}
    for path in sorted(folder.glob("*_gt.json")):
        pairs += json.loads(path.read_text(encoding="utf-8"))
    group = {name: frozenset((name,)) for name in texts}
    for a, b in pairs:
        if b not in group[a]:
            both = group[a] | group[b]
            group |= dict.fromkeys(both, both)
    return [Document(name, text, group[name] - {name}) for name, text in texts.items()]


def read_spotsigs(folder: Path) -> list[Document]:
    """Read the gold set of SpotSigs: the name of a folder is that of a cluster."""
    documents = []
    for cluster in sorted(path for path in folder.iterdir() if path.is_dir()):
        names = {str(path.relative_to(folder)) for path in cluster.iterdir()}
        for name in sorted(names):
            text = text_of("density", (folder / name).read_bytes())
            documents.append(Document(name, text, frozenset(names - {name})))
    return documents


def groups_of(documents: Sequence[Document], matcher: Matcher) -> list[int]:
    """The group of each document: the number of its first one."""
    groups: list[int] = []
    for number, document in enumerate(documents):
        match = matcher.meet(number, document.text) if document.text.strip() else None
        groups.append(number if match is None else groups[match])
    return groups


def core_figures(documents: Sequence[Document], groups: Sequence[int]) -> dict[str, float]:
    """As text-dedup scores: a document is right if all its copies are in its group."""
    members: defaultdict[int, set[str]] = defaultdict(set)
    for document, group in zip(documents, groups, strict=True):
        members[group].add(document.name)
    counts: Counter[tuple[bool, bool]] = Counter()
    exact = 0
    for document, group in zip(documents, groups, strict=True):
        said = members[group] - {document.name}
        exact += said == document.copies
        is_right = document.copies <= said and bool(document.copies) == bool(said)
        counts[bool(said), is_right] += 1
    found, none = (counts[said, True] / (_all(counts, said) or 1) for said in (True, False))
    return {"macro f1": (found + none) / 2, "accuracy": exact / len(documents)}


def _all(counts: Counter[tuple[bool, bool]], said: bool) -> int:
    return counts[said, True] + counts[said, False]


def pair_figures(documents: Sequence[Document], groups: Sequence[int]) -> dict[str, float]:
    """The adjusted Rand index (Hubert and Arabie, 1985) and the F1 of pairs, of a clustering."""
    truth = [min(document.copies | {document.name}) for document in documents]
    common, said, true = map(_pairs, (zip(truth, groups, strict=True), groups, truth))
    chance = said * true / (comb(len(documents), 2) or 1)
    most = (said + true) / 2
    return {
        "ari": (common - chance) / (most - chance) if most != chance else 1.0,
        "f1 of pairs": common / most if most else 1.0,
    }


def _pairs(labels: Iterable[Hashable]) -> int:
    return sum(comb(count, 2) for count in Counter(labels).values())


NEAR_DUPLICATES = {
    "core": ("CORE", read_core, core_figures),
    "news_copy": ("NEWS-COPY", read_news_copy, pair_figures),
    "spotsigs": ("SpotSigs", read_spotsigs, pair_figures),
}


def measure(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the figures of each set that there is."""
    sets: dict[str, tuple[list[Marked], Any]] = {}
    if options.articles:
        pages = read_articles(options.articles)
        sets["article-extraction-benchmark"] = pages, own_scorer(options.articles)
    for name, folder in CLEANED.items() if options.cleaned else ():
        sets[name] = read_cleaned(options.cleaned / folder), mean_f1
    for name, (pages, score) in sets.items():
        yield name, measure_texts(pages, score, options.extractors, options.jobs)
    for option, (name, read, score) in NEAR_DUPLICATES.items():
        if path := getattr(options, option):
            documents = read(path)
            results = {
                tool: {
                    what: round(figure, 4)
                    for what, figure in score(documents, groups_of(documents, make())).items()
                }
                for tool, make in matchers().items()
            }
            yield name, {"documents": len(documents), "results": results}


def as_tables(figures: dict[str, dict[str, Any]]) -> str:
    """A table of the main texts, with a row for each set, and one for each other set."""
    texts = {name: one for name, one in figures.items() if "pages" in one}
    parts = ["# Sets that others marked\n\nWritten by `benchmarks/published.py`."]
    if texts:
        names = list(dict.fromkeys(name for one in texts.values() for name in one["results"]))
        rows = [
            [name, f"{one['pages']:,}", *(_f1(one["results"].get(tool)) for tool in names)]
            for name, one in texts.items()
        ]
        parts.append("F1 of all pages, and of those that nothing was tuned on.")
        parts.append(table(["set", "pages", *names], rows))
    for name, one in figures.items():
        if "documents" in one:
            columns = list(next(iter(one["results"].values())))
            rows = [[tool, *found.values()] for tool, found in one["results"].items()]
            parts.append(f"{name}, {one['documents']:,} documents:")
            parts.append(table(["", *columns], rows))
    return "\n\n".join(parts) + "\n"


def _f1(result: dict[str, float] | None) -> str:
    if result is None:
        return "-"
    failed = f", {result['failed']} failed" if result["failed"] else ""
    return f"{result['f1']:.3f} ({result['held out']:.3f}{failed})"


def main() -> None:
    """Measure what there is, and print it as JSON or write it as tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("articles", "cleaned", *NEAR_DUPLICATES):
        parser.add_argument(f"--{option.replace('_', '-')}", type=Path)
    parser.add_argument("--extractors", nargs="+", default=extractors())
    parser.add_argument("--out", type=Path, help="a file for tables; without, JSON is printed")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    figures = {}
    for name, result in measure(options):
        figures[name] = result
        print(name, file=sys.stderr)
    if options.out:
        options.out.write_text(as_tables(figures), encoding="utf-8")
    else:
        print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()

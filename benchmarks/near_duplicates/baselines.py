"""Score this package and others on a set, and write the table.

    python -m benchmarks.near_duplicates.baselines SET... --out results.md

Each tool gets the pages in their order. "This package" is the plugin as a crawl runs it, with the
default settings and an item that holds only the address; all others compare main texts, as this
package or trafilatura extracts them, with the settings of `benchmarks.accuracy_parts.others`. What
is not installed is left out; `--text-dedup PYTHON` names an interpreter that has text-dedup.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.accuracy_parts.judges import PLUGIN
from benchmarks.accuracy_parts.others import installed, text_judges, text_of
from benchmarks.accuracy_parts.tables import share, table
from benchmarks.accuracy_parts.visits import Visit
from benchmarks.near_duplicates.score import ALL, COLUMNS, read_truth, score
from benchmarks.text_dedup import clusters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.accuracy_parts.visits import Judged

Groups = dict[str, str]


def read_pages(folder: Path) -> list[Visit]:
    """Read the pages of a set, with no truth; the kind of a visit is its id."""
    with (folder / "pages.jsonl").open(encoding="utf-8") as lines:
        return [
            Visit(row["url"], "", row["id"], "", row["html"].encode("utf-8", "replace"), "")
            for row in map(json.loads, lines)
        ]


def groups_of(visits: Sequence[Visit], judged: Sequence[Judged]) -> Groups:
    """The group of each page: the id of the first one."""
    groups: Groups = {}
    for visit, (match, _) in zip(visits, judged, strict=True):
        groups[visit.kind] = visit.kind if match is None else groups[visits[match].kind]
    return groups


def by_text_dedup(python: str, extractor: str, visits: Sequence[Visit]) -> Groups:
    """The clusters of text-dedup's MinHash."""
    first = clusters(python, [text_of(extractor, visit.page or b"") for visit in visits])
    return {visit.kind: str(first.get(number, number)) for number, visit in enumerate(visits)}


def tools(python: str | None) -> Iterator[tuple[str, Callable[[Sequence[Visit]], Groups]]]:
    """The tools that there are, and how each groups pages."""

    def by(judge: Callable[[Sequence[Visit]], Sequence[Judged]], visits: Sequence[Visit]) -> Groups:
        return groups_of(visits, judge(visits))

    yield "this package", partial(by, PLUGIN[0].judge)
    yield "this package, facts never", partial(by, PLUGIN[1].judge)
    for judge in text_judges():
        yield judge.name, partial(by, judge.judge)
    if python:
        for extractor in ("density", "trafilatura"):
            if extractor == "density" or installed(extractor):
                yield f"text-dedup, text of {extractor}", partial(by_text_dedup, python, extractor)


def measure(folder: Path, python: str | None) -> str:
    """The tables of a set: all figures of each tool, and its recall in each part."""
    truth, visits = read_truth(folder), read_pages(folder)
    rows: list[list[object]] = []
    recalls: list[list[object]] = []
    parts: list[str] = []
    for name, group in tools(python):
        scores = score(truth, group(visits))
        rows.append([name, *scores.pop(ALL).row()])
        parts = [f"{part} ({one.copies})" for part, one in scores.items()]
        recalls.append([name, *(share(one.found, one.copies)[:5] for one in scores.values())])
        print(name, file=sys.stderr)
    every = table([f"all {len(truth):,} pages", *COLUMNS], rows)
    by_part = table(["recall, and of how many copies", *parts], recalls)
    return f"{every}\n\n{by_part}"


def main() -> None:
    """Measure sets, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--text-dedup", metavar="PYTHON")
    options = parser.parse_args()
    sections = [
        f"## {folder.name}\n\n{measure(folder, options.text_dedup)}\n" for folder in options.sets
    ]
    head = "# Baselines\n\nWritten by `benchmarks/near_duplicates/baselines.py`.\n"
    options.out.write_text("\n".join([head, *sections]), encoding="utf-8")


if __name__ == "__main__":
    main()

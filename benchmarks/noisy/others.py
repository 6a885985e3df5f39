"""What other packages find on the same pages: the texts of trafilatura, compared by each.

    pip install -e '.[trafilatura]' --group benchmark
    python -m benchmarks.noisy.others --set aside

Kinds of which one page lists several things are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from benchmarks.accuracy_parts.others import matchers, text_of
from benchmarks.noisy.run import SETS, Measured, Outcome, find_kinds, table
from benchmarks.noisy.site import Kind
from benchmarks.peers import Matcher


def compare(kind: Kind, make: Callable[[], Matcher]) -> Iterator[Outcome]:
    """What becomes of the pages of a kind, by their texts alone."""
    matcher, pages = make(), kind.pages()
    for number, page in enumerate(pages):
        text = text_of("trafilatura", page.html)
        near = matcher.meet(number, text) if text.strip() else None
        yield Outcome(page, None if near is None else pages[near], "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=SETS, default="tuned")
    name = parser.parse_args().set
    kinds = [kind for kind in find_kinds([name])[name] if not any(p.card for p in kind.pages())]
    known = {name: make for name, make in matchers().items() if name != "this"}
    measured = [
        Measured(kind.name, tool, [*compare(kind, make)])
        for kind in kinds
        for tool, make in known.items()
    ]
    print(f"## {name}, other packages\n", *table(measured, [*known]), sep="\n")


if __name__ == "__main__":
    main()

"""How well fingerprints tell duplicates, on labelled pairs of texts.

    python benchmarks/pairs.py pairs.jsonl.xz
    python benchmarks/pairs.py pairs.jsonl.xz --scheme keywords --distance 3

Every line of the file is a JSON object with the texts `a` and `b`, their exact `jaccard`
similarity, the language `lang` and the class of `length`. At each similarity asked for: the share
of the pairs that are that similar whose texts are compared (recall), and that of the pairs below .5
and from .5 to .7. With a distance, which is what other schemes than the default one decide by, of
the pairs from .8 and .9.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.simhash.measure import candidate_limit, distance
from scrapy_simhash.simhash.scheme import Scheme, load_scheme


def read_pairs(path: Path) -> Iterator[dict[str, Any]]:
    """The pairs of a .jsonl file, compressed or not."""
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as lines:
        for line in lines:
            yield json.loads(line)


def distances(scheme: Scheme, pairs: list[dict[str, Any]]) -> NDArray[np.int64]:
    """The distance of each pair; -1 without fingerprints."""
    prints = [[scheme.sketch(pair[side]).fingerprint for side in "ab"] for pair in pairs]
    return np.array([-1 if None in (a, b) else distance(a, b) for a, b in prints])


def share(accepted: NDArray[np.bool_], among: NDArray[np.bool_]) -> str:
    """A share and what it is of."""
    count = int(among.sum())
    return f"{accepted[among].mean():7.3f} of {count:<5}" if count else f"{'-':>7}{'':9}"


def main() -> None:
    """Print a table for each similarity, or for each distance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--scheme", default="shingles")
    parser.add_argument("--options", type=json.loads, default={}, help="of the scheme, as JSON")
    parser.add_argument("--similarity", type=float, nargs="+", default=[0.8, 0.9, 0.95])
    parser.add_argument("--distance", type=int, nargs="+", help="instead of similarities")
    options = parser.parse_args()
    pairs = list(read_pairs(options.pairs))
    scheme = load_scheme(options.scheme, options.options)
    found = distances(scheme, pairs)
    print(scheme.id)
    if options.distance:
        for k in options.distance:
            accepted = (found >= 0) & (found <= k)
            print(f"\ndistance {k} of {scheme.bits} bits")
            table(
                pairs, {"J >= .8": (accepted, 0.8, 1.1), "J >= .9": (accepted, 0.9, 1.1)}, accepted
            )
        return
    for similarity in options.similarity:
        limit = candidate_limit(similarity)
        accepted = (found >= 0) & (found <= limit)
        print(f"\nsimilarity {similarity}: at most {limit} of {scheme.bits} bits")
        table(pairs, {"recall": (accepted, similarity, 1.1)}, accepted)


def table(
    pairs: list[dict[str, Any]],
    recall: dict[str, tuple[NDArray[np.bool_], float, float]],
    accepted: NDArray[np.bool_],
) -> None:
    """Print shares accepted, by language and length, of the pairs of ranges of similarity."""
    columns = recall | {"J < .5": (accepted, 0, 0.5), ".5 <= J < .7": (accepted, 0.5, 0.7)}
    jaccard = np.array([pair["jaccard"] for pair in pairs])
    print(f"{'':12}" + "".join(f"{name:>16}" for name in columns))
    for language in ("en", "zh"):
        for length in ("<50", "50-200", "200-1000", ">1000", "all"):
            rows = np.array(
                [p["lang"] == language and length in (p["length"], "all") for p in pairs]
            )
            shares = [
                share(among, rows & (least <= jaccard) & (jaccard < below))
                for among, least, below in columns.values()
            ]
            print(f"{language} {length:9}", *shares)


if __name__ == "__main__":
    main()

"""How well fingerprints tell duplicates, on labelled pairs of texts.

    python benchmarks/pairs.py pairs.jsonl.xz
    python benchmarks/pairs.py pairs.jsonl.xz --scheme keywords --distance 3

Every line of the file is a JSON object with the texts `a` and `b`, their exact `jaccard`
similarity, the language `lang` and the class of `length`. At each similarity asked for: the share
of the pairs that are that similar which is accepted (recall), also of those that the low 64 bits
make candidates (indexed), and the share accepted of the pairs below .5 and from .5 to .7. With a
distance, which is what other schemes than the default one decide by, of the pairs from .8 and .9.
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

from scrapy_simhash.simhash.measure import distance, limits
from scrapy_simhash.simhash.scheme import Scheme, load_scheme

LOW = (1 << 64) - 1


def read_pairs(path: Path) -> Iterator[dict[str, Any]]:
    """The pairs of a .jsonl file, compressed or not."""
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as lines:
        for line in lines:
            yield json.loads(line)


def distances(scheme: Scheme, pairs: list[dict[str, Any]]) -> NDArray[np.int64]:
    """One row a pair: the distance on the low 64 bits and on all; -1 without fingerprints."""
    rows = []
    for pair in pairs:
        a, b = (scheme.sketch(pair[side]).fingerprint for side in "ab")
        if a is None or b is None:
            rows.append((-1, -1))
        else:
            rows.append((distance(a & LOW, b & LOW), distance(a, b)))
    return np.array(rows)


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
    low, whole = distances(scheme, pairs).T
    print(scheme.id)
    if options.distance:
        for k in options.distance:
            accepted = (whole >= 0) & (whole <= k)
            print(f"\ndistance {k} of {scheme.bits} bits")
            table(
                pairs, {"J >= .8": (accepted, 0.8, 1.1), "J >= .9": (accepted, 0.9, 1.1)}, accepted
            )
        return
    for similarity in options.similarity:
        k1, k2 = limits(similarity)
        accepted = (whole >= 0) & (whole <= k2)
        print(f"\nsimilarity {similarity}: at most {k1} of 64 and {k2} of 128 bits")
        recall = {
            "recall": (accepted, similarity, 1.1),
            "indexed": (accepted & (low <= k1), similarity, 1.1),
        }
        table(pairs, recall, accepted)


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

"""What bands find and whom they meet, to choose how many and of how many rows.

    python benchmarks/bands.py pairs.jsonl.xz pages/

The pairs are those of benchmarks/pairs.py, the pages .html files of different content. For each
similarity asked for, and each plan: its recall at exactly that similarity by the formula; the
share of the pairs that are that similar which are near enough to be compared (decision), and
which are also found, the mean over several random mixes of the same shingles; and how many
of a million documents a document meets that are not near-duplicates: strangers, measured on all
pairs of pages below a similarity of .5, and pages that share a tenth, a fifth, a third of their
shingles with every other one, as a template left in the text makes them, by the formula.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pairs import read_pairs

from scrapy_simhash.features.shingles import mix64
from scrapy_simhash.keys.bands import Bands, bands_for
from scrapy_simhash.simhash.measure import candidate_limit, distance
from scrapy_simhash.simhash.scheme import Sketch, load_scheme
from scrapy_simhash.text.page import page_text

MILLION = 1_000_000
PLANS = {
    0.7: [(8, 4), (12, 4), (16, 4), (26, 5)],
    0.8: [(6, 3), (8, 4), (12, 4), (10, 5), (12, 5), (16, 6)],
    0.9: [(4, 4), (8, 4), (5, 5), (5, 6), (6, 6), (7, 6), (8, 8)],
    0.95: [(3, 4), (4, 6), (6, 6), (5, 8)],
}


def remixed(shingles: NDArray[np.uint64], seed: int) -> Sketch:
    """The same set under another hash function."""
    mixed = mix64(shingles + np.uint64(seed))
    mixed.sort()
    return Sketch(None, mixed.size, mixed)


def share_found(bands: Bands, a: Sketch, b: Sketch, mixes: int) -> float:
    """In which share of the mixes two texts meet."""
    times = 0
    for seed in range(mixes):
        one, other = (remixed(side.shingles, seed) for side in (a, b))
        times += bool((bands.keys(one) == bands.keys(other)).any())
    return times / mixes


def jaccards(sketches: list[Sketch]) -> NDArray[np.float64]:
    """The similarity of every two of them."""
    similarities = []
    for a, b in combinations(sketches, 2):
        common = np.intersect1d(a.shingles, b.shingles, assume_unique=True).size
        similarities.append(common / (a.size + b.size - common))
    return np.array(similarities)


def main() -> None:
    """Print a table for each similarity."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("pages", type=Path)
    parser.add_argument("--mixes", type=int, default=20)
    options = parser.parse_args()
    scheme = load_scheme()
    pages = [scheme.sketch(page_text(path.read_bytes())) for path in options.pages.rglob("*.html")]
    strangers = jaccards([page for page in pages if page.size >= 8])
    strangers = strangers[strangers < 0.5]
    pairs = [
        (pair["jaccard"], scheme.sketch(pair["a"]), scheme.sketch(pair["b"]))
        for pair in read_pairs(options.pairs)
    ]
    print(f"{len(strangers)} pairs of pages")
    for similarity, plans in PLANS.items():
        limit = candidate_limit(similarity)
        alike = [(a, b) for jaccard, a, b in pairs if jaccard >= similarity]
        accepted = [(a, b) for a, b in alike if distance(a.fingerprint, b.fingerprint) <= limit]
        print(
            f"similarity {similarity}: {len(alike)} pairs, decision "
            f"{len(accepted) / len(alike):.4f}\n"
            f"  plan     recall   found    lost   strangers     1/10     1/5     1/3  in a million"
        )
        for plan in plans:
            bands = Bands(*plan)
            found = sum(share_found(bands, a, b, options.mixes) for a, b in accepted)
            alone = np.mean([bands.recall(stranger) for stranger in strangers])
            shared = " ".join(
                f"{bands.recall(share / (2 - share)) * MILLION:8.0f}" for share in (0.1, 0.2, 1 / 3)
            )
            chosen = " <-" if bands == bands_for(similarity) else ""
            print(
                f"  {bands.id[6:]:6} {bands.recall(similarity):8.4f}{found / len(alike):8.4f}"
                f"{(len(accepted) - found) / len(alike):8.4f}{alone * MILLION:12.2f} {shared}"
                f"{chosen}"
            )


if __name__ == "__main__":
    main()

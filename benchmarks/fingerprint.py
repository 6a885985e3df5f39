"""How fast a fingerprint is made, against other libraries, in one interleaved run.

    python benchmarks/fingerprint.py pairs.jsonl.xz
    python benchmarks/fingerprint.py folder_of_pages/

The texts come from a file of labelled pairs (see benchmarks/pairs.py) or from a folder with
en/*.html and zh/*.html. Prints microseconds of CPU a text and how many times longer each library
takes in the same round, and this one without its compiled core; of both the medians. Libraries that
are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from operator import truediv
from pathlib import Path
from statistics import median
from time import process_time

from pairs import read_pairs

from scrapy_simhash import native
from scrapy_simhash.simhash.shingles import fingerprint

SIZES = (1, 5, 50)  # kilobytes of UTF-8
TEXTS = 12  # of each language and size


def texts(source: Path) -> dict[str, str]:
    """All text of each language, one after the other."""
    if source.is_dir():
        from scrapy_simhash.text.page import page_text

        return {
            language: "\n".join(
                page_text(page.read_bytes()) for page in sorted((source / language).glob("*.html"))
            )
            for language in ("en", "zh")
        }
    collected: dict[str, list[str]] = {"en": [], "zh": []}
    for pair in read_pairs(source):
        collected[pair["lang"]].append(pair["a"])
    return {language: "\n".join(parts) for language, parts in collected.items()}


def cut(text: str, size: int) -> list[str]:
    """Texts of `size` bytes of UTF-8, from places all over the given one."""
    data = text.encode()
    step = max(1, (len(data) - size) // TEXTS)
    return [data[at : at + size].decode(errors="ignore") for at in range(0, TEXTS * step, step)]


def simhash() -> Callable[[str], object]:
    """Of the library of that name."""
    make = importlib.import_module("simhash").Simhash

    def sketch(text: str) -> object:
        # With numpy 2 it fails on a shingle that stands more than 255 times in a text.
        with suppress(OverflowError):
            return make(text)
        return None

    return sketch


def trafilatura() -> Callable[[str], object]:
    """Of its own module for duplicates."""
    return importlib.import_module("trafilatura.deduplication").Simhash


def datasketch() -> Callable[[str], object]:
    """A MinHash of 128 numbers of pairs of words, or of characters."""
    minhash = importlib.import_module("datasketch").MinHash

    def sketch(text: str) -> object:
        words = text.split() if text.isascii() or " " in text[:50] else list(text)
        made = minhash(num_perm=128)
        made.update_batch([" ".join(pair).encode() for pair in pairwise(words)])
        return made

    return sketch


def gaoya() -> Callable[[str], object]:
    """128 bits of the same pairs, in Rust."""
    # It gives no fingerprint away: it makes one to look it up, here where there is nothing.
    index = importlib.import_module("gaoya.simhash").SimHashStringIndex
    pairs = {"hash_size": 128, "lowercase": True, "ngram_range": (2, 2)}
    words, letters = (index(analyzer=unit, **pairs) for unit in ("word", "char"))

    def sketch(text: str) -> object:
        return (words if " " in text[:50] else letters).query(text)

    return sketch


def contestants() -> dict[str, Callable[[str], object]]:
    """The libraries by name, this one first."""
    found: dict[str, Callable[[str], object]] = {"scrapy_simhash": fingerprint}
    core = native.core

    def pure(text: str) -> object:
        native.core = None
        try:
            return fingerprint(text)
        finally:
            native.core = core

    if core is not None:
        found[pure.__name__] = pure
    print(f"core: {native.in_use}")

    for load in (simhash, trafilatura, datasketch, gaoya):
        try:
            found[load.__name__] = load()
        except ImportError:
            print(f"{load.__name__} is not installed")
    return found


def main() -> None:
    """Time every library on all texts in turn, round after round, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="a .jsonl or .jsonl.xz of pairs, or a folder")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    source = texts(options.source)
    libraries = contestants()
    print(f"microseconds  {''.join(f'{name:>20}' for name in libraries)}")
    for language, text in source.items():
        for size in SIZES:
            samples = cut(text, size * 1000)
            seconds: dict[str, list[float]] = {name: [] for name in libraries}
            for _ in range(options.rounds):
                for name, make in libraries.items():
                    start = process_time()
                    for sample in samples:
                        make(sample)
                    seconds[name].append((process_time() - start) / len(samples))
            own = seconds["scrapy_simhash"]
            row = "".join(
                f"{median(times) * 1e6:12.0f} {median(map(truediv, times, own)):6.1f}x"
                for times in seconds.values()
            )
            print(f"{language} {size:3} KB      {row}")


if __name__ == "__main__":
    main()

"""Time, memory and results of deduplicating a corpus, with this package and with other tools.

    python -m benchmarks.corpus                         # 20,000 texts of 5 KB; every way in turn
    python -m benchmarks.corpus --documents 1000000 --words 160 800 --ways here --processes 2
    python -m benchmarks.corpus --pages pages.tar.xz    # a realistic corpus, see below
    python -m benchmarks.corpus --language zh           # either of them in Chinese
    python -m benchmarks.corpus --templates --documents 30000   # a harder corpus, see below
    python -m benchmarks.corpus --pages pages.tar.xz --text-dedup PYTHON --rounds 3
    python -m benchmarks.corpus --sketches 10000000     # the decision alone, on made-up sketches

A fifth of the texts are copies of an earlier one, with up to 1.7 % of their words replaced. All
words are made up and evenly spread; or, with --pages, the others are of 50 to 3,000 words, a tenth
is one template of 300 words with 20 to 200 of its own, and a tenth is Chinese. They are paragraphs
of the real pages in that archive, whose files are named */en/* and */zh/*; words of the text stand
in place of a sixth of its words, so that no two originals are similar. With --templates the words
are made up again, and the template has 1,000 words with 2 to 80 of its own in their midst: most of
those texts are similar, and only these words tell them apart.

Each tool runs in its own process, reads JSON lines and prints how many it keeps. It reports wall
time, CPU time of all its processes, their peak memory, with and without mapped files, which the
system can evict, and how many copies and how many other texts it leaves out. The other tools run in
a simple loop or in their own pipeline, with pairs of words (of characters in Chinese), 128
permutations or as many hashes in bands, and the same similarity. They do not verify the similarity
(rensa estimates it) and do not compare facts. Install them with `pip install rensa datasketch` and
`pip install datatrove orjson tokenizers 'xxhash<4'`; Spark needs Java, text-dedup an interpreter of
its own, see `benchmarks.text_dedup`.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import psutil

from benchmarks.accuracy_parts.tables import table
from benchmarks.archives import read_html
from benchmarks.peers import PEERS
from benchmarks.text_dedup import clusters
from scrapy_simhash import native
from scrapy_simhash.corpus.greedy import decide_corpus
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import Sketches, row_type
from scrapy_simhash.corpus.workers import usable_cores
from scrapy_simhash.db.values import ComparedBy
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.text.density import density
from scrapy_simhash.text.html import decode, parse_html

SIMILARITY = 0.9
WORDS = 800
# Between the words of a text.
_GAPS = {"en": " ", "zh": ""}
# Of prctl: processes whose parent has ended become children of this one.
_SET_CHILD_SUBREAPER = 36


def make_corpus(
    path: Path, count: int, least: int = WORDS, most: int = WORDS, language: str = "en"
) -> int:
    """Write texts as JSON lines; return how many of them are copies."""
    chance = random.Random(7)
    words = made_up(chance)[language]
    if language == "zh":  # two characters take the bytes of a word
        least, most = 2 * least, 2 * most
    originals: list[str] = []
    with path.open("w") as file:
        for number in range(count):
            if number % 5 == 4:
                text = _split(chance.choice(originals), language)
                for _ in range(chance.randint(0, len(text) // 60)):
                    text[chance.randrange(len(text))] = "changed" if language == "en" else "改"
            else:
                text = chance.choices(words, k=chance.randint(least, most))
                _keep(originals, _GAPS[language].join(text), chance)
            file.write(_line(number, _GAPS[language].join(text)))
    return count // 5


def made_up(chance: random.Random) -> dict[str, list[str]]:
    """Words in two languages."""
    letters = "aaeeiioobcdfglmnprst"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(20_000)]
    return {"en": [*words, *map(str, range(50))], "zh": [chr(0x4E00 + n) for n in range(3500)]}


def make_varied(path: Path, count: int, pages: Path | None, language: str = "en") -> int:
    """Write texts of all lengths as JSON lines; return how many of them are copies.

    They are real paragraphs or, without pages, of words that are made up, with a template that says
    less of its own. A tenth is Chinese, or all.
    """
    chance = random.Random(7)
    if pages is not None:
        drawn, shared, own = partial(_drawn, chance, paragraphs_of(pages)), (300,), (20, 200)
    else:
        words = made_up(chance)
        drawn, shared, own = lambda one, k: chance.choices(words[one], k=k), (500, 500), (2, 80)
    before, *behind = (drawn(language, length) for length in shared)
    originals: list[tuple[str, str]] = []
    usual = language
    with path.open("w") as file:
        for number in range(count):
            turn = number % 10
            language = "zh" if turn == 7 else usual
            if turn in {4, 9}:
                language, made = chance.choice(originals)
                text = _split(made, language)
                for _ in range(chance.randint(0, len(text) // 60)):
                    text[chance.randrange(len(text))] = chance.choice(text)
            else:
                length = round(50 * 60 ** chance.random())
                text = drawn(language, chance.randint(*own) if turn == 2 else length)
                text = sum(behind, before + text) if turn == 2 else text
                _keep(originals, (language, _GAPS[language].join(text)), chance)
            file.write(_line(number, _GAPS[language].join(text)))
    return sum(number % 10 in {4, 9} for number in range(count))


def paragraphs_of(pages: Path) -> dict[str, list[list[str]]]:
    """The paragraphs of at least ten words of pages in two languages, as words or characters."""
    found: dict[str, list[list[str]]] = {"en": [], "zh": []}
    for name, page in read_html(pages):
        language = Path(name).parent.name
        if language in found:
            root = parse_html(decode(page))
            lines = density(root).splitlines() if root is not None else ()
            texts = (_split(line, language) for line in lines)
            found[language] += [text for text in texts if len(text) >= 10]
    return found


def _split(text: str, language: str) -> list[str]:
    return text.split() if language == "en" else list(text)


def _drawn(
    chance: random.Random, of: dict[str, list[list[str]]], language: str, length: int
) -> list[str]:
    text, paragraphs = list[str](), of[language]
    at = chance.randrange(len(paragraphs))
    while len(text) < length:
        text += paragraphs[at]
        at = (at + 1) % len(paragraphs)
    for place in chance.sample(range(length), length // 6):
        text[place] = chance.choice(text)
    return text[:length]


def _keep(originals: list, text: object, chance: random.Random) -> None:
    # A copy may come long after what it is a copy of.
    originals.append(text)
    if len(originals) > 5000:
        originals.pop(chance.randrange(5000))


def _line(number: int, text: str) -> str:
    kind = "copy" if number % 5 == 4 else "page"
    return json.dumps({"url": f"http://s{number % 997}.test/{kind}/{number}", "text": text}) + "\n"


class Cost(NamedTuple):
    """Wall and CPU time in seconds, and memory in MiB."""

    wall: float
    computed: float
    memory: float
    own: float


def cost_of(command: list[str]) -> Cost:
    """Run a command, and wait for all processes that it starts, also for those it leaves behind."""
    _adopt(orphans=True)
    try:
        return _measured(command)
    finally:
        _adopt(orphans=False)


def _adopt(*, orphans: bool) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)


def _measured(command: list[str]) -> Cost:
    before, began = _computed(), time.monotonic()
    process = psutil.Popen(command, stdout=subprocess.DEVNULL, process_group=0)
    most = most_own = 0
    while process.poll() is None:
        memory = own = 0
        for one in [process, *process.children(recursive=True)]:
            with suppress(psutil.Error):
                held = one.memory_info()
                memory += held.rss
                own += held.rss - getattr(held, "shared", 0)
        most, most_own = max(most, memory), max(most_own, own)
        with suppress(psutil.TimeoutExpired):
            # Reading takes some milliseconds of CPU time from the measured processes.
            process.wait(0.1)
    wall = time.monotonic() - began
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-process.pid, 0)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(wall, _computed() - before, most / 2**20, most_own / 2**20)


def _computed() -> float:
    """The CPU time of all processes that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def here(source: Path, kept: Path, processes: int) -> list[str]:
    """The command of this package."""
    command = [sys.executable, "-m", "scrapy_simhash", "dedupe", str(source), "-o", str(kept)]
    more = ["--workers", str(processes), "-s", f"SIMHASH_SIMILARITY={SIMILARITY}"]
    return [*command, "--fields", "text", *more]


def pairs_of(text: str) -> list[str]:
    """Pairs of neighbouring words, or of characters where there are no spaces."""
    words = text.split() if " " in text[:1000] else text
    return [f"{one} {other}" for one, other in pairwise(words)]


def items_of(source: Path):
    """The addresses and texts of JSON lines."""
    with source.open() as file:
        for line in file:
            item = json.loads(line)
            yield item["url"], item["text"]


def in_a_loop(package: str, source: Path, _folder: Path, _processes: int) -> Iterable[str]:
    """A loop around a package."""
    matcher = PEERS[package](pairs_of, SIMILARITY)
    for number, (url, text) in enumerate(items_of(source)):
        if matcher.meet(number, text) is None:
            yield url


def by_datatrove(source: Path, folder: Path, processes: int) -> Iterable[str]:
    """Its four stages of MinHash, words split at white space as for the others."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline import dedup
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter
    from datatrove.utils.hashing import HashConfig
    from datatrove.utils.word_tokenizers import WordTokenizer

    class Words(WordTokenizer):
        def word_tokenize(self, text):
            return text.split()

        def sent_tokenize(self, text):
            return [text]

        def span_tokenize(self, text):
            return [(0, len(text))]

    # It shares out files, not their lines.
    inputs, made = folder / "datatrove-in", folder / f"datatrove-{processes}"
    inputs.mkdir(exist_ok=True)
    shutil.rmtree(made, ignore_errors=True)  # it skips what an earlier round has done
    lines = source.read_bytes().splitlines(keepends=True)
    for part in range(processes):
        share = slice(len(lines) * part // processes, len(lines) * (part + 1) // processes)
        (inputs / f"{part}.jsonl").write_bytes(b"".join(lines[share]))
    signatures, buckets, clusters, kept = (str(made / name) for name in ("s", "b", "c", "kept"))
    config = dedup.MinhashConfig(
        n_grams=2, num_buckets=8, hashes_per_bucket=16, hash_config=HashConfig(precision=64)
    )
    reader = JsonlReader(str(inputs))
    stages = [
        ([reader, dedup.MinhashDedupSignature(signatures, config, Words())], 0),
        ([dedup.MinhashDedupBuckets(signatures, buckets, config=config)], config.num_buckets),
        ([dedup.MinhashDedupCluster(buckets, clusters, config=config)], 1),
        ([reader, dedup.MinhashDedupFilter(clusters), JsonlWriter(kept, compression=None)], 0),
    ]
    for number, (stage, tasks) in enumerate(stages):
        LocalPipelineExecutor(
            stage, tasks=tasks or processes, workers=processes, logging_dir=str(made / f"{number}")
        ).run()
    for path in Path(kept).iterdir():
        for line in path.open():
            yield json.loads(line)["metadata"]["url"]


def by_spark(source: Path, _folder: Path, processes: int) -> Iterable[str]:
    """A session on this machine, Java and all."""
    from pyspark.sql import SparkSession

    from scrapy_simhash.spark import deduplicate

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master(f"local[{processes}]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .getOrCreate()
    )
    rows = session.read.json(str(source)).selectExpr("monotonically_increasing_id() id", "*")
    kept = deduplicate(rows, "id", fields=["text"]).where("kept").select("id")
    yield from (row.url for row in rows.join(kept, "id").select("url").collect())
    session.stop()


def by_text_dedup(source: Path, _folder: Path, processes: int) -> Iterable[str]:
    """Its MinHash, with the files that it reads and writes."""
    urls, texts = zip(*items_of(source), strict=True)
    first = clusters(os.environ[TEXT_DEDUP], texts, SIMILARITY, processes)
    yield from (url for number, url in enumerate(urls) if first.get(number, number) == number)


# The interpreter that has text-dedup.
TEXT_DEDUP = "TEXT_DEDUP_PYTHON"

WAYS = {
    "spark": by_spark,
    "datatrove": by_datatrove,
    "text-dedup": by_text_dedup,
    "rensa": partial(in_a_loop, "rensa"),
    "datasketch": partial(in_a_loop, "datasketch"),
}

COLUMNS = ("way", "processes", "s", "s computed", "documents/s", "MiB", "MiB of its own")
COLUMNS += ("copies left out", "others")

# They use as many processes as they are given.
PARALLEL = ("here", "spark", "datatrove", "text-dedup")


def is_installed(way: str) -> bool:
    """Whether a tool is there, other than this package."""
    if way == "text-dedup":
        return TEXT_DEDUP in os.environ
    return find_spec("pyspark" if way == "spark" else way) is not None


def compare_ways(given: argparse.Namespace) -> str:
    """A table with a row for each tool, and for each number of processes if it can use several."""
    count = given.documents
    runs = [
        (way, processes)
        for way in given.ways
        if way == "here" or is_installed(way)
        for processes in (given.processes if way in PARALLEL else [1])
    ]
    costs: dict[tuple[str, int], list[Cost]] = {run: [] for run in runs}
    found: dict[tuple[str, int], list[str]] = {}
    with TemporaryDirectory(prefix="simhash-") as name:
        folder = Path(name)
        source = folder / "in.jsonl"
        if given.pages or given.templates:
            copies = make_varied(source, count, given.pages, given.language)
        else:
            copies = make_corpus(source, count, *given.words, given.language)
        size = source.stat().st_size / count
        for way, processes in runs * given.rounds:
            output = folder / f"{way}-{processes}.jsonl"
            output.unlink(missing_ok=True)
            inside = ["--way", way, "--source", name, "--processes", str(processes)]
            command = [sys.executable, "-m", "benchmarks.corpus", *inside]
            cost = cost_of(here(source, output, processes) if way == "here" else command)
            costs[way, processes].append(cost)
            kept = output.read_text().count("\n")
            missed = output.read_text().count(".test/copy/")
            found[way, processes] = [f"{copies - missed:,}", f"{count - copies - kept + missed:,}"]
            print(way, processes, *(f"{figure:.2f}" for figure in cost), file=sys.stderr)
    rows: list[list[object]] = [[*run, *_medians(costs[run], count), *found[run]] for run in runs]
    missing = [way for way in given.ways if way not in {row[0] for row in rows}]
    rows += [[way, "is not installed", *[""] * (len(COLUMNS) - 2)] for way in missing]
    kind = "realistic" if given.pages else "templates" if given.templates else "uniform"
    title = (
        f"{kind}, {given.language}: {count:,} texts of {size:,.0f} bytes, {copies:,} copies, "
        f"core: {native.in_use}"
    )
    rounds = f"Medians of {given.rounds} rounds, in which the ways take turns.\n\n"
    return f"{title}\n\n{rounds if given.rounds > 1 else ''}{table(COLUMNS, rows)}\n"


def _medians(costs: Sequence[Cost], count: int) -> list[str]:
    wall, computed, memory, own = map(median, zip(*costs, strict=True))
    return [
        f"{wall:.2f}",
        f"{computed:.2f}",
        f"{count / wall:,.0f}",
        f"{memory:,.0f}",
        f"{own:,.0f}",
    ]


def decide_sketches(count: int) -> None:
    """Measure decisions only, on artificial sketches; a tenth are copies of an earlier one."""
    plan = Plan.make(Rule(similarity=SIMILARITY), bytes(16))
    random_ = np.random.default_rng(7)
    rows = np.zeros(count, row_type(plan))
    drawn = random_.bytes(plan.width * count)
    rows["fingerprint"] = np.frombuffer(drawn, rows.dtype["fingerprint"])
    keys = random_.integers(-(2**31), 2**31, (count, plan.keys.slots + 1), np.int32)
    # Few shingles: comparing them is not what is measured.
    shingles = np.sort(random_.integers(0, 2**64, (count, 16), np.uint64), axis=1)
    copies = np.flatnonzero(np.arange(count) % 10 == 9)
    of = (copies * random_.random(len(copies))).astype(np.int64)
    of -= of % 10 == 9
    for column in (rows["fingerprint"], keys, shingles):
        column[copies] = column[of]
    rows["shingles"], rows["hashes"] = 16 * np.arange(count), 16
    rows["size"], rows["compared_by"] = 100, ComparedBy.TEXT
    sketches = Sketches(rows, keys, shingles.tobytes(), b"", {})
    before = psutil.Process().memory_info().rss
    began, computed = time.monotonic(), time.process_time()
    decisions = decide_corpus(sketches, plan)
    wall, computed = time.monotonic() - began, time.process_time() - computed
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    print(
        f"{count:,} sketches: {wall:.1f} s ({computed:.1f} s computed), "
        f"{before / 2**20:,.0f} MiB of sketches, {peak / 2**20:,.0f} MiB more at most, "
        f"{(~decisions.kept).sum():,} left out of {len(copies):,} copies"
    )


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=20_000)
    ways = ["here", *WAYS]
    parser.add_argument("--pages", type=Path)
    parser.add_argument("--templates", action="store_true", help="a harder corpus")
    parser.add_argument("--words", type=int, nargs=2, default=(WORDS, WORDS))
    parser.add_argument("--language", choices=_GAPS, default="en", help="of all, or nearly all")
    parser.add_argument("--ways", nargs="+", choices=ways, default=ways)
    parser.add_argument("--processes", type=int, nargs="+", default=sorted({1, usable_cores()}))
    parser.add_argument("--rounds", type=int, default=1, help="of each way, in turns")
    parser.add_argument("--sketches", type=int)
    parser.add_argument("--text-dedup", metavar="PYTHON", help="an interpreter that has it")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--source", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.text_dedup:
        os.environ[TEXT_DEDUP] = given.text_dedup
    if given.sketches:
        decide_sketches(given.sketches)
    elif given.way:
        processes = given.processes[0]
        kept = WAYS[given.way](given.source / "in.jsonl", given.source, processes)
        with (given.source / f"{given.way}-{processes}.jsonl").open("w") as output:
            output.writelines(f"{url}\n" for url in kept)
    else:
        print(compare_ways(given))


if __name__ == "__main__":
    main()

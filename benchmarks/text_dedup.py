"""The clusters of text-dedup's MinHash, by its own program in an environment of its own.

It needs other versions of packages than the rest: `python -m venv FOLDER`, then
`FOLDER/bin/pip install text-dedup`; the benchmarks take FOLDER/bin/python as `--text-dedup`.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.text import TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterable

# Prints, for each text that is in a cluster, its number and that of the first one.
_CLUSTERS = (
    "import json, pickle; clusters = pickle.load(open('out/uf.pkl', 'rb')); "
    "print(json.dumps({one: clusters.find(one) for one in clusters.parent}))"
)


def clusters(
    python: str, texts: Iterable[str], similarity: float = 0.8, processes: int = 2
) -> dict[int, int]:
    """The first text of its cluster for each text that is in one, by their numbers.

    Raises:
        subprocess.CalledProcessError: the interpreter has no text-dedup, or it failed.
    """
    with TemporaryDirectory(prefix="simhash-") as name:
        folder = Path(name)
        with (folder / "in.jsonl").open("w", encoding="utf-8") as lines:
            for number, text in enumerate(texts):
                # It finds no words in Chinese; these are those of the other tools.
                row = {"number": number, "text": " ".join(TOKEN.findall(text))}
                lines.write(f"{json.dumps(row)}\n")
        command = [
            *(python, "-m", "text_dedup.minhash", "--path", "json", "--data_files", "in.jsonl"),
            *("--split", "train", "--cache_dir", "cache", "--output", "out", "--column", "text"),
            *("--idx_column", "number", "--ngram", "2", "--min_length", "2"),
            *("--num_proc", str(processes), "--num_perm", "128", "--threshold", str(similarity)),
            *("--debug", "--use_auth_token", "false"),
        ]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        command = [python, "-c", _CLUSTERS]
        made = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return {int(one): first for one, first in json.loads(made.stdout).items()}

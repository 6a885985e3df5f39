"""Score the groups that a tool made of a set.

    python -m benchmarks.near_duplicates.score SET GROUPS

SET is a folder made by `benchmarks.near_duplicates.build`. GROUPS is the answer of the tool: CSV
with the columns `id` and `group`, or JSON lines with these fields. A page that is missing is in a
group of its own.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.accuracy_parts.tables import share, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

COPY, OTHER = 0.9, 0.5  # similarities: from here on a copy; below, another page
ALL = "all"
COLUMNS = "recall", "precision", "lost", "between"


class Known(NamedTuple):
    """What is true of a page."""

    id: str
    part: str
    kind: str
    half: str
    alike: Mapping[str, float]


class Score(NamedTuple):
    """The pages of a part, counted.

    Attributes:
        pages: all.
        copies: those of which there is an earlier copy.
        found: those of them in a group with an earlier copy.
        drops: those in a group with any earlier page.
        lost: drops that resemble no earlier page of their group.
    """

    pages: int
    copies: int
    found: int
    drops: int
    lost: int

    def row(self) -> list[object]:
        """Recall, precision, and the numbers of what is lost, and neither right nor lost."""
        between = self.drops - self.found - self.lost
        return [share(self.found, self.copies), share(self.found, self.drops), self.lost, between]


def read_truth(folder: Path) -> list[Known]:
    """Read the truth of a set, in the order of its pages."""
    with (folder / "truth.jsonl").open(encoding="utf-8") as lines:
        return [Known(**json.loads(line)) for line in lines]


def read_groups(path: Path) -> dict[str, str]:
    """Read the groups that a tool made: CSV, or JSON lines."""
    with path.open(encoding="utf-8", newline="") as file:
        is_json = file.read(1) == "{"
        file.seek(0)
        rows = map(json.loads, filter(str.strip, file)) if is_json else csv.DictReader(file)
        groups: dict[str, str] = {}
        for number, row in enumerate(rows, 1):
            if not {"id", "group"} <= row.keys():
                raise ValueError(f"{path}, row {number}: there must be an id and a group")
            if str(row["id"]) in groups:
                raise ValueError(f"{path}, row {number}: the id {row['id']!r} was there before")
            groups[str(row["id"])] = str(row["group"])
    return groups


def score(truth: Sequence[Known], groups: Mapping[str, str]) -> dict[str, Score]:
    """Count the pages of each part, and of all.

    Raises:
        ValueError: a page is not one of the set.
    """
    if unknown := groups.keys() - {page.id for page in truth}:
        raise ValueError(f"no page of the set has the id {min(unknown)!r}")
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(Score._fields))
    members: defaultdict[str, list[str]] = defaultdict(list)
    for page in truth:
        earlier = members[groups[page.id]] if page.id in groups else []
        best = max((page.alike.get(other, 0.0) for other in earlier), default=0.0)
        is_copy = max(page.alike.values(), default=0.0) >= COPY
        counted = (1, is_copy, best >= COPY, bool(earlier), bool(earlier) and best < OTHER)
        for part in (page.part, ALL):
            counts[part] = [a + b for a, b in zip(counts[part], counted, strict=True)]
        earlier.append(page.id)
    total = counts.pop(ALL)
    return {part: Score(*numbers) for part, numbers in (*counts.items(), (ALL, total))}


def as_table(scores: Iterable[tuple[str, Score]]) -> str:
    """The scores as a table."""
    return table(["", "pages", *COLUMNS], ([name, one.pages, *one.row()] for name, one in scores))


def main() -> None:
    """Print the score of a tool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", type=Path)
    parser.add_argument("groups", type=Path)
    options = parser.parse_args()
    try:
        scores = score(read_truth(options.set), read_groups(options.groups))
    except (OSError, ValueError) as error:
        parser.error(str(error))
    print(as_table(scores.items()))


if __name__ == "__main__":
    main()

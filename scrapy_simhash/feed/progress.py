"""How far a feed has come, for good."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["FeedCounts", "Progress"]


@dataclass(slots=True)
class FeedCounts:
    """What became of the items.

    Attributes:
        read: items read.
        kept: those written to the output.
        dropped: near-duplicates.
        unchecked: those kept without a check, because their text has too little to say.
    """

    read: int = 0
    kept: int = 0
    dropped: int = 0
    unchecked: int = 0


@dataclass(slots=True)
class Progress:
    """What is done for good: counts, and the lengths of the outputs at that point."""

    feed: str
    fields: list[str]
    counts: FeedCounts
    lengths: list[int]

    @classmethod
    def load(cls, path: Path, feed: str, fields: Sequence[str], outputs: int) -> Progress:
        """Read what is noted; all zero where nothing is."""
        try:
            noted = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return cls(feed, list(fields), FeedCounts(), [0] * outputs)
        progress = cls(**{**noted, "counts": FeedCounts(**noted["counts"])})
        if (progress.feed, progress.fields, len(progress.lengths)) != (
            feed,
            list(fields),
            outputs,
        ):
            raise ValueError(
                f"{path} belongs to an earlier call that was interrupted and had another input or "
                "other options; repeat that one, or remove this file to begin anew"
            )
        return progress

    def save(self, path: Path) -> None:
        """Note it, in the place of what was noted."""
        beside = path.with_name(f"{path.name}.new")
        beside.write_text(json.dumps(asdict(self)), encoding="utf-8")
        beside.replace(path)

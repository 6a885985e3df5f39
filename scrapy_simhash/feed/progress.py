"""How far a feed has come, for good."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from scrapy_simhash.durable import replace_file
from scrapy_simhash.feed.files import FeedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

__all__ = ["FeedCounts", "Progress"]

# Bytes; what is noted is far shorter.
_MOST = 1 << 20


@dataclass(slots=True)
class FeedCounts:
    """What became of the items.

    Attributes:
        read: items read.
        kept: those written to the output.
        dropped: near-duplicates.
        unchecked: those kept without a check, because they say nothing or can't be read to their
            end.
    """

    read: int = 0
    kept: int = 0
    dropped: int = 0
    unchecked: int = 0

    def add(self, kept: Sequence[bool], unchecked: int) -> None:
        """Count a part: whether each of its items was kept, and how many without a check."""
        self.read += len(kept)
        self.kept += sum(kept)
        self.dropped += len(kept) - sum(kept)
        self.unchecked += unchecked


@dataclass(slots=True)
class Progress:
    """What is done for good, and what the outputs hold by then.

    Attributes:
        feed: the identity of the feed.
        options: what the call was asked for, beside the feed.
        counts: of the items that are done.
        lengths: of the outputs, in bytes.
        digests: of these bytes.
    """

    feed: str
    options: list[str]
    counts: FeedCounts
    lengths: list[int]
    digests: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path, feed: str, options: Sequence[str], outputs: int) -> Progress:
        """Read what is noted; all zero where nothing is.

        Raises:
            FeedError: it belongs to another call, or can't be read.
        """
        try:
            with path.open("rb") as stream:
                progress = _read(stream.read(_MOST))
        except FileNotFoundError:
            return cls(feed, list(options), FeedCounts(), [0] * outputs, [""] * outputs)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise FeedError(
                f"{path} is damaged: how far the earlier call came can't be read from it; remove "
                "it and the output to begin anew"
            ) from error
        if (progress.feed, progress.options, len(progress.lengths)) != (
            feed,
            list(options),
            outputs,
        ):
            raise FeedError(
                f"{path} belongs to an earlier call that was interrupted and had another input or "
                "other options; repeat that one, or remove this file to begin anew"
            )
        return progress

    def save(self, path: Path) -> None:
        """Note it, in the place of what was noted."""
        replace_file(path, json.dumps(asdict(self)).encode())


def _read(content: bytes) -> Progress:
    """What is noted.

    Raises:
        ValueError, TypeError, KeyError, RecursionError: this was never noted.
    """
    noted: dict[str, Any] = json.loads(content)
    counts = FeedCounts(**noted["counts"])
    numbers = [*asdict(counts).values(), *noted["lengths"]]
    texts = [noted["feed"], *noted["options"], *noted["digests"]]
    if (
        not all(type(number) is int and number >= 0 for number in numbers)
        or not all(isinstance(text, str) for text in texts)
        or not isinstance(noted["options"], list)
        or len(noted["lengths"]) != len(noted["digests"])
    ):
        raise ValueError(content)
    return Progress(**{**noted, "counts": counts})

"""Whether a value is prose, which is compared by its words, or a fact, which is compared whole."""

from __future__ import annotations

import re

from scrapy_simhash.features.shingles import shingles

#: The least number of distinct shingles of prose. 20 to 64 gave the same results on stories, offers
#: and rows; with 8 to 16, long headlines are prose.
MIN_PROSE = 32
# The least mean number of shingles in the lines of a list of paragraphs. Tags have fewer.
_MIN_LINE = 8
#: Characters that show of most values whether they are prose.
GLANCE = 512
# Characters that show it of nearly all.
_START = 2048
#: Characters that are read for it.
LOOK = 65_536
_TOKEN = re.compile(r"[A-Za-z0-9]+")


def is_prose(lines: list[str]) -> bool:
    """Whether the lines of one value have enough shingles, in paragraphs rather than in tags."""
    longest = lines[0] if len(lines) == 1 else max(lines, key=len)
    # In ASCII only the last token, and its one pair, change with the text behind the cut.
    glance = longest[:GLANCE]
    if len(longest) > GLANCE and glance.isascii() and _count(glance) > MIN_PROSE:
        return True
    if _count(longest[:_START]) >= MIN_PROSE:
        return True
    if len(longest) > _START and _count(longest) >= MIN_PROSE:
        return True
    return len(lines) > 1 and _count("\n".join(lines)) >= max(MIN_PROSE, _MIN_LINE * len(lines))


def _count(text: str) -> int:
    """The number of distinct shingles; 0 if there are obviously not enough."""
    # Counting tokens takes less time: one needs two characters in ASCII, one in Chinese.
    if len(text) <= MIN_PROSE * (2 if text.isascii() else 1):
        return 0
    if text.isascii() and len(text) < 400 and len(_TOKEN.findall(text)) <= MIN_PROSE:
        return 0
    return len(shingles(text[:LOOK]))

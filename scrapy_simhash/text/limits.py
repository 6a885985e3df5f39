"""What of a page is too much, told from its bytes: before anything is made of them.

The work on a page grows with its tags and its text, and some of it faster than these do: what is a
kilobyte on the wire can hold a crawl for minutes. The limits are far above what pages for readers
need: of 457 real ones none had more than 1.6 MB, 10,305 tags, or 38 attributes in one.
"""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

__all__ = ["costs_too_much"]

# To read text takes up to 40 times its size in memory; what is garbled, 0.3 s a megabyte.
_BYTES = 5 << 20
# Where each holds a block of text, as in "<p>a b", 6 µs go into cutting and judging it: fifteen
# times what goes into parsing.
_TAGS = 50_000
# For each attribute that is added libxml2 goes through all that the element has: 0.1 s for 8,000,
# 14 s for 80,000; 0.2 s a megabyte for 500 each. Smaller pages have no room for a second of it.
_ATTRIBUTES, _SMALL = 500, 1 << 16

# Their values may hold ">" and "<".
_LONG_TAG = re.compile(
    rb"<[a-zA-Z][^\s/>]*+"
    rb"(?:[\s/]*+[^\s/>=]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>]*+))?+){%d}" % _ATTRIBUTES
)


def costs_too_much(body: bytes, *, is_parsed: bool) -> Literal["too_large", "too_complex"] | None:
    """Why a page should not be looked at.

    Args:
        body: The page.
        is_parsed: Whether its tree is there already. Otherwise attributes are counted too, which
            takes a tenth of what parsing takes.

    Returns:
        "too_large" for more than 5 MiB; "too_complex" for more than 50,000 tags (end tags and
        comments count, and every other "<"), or 500 attributes in one; None for other pages.
    """
    if len(body) > _BYTES:
        return "too_large"
    # The shortest tag has three bytes.
    if len(body) > 3 * _TAGS and _count_tags(body) > _TAGS:
        return "too_complex"
    if not is_parsed and len(body) > _SMALL and _LONG_TAG.search(body):
        return "too_complex"
    return None


def _count_tags(body: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(body, np.uint8) == ord("<")))

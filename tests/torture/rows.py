"""The rows of the table at the end."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """What a case came to."""

    case: str
    runs: int
    groups: int
    lost: int
    twice: int
    wrong: int

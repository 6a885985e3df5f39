"""Each number once, and which numbers are among others.

`np.unique`, and `np.isin`, which calls it, import `numpy.ma` when they are first called: tens of
milliseconds in the midst of a crawl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

__all__ = ["among", "distinct"]

_Number = TypeVar("_Number", bound="np.number[Any]")


def distinct(ordered: NDArray[_Number]) -> NDArray[_Number]:
    """The numbers of an array in ascending order, each once."""
    first = np.empty(ordered.size, np.bool_)
    first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def among(numbers: NDArray[Any], others: ArrayLike) -> NDArray[np.bool_]:
    """Which of some numbers are among others, in any order."""
    ordered = np.sort(others)
    left, right = (np.searchsorted(ordered, numbers, side) for side in ("left", "right"))
    return left < right

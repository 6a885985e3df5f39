"""The optional compiled core: the slowest parts of the package once more, in C.

Its output is identical to that of the Python code, which is its specification and takes over where
the core was not built, is turned off by ``SIMHASH_NATIVE=0`` in the environment, or fails the
checks made when it is loaded.
"""

from __future__ import annotations

import logging
import os
from array import array
from importlib import import_module
from typing import Any, Protocol, cast
from zlib import crc32

logger = logging.getLogger(__name__)

_How = tuple[int, int, int]
_PageTexts = tuple[str, int, bytes, int, bytes]


class Core(Protocol):
    """The compiled functions, named after the Python functions whose results they return.

    Shingles are sorted distinct 64-bit hashes in any contiguous buffer; `table` is `fold_table()`,
    `how` is how `features.shingles.compiled_sketches` hashes. A text that is not normalised, as
    `normalised` tells, and may have to be, gives None, as does a tree with something unusual: then
    it is Python's turn. Arguments of a wrong type or value raise TypeError, ValueError or
    BufferError.
    """

    #: The version of the libxml2 headers, as in 21406 for 2.14.6.
    LIBXML_VERSION: int

    def tokens(self, text: str, table: Any, normalised: bool, /) -> str | None:
        """`features.tokens.tokens`, joined by spaces."""

    def changes(
        self, new: str, old: str, table: Any, normalised: bool, /
    ) -> tuple[list[tuple[str, str, str, str]], float, float] | None:
        """`features.changes._changes`, words joined by spaces; and the words of both texts."""

    def sketches(
        self, texts: tuple[bytes, ...], table: Any, normalised: bool, how: _How, second: int, /
    ) -> list[bytes | None]:
        """`Shingles.sketch_all` of texts in UTF-8, as numbers of 64 bits, made without the GIL.

        A sketch has the low and the high bits of the fingerprint and the digest of the tokens, all
        0 if `second` is, and the shingles; it is empty if there are none of these, and None for a
        text that may have to be normalised.
        """

    def minhash(self, shingles: Any, /) -> bytes:
        """`features.shingles.minhash`."""

    def bands(self, shingles: Any, starts: Any, orders: Any, factors: Any, bands: int, /) -> bytes:
        """`keys.bands.Bands.keys`, as 32-bit numbers; `keys.bands._bins` gives the arguments."""

    def common(self, shingles: Any, others: list[Any], least: float, /) -> list[int]:
        """`simhash.measure.common`."""

    def compare(self, places: Any, shingles: Any, texts: Any, table: Any, least: float, /) -> bytes:
        """`corpus.sketches.Sketches.compare`, without the GIL.

        `places` has eight 64-bit numbers for each pair: where the shingles of both documents begin,
        how many bytes they take, and the same of their texts in UTF-8.
        """

    def knows(self, element: Any, /) -> bool:
        """Whether lxml lays out ``<p><i></i><b id="c">d</b></p>`` as its headers said."""

    def page(self, root: Any, rules: tuple[bytes, ...], /) -> _PageTexts | None:
        """`text.density.read` of an lxml element, by `text.blocks.RULES`."""

    def leaves(self, heading: Any, /) -> list[Any] | None:
        """`text.page_facts._leaves`; elements without a digit may be missing."""

    def elements(self, root: Any, names: bytes, most: int, /) -> list[Any] | None:
        """`text.markup._find_elements`; those without a fact may be missing."""


# A text with one character of each kind: separator, letters, ideograph, letter of a script without
# spaces and its mark, picture, one that may compose, an invisible one, one beyond the table.
_TABLE = array("I", [0, 97, 98, 1 << 21 | 3, 1 << 22 | 4, 3 << 21 | 5, 1 << 29 | 6, 1 << 30 | 99])
_TABLE.extend([1 << 31, 1 << 31 | 1])
_TEXT = "\1\2\0\3\4\5\4\1\6\7\x08\2\3\U00020000\1"
_UTF8 = _TEXT.encode()
_HOW = (0x9E6C63D0876A9A47, 0xD1342543DE82EF95, 1 << 15)
_SECOND = 0x9E3779B97F4A7C15
# Four bins, the last of which is empty, in two bands.
_BINS = (
    array("Q", [bin_ << 62 for bin_ in range(4)]),
    array("q", [0, 1, 2, 3, 1, 0, 2, 3, 2, 3, 0, 1, 3, 2, 1, 0]),
    array("Q", [3, 5, 7, 1 << 63 | 1]),
    2,
)
# CRC-32 of what Python makes of these.
_KNOWN = 89069300


def _load() -> Core | None:
    """The core, if it was built, is not turned off, and returns what it should."""
    if os.environ.get("SIMHASH_NATIVE") == "0":
        return None
    wrong: str | None = None
    try:
        found = cast("Core", import_module("scrapy_simhash.native._core"))
        names = [name for name in (*vars(Core), *Core.__annotations__) if name[0] != "_"]
        if missing := [name for name in names if not hasattr(found, name)]:
            wrong = f"it was built from another version, without {', '.join(missing)}"
        elif _made(found) != _KNOWN:
            wrong = "its results differ from those of Python"
    except ModuleNotFoundError:
        return None
    except Exception as error:  # noqa: BLE001 - everything works without the core
        wrong = str(error)
    if wrong is None:
        return found
    logger.warning("The compiled core is not used, the slower Python code is: %s", wrong)
    return None


def _made(core: Core) -> int:
    """The results of the core for one small text, in a few microseconds."""
    sketch, nothing = core.sketches((_UTF8, b""), _TABLE, True, _HOW, _SECOND)
    shingles = (sketch or b"")[24:]
    made = (
        core.sketches((_UTF8,), _TABLE, False, _HOW, 0),
        nothing,
        core.tokens(_TEXT, _TABLE, True),
        core.changes("\1\2\0\1\0\2\U00020000\1", "\1\2\0\2\0\2\U00020000\1", _TABLE, True),
        memoryview(sketch or b"").cast("Q").tolist(),
        core.minhash(shingles).replace(b"\0", b""),
        memoryview(core.bands(shingles, *_BINS)).cast("i").tolist(),
        core.common(shingles, [shingles[8:16] + shingles[24:], shingles[:8]], 0.5),
    )
    return crc32(repr(made).encode())


core = _load()
in_use = "pure" if core is None else "compiled"

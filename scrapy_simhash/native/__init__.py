"""The compiled core, where there is one: the costly part of the pure path once more, in C.

Its output is identical; the pure path is its specification. Where it was not built, is turned off
by ``SIMHASH_NATIVE=0`` in the environment, or does not do what is known of it, the pure path is
taken.
"""

from __future__ import annotations

import logging
import os
from array import array
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from typing import Any

__all__ = ["Core", "FoundMarkup", "core", "in_use"]

logger = logging.getLogger(__name__)


#: What may hold a fact: of meta elements names and contents in turn, of scripts types and sources,
#: of which those are left out that can't; texts of at most one title; texts of headings, and these;
#: texts of headings of the second rank; how many times; elements with microdata. Texts may go on
#: where they are to be cut.
FoundMarkup = tuple[
    list[str], list[str], list[str], list[str], list["Any"], list[str], int, list["Any"]
]


class Core(Protocol):
    """What is compiled, each under the name of what it stands for.

    Shingles are 64-bit hashes, sorted and distinct, in any contiguous buffer. Arguments that can't
    be raise a TypeError or ValueError.
    """

    def shingles(
        self, text: str, table: Any, normalised: bool, how: tuple[int, int, int], /
    ) -> bytes | None:
        """`features.shingles.shingles`, as bytes of the machine's order.

        Args:
            text: any text.
            table: what each code point becomes, as 32-bit numbers; the last for all after it.
            normalised: whether the text is in NFC. If not, it may be None that comes back.
            how: the base of the polynomial that hashes a token; what a token is multiplied by if
                another follows; and how many characters of one count.

        Returns:
            The shingles; None if there is a character that NFC might change.
        """

    def tokens(self, text: str, table: Any, normalised: bool, /) -> str | None:
        """`features.tokens.tokens`, a space between them; the rest is as with `shingles`."""

    def majority(self, shingles: Any, second: int, /) -> tuple[int, int]:
        """`simhash.majority.majority` of the shingles and of their mix with a second number.

        Returns:
            The low and the high 64 bits.
        """

    def minhash(self, shingles: Any, /) -> bytes:
        """`features.minhash.minhash`."""

    def bands(self, shingles: Any, starts: Any, orders: Any, factors: Any, bands: int, /) -> bytes:
        """`keys.bands.Bands.keys`, as 32-bit numbers of the machine's order.

        Args:
            shingles: one or more.
            starts: the least hash of each of at most 512 bins, ascending.
            orders: for each bin all bins, itself first; 64 bits each.
            factors: of each bin.
            bands: how many keys; at most as many as bins.
        """

    def common(self, shingles: Any, others: Any, /) -> int:
        """How many of them are in both, as `simhash.measure.jaccard` asks."""

    def numbers(self, text: str | bytes, /) -> list[str] | None:
        """`item.numbers._numbers` of a text, or of its UTF-8.

        Returns:
            The numbers; None for a text with something that is left to the pure path.
        """

    def page(
        self, element: type, root: Any, rules: tuple[bytes, bytes, bytes, bytes], /
    ) -> tuple[str, int, str, int] | None:
        """`text.density.read` of an HTML element.

        Args:
            element: lxml's class of elements.
            root: one of them.
            rules: what each tag does, as `text.blocks.Actions.packed`, where little was found, and
                in what was skipped; then `text.blocks.PACKED_WORDS`.

        Returns:
            None for a tree with something that is left to the pure path.
        """

    def body(self, element: type, root: Any, visible: bytes, /) -> str | None:
        """`text.density.body`, as `page`."""

    def markup(
        self,
        element: type,
        root: Any,
        factory: object,
        packed: tuple[bytes, bytes],
        bounds: tuple[int, ...],
        /,
    ) -> FoundMarkup | None:
        """What `text.markup.read_markup` puts together of an HTML element, as `page`.

        Args:
            element: lxml's class of elements.
            root: one of them.
            factory: lxml's "elementFactory", as it gives it to other extension modules.
            packed: the names that are looked at, in lower case: 1 of a meta element, 2 of
                microdata; then what each tag does. Both as `text.blocks.packed`.
            bounds: how many meta and script elements are looked at, and how many titles, headings
                and times; of the headings of either rank; of the times, and of microdata; of a
                text the characters that count; and the steps to find them.
        """


# A text with one of each kind of character: separator, letters, ideograph, letter of a script
# without spaces and its mark, picture, what may compose, what is invisible, what is beyond.
_TABLE = array("I", [0, 97, 98, 1 << 21 | 3, 1 << 22 | 4, 3 << 21 | 5, 1 << 29 | 6, 1 << 30 | 99])
_TABLE.extend([1 << 31, 1 << 31 | 1])
_TEXT = "\1\2\0\3\4\5\4\1\6\7\x08\2\3\U00020000\1"
_HOW = (0x9E6C63D0876A9A47, 0xD1342543DE82EF95, 1 << 15)
# Numbers, one of them in a word, and what is none as it tells how long ago something was.
_NUMBERS = "(-1,234.5 w6 7 days ago 1:2"
_SECOND = 0x9E3779B97F4A7C15
# Four bins, the last of which is empty.
_STARTS = array("Q", [bin_ << 62 for bin_ in range(4)])
_ORDERS = array("q", [0, 1, 2, 3, 1, 0, 2, 3, 2, 3, 0, 1, 3, 2, 1, 0])
_FACTORS = array("Q", [3, 5, 7, 1 << 63 | 1])

_KNOWN = (
    None,
    "ab \3 \4\5 \4 a cb \3 \U00020000 a",
    (
        *(0x12D1A85923091515, 0x3DDC2196BDB6169B, 0x3ECC2ED5ED6F14F8, 0x73426FA51ED7EE56),
        *(0x75C385D1CEF09DF7, 0x7CB660C4B3381D1C, 0x8E6ADE8DCB229F60, 0xA3C77130F522CF7E),
    ),
    (0x3FC62495EF321F74, 0xCE8DAE3C905B98E5),
    b"\x13Gm\xc1QET&",
    (-1449487230, -306034206),
    6,
    ["-1234.5", "1:2"],
)


def _load() -> Core | None:
    """The core, if there is one that may be used and does what it should."""
    if os.environ.get("SIMHASH_NATIVE") == "0":
        return None
    try:
        found = cast("Core", import_module("scrapy_simhash.native._core"))
        wrong = None if _made(found) == _KNOWN else "it makes other hashes"
    except ModuleNotFoundError:
        return None
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, all works without it
        wrong = str(error)
    if wrong is None:
        return found
    logger.warning("The compiled core can't be used, all goes the pure path: %s", wrong)
    return None


def _made(core: Core) -> tuple[object, ...]:
    """What the core makes of one small text: a few microseconds."""
    refused = core.shingles(_TEXT, _TABLE, False, _HOW)
    shingles = core.shingles(_TEXT, _TABLE, True, _HOW) or b""
    return (
        refused,
        core.tokens(_TEXT, _TABLE, True),
        tuple(memoryview(shingles).cast("Q")),
        core.majority(shingles, _SECOND),
        core.minhash(shingles).replace(b"\0", b""),
        tuple(memoryview(core.bands(shingles, _STARTS, _ORDERS, _FACTORS, 2)).cast("i")),
        core.common(shingles, shingles[8:16] + shingles[24:]),
        core.numbers(_NUMBERS),
    )


core = _load()
in_use = "pure" if core is None else "compiled"

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

#: What `Core.markup` finds: names and contents of meta elements in turn; types and sources of
#: scripts in turn; at most one title; the texts of h1 elements, and the elements; the texts of h2
#: elements; the number of time elements; elements with microdata. Texts may be longer than asked.
FoundMarkup = tuple[
    list[str], list[str], list[str], list[str], list["Any"], list[str], int, list["Any"]
]


class Core(Protocol):
    """The compiled functions, named after the Python functions whose results they return.

    Shingles are sorted distinct 64-bit hashes in any contiguous buffer. Arguments of a wrong type
    or value raise TypeError, ValueError or BufferError.
    """

    #: The version of the libxml2 headers, as in 21406 for 2.14.6.
    LIBXML_VERSION: int

    def shingles(
        self, text: str, table: Any, normalised: bool, how: tuple[int, int, int], /
    ) -> bytes | None:
        """`features.shingles.shingles`, as 64-bit numbers in native byte order.

        Args:
            text: any text.
            table: `fold_table()`.
            normalised: whether the text is in NFC.
            how: the base of the polynomial, the factor of a token that another one follows, and
                the number of characters of a token that count.

        Returns:
            None if the text is not in NFC and holds a character that NFC may change.
        """

    def tokens(self, text: str, table: Any, normalised: bool, /) -> str | None:
        """`features.tokens.tokens`, joined by spaces; arguments and None as for `shingles`."""

    def changes(
        self, new: str, old: str, table: Any, normalised: bool, /
    ) -> tuple[list[tuple[str, str, str, str]], float, float] | None:
        """`features.changes._changes`, words joined by spaces; and the words of both texts.

        Arguments and None as for `shingles`.
        """

    def majority(self, shingles: Any, second: int, /) -> tuple[int, int]:
        """The low and the high 64 bits of `Shingles.sketch(...).fingerprint`."""

    def minhash(self, shingles: Any, /) -> bytes:
        """`features.hashes.minhash`."""

    def bands(self, shingles: Any, starts: Any, orders: Any, factors: Any, bands: int, /) -> bytes:
        """`keys.bands.Bands.keys`, as 32-bit numbers; `keys.bands._bins` gives the arguments."""

    def common(self, shingles: Any, others: list[Any], least: float, /) -> list[int]:
        """`simhash.measure.common`."""

    def numbers(self, text: str | bytes, normalised: bool, /) -> list[str] | None:
        """`item.numbers._numbers` of a text or its UTF-8; None where Python has to look.

        Args:
            text: any text.
            normalised: whether it comes from `item.numbers.plain`.
        """

    def documents(
        self,
        block: bytes,
        fields: list[tuple[bytes, int]],
        hashing: tuple[Any, tuple[int, int, int], int, tuple[Any, Any, Any, int]],
        item: tuple[bytes, bytes, bytes, int, int],
        first: int,
        /,
    ) -> list[bytes]:
        """The sketches of plain items, made without the GIL: `corpus.plain.Found`, in bytes.

        Args:
            block: lines of JSON.
            fields: names, each with 1 for the text, 2 for the address, 0 for one that is ignored;
                lines with others are left to Python.
            hashing: `table` and `how` as for `shingles`, `second` as for `majority`, and the last
                four arguments of `bands`.
            item: what stands before the text in the digest of an item; the key of hashes; name and
                kind of the fact of the numbers, packed; the fewest shingles and the most
                characters of a text.
            first: the number of the first line.
        """

    def knows(self, element: Any, /) -> bool:
        """Whether lxml lays out ``<p><i></i><b id="c">d</b></p>`` as its headers said."""

    def page(self, root: Any, rules: tuple[bytes, ...], /) -> tuple[str, int, str, int] | None:
        """`text.density.read`; None for a tree with something unusual, which Python has to read.

        Args:
            root: an lxml element.
            rules: `text.blocks.RULES`.
        """

    def body(self, root: Any, visible: bytes, /) -> str | None:
        """`text.density.body`; None as for `page`."""

    def rows(self, root: Any, /) -> list[Any] | None:
        """`text.page_facts._rows` of an element; rows whose value has no digit may be missing."""

    def markup(
        self, root: Any, packed: tuple[bytes, bytes], bounds: tuple[int, ...], /
    ) -> FoundMarkup | None:
        """The content of `text.markup.read_markup`; None as for `page`.

        Args:
            root: an lxml element.
            packed: the names that matter, 1 for meta elements and 2 for microdata, and the actions
                of tags; both as `text.blocks.packed`.
            bounds: how many meta and script elements, headings of a rank, and elements with times
                or microdata to look at; how many characters of a text, and in how many steps.
        """


# A text with one character of each kind: separator, letters, ideograph, letter of a script without
# spaces and its mark, picture, one that may compose, an invisible one, one beyond the table.
_TABLE = array("I", [0, 97, 98, 1 << 21 | 3, 1 << 22 | 4, 3 << 21 | 5, 1 << 29 | 6, 1 << 30 | 99])
_TABLE.extend([1 << 31, 1 << 31 | 1])
_TEXT = "\1\2\0\3\4\5\4\1\6\7\x08\2\3\U00020000\1"
_HOW = (0x9E6C63D0876A9A47, 0xD1342543DE82EF95, 1 << 15)
# Numbers, one of them inside a word, and one that tells how long ago something was.
_NUMBERS = "(-1,234.5 w6 7 days ago 1:2"
_SECOND = 0x9E3779B97F4A7C15
# Four bins, the last of which is empty.
_STARTS = array("Q", [bin_ << 62 for bin_ in range(4)])
_ORDERS = array("q", [0, 1, 2, 3, 1, 0, 2, 3, 2, 3, 0, 1, 3, 2, 1, 0])
_FACTORS = array("Q", [3, 5, 7, 1 << 63 | 1])

# Two letters, and an item of them.
_LETTERS = array("I", [*[0] * 97, 97, 98, 1 << 31 | 1])
_ITEM = b'{"url": "http://a/", "t": "' + b"abbababbabaabb 7 " * 4 + b'ab"}'

_KNOWN = (
    None,
    "ab \3 \4\5 \4 a cb \3 \U00020000 a",
    ([("a", "b", "ab", "b")], 4.5, 4.5),
    (
        *(0x12D1A85923091515, 0x3DDC2196BDB6169B, 0x3ECC2ED5ED6F14F8, 0x73426FA51ED7EE56),
        *(0x75C385D1CEF09DF7, 0x7CB660C4B3381D1C, 0x8E6ADE8DCB229F60, 0xA3C77130F522CF7E),
    ),
    (0x3FC62495EF321F74, 0xCE8DAE3C905B98E5),
    b"\x13Gm\xc1QET&",
    (-1449487230, -306034206),
    [6, -1],
    ["-1234.5", "1:2"],
    1957627404,
)


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


def _made(core: Core) -> tuple[object, ...]:
    """The results of the core for one small text, in a few microseconds."""
    refused = core.shingles(_TEXT, _TABLE, False, _HOW)
    shingles = core.shingles(_TEXT, _TABLE, True, _HOW) or b""
    return (
        refused,
        core.tokens(_TEXT, _TABLE, True),
        core.changes("\1\2\0\1\0\2\U00020000\1", "\1\2\0\2\0\2\U00020000\1", _TABLE, True),
        tuple(memoryview(shingles).cast("Q")),
        core.majority(shingles, _SECOND),
        core.minhash(shingles).replace(b"\0", b""),
        tuple(memoryview(core.bands(shingles, _STARTS, _ORDERS, _FACTORS, 2)).cast("i")),
        core.common(shingles, [shingles[8:16] + shingles[24:], shingles[:8]], 0.5),
        core.numbers(_NUMBERS.encode(), False),
        _document(core),
    )


def _document(core: Core) -> int:
    bins = (_STARTS, _ORDERS, _FACTORS, 2)
    fields = [(b"t", 1), (b"url", 2)]
    hashing = (_LETTERS, _HOW, _SECOND, bins)
    made = core.documents(_ITEM, fields, hashing, (b"t:", b"key", b"name+", 2, 99), 7)
    rows, _, _, details, texts, _ = made
    return crc32(rows[:32] + details + texts)


core = _load()
in_use = "pure" if core is None else "compiled"

"""Sketch plain items of JSON Lines: one call of the core for a chunk, without the GIL.

An item is plain if a single field of it is compared, whose name tells nothing and whose value is
prose; its address is in `url`, if it has one, and no other field holds one. Of such an item
`ItemReader.document` makes a document of the text and its numbers alone. Everything that is not
surely plain is left to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash import native
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.quality import Criterion, QualitySignals, ranks_of
from scrapy_simhash.corpus.sketches import Part, lay_out, row_type
from scrapy_simhash.db.values import ComparedBy
from scrapy_simhash.features.tokens import fold_table
from scrapy_simhash.feed.documents import ItemReader
from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.facts import NUMBERS_OF_TEXT
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.prose import MIN_PROSE
from scrapy_simhash.item.state import SIGNS
from scrapy_simhash.keys.bands import Bands, core_bins
from scrapy_simhash.simhash.shingles import SECOND, Shingles


def _set_of(words: Collection[str]) -> bytes:
    """The 16-bit hashes of words in lower case, a bit each."""
    found = bytearray(1 << 13)
    for word in words:
        number = 0
        for byte in word.encode():
            number = (number * 31 + (byte | 0x20 if byte < 0xC3 else byte)) & 0xFFFF
        found[number >> 3] |= 1 << (number & 7)
    return bytes(found)


#: What the core returns of a document, and of a line that it leaves: numbers of record and line
#: from 0, and its place in the chunk.
ROW = np.dtype(
    [("fingerprint", "V16"), ("digest", "V16"), ("identity", "i8"), ("tells_state", "i8")]
    + [(name, "i4") for name in ("record", "hashes", "length", "characters", "facts", "url")]
)
LEFT = np.dtype([(name, "i8") for name in ("record", "line", "start", "end")])

_SIGNS = b"".join(map(_set_of, SIGNS))
_IGNORED, _COMPARED, _ADDRESS = range(3)
# Fields that the core looks up, and characters of a text that are read for all that matters here.
_FIELDS, _LOOK = 64, 65_536


class Found(NamedTuple):
    """The documents of plain items, and where the other records are."""

    rows: NDArray[np.void]
    keys: NDArray[np.int32]
    shingles: NDArray[np.uint64]
    details: bytes
    texts: bytes
    left: NDArray[np.void]


@dataclass(frozen=True, slots=True)
class PlainItems:
    """Sketches plain items.

    Attributes:
        reader: of items that are not plain.
        plan: how documents are compared.
        fields: the fields that are known not to matter, and the two that do.
        counts: how many items were plain, and how many were not.
    """

    reader: ItemReader
    plan: Plan
    fields: dict[bytes, int] = field(default_factory=dict)
    counts: Counter[bool] = field(default_factory=Counter)

    @classmethod
    def of(cls, reader: Any, plan: Plan) -> Self | None:
        """None where no item is plain."""
        if native.core is None or type(reader) is not ItemReader or reader.fields.key is not None:
            return None
        if type(plan.scheme) is not Shingles or not isinstance(plan.keys, Bands):
            return None
        only = reader.fields.only or ()
        if len(only) != 1 or "." in only[0] or only[0] in reader.fields.ignore:
            return None
        name = name_of(only[0])
        if name.marks or name.state or len(only[0]) > 99:
            return None
        return cls(reader, plan, {only[0].encode(): _COMPARED, b"url": _ADDRESS})

    def learn(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Note the names of fields that tell neither an address nor a date of publication."""
        for name in {name for item in items for name in item}:
            if len(self.fields) == _FIELDS:
                return
            is_plain = name.isprintable() and "." not in name and len(name) < 99
            if is_plain and name_of(name).marks.isdisjoint({"canonical", "published", "url"}):
                self.fields.setdefault(name.encode(), _IGNORED)

    def sketch(self, chunk: bytes, number: int) -> Found:
        """Sketch the plain items in lines, the first of which has that number in the corpus."""
        (compared,) = self.reader.fields.only or ()
        before = f"dict:d({len(compared)}:{compared}=str:".encode()
        fact = (name_of(NUMBERS_OF_TEXT).key | Evidence.NUMBERS << 32).to_bytes(5, "little")
        bounds = max(MIN_PROSE, self.reader.min_features), min(_LOOK, self.reader.max_text)
        scheme, bands = cast("Shingles", self.plan.scheme), cast("Bands", self.plan.keys)
        made = cast("native.Core", native.core).documents(
            chunk,
            list(self.fields.items()),
            (fold_table(), scheme.core_constants(), SECOND, core_bins(bands)),
            (before, self.reader.secret, fact, *bounds, _SIGNS),
            number,
        )
        rows, keys, shingles, details, texts, left = made
        self.counts.update({True: len(rows) // ROW.itemsize, False: len(left) // LEFT.itemsize})
        return Found(
            np.frombuffer(rows, ROW),
            np.frombuffer(keys, np.int32).reshape(-1, self.plan.keys.slots + 1),
            np.frombuffer(shingles, np.uint64),
            details,
            texts,
            np.frombuffer(left, LEFT),
        )

    def are_most(self) -> bool:
        """Whether most items so far were plain."""
        return self.counts[True] > self.counts[False]

    def joined(self, found: Found, others: Part, criteria: Sequence[Criterion]) -> Part:
        """The sketches of plain items and of the others, in their order."""
        kind = row_type(self.plan.width, len(criteria))
        mine = np.zeros(len(found.rows), kind)
        for name in set(ROW.names or ()).intersection(kind.names or ()):
            mine[name] = found.rows[name]
        lay_out(mine)
        mine["size"], mine["page_sketch"] = mine["hashes"], -1
        mine["compared_by"], mine["has_digest"], mine["is_text"] = ComparedBy.TEXT, True, True
        if criteria:
            characters = found.rows["characters"].tolist()
            mine["rank"] = [
                ranks_of(criteria, QualitySignals(url, length))
                for url, length in zip(self._urls(found, mine), characters, strict=True)
            ]
        others.rows["shingles"] += found.shingles.size
        others.rows["details"] += len(found.details)
        others.rows["text"] += len(found.texts)
        order = np.argsort(np.concatenate([found.rows["record"], found.left["record"]]))
        return Part(
            np.concatenate([mine, others.rows])[order],
            np.concatenate([found.keys, others.keys])[order],
            np.concatenate([found.shingles, others.shingles]),
            found.details + others.details,
            found.texts + others.texts,
            others.names | {name_of(NUMBERS_OF_TEXT).key: NUMBERS_OF_TEXT},
            others.problems,
        )

    def _urls(self, found: Found, rows: NDArray[np.void]) -> Iterable[str]:
        starts = rows["details"] + rows["facts"]
        for start, size in zip(starts.tolist(), rows["url"].tolist(), strict=True):
            yield found.details[start : start + size].decode()

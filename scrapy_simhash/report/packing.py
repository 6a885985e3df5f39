"""What the script of a report unpacks: the rows of its table, and what it shows of each."""

from __future__ import annotations

import base64
import json
import shlex
import zlib
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash import history
from scrapy_simhash.item.sites import site
from scrapy_simhash.report.difference import LONGEST, difference
from scrapy_simhash.report.figures import compared_runs
from scrapy_simhash.simhash.measure import similarity_at
from scrapy_simhash.visible import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, Literal

    from scrapy_simhash.report.subject import Subject

__all__ = ["Packed", "pack"]

#: What is shown of so many rows is unpacked together.
BLOCK = 40

# Bounds of what is in one file: rows of which more is shown than the table has, and bytes of that.
MOST_DETAILS, MOST_BYTES = 5_000, 8_000_000

# Of these the ones to look at: what was kept beside something. The rest is what was left out.
_MOST_KEPT = 1_000

# Items that are read at once.
_ITEMS = 500

# Of the value of a field so many characters are shown.
_VALUE = 2_000

# What a field is called that names a thing, in the order in which they are preferred.
_TITLES = ("title", "headline", "name", "heading")

_ACTIONS = {
    "drop": "left out",
    "skip": "skipped",
    "report": "stored all the same",
    history.SAME: "unchanged",
}


class Packed(NamedTuple):
    """The packed parts of a report.

    Attributes:
        table: all rows.
        blocks: what is shown of them, `BLOCK` rows in each.
        details: of how many rows there is something in the blocks.
    """

    table: str
    blocks: list[str]
    details: int


class _Said(NamedTuple):
    """What the table tells of a dropped item: little, as there may be many.

    Attributes:
        title: of it; "" if it has none.
        is_same: whether what is stored has the same title.
        differing: the fields in which what is stored differs.
        is_kept: whether the item can be given back.
    """

    title: str = ""
    is_same: bool = False
    differing: Sequence[str] = ()
    is_kept: bool = False


class _Row(NamedTuple):
    """A decision: something that was left out, or kept beside something near.

    Attributes:
        url: where it was found.
        claim: the number of what it is near.
        original: that one's URL.
        first_seen: seconds since the epoch; None where that is not known.
        texts: what its own text is kept under: see `history.texts`.
        similarity: 0 to 1.
        about: what is said before it: nothing if it is exact.
        distance: in bits; None where it is not known.
        created: seconds since the epoch.
        action: what was done, in words.
        run: which run did it.
        number: that of a duplicate; 0 for what was kept.
        differs: the field that kept it.
    """

    url: str
    claim: int
    original: str
    first_seen: float | None
    texts: tuple[int, int]
    similarity: float
    about: Literal["", "about ", "at least "]
    distance: int | None
    created: float
    action: str
    run: int
    number: int
    differs: str | None


def pack(subject: Subject) -> Packed:
    """Pack all that the script shows."""
    rows = [*_dropped(subject), *_kept(subject)]
    # What is least like its original is what to look at.
    ordered = sorted(
        range(len(rows)), key=lambda place: (rows[place].number > 0, rows[place].similarity)
    )
    kept = sum(not row.number for row in rows)
    chosen = [*ordered[: min(kept, _MOST_KEPT)], *ordered[kept:]][:MOST_DETAILS]
    blocks, places = _pack_details(subject, rows, chosen)
    return Packed(_pack_table(subject, rows, dict(_said(subject)), places), blocks, len(places))


def _dropped(subject: Subject) -> Iterator[_Row]:
    actions = _ACTIONS | {"drop": "would be left out"} if subject.is_trial else _ACTIONS
    for drop in subject.drops:
        action = actions.get(drop.action) or shortened(drop.action, 40)
        yield _Row(
            drop.url or drop.key,
            drop.claim,
            drop.original or f"claim {drop.claim}, gone",
            drop.first_seen,
            (drop.claim, drop.id),
            drop.similarity,
            "about " if drop.estimated else "",
            drop.distance,
            drop.created,
            action + (", orphan" if drop.orphaned else ""),
            drop.run,
            drop.id,
            None,
        )


def _kept(subject: Subject) -> Iterator[_Row]:
    least = subject.similarity
    if least is None:
        least = similarity_at(subject.limit, subject.namespace.bits)
    for pair in subject.kept.pairs:
        yield _Row(
            pair.url or f"claim {pair.claim}",
            pair.beside or 0,  # as in a damaged database
            pair.other or f"claim {pair.beside}, gone",
            None,
            (pair.claim, 0),
            least,
            "at least ",
            None,
            pair.created,
            "kept",
            pair.run,
            0,
            pair.differs,
        )


def _said(subject: Subject) -> Iterator[tuple[int, _Said]]:
    """What dropped items say, by the numbers of the duplicates."""
    numbers = [drop.id for drop in subject.drops]
    for start in range(0, len(numbers), _ITEMS):
        some = numbers[start : start + _ITEMS]
        found = history.fields(subject.database, subject.namespace, some)
        for number, fields in found.items():
            title = _title(fields)
            yield (
                number,
                _Said(
                    "" if title is None else shortened(title.value, 200),
                    title is not None and title.mark == "same",
                    [field.name for field in fields if field.mark in {"differs", "missing"}],
                    any(field.value for field in fields),
                ),
            )


def _title(fields: Sequence[history.Field]) -> history.Field | None:
    found = {field.name.lower(): field for field in reversed(fields) if field.value}
    return next((found[name] for name in _TITLES if name in found), None)


def _pack_table(
    subject: Subject,
    rows: Sequence[_Row],
    said: Mapping[int, _Said],
    places: Mapping[int, int],
) -> str:
    originals: dict[int, list[Any]] = {}
    sites, actions, fields = _Numbered(), _Numbered(), _Numbered()
    listed = []
    for number, row in enumerate(rows):
        original = originals.setdefault(
            row.claim,
            [
                len(originals),
                str(row.claim),
                shortened(row.original, 500),
                None if row.first_seen is None else int(row.first_seen),
            ],
        )
        known = said.get(row.number, _Said())
        if known.is_same and len(original) == 4:
            original.append(known.title)
        differing = known.differing if row.differs is None else [row.differs]
        listed.append(
            [
                shortened(row.url, 500),
                known.title,
                original[0],
                round(row.similarity, 4),
                row.about,
                int(row.created),
                actions[row.action],
                row.run,
                places.get(number, -1),
                [fields[shortened(name, 80)] for name in differing],
                # JavaScript has no whole numbers of 63 bits.
                str(row.number) if known.is_kept else "",
                sites[shortened(site(row.url) or "(no site)", 80)],
                row.distance,
            ]
        )
    name = shlex.quote(shortened(subject.namespace.name))
    command = "" if subject.is_trial else f"scrapy simhash restore --namespace {name} --id "
    return _packed(
        {
            "rows": listed,
            "originals": [original[1:] for original in originals.values()],
            "sites": list(sites),
            "actions": list(actions),
            "fields": list(fields),
            "runs": compared_runs(subject),
            "block": BLOCK,
            "command": command,
        }
    )


class _Numbered(dict[str, int]):
    """Names, numbered as they come."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self)
        return self[name]


def _pack_details(
    subject: Subject,
    rows: Sequence[_Row],
    chosen: Sequence[int],
) -> tuple[list[str], dict[int, int]]:
    """What is shown of rows, packed in blocks, and where that of which row is."""
    blocks: list[str] = []
    places: dict[int, int] = {}
    left = MOST_BYTES
    for start in range(0, len(chosen), BLOCK):
        if left <= 0:
            break
        some = chosen[start : start + BLOCK]
        wanted = [pair for row in some for pair in ((rows[row].claim, 0), rows[row].texts)]
        kept = history.texts(subject.database, subject.namespace, wanted)
        numbers = [rows[row].number for row in some if rows[row].number]
        said = history.fields(subject.database, subject.namespace, numbers)
        texts: dict[str, str] = {}
        details: dict[int, Any] = {}
        for number in some:
            row = rows[number]
            first, second = kept.get((row.claim, 0)), kept.get(row.texts)
            changes = None
            if first is not None and second is not None:
                first, second = (visible(one[:LONGEST])[:LONGEST] for one in (first, second))
                texts[str(row.claim)] = first
                changes = difference(first, second)
            fields = [
                (shortened(field.name, 80), shortened(field.value, _VALUE), field.mark)
                for field in said.get(row.number, [])
            ]
            if changes is not None or fields:
                places[number] = len(blocks) * BLOCK + len(details)
                details[places[number]] = [str(row.claim), changes, fields]
        if details:
            blocks.append(_packed({"texts": texts, "details": details}))
            left -= len(blocks[-1])
    return blocks, places


def _packed(value: Any) -> str:
    """A value as compressed JSON in Base64."""
    encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )
    return base64.b64encode(zlib.compress(encoded, 6)).decode()

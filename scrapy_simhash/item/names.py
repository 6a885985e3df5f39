"""What the name of a field tells about its value, and which values are a state of the item.

It knows the names of schema.org and zyte-common-items, common names of prices, languages, URLs and
fetch times, and, in several languages, what sites count. Other names have no meaning. The value of
a counter is a number with words that all tell what it counts, never a text in which there is a
number: "12 comments" is a state of an article, "3 of us fell asleep" is a comment.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Literal, cast

from scrapy_simhash.features.tokens import listed, normal
from scrapy_simhash.item.languages import UNSPACED, any_of, pattern, phrases
from scrapy_simhash.item.state import DATE, without_state
from scrapy_simhash.item.times import is_moment, is_span

# One word of snake_case, camelCase or plain text: in Latin letters, or in others.
_WORD = re.compile(
    "[A-ZÀ-ÖØ-Þ]+(?![a-zß-öø-ɏḀ-ỿ])|[A-ZÀ-ÖØ-Þ]?[a-zß-öø-ɏḀ-ỿ]+"
    r"|[^\W\d_A-Za-zÀ-ÖØ-öø-ɏḀ-ỿ]+"
)
_LETTERS = re.compile(r"[^\W\d_]+")

_LONGEST_VALUE = 100
# No part of a time, a range, a version or a phone number.
_NUMBER = re.compile(
    r"(?<!\d)(?<!\d[.,:-])(?:\d{1,3}(?:[.,'’ ]\d{3})+(?:[.,]\d+)?|\d++(?:[.,]\d+)?)(?![.,:-]?\d)"
)
_KINDS = (
    *("about", "alone", "changed", "counted", "done", "fillers", "labels", "none", "of", "on"),
    *("online", "rated", "readers", "scale", "since", "stars", "stock", "times"),
)
_NONE = rf"(?<![^\W\d_])(?:{pattern('none')})(?![^\W_])|{pattern('none', *UNSPACED)}"
_COUNTS = re.compile(rf"\d|{_NONE}")
_KNOWN = re.compile(
    rf"(?<![^\W\d_])(?:{any_of(word for kind in _KINDS for word in phrases(kind))})(?![^\W_])"
    f"|{any_of(word for kind in _KINDS for word in phrases(kind, *UNSPACED))}"
)
# What no value has: a word that is not known, a number that is no count, a unit.
_OTHER = re.compile(r"[^\W_]|[$€£¥₹₩₽°]")
# The title of what is counted for, as in: 13 responses to "Goats at sea".
_TITLE = re.compile(r'(?<=\w) (?:to|on|zu|sur|en) ["“”„«].*')
_POINTS = re.compile(r"\D{0,12}(?:(?:10|\d(?:[.,]\d+)?)(?![\d.,])|\d{1,3} ?[/%])")
_FOR_BUYERS = re.compile(
    "stock|availab|sold|almost|sales? end|lager|verfügbar|verkauft|dispon|épuisé|agotad|有货|缺货"
)


#: Tells whether a folded value, or whether a date, is a state.
IsValue = Callable[[str, bool], bool]


def _is_count(text: str, is_date: bool) -> bool:
    """Whether a value is a number, or a word for none, beside what it counts."""
    if is_date or len(text) > _LONGEST_VALUE or not _COUNTS.search(text):
        return False
    rest = _NUMBER.sub(" ", text)
    if _OTHER.search(rest):
        rest = _KNOWN.sub(" ", _NUMBER.sub(" ", without_state(_TITLE.sub("", text))))
    return not _OTHER.search(rest)


def _is_change(text: str, is_date: bool) -> bool:
    """Whether a value is when the item was changed last."""
    return is_date or is_moment(text) or _is_count(DATE.sub("1", text), is_date)


def _is_rating(text: str, is_date: bool) -> bool:
    """Whether a value is what buyers think of the item: up to 10 points, or a share."""
    return _POINTS.match(text) is not None and _is_count(text, is_date)


def _is_stock(text: str, is_date: bool) -> bool:
    """Whether a value is how many are left, or in a few words whether any are."""
    is_short = len(text) <= _LONGEST_VALUE
    return (is_short and _FOR_BUYERS.search(text) is not None) or _is_count(text, is_date)


def _is_left(text: str, is_date: bool) -> bool:
    """Whether a value is a remaining time."""
    return is_span(text) or _is_count(text, is_date)


def _is_any(text: str, is_date: bool) -> bool:
    """Any value: schema.org has these names for nothing else."""
    return True


def _words_for(*kinds: str) -> set[str]:
    """The phrases of these kinds as parts of field names, with "_" between words."""
    return {"_".join(_LETTERS.findall(word)) for kind in kinds for word in phrases(kind)}


_COUNTED = _words_for("counted", "labels", "alone")
# A singular noun may name a part of an item. With a word such as "count", it is a counter.
_SINGULAR = {word.removesuffix("s") for word in _COUNTED | _words_for("named")}
_WITH_COUNT = any_of(_COUNTED | _words_for("named") | _SINGULAR)
_COUNT = any_of(_words_for("count"))
_COUNTED_CJK = any_of(phrases("counted", *UNSPACED) | phrases("alone", *UNSPACED))
_STOCK = "_(?:stock|inventory|lagerbestand)_(?!code|no_|number|symbol|exchange)|库存"
# What matches the last part of a name, and what of counts and ratings the last two, with "_" around
# their words.
_STATES: list[tuple[re.Pattern[str], IsValue]] = [
    (re.compile(names), is_value)
    for names, is_value in (
        (
            (
                f"_(?:{any_of(_COUNTED)})(?:_(?:number|times|today|total))?_$"
                f"|_(?:{_WITH_COUNT})s?_?(?:total_)?(?:{_COUNT})_$"
                f"|_(?:{_COUNT})_?(?:of_)?(?:{_WITH_COUNT})_$"
                f"|次数|(?:{_COUNTED_CJK})(?:次数|次數|人数|人數|数|數|数量|量|수)?_$"
            ),
            _is_count,
        ),
        (
            (
                "modif(?!ication_$)|updat(?!es)|last_?(?:edit|mod|post|seen|visit|activity)|_edited_"
                "|_changed_|_online_|geändert|aktualisier|actualiza|更新|修改"
                f"|_(?:{any_of(_words_for('changed'))})_$"
                f"|(?:{pattern('changed', *UNSPACED)})_$"
            ),
            _is_change,
        ),
        (
            (
                "^_(?:offset|page|position|rank|ranking|row_?id"
                "|(?:page|row)_?(?:index|no|nr|num|number))_$|排名|序号|序號|行号|页码"
            ),
            _is_count,
        ),
        (
            (
                "time_?left|(?:days|hours)_(?:ago|left)|(?:time|days|hours)_remaining|remaining_(?:time|days|hours)|countdown"
                "|_(?:ends|closes|expires)_in_$|restzeit|restlaufzeit|temps_restant"
                "|tiempo_restante|tempo_rimanente|剩余时间|剩余天数|倒计时|残り時間"
            ),
            _is_left,
        ),
        (
            "^_(?:(?:average|star)_)?(?:ratings?|stars)(?:_(?:average|avg|rate|value))?_$|评分|好评",
            _is_rating,
        ),
        (_STOCK, _is_stock),
    )
]
_FOR_SALE = listed("availability instock")
# Any part of a name, written as one word.
_ANY = _FOR_SALE | listed("aggregaterating interactionstatistic")


def words_of(name: str) -> list[str]:
    """The words of a name in snake_case or camelCase, or of a label, in lower case."""
    return [word.casefold() for word in _WORD.findall(name)]


def state_of(name: str) -> IsValue | None:
    """What tells whether a value of a field, or of a row, is state; None if none is."""
    if not _ANY.isdisjoint("".join(words_of(part)) for part in name.split(".")):
        return _is_any
    parts = name.split(".")
    last, both = (f"_{'_'.join(words_of(' '.join(parts[-size:])))}_" for size in (1, 2))
    for names, is_value in _STATES:
        # "rating.count" is what "rating_count" is.
        is_inside = is_value in (_is_count, _is_rating) and names.search(both)
        if is_inside or names.search(last):
            return is_value
    return None


#: What a name may tell. Its value is ...
Mark = Literal[
    "aged",  # a time, if it may be one that passed since
    "canonical",  # the canonical URL, if it is a URL
    "code",  # a code
    "dated",  # a date
    "download",  # Scrapy's own meta of the download
    "fetched",  # the time of a download, if it is a time
    "language",  # the code of a language
    "no_amount",  # no amount, even if it is a number
    "price",  # an amount, if it is a number
    "published",  # when the item was published, if it is a time
    "rating",  # what one or several people think of the item
    "section",  # where the site has filed the item, or what it tells about it, as a summary does
    "serial",  # a time of the item, or its place in a series
    "stock",  # a state, but one for which buyers come
    "silent",  # never a fact: pictures, the place in the site, how it was downloaded
    "title",  # the title of the item or its page
    "url",  # a URL, even without a host
]

# Characters of a name that are read: the last ones.
_LONGEST_NAME = 256
# 评价 is a rating, 价值 the value of something.
_PRICE_CJK = re.compile("(?<![评評])[价價](?!值)|価格|値段|金[额額]|[费費]用|薪|租金|가격")
# The words of `names.toml`, by where they stand in a name and by mark.
_MARKS = {
    place: {cast("Mark", mark): listed(words) for mark, words in marks.items()}
    for place, marks in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text("utf-8")
    ).items()
}
_TITLES = _MARKS["whole"]["title"]
_MARKS["words"]["code"] |= _TITLES
_MARKS["last"]["dated"] = _MARKS["last"]["published"]
_ENDS = {mark: tuple(ends) for mark, ends in _MARKS.pop("ends").items()}
_SILENT_METADATA = {"probability", "validationmessages"}
# The minimum length of an id that is part of the item's URL, by the last word of a field's name. A
# shorter number may be that of a chapter or of a house.
_IDS = {
    **dict.fromkeys(("guid", "id", "slug", "uid", "uuid"), 1),
    **dict.fromkeys(
        ("number", "no", "nr", "num", "nummer", "numero", "número", "номер", "ref", "reference"), 5
    ),
}


@dataclass(frozen=True, slots=True, eq=False)  # hashed often
class Name:
    """The name of a field, or the path of a nested one.

    Attributes:
        text: the name as it is written.
        key: a 31-bit hash of the name without case, `_` and `-`. The bit above tells that it is a
            fact of a page.
        marks: what the name tells about its value.
        state: tells which values are a state of the item; None if none is.
        shortest_id: the minimum length of a value that is an id if the item's URL contains it; 0
            if the field holds no ids.
    """

    text: str
    key: int
    marks: frozenset[Mark]
    state: IsValue | None
    shortest_id: int


@lru_cache(maxsize=1 << 14)  # more names than are read of an item, which reads each of them often
def name_of(text: str) -> Name:
    """Parse the name of a field."""
    plain = normal(_shortened(text), "NFKC")
    words = words_of(plain)
    joined = re.sub(r"[_\-\s]", "", plain.casefold())
    parts = joined.split(".")
    last = parts[-1]
    state = state_of(plain)
    places = {
        "words": words,
        "last": parts[-1:],
        "parts": parts,
        "end": words[-1:],
        "whole": [joined.removeprefix("page:")],
    }
    marks = {
        mark
        for place, of_place in _MARKS.items()
        for mark, known in of_place.items()
        if not known.isdisjoint(places[place])
    }
    marks |= {mark for mark, ends in _ENDS.items() if any(word.endswith(ends) for word in words)}
    if "aggregaterating" in parts:
        marks.discard("rating")
    tests: dict[Mark, bool] = {
        "stock": state is _is_stock or last in _FOR_SALE,
        "price": _PRICE_CJK.search(plain) is not None,
        "rating": (state is _is_rating or last == "stars") and len(parts) > 1,
        "silent": "metadata" in parts and last in _SILENT_METADATA,
    }
    digest = blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return Name(
        text=text,
        # The highest bit tells the facts of a page, also where only the hash is known.
        key=int.from_bytes(digest, "little") >> 1 | joined.startswith("page:") << 31,
        marks=frozenset(marks | {mark for mark, holds in tests.items() if holds}),
        state=state,
        shortest_id=_IDS.get(words[-1], 0) if words else 0,
    )


def _shortened(text: str) -> str:
    """Hash the beginning of a long path, which all fields that are nested deep repeat."""
    if len(text) <= _LONGEST_NAME:
        return text
    beginning = text[:-_LONGEST_NAME].encode("utf-8", "surrogatepass")
    return f"{blake2b(beginning, digest_size=8).hexdigest()}~{text[-_LONGEST_NAME:]}"


def is_inside(name: str, fields: Collection[str]) -> bool:
    """Whether a field, or a field in which it is nested, is among these fields.

    >>> is_inside("offer.price", ["offer"]), is_inside("offer", ["offer.price"])
    (True, False)
    """
    while name:
        if name in fields:
            return True
        name = name.rpartition(".")[0]
    return False


#: The hashes of the names of titles.
TITLES = frozenset(name_of(prefix + name).key for name in _TITLES for prefix in ("", "page:"))

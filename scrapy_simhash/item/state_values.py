"""Fields that tell a state: their names, and which of their values do.

Names come from schema.org and, in several languages, from what sites count. A value is a number
with words that all tell what it counts, never a text in which there is a number: "12 comments" is a
state of an article, "3 of us fell asleep" is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from scrapy_simhash.features.tokens import listed
from scrapy_simhash.item.languages import UNSPACED, any_of, pattern, phrases
from scrapy_simhash.item.state import DATE, without_state
from scrapy_simhash.item.times import is_moment, is_span

# One word of snake_case, camelCase or plain text.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
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
_WORDS = re.compile(
    rf"(?<![^\W\d_])(?:{any_of(word for kind in _KINDS for word in phrases(kind))})(?![^\W_])"
    f"|{any_of(word for kind in _KINDS for word in phrases(kind, *UNSPACED))}"
)
# What no value has: a word that is not known, a number that is no count, a unit.
_OTHER = re.compile(r"[^\W_]|[$€£¥₹₩₽°]")
# The title of what is counted for, as in: 13 responses to "Goats at sea".
_TITLE = re.compile(r'(?<=\w) (?:to|on|zu|sur|en) ["“”„«].*')
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th|er?|o|a)(?!\w)|[第位名]")
_ONLINE = re.compile(
    rf"(?=.*(?<!\w)(?:{pattern('online')})(?!\w)).*\d (?:{pattern('readers')})(?!\w).*"
)
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
        rest = _WORDS.sub(" ", _NUMBER.sub(" ", without_state(_TITLE.sub("", text))))
    return not _OTHER.search(rest)


def _is_change(text: str, is_date: bool) -> bool:
    """Whether a value is when the item was changed last."""
    return is_date or is_moment(text) or _is_count(DATE.sub("1", text), is_date)


def _is_online(text: str, is_date: bool) -> bool:
    """Whether a value is how many are online, maybe with their names, or when one was."""
    return _ONLINE.fullmatch(text) is not None or _is_change(text, is_date)


def _is_place(text: str, is_date: bool) -> bool:
    """Whether a value is the place of the item in a list."""
    return _is_count(_ORDINAL.sub("", text), is_date)


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


def _words(*kinds: str) -> set[str]:
    """The phrases of these kinds as parts of field names, with "_" between words."""
    return {"_".join(_LETTERS.findall(word)) for kind in kinds for word in phrases(kind)}


_COUNTED = _words("counted", "labels", "alone")
# A singular noun may name a part of an item. With a word such as "count", it is a counter.
_SINGULAR = {word.removesuffix("s") for word in _COUNTED | _words("named")}
_WITH_COUNT = any_of(_COUNTED | _words("named") | _SINGULAR)
_COUNT = any_of(_words("count"))
_COUNTED_CJK = f"(?:{pattern('counted', *UNSPACED)})(?:次数|次數|人数|人數|数|數|数量|量|수)?_$"
_STOCK = "_(?:stock|inventory|lagerbestand)_(?!code|no_|number|symbol|exchange)|库存"
# What matches the last part of a name, with "_" around its words.
_STATES: list[tuple[re.Pattern[str], IsValue]] = [
    (re.compile(names), is_value)
    for names, is_value in (
        (
            (
                f"_(?:{any_of(_COUNTED)})(?:_(?:number|times|total))?_$"
                f"|_(?:{_WITH_COUNT})s?_?(?:{_COUNT})_$|_(?:{_COUNT})_?(?:of_)?(?:{_WITH_COUNT})_$"
                f"|次数|{_COUNTED_CJK}"
            ),
            _is_count,
        ),
        (
            (
                "modif(?!ication_$)|updat(?!es)|last_?(?:edit|mod|post|seen|visit|activity)|_edited_"
                "|_changed_|geändert|aktualisier|actualiza|更新|修改"
                f"|_(?:{any_of(_words('changed'))})_$"
                f"|(?:{pattern('changed', *UNSPACED)})_$"
            ),
            _is_change,
        ),
        ("_online_", _is_online),
        (
            (
                "^_(?:offset|page|position|rank|ranking|row_?id"
                "|(?:page|row)_?(?:index|no|nr|num|number))_$|排名|序号|序號|行号|页码"
            ),
            _is_place,
        ),
        (
            (
                "time_?left|(?:time|days|hours)_remaining|remaining_(?:time|days|hours)|countdown"
                "|_(?:ends|closes|expires)_in_$|restzeit|restlaufzeit|temps_restant"
                "|tiempo_restante|tempo_rimanente|剩余时间|剩余天数|倒计时|残り時間"
            ),
            _is_left,
        ),
        ("^_(?:average_)?(?:ratings?|stars)(?:_value)?_$|评分", _is_rating),
        (_STOCK, _is_stock),
    )
]
_FOR_SALE = listed("availability instock")
# Any part of a name, written as one word.
_ANY = _FOR_SALE | listed("aggregaterating interactionstatistic")


def words_of(name: str) -> list[str]:
    """The words of a name in snake_case or camelCase, or of a label, in lower case."""
    return [word.casefold() for word in _WORD.findall(name)]


@lru_cache(maxsize=4096)
def state_of(name: str) -> IsValue | None:
    """What tells whether a value of a field, or of a row, is state; None if none is."""
    if not _ANY.isdisjoint("".join(words_of(part)) for part in name.split(".")):
        return _is_any
    forms = _last_part(name)
    return next((is_value for names, is_value in _STATES if any(map(names.search, forms))), None)


def is_stock(name: str) -> bool:
    """Whether the state that a field tells is whether, or how often, the item can be bought."""
    last = "".join(words_of(name.rpartition(".")[2]))
    return last in _FOR_SALE or any(re.search(_STOCK, form) for form in _last_part(name))


def _last_part(name: str) -> list[str]:
    """The last part of a name with "_" around its words, in two forms.

    The first splits camelCase, but also words at letters with accents; the second splits neither.
    """
    last = name.rpartition(".")[2]
    return [f"_{'_'.join(words)}_" for words in (words_of(last), _LETTERS.findall(last.casefold()))]

"""State: what an item was like when it was fetched, such as the number of its readers.

A copy that is fetched an hour later has a different state, so state does not keep copies apart.
In a text, counters and relative times such as "5 minutes ago" are state. A word alone is not
enough: "Reads: 1,204" is state, "Read speed: 550 MB/s" is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from unicodedata import decimal

from scrapy_simhash.features.tokens import normal
from scrapy_simhash.item.languages import UNSPACED, ago, any_of, pattern, phrases

_COUNTED = phrases("counted")
_LABELS = phrases("labels")
# Counted words in scripts without spaces, and what may follow them.
_COUNTED_CJK = pattern("counted", *UNSPACED)
_NUMBER_OF_CJK = "(?:次数|次數|人数|人數|数|數|数量|量|수)?"
# Units of measured numbers: "500 Mbps", "4.5 kW", "3 kg".
_MEASURED = re.compile(
    r" ?(?:[kmgt]?(?:b|bit)(?:/s|ps)?|[kmg]?w|[kmg]?hz|k?va?|m?ah?|[km]?g|c?l|[ckm]m|°[cf])\b",
    re.IGNORECASE,
)
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_SOME_ZEROS = re.compile(b"00*+")
# A whole number that is no part of a date, a time, an amount or a code.
_NUMBER = re.compile(
    # A set of characters comes first, because that takes a fifth of the time.
    r"[0-9](?<![0-9A-Za-z_.,/#$€£¥-].)(?<![0-9]:.)(?<![$€£¥] .)"
    r"(?:[0-9]{0,2}(?:[.,  ][0-9]{3})+|[0-9]{0,8}|[0-9]{0,2}[.,][0-9](?=[kKmM万萬만]))[kKmM万萬만]?"
    r"(?!(?!(?:[dhmsx]|min|hrs?)(?:$|[ \n]))[0-9A-Za-z_/#%€-]|[.,:][0-9]| [€元])"
)
# A rating of at most five or ten points, or a rating before the number of raters.
_RATING = re.compile(
    r"[0-9](?<![0-9A-Za-z_.,/#$€£¥-].)(?:[.,][0-9]{1,2})?(?="
    rf"(?: ?/ ?| (?:{pattern('of')}) )(?:5|10)(?![\w%/]|[.,][0-9])| ?\([0-9])"
)
_RATED = re.compile(rf"(?<!\w)(?:{pattern('rated')}) $", re.IGNORECASE)
_STARS = re.compile(rf"\D{{0,9}}(?:5|10)(?: ({pattern('stars')})| ?(?:$|[\n|·•]))", re.IGNORECASE)
_RATERS = re.compile(r"[^(\n]{0,20}\(([0-9][0-9.,]*)[ )]")
#: A day with its year, maybe with a time.
DATE = re.compile(
    r"[0-9](?<![0-9A-Za-z_./-].)[0-9]{0,3}(?:([-/.]) ?[0-9]{1,2}\1 ?[0-9]{2,4}\.?"
    r"|[年년] ?[0-9]{1,2}[月월] ?[0-9]{1,2}[日일]"
    r"|(?:\.|st|nd|rd|th|º|er)? (?:de |of )?[^\W\d_][^\s\d]{1,11},? (?:de )?[0-9]{4}"
    r"|(?P<named>(?:st|nd|rd|th)?,? [0-9]{4}))(?![0-9])"
    r"(?:(?:T|,? (?:(?:at|um|à|в|o|오전|오후) )?)[0-9]{1,2}[:h][0-9]{2}(?::[0-9]{2})?"
    r"(?: ?[ap]\.?m\b\.?)?(?: uhr)?(?: (?:[A-Z]{2,4}|[+-][0-9]{2}:?[0-9]{2})\b)?)?(?: г\.)?",
    re.IGNORECASE,
)
# "an hour ago", "vor einer Stunde"
_ONE = re.compile(
    rf"(?<!\w)(?P<since>(?:{pattern('since')}) )?(?:an?|a few|eine[mnr]?|une?|una"
    r"|uma?) (?P<unit>[^\W\d_]+)(?P<ago> ago(?!\w))?",
    re.IGNORECASE,
)
# Up to five words behind a number, and the sign behind these.
_BEHIND = re.compile(r"\+?[ \n]?((?:[^\s\d:()|,.;!?/•·]++ ?){1,5}+)([\d:(])?")
# The end of a sentence or a line.
_STOP = re.compile(r"[\n|·•.;!?()]")
_TOKEN = re.compile(r"\S+")
_WORD_BEHIND = re.compile(r" ?([^\s\d)]+)")
# The beginning and the end of a line, or of a part of it.
_BOX_START = re.compile(r"(?:^|[\n|·•.!?。」]) ?$")
_BOX_END = re.compile(r" ?(?:$|[\n|·•])")
_LINE_END = re.compile(r"[ )]?(?:$|\n)")
_CAPITAL = re.compile(r" [^\W\d_a-zà-ÿа-я]")
# Between a label and a number.
_MARK = re.compile(r" ?[:(|\n][ \n]?| ")
# How a sentence goes on.
_GOES_ON = re.compile(r",? ?[a-zà-ÿа-я]|[^\W\d_]")
_NEXT_MONTH = re.compile(r"(?i: ?(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]))")
_ONLINE = re.compile(rf"(?<!\w)(?:{pattern('online')})(?!\w)[^.!?]{{0,80}}$", re.IGNORECASE)
_ONLINE_BEHIND = re.compile(rf"(?i: (?:{pattern('online')})(?!\w))")
# A word with a capital, as in "iPhone 12".
_NAME = re.compile(r"(?<!\w)(?=[^\WA-Z]*[A-Z])\w++ $")
_UNITS = phrases("units")
# The rest of a compound duration such as "2 days and 3 hours", up to its last number.
_FURTHER = re.compile(
    rf"(?: ?(?:{pattern('units')})[.,]*(?: (?:and|und|et|y|e|и))? ?[0-9]{{1,3}}"
    rf"(?= ?(?:{pattern('units')})(?!\w)))+",
    re.IGNORECASE,
)
_SINCE = phrases("since")
_AGO = ago()
_TIMES = phrases("times")
_SERIES = phrases("series")
_CHANGED_AT = phrases("changed")
_STOCKED = phrases("stock")
_READERS = phrases("readers")
_VOTES = phrases("raters")
_ON = phrases("on")
_DONE = phrases("done") - _COUNTED
_COUNTED_BEHIND = _COUNTED | _STOCKED
_FILLERS = phrases("fillers") | _TIMES
# Of the words that tell what a number is, the first behind it and the last before it.
_FIRST = {phrase.split()[0] for phrase in _AGO | _UNITS | _READERS | _FILLERS | _COUNTED_BEHIND}
_LAST = {phrase.split()[-1] for phrase in _COUNTED | _DONE | _LABELS | _STOCKED}
_FIRST_BEHIND = re.compile(r"\+?[ \n]? ?([^\s\d:()|,.;!?/•·]++)")
_CJK = "\u1100"  # and all behind it
# Chinese, Japanese and Korean. A time may be that before an event, a number may be part of a word.
_BEHIND_CJK = re.compile(
    rf" ?[次人条條个個则則件回]?の? ?(?:{_COUNTED_CJK})|(?: ?(?:{any_of(ago('zh'))}))"
)
# In Chinese and Japanese a space ends a phrase, in Korean only a word.
_ENDS_CJK = rf"(?:(?= ?(?:{_COUNTED_CJK}))|(?![^\W\d_a-zA-Z]| [가-힣]))"
_DONE_CJK = "に? ?(?:更新|投稿|公開|업데이트|수정|등록|작성)"
_AGO_CJK = re.compile(rf" ?(?:{any_of(ago('ja', 'ko'))})(?:{_DONE_CJK})?{_ENDS_CJK}")
# 查看, "view", is also said of what a number names.
_BEFORE_CJK = re.compile(rf"(?:查看:|(?:{_COUNTED_CJK}){_NUMBER_OF_CJK}[ \n]?[:(]?)[ \n]?$")
_COUNTER_CJK = re.compile(
    rf"(?: ?[次人条條个個则則件]| ?[回개회건]|(?! ?[次人条條个個则則件回개회건])){_ENDS_CJK}"
)
_CHANGED_CJK = re.compile(
    r"(?:(?<![^\W\d_])|(?<=页)|(?<=页面))(?:最后|最近|最後)?"
    rf"(?:{pattern('changed', *UNSPACED)})[于於]?[: ]?[: ]?$"
)
_OF_PAGE = re.compile(r"\bpage(?: was)?$", re.IGNORECASE)


# Every line that `_ONE` changes has one of these.
_SIGNS_OF_ONE = (" ago", "or eine", "ace un", " y a un", "á um")
Span = tuple[int, int]

#: Characters of a text that are read for its state.
MAX_TEXT = 1_000_000
# Of Arabic, Persian, Hindi and others.
_DIGIT = re.compile(r"(?![0-9])\d")
# In most texts that NFKC changes, it changes nothing else.
_PUNCTUATION = {
    "\u2026": "...",
    "\xa0": " ",
    **dict(zip("\uff0c\uff1a\uff1b\uff01\uff1f\uff08\uff09", ",:;!?()", strict=True)),
}


def without_state(text: str) -> str:
    """Remove the state from the first `MAX_TEXT` characters of a text.

    State is what changes between two downloads of a page: relative times, the date of the last
    modification, ratings, and counters of readers, comments, reviews and the like, with the words
    for what they count.

    >>> without_state("Goats at sea, 1,204 views, 3 hours ago").split()
    ['Goats', 'at', 'sea,', ',']
    """
    after = before = _plain(text[:MAX_TEXT])
    if any(sign in after for sign in _SIGNS_OF_ONE):
        after = "\n".join([_without_ones(line) for line in after.split("\n")])
    for regex, span_of in ((DATE, _changed), (_RATING, _rated), (_NUMBER, _counted)):
        after = _without(after, regex, span_of)
    return text if after == before else after + text[MAX_TEXT:]


def _plain(text: str) -> str:
    """A text normalised by NFKC, with its digits in ASCII."""
    if text.isascii():
        return text
    # Python quickly finds that most texts are normal after this.
    for sign, plain in _PUNCTUATION.items():
        text = text.replace(sign, plain)
    return _DIGIT.sub(lambda digit: str(decimal(digit[0])), normal(text, "NFKC"))


@lru_cache(maxsize=1)  # most texts are the same for all three
def _starts(text: str) -> list[int]:
    """Where dates, ratings and numbers may begin: at the first of some digits."""
    # A single character is found in a tenth of the time.
    zeros = text.encode("latin-1", "replace").translate(_ZEROS)
    return [match.start() for match in _SOME_ZEROS.finditer(zeros)]


def _without(
    text: str, regex: re.Pattern[str], span_of: Callable[[str, re.Match[str]], Span | None]
) -> str:
    """A text without the spans of those matches that are state."""
    parts: list[str] = []
    done, end = 0, 0
    for start in _starts(text):
        if start < end or not (match := regex.match(text, start)):
            continue
        end = match.end()
        if start >= done and (span := span_of(text, match)):
            parts += text[done : span[0]], " "
            done = span[1]
    return "".join([*parts, text[done:]]) if done else text


def _without_ones(line: str) -> str:
    low = line.lower()
    return _ONE.sub(_without_one, line) if any(sign in low for sign in _SIGNS_OF_ONE) else line


def _without_one(match: re.Match[str]) -> str:
    is_time = match["unit"].casefold() in _UNITS and (match["since"] or match["ago"])
    return f"{match['since'] or ''} " if is_time else match[0]


def _words_before(text: str, start: int) -> tuple[list[str], str]:
    """The words before an index, up to the end of the previous sentence, and the signs between."""
    before = text[max(0, start - 64) : start]
    words = before.rstrip(" :(|\n")
    return _STOP.split(words)[-1].split(), before[len(words) :]


def _changed(text: str, date: re.Match[str]) -> Span | None:
    """The span of a date behind a label such as "Last updated on", unless the sentence goes on."""
    start, end = date.span()
    if _GOES_ON.match(text, end):
        return None
    before = text[max(0, start - 24) : start]
    if not before.isascii() and _CHANGED_CJK.search(before):
        return start, end
    words, mark = _words_before(text, start)
    for turn in range(4):
        is_month = turn == 0 and date["named"] is not None
        if words and (is_month or words[-1] in _ON or words[-1][-1] == ","):
            mark = words.pop()
            start = text.rindex(mark, 0, start)
    if words and words[-1][-1] == ":":
        words[-1], mark = words[-1][:-1], ":"
    for size in range(1, min(4, len(words)) + 1):
        label = words[-size:]
        # "This page was last edited"; without a word for "page", that may be news.
        is_of_page = _OF_PAGE.search(" ".join(words[:-size])) is not None
        is_free = len(words) == size or ":" in mark or not label[0][0].islower() or is_of_page
        if is_free and " ".join(label).casefold() in _CHANGED_AT:
            return start, end
    return None


def _rated(text: str, rating: re.Match[str]) -> Span | None:
    """The span of a rating with the number of raters, of the best rating, or of stars."""
    start, end = rating.span()
    before = text[max(0, start - 24) : start]
    is_decimal = len(rating[0]) > 1
    raters = _RATERS.match(text, end) if is_decimal or text[end : end + 2] != " (" else None
    if (
        raters
        and (word := _WORD_BEHIND.match(text, raters.end(1)))
        and word[1].casefold() in _VOTES
    ):
        return start, word.end()
    if raters and before.rstrip()[-1:] in ("★", "⭐"):
        return start, raters.end(1)
    stars = _STARS.match(text, end) if is_decimal else None
    is_state = (
        _RATED.search(before)
        or (raters and _counted_behind(text, *raters.span(1)))
        or (stars and (stars[1] or _BOX_START.search(before)))
    )
    return (start, end) if is_state else None


def _counted(text: str, number: re.Match[str]) -> Span | None:
    """The span of a count or a relative time, with the words behind it."""
    start, end = number.span()
    stop = _counted_behind(text, start, end) or _labelled(text, start, end)
    return (start, stop) if stop else None


def _counted_behind(text: str, start: int, end: int) -> int:
    """The end of the words that tell what a number counts, or that it is a time; 0 if none do."""
    first = _FIRST_BEHIND.match(text, end)
    if not first or (first[1] < _CJK and first[1].casefold() not in _FIRST):
        return 0
    if match := _BEHIND_CJK.match(text, end):
        return match.end()
    if match := _FURTHER.match(text, end):
        end = match.end()
    before = text[max(0, start - 24) : start]
    if (match := _AGO_CJK.match(text, end)) and (
        _BOX_START.search(before) or _CHANGED_CJK.search(before)
    ):
        return match.end()
    if not (match := _BEHIND.match(text, end)):
        return 0
    words = [word[0].casefold() for word in _TOKEN.finditer(match[1])]
    ends = [match.start(1) + word.end() for word in _TOKEN.finditer(match[1])]
    labels, mark = _words_before(text, start)
    labels = [word.casefold() for word in labels]
    if size := _time_of(words, labels) or _online(text, start, ends[0], words[0]):
        return ends[size - 1]
    # Not the label of the next number, as in "Floor 3 Views: 245" or "size 12 reviews 3", unless
    # that has a word of its own, as in "3 views 2 replies".
    is_label = match[2] and " ".join(words[-2:]) not in _STOCKED
    if is_label and (following := _NUMBER.match(text, match.start(2))):
        own = _WORD_BEHIND.match(text, following.end())
        is_label = own is None or own[1].casefold() not in _COUNTED
    size = _count_of(words[:-1] if is_label else words)
    if not size or (mark == " " and not _SERIES.isdisjoint(labels[-1:])):
        return 0
    # "iPhone 12 reviews"
    is_name = mark == " " and _NAME.search(before) and labels[-1] not in _COUNTED | _LABELS
    return 0 if is_name and not _BOX_END.match(text, ends[size - 1]) else ends[size - 1]


def _time_of(words: Sequence[str], before: Sequence[str]) -> int:
    """How many of the words behind a number belong to a relative time."""
    sizes = range(1, len(words) + 1)
    if size := next((size for size in sizes if " ".join(words[:size]) in _AGO), 0):
        return size
    since = any(" ".join(before[-size:]) in _SINCE for size in range(1, 5))
    return int(since and words[0] in _UNITS)


def _online(text: str, start: int, end: int, word: str) -> int:
    """1 if the word behind a number tells how many people see the page, else 0."""
    before = text[max(0, start - 80) : start]
    return int(
        word in _READERS and (_ONLINE_BEHIND.match(text, end) or _ONLINE.search(before)) is not None
    )


def _count_of(words: Sequence[str]) -> int:
    """How many of the words behind a number tell what it counts, with a filler before them."""
    for first in (0, 1) if words and words[0] in _FILLERS else (0,):
        for end in range(first + 1, len(words) + 1):
            if " ".join(words[first:end]) in _COUNTED_BEHIND:
                return end
    return 0


def _labelled(text: str, start: int, end: int) -> int:
    """The end of a number behind a label of counts, with the last word of "viewed 3 times"; else 0.

    The label has a mark behind it, or the number is at the end of a line or between capitalised
    words: in a sentence it may be anything, as in "he likes 5 of them".
    """
    before = text[max(0, start - 24) : start]
    word = before.rstrip(" :(|\n").rsplit(None, 1)[-1:]
    if not word or (max(word[0]) < _CJK and _STOP.split(word[0])[-1].casefold() not in _LAST):
        return 0
    if not before.isascii() and _BEFORE_CJK.search(before):
        return end if _COUNTER_CJK.match(text, end) else 0
    if _MEASURED.match(text, end):
        return 0
    words, mark = _words_before(text, start)
    last, last_two = (" ".join(words[-size:]).casefold() for size in (1, 2))
    labels = _LABELS | _STOCKED | _COUNTED | _DONE
    if not _MARK.fullmatch(mark) or labels.isdisjoint((last, last_two)):
        return 0
    behind = _WORD_BEHIND.match(text, end)
    if behind and behind[1].casefold().rstrip(".,") in _TIMES:
        return behind.end()
    if last in _DONE:
        return 0
    is_next = behind is not None and behind[1].casefold() in _COUNTED | _LABELS
    # "Number of posts: 3", "142 views 12 March"
    if len(words) > 1 and (words[-1].islower() if last in _LABELS else words[-2][-1].isdigit()):
        return 0
    if mark == " " and not _LINE_END.match(text, end):
        is_count = words[-1][0].isupper() and _CAPITAL.match(text, end) is not None
    else:
        is_count = is_next or not (_NEXT_MONTH.match(text, end) or _GOES_ON.match(text, end))
    return end if is_count else 0

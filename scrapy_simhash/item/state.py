"""What a text tells of its state when it was fetched: counts of readers, "5 minutes ago"."""

from __future__ import annotations

import re
from functools import lru_cache

from scrapy_simhash.features.state import COUNTED, LABELS
from scrapy_simhash.item.numbers import MAX_TEXT, plain, without_times

# A whole number that is no part of a date, a time, an amount or a code.
_NUMBER = re.compile(
    # A set of characters at the beginning is searched for in a fifth of the time.
    r"[0-9](?<![0-9A-Za-z_.,/#$€£¥-].)(?<![0-9]:.)(?<![$€£¥] .)"
    r"(?:[0-9]{0,2}(?:[.,  ][0-9]{3})+|[0-9]{0,8}|[0-9]{0,2}[.,][0-9](?=[kKmM万]))[kKmM万]?"
    r"(?![0-9A-Za-z_/#%€-]|[.,:][0-9]| [€元])"
)
_UNITS = (
    r"(?:sec(?:ond)?|min(?:ute)?|h(?:ou)?r|day)s? ago(?!\w)"
    r"|(?:秒钟?|分钟?|小时|天)前"
)
_SINCE = (
    r"(?:sekunden?|minuten?|stunden?|tag(?:en?)?|segundos?|secondes?"
    r"|minut[oe]s?|horas?|heures?|d[ií]as?|jours?)(?!\w)"
)
_CHINESE = "浏览|阅读|点击|评论|点赞|回复|收藏|转发|跟帖"
_MONTH = r"(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])"

# The word behind a number, and what stands behind that.
_WORD_BEHIND = re.compile(r"\+?[ \n]?(?:(?:in|auf|customer|mal|user) )?([^\W\d_]+)(?: ?([\d:(]))?")
_BEHIND = re.compile(rf" ?(?:{_UNITS})|[次人条个]?(?:{_CHINESE})", re.IGNORECASE)
_BEFORE = re.compile(rf"(?:{_CHINESE})(?:次数|人数|数|量)?[ \n]?[:(]?[ \n]?$")
_RATED = re.compile(r"(?<!\w)rated $", re.IGNORECASE)
# The word before a number; the end of another number before that; what stands between.
_LABEL = re.compile(r"(\d )?(?<![^\W\d_])((?:[Rr]eaction )?[^\W\d_]+)( ?[:(|\n][ \n]?| )$")
_LINE_END, _CAPITAL = re.compile(r"[ )]?(?:$|\n)"), re.compile(r" [^\W\d_a-zà-ÿа-я]")
_NEXT_MONTH = re.compile(rf" ?{_MONTH}", re.IGNORECASE)
_SINCE_BEHIND = re.compile(rf" {_SINCE}", re.IGNORECASE)
_SINCE_BEFORE = re.compile(r"(?<!\w)(?:vor|hace|há|il y a) (?:\w+ )?$", re.IGNORECASE)
_ONLINE = re.compile(r"(?<!\w)(?:browsing|online|viewing)(?!\w)[^.!?]{0,80}$", re.IGNORECASE)
_READERS = {
    *("guest", "guests", "member", "members", "user", "users", "visitor", "visitors"),
}

#: Only beside one of these words or a time since then a number tells a state, but for scripts other
#: than Latin.
SIGNS = {
    *(word for words in COUNTED | LABELS for word in words.split()),
    *("stock", "rated", "ago"),
    *_READERS,
}


@lru_cache(maxsize=8)  # a text is compared with several
def without_state(text: str) -> str:
    """A text without the numbers that tell its state, as far as it is read for numbers.

    Left out are relative times, when the page was last modified, and numbers beside a word for
    readers, comments, reviews and the like in some languages: they change from one download to the
    next.
    """
    normal = plain(text[:MAX_TEXT])
    known = without_times(normal)

    def rest(found: re.Match[str]) -> str:
        start, end = found.span()
        is_state = _is_counted(known, start, end) or _is_labelled(known, start, end)
        return " " if is_state else found[0]

    left = _NUMBER.sub(rest, known)
    return text if left == normal else left + text[MAX_TEXT:]


def _is_counted(text: str, start: int, end: int) -> bool:
    """Whether the words behind a number say what it counts, or that it is a time."""
    if _BEHIND.match(text, end):
        return True
    if not (found := _WORD_BEHIND.match(text, end)):
        return False
    word, mark = found.groups()
    folded = word.casefold()
    if folded == "stock":
        return " in " in found[0]
    if folded in COUNTED:
        # Not the label of the next number, as in "Floor 3 Views: 245" or "size 12 reviews 3".
        return mark is None
    if folded in _READERS:
        return bool(_ONLINE.search(text[max(0, start - 80) : start]))
    return bool(
        _SINCE_BEHIND.match(text, end) and _SINCE_BEFORE.search(text[max(0, start - 24) : start])
    )


def _is_labelled(text: str, start: int, end: int) -> bool:
    """Whether the word before a number is the label of a count.

    With a mark behind the label, at the end of a line, or between capitalised words: in a sentence
    it may be anything, as in "he likes 5 of them".
    """
    before = text[max(0, start - 24) : start]
    if not before.isascii() and _BEFORE.search(before):
        return not text.startswith("年", end)
    if text.startswith(" out of ", end) and _RATED.search(before):
        return True
    if found := _LABEL.search(before):
        number, word, mark = found.groups()
        folded = word.casefold()
        # "142 views 12 March"
        if folded not in LABELS and (number or folded not in COUNTED):
            return False
        if mark == " " and not _LINE_END.match(text, end):
            return word[0].isupper() and _CAPITAL.match(text, end) is not None
        return _NEXT_MONTH.match(text, end) is None
    return False

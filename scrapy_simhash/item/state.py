"""What tells the state of a thing when it was fetched, such as the number of its readers.

A copy that is fetched an hour later has another one, so it keeps no copies apart. Known are the
names of schema.org and, in some languages, of what sites count. A word alone is not enough: "Reads:
1,204" is state, "Read speed: 550 MB/s" is not. In a text these are counts of readers and times as
in "5 minutes ago".
"""

from __future__ import annotations

import re
from functools import lru_cache

from scrapy_simhash.features.tokens import listed
from scrapy_simhash.item.numbers import MAX_TEXT, plain, without_times

# One word of snake_case, camelCase or plain text.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_LETTERS = re.compile(r"[^\W\d_]+")

_COUNTS = (
    r"\W{0,3}\d.*|\D{0,24}\d[\d.,]*[km万萬]?(?:\D{1,24}\d[\d.,]*)?\D{0,24}"
    "|(?:no|keine|leave|add|write|be) .{0,30}"
)
_ANY = re.compile(".*", re.DOTALL)


#: What is counted of a page or a post. Neither shares nor votes: both are also traded and cast.
COUNTED = listed(
    "view views read reads clicks like likes dislikes reaction reactions upvotes reply replies "
    "comment comments review reviews ratings download downloads follower followers subscribers "
    "watchers pageviews aufruf aufrufe gelesen kommentar kommentare antworten bewertungen vues "
    "commentaire commentaires réponse réponses visitas lecturas comentario comentarios respuestas "
    "visualizzazioni letture commenti risposte recensioni visualizações comentário comentários "
    "respostas просмотр просмотра просмотров комментарий комментария комментариев ответов отзывов"
)
#: These in a text only in front of the number: most tell of the author of a post.
LABELS = {"reaction score"} | listed(
    "posts hits messages thanks beiträge mensajes messaggi сообщения сообщений"
)
# These only in names and labels; in a text some are also traded and cast.
_NAMED = listed(
    "applicants bids bookmarks favorites favourites shares sold viewed visitors visits votes "
    "downvotes"
)
_LISTED = "|".join(sorted(COUNTED | LABELS | _NAMED))
_CHANGED = (
    "modif(?!ication_$)|updat(?!es)|last_?(?:edit|mod|post|seen|visit|activity)|_edited_|_changed_"
    "|_online_|geändert|aktualisier|actualiza|更新|修改"
)
_STOCK = "_(?:stock|inventory|lagerbestand)_(?!code|no_|number|symbol|exchange)|库存"
# The last part of a name, with "_" around its words, and what its values look like.
_STATES = [
    (re.compile(names), re.compile(values, re.IGNORECASE | re.DOTALL))
    for names, values in (
        (f"_(?:{_LISTED})(?:_(?:number|times|total))?_$|次数|阅读|浏览|点击|点赞|评论", _COUNTS),
        # When it was changed last, as in "edited on 3 March 2025", or who is there.
        (_CHANGED, r".*\d.*"),
        # The place where a list has the thing.
        (
            "^_(?:position|rank|ranking|row_?(?:id|index|no|nr|num|number))_$|排名|序号|序號|行号",
            r"\W{0,2}\d.{0,12}",
        ),
        # What buyers think: up to 10 points, or a share.
        (
            "^_(?:average_)?(?:ratings?|stars)(?:_value)?_$|评分",
            r"\D{0,12}\d(?:[.,]\d+)?(?!\d).{0,40}|\d{1,3} ?[/%].{0,12}",
        ),
        (
            _STOCK,
            (
                r".*(?:\d|stock|availab|sold|almost|sales? end|lager|verfügbar|verkauft|dispon"
                "|épuisé|agotad|有货|缺货).*"
            ),
        ),
    )
]
# In one word; of the last part, and of any.
_COUNT = re.compile(
    "(?:answer|comment|dislike|(?:user)?interaction|like|rating|review|share|view|(?:up|down)vote)"
    "s?counts?"
)
_FOR_SALE = listed("availability instock")
_STATE = _FOR_SALE | listed("aggregaterating datemodified datemodifiedraw interactionstatistic")


def words_of(name: str) -> list[str]:
    """The words of a name in snake_case or camelCase, or of a label, in lower case."""
    return [word.casefold() for word in _WORD.findall(name)]


@lru_cache(maxsize=4096)
def state_of(name: str) -> re.Pattern[str] | None:
    """What values of this field, or row of a page, must match in full to tell a state; or None."""
    parts = [words_of(part) for part in name.split(".")]
    joined = ["".join(part) for part in parts]
    if not _STATE.isdisjoint(joined) or _COUNT.fullmatch(joined[-1]):
        return _ANY
    lasts = _lasts(name)
    return next((values for names, values in _STATES if any(map(names.search, lasts))), None)


def is_stock(name: str) -> bool:
    """Whether a field that tells a state tells whether, or how often, the thing can be bought."""
    last = "".join(words_of(name.rpartition(".")[2]))
    return last in _FOR_SALE or any(re.search(_STOCK, one) for one in _lasts(name))


def _lasts(name: str) -> list[str]:
    """The last part of a name with "_" around its words, which may be found in two ways.

    Letters with accents stand in words of their own in the first, camelCase in one in the second.
    """
    last = name.rpartition(".")[2]
    return [f"_{'_'.join(words)}_" for words in (words_of(last), _LETTERS.findall(last.casefold()))]


# A whole number that is no part of a date, a time, an amount or a code.
_NUMBER = re.compile(
    # A set of characters at the beginning is searched for in a fifth of the time.
    r"[0-9](?<![0-9A-Za-z_.,/#$€£¥-].)(?<![0-9]:.)(?<![$€£¥] .)"
    r"(?:[0-9]{0,2}(?:[.,  ][0-9]{3})+|[0-9]{0,8}|[0-9]{0,2}[.,][0-9](?=[kKmM万]))[kKmM万]?"
    r"(?![0-9A-Za-z_/#%€-]|[.,:][0-9]| [€元])"
)
_UNITS = (
    r"(?:sec(?:ond)?|min(?:ute)?|h(?:ou)?r|day|week|month)s? ago(?!\w)"
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
_READERS = listed("guest guests member members user users visitor visitors")

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

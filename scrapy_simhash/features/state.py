"""What tells the state of a thing when it was fetched, such as the number of its readers.

A copy that is fetched an hour later has another one, so it keeps no copies apart. Known are the
names of schema.org and, in some languages, of what sites count. A word alone is not enough: "Reads:
1,204" is state, "Read speed: 550 MB/s" is not.
"""

from __future__ import annotations

import re
from functools import lru_cache

# One word of snake_case, camelCase or plain text.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_LETTERS = re.compile(r"[^\W\d_]+")

_COUNTS = (
    r"\W{0,3}\d.*|\D{0,24}\d[\d.,]*[km万萬]?(?:\D{1,24}\d[\d.,]*)?\D{0,24}"
    "|(?:no|keine|leave|add|write|be) .{0,30}"
)
_ANY = re.compile(".*", re.DOTALL)


def listed(words: str) -> set[str]:
    """The words of a list that is written as a text."""
    return set(words.split())


#: What is counted of a page or a post. Neither shares nor votes: both are also traded and cast.
COUNTED = {
    *("view", "views", "read", "reads", "clicks", "like", "likes"),
    *("dislikes", "reaction", "reactions", "upvotes", "reply", "replies", "comment"),
    *("comments", "review", "reviews", "ratings", "download", "downloads", "follower"),
    *("followers", "subscribers", "watchers", "pageviews", "aufruf", "aufrufe", "gelesen"),
    *("kommentar", "kommentare", "antworten", "bewertungen", "vues", "commentaire"),
    *("commentaires", "réponse", "réponses", "visitas", "lecturas", "comentario"),
    *("comentarios", "respuestas", "visualizzazioni", "letture", "commenti", "risposte"),
    *("recensioni", "visualizações", "comentário", "comentários", "respostas", "просмотр"),
    *("просмотра", "просмотров", "комментарий", "комментария", "комментариев", "ответов"),
    *("отзывов"),
}
#: These in a text only in front of the number: most tell of the author of a post.
LABELS = {
    *("posts", "hits", "messages", "reaction score", "thanks", "beiträge", "mensajes", "messaggi"),
    *("сообщения", "сообщений"),
}
# These only in names and labels; in a text some are also traded and cast.
_NAMED = listed(
    "bids bookmarks favorites favourites shares sold viewed visitors visits votes downvotes"
)
_LISTED = "|".join(sorted(COUNTED | LABELS | _NAMED))
_CHANGED = (
    "modif(?!ication_$)|updat(?!es)|last_?(?:edit|mod|post|seen|visit|activity)|_edited_|_changed_"
    "|_online_|geändert|aktualisier|actualiza|更新|修改"
)
# The last part of a name, with "_" around its words, and what its values look like.
_STATES = [
    (re.compile(names), re.compile(values, re.IGNORECASE | re.DOTALL))
    for names, values in (
        (f"_(?:{_LISTED})(?:_(?:number|times|total))?_$|次数|阅读|浏览|点击|点赞|评论", _COUNTS),
        # When it was changed last, as in "edited on 3 March 2025", or who is there.
        (_CHANGED, r".*\d.*"),
        # The place where a list has the thing.
        ("^_(?:position|rank|ranking)_$|排名", r"\W{0,2}\d.{0,12}"),
        # What buyers think: up to 10 points, or a share.
        (
            "^_(?:average_)?(?:ratings?|stars)(?:_value)?_$|评分",
            r"\D{0,12}\d(?:[.,]\d+)?(?!\d).{0,40}|\d{1,3} ?[/%].{0,12}",
        ),
        (
            "_(?:stock|inventory|lagerbestand)_(?!code|no_|number|symbol|exchange)|库存",
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
_STATE = {
    *("aggregaterating", "availability", "datemodified", "datemodifiedraw", "instock"),
    "interactionstatistic",
}


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
    # Letters with accents stand in words of their own in the first, camelCase in one in the second.
    plain = _LETTERS.findall(name.rpartition(".")[2].casefold())
    lasts = [f"_{'_'.join(words)}_" for words in (parts[-1], plain)]
    return next((values for names, values in _STATES if any(map(names.search, lasts))), None)

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

_COUNTS = (
    r"\W{0,3}\d.*|\D{0,24}\d[\d.,]*[km万萬]?(?:\D{1,24}\d[\d.,]*)?\D{0,24}"
    "|(?:no|keine|leave|add|write|be) .{0,30}"
)
_ANY = re.compile(".*", re.DOTALL)
# What readers do; who is there, and when it was changed last, as in "edited on 3 March 2025".
_COUNTED = (
    "_(?:bids|bookmarks|comments|dislikes|downloads|favou?rites|followers|hits|likes|posts"
    "|reactions|reads|replies|reviews|shares|sold|(?:up|down)?votes|viewed|views|visit(?:or)?s"
    "|watchers|aufrufe|bewertungen|kommentare|vues|visitas)_|次数|阅读|浏览|点击|点赞|评论"
)
_CHANGED = (
    "_(?:modified|updated?|last_?edit(?:ed)?|last_?mod|last_(?:post|seen|visit|activity)|edited"
    "|changed|online|modifié|aktualisiert|geändert|actualizad[oa])_|更新|修改"
)
# The last part of a name, with "_" around its words, and what its values look like.
_STATES = [
    (re.compile(names), re.compile(values, re.IGNORECASE | re.DOTALL))
    for names, values in (
        (_COUNTED, _COUNTS),
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
            r".*(?:\d|stock|availab|sold|lager|verfügbar|verkauft|dispon|épuisé|agotad|有货|缺货).*",
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
    """What values of this name must match in full to tell a state; None if none does.

    Args:
        name: of a field, with its path; or the label of a row on a page.
    """
    parts = [words_of(part) for part in name.split(".")]
    joined = ["".join(part) for part in parts]
    if not _STATE.isdisjoint(joined) or _COUNT.fullmatch(joined[-1]):
        return _ANY
    last = f"_{'_'.join(parts[-1])}_"
    return next((values for names, values in _STATES if names.search(last)), None)

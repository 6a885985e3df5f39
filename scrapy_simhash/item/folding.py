"""Values of fields as facts, in one notation for all spellings."""

from __future__ import annotations

import datetime as dt
import html
import math
import re
from base64 import b64decode
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple

from scrapy_simhash.features.tokens import listed, normal
from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.links import file_of
from scrapy_simhash.item.names import Mark, Name, name_of
from scrapy_simhash.item.numbers import amount, bare_amount, number
from scrapy_simhash.item.state import without_state
from scrapy_simhash.item.times import is_moment, is_weekday, may_be_date, read_date, read_short_date
from scrapy_simhash.item.urls import is_url

# Characters of a value that are folded; the rest counts by its digest.
_LOOK = 65_536
# Characters of a value that is likely to be in many items.
_REPEATED = 64
# Characters of text in markup that is a fact, such as a title with its tags.
_SHORT = 200

_TAG = re.compile(r"</?([A-Za-z!][^\s<>/]*+)[^<>]*+>")
_ELEMENTS = listed(
    "a abbr address article aside audio b big blockquote body br button canvas caption center cite "
    "code col colgroup dd del details dfn dir div dl dt em embed fieldset figcaption figure font "
    "footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd "
    "label legend li link main map mark menu meta nav noscript object ol optgroup option p param "
    "picture pre q ruby s samp script section select small source span strike strong style sub "
    "summary sup svg table tbody td textarea tfoot th thead time title tr tt u ul var video wbr"
)
# Tags of a value that are read.
_TAGS = 256
# Python refuses to convert that many digits; no character needs more than seven.
_NO_REFERENCE = re.compile(r"&#\d{100,};?")
_LONG_WORD = re.compile(r"\s*\S{60}")
_ENCODED = re.compile(r"[A-Za-z0-9+/]{65,}={0,2}")
_ENCODED_FOR_URLS = re.compile(r"[A-Za-z0-9_-]{65,}={0,2}")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_DIGIT = re.compile("[0-9]")
_NO_DATES: frozenset[Mark] = frozenset({"code", "price", "title"})
# Marks of names whose numbers are labels: "1.10" is not "1.1".
_LABELS: frozenset[Mark] = frozenset({"code", "serial"})
# Marks of names whose values are read with their state.
_STATELESS: frozenset[Mark] = frozenset({"code", "rating", "title"})
_LETTER = re.compile(r"[^\W\d_]")
# Commas that are no part of a number, and a full stop at the end.
_PUNCTUATION = re.compile(r"(?<!\d)[,、]|[,、](?!\d)|(?<!\.)[.。]\Z")
# The first bytes of pictures and markup, which are no facts.
_PICTURE_OR_PAGE = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"<", b"\xef\xbb\xbf<")
# Characters of encoded data that are decoded to see these bytes.
_HEAD = 64
# Quotation marks and dashes that systems replace.
_SIGNS = str.maketrans("‘’‚‛“”„‟«»‐‑‒–—―", 4 * "'" + 6 * '"' + 6 * "-")
_SIGN = re.compile("[‘-‟«»‐-―]")
_LANGUAGE = re.compile("[a-z]{2,3}(?:[-_][a-z0-9]{2,8})*")


class Folded(NamedTuple):
    """The value of a field in one notation, which must never change: its hashes are stored.

    Attributes:
        kind: an `Evidence`, or `Evidence.AMOUNT` plus the index of a currency.
        text: the value; of a date, its day of the year.
        time: the year of a date, its hours and minutes, its seconds and its time zone, "" for
            those that are not known; () for a value that is no date.
    """

    kind: int
    text: str
    time: tuple[str, ...] = ()

    def whole(self) -> str:
        """The value, with the time of a date."""
        return " ".join([self.text, *filter(None, self.time)])


def is_markup(text: str) -> bool:
    """Whether a value has two tags of HTML elements or more, or is XML.

    Text may have what looks like other tags: "#include <stdio.h>", "<ann@example.com>".
    """
    if "<" not in text:
        return False
    names = [tag[1].lower() for tag in islice(_TAG.finditer(text[:_LOOK]), _TAGS)]
    if len(names) < 2:
        return False
    known = sum(name in _ELEMENTS or name[0] == "!" or "-" in name for name in names)
    is_document = text.lstrip()[:1] + text.rstrip()[-1:] == "<>"
    return is_document or (known > 1 and 2 * known > len(names))


def without_tags(text: str) -> str:
    """The text of markup, with character references resolved."""
    return html.unescape(_NO_REFERENCE.sub("\ufffd", _TAG.sub(" ", text)))


def is_encoded(text: str) -> bool:
    """Whether a value is data in base64 or hexadecimal, of more than 64 characters."""
    if len(text) <= 64:
        return False
    if text.startswith("data:"):
        return True
    if not _LONG_WORD.match(text):
        return False
    lines = text[:_LOOK].split()
    joined = "".join(lines)
    if any(len(line) < 60 for line in lines[:-1]):
        return False
    if _ENCODED.fullmatch(joined):
        return True
    # A slug has a dash every few letters; base64 for URLs has one in 32 characters.
    dashes = joined.count("-") + joined.count("_")
    return dashes * 12 < len(joined) and _ENCODED_FOR_URLS.fullmatch(joined) is not None


def fold(name: Name, value: Any) -> Folded | None:
    """Fold a value from `read_fields`; None if it is not a fact.

    Text is folded by NFKC and case, and white space is collapsed. Lists are sets, and a list of one
    is its value. Mappings inside lists count by their fields.

    >>> from scrapy_simhash.item.names import name_of
    >>> fold(name_of("price"), "€ 1.299,50").text
    'n:1299.5'
    >>> fold(name_of("date"), "5 March 2024 at 20:31")
    Folded(kind=<Evidence.DATE: 11>, text='t:03-05', time=('2024', '20:31', '', ''))
    """
    if type(value) is str and len(value) <= _REPEATED:
        return _fold_cached(name, value)
    return _fold(name, value)


def _fold(name: Name, value: Any) -> Folded | None:
    if "silent" in name.marks:
        return None
    folded = _FOLDS.get(type(value), _scalar)(name, value)
    if folded is None or folded.kind >= Evidence.AMOUNT:
        return folded
    return folded._replace(kind=_kind_of(name, folded))


# Most items have the same few authors, categories and tags.
_fold_cached = lru_cache(maxsize=4096)(_fold)


def _kind_of(name: Name, folded: Folded) -> Evidence:
    """The kind of evidence that the value of a field is."""
    marks, words = name.marks, folded.text.removeprefix("t:").removeprefix("n:")
    if name.state and name.state(words, bool(folded.time)):
        return Evidence.STOCK if "stock" in marks else Evidence.STATE
    # Not a weekday: in German, a field "Tag" holds a day.
    if "section" in marks and folded.text[0] in "tld" and not (folded.time or is_weekday(words)):
        return Evidence.SECTION
    if folded.time:
        return Evidence.DATE
    if folded.kind != Evidence.TEXT:
        return Evidence(folded.kind)
    if "title" in marks and folded.text[0] in "tn":
        return Evidence.TITLE
    return Evidence.DATE if "dated" in marks else Evidence.TEXT


def _scalar(name: Name, value: Any) -> Folded | None:
    if value is None:
        return None
    if isinstance(value, bytes):
        return _data(value, value[:_HEAD])
    if isinstance(value, bool):
        return Folded(Evidence.TEXT, "t:true" if value else "t:false")
    if isinstance(value, Decimal):
        return _number(name, value) if value.is_finite() else None
    if isinstance(value, (int, float)):
        return _number(name, value) if math.isfinite(value) else None
    if isinstance(value, (dt.date, dt.time)):
        text = value.isoformat().casefold()
        return _date(name, text) or Folded(Evidence.TEXT, f"t:{text}")
    return _text(name, str(value))


def _text(name: Name, text: str) -> Folded | None:
    if is_url(name, text) and "stock" in name.marks:
        text = text.rstrip("/").rpartition("/")[2]  # such as https://schema.org/InStock
    elif is_url(name, text):
        return Folded(Evidence.TEXT, f"f:{path}") if (path := file_of(name, text)) else None
    if is_encoded(text):
        return None if text.startswith("data:image") else _data(text.encode(), _decoded(text))
    is_tagged = is_markup(text)
    folded = _fold_text(without_tags(text[:_LOOK]) if is_tagged else text[:_LOOK])
    if not folded or (is_tagged and len(folded) > _SHORT):
        return None
    # Similar texts are in one language.
    if "language" in name.marks and _LANGUAGE.fullmatch(folded):
        return None
    plain = folded.translate(_SIGNS) if _SIGN.search(folded) else folded
    if "," in plain or "、" in plain or plain[-1] in ".。":
        plain = " ".join(_PUNCTUATION.sub(" ", plain).split()) or plain
    if len(text) > _LOOK:
        plain += f"\x1f{_digest(text[_LOOK:].encode('utf-8', 'surrogatepass'))}"
    value = _DIGIT.search(folded) and (_date(name, folded) or _numeric(name, folded))
    return value or _words(name, plain)


def _words(name: Name, text: str) -> Folded:
    """A text without its state, as in a line below a headline: by whom, when, and how many views.

    Titles and codes may have such words.
    """
    is_count = name.state is not None and name.state(text, False)
    is_read = not is_count and len(text) <= _SHORT and name.marks.isdisjoint(_STATELESS)
    if not (is_read and _DIGIT.search(text) and _LETTER.search(text)):
        return Folded(Evidence.TEXT, f"t:{text}")
    rest = " ".join(without_state(text).split())
    is_state = not any(map(str.isalnum, rest))
    return Folded(Evidence.STATE, f"t:{text}") if is_state else Folded(Evidence.TEXT, f"t:{rest}")


def _data(data: bytes, head: bytes) -> Folded | None:
    """The digest of a file, or of encoded data; None for a picture or a page."""
    is_seen = head.lstrip().startswith(_PICTURE_OR_PAGE) or head[8:12] == b"WEBP"
    return None if is_seen or not data else Folded(Evidence.TEXT, f"b:{_digest(data)}")


def _decoded(text: str) -> bytes:
    """The beginning of encoded data, if it is base64; else b""."""
    try:
        return b64decode(text[:_HEAD], validate=True)
    except ValueError:
        return b""


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def is_state(name: Name, value: Any) -> bool:
    """Whether the value of a field is what the item was like when it was fetched."""
    folded = fold(name, value)
    return folded is not None and folded.kind == Evidence.STATE


def are_state(name: str, values: Iterable[str | None]) -> bool:
    """Whether all values of a field, as they are shown, are state; None is that of no value."""
    return all(value is None or is_state(name_of(name), value) for value in values)


def is_more(path: str, value: Any, *, in_list: bool = False) -> bool:
    """Whether a value, or a value inside it, is no fact: markup, data, or one of several links."""
    if type(value) is list:
        return any(is_more(path, inner, in_list=True) for inner in value)
    if type(value) is dict:
        return any(is_more(f"{path}.{key}", value[key], in_list=in_list) for key in value)
    name = name_of(path)
    if not name.marks.isdisjoint(("silent", "language")):
        return False
    is_link = type(value) is str and is_url(name, value)
    return in_list if is_link else fold(name, value) is None


def _date(name: Name, text: str) -> Folded | None:
    """A folded text as a day and its time, if it is a date."""
    if name.marks & _NO_DATES or len(text) > 64:
        return None
    written = read_date(text) if may_be_date(text) else None
    if written is None and "dated" in name.marks:
        written = read_short_date(text)
    if written is None or not written.days:
        return None
    # There are two days if either number may be the month.
    return Folded(Evidence.TEXT, f"t:{'|'.join(written.days)}", written[1:])


def _list(name: Name, values: list[Any]) -> Folded | None:
    facts = {folded for value in values if (folded := fold(name, value)) is not None}
    if len(facts) < 2:
        return facts.pop() if facts else None
    kinds = {folded.kind for folded in facts}
    kind: int = min(kinds) if len(kinds) == 1 else Evidence.TEXT
    if len(kinds) > 1 and all(folded.text.startswith("n:") for folded in facts):
        kind = Evidence.AMOUNT
    return Folded(kind, "l:" + "\x1f".join(sorted({folded.whole() for folded in facts})))


def _dict(name: Name, fields: dict[str, Any]) -> Folded | None:
    facts = [
        f"{key}={folded.whole()}"
        for key, value in fields.items()
        if (folded := fold(name_of(f"{name.text}.{key}"), value)) is not None
        and (name.state is not None or folded.kind != Evidence.STATE)
    ]
    return Folded(Evidence.TEXT, "d:" + "\x1e".join(facts)) if facts else None


_FOLDS: dict[type, Callable[[Name, Any], Folded | None]] = {str: _text, list: _list, dict: _dict}


def _fold_text(text: str) -> str:
    if not text.isascii():
        text = normal(_INVISIBLE.sub("", text), "NFKC")
    return " ".join(text.casefold().split())


def _number(name: Name, value: float | Decimal) -> Folded:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    text = str(value)
    digits = (text if _is_label(name) else number(text)) or text.casefold()
    is_price = "price" in name.marks or (text[-3:-2] == "." and not _is_label(name))
    is_amount = is_price and "no_amount" not in name.marks
    return Folded(Evidence.AMOUNT if is_amount else Evidence.TEXT, "n:" + digits)


def _numeric(name: Name, text: str) -> Folded | None:
    """A folded text as an amount or a number, if it is one."""
    if len(text) > 64:
        return None
    digits = number(text)
    if digits and _is_label(name):
        return Folded(Evidence.TEXT, f"n:{digits}") if digits == text or "." not in text else None
    if "no_amount" not in name.marks:
        money = amount(text, expected="price" in name.marks)
        if money and not is_moment(text):
            return Folded(Evidence.AMOUNT + money.currency, "n:" + money.text)
        if (bare := bare_amount(text)) and not is_moment(text):
            return Folded(Evidence.AMOUNT, "n:" + bare)
    return Folded(Evidence.TEXT, "n:" + digits) if digits else None


def _is_label(name: Name) -> bool:
    """Whether a number in a field of this name is a label, not a quantity."""
    return not name.marks.isdisjoint(_LABELS) and "price" not in name.marks

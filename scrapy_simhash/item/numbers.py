"""Numbers and amounts of money in values, in one notation."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from scrapy_simhash.features.tokens import listed

#: ISO 4217 codes in lower case, append-only because their indexes are stored. The first is for
#: amounts without a currency, or with a sign that several currencies share.
CURRENCIES = (
    *("", "usd", "eur", "gbp", "cny", "chf", "inr", "krw", "rub", "brl", "cad", "aud", "nzd"),
    *("hkd", "twd", "sgd", "mxn", "sek", "nok", "dkk", "pln", "czk", "huf", "ron", "try", "uah"),
    *("ils", "zar", "thb", "vnd", "php", "idr", "aed", "sar", "bgn"),
)
# Yen and yuan share a sign, and count as one.
_SIGNS = {
    sign: signs[0]
    for signs in map(
        str.split,
        (
            *("usd $ us$ dollar dollars", "eur € euro euros", "gbp £ pounds"),
            *("cny ¥ 元 円 人民币 rmb jpy yen yuan", "inr ₹ rs", "krw ₩ 원", "rub ₽ руб"),
            *("brl r$", "cad ca$ c$", "aud au$ a$", "nzd nz$", "hkd hk$", "twd nt$", "sgd s$"),
            *("mxn mx$", "pln zł", "czk kč", "huf ft", "ron lei", "try ₺ tl", "uah ₴", "ils ₪"),
            *("thb ฿", "vnd ₫", "php ₱", "bgn лв"),
        ),
    )
    for sign in signs[1:]
}
# The indexes of currencies by their codes and signs.
_INDEXES = {code: index for index, code in enumerate(CURRENCIES)}
_INDEXES.update({sign: _INDEXES[code] for sign, code in _SIGNS.items()})
# Words follow the number, codes are on either side: "Try 3" and "Euro 2024" are not amounts.
_CODES = [code for code in (*CURRENCIES[1:], "rmb", "jpy") if code != "try"]
_NAMES = listed("euro euros dollar dollars pounds yen yuan rs руб zł kč ft lei tl лв kr")
_KNOWN = {*_CODES, *_NAMES}
# In most texts neither this nor one of these words is found, in less time.
_MARKS = re.compile("[$£¥€₠-⃏฿人元円원]")
_CURRENCY = re.compile(
    r"(?<![a-z])(?:us|ca|c|au|a|nz|hk|nt|s|mx|r)?\$|[£¥€₠-⃏฿]|人民币"
    r"|(?<=[\d万亿 ])[元円원]"
    rf"|(?<![^\W\d_])(?:{'|'.join(_CODES)})(?![^\W\d_])"
    rf"|(?<=[\d ])(?:{'|'.join(_NAMES)})(?![^\W\d_])"
)
# Groups of three with their separators, or digits with at most one.
_NUMBER = r"\d{1,3}(?:[ '’.,]\d{3})+(?!\d)(?:[.,]\d{1,2}(?!\d))?|\d+(?:[.,]\d+)?"
_NUMBERS = re.compile(_NUMBER, re.ASCII)
_PLAIN = re.compile(
    r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d+)?|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?)", re.ASCII
)
_TWO_DECIMALS = re.compile(r"[+−-]?(?:\d{1,3}(?:[ '’.,]\d{3})+|\d+)[.,]\d\d", re.ASCII)
_SPACES = re.compile("[ '’]")
_WORD = re.compile(r"[\w%/]+")
_LETTERS = re.compile(r"[^\W\d_]+")
# What shops call a price makes no difference.
_CALLED = re.compile(
    r"\A(?:(?:(?:guide|asking|sale|our|current|list|unit) )?price|guide|from|only|now|just"
    r"|offers (?:over|around|in (?:excess|the region) of)|o\.?i\.?[re]\.?o\.?"
    r"|preis|ab|nur|jetzt|prix|à partir de|seulement|precio|desde|sólo|solo|preço|a partir de|por"
    r"|prezzo|da|цена|от|售价|价格|现价|单价|仅售?|販売価格|価格|가격|판매가)"
    r"\s?[:：]? ?(?=[^\w\s]|\d|[a-z]{3} ?\d)"
)
_TIMES = {"k": 1000, "m": 10**6, **dict.fromkeys("万萬만", 10**4), **dict.fromkeys("億亿", 10**8)}
_THOUSANDS = re.compile(r"[km](?!\w)| ?[万萬만億亿]", re.ASCII)
_AMOUNT_LENGTH = 64


class Amount(NamedTuple):
    """An amount of money: its numbers and words, and the index of its currency in `CURRENCIES`."""

    text: str
    currency: int


def number(text: str) -> str | None:
    """A text that is nothing but a number in one notation; None if it is none.

    A text with leading zeros is a code, and "1,5" may be two numbers: None.

    >>> number("1,204.50"), number("007")
    ('1204.5', None)
    """
    if not _PLAIN.fullmatch(text):
        return None
    return _trim(text.replace(",", "").removeprefix("+"))


def bare_amount(text: str) -> str | None:
    """A text that is nothing but a number with two decimals, like a price, in one notation."""
    return _sign(text) + _canonical(text.lstrip("+-−")) if _TWO_DECIMALS.fullmatch(text) else None


def amount(text: str, *, expected: bool) -> Amount | None:
    """Read an amount of money in a folded value; where it is expected, it needs no currency.

    None if the text has no number, is too long, or has other words.

    >>> amount("€ 1.299,50", expected=False)
    Amount(text='1299.5', currency=2)
    """
    if len(text) > _AMOUNT_LENGTH:
        return None
    may_have = _MARKS.search(text) or not _KNOWN.isdisjoint(_LETTERS.findall(text))
    signs = _CURRENCY.findall(text) if may_have else []
    if not signs and not expected:
        return None
    currencies = {_INDEXES.get(sign, 0) for sign in signs} or {0}
    if len(currencies) > 1:
        currencies.discard(1)  # "$" is the sign of other dollars too
    text = _CALLED.sub("", text)
    rest = _in_full(_CURRENCY.sub(" ", text)) if signs else text
    numbers = [_canonical(digits) for digits in _NUMBERS.findall(rest)]
    words = _WORD.findall(_NUMBERS.sub(" ", rest))
    if not numbers or len(currencies) > 1 or (len(words) > 2 and not expected):
        return None
    return Amount(_sign(text) + " ".join([*numbers, *words]), currencies.pop())


def _in_full(text: str) -> str:
    """A text with numbers such as "250k" written in full."""
    parts: list[str] = []
    done = 0
    for match in _NUMBERS.finditer(text):
        if thousands := _THOUSANDS.match(text, match.end()):
            value = Decimal(_canonical(match[0])) * _TIMES[thousands[0].strip()]
            parts += text[done : match.start()], f"{value:f}"
            done = thousands.end()
    return "".join([*parts, text[done:]])


def _sign(text: str) -> str:
    return "-" if text.startswith(("-", "−")) else ""


def _canonical(digits: str) -> str:
    """The number of an amount, with or without separators, in one notation."""
    if digits.isdecimal():
        return digits.lstrip("0") or "0"
    digits = _SPACES.sub("", digits)
    head, separator, tail = digits, "", ""
    if last := max(digits.rfind("."), digits.rfind(",")) + 1:
        head, separator, tail = digits[: last - 1], digits[last - 1], digits[last:]
    # Three digits behind the only kind of separator are thousands: prices have two decimals.
    others = {"." if separator == "," else ","} & set(head)
    if len(tail) == 3 and not others and not head.startswith("0"):
        head, tail = head + tail, ""
    head = head.replace(".", "").replace(",", "").lstrip("0") or "0"
    return _trim(f"{head}.{tail}" if tail else head)


def _trim(digits: str) -> str:
    trimmed = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return "0" if trimmed == "-0" else trimmed

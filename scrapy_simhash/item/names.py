"""What the name of a field tells about its value.

Known are the names of schema.org and zyte-common-items, and common names of prices, languages,
addresses and fetch times. Other names tell nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from scrapy_simhash.features.tokens import normal

# One word of snake_case, camelCase or plain text.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")

_PRICES = {
    *("amount", "amounts", "betrag", "cena", "charge", "cost", "costs", "fare", "fee", "fees"),
    *("fiyat", "kosten", "precio", "precios", "preco", "preço", "preise", "prezzo", "prices"),
    *("pris", "prix", "rent", "salary", "tarif", "wage", "цена", "стоимость"),
}
_PRICE_ENDS = ("price", "preis", "prijs")  # also glued to another word: saleprice, Endpreis
# 评价 is a rating, 价值 the value of something.
_PRICE_CJK = re.compile("(?<![评評])[价價](?!值)|価格|値段|金[额額]|[费費]用|薪|租金|가격")
# Their numbers are never amounts. Takes precedence over the prices above.
_NO_AMOUNTS = {
    *("author", "authors", "code", "count", "currency", "date", "description", "gtin"),
    *("headline", "id", "ids", "index", "isbn", "lat", "latitude", "lng", "lon", "longitude"),
    *("mpn", "name", "percent", "phone", "position", "probability", "rank", "rating", "ratings"),
    *("score", "sku", "stars", "summary", "tel", "telephone", "time", "title", "type", "until"),
    *("valid", "version", "zip", "名称", "标题", "標題", "評分", "评分", "時間", "时间"),
}
_LANGUAGES = {"hreflang", "inlanguage", "lang", "language", "languagecode", "locale", "语言"}
_ADDRESSES = {"href", "hrefs", "link", "links", "permalink", "src", "uri", "url", "urls"}
_LENGTH = 256  # characters of a name that are read: the last
# Not the thing itself, but its pictures, its place in the site, how it was downloaded.
_SILENT = {
    *("audios", "breadcrumb", "breadcrumbs", "canonicalurl", "charset", "contentencoding"),
    *("datedownloaded", "encoding", "image", "images", "logo", "mainimage", "thumbnail"),
    *("thumbnailurl", "url", "videos"),
}
_SILENT_METADATA = {"probability", "validationmessages"}
_FETCHES = {
    *("crawl", "crawled", "download", "downloaded", "fetch", "fetched", "ingested", "retrieved"),
    *("scrape", "scraped", "抓取时间", "爬取时间", "采集时间"),
}
# Moments of the thing itself, even if they fall into the crawl.
_PUBLISHED = {
    *("datecreated", "dateposted", "datepublished", "datepublishedraw", "enddate", "posted"),
    *("postedat", "pubdate", "published", "publishedat", "publishdate", "startdate"),
    *("uploaddate", "validfrom", "validthrough", "发布时间", "发布日期"),
}
# The state of the thing when it was downloaded.
_STATES = {
    *("aggregaterating", "availability", "datemodified", "datemodifiedraw", "instock"),
    "interactionstatistic",
}
# Their numbers are counts, or the place where a list has the thing.
_COUNTED = {
    *("comments", "dislikes", "downloads", "followers", "hits", "likes", "position", "rank"),
    *("ranking", "reactions", "reads", "replies", "reviews", "shares", "stock", "upvotes"),
    *("views", "visits", "votes", "排名", "浏览", "浏览次数", "浏览量", "点赞", "点赞数"),
    *("评论", "评论数", "阅读", "阅读量"),
}
# Where a site has filed the thing.
_SECTIONS = {
    *("categories", "category", "channel", "collection", "department", "ressort", "rubric"),
    *("rubrik", "section", "subcategory", "topic", "分类", "栏目", "频道"),
}
_COUNT = re.compile(
    "(?:answer|comment|dislike|(?:user)?interaction|like|rating|review|share|view|(?:up|down)vote)"
    "s?counts?"
)
_MODIFIED = re.compile("modif|updat|last(?:edit|mod)|edited|aktualisier|actualiza|更新|修改")
_DATES = {"date", "datum", "day", "fecha", "time", "when", "日期", "时间"}
_TITLES = {"headline", "heading", "name", "title", "名称", "标题", "標題"}
_CANONICAL = {"canonical", "canonicalurl"}
# Words of names of titles and codes; of times and parts of a series.
_NAMES = {
    *("asin", "barcode", "code", "codes", "doi", "ean", "gtin", "gtins", "heading", "headline"),
    *("isbn", "issn", "model", "mpn", "name", "names", "plu", "reference", "serial", "sku"),
    *("skus", "title", "upc", "vin", "名称", "标题", "標題", "编号"),
}
_NAME_ENDS = ("name", "number", "nummer", "title")
_SERIES = {
    *("begin", "begins", "chapter", "days", "deadline", "due", "edition", "end", "ends"),
    *("episode", "expires", "hours", "issue", "month", "period", "quarter", "round"),
    *("schedule", "season", "start", "starts", "until", "valid", "version", "volume", "week"),
    *("year", "時間"),
}
_SERIAL_ENDS = ("date", "dates", "datum", "time", "weekday")


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a field.

    Attributes:
        text: the name; of a nested field the path.
        key: 32-bit hash of the name without case, `_` and `-`.
        silent: whether the field is never a fact.
        address: whether the value is an address, even without a host.
        language: whether the value is the code of a language.
        price: whether a number is an amount.
        no_amount: whether a number is never an amount.
        fetched: whether a moment is that of a download.
        published: whether a moment is the thing's own.
        canonical: whether an address on the first level is the canonical one.
        state: whether the value tells the state of the thing, such as a count of its readers.
        counted: whether a number tells that.
        section: whether the value names a part of the site.
        modified: whether a date is that of the last change.
        dated: whether the value is a date.
        title: whether the value is the title of the thing or its page.
        naming: whether the value is any title or code.
        serial: whether the value tells the time of the thing, or which of a series it is.
    """

    text: str
    key: int
    is_ignored: bool
    address: bool
    language: bool
    price: bool
    no_amount: bool
    fetched: bool
    published: bool
    canonical: bool
    state: bool
    counted: bool
    section: bool
    modified: bool
    dated: bool
    title: bool
    naming: bool
    serial: bool


@lru_cache(maxsize=4096)
def name_of(text: str) -> Name:
    """Parse a name."""
    plain = normal(_shortened(text), "NFKC")
    listed = [word.casefold() for word in _WORD.findall(plain)]
    words = set(listed)
    joined = re.sub(r"[_\-\s]", "", plain.casefold())
    parts = joined.split(".")
    last = parts[-1]
    key = blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return Name(
        text=text,
        key=int.from_bytes(key, "little"),
        is_ignored=not _SILENT.isdisjoint(parts)
        or ("metadata" in parts and last in _SILENT_METADATA),
        address=not _ADDRESSES.isdisjoint(listed[-1:]),
        language=last.removeprefix("page:") in _LANGUAGES,
        price=not _PRICES.isdisjoint(words)
        or any(word.endswith(_PRICE_ENDS) for word in words)
        or _PRICE_CJK.search(plain) is not None,
        no_amount=not _NO_AMOUNTS.isdisjoint(words),
        fetched=last == "datedownloaded" or not _FETCHES.isdisjoint(words),
        published=last in _PUBLISHED,
        canonical=joined in _CANONICAL,
        state=not _STATES.isdisjoint(parts) or _COUNT.fullmatch(last) is not None,
        counted=last in _COUNTED,
        section=last in _SECTIONS,
        modified=_MODIFIED.search(last) is not None,
        dated=last in _PUBLISHED or not _DATES.isdisjoint(words),
        title=joined.removeprefix("page:") in _TITLES,
        naming=not _NAMES.isdisjoint(words) or any(word.endswith(_NAME_ENDS) for word in words),
        serial=not _SERIES.isdisjoint(words) or any(word.endswith(_SERIAL_ENDS) for word in words),
    )


def _shortened(text: str) -> str:
    """Hash the beginning of a long path: every field that is nested deep repeats it."""
    if len(text) <= _LENGTH:
        return text
    before = text[:-_LENGTH].encode("utf-8", "surrogatepass")
    return f"{blake2b(before, digest_size=8).hexdigest()}~{text[-_LENGTH:]}"


def is_inside(name: str, outer: Collection[str]) -> bool:
    """Whether a field, or one that it is nested in, is among these names."""
    if not outer:
        return False
    if name in outer:
        return True
    end = name.find(".")
    while end >= 0:
        if name[:end] in outer:
            return True
        end = name.find(".", end + 1)
    return False

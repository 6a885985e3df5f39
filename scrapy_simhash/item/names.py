"""What the name of a field tells about its value.

It knows the names of schema.org and zyte-common-items, and common names of prices, languages, URLs
and fetch times. Other names have no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Literal

from scrapy_simhash.features.tokens import listed, normal
from scrapy_simhash.item.state_values import IsValue, is_stock, state_of, words_of

#: What a name may tell. Its value is ...
Mark = Literal[
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
_TITLES = listed(
    "headline headlines heading name title titel titre titulo título titolo заголовок タイトル "
    "제목 名称 标题 標題"
)

# Marks by any word of a name.
_WORDS: dict[Mark, set[str]] = {
    "price": listed(
        "amount amounts betrag cena charge cost costs fare fee fees fiyat kosten precio precios "
        "preco preço preise prezzo prices pris prix rent salary tarif wage цена стоимость"
    ),
    # Takes precedence over the prices above.
    "no_amount": listed(
        "author authors code count currency date description gtin headline id ids index isbn lat "
        "latitude lng lon longitude mpn name percent phone position probability rank rating "
        "ratings score sku stars summary tel telephone time title type until valid version zip "
        "名称 标题 標題 評分 评分 時間 时间"
    ),
    "fetched": listed(
        "accessed crawl crawled crawling download downloaded extracted extraction fetch fetched "
        "harvested indexed ingested retrieval retrieved scrape scraped scraper scraping spider "
        "abgerufen abruf abrufdatum gecrawlt extraccion extraido estrazione extracao coleta "
        "парсинг парсинга сбора извлечения opgehaald pobrano pobrania 取得日 取得日時 収集日 "
        "収集日時 クロール日時 수집일 수집일시 수집시간 크롤링시간 크롤링일시"
    )
    | {
        how + when
        for how in listed("抓取 爬取 爬虫 采集 採集 获取 獲取 入库 入庫 提取 拉取")
        for when in ("时间", "時間", "日期")
    },
    "dated": {"date", "datum", "day", "fecha", "time", "when", "日期", "时间"},
    "serial": listed(
        "begin begins chapter days deadline due edition end ends episode expires hours issue month "
        "period quarter round schedule season start starts until valid version volume week year "
        "時間"
    ),
    "code": _TITLES
    | listed(
        "asin barcode code codes doi ean gtin gtins isbn issn model mpn names plu reference serial "
        "sku skus upc vin 编号"
    ),
}
# Marks by the end of a word, also of a compound: saleprice, Endpreis.
_ENDS: dict[Mark, tuple[str, ...]] = {
    "price": ("price", "preis", "prijs"),
    "serial": ("date", "dates", "datum", "time", "weekday"),
    "code": ("name", "number", "nummer", "title"),
}
# Marks by the last part of a path, written as one word.
_PUBLISHED = listed(
    "datecreated dateposted datepublished datepublishedraw enddate posted postedat pubdate "
    "published publishedat publishdate startdate uploaddate validfrom validthrough 发布时间 "
    "发布日期"
)
_LAST: dict[Mark, set[str]] = {
    "language": {"hreflang", "inlanguage", "lang", "language", "languagecode", "locale", "语言"},
    "published": _PUBLISHED,
    "dated": _PUBLISHED,
    "download": listed(
        "cookiejar downloadlatency downloadslot downloadtimeout maxretrytimes redirecttimes "
        "redirecturls retrytimes"
    ),
    "fetched": listed("accessdate checkedat datedownloaded discoveredat lastchecked lastcheckedat"),
    "section": listed(
        "categories category channel collection ressort rubric rubrik section subcategory tag tags "
        "分类 栏目 标签 频道 author authorname authors byline caption credit description editor "
        "excerpt keywords lead publisher source standfirst summary teaser 作者 来源 编辑 责任编辑"
    ),
}
# The mark "silent" by any part of a path.
_SILENT = listed(
    "audios breadcrumb breadcrumbs canonicalurl charset contentencoding datedownloaded encoding "
    "image images logo mainimage thumbnail thumbnailurl url videos"
)
_SILENT_METADATA = {"probability", "validationmessages"}
# The minimum length of an id that is part of the item's URL, by the last word of a field's name. A
# shorter number may be that of a chapter or of a house.
_IDS = {
    **dict.fromkeys(("guid", "id", "slug", "uid", "uuid"), 1),
    **dict.fromkeys(("number", "no", "nr", "num", "nummer", "numero", "número", "номер"), 5),
}
_RATINGS = {"rating", "ratings", "ratingvalue", "stars", "评分"}
_URLS = {"href", "hrefs", "link", "links", "permalink", "src", "uri", "url", "urls"}


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
    marks: set[Mark] = {mark for mark, known in _LAST.items() if last in known}
    marks |= {mark for mark, known in _WORDS.items() if not known.isdisjoint(words)}
    marks |= {mark for mark, ends in _ENDS.items() if any(word.endswith(ends) for word in words)}
    tests: dict[Mark, bool] = {
        "url": not _URLS.isdisjoint(words[-1:]),
        "rating": last in _RATINGS and "aggregaterating" not in parts,
        "canonical": joined in {"canonical", "canonicalurl"},
        "stock": is_stock(plain),
        "price": _PRICE_CJK.search(plain) is not None,
        "silent": not _SILENT.isdisjoint(parts)
        or ("metadata" in parts and last in _SILENT_METADATA),
        "title": joined.removeprefix("page:") in _TITLES,
    }
    digest = blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return Name(
        text=text,
        # The highest bit tells the facts of a page, also where only the hash is known.
        key=int.from_bytes(digest, "little") >> 1 | joined.startswith("page:") << 31,
        marks=frozenset(marks | {mark for mark, holds in tests.items() if holds}),
        state=state_of(plain),
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
    if not fields:
        return False
    parts = name.split(".")
    return any(".".join(parts[:count]) in fields for count in range(len(parts), 0, -1))


#: The hashes of the names of titles.
TITLES = frozenset(name_of(prefix + name).key for name in _TITLES for prefix in ("", "page:"))

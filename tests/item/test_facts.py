from __future__ import annotations

import datetime as dt
import string
from base64 import b64encode
from decimal import Decimal
from email.utils import format_datetime
from hashlib import md5, sha1, sha256
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scrapy_simhash.item.content import read_item
from scrapy_simhash.item.evidence import Evidence, Relation
from scrapy_simhash.item.facts import (
    MAX_FIELDS,
    Facts,
    changed_facts,
    conflict,
    relations_of,
)
from scrapy_simhash.item.folding import Folded
from scrapy_simhash.item.values import is_missing

SAME_SITE, OTHER_SITE = frozenset({Relation.SAME_SITE}), frozenset({Relation.OTHER_SITE})
START = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
NOW = START.timestamp() + 3600


def facts(item: dict[str, Any]) -> Facts:
    return read_item(
        item, page_url="https://shop.example/p/1", since=START.timestamp(), now=NOW
    ).facts


def names(item: dict[str, Any]) -> list[str]:
    """The names of the fields that are facts; those of years and times are left out."""
    found = facts(item)
    times = {key for key, kind, _ in found.records if kind == Evidence.TIME}
    return sorted(name for key, name in found.names.items() if key not in times)


def on_one_site(new: dict[str, Any], stored: dict[str, Any]) -> str | None:
    both = facts(new), facts(stored)
    return conflict(*both, frozenset(relations_of(*both, same_site=True)))


def across_sites(new: dict[str, Any], stored: dict[str, Any]) -> str | None:
    both = facts(new), facts(stored)
    return conflict(*both, frozenset(relations_of(*both, same_site=False)))


short = st.text(string.ascii_lowercase, min_size=1, max_size=12).filter(
    lambda text: not is_missing(text)
)
short_items = st.dictionaries(short.map("field {}".format), short, max_size=40)


def test_the_bytes_of_facts_stay_what_they_are() -> None:
    page_facts = facts({"title": "Ferry", "price": "€19.99", "pages": 3})
    assert page_facts.packed().hex() == (
        "caf2d6490031d5cc73ec3974"  # pages
        "c1ca0a770aa31e95cc98be87"  # title
        "c3b64d7b124a04965f2ea1d3"  # price, in euros
    )
    many = facts({f"field {i:03}": i for i in range(MAX_FIELDS + 1)})
    (others,) = (key for key, name in many.names.items() if name == "(others)")
    assert [record for record in many.records if record[0] == others] == [
        (others, 0, 0xFFF18C2B41E8F7)
    ]


@given(short_items, short)
def test_an_added_field_is_a_conflict_one_way_and_on_one_site_only(
    item: dict[str, Any], value: str
) -> None:
    more = {**item, "added": value}
    assert on_one_site(more, item) == "added"
    assert on_one_site(item, more) is None
    assert across_sites(more, item) is None


@given(short_items, short, short)
def test_another_value_is_a_conflict_on_one_site_only(
    item: dict[str, Any], value: str, other: str
) -> None:
    assume(value != other)
    assert on_one_site({**item, "name": value}, {**item, "name": other}) == "name"
    assert across_sites({**item, "name": value}, {**item, "name": other}) is None


def test_the_first_of_several_names_is_given() -> None:
    new, stored = facts({"b": 1, "a": 2}), facts({"b": 2, "a": 1})
    assert conflict(new, stored, SAME_SITE) == "a"
    # Names are not stored.
    unnamed = conflict(Facts.unpack(new.packed()), stored, SAME_SITE)
    assert unnamed is not None
    assert unnamed.startswith("#")
    assert conflict(Facts.unpack(new.packed()), Facts(), SAME_SITE) is not None


@pytest.mark.parametrize("stored", [{}, {"x": None, "year": 2026}])
def test_an_item_without_an_amount_stands_for_no_price(stored: dict[str, Any]) -> None:
    assert across_sites({"x": "€20"}, stored) == on_one_site({"x": "€20"}, stored) == "x"
    assert across_sites(stored, {"x": "€20"}) is None
    assert across_sites({"x": "on request"}, {"x": "€20"}) == "x"
    assert across_sites({"x": "€20"}, {"x": "on request"}) == "x"


def test_across_sites_a_price_may_have_another_name() -> None:
    assert across_sites({"x": "€20"}, {"y": "€20"}) is None
    # A whole number is compared with the amount of the same field.
    assert across_sites({"total": "20.00"}, {"total": 20}) is None
    assert across_sites({"total": "19.99"}, {"total": 20}) == "total"


@pytest.mark.parametrize("relations", [SAME_SITE, OTHER_SITE])
def test_the_price_of_a_page_is_compared_with_that_of_other_pages(
    relations: frozenset[Relation],
) -> None:
    one, other = (
        Facts.of({"page:price": Folded(Evidence.AMOUNT, f"n:{price}")}) for price in (20, 30)
    )
    assert conflict(one, other, relations) == "page:price"
    # Print views have fewer facts, and portals show the price elsewhere.
    assert conflict(one, Facts(), relations) is None
    # What stands alone on a page may be its shipping.
    new = Facts.of({"price": Folded(Evidence.AMOUNT, "n:20")})
    assert conflict(new, one, relations) == "price"


AMOUNTS = [
    ["€19.99", "19,99 EUR", "19.99 €", "EUR 19.99", "€ 19,99", "19,99 Euro", "19.99", 19.99],
    ["$1,299.00", "US$ 1299", "1,299 USD", "1 299,00 $", "1.299,00 USD", 1299, "1299.0"],
    [
        "¥1,299.00",
        "￥1299",
        "1299元",
        "1,299 元",
        "CNY 1299",
        "人民币1299",
        "１２９９元",
        "1299 RMB",
    ],
    ["1.234 €", "1234 EUR", "€1,234", "1'234.00 €", "1\u202f234,00\u00a0€"],
    ["0,125 €", "€0.125"],
    ["£250k", "GBP 250,000", "£0.25m"],
    ["2.5万元", "25,000元", "人民币25000"],
    ["£195,000", "Guide price £195k", "Offers over £195,000.00", "Price: GBP 195000"],
    ["1.200 €", "ab 1.200 €", "Preis: 1 200 EUR", "à partir de 1 200 €"],
    ["1,200元", "售价：1200元", "仅 ¥1200"],
    ["C$5", "CAD 5.00", "$5 CAD"],
    ["R$ 19,90", "19.90 BRL"],
    ["£30,000 - £40,000", "30,000-40,000 GBP", "£30000 – £40000"],
]


@pytest.mark.parametrize("same", AMOUNTS)
def test_an_amount_is_the_same_in_every_notation(same: list[Any]) -> None:
    for one in same:
        for other in same:
            assert on_one_site({"price": one}, {"price": other}) is None
            assert across_sites({"price": one}, {"price": other}) is None
            assert across_sites({"x": one}, {"x": other}) is None


@given(st.decimals(min_value=0, max_value=99_999, places=2), st.sampled_from(["price", "x"]))
def test_decimal_comma_and_decimal_point_are_one(value: Decimal, name: str) -> None:
    english, german = f"€{value:,}", f"{value} EUR".replace(".", ",")
    assert on_one_site({name: english}, {name: german}) is None
    assert across_sites({name: english}, {name: str(value)}) is None
    assert across_sites({name: english}, {name: f"€{value + 1:,}"}) == name


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("x", "€19.99", "€18.99"),
        ("x", "€20", "$20"),
        ("x", "19.99", "18.99"),
        ("x", 19.99, 20),
        ("x", ["€1", "€2"], ["€1", "€3"]),
        ("price", 20, 21),
        ("salePrice", "20", "21"),
        ("verkaufspreis", 20, 21),
        ("preçoTotal", 20, 21),
        ("total_cost", 20, 21),
        ("prix", "20", "21"),
        ("价格", "20", "21"),
        ("售价", 20, 21),
        ("price", "20 per month", "20 per year"),
        ("price", "€20 excl. VAT", "€20 incl. VAT"),
        ("x", "€20k", "€20"),
    ],
)
def test_another_amount_is_another_offer_on_any_site(name: str, one: Any, other: Any) -> None:
    assert across_sites({name: one}, {name: other}) == name
    assert across_sites({name: other}, {name: one}) == name


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("x", "2.5 min", "3.5 min"),
        ("x", "1.2k", "1.3k"),
        ("x", "4.5/5", "4.0/5"),
        ("x", "2024-05-03", "2024-06-03"),
        ("x", "1.2.34", "1.2.35"),
        ("x", 20, 21),
        ("rating", 4.67, 4.53),
        ("version", "1.25", "1.26"),
        ("评价", "4.67 分", "4.53 分"),
        ("currency", "EUR", "USD"),
        ("priceValidUntil", "2024-05-03", "2024-06-03"),
        ("price_id", 20, 21),
        ("discount", 20, 21),
        ("title", "Bank fined $20", "$30 fine for bank"),
        ("headline", "$20", "$30"),
        ("x", "Euro 2024", "Euro 2028"),
        ("x", "Try 3", "Try 4"),
        ("x", "She gave $5 to each of them", "She gave $6 to each of them"),
    ],
)
def test_other_values_are_no_amounts(name: str, one: Any, other: Any) -> None:
    assert across_sites({name: one}, {name: other}) is None
    assert on_one_site({name: one}, {name: other}) == name


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("title", "  The FERRY\nsinks ", "the ferry sinks"),
        ("title", "Ｆｅｒｒｙ\u00a0sinks", "Ferry sinks"),
        ("title", "fer\u00adry", "ferry"),
        ("title", "Straße", "STRASSE"),
        ("title", "“It’s here” – a ferry", '"It\'s here" - a ferry'),
        ("pages", 3, "3"),
        ("pages", 3.0, "3"),
        ("pages", "1,299", 1299),
        ("pages", Decimal("3.50"), "3.5"),
        ("tags", ["a", "B"], ["b", "A", "a"]),
        ("tags", ["a"], "a"),
        ("tags", ("a", None, ""), {"a"}),
        ("date", "2023-05-01", "1 May 2023"),
        ("date", "2023-05-01T12:30:00Z", "1. Mai 2023"),
        ("date", "Wed, May 1st, 2023, 12:30 PM", "2023-05-01T12:30:00.0Z"),
        ("date", "1er mai 2023 à 12h30", "Published 1 May 2023 12:30"),
        ("date", "2023年5月1日 下午2:30", "1 de mayo de 2023 14:30"),
        ("date", dt.datetime(2023, 5, 1, 12, 30, tzinfo=dt.UTC), "1.5.2023 12:30 GMT"),
        ("date", "5/13/2023", "13.05.2023"),
        ("date", "03-04-2023, 04:30 PM", "03/04/2023 16:30"),
        ("dates", ["1 May 2023", "2023-05-02"], ["2. května 2023", "2023. május 1."]),
        ("dates", ["2 maja 2023", "2 Mayıs 2023"], ["2 травня 2023", "2 mai 2023", "2 май 2023"]),
        ("in_stock", True, "True"),
        ("day", dt.date(2024, 7, 1), "2024-07-01"),
        ("offers", [{"a": 1, "b": 2}], [{"b": "2", "a": "1"}]),
        ("offers", [1, 1, 2], [2, 1, 2]),
        ("title", "The <em>Ferry</em> sinks", "The Ferry sinks"),
        ("authors", "Lind, Ada,  Marsh", "lind ada Marsh."),
        ("tag", ["山羊、渡船"], "山羊 渡船。"),
        ("views", "790 views · listed 9 days ago", "803 views · listed 2 days ago"),
        ("date", "01月03日 10:10", "2020年01月03日 10:10"),
        ("date", "01-03 10:10", "2020-01-03 10:10"),
        ("date", "3 Jan 10:10", "Jan 3, 2020"),
        ("date", "3. Januar", "1月3日"),
        ("date", "13/01 10:10", "13.01. 10:10"),
        ("version", "2", 2),
        ("chapter", "2.5", 2.5),
    ],
)
def test_values_that_say_the_same_are_one(name: str, one: Any, other: Any) -> None:
    assert names({name: one}) == [name]
    assert on_one_site({name: one}, {name: other}) is None


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("zip", "01234", "1234"),
        ("title", "Ferry \ud83d", "Ferry"),
        ("language", "German", "English"),
        ("date", "2023-05-01", "2 May 2023"),
        ("date", "2023-05-01 12:30", "2023-05-01T14:45"),
        ("date", "1 May 2023 2:30 am", "1 May 2023 2:30 pm"),
        ("date", "2023-05-01T12:30:15", "2023-05-01T12:30:45"),
        ("date", "2023-05-01T12:30+0100", "2023-05-01T12:30Z"),
        ("date", "03/04/2023", "04/03/2023"),
        ("date", "until 1 May 2023", "from 1 May 2023"),
        ("dates", ["1 May 2023 18:00", "2 May 2023"], ["1 May 2023 20:00", "2 May 2023"]),
        ("shows", [{"at": "1 May 2023 18:00"}], [{"at": "1 May 2023 20:00"}]),
        ("time", "18:00", "20:00"),
        ("number", "2024-05", "2024-06"),
        ("posted", "2 years ago", "4 years ago"),
        ("title", "3 hours ago", "2 hours ago"),
        ("song", "Yesterday", "Today"),
        ("updated_price", "€5", "€6"),
        ("rating", 4, 5),
        ("tags", ["a", "b"], ["a", "b", "c"]),
        ("pages", 0, 1),
        ("offers", [{"a": 1}, {"a": 2, "b": 3}], [{"a": 1, "b": 3}, {"a": 2}]),
        ("temperature", "-5", "5"),
        ("temperature", "-5.25", "5.25"),
        ("temperature", -5.25, "5.25"),
        ("balance", "-€5", "€5"),
        ("price", "−5.00", "5"),
        ("title", "From List<Text> to Set<Text>", "From List<Code> to Set<Code>"),
        ("e_mail", "ann@a.example", "bob@a.example"),
        ("title", "Volume 1,5", "Volume 15"),
        ("title", "To be continued...", "To be continued"),
        ("date", "3 Jan 10:10", "4 Jan 2020"),
        ("date", "2019-01-03", "2020-01-03"),
        ("date", "1/3 10:10", "3/1 10:10"),
        ("score", "1/3", "2020/01/03"),
        ("version", "1.1", "1.10"),
        ("version", Decimal("1.1"), "1.10"),
        ("chapter", "1.1", "1.10"),
        ("tag", "Montag", "Dienstag"),
        ("a", b"%PDF-1.7 one", b"%PDF-1.7 two"),
        ("a", "ab12" * 32, "ab13" * 32),
        ("a", "0x" + "ab12" * 32, "0x" + "ab13" * 32),
        ("a", "data:application/pdf;base64," + "A" * 60, "data:application/pdf;base64," + "B" * 60),
        ("a", "\n".join(["QUJD" * 19] * 3 + ["QUI="]), "\n".join(["QUJD" * 19] * 3 + ["QUM="])),
        ("a", "x," * 40_000 + "y", "x," * 40_000 + "z"),
    ],
)
def test_values_that_differ_are_two(name: str, one: Any, other: Any) -> None:
    assert on_one_site({name: one}, {name: other}) == name


MOMENT = START + dt.timedelta(minutes=10)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("a", "https://shop.example/p/1"),
        ("a", " HTTP://other.example/x?y=1#z "),
        ("a", "//cdn.example/x.js"),
        ("image_url", "/images/1.jpg"),
        ("link", "../2.html"),
        ("a", ["https://a.example/", "https://b.example/"]),
        ("a", None),
        ("a", ""),
        ("a", " \n" * 40),
        ("a", []),
        ("a", {}),
        ("a", [None, "", {"b": ""}]),
        ("a", float("nan")),
        ("a", b"\xff\xd8\xff\xe0 a photo"),
        ("a", b" <html><p>A page</p></html>"),
        ("a", "data:image/png;base64,iVBORw0KGgo" + "A" * 40),
        ("screenshot", b64encode(b"\x89PNG" + bytes(60)).decode()),
        ("body", b64encode(b"<!doctype html><p>" + bytes(60)).decode()),
        ("charset", "utf-8"),
        ("encoding", "cp1252"),
        ("canonicalUrl", "https://shop.example/p/1"),
        ("images", [{"url": "https://a.example/1.jpg", "alt": "a kettle"}]),
        ("mainImage", {"url": "https://a.example/1.jpg", "width": 3}),
        ("breadcrumbs", [{"name": "Kitchen", "url": "https://a.example/k"}]),
        ("metadata", {"dateDownloaded": "2020-01-01T00:00:00Z", "probability": 0.98}),
        ("a", MOMENT),
        ("a", MOMENT.replace(tzinfo=None)),
        ("a", MOMENT.isoformat()),
        ("a", MOMENT.isoformat().replace("+00:00", "Z")),
        ("a", f"{MOMENT:%Y-%m-%d %H:%M:%S}"),
        ("a", f"{MOMENT:%Y-%m-%d %H:%M:%S} UTC"),
        ("a", f"{MOMENT:%Y/%m/%d %H:%M}"),
        ("a", f"{MOMENT.astimezone(dt.timezone(dt.timedelta(hours=8))):%Y-%m-%dT%H:%M:%S%z}"),
        ("a", format_datetime(MOMENT, usegmt=True)),
        ("a", MOMENT.timestamp()),
        ("a", int(MOMENT.timestamp())),
        ("a", str(int(MOMENT.timestamp() * 1000))),
        ("a", int(MOMENT.timestamp()) * 10**9),
        ("a", int(START.timestamp()) - 59),
        ("a", f"{dt.datetime.fromtimestamp(NOW, dt.UTC):%d.%m.%Y %H:%M}"),
        ("a", f"{dt.datetime.fromtimestamp(NOW, dt.UTC):%m/%d/%Y %I:%M %p}"),
        ("a", f"{dt.datetime.fromtimestamp(NOW, dt.UTC):%c}"),
        ("a", f"{dt.datetime.fromtimestamp(NOW, dt.UTC):%Y年%m月%d日 %H:%M}"),
        ("crawl_time", "20:31"),
        ("crawled", "3/4/2024 8:31 pm"),
        ("posted", "3 hours ago"),
        *(("salary", missing) for missing in ("nan", "NA", "N/A", "None", "null", "-")),
        ("a", "Aktualisiert vor einer Stunde"),
        ("a", "4 days 3 hours left"),
        ("a", "1 hour 20 minutes ago"),
        ("date", "yesterday"),
        ("posted", "Today, 10:15"),
        ("age", "Today"),
        ("posted", "last week"),
        ("a", "Posted today"),
        ("a", "Yesterday at 14:20"),
        ("a", "Just posted"),
        ("a", "30+ days ago"),
        ("age", "前天"),
        ("a", "一小时前"),
        ("age", "вчера"),
        ("Veröffentlicht", "gestern"),
        ("dataPubliée", "hier"),
        ("投稿日", "昨日"),
        ("language", "en"),
        ("inLanguage", ["zh_CN"]),
        ("a", [{"b": MOMENT}]),
        ("crawled_at", "2020-01-01 10:00"),
        ("scrape_date", "2024-05-01"),
        ("抓取时间", "2020-01-01 10:00"),
        ("extracted_at", "2020-01-01T10:00:00Z"),
        ("discovered_at", "2020-01-01T10:00:00Z"),
        ("lastChecked", "2020-01-01"),
        ("accessed", "1 May 2020"),
        ("spider_time", 1_577_872_800),
        ("body_html", "<p>" + "So <b>much</b> of it. " * 30 + "</p>"),
    ],
)
def test_what_is_no_fact(name: str, value: Any) -> None:
    assert names({name: value}) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("a", "kettle"),
        ("a", 0),
        ("a", False),
        ("a", "see https://a.example/ for more"),
        ("a", "https://a.example/x.html is a copy of https://b.example/x.html"),
        ("a", "https://a.example/ is down"),
        ("link", "Read more"),
        ("a", "sha256 " + "ab" * 32),
        ("created_at", "2020-01-01T10:00:00Z"),
        ("discovered", "1801-01-01"),
        ("indexed", "yes"),
        ("slug", "how-to-boil-a-litre-of-water-in-three-minutes-and-keep-it-warm-for-half-an-hour"),
        ("a", "Use of <b> in HTML"),
        ("a", "2024-05-01"),
        ("a", f"{MOMENT:%d.%m.%Y %H:%M}"),
        ("published", f"{dt.datetime.fromtimestamp(NOW, dt.UTC):%d.%m.%Y %H:%M}"),
        ("a", "20:31"),
        ("a", "yesterday"),
        ("age", "3 months"),
        ("a", dt.date(2024, 5, 1)),
        ("a", int(START.timestamp()) - 61),
        ("a", int(NOW) + 61),
        ("a", START - dt.timedelta(days=1)),
        ("datePublished", MOMENT),
        ("published_at", MOMENT.isoformat()),
        ("download_count", 312),
        ("link_count", 3),
        ("metadata.sku", "X-1"),
        ("pictures", 3),
        ("camera_da_letto", 2),
        ("answers", ["3", "4"]),
        ("播放时长", "03:20"),
    ],
)
def test_what_is_a_fact(name: str, value: Any) -> None:
    assert names({name: value}) == [name]


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("dateModified", "2023-05-01", "2023-05-02"),
        ("commentCount", 3, 4),
        ("user_interaction_count", "1,204", "1,310"),
        ("viewsCount", 3, "1.2k"),
        ("aggregateRating", {"ratingValue": 4.6, "reviewCount": 3}, {"ratingValue": 4.1}),
        ("조회수", "1,234", "1,301"),
        ("最終更新日", "2026-03-05", "2026-03-09"),
        ("обновлено", "5 марта 2026", "9 марта 2026"),
        ("a", {"aggregateRating": {"ratingValue": 4}}, {"aggregateRating": {"ratingValue": 5}}),
        ("interactionStatistic", [{"type": "Like", "count": 3}], [{"type": "Like", "count": 4}]),
        ("last_updated", "Updated 1 May 2023 12:30", "2 May 2023"),
        ("modified_at", "2023-05-01T12:30:15Z", "2023-05-02T12:31:20Z"),
        ("更新时间", "2023年5月1日 12:30", "2023年5月2日"),
        ("updated", "This page was last edited on 3 May 2023.", "Last edited on 5 May 2023"),
        ("comments", "Comments (3)", "4"),
        ("stock", "Low stock: 5 left", "Out of stock"),
        ("availability", "https://schema.org/InStock", "https://schema.org/OutOfStock"),
        ("row_number", 1, 2),
        ("序号", "1", "2"),
        ("ranking", "#3", 17),
        ("total_views", "1,204", 9),
        ("modificationDate", "May 3", "May 5"),
        ("浏览次数", "浏览次数：1,204", "1.2万"),
    ],
)
def test_a_state_keeps_no_items_apart_and_only_stock_makes_a_version(
    name: str, one: Any, other: Any
) -> None:
    new, stored = facts({name: one}), facts({name: other})
    assert conflict(new, stored, SAME_SITE) is None
    assert conflict(new, Facts(), SAME_SITE) is None
    assert bool(changed_facts(new, stored)) is (name in {"stock", "availability"})


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("stock", "AAPL", "MSFT"),
        ("rating", "4.5 kW", "7.5 kW"),
        ("stock_code", "600519", "600520"),
        ("rating", "500 W", "900 W"),
        ("postcode", "12345", "12346"),
        ("read_speed", "550 MB/s", "3500 MB/s"),
        ("department", "Cardiology", "Oncology"),
    ],
)
def test_what_only_has_a_word_of_a_state_tells_things_apart(name: str, one: str, other: str):
    new, stored = facts({name: one}), facts({name: other})
    assert conflict(new, stored, SAME_SITE) == name


@pytest.mark.parametrize(
    ("rating", "other"),
    [(5, 3), ("4.6 out of 5 stars (123)", 4.5), ({"value": 4, "of": 5}, {"value": 5, "of": 5})],
)
def test_a_rating_is_a_state_beside_a_url_and_else_that_of_a_review(rating: Any, other: Any):
    one, two = ({"text": "x", "rating": value} for value in (rating, other))
    found = conflict(facts(one), facts(two), SAME_SITE)
    assert found in ("rating", "rating.value")
    for url in ("https://shop.example/p/1", "https://shop.example/p/2"):
        new, stored = (facts({**item, "url": url}) for item in (one, two))
        assert conflict(new, stored, SAME_SITE) is None
    averages = (facts({"aggregateRating": {"ratingValue": value}}) for value in (rating, other))
    assert conflict(*averages, SAME_SITE) is None


@pytest.mark.parametrize(
    ("name", "value", "url"),
    [
        ("id", "2005-14", "https://jobs.example/details/2005-14/reader"),
        ("job_id", 17, "https://jobs.example/job?id=17&x=1"),
        ("slug", "gauge-reader", "/p/Gauge-Reader"),
        ("id", "17", "https://shop.example/p/17"),
        ("number", "7493758", "https://homes.example/flats/7493758"),
        ("listing_no", 49381, "https://homes.example/flats/49381.html"),
        ("ref", "49381", "https://homes.example/flats/49381.html"),
    ],
)
def test_an_id_that_stands_in_the_url_says_no_more_than_that(name: str, value: Any, url: str):
    page = "https://shop.example/p/17"
    one = read_item({name: value, "url": url}, page_url=page, since=0, now=1)
    assert not one.facts.records
    other = read_item({name: f"{value}5", "url": url}, page_url=page, since=0, now=1)
    assert other.facts.records
    # Who names the key tells by it.
    keyed = read_item({name: value, "url": url}, page_url=page, since=0, now=1, key=[name])
    assert keyed.facts.records


@pytest.mark.parametrize("name", ["url_id", "_id", "hash"])
@pytest.mark.parametrize("make", [md5, sha1, sha256])
def test_a_hash_of_the_url_tells_no_more_than_the_url(name: str, make: Any):
    pages = ["https://shop.example/p/17", "https://shop.example/p/18"]
    own = "https://shop.example/p/19"
    for fields, url in (({}, pages[0]), ({"url": pages[0]}, pages[0]), ({"url": own}, own)):
        value = make(url.encode()).hexdigest()
        read = read_item({name: value, **fields}, page_url=pages[0], since=0, now=1)
        assert not read.facts.records
        other = read_item({name: value, **fields, "url": own}, page_url=pages[1], since=0, now=1)
        assert bool(other.facts.records) == (url != own)


@pytest.mark.parametrize(
    ("name", "value"), [("sku", "p-2"), ("id", 1), ("id", "shop"), ("id", ["2"]), ("edition", "2")]
)
def test_other_parts_of_a_url_are_facts(name: str, value: Any):
    assert facts({name: value, "url": "https://shop.example/p-2/31"}).records


def test_under_one_title_a_section_and_an_author_tell_nothing() -> None:
    new = {"title": "Ferry", "category": "World", "author": "Ann"}
    assert on_one_site(new, {"title": "Ferry", "category": "News"}) is None
    one, other = ({"headlines": "Ferry", "tag": tag} for tag in ("Sport", "Trending"))
    assert on_one_site(one, other) is None
    assert on_one_site(one, {**other, "headlines": "Goat"}) == "headlines"
    assert on_one_site(new, {"title": "Ferry", "author": "Bob"}) is None
    for stored in ({"category": "News"}, {"category": "News", "title": "Goat"}, {}):
        assert on_one_site(new, stored) == "author"
    # It may be all that tells which thing it is.
    assert on_one_site({"category": "Shoes"}, {"category": "Hats"}) == "category"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Volume 3", "Volume 4"),
        ("Volume 3: goats", "Volume 4: ferries"),
        ("Season 1 episode 5", "Season 1 episode 6"),
        ("iPhone 13 case", "iPhone14 case"),
        ("Release 3.35.1 On 2021-03-15 - Mirror", "Release 3.35.3 On 2021-03-26 | Docs"),
        ("第3章 山羊", "第4章 山羊"),
    ],
)
def test_titles_of_equal_words_with_other_numbers_differ_on_other_sites_too(
    one: str, other: str
) -> None:
    assert across_sites({"title": one}, {"title": other}) == "title"
    assert across_sites({"title": one}, {"headline": other, "page:title": "Goats"}) == "title"
    both = {"page:heading": "Goats", "page:title": one}
    assert across_sites(both, {"page:heading": "Goats", "page:title": other}) == "page:title"
    stored = Facts.unpack(facts({"title": other}).packed())
    assert conflict(facts({"title": one}), stored, OTHER_SITE) == "title"
    # On one site the titles differ anyway, and between versions no other field does.
    assert on_one_site({"title": one}, {"title": other}) == "title"
    assert len(changed_facts(facts({"title": one}), facts({"title": other}))) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Volume 3", "Volume 3 - Island Post"),
        ("Volume 3", "The third volume"),
        ("Goats in 2023", "Ferries in 2024"),
        ("News of 05/01/2024", "News of 2024-01-05"),
        ("K-170 kettle", "Kettle K170"),
        ("7", "8"),
        (["Volume 3", "Volume 5"], ["Volume 4", "Volume 5"]),
    ],
)
def test_other_titles_are_allowed_on_other_sites(one: Any, other: Any) -> None:
    assert across_sites({"title": one}, {"title": other}) is None
    assert across_sites({"caption": "Volume 3"}, {"caption": "Volume 4"}) is None


def test_the_numbers_of_a_title_are_no_field_and_few() -> None:
    numbered = facts({"title": "Volume 3"})
    (record,) = (one for one in numbered.records if one[1] == Evidence.NUMBERED)
    assert numbered.names[record[0]] == "title"
    assert not changed_facts(numbered, Facts(tuple({*numbered.records} - {record})))
    parts = "|".join(f"{chr(97 + n % 26)}{n}" for n in range(9999))
    assert len(facts({"title": parts}).records) < 2 * MAX_FIELDS


def test_another_view_of_a_page_may_have_more_of_all_but_amounts() -> None:
    item = {"title": "Kessel", "date": "2024-05-01", "colour": "rot", "sku": "K1", "price": "€5"}
    new, stored = facts(item), facts({"title": "Kettle", "colour": "red"})

    shown = SAME_SITE | {Relation.VIEW}
    translated = shown | {Relation.TRANSLATED}

    def kept_by(relations: frozenset[Relation], **given: Any) -> str | None:
        left = {name: value for name, value in item.items() if name not in given}
        return conflict(facts({**left, **given}), stored, relations)

    alike = {"title": "Kettle", "colour": "red", "sku": None, "price": None}
    assert kept_by(shown, **alike) is None
    assert kept_by(SAME_SITE, **alike) == "date"
    assert kept_by(shown, **{**alike, "price": "€5"}) == "price"
    assert kept_by(shown, **{**alike, "sku": "K1"}) is None
    assert kept_by(shown, sku=None, price=None) == "colour"
    noon, one = facts({"date": "2023-05-01T12:00Z"}), facts({"date": "2023-05-01 13:00 CET"})
    assert conflict(noon, one, SAME_SITE) == "date"
    assert conflict(noon, one, shown) is None
    assert kept_by(translated, sku=None, price=None) is None
    assert conflict(new, stored, translated) == "price"


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("file_urls", ["https://a.example/2024/a.pdf?token=1"], ["/2024/b.pdf?token=1"]),
        ("file_urls", ["/a.pdf", "/b.zip"], ["/a.pdf", "/c.zip"]),
        ("link", "/files/My Report.pdf", "/files/My Answer.pdf"),
        ("episode", "https://cdn.example/17.MP3#t=1", "https://cdn.example/18.mp3"),
        ("files", [{"href": "/a.docx", "size": 1}], [{"href": "/b.docx", "size": 1}]),
        ("file_urls", ["/download.php?id=1"], ["/download.php?id=2"]),
        ("download_link", "https://a.example/get/1", "https://a.example/get/2"),
    ],
)
def test_a_file_counts_by_its_path_on_one_site(name: str, one: Any, other: Any) -> None:
    """For example three editions of a gazette, whose text is in a file."""
    assert on_one_site({name: one}, {name: other}) == name
    assert across_sites({name: one}, {name: other}) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/g.pdf?token=1", "/g.pdf?token=2#page=3"),
        ("/1.jpg", "/2.jpg"),
        ("/get?id=1&PHPSESSID=4f2a", "/get?id=1"),
    ],
)
def test_a_query_a_picture_and_a_page_make_no_other_file(one: str, other: str) -> None:
    assert on_one_site({"file_urls": [one]}, {"file_urls": [other]}) is None


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("13/05/24", "13 May 2024"),
        ("13.5.24 08:30", "2024-05-13 08:30"),
        ("3.5.24", "3 May 2024"),
        ("05/13/99", "1999-05-13"),
        ("12/05/24", "12/05/2024"),
        ("12/05/24", "12 May 2024"),
        ("12/05/24", "2024-12-05T10:15"),
    ],
)
def test_a_year_may_have_two_digits_in_a_date(short: str, full: str) -> None:
    one, two = {"date": short}, {"date": full}
    assert on_one_site(one, two) is on_one_site(two, one) is None
    # Elsewhere it may be a code or a version.
    one, two = {"release": short}, {"release": full}
    assert on_one_site(one, two) == "release"


@pytest.mark.parametrize("either", ["03/04/2024", "3/4/2024 10:15"])
def test_a_date_is_that_of_another_notation_if_its_month_may_be(either: str) -> None:
    for same in ("2024-04-03", "2024-03-04", "3 April 2024", "March 4, 2024", "03/04/2024"):
        assert on_one_site({"date": either}, {"date": same}) is None
        assert on_one_site({"date": same}, {"date": either}) is None
    for other in ("2024-04-04", "3 May 2024", "04/03/2024", "04/04/2024", "3 April 2023"):
        assert on_one_site({"date": either}, {"date": other}) == "date"
        assert on_one_site({"date": other}, {"date": either}) == "date"
    assert on_one_site({"date": "2024-04-03"}, {"date": "2024-03-04"}) == "date"


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("date", "12/05/24", "05/12/24"),
        ("date", "13/05/24", "13/05/23"),
        ("date", "13/05/24", "1924-05-13"),
        ("date", "13.05.24 a", "13.05.24 t"),
        ("sku", "10-12-24-A", "10-12-24-T"),
        ("sku", "10-12-2024-A", "10-12-2024-T"),
        ("case_number", "12/03/2021 A", "12/03/2021 T"),
        ("version", "1.02.10", "1.2.10"),
        ("size", "10/12/24", "10.12.24"),
        ("phone", "04/03/12", "04-03-12"),
        ("value", "+10.12.24", "-10.12.24"),
        ("download_version", "2.4.10", "2.5.11"),
        ("npk", "10-10-10 sa", "10-10-10 so"),
    ],
)
def test_what_is_no_date_for_sure_is_compared_as_it_is_written(
    name: str, one: str, other: str
) -> None:
    assert on_one_site({name: one}, {name: other}) == name
    assert on_one_site({name: other}, {name: one}) == name


def test_names_are_the_same_in_every_spelling() -> None:
    assert on_one_site({"datePublished": "x"}, {"date_published": "x"}) is None
    assert on_one_site({"datePublished": "x"}, {"date-published": "y"}) == "datePublished"
    assert on_one_site({"ab": 1, "a_b": 2}, {"ab": 1, "a_b": 3}) == "a_b"


def test_of_very_many_fields_none_is_lost() -> None:
    many = {f"field {i:03}": f"value {i}" for i in range(200)} | {"z price": 20}
    page_facts = facts(many)
    assert len(page_facts.records) == MAX_FIELDS
    assert "(others)" in page_facts.names.values()
    for i in range(200):
        changed = many | {f"field {i:03}": "x"}
        assert on_one_site(changed, many) in (f"field {i:03}", "(others)")
    assert across_sites(many | {"z price": 21}, many) == "z price"


def test_facts_of_an_item_and_of_its_page_are_those_of_both():
    item, page = facts({"price": "€1.00"}), facts({"title": "Jacket"})
    joined = item.joined(page)
    assert joined == facts({"price": "€1.00", "title": "Jacket"})
    assert sorted(joined.names.values()) == ["price", "title"]
    assert item.joined(item) == item, "what both contain is stored once"

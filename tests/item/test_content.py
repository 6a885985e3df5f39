from __future__ import annotations

import datetime as dt
import random
import re
from dataclasses import make_dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from item_kinds import kinds_of

from scrapy_simhash.features.shingles import shingles
from scrapy_simhash.item.content import ItemContent, digest_on, read_facts, read_item
from scrapy_simhash.item.evidence import Relation
from scrapy_simhash.item.facts import conflict
from scrapy_simhash.item.fields import MIN_PROSE

SINCE = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC).timestamp()
PAGE = "https://shop.example/p/1"


def words(count: int, seed: int = 0) -> str:
    chance = random.Random(seed)
    return " ".join(f"{chance.choice('bdfgklmn')}{chance.randrange(10**6)}" for _ in range(count))


SAME_SITE, OTHER_SITE = frozenset({Relation.SAME_SITE}), frozenset({Relation.OTHER_SITE})
PROSE, PROSE_2 = words(60), words(50, 1)


def read(item: Any, page_url: str = PAGE, **options: Any) -> ItemContent:
    return read_item(item, page_url=page_url, since=SINCE, now=SINCE + 3600, **options)


def names(one: ItemContent) -> list[str]:
    return sorted(one.facts.names.values())


# The text


def test_long_values_are_the_text_and_short_ones_the_facts() -> None:
    one = read({"title": "A kettle", "body": PROSE, "price": 20, "summary": PROSE_2})
    assert one.text == f"{PROSE}\n{PROSE_2}"
    assert names(one) == ["price", "title"]


@pytest.mark.parametrize("count", [31, 32])
def test_32_shingles_are_prose_and_31_are_not(count: int) -> None:
    text = words(count + 1)
    assert len(shingles(text)) == count
    one = read({"body": text})
    assert (one.text, names(one)) == ((text, []) if count == MIN_PROSE else ("", ["body"]))


def test_chinese_prose_needs_no_spaces() -> None:
    text = "台风在海南登陆以后继续向西北方向移动，预计明天上午进入广西，沿海地区有大到暴雨。"
    # The headline is no text.
    headline = "台风昨夜在海南登陆以后继续向西北方向移动，预计明天上午进入广西，多地停课停航"
    one = read({"标题": headline, "正文": text})
    assert one.text == text
    assert names(one) == ["标题"]


def test_a_value_that_stands_twice_counts_once() -> None:
    assert read({"body": PROSE, "description": PROSE}).text == PROSE


def test_paragraphs_are_prose_together_and_tags_are_not() -> None:
    paragraphs = [words(14, seed) for seed in range(5)]
    tags = [f"tag{i}" for i in range(60)]
    one = read({"body": paragraphs, "tags": tags})
    assert one.text.split("\n") == paragraphs
    assert names(one) == ["tags"]


def test_a_short_line_among_long_paragraphs_is_no_fact() -> None:
    one = read({"body": [PROSE, "Yes.", "No.", "Oh."]})
    assert one.text == f"{PROSE}\nYes.\nNo.\nOh."
    assert names(one) == []


def test_prose_inside_a_list_of_mappings_is_text_and_the_rest_of_them_a_fact() -> None:
    posts = [{"author": "Ann", "text": PROSE}, {"author": "Bob", "text": PROSE_2}]
    one = read({"posts": posts})
    assert one.text == f"{PROSE}\n{PROSE_2}"
    assert names(one) == ["posts"]
    other = read({"posts": [posts[0], {**posts[1], "author": "Cid"}]})
    assert conflict(other.facts, one.facts, SAME_SITE) == "posts"
    near = read({"posts": [posts[0], {**posts[1], "text": PROSE_2 + " more"}]})
    assert conflict(near.facts, one.facts, SAME_SITE) is None


@pytest.mark.parametrize(
    "value",
    [
        f"<div><p>{PROSE}</p></div>",
        f"<!DOCTYPE html><my-story>{PROSE}</my-story> from List<String>",
        f"<record><note>{PROSE}</note></record>",
        "https://a.example/?q=" + "+".join(PROSE.split()),
        " ".join(["QUJD" * 19] * 40),
        '{"a": "' + PROSE + '"}',
        PROSE.encode(),
    ],
)
def test_markup_urls_and_data_are_no_prose(value: Any) -> None:
    assert read({"title": "x", "a": value}).text == ""


@pytest.mark.parametrize(
    "value",
    [
        f"#include <stdio.h> and <string.h>. {PROSE}",
        f"Ann <ann@example.com> and <bob@example.com> wrote: {PROSE}",
        f"A Map<String, List<String>> and a Set<Text>, in <b>: {PROSE}",
        f"See <https://a.example/> and <https://b.example/>. {PROSE}",
    ],
)
def test_tags_that_are_no_elements_make_no_markup(value: str) -> None:
    assert read({"title": "x", "a": value}).text == value


@pytest.mark.parametrize("value", [PROSE.encode(), [PROSE.encode()]])
def test_bytes_are_text_in_a_field_that_is_asked_for(value: Any) -> None:
    assert read({"title": "x", "a": value}, fields=["a"]).text == PROSE


def without_tags(markup: str) -> str:
    return re.sub("<[^>]+>", " ", markup).strip()


MARKUP = f"<div><p>{PROSE}</p></div>"


@pytest.mark.parametrize("value", [MARKUP, [MARKUP], {"rendered": MARKUP}, [{"html": MARKUP}]])
def test_markup_is_text_where_no_page_has_that(value: Any) -> None:
    item = {"title": "x", "a": value}
    assert read(item).text == ""
    assert read(item, markup=without_tags).text == PROSE
    # Links and pictures still tell two items apart that have no text.
    assert read(item, markup=without_tags).digest == read(item).digest


def test_the_text_of_markup_is_a_fact_if_it_is_no_prose() -> None:
    """However long it is, and also if it shows tags."""
    words = " ".join(f"Donaudampfschifffahrt{n}" for n in range(20))
    one, other = (
        read({"body": PROSE, "a": f"<p>{words} {end}</p>"}, markup=without_tags)
        for end in ("rot", "blau")
    )
    assert conflict(other.facts, one.facts, SAME_SITE) == "a"
    shown = read({"a": f"<p>Write {PROSE}</p>"}, markup=lambda _: f"<b><i>{PROSE}</i></b>")
    assert shown.text == f"<b><i>{PROSE}</i></b>"


def test_fields_alone_say_what_the_item_is() -> None:
    item = {"title": "A kettle", "body": PROSE, "price": 20, "offer": {"sku": "X", "stock": 3}}
    one = read(item, fields=["title", "body", "offer.sku"])
    assert one.text == PROSE
    assert names(one) == ["offer.sku", "title"]
    assert one.digest == read({**item, "price": 21}, fields=["title", "body", "offer.sku"]).digest
    assert names(read(item, fields=["offer"])) == ["offer.sku", "offer.stock"]


def test_ignored_fields_say_nothing_at_any_level() -> None:
    item = {"title": "x", "rank": 1, "offer": {"id": 1, "sku": "X"}, "rows": [{"id": 1, "n": 2}]}
    ignore = ["rank", "offer.id", "rows.id"]
    other = {**item, "rank": 2, "offer": {"id": 2, "sku": "X"}, "rows": [{"id": 2, "n": 2}]}
    assert read(item, ignore=ignore) == read(other, ignore=ignore)
    assert names(read(item, ignore=ignore)) == ["offer.sku", "rows", "title"]
    assert names(read(item, ignore=["offer", "rows"])) == ["rank", "title"]


# The address


@pytest.mark.parametrize(
    ("item", "own_url"),
    [
        ({"url": "https://shop.example/p/2"}, "https://shop.example/p/2"),
        ({"url": ["https://shop.example/p/2"]}, "https://shop.example/p/2"),
        ({"link": "/p/2?x=1"}, "https://shop.example/p/2?x=1"),
        ({"href": "2"}, "https://shop.example/p/2"),
        ({"url": PAGE, "link": "https://shop.example/p/2"}, "https://shop.example/p/2"),
        ({"url": "https://a.example/", "link": "https://b.example/"}, "https://a.example/"),
        ({"product_page": "https://a.example/2"}, "https://a.example/2"),
        ({"Permalink": "https://a.example/2", "x": "https://a.example/3"}, "https://a.example/2"),
        ({"url": "https://shop.example/p/1#/kettle"}, "https://shop.example/p/1#/kettle"),
        ({"url": "https://shop.example/p/1?page=2"}, "https://shop.example/p/1?page=2"),
        ({"a": "https://a.example/1", "b": "https://a.example/2"}, None),
        ({"url": PAGE}, None),
        ({"url": "http://SHOP.example:80/p/1/"}, None),
        ({"url": f"{PAGE}#"}, None),
        ({"url": PAGE, "permalink": "#post-7"}, f"{PAGE}#post-7"),
        ({"url": "http://SHOP.example/p/1#post-7"}, "http://SHOP.example/p/1#post-7"),
        ({"comments": f"{PAGE}#comments"}, None),
        ({"url": "/p/%31"}, None),
        ({"canonicalUrl": "https://shop.example/p/2"}, None),
        ({"image": "https://a.example/1.jpg"}, None),
        ({"photo_url": "https://a.example/1"}, None),
        ({"file": "https://a.example/1.webp?w=3"}, None),
        ({"author_link": "https://a.example/ann"}, None),
        ({"url": PAGE, "file_urls": ["https://shop.example/files/1.pdf"]}, None),
        ({"attachment": "https://a.example/download?id=7"}, None),
        ({"author": {"url": "https://a.example/ann"}}, None),
        ({"urls": ["https://a.example/1", "https://a.example/2"]}, None),
        ({"text": "see https://a.example/1"}, None),
        ({"title": "x"}, None),
    ],
)
def test_the_own_url_of_an_item(item: dict[str, Any], own_url: str | None) -> None:
    assert read(item).own_url == own_url


@pytest.mark.parametrize(
    ("item", "own_url"),
    [
        ({"url": PAGE, "附件": "https://shop.example/files/1.pdf"}, None),
        ({"url": PAGE, "link": "https://shop.example/p/2"}, None),
        ({"link": "https://shop.example/p/2", "href": PAGE}, "https://shop.example/p/2"),
        ({"page": PAGE, "link": "https://shop.example/p/2"}, "https://shop.example/p/2"),
        ({"url": f"{PAGE}#post-7", "pdf": "https://a.example/1"}, f"{PAGE}#post-7"),
    ],
)
def test_an_item_that_is_alone_and_names_its_page_has_no_other_url(item, own_url) -> None:
    assert read(item, is_alone=True).own_url == own_url


@pytest.mark.parametrize(
    ("key", "own_url"),
    [
        (["sku"], "X-1"),
        (["sku", "colour"], "X-1\ndark red"),
        (["sku", "no"], "X-1\n"),
        (["no"], None),
        (["url"], None),
        (["place"], f"{PAGE}#post-7"),
        (["offer.id"], "7"),
        (["offer"], "7 8"),
    ],
)
def test_a_key_identifies_an_item(key: list[str], own_url: str | None) -> None:
    item = {
        "sku": "X-1",
        "colour": "dark\n red",
        "url": PAGE,
        "place": "#post-7",
        "link": "https://shop.example/p/2",
        "offer": {"id": 7, "sku": 8},
    }
    assert read(item, key=key).own_url == own_url


# All of it


@pytest.mark.parametrize(
    ("key", "is_equal"), [(["sku"], True), (["link"], False), (["sku", "link"], False)]
)
@pytest.mark.parametrize("link", ["https://shop.example/p/7?s=1", PAGE, "/p/7?s=1"])
def test_a_url_tells_a_keyed_item_from_none_but_those_of_a_different_site(
    key: list[str], is_equal: bool, link: str
) -> None:
    def digest(item: dict[str, str], page_url: str) -> bytes | None:
        return digest_on(read(item, key=key, page_url=page_url), page_url)

    one = digest({"sku": "7", "link": link}, PAGE)
    page = f"{PAGE}?s=2"
    other = page if link == PAGE else link.replace("s=1", "s=2")
    assert (digest({"sku": "7", "link": other}, page) == one) == is_equal
    assert digest({"sku": "8", "link": other}, page) != one
    away = "https://other.example/p/7"
    assert digest({"sku": "7", "link": away}, page) != one
    assert digest({"sku": "7", "link": away}, away) != one


SIGNED = "https://cdn.example/7.jpg?w=640&Expires={0}&Key-Pair-Id=K1&Signature=m{0}"
STORED = "https://s3.example/a.jpg?X-Amz-Date={0}&X-Amz-Expires=60&X-Amz-Signature=f{0}"


@pytest.mark.parametrize("url", [SIGNED, STORED, "/v?id=7&access_token=t{0}", "/v?token={0}&v=1"])
def test_a_signature_of_a_link_is_none_of_an_item(url: str) -> None:
    def digest(*given: str) -> bytes | None:
        links = [one for one in given for one in (one, "https://a.example/")]
        return read(
            {"name": "Ann", "photo_url": given[0], "links": links, "file_url": given[0]}
        ).digest

    assert digest(url.format(1)) == digest(url.format(2)) != digest(url.format(1) + "&size=9")
    # An item may be known by such a parameter.
    own = ({"name": "Ann", "url": f"https://shop.example/p/2?token={n}"} for n in (1, 2))
    assert len({read(item).digest for item in own}) == 2
    dates = ({"name": "Ann", "photo_url": f"https://a.example/v?id=7&expires={n}"} for n in (1, 2))
    assert len({read(item).digest for item in dates}) == 2


def test_what_scrapy_tells_of_a_download_is_none_of_an_item() -> None:
    meta = {"download_latency": 0.31, "download_slot": "a.example", "retry_times": 2}
    assert read({"name": "Ann", "meta": meta, **meta}) == read({"name": "Ann"})


def test_equal_items_have_equal_digests_on_any_page() -> None:
    one = read({"name": "Ann", "tags": ["a", "b"], "link": PAGE})
    other = read({"tags": ["b", "a", "a"], "link": "/p/2", "name": "Ann"}, page_url=PAGE[:-1] + "2")
    assert one.digest == other.digest is not None
    assert len(one.digest or b"") == 16


def test_an_entry_of_a_list_is_equal_on_each_page_that_lists_it() -> None:
    def digest(page: str, url: str) -> bytes | None:
        return digest_on(read({"text": "Thanks!", "url": url, "page": page}, page_url=page), page)

    thread = "https://forum.example/t/6"
    for url in (f"{thread}#post-3", "/t/6#post-3", "/p/9", "/p/9?utm_source=mail"):
        found = digest(thread, url)
        assert found == digest(f"{thread}?page=2", url) is not None
    assert found == digest(thread, "https://forum.example/p/9")
    others = ("/p/8", "#post-3", "#post-4")
    assert len({digest(f"{thread}{n}", url) for n in range(2) for url in others}) == 5
    # Branches of a firm, each on a page of its own.
    branches = [f"{thread}/{number}" for number in range(2)]
    given = [
        {"name": "Ann's", "website": "https://anns.example/", "page": page} for page in branches
    ]
    assert len({digest_on(read(given[n], page), page) for n, page in enumerate(branches)}) == 2


@pytest.mark.parametrize("where", ["<a href='/{}.zip'>", '<img SRC = "/{}.png">', "<a href={}>"])
@pytest.mark.parametrize("nest", [lambda value: value, lambda value: [{"is": value}, 1]])
def test_where_markup_leads_is_in_the_digest_and_how_it_looks_is_not(where: str, nest: Any) -> None:
    def digest(number: int, style: str = "") -> bytes | None:
        body = f"<p{style}>Our manual: {where.format(number)}download it here</a> <b>now</b></p>"
        return read({"name": "Manual", "body": nest(body)}).digest

    assert digest(1) != digest(2)
    assert digest(1) == digest(1, " class='wide'") is not None


@pytest.mark.parametrize(
    "other",
    [
        {"name": " ann  lind.", "n": 3, "day": "2024-05-01"},
        {"name": "Ann, Lind", "n": "3", "day": "1 May 2024"},
        {"name": ["ANN LIND"], "n": 3.0, "day": dt.date(2024, 5, 1)},
    ],
)
def test_other_notations_are_in_no_digest(other: dict[str, Any]) -> None:
    one = {"name": "Ann Lind", "n": 3, "day": "2024-05-01"}
    assert read(other).digest == read(one).digest
    rows, others = ({"rows": [{**item, "link": "/1"}, 7]} for item in (one, other))
    assert read(rows).digest == read(others).digest
    others["rows"][0]["link"] = "/2"
    assert read(rows).digest != read(others).digest


def test_the_state_of_a_thing_with_an_address_is_not_in_its_digest() -> None:
    """A row of a table without one may differ in nothing but its rank."""
    rows = [{"name": "Ann", "rank": rank, "views": f"{rank} views"} for rank in (1, 2)]
    assert len({read(row).digest for row in rows}) == 2
    links = [{**row, "url": "https://other.example/ann"} for row in rows]
    assert len({read(row).digest for row in links}) == 1
    assert len({read(row, is_alone=True).digest for row in rows}) == 1
    answers = [{"url": PAGE, "answers": [{"text": "Boil it.", **row}]} for row in rows]
    assert len({read(answer).digest for answer in answers}) == 1
    assert len({read(answer).facts for answer in answers}) == 1


@pytest.mark.parametrize("words", ["iPhone {} reviews", "{} downloads", "Up to {} days left"])
def test_a_row_that_differs_in_words_that_may_be_state_is_another(words: str) -> None:
    for more in ({}, {"url": PAGE}):
        rows = [{"keyword": words.format(number)} | more for number in (12, 13)]
        assert len({read(row).digest for row in rows}) == 2
        assert len({read(row, is_alone=True).digest for row in rows}) == 1
    assert read(rows[0]).digest == read(rows[0] | {"keyword": words.format("12 ").upper()}).digest


@given(
    st.dictionaries(
        st.sampled_from(["page:title", "page:price", "page:datePublished", "page:sku"]),
        st.one_of(
            st.text(max_size=20),
            st.sampled_from(
                [
                    *("12.50", "$ 3", "2026-01-02T03:04", "https://a.test/b"),
                    *("https://a.test/c", "w " * 40),
                ]
            ),
        ),
    )
)
def test_the_facts_of_a_page_are_those_of_an_item_with_the_same_content(
    values: dict[str, str],
) -> None:
    more: dict[str, Any] = {"page_url": "https://a.test/b", "since": 1.7e9, "now": 1.8e9}
    facts = read_facts(values, **more, secret=b"x" * 16)
    assert facts == read_item(values, **more, secret=b"x" * 16).facts


def test_items_of_another_class_are_other_items() -> None:
    author = make_dataclass("Author", [("name", str)])
    publisher = make_dataclass("Publisher", [("name", str)])
    assert read(author("Ann")).digest != read(publisher("Ann")).digest


def test_a_fetch_time_makes_no_other_item_and_an_id_does() -> None:
    fetched = [dt.datetime.fromtimestamp(SINCE + s, dt.UTC).isoformat() for s in (10, 70)]
    one, other = (read({"name": "Ann", "fetched": time}) for time in fetched)
    assert one == other
    for name, differs in (("id", "id"), ("rank", None)):
        other = read({"name": "Ann", name: 2})
        one = read({"name": "Ann", name: 1})
        assert one.digest != other.digest
        assert conflict(other.facts, one.facts, SAME_SITE) == differs


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_item_that_cannot_be_read_to_its_end_is_equal_to_none() -> None:
    item = {"title": "x", "a": {"b": [Broken()]}}
    assert read(item).digest is None
    assert read(item, fields=["title", "a.c"]).digest is None
    # What nobody reads can be anything.
    assert read(item, fields=["title"]).digest == read({"title": "x"}).digest
    assert read(item, ignore=["a"]).digest == read({"title": "x"}).digest


def nested(levels: int, value: Any) -> Any:
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "make",
    [
        lambda last: {"a": [*range(10_001), last]},
        lambda last: {"a": [PROSE] * 10_001 + [last]},
        lambda last: {"rows": [{"n": n, "b": n} for n in range(5000)] + [{"n": last}]},
        lambda last: {f"{n:06}": "x" for n in range(20_000)} | {"z": last},
        lambda last: nested(17, last),
        lambda last: nested(17, [last]),
    ],
)
def test_beyond_the_bounds_a_digest_counts(make: Any) -> None:
    one, other, same = (read(make(last)) for last in ("x", "y", "x"))
    assert None is not one.digest == same.digest != other.digest
    assert one.facts == same.facts
    assert conflict(other.facts, one.facts, SAME_SITE) is not None


# Whatever is in it


@pytest.mark.parametrize("kind", kinds_of("title", "price", "body")[1:])
def test_every_kind_of_item_has_the_content_of_a_dict(kind: type[Any]) -> None:
    fields: dict[str, Any] = {"title": "A kettle", "price": "€20", "body": PROSE}
    one, other = read(kind(**fields)), read(fields)
    assert (one.text, one.facts) == (other.text, other.facts)
    nested = read({"a": kind(**fields)})
    assert nested.text == PROSE
    assert names(nested) == ["a.price", "a.title"]


FILE = {"url": "https://a.example/1.pdf", "path": "1.pdf", "checksum": "a1", "status": "cached"}
MOVED = {"url": "https://b.example/k.pdf", "path": "k.pdf", "checksum": "a1", "status": "uptodate"}


@pytest.mark.parametrize(
    ("new", "stored", "differs"),
    [
        (FILE, MOVED, None),
        (FILE, FILE | {"checksum": "a2"}, "files"),
        (FILE, FILE | {"edition": "2"}, "files"),
        (FILE | {"checksum": None}, MOVED | {"checksum": None}, "files"),
    ],
)
def test_a_downloaded_file_counts_by_its_checksum(
    new: dict[str, Any], stored: dict[str, Any], differs: str | None
) -> None:
    one, other = (
        read({"name": "Kettle manual", "text": PROSE, "files": [f]}) for f in (new, stored)
    )
    assert conflict(one.facts, other.facts, SAME_SITE) == differs
    assert conflict(one.facts, other.facts, OTHER_SITE) is None


def test_links_of_an_ignored_list_are_no_part_of_the_item() -> None:
    one, other = (
        {"text": PROSE, "links": [f"https://{host}.example/{n}" for n in range(9)]} for host in "ab"
    )
    assert read(one).digest != read(other).digest
    assert read(one, ignore=["links"]).digest == read(other, ignore=["links"]).digest


def test_counts_in_a_loose_text_too_short_to_be_prose_are_left_out() -> None:
    card = "Brass lamp with a linen shade, delivered within three days. {} in stock {} reviews"
    one, other = ({"text": card.format(*counts)} for counts in ((25, 32), (21, 46)))
    assert read(one).digest == read(other).digest
    assert read({"title": one["text"]}).digest != read({"title": other["text"]}).digest
    assert read({"rooms": "3 reviews"}).digest != read({"rooms": "4 reviews"}).digest

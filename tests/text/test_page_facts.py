from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

from scrapy_simhash.item.content import read_facts
from scrapy_simhash.item.evidence import Relation
from scrapy_simhash.item.facts import MAX_FIELDS, ROW, Facts, conflict
from scrapy_simhash.text.html import parse_html
from scrapy_simhash.text.page_facts import PageFacts, page_facts

if TYPE_CHECKING:
    from lxml.html import HtmlElement

STORY = "<p>The ferry carried seven goats and three fiddlers over the wide bay.</p>"
SAME_SITE = frozenset({Relation.SAME_SITE})
NAVIGATION = "<ul><li><a href='/1'>Knots</a></li><li><a href='/2'>Ropes</a></li></ul>"


def tree(html: str | bytes) -> HtmlElement:
    root = parse_html(html)
    assert root is not None
    return root


def facts(body: str, head: str = "", attributes: str = "") -> dict[str, str]:
    return page_facts(tree(f"<html {attributes}><head>{head}</head><body>{body}</body></html>"))


def linked_data(data: object) -> str:
    source = data if isinstance(data, str) else json.dumps(data)
    return f'<script type="application/ld+json">{source}</script>'


@pytest.mark.parametrize(
    "title",
    [
        *("Goats at sea", "Goats at sea – Island Post", "GOATS  AT SEA | Post", "Goats at Sea!"),
        *("Island Post » Goats at sea » Print", "Old version of Goats at sea - Wiki"),
        *("[12] Goats at sea", "Goats at sea（川辺新聞） - ヤホー", "Print: Goats at sea"),
    ],
)
def test_a_title_of_which_a_part_ends_with_the_heading_is_the_heading(title: str) -> None:
    found = facts("<h1>Goats at sea</h1>", f"<title>{title}</title>")
    assert found == {"page:title": "Goats at sea", "page:heading": "Goats at sea"}


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("Goats at sea - Island Post", "Goats at sea"),
        ("Goats at sea | The Island Post Online", "Goats at sea"),
        ("Goats at sea – ISLAND-POST", "Goats at sea"),
        ("Goats at sea | Isles | Island Post", "Goats at sea | Isles"),
        ("Goats at sea - Island Post Berlin", "Goats at sea - Island Post Berlin"),
        ("Island Post", "Island Post"),
        ("Goats of the Island Post", "Goats of the Island Post"),
        ("Island Post Forum - Goats at sea", "Goats at sea"),
    ],
)
def test_a_name_of_the_site_as_in_its_domain_is_no_part_of_a_title(title: str, named: str) -> None:
    root = tree(f"<html><head><title>{title}</title></head><body><p>Goats.</body></html>")
    assert PageFacts(root, "island-post.example").facts == {"page:title": named}
    assert page_facts(root) == {"page:title": title}


@pytest.mark.parametrize("added", [" in Ashford", ", Ashford", " Stoke-on-Trent", " at sea"])
def test_words_behind_the_heading_leave_the_title_alone(added: str) -> None:
    """A job ad may name the town in the title only."""
    found = facts("<h1>Nurse</h1>", f"<title>Nurse{added} | Jobs</title>")
    assert found == {"page:title": f"Nurse{added} | Jobs", "page:heading": "Nurse"}


def test_a_title_that_differs_from_the_heading_stays() -> None:
    found = facts("<h1>Goat</h1>", "<title>Goats at sea</title>")
    assert found == {"page:title": "Goats at sea", "page:heading": "Goat"}


@pytest.mark.parametrize("title", ["Goats at sea – Island Post", "Isles – Island Post"])
@pytest.mark.parametrize("logo", ["Island Post", "<a href='/'>Island Post</a>"])
def test_the_name_of_the_site_in_a_heading_leaves_the_title_alone(title: str, logo: str) -> None:
    """It stands in every title of the site: all its pages would be one."""
    assert facts(f"<h1>{logo}</h1>", f"<title>{title}</title>")["page:title"] == title


@pytest.mark.parametrize(
    ("beside", "price"),
    [
        ("<p>Sold for <b>£195,000</b></p>", "£195,000"),
        ("<p>5 March 2026</p>", None),
        ("<ul><li>Type: house<li>Price : £195,000</ul>", "Price : £195,000"),
        ("<p><strong>Price:</strong> £195,000</p>", "Price: £195,000"),
        ("<p><i>Price：</i>£195,000</p>", "Price：£195,000"),
        ("<p><b>Price:</b> £195,000 or more, as the owner may decide by himself</p>", None),
        ("<ul><li><a href='/x'>A house</a> <b>£195,000</b></li></ul>", None),
        ("<p></p>" * 100 + "<b>£195,000</b>", None),
    ],
)
def test_a_price_may_stand_alone_behind_the_heading(beside: str, price: str | None) -> None:
    assert facts(f"<b>£1</b> <h1>Goats at sea</h1>{beside}").get("page:price") == price


def rows(body: str) -> dict[str, object]:
    """The rows of a page by their labels."""
    found = facts(f"<h1>Goats at sea</h1>{body}")
    return {name.removeprefix(ROW): found[name] for name in found if name.startswith(ROW)}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("<table><tr><th>Seats:<td>4</table>", {"Seats": "4"}),
        ("<table><tr><th>重量：<td>4</table>", {"重量": "4"}),
        ("<table><tr><td>No. of seats<td>4</table>", {"No  of seats": "4"}),
        ("<table><tr><td>4<th>Seats</table>", {}),
        ("<table><tr><th>Seats<td>4<td>5</table>", {}),
        ("<dl><dt>Location <dd>Oakland, CA</dl>", {"Location": "Oakland, CA"}),
        ("<dl><dt>Colours</dt><dd>red</dd><dd></dd><dd>blue</dd><dt>Size <dd>4</dl>",
         {"Colours": ["red", "blue"], "Size": "4"}),
        ("<dl><dt>Empty <dd></dl>", {}),
        ("<dl><dt>: <dd>4</dl>", {}),
        (f"<dl><dt>Length <dd>{'x' * 81}</dl>", {}),
        (f"<dl><dt>{'x' * 41} <dd>4</dl>", {}),
        ("<dl><dt>Day <dd>1 May <dt>Day: <dd>2 May</dl>", {"Day": ["1 May", "2 May"]}),
        ("<ul><li><dl><dt>Length <dd>4</dl></ul>", {"Length": "4"}),
        ("<ul><li><a href='/x'>A boat</a><dl><dt>Length <dd>4</dl></ul>", {}),
        (f"<ul><li><dl><dt>Length <dd>4</dl>{'<i></i>' * 32}<a>x</a></ul>", {"Length": "4"}),
        ("<aside><dl><dt>Length <dd>4</dl></aside>", {}),
        ("<div class='related'><dl><dt>Length <dd>4</dl></div>", {}),
        ("<article><dl><dt>Length <dd>4</dl></article><article>Another</article>", {}),
        ("<p><b>Length</b> <i>4</i></p>", {}),
    ],
)  # fmt: skip
def test_a_row_has_two_short_cells(row: str, expected: dict[str, object]) -> None:
    assert rows(row) == expected


def test_a_row_is_a_field_that_its_label_names() -> None:
    """What names of fields tell, labels tell too: state, sections, prices, dates."""
    titled = SAME_SITE | {Relation.ONE_TITLE}

    def differs(label: str, *values: str) -> str | None:
        pages = (
            facts(f"<h1>Rope</h1><table><tr><th>{label}<td>{value}</table>") for value in values
        )
        new, stored = (
            read_facts(page, page_url="http://a.com/", since=math.inf, now=-math.inf)
            for page in pages
        )
        return conflict(new, stored, titled)

    assert differs("Colour", "red", "blue") == f"{ROW}Colour"
    assert differs("Price", "5.00 for two", "5 for two") is None
    assert differs("Price", "5 for two", "6 for two") == f"{ROW}Price"
    assert differs("Posted on", "1 May 2024", "2024-05-01") is None
    assert differs("Posted", "3 days ago", "2 hours ago") is None
    for state in ("Views", "Last updated", "Rank", "阅读"):
        assert differs(state, "3", "4") is None
    # Under one heading, the section of a site tells nothing.
    assert differs("Category", "Ropes", "Knots") is None


def test_a_row_that_only_one_of_two_pages_has_is_no_difference() -> None:
    """The labels of another language, and a print view with fewer rows."""
    one, other = (
        read_facts(
            facts(f"<h1>Rope</h1><dl><dt>{label} <dd>red</dl>"),
            page_url="http://a.com/", since=math.inf, now=-math.inf,
        )
        for label in ("Colour", "Farbe")
    )  # fmt: skip
    assert conflict(one, other, SAME_SITE) is None
    assert conflict(Facts(one.records), other, SAME_SITE) is None


def test_rows_push_out_no_other_fact() -> None:
    """Beyond the limit all count as one."""
    lines = [f"<tr><th>Label {number}<td>value {number}" for number in range(100)]

    def read(*lines: str) -> Facts:
        page = facts(f"<h1>Rope</h1><table>{''.join(lines)}</table>", "<title>Ropes</title>")
        return read_facts(page, page_url="http://a.com/", since=math.inf, now=-math.inf)

    found = read(*lines)
    assert len(found.records) == MAX_FIELDS
    assert {"page:title", "page:heading"} <= {*found.names.values()}
    for number in (0, 99):
        changed = [*lines]
        changed[number] += " or another"
        assert conflict(read(*changed), found, SAME_SITE) is not None


def test_without_a_main_heading_another_one_is_not_the_title() -> None:
    """What the title adds to it may be the name of the site, or tell two pages apart."""
    found = [
        facts("<h2>Installation</h2>", f"<title>Installation - {system}</title>")
        for system in ("Linux", "Windows")
    ]
    assert found[0] != found[1]


def test_the_name_of_the_site_is_the_heading_of_no_page_that_has_another() -> None:
    headings = "<h1>Ropes 1.4</h1><h1>Source of knots.bowline</h1>"
    found = facts(headings, "<title>knots.bowline — Ropes 1.4</title>")
    assert found["page:heading"] == "Source of knots.bowline"


def test_of_two_headings_in_the_title_the_first_part_is_that_of_the_page() -> None:
    found = facts("<h1>Manual 1.4</h1><h1>Knots</h1>", "<title>Knots — Manual 1.4</title>")
    assert found == {"page:title": "Knots", "page:heading": "Knots"}


def test_the_title_of_a_drawing_is_not_that_of_the_page() -> None:
    assert facts("<svg><title>Arrow</title></svg><p>Nothing") == {}


@pytest.mark.parametrize(
    ("time", "value"),
    [
        ("<time datetime='2024-05-06T09:30:15+02:00'>today</time>", "2024-05-06T07:30+00:00"),
        ("<time datetime='2024-05-06'>Monday</time>", "2024-05-06"),
        ("<time>6 May 2024</time>", "6 May 2024"),
        ("<time>two hours ago</time>", None),
        ("<time datetime='PT5M'>5 minutes to read</time>", None),
        ("<time>12:30</time>", None),
        ("<time class=updated datetime='2024-05-06'></time>", None),
        ("<time class='published updated' datetime='2024-05-06'></time>", "2024-05-06"),
        ("<aside><time datetime='2024-05-06'></time></aside>", None),
        ("<div class=comments><time datetime='2024-05-06'></time></div>", None),
        ("<article><a href=/2><time datetime='2024-05-06'></time></a></article>", None),
    ],
)
def test_a_time_is_that_of_the_page_and_absolute(time: str, value: str | None) -> None:
    found = facts(f"<main><h1>Minutes</h1>{time}<p>The council met.</p></main>")
    assert found.get("page:time") == value


@pytest.mark.parametrize(
    "thing",
    [
        {"@type": "Product", "name": "Rope", "sku": 12, "offers": {"price": "7.5"}},
        {
            "@graph": [
                {"@type": "WebSite", "name": "Shop"},
                {"sku": "12", "offers": [{"price": 7.5}]},
            ]
        },
        [{"@type": "Organization", "sku": 1}, {"mainEntity": {"sku": ["12"], "price": "7.5"}}],
    ],
)
def test_linked_data_gives_the_facts_of_a_thing(thing: object) -> None:
    found = facts("<h1>Rope</h1>", linked_data(thing))
    assert (found["page:sku"], found["page:price"]) == ("12", "7.5")


def test_the_next_events_of_a_calendar_are_not_about_the_page() -> None:
    event = {"@type": "Event", "name": "Rope market", "startDate": "2024-05-06"}
    later = {"@type": "Event", "name": "Goat market", "startDate": "2024-05-07"}
    later["location"] = {"@type": "Place", "address": {"addressLocality": "Hurst"}}
    assert "page:startDate" not in facts("<h1>Programme</h1>", linked_data([event, later]))
    found = facts("<h1>Goat market</h1>", linked_data([event, later]))
    assert (found["page:startDate"], found["page:addressLocality"]) == ("2024-05-07", "Hurst")


@pytest.mark.parametrize(
    "type_", ["WebSite", "WebPage", "GovernmentOffice", "ImageObject", "FAQPage", "Hall"]
)
def test_one_event_is_that_of_the_page_though_the_heading_names_its_section(type_: str) -> None:
    event = {"@type": "Event", "name": "Rope market", "startDate": "2024-05-06"}
    beside = {"@type": type_, "name": "Town", "url": "/"}
    found = facts("<h1>Programme</h1>", linked_data([beside, event]))
    assert found["page:startDate"] == "2024-05-06"


def test_reviews_ratings_and_counters_are_no_facts() -> None:
    found = facts(
        "<h1>Rope</h1><div itemscope itemtype='https://schema.org/Review'>"
        "<time itemprop=datePublished datetime='2024-05-06'></time></div>"
        "<span itemprop=reviewCount>17</span><data value=3 itemprop=ratingValue></data>",
        linked_data(
            {"headline": "Rope", "commentCount": 9, "dateModified": "2024-05-06", "wordCount": 8}
        ),
    )
    assert found == {"page:heading": "Rope"}


def test_microdata_and_meta_properties_say_the_same_as_linked_data() -> None:
    published = {"page:heading": "Rope", "page:datePublished": "2024-05-06T07:30+00:00"}
    time = "2024-05-06T09:30:00+02:00"
    assert published == facts("<h1>Rope</h1>", linked_data({"datePublished": time}))
    assert published == facts(
        "<h1>Rope</h1>", f"<meta property=article:published_time content='{time}'>"
    )
    assert published == facts(f"<h1>Rope</h1><i itemprop=datePublished content='{time}'></i>")


def test_session_ids_and_print_views_change_no_fact() -> None:
    head = "<title>Goats – Post</title><link rel=canonical href='/1{}'><meta charset=utf-8>"
    body = f"<main><h1>Goats</h1><time datetime='2024-05-06'></time>{STORY}</main>"
    whole = facts(f"<nav>{NAVIGATION}</nav>{body}", head.format(""), "lang=en-GB")
    session = facts(f"<nav>{NAVIGATION}</nav>{body}", head.format("?sid=4711"), "lang=en-GB")
    printed = facts(f"<h1>Goats</h1>{STORY}", "<title>Goats</title>", "lang=en")
    assert session == whole
    assert printed.items() <= whole.items()


def test_linked_data_in_another_encoding_than_utf_8_is_survived() -> None:
    script = b'<script type="application/ld+json">{"sku": "\xff\xfe\x80"}</script><h1>x</h1>'
    assert page_facts(tree(script)).keys() == {"page:sku", "page:heading"}

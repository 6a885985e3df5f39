"""The examples of docs/duplicates.md as small sites, by the words of that page."""

from __future__ import annotations

from collections.abc import Mapping

from duplicate_lists import LATER, LISTS
from duplicate_pages import (
    LONG_TEXT,
    ONE,
    OTHER_TEXT,
    PRODUCT,
    RETOLD,
    STORY,
    TEXT,
    TWO,
    UNCHANGED,
    Case,
    api,
    beside,
    both,
    changed,
    chapter,
    contents,
    everything,
    fetched,
    links_of,
    one_site,
    page,
    raw_title,
    reviewed,
    single,
    stored,
    terms_of,
    thing,
    tiles,
    titled,
    two_sites,
    unreadable,
)
from loopback import Page
from site_pages import bare, paragraphs, sentences

ACROSS_SITES = {
    "A story on a second site, under its own headline, author and date": two_sites(STORY, RETOLD),
    "A story on another site under another headline, the item only a URL and a title": both(
        page(TEXT, heading="A flood"),
        page(TEXT, heading="The flood", site="another site"),
        to=f"{TWO}/second",
        read=titled,
    ),
    "A story with a long text of another site pasted below it as a comment": both(
        page(LONG_TEXT),
        page(OTHER_TEXT, f"<div class='comments'><div class='comment'>{LONG_TEXT}</div></div>"),
        to=f"{TWO}/second",
        read=stored,
    ),
    "A copy on a second site in which one word in twenty was changed": two_sites(
        {"text": UNCHANGED}, {"text": changed(20)}
    ),
    "A copy on another site with a note of twenty words above the text": two_sites(
        {"text": LONG_TEXT}, {"text": paragraphs(sentences("a note", 20)) + LONG_TEXT}
    ),
    "A tour on a second site: its own title and day, a different number in its text": two_sites(
        {"title": "Winter tour, Ash Hall", "date": "12 May", "text": TEXT + "<p>Doors at 19</p>"},
        {"title": "Birch Arena: on tour", "date": "14 May", "text": TEXT + "<p>Doors at 20</p>"},
    ),
    "A copy on a second site with a replaced passage of twenty words": two_sites(
        {"text": paragraphs(sentences("a place", 20)) + LONG_TEXT},
        {"text": paragraphs(sentences("another place", 20)) + LONG_TEXT},
    ),
    "Terms of use of a second firm, with its name in place of the first one's": two_sites(
        {"text": terms_of("Acorn")}, {"text": terms_of("Birch")}
    ),
    "A report of the same event in other words": two_sites(
        STORY, {"title": "A flood", "text": OTHER_TEXT}
    ),
    "The maker's description in a second shop, at a different price": two_sites(
        PRODUCT, PRODUCT | {"price": "€24.50"}
    ),
    "The ad of a car on a portal that calls the price something else": two_sites(
        PRODUCT, {"headline": "A car", "asking_price": "€19.99", "monthly": "€2", "text": TEXT}
    ),
    "The ad of a different car on such a portal, with the same text": two_sites(
        PRODUCT, {"headline": "A car", "asking_price": "€24.50", "monthly": "€2", "text": TEXT}
    ),
    "The maker's description in a second shop, of a model with a different number": two_sites(
        {"name": "Lamp 3", "text": TEXT}, {"name": "Lamp 4", "text": TEXT}
    ),
    "The maker's description in another shop, the other price on the page but not in the item": (
        both(
            page("<b itemprop='price'>€19.99</b>", thing(text=TEXT)),
            page("<b itemprop='price'>€24.50</b>", thing(text=TEXT)),
            to=f"{TWO}/second",
        )
    ),
    "A story on a second site, where both items hold a summary of their own instead": both(
        page(LONG_TEXT, thing(summary=sentences("a summary", 40)), heading="A flood"),
        page(thing(summary=sentences("another", 40)), LONG_TEXT, heading="The flood", site="two"),
        to=f"{TWO}/second",
    ),
    "A chapter of a novel with lines that name its site": both(
        page(thing(text=chapter("one.example"))),
        page(thing(text=chapter("two.example")), site="two"),
        to=f"{TWO}/second",
    ),
    "A part of a manual, shown in detail in the contents of all parts": both(
        bare("All parts", contents(1, with_others=True)),
        bare("The part", contents(1, with_others=False)),
        to=f"{TWO}/second",
        read=titled,
    ),
    "A consent wall that several pages of two sites show, each under its own title": Case(
        [
            {
                f"{address}/{number}": page(
                    TEXT, heading=f"Page {number} of {address}", site=address
                )
                for address in (ONE, TWO)
                for number in "abcd"
            }
        ],
        read=titled,
    ),
}

ON_ONE_SITE = {
    "A copy with other related pages, the item all text of its page": both(
        page(TEXT, beside("one", 7)), page(TEXT, beside("two", 9)), read=everything
    ),
    "A copy with another section in its `<title>`, which the item holds": both(
        page(thing(text=TEXT)),
        page(thing(text=TEXT)).replace(b"<title>", b"<title>News: "),
        read=raw_title,
    ),
    "A category under the same title and paragraph, with other products": both(
        page(TEXT, tiles("one"), heading="Shop"),
        page(TEXT, tiles("two"), heading="Shop"),
        read=titled,
    ),
    "Another test of a product, its verdict in a field beside the maker's description": both(
        reviewed("a verdict"), reviewed("another verdict"), read=single
    ),
    "A job ad with another salary in a list on its page, the item a URL and a title": both(
        page(TEXT, "<ul><li>Place: Oxford<li>Salary: <b>£25,000 a year</b></ul>"),
        page(TEXT, "<ul><li>Place: Oxford<li>Salary: <b>£31,500 a year</b></ul>"),
        read=titled,
    ),
    "A page of a manual in a later version, with a note of twenty words more": one_site(
        {"text": LONG_TEXT}, {"text": LONG_TEXT + paragraphs(sentences("a note", 20))}
    ),
    "The same page under a session id": one_site(STORY, STORY, to=f"{ONE}/first?sid=4f2a"),
    "The same page under a session id, the item only a URL and a title": both(
        page(TEXT), page(TEXT), to=f"{ONE}/first?sid=4f2a", read=titled
    ),
    "A print view of the page": both(
        page(thing(**STORY)), bare("A heading", thing(**STORY)), to=f"{ONE}/print/1"
    ),
    "A page at a print URL with another number in its text": both(
        page(thing(title="Tariff", text=f"{TEXT}<p>Tariff 12345</p>"), heading="Tariff"),
        bare("Tariff", thing(title="Tariff", text=f"{TEXT}<p>Tariff 54321</p>")),
        to=f"{ONE}/first/print",
    ),
    "A page of an old manual that names that of the new one canonical, with another number": both(
        *(
            page(thing(text=TEXT + note), heading="Pumps").replace(
                b"<title>", f"<link rel='canonical' href='{ONE}/first'><title>".encode()
            )
            for note in ("", "<p>Since 4.2, it stops at 90 degrees.</p>")
        ),
        to=f"{ONE}/old/first",
    ),
    "The same description at a different price": one_site(PRODUCT, PRODUCT | {"price": "€24.50"}),
    "The next edition of a gazette, its text in a file": one_site(
        {"title": "The Gazette", "file_urls": "/2024/a.pdf?token=1", "text": TEXT},
        {"title": "The Gazette", "file_urls": "/2024/b.pdf?token=1", "text": TEXT},
    ),
    "The same text under a different headline": one_site(STORY, STORY | {"title": "The flood"}),
    "A copy in a file, whose name is its title": one_site(
        STORY, STORY | {"title": "README.md"}, to=f"{ONE}/blob/README.md"
    ),
    "A second file with the same text, whose name is its title": Case(
        [
            {
                f"{ONE}/{name}": page(thing(**STORY | {"title": name}))
                for name in ("may.txt", "june.txt")
            }
        ],
        read=single,
    ),
    "A meeting of another month with the same agenda": one_site(
        {"committee": "Planning", "date": "12 May", "text": TEXT},
        {"committee": "Planning", "date": "9 June", "text": TEXT},
    ),
    "Another edition of a book with the same blurb": one_site(
        {"title": "The Lamp", "isbn": "9781234500017", "text": TEXT},
        {"title": "The Lamp", "isbn": "9781234500024", "text": TEXT},
    ),
    "A job ad that is the employer's long text but for the title": one_site(
        {"title": "Driver", "text": TEXT}, {"title": "Clerk", "text": TEXT}
    ),
    "A notice in the same words with a different number": one_site(
        {"text": TEXT + "<p>The hearing is in room 117.</p>"},
        {"text": TEXT + "<p>The hearing is in room 204.</p>"},
    ),
    "A notice in the same words with a different name": one_site(
        {"text": TEXT + "<p>The hearing is that of Miller.</p>"},
        {"text": TEXT + "<p>The hearing is that of Baker.</p>"},
    ),
    "A copy with more views and comments, counted in its text": one_site(
        {"text": TEXT + "<p>117 views</p><p>Comments (2)</p>"},
        {"text": TEXT + "<p>204 views</p><p>Comments (3)</p>"},
    ),
    "A copy from a JSON API, its text in HTML": api(
        {"title": "A flood", "content": {"rendered": TEXT}},
        {"title": "A flood", "content": {"rendered": f"<div class='wide'>{TEXT}</div>"}},
    ),
    "Another story from a JSON API under the same title, its text in HTML": api(
        {"title": "A flood", "content": {"rendered": TEXT}},
        {"title": "A flood", "content": {"rendered": OTHER_TEXT}},
    ),
    "A copy whose item says when it was fetched": one_site(STORY, STORY, read=fetched),
    "A copy whose item has a random id": one_site(
        STORY | {"uid": "5b1e8f0c"}, STORY | {"uid": "c07d2a94"}
    ),
    "A job ad of a second town, the town only in a table of the page": both(
        page("<table><tr><th>Location<td>Oakland</table>", thing(title="Driver", text=TEXT)),
        page("<table><tr><th>Location<td>Fresno</table>", thing(title="Driver", text=TEXT)),
    ),
    "A copy whose item has a line with another day ago and another number of views": one_site(
        STORY | {"meta": "News desk, 3 hours ago | 117 views"},
        STORY | {"meta": "News desk, 2 days ago | 204 views"},
    ),
    "A job ad of a second town on a second site, the town in a field and in the text": two_sites(
        {"city": "Bath", "text": f"{TEXT}<p>Our house in Bath hires.</p>"},
        {"city": "York", "text": f"{TEXT}<p>Our house in York hires.</p>"},
    ),
    "A copy with another number of views in a table of the page": both(
        page("<table><tr><th>Views<td>117</table>", thing(title="Driver", text=TEXT)),
        page("<table><tr><th>Views<td>204</table>", thing(title="Driver", text=TEXT)),
    ),
    "A stored page, as markup, with another date beside its heading": both(
        page("<time datetime='2024-05-12'>May</time>", TEXT),
        page("<time datetime='2024-06-09'>June</time>", TEXT),
        read=stored,
    ),
    "A stored page, as markup, with another price in its markup for machines": both(
        page("<b itemprop='price'>19.99</b>", TEXT),
        page("<b itemprop='price'>24.50</b>", TEXT),
        read=stored,
    ),
}

NOT_COMPARED = {
    "A page that the server sent as an error": both(
        Page(page(thing(**STORY)), status=404), Page(page(thing(**STORY)), status=404)
    ),
    "An item with a value that can't be read": both(
        page(thing(**STORY)), page(thing(**STORY)), read=unreadable
    ),
    "A table of contents with a line of text below its links": both(
        links_of(1), links_of(2), read=stored
    ),
    "A page that a script fills in the browser": both(
        bare("Loading", "<div id='app'></div>"),
        bare("Loading", "<div id='app'></div>"),
        read=stored,
    ),
}

CASES: Mapping[str, Case] = ACROSS_SITES | ON_ONE_SITE | LISTS | LATER | NOT_COMPARED

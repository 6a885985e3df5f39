"""Pages that look alike and are all different: terms of use, flats, cards, handbooks, releases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from benchmarks.noisy.site import Kind, Page
from benchmarks.noisy.words import Words, british, paras, slug

TERMS = {"title": "h1::text", "body": ".legal", "date": ".effective::text", "article": ".legal-page"}  # fmt: skip


def terms_of_use(random: Random, count: int, between: tuple[int, int] = (22, 45)) -> Iterator[Page]:
    """One template of a law firm, each site with its own names, state, address and day."""
    words = Words(random)
    holders = ["{firm}", "{site}", "{state}", "{mail}"]
    template = []
    for text in words.paragraphs(500, 700):
        parts = text.split()
        for place in range(random.randint(5, 12), len(parts), random.randint(*between)):
            parts[place] = random.choice(holders)
        template.append(" ".join(parts))
    heads = [f"{number}. {words.title(2, 4)}" for number in range(1, len(template) + 1)]
    for _ in range(count):
        firm, day = words.firm(), words.day()
        site = f"{slug(firm).replace('-', '')}.example"
        names = {"firm": firm, "site": site, "state": words.town(), "mail": f"legal@{site}"}
        body = "".join(
            f"<h3>{head}</h3><p>{text.format(**names)}</p>"
            for head, text in zip(heads, template, strict=True)
        )
        menu = "".join(
            f"<a href='/{n}'>{words.title(1, 2)}</a>" for n in range(random.randint(3, 7))
        )
        html = f"""<!doctype html><html lang="en"><head><title>Terms of Use | {firm}</title></head><body><nav>{menu}</nav><div class="legal-page"><h1>Terms of Use</h1>
<p class="effective">Effective {british(day)}</p><div class="legal">{body}</div></div><footer>© {firm}. {words.sentence(5, 9)}</footer></body></html>"""
        yield Page(f"https://www.{site}/terms", html.encode(), firm, TERMS)


def terms_with_many_names(random: Random, count: int) -> Iterator[Page]:
    return terms_of_use(random, count, (10, 24))


FLAT = {"title": "#expose-title::text", "body": ".expose-description", "category": ".address-block span::text", "updated": ".listed-since::text", "article": ".expose", "price": ".attr:nth-child(4) dd::text", "number": ".attr:nth-child(6) dd::text"}  # fmt: skip


def flats(random: Random, count: int) -> Iterator[Page]:
    """Flats of one house: floor, size and rent stand in a table above one description."""
    words = Words(random)
    texts, street, agent = words.paragraphs(150, 260), words.made().capitalize(), words.person()
    for number in range(count):
        floor, size = number // 4, 38 + 7 * (number % 4) + number // 8
        rent = 11 * size + 20 * floor
        rows = {"Floor": f"{floor} of 10", "Living area": f"{size} m²", "Rooms": f"{1 + size // 30}", "Rent": f"€{rent}", "Deposit": f"€{3 * rent}", "Flat no.": f"{floor}.{number % 4 + 1}"}  # fmt: skip
        table = "".join(
            f'<dl class="attr"><dt>{name}</dt><dd>{value}</dd></dl>' for name, value in rows.items()
        )
        html = f"""<!DOCTYPE html><html lang="en"><head><title>Flat to rent in {street} Street 12 - Homefinder</title></head><body><div class="hf-header"><a href="/">Homefinder</a><a>Save search</a></div>
<div class="expose"><h1 id="expose-title">Bright flat in {street} Street 12</h1><div class="address-block"><span>{street} Street 12</span></div><div class="attributes">{table}</div>
<div class="expose-description"><h4>Description</h4>{paras(texts)}</div><div class="listed-since">Listed {random.randint(1, 30)} days ago</div><div class="agent">Contact: {agent}</div>
<div class="hint">{random.randint(1, 30)} people saved this flat</div></div><footer>Homefinder. Imprint. Privacy.</footer></body></html>"""
        yield Page(
            f"https://www.homefinder.example/expose/{80000000 + 13 * number}",
            html.encode(),
            str(number),
            FLAT,
        )


CARD = {"title": ".card__name::text", "price": ".card__price::text", "body": ".card__blurb", "link": "a::attr(href)", "stock": ".card__stock::text", "comments": ".card__reviews::text"}  # fmt: skip


def cards(random: Random, count: int) -> Iterator[Page]:
    """Lists of ten products each, with the same sentence on delivery in every card."""
    words = Words(random)
    yield from card_list(
        words, [f"{words.title(2, 4)} {words.made()}" for _ in range(count)], "all"
    )


def cards_of_two_lists(random: Random, count: int) -> Iterator[Page]:
    """The same products once more on the list of offers, in another order."""
    words = Words(random)
    names = [f"{words.title(2, 4)} {words.made()}" for _ in range(count)]
    yield from card_list(words, names, "all")
    random.shuffle(names)
    yield from card_list(words, names, "offers")


def card_list(words: Words, names: list[str], path: str) -> Iterator[Page]:
    random, count = words.random, len(names)
    blurb = "Delivered within three days, and taken back for a month if you change your mind."
    for start in range(0, count, 10):
        numbers = range(start, min(start + 10, count))
        boxes = "".join(
            f"""<div class="card" id="c{number}"><a href="/p/{slug(names[number])}"><h4 class="card__name">{names[number]}</h4></a><span class="card__price">${5 + len(names[number])}.99</span>
<p class="card__blurb">{blurb}</p><em class="card__stock">{random.randint(1, 30)} in stock</em><i class="card__reviews">{random.randint(0, 99)} reviews</i></div>"""
            for number in numbers
        )
        html = f"""<!doctype html><html lang="en"><head><title>All lamps, page {start // 10 + 1}</title></head><body><h1>All lamps</h1><div class="grid">{boxes}</div></body></html>""".encode()
        for number in numbers:
            yield Page(
                f"https://lamps.example/{path}?page={start // 10 + 1}",
                html,
                names[number],
                CARD,
                f"#c{number}",
            )


INDEX = {"title": "h1::text", "body": "#results", "article": "#results"}


def list_pages(random: Random, count: int) -> Iterator[Page]:
    """The pages of a long list: six words of their own beside 160 that all share."""
    words = Words(random)
    labels = [words.sentence(9, 13) for _ in range(4)]
    lines = "".join(f"<span>{label}</span>" for label in labels)
    for number in range(count):
        entries = "".join(
            f'<li><a href="/member/{n}"><b>{words.person()}</b></a>{lines}</li>' for n in range(3)
        )
        html = f"""<!doctype html><html lang="en"><head><title>Members' register</title></head><body><header>Guild of Surveyors</header><main><h1>Members' register</h1>
<form><input placeholder="Name or town"><button>Find a member</button></form><ul id="results">{entries}</ul><div class="pager"><a href="?p={number + 2}">Next</a></div></main></body></html>"""
        yield Page(
            f"https://guild.example/register?p={number + 1}", html.encode(), str(number), INDEX
        )


MANUAL = {"title": "h1::text", "body": "[itemprop=articleBody]", "article": "[role=main]"}


def rewritten(words: Words, text: str, share: float) -> str:
    """A paragraph in which sentences were written again."""
    sentences = re.split(r"(?<=\.) ", text)
    return " ".join(words.sentence() if words.chance(share) else one for one in sentences)


def manuals(random: Random, count: int) -> Iterator[Page]:
    """Pages of a manual in two releases, whose texts share half to four fifths (J .5 to .8)."""
    words = Words(random)
    for number in range(count // 2):
        title, texts = words.title(2, 5), words.paragraphs(250, 600)
        for release in ("3.1", "4.0"):
            prose = "".join(
                f"<section><h2>{name}<a class='headerlink' href='#'>¶</a></h2><p>{text}</p></section>"
                for name, text in ((slug(text[:14]), text) for text in texts)
            )
            html = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} &#8212; Bramble {release} documentation</title></head><body><div class="related" role="navigation"><ul><li>index</li><li>next</li>
<li><a href="index.html">Bramble {release} documentation</a> »</li></ul></div><div class="document"><div class="body" role="main"><div itemprop="articleBody"><h1>{title}<a class="headerlink" href="#">¶</a></h1>{prose}</div></div>
<div class="sphinxsidebar"><h3>Table of Contents</h3><p>{title}</p><h3>This Page</h3><a>Show Source</a></div></div><div class="footer">© Copyright, Bramble developers. Created using Sphinx.</div></body></html>"""
            yield Page(
                f"https://docs.bramble.example/{release}/{slug(title)}.html",
                html.encode(),
                f"{number} {release}",
                MANUAL,
            )
            texts = [rewritten(words, text, 0.22) for text in texts]


def extended(random: Random, count: int) -> Iterator[Page]:
    """Pages of a manual whose next version has a sentence more."""
    words = Words(random)
    for number in range(count // 2):
        title, texts = words.title(2, 5), words.paragraphs(400, 700)
        for version in ("1.8", "1.9"):
            html = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} - Thistle manual</title></head><body><nav><a href="/">Thistle</a> <select><option>{version}</option></select></nav>
<main role="main"><h1>{title}</h1><div itemprop="articleBody">{paras(texts)}</div></main><footer>Made with MkDocs</footer></body></html>"""
            yield Page(
                f"https://thistle.example/{version}/{slug(title)}/",
                html.encode(),
                f"{number} {version}",
                MANUAL,
            )
            place = random.randrange(len(texts))
            texts[place] += " " + " ".join(words.sentence() for _ in range(2))


LEGAL = {
    "title": ".case-name::text",
    "body": ".opinion",
    "date": ".decided::text",
    "article": ".case",
}


def licences(random: Random, count: int) -> Iterator[Page]:
    """Permits of one authority: the holder, the plant and the numbers differ, conditions do not."""
    words = Words(random)
    conditions = words.paragraphs(200, 300)
    for number in range(count):
        firm, town, day = words.firm(), words.town(), words.day()
        tons = random.randint(200, 9000)
        texts = [f"This permit is granted to {firm} for the plant at {town}.", *conditions, f"The holder may treat up to {tons} tonnes a year.", f"Granted on {british(day)}."]  # fmt: skip
        html = f"""<!doctype html><html lang="en"><head><title>Permit EP{3000 + number}: {firm}</title></head><body><table class="frame"><tr><td class="menu"><a href="/">Register</a></td><td class="case">
<div class="case-name">Environmental permit EP{3000 + number}</div><div class="decided">{day:%d/%m/%Y}</div><div class="opinion">{paras(texts)}</div></td></tr></table></body></html>"""
        yield Page(
            f"https://register.waters.example/permit/EP{3000 + number}",
            html.encode(),
            str(number),
            LEGAL,
        )


NOTICE = {"title": "h1::text", "body": ".notice-text", "article": "article"}


def notices(random: Random, count: int) -> Iterator[Page]:
    """One form of words: a person, a street, a firm and a court differ, each named once."""
    words = Words(random)
    form = [words.paragraph(32) for _ in range(4)]
    for number in range(count):
        parts = [text.split(" ") for text in form]
        for part in parts:
            part[6:8] = [words.made().title(), words.made().title()]
        html = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Public notice - The Vale Gazette</title></head>
<body><header><a href="/">The Vale Gazette</a></header><article><h1>Public notice</h1><div class="notice-text">{paras([" ".join(part) for part in parts])}</div></article></body></html>"""
        yield Page(f"https://gazette.example/notice/{number}", html.encode(), str(number), NOTICE)


KINDS = (
    Kind("Notices, four names exchanged (all different)", notices),
    Kind("Terms of use, names exchanged (all different)", terms_of_use),
    Kind("Terms of use, more names (all different)", terms_with_many_names),
    Kind("Flats of one house (all different)", flats),
    Kind("Cards of a list (all different)", cards),
    Kind("Cards of two lists", cards_of_two_lists),
    Kind("Pages of a register (all different)", list_pages),
    Kind("Manual in two releases (all different)", manuals),
    Kind("Manual, a passage added (all different)", extended),
    Kind("Permits in the same words (all different)", licences),
)

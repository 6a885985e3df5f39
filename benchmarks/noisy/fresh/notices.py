"""Property portals, classified ads, branches, courses and a TV guide."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from benchmarks.noisy.fresh.posts import links
from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, british, paras, slug

PORTAL = {"title": "h1::text", "body": ".ad-description", "price": ".price-info::text", "place": ".main-info__title-minor::text", "number": ".reference::text", "updated": ".date-update-text::text", "views": ".stats-text b::text", "article": "main"}  # fmt: skip
AGENCY = {"title": "h2.title-property::text", "body": ".descripcion", "price": ".precio::text", "place": ".zona::text", "article": ".ficha"}  # fmt: skip
AD = {"title": "#viewad-title::text", "body": "#viewad-description-text", "date": "#viewad-extra-info span::text", "price": "#viewad-price::text", "place": "#viewad-locality::text", "views": "#viewad-cntr-num::text", "category": ".breadcrump-link:nth-child(2)::text", "article": "#viewad-main"}  # fmt: skip
BRANCH = {"title": "h1::text", "body": ".branch-text", "place": ".address::text", "article": "main"}
COURSE = {"title": "h1.course-title::text", "body": ".course-desc", "date": ".term::text", "number": ".course-code::text", "stock": ".seats::text", "article": "main"}  # fmt: skip
EPISODE = {"title": "h1 .title::text", "body": ".synopsis", "date": ".broadcast time::attr(datetime)", "category": ".genre::text", "views": ".rating-count::text", "article": "main"}  # fmt: skip


def property_portals(random: Random, count: int) -> list[Page]:
    """A house at its agency and on a portal, at one price; visits and contacts are counted."""
    words, pages = Words(random), []
    for number in range(count):
        title, place = f"House in {words.town()}, {words.made().capitalize()} Street", words.town()
        texts, price, size = words.paragraphs(120, 320), 1000 * random.randint(90, 900), random.randint(60, 300)  # fmt: skip
        features = [words.title(2, 4) for _ in range(5)]
        near = "".join(f"<article class='item'><a>{words.title(3, 6)}</a><span>{1000 * random.randint(90, 900):,} €</span></article>" for _ in range(4))  # fmt: skip
        portal = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}, {place} — hogarista</title></head><body><header>hogarista <a>Post your listing</a><a>Log in</a></header><main><div class="main-info__title"><h1>{title}</h1><span class="main-info__title-minor">{place}</span></div><span class="price-info">{price:,} €</span><div class="info-features"><span>{size} m²</span><span>{1 + size // 40} bed.</span></div><div class="comment"><h2>Advertiser's comment</h2><div class="ad-description">{paras(texts)}</div></div>
<h2>Basic features</h2><ul>{paras(features, "li")}</ul><p class="date-update-text">Listing updated {random.randint(2, 30)} days ago</p><div class="stats-text">Views <b>{random.randint(10, 3000)}</b> Email contacts {random.randint(0, 20)} Saved {random.randint(0, 90)} times</div><div>Reference <span class="reference">{random.randrange(10**7, 10**8)}</span></div></main><section><h2>Similar houses</h2>{near}</section></body></html>"""
        own = f"""<html><head><meta charset="utf-8"><title>Villas Mar | {title}</title></head><body><div class="menu">Home Sales Rentals Sell with us Contact</div><div class="ficha"><h2 class="title-property">{title}</h2><span class="zona">{place}</span><span class="precio">€{price:,}</span><table><tr><td>Built</td><td>{size} m²</td></tr><tr><td>Bedrooms</td><td>{1 + size // 40}</td></tr></table><div class="descripcion">{paras(texts)}</div><ul>{paras(features, "li")}</ul><form>I am interested in this property Name Phone Send</form></div><div class="foot">Villas Mar, licensed agents</div></body></html>"""
        pages += [Page(f"https://www.hogarista.example/listing/{90000000 + 31 * number}/", portal.encode(), str(number), PORTAL), Page(f"https://villasmar.example/en/{slug(title)}-{number}", own.encode(), str(number), AGENCY)]  # fmt: skip
    return shuffled(random, pages)


def classified(random: Random, count: int) -> list[Page]:
    """An ad under its full and its short address, or through a search; views are counted."""
    words, pages = Words(random), []
    for number in range(count):
        title, texts, who = words.title(3, 7), words.paragraphs(90, 220), words.person()
        day, place, price, views = words.day(), f"{random.randint(10000, 99999)} {words.town()}", random.randint(5, 900), random.randint(1, 90)  # fmt: skip
        section, key = words.word().capitalize(), 2700000000 + 7919 * number
        for path in (f"/s-ad/{slug(title)}/{key}-175-{number}", random.choice([f"/s-ad/{key}", f"/s-ad/{slug(title)}/{key}-175-{number}?utm_source=share&utm_medium=social", f"/s-ad/{slug(title)}/{key}-175-{number}#from-search"])):  # fmt: skip
            views += random.randint(1, 50)
            html = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} in {place.split()[1]} - {section} | Smallads</title><link rel="canonical" href="https://www.smallads.example/s-ad/{slug(title)}/{key}-175-{number}"></head><body><header>Smallads Sign up Log in Post an ad</header><nav class="breadcrump"><a class="breadcrump-link">Smallads</a><a class="breadcrump-link">{section}</a></nav><main id="viewad-main"><h1 id="viewad-title">{title}</h1><h2 id="viewad-price">{price} € VB</h2><span id="viewad-locality">{place}</span><div id="viewad-extra-info"><span>{day:%d.%m.%Y}</span> <span id="viewad-cntr"><i></i><span id="viewad-cntr-num">{views}</span></span></div>
<div id="viewad-description"><p id="viewad-description-text">{"<br>".join(texts)}</p></div><div id="viewad-contact"><b>{who}</b> Active since 03.2017 {"TOP Satisfaction" if number % 2 else "Friendly"} <a>{random.randint(1, 9)} ads online</a></div><div>Ad ID {key}</div></main><section><h2>Other ads of this person</h2><ul>{links(words, 3)}</ul><h2>You may also like</h2><ul>{links(words, 6)}</ul></section></body></html>"""
            pages.append(Page(f"https://www.smallads.example{path}".replace("#", "?ref="), html.encode(), str(number), AD))  # fmt: skip
    return copies_last(pages)


def branches(random: Random, count: int) -> Iterator[Page]:
    """The branches of a bank: one text with the town in it, another street, telephone, hours."""
    words = Words(random)
    frame = words.paragraphs(200, 240)
    towns = dict.fromkeys(words.town() for _ in range(40 * count))
    for town in [*towns][:count]:
        street = f"{random.randint(1, 99)} {words.made().capitalize()} Road"
        phone = f"01{random.randint(200, 999)} {random.randint(100000, 999999)}"
        rows = "".join(f"<tr><td>{day}</td><td>9:{random.choice(['00', '30'])} - {random.randint(3, 6)}:00</td></tr>" for day in ("Monday", "Tuesday", "Friday"))  # fmt: skip
        html = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{town} branch | Bank of the West</title></head><body><header>Bank of the West Personal Business Log in</header><main><h1>{town} branch</h1><p class="address">{street}, {town}</p><p>Telephone {phone}</p><table>{rows}</table><div class="branch-text"><p>Welcome to our branch in {town}.</p>{paras(frame)}<p>You find us at {street}.</p></div></main><footer>Bank of the West is authorised by the authority</footer></body></html>"""
        yield Page(f"https://branches.bankwest.example/{slug(town)}", html.encode(), town, BRANCH)


def courses(random: Random, count: int) -> Iterator[Page]:
    """A course in several terms: lecturer, days and room differ, seats are left."""
    words = Words(random)
    for number in range(count):
        if number % 4 == 0:
            title, texts = words.title(2, 5), words.paragraphs(120, 260)
            code = f"{random.choice(['HIST', 'CHEM', 'MATH'])} {random.randint(101, 499)}"
        term, section = ("Fall", "Spring")[number % 2], 2022 + number % 4 // 2
        html = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{code} {title} | Course Catalog</title></head><body><header>College of Fairham Catalog Calendar</header><main><p class="course-code">{code}</p><h1 class="course-title">{title}</h1><p class="term">{term} {section}</p><div class="course-desc">{paras(texts)}</div><table><tr><td>Instructor</td><td>{words.person()}</td></tr><tr><td>Room</td><td>{words.made().capitalize()} Hall {random.randint(100, 420)}</td></tr><tr><td>Meets</td><td>{random.choice(["MWF", "TR"])} {random.randint(8, 16)}:30</td></tr><tr><td>Seats left</td><td class="seats">{random.randint(0, 40)}</td></tr></table></main><footer>College of Fairham</footer></body></html>"""
        yield Page(f"https://catalog.college.example/{term.lower()}-{section}/{slug(code)}", html.encode(), str(number), COURSE)  # fmt: skip


def episodes(random: Random, count: int) -> Iterator[Page]:
    """Episodes of a series: its description and cast on every page, a sentence on each."""
    words = Words(random)
    frame, cast = words.paragraphs(130, 170), [words.person() for _ in range(8)]
    for number in range(count):
        name, day = words.title(2, 4), words.day(2023, 2024)
        html = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>The Harbour Doctor - TV guide</title></head><body><header>TV guide Now Tonight Films Sport</header><main><h1><span class="series">The Harbour Doctor</span> <span class="title">{name}</span></h1><p class="episode">Series {1 + number // 10}, episode {1 + number % 10}</p><p class="broadcast"><time datetime="{day:%Y-%m-%dT%H:%M}">{british(day)}, {day:%H:%M}</time> Channel {random.randint(1, 9)}</p><div class="synopsis"><p>{words.sentence(9, 16)}</p>{paras(frame)}</div><span class="genre">Drama</span><ul>{paras(cast, "li")}</ul><span class="rating-count">{random.randint(3, 400)} ratings</span></main><aside><h2>Also on tonight</h2><ul>{links(words, 5)}</ul></aside></body></html>"""
        yield Page(f"https://www.tvguide.example/e/{60000 + 13 * number}", html.encode(), str(number), EPISODE)  # fmt: skip


KINDS = (
    Kind("Houses at an agency and a portal", property_portals),
    Kind("Classified ads: short addresses", classified),
    Kind("Branches of a bank (all different)", branches),
    Kind("Courses by term (all different)", courses),
    Kind("Episodes of a series (all different)", episodes),
)

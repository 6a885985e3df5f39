"""Job boards: the ads of one employer, which all differ, and ads that two boards show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random

from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, british, paras, slug

CAREERS = {"title": ".job-header h1::text", "body": ".job-description", "date": ".posted-on::attr(data-date)", "category": ".job-department::text", "article": ".job-page"}  # fmt: skip
BOARD = {"title": "h2.vacancy-title::text", "body": ".vacancy__copy", "date": ".vacancy__facts time::attr(datetime)", "views": ".vacancy__applied b::text", "updated": ".vacancy__age::text", "category": ".vacancy__sector::text", "article": ".vacancy"}  # fmt: skip
PLAIN = {"title": "td.headline b::text", "body": "td.adtext", "date": "td.meta i::text", "article": "table.ad"}  # fmt: skip


class Ad:
    def __init__(self, words: Words, role: str, texts: list[str], firm: str) -> None:
        self.role, self.texts, self.firm = role, texts, firm
        self.town = words.town()
        self.sector = words.random.choice(["Retail", "Logistics", "Sales"])
        self.reference = f"R-{words.random.randint(230000, 249999)}"
        self.day = words.day(2023, 2025)
        self.pay = 21 + words.random.randrange(30)

    @property
    def path(self) -> str:
        return f"{slug(self.role)}-{slug(self.town)}-{self.reference}"


def different_towns(words: Words, count: int) -> list[str]:
    towns = dict[str, None]()
    while len(towns) < count:
        towns[words.town()] = None
    return [*towns]


def careers(words: Words, ad: Ad) -> bytes:
    """An employer's own site, with a JobPosting for machines."""
    posting = {"@context": "https://schema.org/", "@type": "JobPosting", "title": ad.role,
               "datePosted": f"{ad.day:%Y-%m-%d}", "identifier": {"@type": "PropertyValue", "value": ad.reference},
               "hiringOrganization": {"@type": "Organization", "name": ad.firm},
               "jobLocation": {"@type": "Place", "address": {"addressLocality": ad.town, "addressCountry": "GB"}}}  # fmt: skip
    similar = "".join(
        f'<li><a href="/job/{n}">{words.title(2, 4)}, {words.town()}</a></li>' for n in range(3)
    )
    return f"""<!DOCTYPE html><html lang="en-GB"><head><meta charset="utf-8"><title>{ad.role} in {ad.town} | Careers at {ad.firm}</title>
<script type="application/ld+json">{json.dumps(posting)}</script></head><body><header class="phw-header"><a href="/">Careers at {ad.firm}</a>
<button>Save job</button></header><div class="job-page"><section class="job-header"><h1>{ad.role}</h1><ul class="job-facts">
<li class="job-location">{ad.town}, United Kingdom</li><li class="job-department">Operations</li><li class="job-id">Job Id {ad.reference}</li>
<li class="posted-on" data-date="{ad.day:%Y-%m-%d}">Posted {british(ad.day)}</li></ul><a class="apply" href="/apply?jobSeqNo={ad.reference}">Apply now</a></section>
<section class="job-description">{paras(ad.texts)}<p>Location: {ad.town}. Reference {ad.reference}.</p></section></div>
<section class="similar-jobs"><h2>Similar jobs</h2><ul>{similar}</ul></section><footer>Equal opportunities at {ad.firm}</footer></body></html>""".encode()


def board(words: Words, ad: Ad, *, suffix: str = "") -> bytes:
    """A large board: counts who applied, says how long ago, lists other vacancies in cards."""
    cards = "".join(
        f'<div class="vacancy-card"><a href="/vacancy/{n}"><h3>{words.title(2, 4)}</h3></a><p>{words.firm()}, {words.town()}</p><span>{words.random.randint(1, 28)} days ago</span></div>'
        for n in range(6)
    )
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{ad.role} job in {ad.town} with {ad.firm}{suffix} - Totalwork</title></head>
<body><div id="__next"><nav class="top"><a href="/">Totalwork</a><a href="/signin">Sign in</a></nav><p class="cookie">We use cookies to improve your search.</p>
<main><section class="vacancy"><h2 class="vacancy-title">{ad.role}</h2><div class="vacancy__facts"><span>{ad.firm}</span> <span>{ad.town}</span>
<span>£{ad.pay},000 a year</span> <span class="vacancy__sector">{ad.sector}</span> <time datetime="{ad.day:%Y-%m-%d}">{ad.day:%d/%m/%Y}</time>
<span class="vacancy__age">Updated {words.random.randint(2, 23)} hours ago</span><span class="vacancy__applied"><b>{words.random.randint(3, 200)}</b> applied</span></div>
<div class="vacancy__copy">{paras(ad.texts)}<p>Place of work: {ad.town}. Ref: {ad.reference}</p></div><button>Apply</button><button>Report this job</button></section>
<aside><h4>People also viewed</h4>{cards}</aside></main></div></body></html>""".encode()


def plain(words: Words, ad: Ad) -> bytes:
    """A local board in tables, from long ago."""
    return f"""<html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"><title>Jobs: {ad.role} ({ad.town})</title></head><body bgcolor="#ffffff">
<table width="780"><tr><td colspan="2" class="top"><a href="index.asp">Vale Jobs</a> | <a href="search.asp">Search</a></td></tr><tr><td class="left" width="140">
<a href="c.asp?c=1">Drivers</a><br><a href="c.asp?c=2">Care</a><br><a href="c.asp?c=3">Shops</a><br>Visitors: {words.random.randint(10**5, 10**6)}</td><td>
<table class="ad"><tr><td class="headline"><b>{ad.role}</b></td></tr><tr><td class="meta"><i>{ad.day:%d.%m.%Y}</i> {ad.firm}, {ad.town} ({ad.reference})</td></tr>
<tr><td class="adtext">{"<br><br>".join(ad.texts)}<br><br>Town: {ad.town}</td></tr></table></td></tr></table></body></html>""".encode()


def one_employer(random: Random, count: int) -> Iterator[Page]:
    """The same work in many towns: a vacancy each, on the employer's site and two boards."""
    words = Words(random)
    towns = different_towns(words, count)
    firm, texts, role = words.firm(), words.paragraphs(280, 420), "Store team member"
    for number in range(count):
        ad = Ad(words, role, texts, firm)
        ad.town = towns[number]
        which = number % 3
        make, selectors, host = ((careers, CAREERS, "careers.firm"), (board, BOARD, "www.totalwork"), (plain, PLAIN, "valejobs"))[which]  # fmt: skip
        yield Page(
            f"https://{host}.example/job/{ad.path}", make(words, ad), ad.reference, selectors
        )


def roles_of_an_employer(random: Random, count: int) -> Iterator[Page]:
    """One board, an employer with some roles in some towns each; they share the text on the firm."""
    words = Words(random)
    towns = different_towns(words, count)
    firm, about = words.firm(), words.paragraphs(150, 200)
    for number in range(count):
        if number % 5 == 0:
            role, own = f"{words.made().capitalize()} engineer", words.paragraphs(100, 200)
            day, pay = words.day(2023, 2025), random.randint(30, 60)
        ad = Ad(words, role, [*own, *about], firm)
        ad.day, ad.pay, ad.town = day, pay, towns[number]
        yield Page(
            f"https://www.totalwork.example/job/{ad.path}", board(words, ad), ad.reference, BOARD
        )


def two_boards(random: Random, count: int) -> list[Page]:
    """An ad on a large board and on a local one, and on the large one under a parameter."""
    words, pages = Words(random), []
    for number in range(count):
        role = words.title(2, 4)
        ad = Ad(words, role, words.paragraphs(180, 420), words.firm())
        url = f"https://www.totalwork.example/job/{ad.path}"
        pages.append(Page(url, board(words, ad), str(number), BOARD))
        if number % 2:
            pages.append(Page(f"https://valejobs.example/ad.asp?id={4000 + number}", plain(words, ad), str(number), PLAIN))  # fmt: skip
        else:
            again = f"{url}?source=search&position={number}"
            pages.append(Page(again, board(words, ad, suffix=" (ref. search)"), str(number), BOARD))
    return shuffled(random, pages) if count % 2 else copies_last(pages)


KINDS = (
    Kind("Jobs: one employer, three boards (all different)", one_employer, 45),
    Kind("Jobs: roles of an employer (all different)", roles_of_an_employer, 45),
    Kind("Jobs: two boards", two_boards, 41),
)

"""Public bodies: a city's news in TYPO3, a Drupal ministry, council meetings, court hearings."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from random import Random

from benchmarks.noisy.aside._stories import Story, hexadecimal, ld, menu, some, stories
from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, british, paras, slug

TYPO3 = {
    "title": "h1[itemprop=headline]::text",
    "body": ".news-text-wrap",
    "date": ".news-list-date time::attr(datetime)",
    "category": ".news-list-category::text",
    "article": "main",
}
TYPO3_PRINT = {"title": "h1::text", "body": ".news-text-wrap", "date": "time::attr(datetime)"}


def _typo3(random: Random, story: Story, others: list[Story]) -> str:
    """The page, with the weather, events and water levels of the moment beside it."""
    latest = "\n".join(
        f'<li><a href="/news/{other.slug}/">{other.title}</a><span>{other.day:%d.%m.%Y}</span></li>'
        for other in others
    )
    events = "\n".join(
        f'<div class="event"><strong>{random.randint(1, 28):02}.{random.randint(1, 12):02}.</strong> {place}</div>'
        for place in some(
            random,
            [
                "Weekly market, Market Square",
                "Guided tour of the old town",
                "Children's theatre, Town Hall",
                "Blood donation, Fire station",
                "Organ concert, St Mary",
            ],
            3,
        )
    )
    return f"""<!DOCTYPE html><html lang="en-GB" dir="ltr"><head>
<!-- This website is powered by TYPO3 - inspiring people to share! --><title>{story.title}: City of Oakhurst</title><meta name="generator" content="TYPO3 CMS"><meta name="description" content="{story.teaser}"></head><body id="p{random.choice([812, 812, 37])}" class="layout-subnavigation"><a class="sr-only" href="#content">Skip to main content</a>
<div id="cookieman-modal">We use cookies. Some are necessary, others help us to improve this website. <button>Save selection</button> <button>Accept all</button></div> <header><a href="/">City of Oakhurst</a>{menu(["Citizens & services", "Culture & leisure", "Economy", "Town hall"], css="navbar-nav")}<div class="weather">Today {random.randint(-4, 33)} °C</div></header>
<nav class="breadcrumb-section"><ol class="breadcrumb"><li><a href="/">Start</a></li> <li><a href="/town-hall/">Town hall</a></li> <li><a href="/town-hall/news/">News</a></li> <li class="active">{story.title}</li></ol></nav>
<!--TYPO3SEARCH_begin--><main id="page-content"><div class="news news-single"><div class="article" itemscope itemtype="http://schema.org/Article"><div class="header"><h1 itemprop="headline">{story.title}</h1></div> <div class="footer"><p><span class="news-list-date"><time itemprop="datePublished" datetime="{story.day:%Y-%m-%d}">{story.day:%d.%m.%Y}</time></span> <span class="news-list-category">{["Press release", "Road works", "Culture"][story.number % 3]}</span></p></div>
<div class="teaser-text" itemprop="description"><p>{story.teaser}</p></div> <div class="news-text-wrap" itemprop="articleBody">{paras(story.texts)}</div> <div class="news-backlink-wrap"><a href="/town-hall/news/">Back</a></div> <div class="tools"><a href="?type=98">Print page</a> <a>Read aloud</a> <a>Recommend</a></div></div></div></main><!--TYPO3SEARCH_end-->
<aside><h3>Latest news</h3> <ul>{latest}</ul> <h3>Coming up</h3>{events}<h3>River level</h3> <p>{random.randint(80, 400)} cm, {random.randint(0, 23):02}:00</p> <h3>Contact</h3> <p>City of Oakhurst, Market Square 1. Monday to Friday 8 am to 12 noon, Thursday 2 pm to 6 pm.</p></aside><footer>{menu(["Imprint", "Data protection", "Accessibility statement", "Sitemap"])}</footer></body></html>"""


def _typo3_print(story: Story) -> str:
    return f"""<!DOCTYPE html><html lang="en-GB"><head><title>{story.title}</title><meta name="robots" content="noindex,follow"></head><body onload="window.print()"><img src="/logo-print.png" alt="City of Oakhurst"><div class="news news-single"><h1>{story.title}</h1> <time datetime="{story.day:%Y-%m-%d}">{story.day:%d.%m.%Y}</time><p class="lead">{story.teaser}</p> <div class="news-text-wrap">{paras(story.texts)}</div></div> <hr><p>City of Oakhurst, Market Square 1, www.oakhurst.example</p></body></html>"""


def typo3(random: Random, count: int) -> Iterator[Page]:
    words, pages = Words(random), []
    written = stories(words, count, 100, 450)
    root = "https://www.oakhurst.example/"
    for story in written:
        check = hexadecimal(random, 32)
        old = f"index.php?id=812&tx_news_pi1[news]={story.number + 2200}&tx_news_pi1[controller]=News&tx_news_pi1[action]=detail&cHash={check}"
        path = f"town-hall/news/detail/{story.slug}/"
        ends = [
            path,
            f"{path}?type=98&cHash={check}",
            old,
            f"start/{story.slug}/",
            f"{path}?no_cache=1",
        ]
        for end in some(random, ends, random.choice([2, 2, 3])):
            is_print = "type=98" in end
            html = (
                _typo3_print(story) if is_print else _typo3(random, story, some(random, written, 4))
            )
            pages.append(
                Page(root + end, html.encode(), story.thing, TYPO3_PRINT if is_print else TYPO3)
            )
    yield from shuffled(random, pages)


DRUPAL = {
    "title": "h1.page-header span::text",
    "body": ".field--name-body",
    "date": ".field--name-field-date time::attr(datetime)",
    "updated": ".node-updated::text",
    "views": ".statistics-counter::text",
    "article": "article",
}
DRUPAL_PRINT = {
    "title": "h1 span::text",
    "body": ".field--name-body",
    "date": "time::attr(datetime)",
}


def drupal(random: Random, count: int) -> Iterator[Page]:
    """A ministry: by alias, by number of the node, for a printer or a PDF, and of its agency."""
    words, pages = Words(random), []
    written = stories(words, count, 120, 600)
    for story in written:
        node = 5100 + 3 * story.number
        document = f'<div class="file"><a href="/sites/default/files/{node}.pdf">{story.title} (PDF, {random.randint(90, 900)} KB)</a></div>'
        for which in some(random, ["alias", "node", "print", "agency"], random.choice([2, 3])):
            stamp = f'<time datetime="{story.day:%Y-%m-%dT12:00:00Z}">{british(story.day)}</time>'
            if which == "print":
                html = f"""<!DOCTYPE html><html lang="en" dir="ltr"><head><title>{story.title}</title><base href="https://ministry.example/node/{node}"></head><body><div class="print-logo"></div> <article class="node node--type-article node--view-mode-pdf"><h1><span class="field--name-title">{story.title}</span></h1>{stamp}<div class="clearfix text-formatted field--name-body">{paras(story.texts)}</div></article><div class="source_url">Source URL: https://ministry.example/news/{story.slug}</div></body></html>"""
                pages.append(
                    Page(
                        f"https://ministry.example/print/pdf/node/{node}/debug",
                        html.encode(),
                        story.thing,
                        DRUPAL_PRINT,
                    )
                )
                continue
            name = "Agency for Waters" if which == "agency" else "Ministry of Works"
            listed = "\n".join(
                f'<div class="views-row"><span class="field-content"><a href="/news/{other.slug}">{other.title}</a></span> <span>{british(other.day)}</span></div>'
                for other in some(random, written, 5)
            )
            html = f"""<!DOCTYPE html><html lang="en" dir="ltr" prefix="og: https://ogp.me/ns#"><head><title>{story.title} | {name}</title><meta name="Generator" content="Drupal 10"><link rel="shortlink" href="https://ministry.example/node/{node}">{ld(type="NewsArticle", headline=story.title, datePublished=story.day.isoformat())}</head><body class="path-node page-node-type-article"><a href="#main-content" class="visually-hidden focusable skip-link">Skip to main content</a><div class="region region-header"><a href="/">{name}</a>{menu(["News", "Topics", "Services", "Publications", "The minister"], css="menu menu--main nav")}</div>
<div class="region region-breadcrumb"><ol class="breadcrumb"><li><a href="/">Home</a></li> <li><a href="/news">News</a></li></ol></div> <div class="region region-content"><h1 class="page-header"><span>{story.title}</span></h1> <article data-history-node-id="{node}" class="node article is-promoted full clearfix"><div class="field field--name-field-date">{stamp}</div> <div class="node__content"><div class="clearfix text-formatted field field--name-body field__item">{paras(story.texts)}</div>{document}</div>
<ul class="links inline list-inline"><li class="statistics-counter">{random.randint(30, 9000)} views</li> <li><a href="/print/node/{node}">Printer-friendly version</a></li></ul> <p class="node-updated">Last updated: {british(story.day)}</p></article></div> <aside class="region region-sidebar-second"><h2 class="block-title">{"News of the agency" if which == "agency" else "Recent news"}</h2> <div class="view-content">{listed}</div> <h2>Was this page helpful?</h2> <form>Yes No <textarea></textarea></form></aside><footer>{menu(["Accessibility", "Freedom of information", "Contact", "RSS"])}</footer></body></html>"""
            url = {
                "alias": f"https://ministry.example/news/{story.slug}",
                "node": f"https://ministry.example/node/{node}",
                "agency": f"https://waters.agency.example/press/{story.slug}",
            }[which]
            pages.append(Page(url, html.encode(), story.thing, DRUPAL))
    yield from copies_last(shuffled(random, pages))


COUNCIL = {
    "title": "h1::text",
    "body": "#agenda",
    "date": ".meeting-date::text",
    "article": "#content",
}
BODIES = ["Finance Committee", "Planning Committee", "Town Council", "Schools Committee"]
ITEMS = ["Apologies for absence", "Declarations of interest", "Minutes of the last meeting"]
MATTERS = [
    "resurfacing of {}",
    "tree works in {}",
    "parking in {}",
    "a grant for {} Football Club",
    "street lights in {}",
    "the lease of {} Hall",
    "drainage at {}",
    "the playground in {}",
]
LAST = ["Reports of working groups", "Correspondence", "Date of the next meeting"]
INVITED = "Members of the Council are hereby summoned to attend the meeting named below for the purpose of transacting the following business. Members of the public and the press are welcome to attend. There is a period of fifteen minutes at the beginning in which members of the public may put questions; each speaker may speak for up to three minutes. The meeting may be recorded. Persons who need a loop or other help are asked to call the office two working days before the meeting."


def council(random: Random, count: int) -> Iterator[Page]:
    """Notices of meetings: the same words, another day and other matters on the agenda."""
    words = Words(random)
    streets = [f"{words.town()} {end}" for end in ("Road", "Lane", "Street") for _ in range(4)]
    day = dt.date(2022, 1, 11)
    for number in range(count):
        body = BODIES[number % len(BODIES)]
        day += dt.timedelta(days=random.choice([5, 7, 7, 14]))
        matters = [
            matter.format(random.choice(streets))
            for matter in random.sample(MATTERS, random.randint(2, 4))
        ]
        agenda = [*ITEMS, *(f"To consider {matter}" for matter in matters), *LAST]
        rows = "\n".join(f"<li>{item}.</li>" for item in agenda)
        weekday = f"{day:%A}, {day.day} {day:%B %Y}"
        html = f"""<html><head><title>Notice of meeting - {body}</title><meta name="author" content="Town Clerk"></head><body><div id="banner"><a href="index.asp">Thornbury Town Council</a></div> <div id="leftnav">{menu(["Home", "Councillors", "Meetings", "Allotments", "Cemetery", "News", "Contact"])}</div>
<div id="content"><h1>{body}: notice of meeting</h1> <p class="meeting-date">{weekday}</p> <div id="agenda"><p>{INVITED}</p> <p>The {body} meets on {weekday} at {random.choice(["7 pm", "7.30 pm"])} in {random.choice(["the Council Chamber", "the Jubilee Room"])}, Town Hall, High Street.</p> <ol>{rows}</ol> <p>Signed: R. Harding, Town Clerk, {(day - dt.timedelta(days=6)):%d/%m/%Y}</p></div> <p><a href="docs/{day:%Y%m%d}.pdf">Download as PDF</a></p></div> <div id="footer">Office hours: Monday to Thursday, 9.30 am to 1 pm. This page was viewed {random.randint(10, 400)} times.</div></body></html>"""
        yield Page(
            f"http://www.thornbury-tc.example/meeting.asp?id={900 + number}",
            html.encode(),
            str(number),
            COUNCIL,
        )


HEARING = {
    "title": "h2.ui-title::text",
    "body": ".decision-list",
    "date": "time::attr(datetime)",
    "category": ".court::text",
    "article": "main",
}
COURTS = ["Local Court Millford", "Regional Court Westwick", "Labour Court Kingsport"]
CLAIMS = [
    "payment of purchase price",
    "damages after a traffic accident",
    "eviction and surrender of a flat",
    "unpaid wages",
    "defects of a building",
    "refund of the fare",
]
RULES = "The hearing is public unless the court orders otherwise. Visitors pass a security check at the main entrance and must show an identity card or passport; please allow for waiting time. Recordings of sound or picture are permitted in the courtroom only with the leave of the presiding judge. Dates may be cancelled at short notice, also on the same day; no claims can be derived from this notice. Representatives of the media are asked to register with the press office of the court."


def hearings(random: Random, count: int) -> Iterator[Page]:
    """Dates of hearings of three courts: file number, parties, room and hour."""
    words = Words(random)
    for number in range(count):
        court, day = (
            random.choice(COURTS),
            dt.date(2024, 3, 1) + dt.timedelta(days=random.randint(0, 60)),
        )
        file = f"{random.randint(1, 30)} {random.choice('CO')} {random.randint(10, 990)}/{random.randint(21, 23)}"
        hour = f"{random.randint(9, 15):02}:{random.choice(['00', '15', '30', '45'])}"
        plaintiff, defendant = (
            words.firm() if random.random() < 0.5 else words.person(),
            words.person(),
        )
        claim = random.choice(CLAIMS)
        rows = [
            ("Court", court),
            ("File number", file),
            ("Matter", claim.capitalize()),
            ("Date", f"{day:%d.%m.%Y}, {hour}"),
            ("Room", f"{random.choice('ABC')} {random.randint(101, 340)}"),
            ("Presiding judge", f"Judge {words.person()}"),
        ]
        table = "\n".join(
            f'<div class="row"><span class="label">{name}</span> <span class="value">{value}</span></div>'
            for name, value in rows
        )
        html = f"""<!DOCTYPE html><html lang="en"><head><title>Hearing dates | Justice portal</title><meta name="robots" content="noarchive"></head><body class="jsf"><header role="banner">Justice portal of the state {menu(["Courts", "Prosecutors", "Forms", "Land register", "Auctions"])}</header><div class="ui-breadcrumb">Start &gt; Hearing dates &gt; Detail</div>
<main><h2 class="ui-title">Hearing in civil proceedings</h2> <time datetime="{day:%Y-%m-%d}">{day:%d.%m.%Y}</time><div class="court">{court}</div> <div class="decision-list"><div class="sum">In the matter of {plaintiff} against {defendant} for {claim} the {court} hears the parties on {british(dt.datetime.combine(day, dt.time(), dt.UTC))} at {hour}.</div>{table}<div class="hint">{RULES}</div></div> <div class="ui-button">New search</div></main><footer role="contentinfo">As of {random.randint(6, 20):02}:{random.randint(0, 59):02}. Imprint. Data protection.</footer></body></html>"""
        yield Page(
            f"https://justice.state.example/dates/detail.xhtml?az={slug(file)}&v={number}",
            html.encode(),
            f"{number}",
            HEARING,
        )


KINDS = (
    Kind("TYPO3: city with print views", typo3, 40),
    Kind("Drupal: ministry, nodes, agency", drupal, 35),
    Kind("Council: notices of meetings", council, 40),
    Kind("Courts: hearings by file number", hearings, 40),
)

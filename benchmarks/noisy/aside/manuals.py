"""Manuals of versions, a wiki and its mirror, recipes, events; notes and references that differ."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from random import Random

from benchmarks.noisy.aside._stories import Story, ld, menu, og, some, stories
from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, british, paras, slug

SPHINX = {"title": "section > h1::text", "body": "[itemprop=articleBody]", "article": "[role=main]"}


def _sphinx(
    story: Story, names: list[str], version: str, release: str, neighbours: list[Story]
) -> str:
    toc = "\n".join(
        f'<li class="toctree-l1"><a class="reference internal" href="{slug(name)}.html">{name}</a></li>'
        for name in names
    )
    parts = "\n".join(
        f'<section id="id{place}">{f"<h2>{neighbours[0].title[:20]} {place}<a class=headerlink href=#id{place}>¶</a></h2>" if place and place % 2 == 0 else ""}<p>{text}</p></section>'
        for place, text in enumerate(story.texts)
    )
    before, after = neighbours[:2]
    return f"""<!DOCTYPE html><html class="writer-html5" lang="en"><head><meta name="viewport" content="width=device-width"><title>{story.title} &mdash; Quarry {release} documentation</title><link rel="canonical" href="https://quarry.docs.example/en/stable/{story.slug}.html"></head><body class="wy-body-for-nav"><div class="wy-grid-for-nav"><nav class="wy-nav-side"><a href="index.html" class="icon icon-home"> Quarry</a><div class="version">{release}</div> <form>Search docs</form><div class="wy-menu wy-menu-vertical"><p class="caption"><span class="caption-text">User guide</span></p> <ul>{toc}</ul></div></nav>
<section class="wy-nav-content-wrap"><div class="rst-content"><div role="navigation" aria-label="Page navigation"><ul class="wy-breadcrumbs"><li><a href="index.html">Home</a></li> <li class="breadcrumb-item active">{story.title}</li> <li class="wy-breadcrumbs-aside"><a href="https://git.example/quarry/blob/{version}/docs/{story.slug}.rst">Edit on GitHub</a></li></ul> <hr></div> <div role="main" class="document" itemscope itemtype="http://schema.org/Article"><div itemprop="articleBody"><section id="{story.slug}"><h1>{story.title}<a class="headerlink" href="#{story.slug}" title="Link to this heading">¶</a></h1>{parts}</section></div></div>
<footer><div class="rst-footer-buttons"><a class="btn" href="{before.slug}.html">Previous</a> <a class="btn" href="{after.slug}.html">Next</a></div> <hr><p>&#169; Copyright 2012-2024, Quarry developers. <span class="commit">Revision <code>{version}</code>.</span></p>Built with Sphinx using a theme provided by Read the Docs.</footer></div></section></div> <div class="rst-versions">Read the Docs v: {version} Versions latest stable 3.1 3.0 Downloads pdf epub On Read the Docs Project Home Builds</div></body></html>"""


def sphinx(random: Random, count: int) -> Iterator[Page]:
    """A manual in /latest/, /stable/ and under the number of the same version."""
    words, pages = Words(random), []
    written = stories(words, count, 120, 800)
    names = [story.title for story in written]
    for story in written:
        code = f"<pre><span></span>$ quarry {words.made()} --{words.made()} {random.randint(1, 99)}\n</pre>"
        story.texts.insert(
            1,
            f'</p> <div class="highlight-console notranslate"><div class="highlight">{code}</div></div> <p>',
        )
        neighbours = some(random, written, 3) * 2
        for version in random.choice(
            [["stable", "latest"], ["latest", "stable"], ["latest", "stable", "3.1"]]
        ):
            release = "3.2.dev0" if version == "latest" else "3.1.4"
            html = _sphinx(story, names[:30], version, release, neighbours)
            pages.append(
                Page(
                    f"https://quarry.docs.example/en/{version}/{story.slug}.html",
                    html.encode(),
                    story.thing,
                    SPHINX,
                )
            )
    yield from copies_last(shuffled(random, pages))


NOTES = {
    "title": "article h1::text",
    "body": ".theme-doc-markdown",
    "date": ".released::text",
    "article": "article",
}
FIXES = [
    "Fixed a crash when {0} was empty and {1} was set.",
    "The {0} option is no longer ignored if {1} comes from the environment.",
    "{0} now closes its connections when {1} is stopped.",
    "Fixed a wrong message about {0} on Windows.",
    "Updated the bundled {0} library to {1}.{2}.",
    "Reduced the memory that {0} needs by {2} percent for large {1} files.",
    "The page of {0} in the console shows {1} in the time zone of the user.",
]


def patch_notes(random: Random, count: int) -> Iterator[Page]:
    """Notes of patch versions: the same advice on upgrades around two or three repairs."""
    words = Words(random)
    things = [f"<code>{words.made()}_{words.made()}</code>" for _ in range(60)]
    minor, patch, day = 4, 0, dt.date(2022, 5, 3)
    for number in range(count):
        patch += 1
        if patch > random.randint(6, 14):
            minor, patch = minor + 1, 1
        day += dt.timedelta(days=random.randint(7, 24))
        version = f"2.{minor}.{patch}"
        fixes = "\n".join(
            f"<li>{fix.format(*random.sample(things, 2), random.randint(2, 40))} (#{random.randint(1000, 9999)})</li>"
            for fix in random.sample(FIXES, random.randint(2, 4))
        )
        sidebar = "\n".join(
            f'<li class="menu__list-item"><a class="menu__link" href="/docs/releases/2.{minor}.{one}">2.{minor}.{one}</a></li>'
            for one in range(1, 9)
        )
        html = f"""<!doctype html><html lang="en" dir="ltr" class="docs-wrapper plugin-docs" data-has-hydrated="false"><head><meta name="generator" content="Docusaurus v3.1"><title data-rh="true">Ferrywork {version} | Ferrywork</title><meta data-rh="true" name="description" content="Release notes of Ferrywork {version}"></head><body class="navigation-with-keyboard"><div id="__docusaurus"><nav class="navbar">Ferrywork {menu(["Docs", "Blog", "Community"])}GitHub</nav><div class="docSidebar"><ul class="theme-doc-sidebar-menu menu__list">{sidebar}</ul></div>
<main><nav class="theme-doc-breadcrumbs"><ul class="breadcrumbs"><li><a href="/">Home</a></li> <li><span>Releases</span></li></ul></nav><article><h1>Ferrywork {version}</h1> <p class="released">{british(dt.datetime.combine(day, dt.time(), dt.UTC))}</p> <div class="theme-doc-markdown markdown"><p>Ferrywork {version} is a maintenance release of the 2.{minor} series. It contains repairs only, no new features, and is recommended for everybody who uses 2.{minor}.</p> <h2>Repairs</h2> <ul>{fixes}</ul> <h2>Upgrading</h2> <p>Before you upgrade, make a backup of your database and of the configuration directory. Stop all workers, install the new packages with the package manager of your system, and start the scheduler before the workers. Rolling upgrades from other versions of the 2.{minor} series are supported; from older series, upgrade to 2.{minor}.0 first and read its notes on changes that are not compatible.</p> <h2>Downloads</h2> <p>Packages for Debian, Ubuntu and Red Hat, images for containers and the checksums of all files are on the download page. All files are signed with the key of the release team.</p> <p>We thank everybody who reported and repaired mistakes. If you find another one, please open an issue with the output of <code>ferry doctor</code>.</p></div> <footer>Edit this page. Last updated by release-bot</footer></article></main><footer class="footer">Copyright © 2024 Ferrywork</footer></div></body></html>"""
        yield Page(
            f"https://ferrywork.example/docs/releases/{version}", html.encode(), str(number), NOTES
        )


WIKI = {
    "title": "#firstHeading span::text",
    "body": ".mw-parser-output",
    "updated": "#footer-info-lastmod::text",
    "article": "#content",
}
WIKI_MIRROR = {"title": "h1.title::text", "body": ".wiki-body", "article": ".main"}


def wiki(random: Random, count: int) -> Iterator[Page]:
    """A wiki, its host for telephones, `index.php?title=`, and a mirror without links to edit."""
    words, pages = Words(random), []
    for story in stories(words, count, 150, 800):
        name = story.title if random.random() < 0.5 else " ".join(story.title.split()[:2])
        key = name.replace(" ", "_")
        box = [(words.made().capitalize(), words.title(1, 3)) for _ in range(5)]
        infobox = (
            '<table class="infobox"><tbody>'
            + "\n".join(
                f'<tr><th scope="row">{label}</th> <td>{value}</td></tr>' for label, value in box
            )
            + "</tbody></table>"
        )
        refs = [
            f"{words.person()} ({random.randint(1970, 2020)}). {words.title()}. {words.town()} Press."
            for _ in range(3)
        ]
        heads = [words.title(1, 3) for _ in story.texts]

        def body(edit: str, texts: list[str] = story.texts, heads: list[str] = heads) -> str:
            parts = [f"<p>{texts[0]}</p>"]
            for place, text in enumerate(texts[1:]):
                if place % 2 == 0:
                    link = edit.format(place)
                    parts.append(f"<h2><span class='mw-headline'>{heads[place]}</span>{link}</h2>")
                parts.append(f"<p>{text}<sup class='reference'>[{place % 3 + 1}]</sup></p>")
            return "".join(parts)

        editable = body(
            '<span class="mw-editsection">[<a href="?action=edit&section={}">edit</a>]</span>'
        )
        notes = "\n".join(f"<li>^ {ref}</li>" for ref in refs)
        full = f"""<!DOCTYPE html><html class="client-nojs" lang="en" dir="ltr"><head><title>{name} - Openpedia</title><meta name="generator" content="MediaWiki 1.41"></head><body class="skin-vector ns-0"><div id="mw-head">Not logged in Talk Contributions Create account Log in</div> <div id="mw-panel">{menu(["Main page", "Contents", "Current events", "Random article", "What links here", "Related changes", "Special pages", "Permanent link"])}</div> <div id="content" class="mw-body"><div id="siteNotice">{random.choice(["", "Vote for the photo of the year!", "Help us to keep Openpedia free."])}</div> <h1 id="firstHeading" class="firstHeading"><span class="mw-page-title-main">{name}</span></h1> <div id="siteSub">From Openpedia, the free encyclopedia</div> <div id="mw-content-text"><div class="mw-parser-output">{infobox}{editable}<h2>References</h2> <ol class="references">{notes}</ol></div></div> <div id="catlinks">Categories: {words.made().capitalize()} | Articles with short description</div></div> <div id="footer"><ul><li id="footer-info-lastmod">This page was last edited on {british(story.day)}, at {story.day:%H:%M} (UTC).</li> <li>Text is available under the Creative Commons Attribution-ShareAlike License.</li></ul></div></body></html>"""
        mobile = full.replace("skin-vector", "skin-minerva").replace(
            '<div id="siteSub">From Openpedia, the free encyclopedia</div>', ""
        )
        ads = '<div class="adunit">Advertisement</div>'
        mirror = f"""<html><head><title>{name} - WikiGrove</title>{og(type="website", title=name)}</head><body><div class="top">WikiGrove: knowledge for all <input placeholder="Search"></div>{ads}<div class="main"><h1 class="title">{name}</h1> <div class="wiki-body">{body("")}</div>{ads}<p class="lic">This article is licensed under the CC BY-SA. It uses material from the Openpedia article "{name}".</p> <div class="rel">Related: {menu([words.title(1, 4) for _ in range(6)], "/a/")}</div></div> <div>© 2024 WikiGrove. Privacy. DMCA. {random.randint(100, 90000)} readers online</div></body></html>"""
        views = [
            (f"https://en.openpedia.example/wiki/{key}", full, WIKI),
            (f"https://en.m.openpedia.example/wiki/{key}", mobile, WIKI),
            (
                f"https://en.openpedia.example/w/index.php?title={key}&oldid={900000 + story.number}",
                full,
                WIKI,
            ),
            (f"https://wikigrove.example/a/{slug(name)}-{story.number}.html", mirror, WIKI_MIRROR),
        ]
        for url, html, selectors in some(random, views, random.choice([2, 2, 3])):
            pages.append(Page(url, html.encode(), story.thing, selectors))
    yield from shuffled(random, pages)


RECIPE = {
    "title": "h1.article-heading::text",
    "body": ".recipe",
    "date": ".mntl-attribution__item-date::text",
    "comments": ".mm-recipes-review-bar__comment-count::text",
    "category": ".breadcrumbs li:last-child a::text",
}
RECIPE_PRINT = {"title": ".print-title::text", "body": ".recipe", "article": ".recipe"}
FOODS = [
    "flour",
    "butter",
    "brown sugar",
    "eggs",
    "milk",
    "onions",
    "garlic",
    "carrots",
    "chicken thighs",
    "olive oil",
    "rice",
    "lentils",
    "parsley",
    "lemon",
    "yoghurt",
    "potatoes",
    "cream",
    "tomatoes",
    "basil",
    "chickpeas",
    "leeks",
    "nutmeg",
    "vinegar",
    "mustard",
]
STEPS = [
    "Chop the {0} and fry it gently in the {1} for {2} minutes.",
    "Add the {0} and stir until nothing sticks to the pan.",
    "Mix the {0} with the {1} in a large bowl and let it rest for {2} minutes.",
    "Season with salt, pepper and a little {0}.",
    "Bake in the middle of the oven for {2} minutes, until the {0} is golden.",
    "Pour the {0} over it, cover and simmer for {2} minutes on a low heat.",
    "Serve at once, with the {1} beside it.",
]


def recipes(random: Random, count: int) -> Iterator[Page]:
    """Recipes with ratings and reviews, their pages for printers, and under a collection."""
    words, pages = Words(random), []
    for number in range(count):
        words.subject()
        foods = random.sample(FOODS, random.randint(6, 10))
        name = f"{words.made().capitalize()} {foods[0]} with {foods[1]} and {foods[2]}"
        amounts = "\n".join(
            f"<li><p><span data-ingredient-quantity>{random.randint(1, 500)}</span> <span data-ingredient-unit>{random.choice(['g', 'cups', 'tablespoons', 'ml'])}</span> <span>{food}</span></p></li>"
            for food in foods
        )
        steps = "\n".join(
            f"<li><p>{step.format(*random.sample(foods, 2), random.randint(3, 50))} {words.sentence()}</p></li>"
            for step in random.sample(STEPS, random.randint(4, 7))
        )
        intro, day, cook = (
            [words.paragraph(50) for _ in range(random.randint(1, 3))],
            words.day(),
            words.person(),
        )
        core = f"<h2>Ingredients</h2> <ul>{amounts}</ul> <h2>Directions</h2> <ol>{steps}</ol>"
        ratings = random.randint(4, 900)
        key = f"{slug(name)}-{81000 + number}"
        for path in some(
            random,
            [
                f"recipe/{key}",
                f"recipe/{key}?print",
                f"collections/weeknight/{key}",
                f"recipe/{key}?utm_source=pinterest&utm_medium=social",
            ],
            random.choice([2, 3]),
        ):
            if path.endswith("?print"):
                html = f"""<html><head><title>Print: {name}</title></head><body class="print"><div class="print-title">{name}</div> <div>Servings: 4. Yield: 1 dish</div> <div class="recipe">{paras(intro[:1])}{core}</div> <div>© 2024 Pot and Ladle. Printed from potandladle.example</div></body></html>"""
                pages.append(
                    Page(
                        f"https://www.potandladle.example/{path}",
                        html.encode(),
                        str(number),
                        RECIPE_PRINT,
                    )
                )
                continue
            ratings += random.randint(0, 3)
            reviews = "\n".join(
                f'<div class="feedback__text"><p>{words.paragraph(20)}</p> <span>{words.person()}, {random.randint(1, 5)} stars. Helpful ({random.randint(0, 30)})</span></div>'
                for _ in range(4)
            )
            html = f"""<!DOCTYPE html><html lang="en"><head><title>{name} Recipe</title><meta name="description" content="{intro[0][:140]}">{ld(type="Recipe", name=name, recipeYield="4", aggregateRating={"ratingValue": 4.6, "ratingCount": ratings}, datePublished=day.isoformat())}</head><body><header>Pot and Ladle {menu(["Dinners", "Meals", "Ingredients", "Occasions"])}<a>Log In</a> <a>Magazine</a></header><ul class="breadcrumbs"><li><a href="/recipes">Recipes</a></li> <li><a href="/dinner">{random.choice(["Dinner", "Weeknight"]) if "collections" in path else "Dinner"}</a></li></ul> <main><article><h1 class="article-heading">{name}</h1> <div class="mm-recipes-review-bar">4.{random.randint(3, 8)} ({ratings}) <span class="mm-recipes-review-bar__comment-count">{ratings // 3} Reviews</span> {random.randint(3, 90)} Photos</div> <div class="mntl-attribution">By {cook} <span class="mntl-attribution__item-date">Updated on {day:%B %d, %Y}</span></div> <div class="tools">Save Rate Print Share</div> <div class="recipe">{paras(intro)}<div>Jump to Nutrition Facts</div>{core}</div> <div class="cooked">{random.randint(20, 4000)} home cooks made it!</div></article><section><h2>Reviews</h2>{reviews}</section><section><h2>You'll Also Love</h2>{menu([f"{words.made().capitalize()} {food}" for food in some(random, FOODS, 6)])}</section></main><footer>Newsletters. Follow us. Pot and Ladle is part of the Homeplate family.</footer></body></html>"""
            pages.append(
                Page(f"https://www.potandladle.example/{path}", html.encode(), str(number), RECIPE)
            )
    yield from shuffled(random, pages)


EVENT = {
    "title": "h1.event-title::text",
    "body": ".event-description",
    "date": "time.start-date::attr(datetime)",
    "stock": ".sales-status::text",
    "article": "main",
}
CITY_EVENT = {
    "title": ".tribe-events-single-event-title::text",
    "body": ".tribe-events-content",
    "date": ".tribe-events-abbr::attr(title)",
    "category": ".tribe-events-event-categories a::text",
    "article": "#tribe-events-content",
}


def events(random: Random, count: int) -> Iterator[Page]:
    """Events at a ticket portal, at an affiliate of it, and in the calendar of a city."""
    words, pages = Words(random), []
    for story in stories(words, count, 90, 300):
        place, price = (
            f"{words.town()} {random.choice(['Hall', 'Theatre', 'Arena', 'Club'])}",
            random.randint(9, 90),
        )
        title, status = (
            f"{words.made().capitalize()}: {story.title}",
            random.choice(["Sales end soon", "Going fast", "Almost full", ""]),
        )
        more = "\n".join(
            f'<div class="event-card"><h3>{words.title()}</h3> <p>Sat, {random.randint(1, 28)} Sep, {random.randint(10, 20)}:00</p></div>'
            for _ in range(4)
        )
        portal = f"""<!DOCTYPE html><html lang="en-gb"><head><title>{title} Tickets, {story.day:%a %d %b %Y at %H:%M} | Ticketbay</title>{og(type="events.event", title=title, site_name="Ticketbay")}{ld(type="Event", name=title, startDate=story.day.isoformat(), location=place, offers={"lowPrice": price})}</head><body><header>Ticketbay {menu(["Find events", "Create events", "Help Centre", "Log in"])}</header><main><span class="sales-status">{status}</span><time class="start-date" datetime="{story.day:%Y-%m-%d}">{story.day:%A, %d %B}</time><h1 class="event-title">{title}</h1> <p class="summary">{story.teaser}</p> <div class="organizer">By {words.firm()} <b>{random.randint(20, 9000)}</b> followers <button>Follow</button></div> <h2>Date and time</h2>{story.day:%a, %d %b %Y %H:%M} GMT<h2>Location</h2>{place} <a>Show map</a><h2>Refund policy</h2>Refunds up to 7 days before event<h2>About this event</h2> <div class="event-description">{paras(story.texts)}</div> <div class="conversion-bar">From £{price}.00 <button>Get tickets</button></div></main><section><h2>Other events you may like</h2>{more}</section><footer>© 2024 Ticketbay</footer></body></html>"""
        city = f"""<!DOCTYPE html><html lang="en-US"><head><title>{title} &#8211; What's on in the valley</title></head><body class="single-tribe_events"><header>What's on {menu(["Today", "This weekend", "Music", "Families", "Add your event"])}</header><div id="tribe-events-content" class="tribe-events-single"><p class="tribe-events-back"><a href="/events/">« All Events</a></p>{"" if story.day.year > 2022 else '<div class="tribe-events-notices">This event has passed.</div>'}<h2 class="tribe-events-single-event-title">{title}</h2> <div class="tribe-events-schedule"><abbr class="tribe-events-abbr" title="{story.day:%Y-%m-%d}">{story.day:%B %d @ %I:%M %p}</abbr> <span class="tribe-events-cost">£{price}</span></div> <div class="tribe-events-content">{paras(story.texts)}<p>Tickets: £{price} at Ticketbay.</p></div> <div class="tribe-events-cal-links">+ Google Calendar + iCal Export</div> <div class="tribe-events-meta-group"><h2>Details</h2> <dl><dt>Date:</dt> <dd>{story.day:%B %d}</dd><dt>Event Category:</dt> <dd class="tribe-events-event-categories"><a>{random.choice(["Music", "Talks", "Families"])}</a></dd></dl> <h2>Venue</h2>{place}</div> <nav>« {words.title()} | {words.title()} »</nav></div></body></html>"""
        views = [
            (
                f"https://www.ticketbay.example/e/{story.slug}-tickets-{97000 + story.number}",
                portal,
                EVENT,
            ),
            (
                f"https://www.ticketbay.example/e/{story.slug}-tickets-{97000 + story.number}?aff=ebdssbdestsearch&keep_tld=1",
                portal.replace(f'sales-status">{status}', 'sales-status">Sales end soon'),
                EVENT,
            ),
            (f"https://whatson.valley.example/event/{slug(title)}/", city, CITY_EVENT),
        ]
        for url, html, selectors in some(random, views, random.choice([2, 2, 3])):
            pages.append(Page(url, html.encode(), story.thing, selectors))
    yield from copies_last(shuffled(random, pages))


KINDS = (
    Kind("Sphinx: latest, stable and a number", sphinx, 35),
    Kind("Release notes of patch versions", patch_notes, 40),
    Kind("MediaWiki and a mirror", wiki, 35),
    Kind("Recipes: print, collections", recipes, 35),
    Kind("Events: tickets and a city's calendar", events, 35),
)

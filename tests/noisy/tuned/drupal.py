"""A council on Drupal: notices and news under two addresses, and what only looks alike."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from random import Random

from benchmarks.noisy.site import Kind, Page, shuffled
from benchmarks.noisy.words import Words, british, paras, slug

HOST = "https://www.fairham.example"
NOTICE = {
    "title": "h1.page-title span::text",
    "body": ".field--name-body",
    "date": ".field--name-field-published time::attr(datetime)",
    "updated": ".node__updated::text",
    "views": ".statistics-counter a::text",
    "category": ".field--name-field-service a::text",
    "article": "article",
}


def template(words: Words, title: str, article: str, *, node: int, path: str, trail: str) -> bytes:
    """A page of the council: bars of an alert, blocks beside the article, a form below it."""
    services = ("Bins", "Planning", "Council tax", "Parking", "Schools")
    alert = (
        f'<div role="alert" class="alert-bar"><p>{words.sentence()}</p></div>'
        if words.chance(0.3)
        else ""
    )
    popular = "".join(
        f'<li><a href="/node/{number}">{words.title(3, 6)}</a></li>' for number in range(4)
    )
    return f"""<!DOCTYPE html>
<html lang="en" dir="ltr" prefix="og: https://ogp.me/ns#"><head><meta charset="utf-8" />
<link rel="canonical" href="{HOST}{path}" /><link rel="shortlink" href="{HOST}/node/{node}" />
<meta name="Generator" content="Drupal 10 (https://www.drupal.org)" />
<title>{title} | Fairham Borough Council</title></head>
<body class="path-node page-node-type-notice"><a href="#main-content" class="visually-hidden">Skip to main content</a>
<div class="dialog-off-canvas-main-canvas" data-off-canvas-main-canvas>{alert}
<header role="banner"><div class="region region-header"><div class="block-system-branding-block">
<a href="/" rel="home">Fairham Borough Council</a></div><nav role="navigation"><ul class="menu">
{"".join(f'<li class="menu-item"><a href="/{slug(name)}">{name}</a></li>' for name in services)}
</ul></nav></div></header><nav class="breadcrumb" role="navigation"><ol><li><a href="/">Home</a></li>
<li><a href="/{slug(trail)}">{trail}</a></li></ol></nav>
<main role="main"><a id="main-content"></a><div class="region region-content">
<div class="block block-core block-page-title-block"><h1 class="page-title"><span class="field field--name-title">{title}</span></h1></div>
{article}<div class="block-webform"><form id="feedback"><label>Is this page useful?</label>
<input type="radio">Yes<input type="radio">No</form></div></div>
<aside class="layout-sidebar-second" role="complementary"><div class="block-views-block-popular">
<h2>Popular this week</h2><ul>{popular}</ul></div></aside></main>
<footer role="contentinfo"><p>Civic Centre, Fairham FH1 2AA. Switchboard 01632 960100.</p></footer>
</div></body></html>""".encode()


def node(body: str, day: dt.datetime, service: str, *, views: int, updated: dt.datetime) -> str:
    return f"""<article class="node node--type-notice node--view-mode-full"><div class="node__meta">
<div class="field field--name-field-published"><div class="field__label">Published</div>
<time datetime="{day:%Y-%m-%dT%H:%M:%SZ}">{british(day)}</time></div>
<div class="field field--name-field-service"><a href="/{slug(service)}">{service}</a></div></div>
<div class="node__content"><div class="clearfix text-formatted field field--name-body">{body}</div></div>
<div class="node__updated">Last updated {british(updated)}, {updated:%H:%M}</div>
<ul class="links inline"><li class="statistics-counter"><a href="#">{views} reads</a></li>
<li class="print"><a href="#">Print this page</a></li></ul></article>"""


def under_two_addresses(random: Random, count: int) -> list[Page]:
    """Each node by its alias and by its number or in another service's menu; reads are counted."""
    words, pages = Words(random), []
    for number in range(count):
        title, texts, day = words.title(4, 9), words.paragraphs(120, 450), words.day()
        body, views, updated = paras(texts), random.randint(30, 900), day
        path = f"/news/{day:%Y}/{slug(title)}"
        others = [f"/node/{4000 + number}", f"/residents{path}", f"{path}?page=0&destination=/news"]
        for address, trail in ((path, "News"), (random.choice(others), "Your council")):
            article = node(body, day, "Council tax", views=views, updated=updated)
            html = template(words, title, article, node=4000 + number, path=path, trail=trail)
            pages.append(Page(HOST + address, html, str(number), NOTICE))
            views += random.randint(1, 40)
            updated += dt.timedelta(hours=random.choice([0, 30, 300]))
    return shuffled(random, pages)


def planning_notices(random: Random, count: int) -> Iterator[Page]:
    """Notices of applications in the same words: all different."""
    words = Words(random)
    frame, law = words.paragraph(50), words.paragraph(120)
    street = words.made().capitalize()
    for number in range(count):
        what = random.choice(["Single storey rear extension", "Loft conversion", "Change of use"])
        reference = f"{random.choice([23, 24])}/{1200 + 7 * number:05d}/FUL"
        day = dt.datetime(2024, 1, 8, tzinfo=dt.UTC) + dt.timedelta(days=7 * (number // 3))
        address = f"{random.randint(1, 180)} {street} {random.choice(['Road', 'Lane', 'Close'])}"
        body = paras(
            [
                f"Application {reference}: {what.lower()} at {address}.",
                frame,
                f"Comments must reach us by {british(day + dt.timedelta(days=21))}.",
                law,
            ]
        )
        article = node(body, day, "Planning", views=random.randint(3, 90), updated=day)
        title = f"Planning notice: {address}"
        path = f"/planning/notices/{reference.lower().replace('/', '-')}"
        html = template(words, title, article, node=9000 + number, path=path, trail="Planning")
        yield Page(HOST + path, html, reference, NOTICE)


EVENT = {"title": "h1.page-title span::text", "body": ".event__text", "date": ".event__when time::attr(datetime)", "category": ".event__where::text"}  # fmt: skip


def calendar(random: Random, count: int) -> Iterator[Page]:
    """Events that recur: each is another day."""
    words = Words(random)
    for number in range(count):
        series, week = divmod(number, 8)
        fixed = Random(f"series {series}")
        writer = Words(fixed)
        title, texts, place = writer.title(3, 5), writer.paragraphs(90, 200), writer.town()
        day = dt.datetime(2024, 9, 3 + series, 10, 30, tzinfo=dt.UTC) + dt.timedelta(weeks=week)
        article = f"""<article class="node node--type-event"><div class="event__when">
<time datetime="{day.isoformat()}">{day:%A} {british(day)}, 10.30am to 12pm</time></div>
<div class="event__where">{place} Library</div><div class="event__text text-formatted">{paras(texts)}</div>
<a class="button" href="/book?event={700 + number}">Book a place</a></article>"""
        path = f"/events/{slug(title)}-{week}"
        html = template(words, title, article, node=700 + number, path=path, trail="What's on")
        yield Page(HOST + path, html, str(number), EVENT)


KINDS = (
    Kind("Drupal: news under two addresses", under_two_addresses),
    Kind("Drupal: planning notices (all different)", planning_notices),
    Kind("Drupal: calendar (all different)", calendar),
)

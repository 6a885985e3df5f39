"""One page elsewhere: AMP, mobile hosts, mirror domains, an archive, another interface language."""

from __future__ import annotations

import datetime as dt
import json
from random import Random

from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, british, paras, slug

FULL = {"title": ".c-article__title::text", "body": ".c-article__body", "date": ".c-article__date time::attr(datetime)", "author": ".c-article__author::text", "views": ".c-reads::text", "category": ".c-trail a:last-child::text", "comments": ".c-comments__count::text", "article": "article"}  # fmt: skip
AMP = {"title": "h1.amp-title::text", "body": ".amp-body", "date": ".amp-date::text", "author": ".amp-author::text", "article": "article"}  # fmt: skip


class Feature:
    def __init__(self, words: Words) -> None:
        self.title, self.texts = words.title(5, 10), words.paragraphs(200, 800)
        self.day, self.author = words.day(), words.person()
        self.lead, self.number = words.sentence(12, 20), words.random.randint(10**4, 10**5)
        self.quote = words.sentence(8, 14)
        self.tags = [words.word(), words.word()]

    @property
    def path(self) -> str:
        return f"/features/{self.number}/{slug(self.title)}"


def full(words: Words, one: Feature, host: str) -> bytes:
    """A magazine: readers are counted, a pulled quote repeats words, a carousel follows."""
    middle = len(one.texts) // 2
    data = {"@context": "https://schema.org", "@type": "Article", "headline": one.title, "author": one.author, "datePublished": one.day.isoformat()}  # fmt: skip
    slides = "".join(
        f'<div class="c-slide"><a href="/features/{n}">{words.title()}</a><span>{words.random.randint(2, 14)} min read</span></div>'
        for n in range(6)
    )
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{one.title} • Fieldnotes Magazine</title><link rel="amphtml" href="https://{host}/amp{one.path}">
<link rel="canonical" href="https://www.fieldnotes.example{one.path}"><script type="application/ld+json">{json.dumps(data)}</script></head><body><div class="o-wrapper">
<div class="c-banner" role="banner"><a href="/">Fieldnotes</a><a href="/subscribe">Subscribe from £{words.random.randint(2, 9)}.99</a></div><div class="c-trail"><a href="/">Home</a><a href="/features">Features</a></div>
<article class="c-article"><header><h1 class="c-article__title">{one.title}</h1><p class="c-article__lead">{one.lead}</p><span class="c-article__author">{one.author}</span>
<span class="c-article__date"><time datetime="{one.day.isoformat()}">{british(one.day)}</time></span><span class="c-reads">{words.random.randint(100, 20000)} reads</span></header>
<div class="c-article__body">{paras(one.texts[:middle])}<blockquote class="c-pull">{one.quote}</blockquote>{paras(one.texts[middle:])}</div>
<div class="c-tags">{paras(one.tags, "a")}</div><div class="c-ad">Advertisement {words.sentence(5, 9)}</div></article>
<section class="c-comments"><h3><span class="c-comments__count">{words.random.randint(0, 60)}</span> Comments</h3><p>Log in to comment</p></section>
<section class="c-carousel"><h3>More from Fieldnotes</h3>{slides}</section><footer>Fieldnotes is made by Field Media Ltd</footer></div></body></html>""".encode()


def amp(words: Words, one: Feature) -> bytes:
    """The page for phones: no quote, other widgets between the paragraphs."""
    parts = [f"<p>{text}</p>" for text in one.texts]
    parts.insert(2, '<amp-ad type="doubleclick"><div placeholder>Advertisement</div></amp-ad>')
    related = (
        f'<amp-list><h4>Read next</h4><a href="/f/{words.made()}">{words.title()}</a></amp-list>'
    )
    return f"""<!doctype html><html amp lang="en"><head><meta charset="utf-8"><title>{one.title} - Fieldnotes AMP</title><link rel="canonical" href="https://www.fieldnotes.example{one.path}">
<style amp-custom>h1{{font-size:2em}} .amp-body{{margin:1em}}</style></head><body><amp-sidebar id="menu"><ul><li><a href="/">Home</a></li><li>Features</li><li>Podcasts</li></ul></amp-sidebar>
<header class="amp-header"><button on="tap:menu.toggle">☰</button><a href="/">Fieldnotes</a></header><article><h1 class="amp-title">{one.title}</h1>
<div class="amp-meta">By <span class="amp-author">{one.author}</span> / <span class="amp-date">{british(one.day)}</span></div><div class="amp-body">{"".join(parts)}</div>{related}</article>
<footer class="amp-footer"><a href="{one.path}">View full site</a></footer></body></html>""".encode()


def amp_versions(random: Random, count: int) -> list[Page]:
    words, pages = Words(random), []
    for number in range(count):
        one = Feature(words)
        host = "www.fieldnotes.example"
        pages.append(Page(f"https://{host}{one.path}", full(words, one, host), str(number), FULL))
        second = random.choice(
            [f"https://{host}/amp{one.path}", f"https://amp.fieldnotes.example{one.path}"]
        )
        pages.append(Page(second, amp(words, one), str(number), AMP))
    return shuffled(random, pages)


def mirror_domains(random: Random, count: int) -> list[Page]:
    """The same system under several domains: all but what is counted is equal."""
    words, pages = Words(random), []
    for number in range(count):
        one = Feature(words)
        second = random.choice(
            ["fieldnotes-mag.example", "beta.fieldnotes.example", "fieldnotes-asia.example"]
        )
        pages += [
            Page(f"https://{host}{one.path}", full(words, one, host), str(number), FULL)
            for host in ("www.fieldnotes.example", second)
        ]
    return copies_last(pages)


def archived(random: Random, count: int) -> list[Page]:
    """An archive puts a bar on top of the page as it was some months ago."""
    words, pages = Words(random), []
    for number in range(count):
        one = Feature(words)
        url, day = (
            f"https://www.fieldnotes.example{one.path}",
            one.day + dt.timedelta(days=random.randint(20, 400)),
        )
        html = full(words, one, "www.fieldnotes.example").decode()
        bar = f"""<div id="wm-ipp-base"><div id="wm-ipp"><form><input value="{url}"></form><span>{random.randint(2, 90)} captures</span>
<span>{british(one.day)} - {british(day)}</span><table><tr><td>{day:%b}</td><td>{day:%d}</td><td>{day:%Y}</td></tr></table><a>About this capture</a></div></div>"""
        kept = html.replace('<div class="o-wrapper">', f'{bar}<div class="o-wrapper">').replace('href="/', f'href="/web/{day:%Y%m%d%H%M%S}/https://www.fieldnotes.example/')  # fmt: skip
        pages.append(Page(url, full(words, one, "www.fieldnotes.example"), str(number), FULL))
        pages.append(Page(f"https://web.archives.example/web/{day:%Y%m%d%H%M%S}/{url}", kept.encode(), str(number), FULL))  # fmt: skip
    return shuffled(random, pages)


RECORD = {"title": ".record-title::text", "body": ".record-text", "date": ".record-date dd::text", "category": ".facets b::text", "views": ".stats b::text", "article": ".record"}  # fmt: skip
LABELS = {
    "en": ("Home", "Search", "Date", "Views", "Download", "Similar records", "Letters", "Sign in", "How to cite"),
    "de": ("Startseite", "Suche", "Datum", "Aufrufe", "Herunterladen", "Ähnliche Objekte", "Briefe", "Anmelden", "Zitieren"),
    "fr": ("Accueil", "Recherche", "Date", "Vues", "Télécharger", "Notices semblables", "Lettres", "Connexion", "Citer"),
}  # fmt: skip


def record(words: Words, one: Feature, language: str) -> bytes:
    """A record of a repository, where all but the text is in the language of the reader."""
    home, search, date, views, load, similar, kind, sign, cite = LABELS[language]
    cards = "".join(
        f"<li><a href='/record/{n}?ln={language}'>{words.title()}</a></li>" for n in range(3)
    )
    return f"""<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8"><title>{one.title} - {kind} - Kestrel Repository</title><meta name="citation_title" content="{one.title}"></head>
<body><div class="navbar"><a>{home}</a><input placeholder="{search}"><a>{sign}</a></div><div class="record"><h2 class="record-title">{one.title}</h2><div class="facets"><b>{kind}</b></div>
<div class="record-text">{paras(one.texts)}</div><dl class="record-date"><dt>{date}</dt><dd>{one.day:%Y-%m-%d}</dd></dl><div class="stats">{views}: <b>{words.random.randint(1, 800)}</b></div>
<button>{load}</button><div class="cite"><h4>{cite}</h4>{one.author} ({one.day.year}). {one.title}.</div></div><div class="sim"><h4>{similar}</h4><ul>{cards}</ul></div></body></html>""".encode()


def interfaces(random: Random, count: int) -> list[Page]:
    words, pages = Words(random), []
    for number in range(count):
        one = Feature(words)
        url = f"https://repository.kestrel.example/record/{one.number}"
        pages += [
            Page(f"{url}?ln={language}", record(words, one, language), str(number), RECORD)
            for language in random.sample([*LABELS], 2)
        ]
    return copies_last(pages)


KINDS = (
    Kind("Magazine: AMP versions", amp_versions),
    Kind("Magazine: mirror domains", mirror_domains),
    Kind("Magazine: pages in an archive", archived),
    Kind("Repository: interface languages", interfaces),
)

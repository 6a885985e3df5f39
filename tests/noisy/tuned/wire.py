"""A wire's stories in three newspapers: notes of editors, cuts, corrections, other headlines."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from random import Random

from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, british, english, paras, slug

HERALD = {"title": "h1.headline::text", "body": "[data-module=ArticleBody]", "date": ".timestamp::attr(data-published)", "updated": ".timestamp .upd::text", "author": ".byline a::text", "comments": ".coral-count::text", "category": ".eyebrow a::text", "article": "article"}  # fmt: skip
POST = {"title": "#story-headline::text", "body": ".story-text", "date": ".story-meta .when::text", "author": ".story-meta .who::text", "category": "ol.breadcrumb li:nth-child(2) a::text", "views": ".story-hits::text", "article": "#story"}  # fmt: skip
TIMES = {"title": "h1[itemprop=headline]::text", "body": "[itemprop=articleBody]", "date": "meta[itemprop=datePublished]::attr(content)", "updated": "meta[itemprop=dateModified]::attr(content)", "author": "[itemprop=author] [itemprop=name]::text", "category": "a[rel=section]::text", "article": "article"}  # fmt: skip


class Wire:
    """What the agency sends."""

    def __init__(self, words: Words) -> None:
        self.title, self.texts = words.title(6, 11), words.paragraphs(180, 650)
        self.town, self.day, self.author = words.town(), words.day(), words.person()
        self.number = words.random.randint(10**5, 10**6)
        self.standfirst, self.topics = words.sentence(10, 18), [words.word(), words.word()]


Make = Callable[[Words, Wire, str, list[str]], bytes]


def herald(words: Words, wire: Wire, title: str, texts: list[str]) -> bytes:
    """A design system with modules: links within the text, a box for a newsletter, comments."""
    parts = [f"<p>{text}</p>" for text in texts]
    if words.chance(0.5):
        box = f'<div class="inline-promo"><h3>Sign up for the morning briefing</h3><p>{words.sentence()}</p><button>Sign up</button></div>'
        parts.insert(len(parts) // 2, box)
    if words.chance(0.4):
        parts.insert(
            1,
            f'<div class="more-on"><strong>More:</strong> <a href="/s/{words.made()}">{words.title()}</a></div>',
        )
    parts.insert(
        0,
        f'<figure><img alt=""><figcaption>{words.sentence(6, 12)} ({words.person()}/Agency)</figcaption></figure>',
    )
    more = "".join(
        f'<li><a href="/s/{n}">{words.title()}</a><span>{words.random.randint(1, 59)} minutes ago</span></li>'
        for n in range(5)
    )
    return f"""<!DOCTYPE html><html lang="en-US"><head><meta charset="utf-8"><title>{title} | The Evening Herald</title>
<meta property="og:title" content="{title}"><meta property="og:site_name" content="The Evening Herald"><meta property="article:published_time" content="{wire.day.isoformat()}"></head>
<body><div class="skip"><a href="#main">Skip to main content</a></div><div class="masthead"><a href="/">The Evening Herald</a><span>{words.random.randint(30, 95)}°F</span><a>Subscribe: $1 for 6 months</a></div>
<main id="main"><article><div class="eyebrow"><a href="/nation/">Nation</a></div><h1 class="headline">{title}</h1><div class="byline">By <a>{wire.author}</a>, Agency</div>
<div class="timestamp" data-published="{wire.day.isoformat()}">{english(wire.day)} at {wire.day:%I:%M} p.m. <span class="upd">Updated {words.random.randint(2, 50)} minutes ago</span></div>
<div data-module="ArticleBody">{"".join(parts)}</div><div class="coral"><span class="coral-count">{words.random.randint(0, 400)}</span> comments</div></article>
<aside><h2>Latest headlines</h2><ul>{more}</ul></aside></main><footer>© 2024 Evening Herald Media</footer></body></html>""".encode()


def post(words: Words, wire: Wire, title: str, texts: list[str]) -> bytes:
    """An older system of a small town's paper, with div after div and a counter."""
    lines = "".join(f'<div class="par">{text}</div>' for text in texts)
    return f"""<html lang="en"><head><meta charset="utf-8"><title>{british(wire.day)}: {title} - Marlstead Post</title></head><body class="story"><div id="outer">
<div id="logo"><a href="/"><img alt="Marlstead Post"></a></div><div id="leader">ADVERTISEMENT</div><ol class="breadcrumb"><li><a href="/">Home</a></li><li><a href="/world">World</a></li></ol>
<div id="story"><h1 id="story-headline">{title}</h1><div class="story-meta"><span class="who">{wire.author}</span> <span class="when">{british(wire.day)}</span> <span class="story-hits">{words.random.randint(9, 2000)} hits</span></div>
<div class="sharebar">Tweet | Share | Email | Print</div><div class="story-text">{lines}</div><div class="poll"><b>Poll</b> {words.sentence(5, 8)} Yes {words.random.randint(1, 99)}% No</div></div>
<div id="rail"><h3>Obituaries</h3><p>{words.person()}</p><p>{words.person()}</p><h3>Weather</h3><p>High {words.random.randint(40, 90)}</p></div></div></body></html>""".encode()


def times(words: Words, wire: Wire, title: str, texts: list[str]) -> bytes:
    """Microdata and a trail of sections; a story is updated."""
    modified = wire.day + dt.timedelta(minutes=words.random.randint(5, 900))
    data = json.dumps(
        {
            "@type": "NewsArticle",
            "headline": title,
            "dateModified": modified.isoformat(),
            "datePublished": wire.day.isoformat(),
        }
    )
    read = "".join(f"<li><a href='/{n}'>{words.title()}</a></li>" for n in range(5))
    return f"""<!doctype html><html lang="en-GB"><head><meta charset="utf-8"><title>{title} - World news - Harbour Times</title><script type="application/ld+json">{data}</script></head>
<body><header role="banner"><a href="/">Harbour Times</a><nav><a href="/uk">UK</a><a href="/world">World</a></nav></header><article itemscope itemtype="http://schema.org/NewsArticle">
<meta itemprop="datePublished" content="{wire.day.isoformat()}"><meta itemprop="dateModified" content="{modified.isoformat()}"><a rel="section" href="/world">World</a>
<h1 itemprop="headline">{title}</h1><p class="standfirst">{wire.standfirst}</p><span itemprop="author" itemscope><span itemprop="name">{wire.author}</span></span>
<div itemprop="articleBody">{paras(texts)}</div><ul class="topics">{paras(wire.topics, "li")}</ul></article>
<section class="most-read"><h2>Most read</h2><ol>{read}</ol></section></body></html>""".encode()


PAPERS: tuple[tuple[str, Make, dict[str, str]], ...] = (
    ("www.evening-herald", herald, HERALD),
    ("marlsteadpost", post, POST),
    ("www.harbourtimes", times, TIMES),
)


def edited(words: Words, wire: Wire) -> list[str]:
    """The texts as a paper prints them: the place and the wire's name before, a note, a cut."""
    texts, how = [*wire.texts], words.random.random()
    if how < 0.5:
        texts[0] = f"{wire.town.upper()} (Agency) — {texts[0]}"
    if how < 0.2:
        texts.append(f"{words.person()} in {words.town()} contributed to this report.")
    elif how < 0.35:
        texts.insert(
            0, "Editor's note: This story was first published by our partners at the Agency."
        )
    elif how < 0.5 and len(texts) > 5:
        texts.pop()
    elif how < 0.65:
        for place, text in enumerate(texts):
            parts = text.split()
            parts[len(parts) // 2] = words.word()
            texts[place] = " ".join(parts) if place % 2 else text
    return texts


def one_wire(random: Random, count: int) -> Iterator[Page]:
    """Two papers print a story, under the headline of the agency or one of their own."""
    words, pages = Words(random), []
    for number in range(count):
        wire = Wire(words)
        for host, make, selectors in random.sample(PAPERS, 2):
            title = words.title(6, 11) if random.random() < 0.3 else wire.title
            html = make(words, wire, title, edited(words, wire))
            url = f"https://{host}.example/{wire.day:%Y/%m/%d}/{slug(title)}-{wire.number}"
            pages.append(Page(url, html, str(number), selectors))
    yield from copies_last(pages)


def corrected(random: Random, count: int) -> list[Page]:
    """One paper, a story before and after a correction, under an address with the new headline."""
    words, pages = Words(random), []
    for number in range(count):
        wire = Wire(words)
        url = f"https://www.harbourtimes.example/world/{wire.number}"
        first = times(words, wire, wire.title, wire.texts)
        texts = [*wire.texts]
        parts = texts[-1].split()
        parts[len(parts) // 3] = words.word()
        texts[-1] = " ".join(parts)
        title = wire.title if random.random() < 0.6 else f"{wire.title}, {words.word()} says"
        second = times(words, wire, title, texts)
        pages += [
            Page(url, first, str(number), TIMES),
            Page(f"{url}-{slug(title)}", second, str(number), TIMES),
        ]
    return shuffled(random, pages)


KINDS = (Kind("Wire: two newspapers", one_wire, 45), Kind("Wire: corrected stories", corrected))

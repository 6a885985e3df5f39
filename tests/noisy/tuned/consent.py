"""A magazine of short stories that asks for consent on some of its pages, at their length."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from benchmarks.noisy.site import Kind, Page, shuffled
from benchmarks.noisy.words import Words, english, paras, slug

SELECTORS = {"title": "h1::text", "body": ".story-body", "date": ".byline time::attr(datetime)", "author": ".byline a::text"}  # fmt: skip


def magazine(random: Random, count: int) -> Iterator[Page]:
    """A box of a consent tool covers each page that is opened without a cookie."""
    words = Words(random)
    words.subject()
    partners, purposes = words.paragraphs(50, 80), words.paragraphs(40, 60)
    box = f"""<div id="consent-layer"><div class="layer-inner" role="dialog" aria-modal="true" aria-label="Your choice"><h2>We value your choice</h2>{paras(partners)}
<h3>Purposes</h3>{paras(purposes)}<button>Accept all</button><button>Reject all</button><a href="/partners">Our 812 partners</a></div></div>"""
    pages = []
    for number in range(count):
        words.subject()
        title, texts, author, day = (
            words.title(),
            words.paragraphs(90, 170),
            words.person(),
            words.day(),
        )
        for query, layer in (("", box), ("?utm_source=letter", ""), ("?utm_source=feed", box)):
            more = "".join(f'<li><a href="/{n}">{words.title()}</a></li>' for n in range(4))
            html = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} | Lantern Weekly</title></head><body><div id="app">{layer}
<header class="top"><a href="/">Lantern Weekly</a><nav><a href="/news">News</a><a href="/long-reads">Long reads</a></nav></header>
<main><h1>{title}</h1><p class="byline">By <a href="/by/{slug(author)}">{author}</a>, <time datetime="{day.isoformat()}">{english(day)}</time></p>
<div class="story-body">{paras(texts)}</div></main><aside><h2>More</h2><ul>{more}</ul></aside><footer>© Lantern Weekly</footer></div></body></html>"""
            pages.append(
                Page(
                    f"https://lantern.example/{slug(title)}{query}",
                    html.encode(),
                    str(number),
                    SELECTORS,
                )
            )
    yield from shuffled(random, pages)


KINDS = (Kind("Magazine: consent on the first visit", magazine),)

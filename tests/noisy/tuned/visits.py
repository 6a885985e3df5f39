"""Sites that are crawled several times: what changes at each visit, beside what must not merge."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from random import Random

from benchmarks.noisy.site import Kind, Page
from benchmarks.noisy.words import Words, english, paras, slug

WOO = {"title": "h1.product_title::text", "body": ".woocommerce-Tabs-panel--description", "price": "p.price bdi::text", "number": ".sku::text", "views": ".pvc-views::text", "stock": "p.stock::text", "category": ".posted_in a::text", "comments": ".woocommerce-review-link .count::text", "article": ".product"}  # fmt: skip


def variation(words: Words, name: str, texts: list[str], size: int, *, number: int, price: float, views: int, path: str) -> bytes:  # fmt: skip
    """WooCommerce with the theme Storefront; the address that is canonical has no size."""
    upsells = "".join(
        f'<li class="product"><a href="/product/{n}"><h2 class="woocommerce-loop-product__title">{words.title(2, 4)}</h2><span class="price">€{words.random.randint(5, 90)}.00</span></a></li>'
        for n in range(4)
    )
    offer = {"@context": "https://schema.org/", "@type": "Product", "sku": number, "offers": {"@type": "Offer", "price": f"{price:.2f}", "priceCurrency": "EUR"}}  # fmt: skip
    return f"""<!DOCTYPE html><html lang="en-IE"><head><meta charset="UTF-8"><title>{name} &#8211; Linen Works</title><link rel="canonical" href="https://linenworks.example{path}">
<script type="application/ld+json">{json.dumps(offer)}</script></head><body class="product-template-default single-product woocommerce theme-storefront"><div id="page" class="hfeed site">
<header id="masthead"><a class="custom-logo-link" href="/">Linen Works</a><ul class="site-header-cart"><li><span class="amount">€0.00</span> <span class="count">0 items</span></li></ul></header>
<nav class="woocommerce-breadcrumb"><a href="/">Home</a> / <a href="/product-category/sheets/">Sheets</a> / {name}</nav><main id="main"><div id="product-{number}" class="product type-product">
<div class="summary entry-summary"><h1 class="product_title entry-title">{name}</h1><a class="woocommerce-review-link">(<span class="count">{views // 90}</span> customer reviews)</a>
<p class="price"><span class="woocommerce-Price-amount"><bdi>€{price:.2f}</bdi></span></p><table class="variations"><tr><th>Size</th><td>{size} cm</td></tr></table>
<p class="stock in-stock">{words.random.randint(1, 60)} in stock</p><div class="product_meta"><span class="sku_wrapper">SKU: <span class="sku">{number}</span></span> <span class="posted_in">Category: <a>Sheets</a></span></div>
<div class="pvc_stats"><span class="pvc-views">{views}</span> total views</div></div><div class="woocommerce-tabs"><div class="woocommerce-Tabs-panel--description"><h2>Description</h2>{paras(texts)}</div></div>
<section class="up-sells"><h2>You may also like&hellip;</h2><ul class="products">{upsells}</ul></section></div></main><footer id="colophon"><p>© Linen Works 2024. Built with WooCommerce.</p></footer></div></body></html>""".encode()


def variations(random: Random, count: int) -> Iterator[Page]:
    """Three crawls of sizes that have an address each; in the third, copies from a newsletter."""
    words = Words(random)
    ranges = [(words.title(2, 3), words.paragraphs(80, 200)) for _ in range(1 + count // 4)]
    views = [random.randint(50, 3000) for _ in range(count)]
    for crawl in range(3):
        for number in range(count):
            name, texts = ranges[number // 4]
            size = 90 + 50 * (number % 4)
            path = f"/product/{slug(name)}/"
            for more in ("", "&utm_source=news") if crawl == 2 else ("",):
                views[number] += random.randint(1, 40)
                html = variation(words, name, texts, size, number=5100 + number, price=30 + size / 5, views=views[number], path=path)  # fmt: skip
                url = f"https://linenworks.example{path}?attribute_size={size}{more}"
                yield Page(url, html, str(number), WOO, crawl=crawl)


EVENT = {"title": "h1.tribe-events-single-event-title::text", "body": ".tribe-events-single-event-description", "date": "abbr.tribe-events-start-date::attr(title)", "place": ".tribe-venue::text", "views": ".post-views-count::text", "article": ".tribe-events-single"}  # fmt: skip


def events(random: Random, count: int) -> Iterator[Page]:
    """Two crawls of events that recur, each on another day; views are counted."""
    words = Words(random)
    series = [
        (words.title(3, 5), words.paragraphs(90, 220), words.town()) for _ in range(1 + count // 6)
    ]
    views = [random.randint(5, 900) for _ in range(count)]
    for crawl in range(2):
        for number in range(count):
            title, texts, place = series[number // 6]
            day = dt.datetime(2024, 10, 2, tzinfo=dt.UTC) + dt.timedelta(
                weeks=number % 6, days=number // 6
            )
            views[number] += random.randint(1, 30)
            near = "".join(
                f'<li><a href="/event/{n}">{words.title(2, 4)}</a> {english(words.day())}</li>'
                for n in range(3)
            )
            html = f"""<!DOCTYPE html><html lang="en-US"><head><meta charset="UTF-8"><title>{title} – Assembly Rooms</title></head><body class="single-tribe_events"><header class="site"><a href="/">Assembly Rooms</a></header>
<div id="tribe-events" class="tribe-events-single"><p class="tribe-events-back"><a href="/events/">« All Events</a></p><h1 class="tribe-events-single-event-title">{title}</h1>
<div class="tribe-events-schedule"><h2><span class="tribe-event-date-start">{english(day)} @ 7:30 pm</span></h2></div><div class="tribe-events-single-event-description">{paras(texts)}</div>
<div class="post-views"><span class="post-views-label">Post Views:</span> <span class="post-views-count">{views[number]}</span></div>
<div class="tribe-events-meta-group-details"><h2>Details</h2><dl><dt>Date:</dt><dd><abbr class="tribe-events-start-date" title="{day:%Y-%m-%d}">{english(day)}</abbr></dd></dl></div>
<div class="tribe-events-meta-group-venue"><h2>Venue</h2><dl><dd class="tribe-venue">{place} Hall</dd></dl></div></div><aside><h3>Upcoming</h3><ul>{near}</ul></aside></body></html>"""
            url = f"https://assembly.example/event/{slug(title)}/{day:%Y-%m-%d}/"
            yield Page(url, html.encode(), str(number), EVENT, crawl=crawl)


KINDS = (
    Kind("WooCommerce: sizes, third crawl, parameters", variations, 32),
    Kind("Events Calendar: two crawls (all different)", events, 36),
)

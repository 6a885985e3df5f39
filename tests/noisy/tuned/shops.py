"""Shops on Shopify, Magento and Shopware: one product in two categories; variants that differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random

from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, paras, slug

SHOPIFY = {"title": ".product__title h1::text", "body": ".product__description", "category": ".breadcrumb a:nth-child(2)::text", "stock": ".product__inventory::text", "comments": ".jdgm-prev-badge__text::text", "article": "main", "price": ".price-item--regular::text"}  # fmt: skip

OFFERS = ("Free shipping over $60", "Sign up and save 10%", "Open on Sundays until Christmas")


class Product:
    def __init__(self, words: Words) -> None:
        self.name = f"{words.made().capitalize()} {words.title(2, 4).lower()}"
        self.texts = words.paragraphs(90, 260)
        self.price = words.random.randint(800, 24000) / 100
        self.number = words.random.randint(10**6, 10**7)
        self.points = [words.title(3, 6) for _ in range(4)]
        self.maker = words.made().capitalize()
        self.reviews = words.random.randint(3, 400)
        self.stars = words.random.randint(36, 50) / 10
        self.opinions = [(words.person(), words.paragraph(20)) for _ in range(3)]

    def rated(self, words: Words) -> None:
        """More buyers have given stars."""
        self.reviews += words.random.randint(0, 6)
        self.stars = min(5, round(self.stars + words.random.choice([0, 0.1]), 1))


def shopify_page(
    words: Words, product: Product, others: list[Product], path: str, collection: str
) -> bytes:
    """The theme Dawn with an app for reviews: what is recommended is drawn at each request."""
    left = words.random.randint(1, 40)
    cards = "".join(
        f'<li class="grid__item"><div class="card__information"><h3 class="card__heading"><a href="/products/{slug(one.name)}">{one.name}</a></h3>'
        f'<div class="price"><span class="price-item">${one.price:.2f} USD</span></div></div></li>'
        for one in words.random.sample(others, min(4, len(others)))
    )
    reviews = "".join(
        f'<div class="jdgm-rev"><span class="jdgm-rev__timestamp">{words.random.randint(1, 11)} months ago</span>'
        f'<span class="jdgm-rev__author">{who}</span><div class="jdgm-rev__body"><p>{opinion}</p></div></div>'
        for who, opinion in product.opinions
    )
    graph = {"@context": "http://schema.org/", "@type": "Product", "name": product.name, "sku": str(product.number),
             "brand": {"@type": "Brand", "name": product.maker},
             "aggregateRating": {"@type": "AggregateRating", "ratingValue": product.stars, "ratingCount": product.reviews},
             "offers": [{"@type": "Offer", "price": f"{product.price:.2f}", "priceCurrency": "USD",
                         "availability": "http://schema.org/InStock"}]}  # fmt: skip
    trail = (
        f'<a href="/">Home</a><a href="/collections/{slug(collection)}">{collection}</a>'
        if collection
        else '<a href="/">Home</a>'
    )
    return f"""<!doctype html><html class="no-js" lang="en"><head><meta charset="utf-8">
<title>{product.name} &ndash; Oak &amp; Tin</title><link rel="canonical" href="https://oakandtin.example/products/{slug(product.name)}">
<meta name="description" content="{product.texts[0][:140]}"><meta property="og:title" content="{product.name}">
<meta property="og:price:amount" content="{product.price:.2f}"></head><body class="gradient">
<div id="shopify-section-announcement-bar"><p class="announcement-bar__message">{words.random.choice(OFFERS)}</p></div>
<header class="header"><a href="/" class="header__heading-link">Oak &amp; Tin</a><nav><a href="/collections/all">Catalog</a><a href="/cart">Cart</a></nav></header>
<main id="MainContent" class="content-for-layout"><nav class="breadcrumb">{trail}</nav><section class="product grid">
<div class="product__info-container"><p class="product__text caption">{product.maker}</p><div class="product__title"><h1>{product.name}</h1></div>
<div class="price"><span class="price-item price-item--regular">${product.price:.2f} USD</span></div>
<div class="jdgm-preview-badge"><span class="jdgm-prev-badge__text">{product.reviews} reviews</span></div>
<p class="product__inventory">{"Low stock: " if left < 10 else ""}{left} left</p><button type="submit" name="add">Add to cart</button>
<div class="product__description rte">{paras(product.texts)}<ul>{paras(product.points, "li")}</ul></div>
<button class="share-button__button">Share</button></div></section><product-recommendations class="related-products">
<h2 class="related-products__heading">You may also like</h2><ul class="grid">{cards}</ul></product-recommendations>
<div class="jdgm-widget jdgm-review-widget"><h2>Customer Reviews</h2><div>Based on {product.reviews} reviews {product.stars}</div>{reviews}</div></main>
<script type="application/ld+json">{json.dumps(graph)}</script><footer class="footer"><p>© 2024, Oak &amp; Tin. Powered by Shopify</p></footer></body></html>""".encode()


def collections(random: Random, count: int) -> Iterator[Page]:
    """A product on its own and within a collection, or within two."""
    words = Words(random)
    products = [Product(words) for _ in range(count)]
    pages = []
    for number, product in enumerate(products):
        for collection in random.sample(["", "New in", "Kitchen", "Gifts"], 2):
            product.rated(words)
            path = (
                f"/collections/{slug(collection)}" * bool(collection)
                + f"/products/{slug(product.name)}"
            )
            html = shopify_page(words, product, products, path, collection)
            pages.append(Page(f"https://oakandtin.example{path}", html, str(number), SHOPIFY))
    yield from copies_last(pages)


def variants(random: Random, count: int) -> Iterator[Page]:
    """Products of a range that share their description: other sizes, colours, numbers and prices."""
    words = Words(random)
    colours = ["Black", "Sand", "Moss", "Brick", "Navy"]
    for family in range(1 + (count - 1) // 5):
        model, others = Product(words), [Product(words) for _ in range(6)]
        name = model.name
        for number, colour in enumerate(colours[: min(5, count - 5 * family)]):
            model.name = f"{name} {colour} {30 + 5 * number} cm"
            model.number += 1
            model.price = round(model.price + 2.5, 2)
            path = f"/products/{slug(model.name)}"
            html = shopify_page(words, model, others, path, "Kitchen")
            yield Page(f"https://oakandtin.example{path}", html, model.name, SHOPIFY)


MAGENTO = {"title": "h1.page-title span::text", "body": "#description .value", "category": ".breadcrumbs li.category a::text", "stock": ".stock span::text", "comments": ".reviews-actions .view span::text", "article": "main", "price": ".price-box .price::text", "number": "[itemprop=sku]::text"}  # fmt: skip


def magento_page(words: Words, product: Product, others: list[Product], trail: str) -> bytes:
    """The theme Luma: tabs, a table of attributes, products that are related and upsold."""
    related = "".join(
        f'<li class="item product product-item"><strong class="product-item-name"><a href="/{slug(one.name)}.html">{one.name}</a></strong>'
        f'<span class="price">£{one.price:.2f}</span><button class="tocompare">Add to Compare</button></li>'
        for one in words.random.sample(others, min(5, len(others)))
    )
    crumbs = (
        f'<li class="item category"><a href="/{slug(trail)}.html">{trail}</a></li>' if trail else ""
    )
    attributes = "".join(
        f'<tr><th class="col label">{name}</th><td class="col data">{value}</td></tr>'
        for name, value in (
            ("Brand", product.maker),
            ("Weight", f"{product.number % 90 / 10} kg"),
            ("Guarantee", "2 years"),
        )
    )
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"/><title>{product.name}{f" - {trail}" * bool(trail)} | Garden &amp; Shed</title>
</head><body class="catalog-product-view"><div class="page-wrapper"><header class="page-header"><span class="greet">Default welcome msg!</span>
<a class="logo" href="/"><img alt="Garden and Shed"></a><div class="minicart-wrapper"><span class="counter-number">0</span> My Cart</div></header>
<div class="breadcrumbs"><ul class="items"><li class="item home"><a href="/">Home</a></li>{crumbs}<li class="item product"><strong>{product.name}</strong></li></ul></div>
<main id="maincontent" class="page-main"><div class="columns"><div class="column main"><div class="product-info-main"><div class="page-title-wrapper product">
<h1 class="page-title"><span class="base" data-ui-id="page-title-wrapper" itemprop="name">{product.name}</span></h1></div>
<div class="product-reviews-summary" itemprop="aggregateRating" itemscope itemtype="http://schema.org/AggregateRating"><div class="rating-result" title="{product.stars * 20:.0f}%">
<span itemprop="ratingValue">{product.stars * 20:.0f}</span>%</div><div class="reviews-actions"><a class="action view"><span itemprop="reviewCount">{product.reviews}</span> Reviews</a></div></div>
<div class="price-box" itemprop="offers" itemscope itemtype="http://schema.org/Offer"><span class="price" itemprop="price" content="{product.price:.2f}">£{product.price:.2f}</span></div>
<div class="product-info-stock-sku"><div class="stock available"><span>{words.random.choice(["In stock", f"Only {words.random.randint(1, 9)} left"])}</span></div>
<div class="product attribute sku"><strong class="type">SKU#</strong>: <div class="value" itemprop="sku">GS-{product.number}</div></div></div>
<form><label>Qty</label><input name="qty" value="1"><button>Add to Cart</button></form><div class="product-addto-links">Add to Wish List Add to Compare Email</div></div>
<div class="product info detailed"><div class="data item content" id="description"><div class="product attribute description"><div class="value">{paras(product.texts)}</div></div></div>
<div class="data item content" id="additional"><table class="additional-attributes">{attributes}</table></div>
<div id="reviews"><h2>Write Your Own Review</h2><p>You're reviewing: {product.name}</p></div></div>
<div class="block related"><strong>Related Products</strong><p>Check items to add to the cart or select all</p><ol class="products">{related}</ol></div></div></div></main>
<footer class="page-footer"><p>Copyright © Garden &amp; Shed</p></footer></div></body></html>""".encode()


def category_paths(random: Random, count: int) -> list[Page]:
    """A product below categories, whose names stand in its address, its trail and its title."""
    words = Words(random)
    products = [Product(words) for _ in range(count)]
    pages = []
    for number, product in enumerate(products):
        for trail in random.sample(["", "Tools", "Sale", "Spring offers"], 2):
            product.rated(words)
            path = "/" + f"{slug(trail)}/" * bool(trail) + f"{slug(product.name)}.html"
            html = magento_page(words, product, products, trail)
            pages.append(Page(f"https://www.gardenshed.example{path}", html, str(number), MAGENTO))
    return shuffled(random, pages)


SHOPWARE = {"title": ".product--title::text", "body": ".product--description", "category": ".breadcrumb--link .breadcrumb--title::text", "stock": ".delivery--text::text", "comments": ".product--rating-count::text", "views": ".viewed--count::text", "article": ".content--wrapper", "price": ".price--content::text", "number": "[itemprop=sku]::text"}  # fmt: skip


def shopware_page(words: Words, product: Product) -> bytes:
    """The theme Responsive in German; says who looks at the product now."""
    seen = "".join(
        f'<li class="list--entry"><a href="/{slug(name)}">{name}</a></li>'
        for name in (words.title(2, 4) for _ in range(4))
    )
    price = f"{product.price:.2f}".replace(".", ",")
    return f"""<!DOCTYPE html><html class="no-js" lang="de"><head><meta charset="utf-8"><title>{product.name} | Haushalt | Kesselhaus</title>
<meta itemprop="productID" content="{product.number}"></head><body class="is--ctl-detail is--act-index"><div class="page-wrap">
<header class="header-main"><a class="logo--link" href="/">Kesselhaus</a><span class="cart--amount">0,00&nbsp;&euro;</span></header>
<section class="content-main"><nav class="content--breadcrumb"><ul class="breadcrumb--list"><li><a class="breadcrumb--link" href="/haushalt/"><span class="breadcrumb--title">Haushalt</span></a></li></ul></nav>
<div class="content--wrapper"><div class="content product--details" itemscope itemtype="https://schema.org/Product"><header class="product--header">
<h1 class="product--title" itemprop="name">{product.name}</h1><span class="product--rating-count">{product.reviews}</span></header>
<div class="product--buybox"><span class="price--content">{price}&nbsp;&euro; *</span><p class="product--tax">inkl. MwSt. zzgl. Versandkosten</p>
<p class="delivery--information"><span class="delivery--text">Noch {words.random.randint(2, 60)} Stück auf Lager</span></p>
<p class="viewed"><span class="viewed--count">{words.random.randint(2, 40)}</span> Kunden sehen sich diesen Artikel gerade an</p>
<ul class="product--base-info"><li><strong>Artikel-Nr.:</strong> <span itemprop="sku">KH{product.number}</span></li></ul></div>
<div class="tab-menu--product"><div class="content--title">Produktinformationen "{product.name}"</div>
<div class="product--description" itemprop="description">{paras(product.texts)}</div></div>
<div class="tab--also-bought"><h3>Kunden kauften auch</h3><ul>{seen}</ul></div></div></div></section>
<footer class="footer-main"><p>* Alle Preise inkl. gesetzl. Mehrwertsteuer</p></footer></div></body></html>""".encode()


def crawled_again(random: Random, count: int) -> Iterator[Page]:
    """Two visits of every product; in the third crawl copies under a parameter as well."""
    words = Words(random)
    products = [Product(words) for _ in range(count)]
    for crawl in range(3):
        for number, product in enumerate(products):
            for parameter in ("", f"?c={random.randint(10, 99)}") if crawl == 2 else ("",):
                product.rated(words)
                url = (
                    f"https://kesselhaus.example/detail/index/sArticle/{product.number}{parameter}"
                )
                yield Page(url, shopware_page(words, product), str(number), SHOPWARE, crawl=crawl)


KINDS = (
    Kind("Shopify: products in collections", collections),
    Kind("Shopify: variants (all different)", variants),
    Kind("Magento: products in categories", category_paths),
    Kind("Shopware: third crawl, parameters", crawled_again, 30),
)

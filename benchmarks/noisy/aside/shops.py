"""Shops: WooCommerce, PrestaShop with its combinations, Magento, and listings of Shopware."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from benchmarks.noisy.aside._stories import hexadecimal, ld, menu, og, some
from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, english, paras, slug


class Product(NamedTuple):
    number: int
    name: str
    brand: str
    price: float
    texts: list[str]
    facts: list[tuple[str, str]]

    @property
    def sku(self) -> str:
        return f"{self.brand[:3].upper()}-{4000 + 13 * self.number}"


GOODS = [
    "kettle",
    "desk lamp",
    "rain jacket",
    "backpack",
    "garden hose",
    "office chair",
    "coffee grinder",
    "wall clock",
    "bath towel",
    "bread knife",
    "bicycle pump",
    "picture frame",
    "storage box",
    "floor mat",
    "headphones",
    "tea pot",
    "camping stove",
    "wool blanket",
    "water bottle",
    "tool set",
]
MATERIALS = ["steel", "oak", "cotton", "aluminium", "glass", "bamboo", "recycled plastic", "brass"]


def _products(words: Words, count: int, low: int, high: int) -> list[Product]:
    random = words.random
    brands = [words.made().capitalize() for _ in range(8)]
    made = []
    for number in range(count):
        brand = random.choice(brands)
        name = f"{brand} {words.made().capitalize()} {random.choice(GOODS)}"
        facts = [
            ("Material", random.choice(MATERIALS)),
            ("Weight", f"{random.randint(2, 90) / 10} kg"),
            (
                "Dimensions",
                f"{random.randint(5, 90)} × {random.randint(5, 90)} × {random.randint(3, 60)} cm",
            ),
            ("Country of origin", random.choice(["Portugal", "Poland", "Taiwan", "Italy"])),
            ("Warranty", f"{random.randint(1, 5)} years"),
        ]
        price = random.randint(8, 400) - 0.05
        made.append(Product(number, name, brand, price, words.paragraphs(low, high), facts))
    return made


WOO = {
    "title": "h1.product_title::text",
    "body": ".woocommerce-Tabs-panel--description",
    "category": ".posted_in a::text",
    "stock": "p.stock::text",
    "comments": ".woocommerce-review-link .count::text",
    "article": ".type-product",
}


def _woo(
    *,
    random: Random,
    product: Product,
    others: list[Product],
    category: str,
    stock: int,
    reviews: list[str],
) -> str:
    price = f'<span class="woocommerce-Price-amount amount"><bdi><span class="woocommerce-Price-currencySymbol">&euro;</span>{product.price:.2f}</bdi></span>'
    cards = [
        f'<li class="product type-product"><a href="/product/{slug(other.name)}/" class="woocommerce-LoopProduct-link"><h2 class="woocommerce-loop-product__title">{other.name}</h2> <span class="price">&euro;{other.price:.2f}</span></a><a href="?add-to-cart={other.number}" class="button">Add to basket</a></li>'
        for other in some(random, others, 7)
    ]
    rows = "\n".join(
        f'<tr class="woocommerce-product-attributes-item"><th>{name}</th> <td>{value}</td></tr>'
        for name, value in product.facts
    )
    comments = "\n".join(
        f'<li class="review"><div class="star-rating">Rated {random.randint(3, 5)} out of 5</div> <div class="description"><p>{review}</p></div></li>'
        for review in reviews
    )
    left = f"{stock} in stock" if stock else "Out of stock"
    return f"""<!DOCTYPE html><html lang="en-GB"><head><title>{product.name} &#8211; Hearth &amp; Hall</title><link rel="canonical" href="https://hearthandhall.example/shop/{slug(category)}/{slug(product.name)}/">
{ld(type="Product", name=product.name, sku=product.sku, offers={"@type": "Offer", "price": f"{product.price:.2f}", "availability": "https://schema.org/InStock" if stock else "https://schema.org/OutOfStock"})}</head>
<body class="product-template-default single single-product woocommerce"><p class="woocommerce-store-notice demo_store">Free delivery over &euro;50 until Sunday! <a>Dismiss</a></p> <header id="masthead" class="site-header"><a href="/">Hearth &amp; Hall</a>{menu(["Kitchen", "Garden", "Office", "Sale"], "/product-category/")}<ul class="site-header-cart"><li>&euro;0.00 <span class="count">0 items</span></li></ul></header>
<nav class="woocommerce-breadcrumb"><a href="/">Home</a> / <a href="/product-category/{slug(category)}/">{category}</a> / {product.name}</nav>
<div id="product-{product.number}" class="product type-product {"instock" if stock else "outofstock"}"><div class="woocommerce-product-gallery"><img src="/wp-content/uploads/{product.sku}.jpg" alt=""></div>
<div class="summary entry-summary"><h1 class="product_title entry-title">{product.name}</h1> <div class="woocommerce-product-rating"><a href="#reviews" class="woocommerce-review-link">(<span class="count">{len(reviews)}</span> customer reviews)</a></div> <p class="price">{price}</p> <p class="stock">{left}</p> <div class="viewing">{random.randint(2, 40)} people are viewing this right now</div> <button>Add to basket</button><div class="product_meta"><span class="sku_wrapper">SKU: <span class="sku">{product.sku}</span></span> <span class="posted_in">Category: <a>{category}</a></span></div></div>
<div class="woocommerce-tabs wc-tabs-wrapper"><ul class="tabs wc-tabs"><li>Description</li> <li>Additional information</li> <li>Reviews ({len(reviews)})</li></ul> <div class="woocommerce-Tabs-panel woocommerce-Tabs-panel--description"><h2>Description</h2>{paras(product.texts)}</div> <div class="woocommerce-Tabs-panel--additional_information"><table class="shop_attributes">{rows}</table></div> <div id="reviews"><ol class="commentlist">{comments}</ol> <p>Only logged in customers who have purchased this product may leave a review.</p></div></div>
<section class="related products"><h2>Related products</h2> <ul class="products columns-4">{"".join(cards[:4])}</ul></section></div> <div id="secondary"><h3>Recently Viewed Products</h3> <ul class="product_list_widget">{"".join(cards[4:])}</ul></div> <footer>&copy; Hearth &amp; Hall 2024. Built with WooCommerce.</footer></body></html>"""


def woocommerce(random: Random, count: int) -> Iterator[Page]:
    """Products under two categories; stock, ratings and what was viewed change by themselves."""
    words, pages = Words(random), []
    products = _products(words, count, 100, 350)
    categories = ["Kitchen", "Garden", "Office", "Gifts under 50", "New in", "Sale"]
    for product in products:
        reviews = [words.paragraph(random.randint(10, 40)) for _ in range(random.randint(0, 4))]
        stock = random.randint(0, 40)
        for category in random.sample(categories, random.choice([2, 2, 3])):
            stock = max(0, stock - random.randint(0, 2))
            if random.random() < 0.15:
                reviews = [words.paragraph(20), *reviews]
            html = _woo(
                random=random,
                product=product,
                others=products,
                category=category,
                stock=stock,
                reviews=reviews,
            )
            url = f"https://hearthandhall.example/shop/{slug(category)}/{slug(product.name)}/"
            pages.append(Page(url, html.encode(), str(product.number), WOO))
    yield from copies_last(shuffled(random, pages))


PRESTA = {
    "title": "h1.page-title::text",
    "body": ".tabs",
    "category": ".breadcrumb li:nth-last-child(2) span::text",
    "stock": "#product-availability::text",
    "article": "#main",
}
COMBINATIONS = {
    "Colour": ["Anthracite", "Signal red", "Traffic white", "Moss green", "Cobalt blue"],
    "Size": ["XS", "S", "M", "L", "XL", "XXL"],
    "Voltage": ["12 V DC", "24 V DC", "110 V AC", "230 V AC"],
    "Length": ["2 m", "5 m", "10 m", "15 m", "25 m"],
    "Thread": ["M4", "M5", "M6", "M8", "M10", "M12"],
}


def prestashop(random: Random, count: int) -> Iterator[Page]:
    """Combinations of a few products: size, colour, voltage, with a reference and a price each."""
    words, pages = Words(random), []
    products = _products(words, -(-count // 5), 80, 250)
    for product in products:
        named = random.random() < 0.5
        what = random.choice([*COMBINATIONS])
        values = COMBINATIONS[what]
        for place in range(5):
            value = values[place % len(values)]
            second = "" if place < len(values) else " (reinforced)"
            reference = f"{product.sku}.{random.randint(10, 99)}{place}"
            title = f"{product.name}, {value}{second}" if named else product.name
            price = product.price + 3.5 * place
            facts = [
                (what, value + second),
                ("Reference", reference),
                ("EAN13", str(random.randint(4 * 10**12, 5 * 10**12))),
                *product.facts,
            ]
            rows = "\n".join(
                f'<dt class="name">{name}</dt> <dd class="value">{fact}</dd>'
                for name, fact in facts
            )
            choices = "\n".join(
                f"<option{' selected' if one == value else ''}>{one}</option>" for one in values
            )
            others = "\n".join(
                f'<article class="product-miniature"><h3 class="h3 product-title"><a href="/{other.number}-{slug(other.name)}.html">{other.name}</a></h3> <span class="price">€{other.price:.2f}</span></article>'
                for other in some(random, products, 4)
            )
            html = f"""<!doctype html><html lang="en-us"><head><title>{title} - Toolroom</title><meta name="description" content="{product.texts[0][:120]}">{og(type="product", title=title, site_name="Toolroom")}</head><body id="product" class="lang-en page-product"><header id="header"><nav class="header-nav">Call us: 0123-456-789 <a>Sign in</a> Cart (0)</nav>{menu(["Clothes", "Accessories", "Machines"], css="top-menu")}</header>
<section id="wrapper"><nav class="breadcrumb"><ol><li><a href="/"><span>Home</span></a></li> <li><a href="/6-accessories"><span>Accessories</span></a></li> <li><span>{title}</span></li></ol></nav><section id="main"><h1 class="h1 page-title">{title}</h1> <div class="product-prices"><span class="current-price-value" content="{price:.2f}">€{price:.2f}</span> Tax included. Delivered in {random.randint(2, 5)} days.</div>
<div class="product-variants"><span class="control-label">{what}: {value}{second}</span><select>{choices}</select></div> <span id="product-availability">{random.choice(["In stock", "Last items in stock", "Available on order"])}</span><button class="add-to-cart">Add to cart</button><div class="blockreassurance_product">Security policy. Delivery policy. Return policy.</div>
<div class="tabs"><div class="product-description">{"<br /><br />".join(product.texts)}</div> <div id="product-details"><section class="product-features"><div class="h6">Data sheet</div> <dl class="data-sheet">{rows}</dl></section></div></div> <section class="featured-products"><p class="h5">Customers who bought this product also bought:</p>{others}</section></section></section><footer id="footer">{menu(["Delivery", "Legal Notice", "Terms and conditions of use", "About us", "Secure payment"])}© 2024 - Ecommerce software by PrestaShop™</footer></body></html>"""
            url = f"https://toolroom.example/accessories/{product.number}-{random.randint(100, 999)}{place}-{slug(product.name)}.html"
            pages.append(Page(url, html.encode(), reference, PRESTA))
    yield from shuffled(random, pages[:count])


MAGENTO = {
    "title": "h1.page-title span::text",
    "body": ".description",
    "stock": ".stock span::text",
    "comments": ".reviews-actions .view span::text",
    "article": "main",
}


def magento(random: Random, count: int) -> Iterator[Page]:
    """Products with sessions, in store views, under their number; reviews of shoppers and blocks."""
    words, pages = Words(random), []
    root = "https://www.northfitters.example/"
    products = _products(words, count, 60, 220)
    for product in products:
        reviews = [
            f'<li class="item review-item"><div class="review-title">{words.title(2, 5)}</div> <div class="review-content">{words.paragraph(25)}</div> <p class="review-author">Review by {words.person()}</p></li>'
            for _ in range(random.randint(0, 5))
        ]
        key = slug(product.name)
        ends = [
            f"{key}.html",
            f"{key}.html?SID={hexadecimal(random, 26)}",
            f"catalog/product/view/id/{product.number}/",
            f"{key}.html?___store=en&___from_store=default",
        ]
        rows = "\n".join(
            f'<tr><th class="col label" scope="row">{name}</th> <td class="col data" data-th="{name}">{value}</td></tr>'
            for name, value in product.facts
        )
        for end in some(random, ends, random.choice([2, 3])):
            blocks = [
                f'<li class="item product product-item"><strong class="product name"><a href="/{slug(other.name)}.html">{other.name}</a></strong><span class="price">${other.price:.2f}</span><div>Add to Wish List Add to Compare</div></li>'
                for other in some(random, products, 8)
            ]
            html = f"""<!doctype html><html lang="en"><head><title>{product.name}{"" if "id" not in end else " | Northfitters"}</title><meta name="description" content="{product.name}">{og(type="product", title=product.name)}</head><body class="catalog-product-view product-{key} page-layout-1column"><div class="cookie-status-message">The store will not work correctly when cookies are disabled.</div> <div class="page-wrapper"><header class="page-header"><span>Default welcome msg!</span> <a>Sign In</a> or <a>Create an Account</a><div class="switcher">Language English</div>{menu(["What's New", "Men", "Women", "Gear", "Training", "Sale"])}</header>
<div class="breadcrumbs"><ul class="items"><li class="item home"><a href="/">Home</a></li> <li class="item"><strong>{product.name}</strong></li></ul></div> <main id="maincontent" class="page-main"><div class="product-info-main"><h1 class="page-title"><span class="base" data-ui-id="page-title-wrapper" itemprop="name">{product.name}</span></h1> <div class="product-reviews-summary"><div class="rating-summary">{random.randint(60, 100) if reviews else 0}%</div> <div class="reviews-actions"><a class="action view"><span itemprop="reviewCount">{len(reviews)}</span> Reviews</a></div></div>
<div class="product-info-price"><span class="price">${product.price:.2f}</span><div class="product-info-stock-sku"><div class="stock available"><span>In stock</span></div> <div class="product attribute sku"><strong>SKU#:</strong> {product.sku}</div></div></div> <label>Qty</label><button>Add to Cart</button></div>
<div class="product info detailed"><div class="data item content"><div class="product attribute description"><div class="value">{paras(product.texts)}</div></div></div> <div class="additional-attributes-wrapper"><table class="data table additional-attributes">{rows}</table></div> <div id="reviews"><ol class="items review-items">{"".join(reviews)}</ol>You're reviewing: {product.name}. Your Rating. Nickname. Summary. Review. Submit Review</div></div>
<div class="block related"><strong>Related Products</strong><div>Check items to add to the cart or select all</div> <ol>{"".join(blocks[:4])}</ol></div> <div class="block upsell"><strong>We found other products you might like!</strong><ol>{"".join(blocks[4:])}</ol></div></main><footer class="page-footer">{menu(["About us", "Customer Service", "Privacy and Cookie Policy", "Search Terms", "Orders and Returns"])}<small class="copyright">Copyright © 2013-present Magento, Inc. All rights reserved.</small></footer></div></body></html>"""
            pages.append(Page(root + end, html.encode(), str(product.number), MAGENTO))
    yield from shuffled(random, pages)


LISTING = {
    "title": "h1.cms-listing-title::text",
    "body": ".cms-element-product-listing",
    "article": ".container-main",
}


def shopware_listings(random: Random, count: int) -> Iterator[Page]:
    """The pages of the lists of categories: every page has other products under the same text."""
    words = Words(random)
    categories = ["Lighting", "Outdoor", "Kitchen & dining", "Workshop"]
    size = -(-count // len(categories))
    for number in range(count):
        category, page = categories[number // size], number % size + 1
        if page == 1:
            intro = words.paragraphs(60, 120)
        cards = "\n".join(
            f'<div class="cms-listing-col"><div class="card product-box box-standard"><a href="/{slug(one.name)}/{one.sku}" class="product-name">{one.name}</a><div class="product-description">{one.texts[0][:160]}</div> <span class="product-price">€{one.price:.2f}*</span><button class="btn-buy">Add to shopping cart</button></div></div>'
            for one in _products(words, 24, 20, 40)
        )
        html = f"""<!DOCTYPE html><html lang="en-GB" itemscope itemtype="https://schema.org/WebPage"><head><title>{category}</title><meta name="robots" content="index,follow"></head><body class="is-ctl-navigation is-act-index"><header class="header-main"><a href="/">Lamp &amp; Larder</a>{menu(categories, css="main-navigation-menu")}<span>€0.00*</span></header>
<nav aria-label="breadcrumb"><ol class="breadcrumb"><li class="breadcrumb-item"><a href="/">Home</a></li> <li class="breadcrumb-item"><a href="/{slug(category)}/"><span class="breadcrumb-title">{category}</span></a></li></ol></nav><main class="content-main"><div class="container-main"><h1 class="cms-listing-title">{category}</h1> <div class="category-text">{paras(intro)}</div> <div class="filter-panel">Manufacturer Price Rating Free shipping</div> <div>Sort by: Name A-Z, Price ascending, Top results</div>
<div class="cms-element-product-listing"><div class="row cms-listing-row">{cards}</div> <nav aria-label="pagination"><ul class="pagination"><li>First</li> <li>Previous</li> <li class="active">{page}</li> <li>Next</li> <li>Last</li></ul></nav></div></div></main><footer class="footer-main">Service hotline. Shop service. Information. Newsletter. * All prices incl. VAT plus shipping costs. Realised with Shopware</footer></body></html>"""
        end = f"?order=name-asc&p={page}" if page > 1 else ""
        yield Page(
            f"https://lampandlarder.example/{slug(category)}/{end}",
            html.encode(),
            f"{category} {page}",
            LISTING,
        )


CARD = {
    "title": ".s-item__title::text",
    "link": "a.s-item__link::attr(href)",
    "body": ".s-item__details",
    "date": ".s-item__listingDate::text",
    "article": "li",
}


def market_cards(random: Random, count: int) -> Iterator[Page]:
    """Offers of a market place as cards of search results; an offer stands in several results."""
    words = Words(random)
    products = _products(words, count, 30, 60)
    days, seen = [words.day(2024, 2025) for _ in products], []
    for page in range(1, -(-count // 8) + 1):
        offers = products[8 * (page - 1) : 8 * page]
        offers = some(random, offers + some(random, seen, 5), 13)
        seen += [one for one in offers if one not in seen]
        items = "\n".join(
            f'<li class="s-item" id="item{one.number}"><a class="s-item__link" href="/itm/{20000 + one.number}?hash={hexadecimal(random)}"><div class="s-item__title">{one.name}</div></a><div class="s-item__subtitle">{random.choice(["Brand New", "Sponsored · Brand New"])}</div> <div class="s-item__details"><p>{one.texts[0]}</p> <p>{", ".join(f"{name}: {value}" for name, value in one.facts)}. SKU {one.sku}</p></div> <span class="s-item__price">${one.price:.2f}</span><span>{random.randint(1, 90)}+ watchers</span><span class="s-item__listingDate">{english(days[one.number])}</span></li>'
            for one in offers
        )
        html = f"""<!DOCTYPE html><html><head><title>Home and tools for sale | Swapstall</title></head><body><header>Swapstall {menu(["My Swapstall", "Sell", "Help"])}</header><h1 class="srp-controls__count-heading"><span>{random.randint(900, 2000):,}</span> results</h1> <div id="srp-river-results"><ul class="srp-results">{items}</ul></div> <footer>Copyright © 1999-2024 Swapstall Inc.</footer></body></html>"""
        url = f"https://www.swapstall.example/sch/i.html?_nkw=home&_pgn={page}"
        for one in offers:
            yield Page(url, html.encode(), str(one.number), CARD, f"#item{one.number}")


KINDS = (
    Kind("WooCommerce: two categories", woocommerce, 35),
    Kind("PrestaShop: combinations", prestashop, 40),
    Kind("Magento: sessions, stores, numbers", magento, 35),
    Kind("Shopware: pages of listings", shopware_listings, 32),
    Kind("Market place: cards of results", market_cards, 40),
)

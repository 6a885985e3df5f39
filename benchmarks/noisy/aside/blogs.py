"""Blogs as Ghost and Medium show them, and a podcast in its own site and in a directory."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from benchmarks.noisy.aside._stories import Story, hexadecimal, ld, menu, og, some, stories
from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, english, paras

GHOST = {
    "title": "h1.gh-article-title::text",
    "body": ".gh-content",
    "date": "time.gh-article-meta-date::attr(datetime)",
    "author": ".gh-article-author-name a::text",
    "category": ".gh-article-tag::text",
}
GHOST_AMP = {
    "title": "h1.post-title::text",
    "body": ".post-content",
    "date": "time::attr(datetime)",
}
TAGS = ["Engineering", "Essays", "Interviews", "Notes", "Field reports"]


def _ghost(random: Random, story: Story, others: list[Story]) -> str:
    tag = TAGS[story.number % len(TAGS)]
    day = f"{story.day:%Y-%m-%d}"
    url = f"https://journal.example/{story.slug}/"
    texts = [*story.texts]
    if len(texts) > 3:
        card = f'<div class="kg-card kg-callout-card"><div class="kg-callout-text">{texts[1]}</div></div>'
        texts[2] += f'</p>{card}<p id="{story.slug[:12]}">'
    cards = "\n".join(
        f'<article class="gh-card post"><a class="gh-card-link" href="/{other.slug}/"><h3 class="gh-card-title">'
        f'{other.title}</h3> <p class="gh-card-excerpt">{other.teaser}</p> <footer class="gh-card-meta">'
        f'<time class="gh-card-date" datetime="{other.day:%Y-%m-%d}">{other.day:%b %d, %Y}</time></footer></a></article>'
        for other in others
    )
    return f"""<!DOCTYPE html><html lang="en"><head><title>{story.title}</title>
<link rel="canonical" href="{url}"><link rel="amphtml" href="{url}amp/">
{og(site_name="The Journal", type="article", title=story.title, description=story.teaser, url=url, published=f"{story.day:%Y-%m-%dT%H:%M:%S.000Z}", image=f"https://journal.example/content/images/{day}.jpg")}
{ld(type="Article", headline=story.title, datePublished=f"{story.day:%Y-%m-%dT%H:%M:%S.000Z}", author={"@type": "Person", "name": story.author})}
<meta name="generator" content="Ghost 5.74"></head><body class="post-template tag-{tag.lower()} is-head-left-logo"><div class="viewport">
<header id="gh-head" class="gh-head outer"><a class="gh-head-logo" href="/">The Journal</a><nav class="gh-head-menu">{menu(["Home", "About", "Archive"], css="nav")}</nav><a class="gh-head-link" href="#/portal/signin">Sign in</a><a class="gh-head-button" href="#/portal/signup">Subscribe</a></header>
<main id="site-main" class="site-main"><article class="gh-article post tag-{tag.lower()} image-small">
<header class="gh-article-header gh-canvas"><div class="gh-article-tag">{tag}</div> <h1 class="gh-article-title is-title">{story.title}</h1>
<div class="gh-article-meta"><h4 class="gh-article-author-name"><a href="/author/x/">{story.author}</a></h4> <div class="byline-meta-content"><time class="gh-article-meta-date" datetime="{day}">{story.day:%b %d, %Y}</time> <span class="byline-reading-time"><span class="bull">&bull;</span> {1 + len(story.texts) // 2} min read</span></div></div></header>
<section class="gh-content gh-canvas is-body">{paras(texts)}</section></article>
<div class="gh-comments gh-canvas"><h2>Member discussion</h2> <span>{random.randint(0, 30)} comments</span></div></main>
<aside class="read-more-wrap outer"><h2>Read more</h2> <div class="read-more inner">{cards}</div></aside>
<footer class="site-footer outer"><section class="copyright"><a href="/">The Journal</a> &copy; 2024</section><nav>{menu(["Privacy", "Contact"])}</nav><div class="gh-powered-by"><a href="https://ghost.example/">Powered by Ghost</a></div></footer></div></body></html>"""


def _ghost_amp(story: Story) -> str:
    url = f"https://journal.example/{story.slug}/"
    day = f"{story.day:%Y-%m-%d}"
    return f"""<!DOCTYPE html><html ⚡ lang="en"><head><meta charset="utf-8"><title>{story.title}</title><link rel="canonical" href="{url}">
{ld(type="Article", headline=story.title, datePublished=day)}<style amp-custom>.post-title{{font-size:4rem}}</style></head>
<body class="amp-template"><header class="page-header"><a href="/">The Journal</a></header><main class="content" role="main"><article class="post">
<header class="post-header"><h1 class="post-title">{story.title}</h1> <section class="post-meta"><p class="author">by <a href="/author/x/">{story.author}</a></p> <time class="post-date" datetime="{day}">{day}</time></section></header>
<figure class="post-image"><amp-img src="/content/images/{day}.jpg" width="600" height="400" layout="responsive"></amp-img></figure>
<section class="post-content">{paras(story.texts)}</section></article></main>
<footer class="page-footer"><h3>The Journal</h3> <p>Slow thoughts on quick machines</p> <p><a href="/">Read more posts &rarr;</a></p> <a class="powered" href="https://ghost.example/">Published with Ghost</a></footer></body></html>"""


def ghost(random: Random, count: int) -> Iterator[Page]:
    words, pages = Words(random), []
    written = stories(words, count, 200, 800)
    for story in written:
        url = f"https://journal.example/{story.slug}/"
        ref = random.choice(
            ["?ref=weekly-newsletter", "?ref=hackerdaily.example", "?action=subscribe"]
        )
        for end in random.choice([["", ref], ["", "amp/"], ["amp/", ref], ["", "amp/", ref]]):
            html = (
                _ghost_amp(story)
                if end == "amp/"
                else _ghost(random, story, some(random, written, 3))
            )
            selectors = GHOST_AMP if end == "amp/" else GHOST
            pages.append(Page(url + end, html.encode(), story.thing, selectors))
    yield from shuffled(random, pages)


MEDIUM = {
    "title": "h1.pw-post-title::text",
    "body": ".post-body",
    "date": "[data-testid=storyPublishDate]::text",
    "author": "[data-testid=authorName]::text",
    "views": ".pw-multi-vote-count button::text",
    "comments": ".pw-responses-count::text",
    "article": "article",
}


def _medium(random: Random, story: Story, others: list[Story], claps: int) -> str:
    cards = [
        f'<div class="ag cm"><div class="ah">{other.author}</div> <a href="/@{other.author.split()[0].lower()}/{other.slug}-{hexadecimal(random)}?source=post_internal_links---------{place}----"><h2 class="be fq">{other.title}</h2> <h3>{other.teaser}</h3></a>'
        f"<div>{1 + len(other.texts) // 2} min read·{other.day:%b %d, %Y}</div> <div>{random.randint(1, 90) / 10}K</div> <div>{random.randint(1, 99)}</div></div>"
        for place, other in enumerate(others)
    ]
    crossed = f"{1 + len(story.texts) // 2} min read"
    first = paras(story.texts[:2])
    rest = paras(story.texts[2:])
    return f"""<!doctype html><html lang="en"><head><title>{story.title} | by {story.author} | The Draft | Medium</title>
<meta name="description" content="{story.teaser}">{og(site_name="Medium", type="article", title=story.title, published=story.day.isoformat())}
<meta name="twitter:data1" content="{crossed}">{ld(type="NewsArticle", headline=story.title, dateModified=story.day.isoformat(), author={"@type": "Person", "name": story.author})}</head>
<body><div id="root"><div class="a b c"><div class="d e f"><div class="l"><a href="/m/signin">Open in app</a><a href="/m/signup">Sign up</a><a href="/m/signin">Sign in</a></div> <div class="m n"><a href="/">Medium Logo</a><a>Write</a></div>
<article class="meteredContent"><section><div class="gn go">{"<p>Member-only story</p>" if story.number % 4 == 0 else ""}
<h1 class="pw-post-title gq gr">{story.title}</h1> <div class="speechify-ignore"><a data-testid="authorName" href="/@x">{story.author}</a><span>·</span><button>Follow</button><div>Published in<a href="/the-draft">The Draft</a></div> <span data-testid="storyReadTime">{crossed}</span><span data-testid="storyPublishDate">{story.day:%b} {story.day.day}, {story.day.year}</span>
<div class="pw-multi-vote-count"><button>{claps}</button></div> <button class="pw-responses-count">{random.randint(0, 25)}</button><button>Listen</button><button>Share</button></div>
<div class="post-body">{first}<figure><picture><img src="https://miro.example/v2/{story.number}.jpeg"></picture><figcaption>Photo by {story.author} on Unsplash</figcaption></figure>{rest}</div></div></section></article>
<div class="tags">{menu(["Programming", "Culture", "Technology"], "/tag/")}</div> <div class="kb"><h2><span>Written by {story.author}</span></h2> <span>{random.randint(2, 9)}.{random.randint(1, 9)}K Followers</span><p>Writes about what nobody asked for.</p></div>
<div class="kc"><h2>More from {story.author} and The Draft</h2>{"".join(cards[:2])}</div> <div class="kd"><h2>Recommended from Medium</h2>{"".join(cards[2:])}</div>
<footer>{menu(["Help", "Status", "About", "Careers", "Privacy", "Terms", "Text to speech", "Teams"])}</footer></div></div></div></body></html>"""


def medium(random: Random, count: int) -> Iterator[Page]:
    words, pages = Words(random), []
    written = stories(words, count, 250, 900)
    for story in written:
        number, claps = hexadecimal(random), random.randint(3, 4000)
        own = f"https://{story.author.split()[1].lower()}.medium.example/{story.slug}-{number}"
        ends = [
            f"https://medium.example/the-draft/{story.slug}-{number}",
            f"https://medium.example/the-draft/{story.slug}-{number}?source=collection_home---4------{random.randint(0, 9)}-----------------------",
            f"{own}?source=user_profile---------{random.randint(0, 9)}-------------{hexadecimal(random, 20)}---------------",
        ]
        for url in some(random, ends, random.choice([2, 2, 3])):
            claps += random.randint(0, 12)
            html = _medium(random, story, some(random, written, 6), claps)
            pages.append(Page(url, html.encode(), story.thing, MEDIUM))
    yield from copies_last(shuffled(random, pages))


EPISODE = {
    "title": "h1.episode__title::text",
    "body": ".episode__notes",
    "date": ".episode__date::text",
    "article": "main",
}
LISTED = {
    "title": "h1 span::text",
    "body": ".about-episode",
    "date": "[itemprop=datePublished]::attr(content)",
    "views": ".plays::text",
    "comments": ".ratings::text",
}
SPONSORS = [
    "This episode is sponsored by Kettle &amp; Line. Get 15% off your first order with the code SLOW at checkout.",
    "Support for this show comes from Harbour Desk, the inbox for small teams. Try it for 30 days for nothing.",
    "Thanks to Northlight Audio for the microphones. Visit them and tell them that we sent you.",
]
OUTRO = "Slow Signal is written and hosted by Dora Finch and Amir Vale. Our editor is Tess Morrow. The music is by The Small Hours. Follow us wherever you get your podcasts, and leave us a review if you like what we do. Write to us at hello@slowsignal.example or leave a voice message on our site."


def podcast(random: Random, count: int) -> Iterator[Page]:
    """Each episode in the site of the show and in a directory, whose notes come without markup."""
    words, pages = Words(random), []
    written = stories(words, count, 90, 350)
    for story in written:
        guest, minutes = words.person(), random.randint(24, 88)
        sponsor = random.choice(SPONSORS)
        marks = sorted(random.sample(range(2, minutes), 6))
        chapters = [f"{mark:02}:{random.randint(0, 59):02} {words.title(3, 6)}" for mark in marks]
        title = f"{story.title} with {guest}"
        heading = f"#{101 + story.number}: {title}"
        own = f"""<html lang="en"><head><title>{heading} — Slow Signal</title>{og(title=heading, type="article", site_name="Slow Signal")}{ld(type="PodcastEpisode", name=heading, datePublished=f"{story.day:%Y-%m-%d}")}</head><body><header><a href="/">Slow Signal</a>{menu(["Episodes", "About", "Shop", "Support us"])}</header>
<main><p class="episode__date">{english(story.day)}</p> <h1 class="episode__title">{heading}</h1> <div class="player"><audio src="https://cdn.slowsignal.example/{101 + story.number}.mp3"></audio><span>00:00 / {minutes}:{random.randint(10, 59)}</span><button>1x</button><button>Download</button><button>Embed</button></div>
<div class="episode__notes">{paras(story.texts)}<h3>Chapters</h3> <ul>{"".join(f"<li>{chapter}</li>" for chapter in chapters)}</ul> <p>{sponsor}</p> <p><em>{OUTRO}</em></p></div>
<nav class="neighbours"><a href="/{100 + story.number}">Previous episode</a> <a href="/{102 + story.number}">Next episode</a></nav></main><footer>© Slow Signal 2024 · Hosted on Fireside</footer></body></html>"""
        notes = "<br><br>".join([*story.texts, "<br>".join(chapters), sponsor, OUTRO])
        if random.random() < 0.3:
            notes = "<br><br>".join([*story.texts, "<br>".join(chapters)])
        similar = "\n".join(
            f'<li><a href="/episode/{random.randint(10**6, 10**7)}">{other.title}</a> {random.randint(20, 90)} min</li>'
            for other in some(random, stories(words, 4, 10, 20), 4)
        )
        listed = f"""<!DOCTYPE html><html><head><title>{title} - Slow Signal (podcast) | Listen on Podshelf</title><meta name="description" content="{story.teaser}"></head><body><div id="cookie">Podshelf uses cookies to improve your experience. <button>Accept</button><button>Manage</button></div>
<nav class="topbar">{menu(["Discover", "Charts", "Lists", "Creators", "Log in"])}</nav><ol class="breadcrumb"><li><a href="/podcasts">Podcasts</a></li> <li><a href="/podcasts/society">Society &amp; Culture</a></li> <li><a href="/podcasts/slow-signal">Slow Signal</a></li></ol>
<article itemscope itemtype="https://schema.org/PodcastEpisode"><h1><span>{heading if random.random() < 0.5 else title}</span></h1> <meta itemprop="datePublished" content="{story.day:%Y-%m-%d}"><span>{story.day:%b %d, %Y}</span><span class="plays">{random.randint(40, 9000)} plays</span><span class="ratings">{random.randint(0, 40)} ratings</span><button>Play</button><button>Add to list</button>
<div class="about-episode">{notes}</div> <div class="transcript">Transcripts are made by machines and may have mistakes. <a>Claim this podcast</a></div></article><aside><h3>You may also like</h3> <ul>{similar}</ul></aside><footer>Podshelf © 2024 {menu(["Terms", "Privacy", "API"])}</footer></body></html>"""
        pages.append(
            Page(
                f"https://slowsignal.example/{101 + story.number}",
                own.encode(),
                story.thing,
                EPISODE,
            )
        )
        url = f"https://www.podshelf.example/podcasts/slow-signal/{story.slug}-{7810000 + 37 * story.number}"
        pages.append(Page(url, listed.encode(), story.thing, LISTED))
    yield from shuffled(random, pages)


KINDS = (
    Kind("Ghost: AMP and ?ref=", ghost),
    Kind("Medium: ?source= and own subdomain", medium, 35),
    Kind("Podcast: own site and directory", podcast, 30),
)

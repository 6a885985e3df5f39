"""WordPress: a newspaper's site with a theme that counts views, and a smaller blog."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from random import Random

from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, english, paras, slug

NEWS = {
    "title": "h1.entry-title::text",
    "body": ".entry-content",
    "date": "time.entry-date::attr(datetime)",
    "updated": "time.updated::text",
    "author": ".author a::text",
    "views": ".td-post-views span::text",
    "comments": ".td-post-comments a::text",
    "category": ".td-category a::text",
    "article": "article",
}
#: The plugin writes the day into one text with the author and the section.
PRINTED = {"title": "h1::text", "body": "#content", "article": "main"}
SECTIONS = ("Local", "Business", "Sport", "Culture", "Opinion")


class Story:
    """A story of the newspaper."""

    def __init__(self, words: Words) -> None:
        self.title = words.title(5, 10)
        self.texts = words.paragraphs(150, 700)
        self.author = words.person()
        self.day = words.day()
        self.section = words.random.choice(SECTIONS)
        self.views = words.random.randint(20, 4000)
        self.comments = words.random.randint(0, 30)
        self.number = words.random.randint(1000, 90000)
        self.tags = [words.word() for _ in range(4)]

    @property
    def path(self) -> str:
        return f"/{self.day:%Y/%m}/{slug(self.title)}/"

    @property
    def caption(self) -> str:
        return f"{self.title[:30]}. Photo: {self.author}"


def related(words: Words, stories: list[Story], count: int, box: str) -> str:
    """A list of other stories, as the theme shows them in a grid."""
    chosen = words.random.sample(stories, min(count, len(stories)))
    return f'<div class="{box}">' + "".join(
        f'<div class="td_module_wrap"><div class="td-module-thumb"><a href="{one.path}" rel="bookmark">'
        f'<img width="218" height="150" src="/wp-content/uploads/{one.number}-218x150.jpg" alt=""></a>'
        f'</div><h3 class="entry-title td-module-title"><a href="{one.path}">{one.title}</a></h3>'
        f'<span class="td-post-date"><time class="entry-date td-module-date">{english(one.day)}</time>'
        "</span></div>" for one in chosen
    ) + "</div>"  # fmt: skip


def head(story: Story, canonical: str) -> str:
    modified = story.day + dt.timedelta(hours=2)
    graph = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": story.title,
        "datePublished": story.day.isoformat(),
        "dateModified": modified.isoformat(),
        "author": {"@type": "Person", "name": story.author},
        "interactionStatistic": {
            "@type": "InteractionCounter",
            "userInteractionCount": story.views,
        },
    }
    return (
        f'<meta charset="UTF-8"><title>{story.title} - {story.section} - The Valley Courier</title>'
        f'<link rel="canonical" href="{canonical}">'
        f'<meta property="og:title" content="{story.title}">'
        f'<meta property="og:image" content="/wp-content/uploads/{story.number}.jpg">'
        f'<meta name="description" content="{story.texts[0][:150]}">'
        f'<meta property="article:published_time" content="{story.day.isoformat()}">'
        f'<meta property="article:modified_time" content="{modified.isoformat()}">'
        f'<script type="application/ld+json">{json.dumps(graph)}</script>'
    )


def newspaper_page(words: Words, story: Story, stories: list[Story], canonical: str) -> bytes:
    """A story in the newspaper's theme; what counts and what is popular changes at each request."""
    story.views += words.random.randint(1, 60)
    story.comments += words.random.choice([0, 0, 1, 2])
    inline = ""
    if words.chance(0.4):
        other = words.random.choice(stories)
        inline = (
            '<div class="td_block_inline"><h4>READ ALSO</h4>'
            f'<a href="{other.path}">{other.title}</a></div>'
        )
    middle = len(story.texts) // 2
    crumbs = (
        '<div class="td-crumb-container"><div class="entry-crumbs breadcrumbs">'
        f'<a class="entry-crumb" href="/">Home</a> <a class="entry-crumb" href="/{slug(story.section)}/">'
        f'{story.section}</a> <span class="td-bred-no-url-last">{story.title}</span></div></div>'
    )
    menu = "".join(f'<li><a href="/{slug(name)}/">{name}</a></li>' for name in SECTIONS)
    return f"""<!DOCTYPE html><html lang="en-US"><head>{head(story, canonical)}</head>
<body class="post-template-default single postid-{story.number}">
<div class="td-header-menu-wrap"><a class="td-logo" href="/">The Valley Courier</a>
<ul class="sf-menu">{menu}</ul><div class="td-header-date">{english(words.day())}</div></div>
<div class="td-container">{crumbs}<div class="td-pb-row"><div class="td-pb-span8 td-main-content">
<article id="post-{story.number}" class="post type-post hentry"><div class="td-post-header">
<ul class="td-category"><li><a href="/{slug(story.section)}/">{story.section}</a></li></ul>
<header><h1 class="entry-title">{story.title}</h1><div class="td-module-meta-info">
<div class="author">By <a href="/author/{slug(story.author)}/">{story.author}</a> - </div>
<span class="td-post-date"><time class="entry-date updated td-module-date"
datetime="{story.day.isoformat()}">{english(story.day)}</time></span>
<div class="td-post-comments"><a href="{story.path}#respond"><i></i>{story.comments}</a></div>
<div class="td-post-views"><i class="td-icon-views"></i><span>{story.views}</span></div></div></header></div>
<div class="td-post-sharing"><a href="#">Share on Facebook</a> <a href="#">Tweet on Twitter</a></div>
<div class="td-post-content entry-content"><figure class="wp-caption">
<img src="/wp-content/uploads/{story.number}.jpg" alt=""><figcaption>{story.caption}</figcaption></figure>
{paras(story.texts[:middle])}{inline}{paras(story.texts[middle:])}</div>
<footer><ul class="td-tags"><li><span>TAGS</span></li>
{"".join(f'<li><a href="/tag/{tag}/">{tag}</a></li>' for tag in story.tags)}</ul>
<div class="td-related"><h4 class="td-related-title"><a href="#">RELATED ARTICLES</a>
<a href="#">MORE FROM AUTHOR</a></h4>{related(words, stories, 3, "td_block_inner")}</div></footer></article>
<div id="respond"><h3>LEAVE A REPLY</h3><form><textarea></textarea></form></div></div>
<div class="td-pb-span4 td-main-sidebar"><aside class="widget"><h4>MOST POPULAR</h4>
{related(words, stories, 5, "td_block_popular")}</aside><aside class="widget_text">
<p>{words.sentence()}</p></aside></div></div></div>
<div class="td-footer-wrapper"><p>© The Valley Courier. All rights reserved.</p></div></body></html>
""".encode()


def printed_page(story: Story, url: str) -> bytes:
    """The view of the plugin WP-Print."""
    return f"""<!DOCTYPE html><html lang="en-US"><head><meta charset="UTF-8">
<title>The Valley Courier &raquo; {story.title} &raquo; Print</title>
<meta name="Robots" content="noindex, nofollow"></head><body>
<main class="center"><header class="entry-header"><span class="hat"><strong>
- The Valley Courier - <span dir="ltr">https://www.courier.example</span> -</strong></span>
<h1 class="entry-title">{story.title}</h1><span class="entry-date">Posted By
{story.author} On {english(story.day)} @ {story.day:%I:%M %p} In {story.section} |
<a href="{url}#respond">{story.comments} Comments</a></span></header>
<div class="entry-content" id="content">{paras(story.texts)}</div>
<div class="footer"><p>Article printed from The Valley Courier: <strong>https://www.courier.example</strong></p>
<p>URL to article: <strong>{url}</strong></p></div></main></body></html>""".encode()


def news(random: Random, count: int) -> Iterator[Page]:
    """Each story again with a parameter of a campaign, or as a preview of its number."""
    words = Words(random)
    stories = [Story(words) for _ in range(count)]
    pages = []
    for number, story in enumerate(stories):
        host = "https://www.courier.example"
        again = random.choice(
            [
                f"{story.path}?utm_source=newsletter&utm_medium=email",
                f"/?p={story.number}",
                f"{story.path}?replytocom={story.number + 7}",
                f"/{slug(story.section)}{story.path}",
            ]
        )
        for path in (story.path, again):
            html = newspaper_page(words, story, stories, host + story.path)
            pages.append(Page(host + path, html, str(number), NEWS))
    yield from copies_last(pages)


def on_three_days(random: Random, count: int) -> Iterator[Page]:
    """All stories on three days; on the third day each is also linked by its section."""
    words = Words(random)
    stories = [Story(words) for _ in range(count)]
    host = "https://www.courier.example"
    for day in range(3):
        for section in ("", "/archive") if day == 2 else ("",):
            for number, story in enumerate(stories):
                # What counts and what is near it on a list has changed since the last visit.
                story.comments += random.choice((0, 1, 1, 2, 3, 5))
                html = newspaper_page(words, story, stories, host + story.path)
                url = f"{host}{section}{story.path}"
                yield Page(url, html, str(number), NEWS, crawl=day)


def with_print_views(random: Random, count: int) -> list[Page]:
    """A print view of each story, before it or after it."""
    words = Words(random)
    stories = [Story(words) for _ in range(count)]
    pages = []
    for number, story in enumerate(stories):
        url = f"https://www.courier.example{story.path}"
        html = newspaper_page(words, story, stories, url)
        pages.append(Page(url, html, str(number), NEWS))
        pages.append(Page(f"{url}print/", printed_page(story, url), str(number), PRINTED))
    return shuffled(random, pages)


BLOG = {
    "title": ".wp-block-post-title::text",
    "body": ".wp-block-post-content",
    "date": ".wp-block-post-date time::attr(datetime)",
    "category": ".taxonomy-category a::text",
    "comments": ".wp-block-comments-title::text",
}


def comment(words: Words) -> str:
    return (
        f'<li class="comment"><div class="wp-block-comment-author-name">{words.person()}</div>'
        f'<div class="wp-block-comment-date"><time>{english(words.day())}</time></div>'
        f'<div class="wp-block-comment-content">{paras([words.paragraph(25)])}</div></li>'
    )


def blog_with_comment_pages(random: Random, count: int) -> Iterator[Page]:
    """Long discussions are spread over pages below the post, which repeat the post."""
    words = Words(random)
    for number in range(count):
        title, texts, day = words.title(3, 7), words.paragraphs(250, 700), words.day()
        for path in ("", "comment-page-2/"):
            comments = [comment(words) for _ in range(random.randint(2, 5))]
            suffix = " – Page 2" if path else ""
            html = f"""<!DOCTYPE html><html lang="en-GB"><head><meta charset="UTF-8">
<title>{title}{suffix} – Slow Roads</title><link rel="canonical"
href="https://slowroads.example/{slug(title)}/{path}"></head><body class="wp-site-blocks">
<header class="wp-block-template-part"><p class="wp-block-site-title"><a href="/">Slow Roads</a></p>
<nav class="wp-block-navigation"><a href="/about/">About</a><a href="/archive/">Archive</a></nav></header>
<main class="wp-block-group"><h1 class="wp-block-post-title">{title}</h1>
<div class="wp-block-post-date"><time datetime="{day.isoformat()}">{english(day)}</time></div>
<div class="taxonomy-category wp-block-post-terms"><a href="/category/notes/">Notes</a></div>
<div class="entry-content wp-block-post-content">{paras(texts)}</div>
<div class="wp-block-comments"><h2 class="wp-block-comments-title">
{random.randint(12, 60)} responses to “{title}”</h2><ol class="wp-block-comment-template">
{"".join(comments)}</ol></div></main>
<footer class="wp-block-template-part"><p>Designed with WordPress</p></footer></body></html>"""
            yield Page(
                f"https://slowroads.example/{slug(title)}/{path}", html.encode(), str(number), BLOG
            )


KINDS = (
    Kind("WordPress: newspaper, parameters", news),
    Kind("WordPress: newspaper, three days", on_three_days),
    Kind("WordPress: newspaper, print views", with_print_views),
    Kind("WordPress: blog, comment pages", blog_with_comment_pages),
)

"""Forums: phpBB with its counters and sessions, Discourse with its views for printing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, paras, slug


class Post(NamedTuple):
    author: str
    joined: dt.datetime
    posts: int
    day: dt.datetime
    texts: list[str]
    signature: str


def posts_of(words: Words, low: int, high: int) -> list[Post]:
    words.subject()
    day, posts = words.day(), []
    for _ in range(words.random.randint(low, high)):
        texts = [
            words.paragraph(words.random.randint(15, 70)) for _ in range(words.random.randint(1, 3))
        ]
        written, signature = words.random.randint(1, 9000), words.title() * words.chance(0.1)
        joined = words.day(2008, 2018)
        posts.append(Post(words.made(), joined, written, day, texts, signature))
        day += dt.timedelta(minutes=words.random.randint(5, 3000))
    return posts


PHPBB = {"title": "h2.topic-title a::text", "body": ".postbody .content", "date": ".author time::attr(datetime)", "author": ".author .username::text", "category": ".crumb:last-child span::text", "comments": ".pagination::text", "article": "#page-body"}  # fmt: skip


def phpbb(words: Words, title: str, posts: list[Post], *, topic: int, sid: str) -> bytes:
    """A page of a topic: every post beside the profile of its author, whose posts are counted."""
    blocks = []
    for number, post in enumerate(posts):
        count = post.posts + words.random.randint(0, 50)
        signature = f'<div class="signature">{post.signature}</div>' if post.signature else ""
        blocks.append(f"""<div id="p{topic * 10 + number}" class="post has-profile bg{1 + number % 2}"><div class="inner">
<dl class="postprofile"><dt><a href="./memberlist.php?mode=viewprofile&amp;u={number}{sid}" class="username">{post.author}</a></dt>
<dd class="profile-posts"><strong>Posts:</strong> <a href="./search.php?author_id={number}">{count}</a></dd>
<dd class="profile-joined"><strong>Joined:</strong> {post.joined:%a %b %d, %Y} 9:14 am</dd></dl>
<div class="postbody"><div><h3>{"Re: " * (number > 0)}<a href="#p{number}">{title}</a></h3>
<ul class="post-buttons"><li><a href="./posting.php?mode=quote&amp;p={number}{sid}">Quote</a></li></ul>
<p class="author">by <strong><a class="username">{post.author}</a></strong> » <time datetime="{post.day.isoformat()}">{post.day:%a %b %d, %Y %I:%M %p}</time></p>
<div class="content">{"<br><br>".join(post.texts)}</div>{signature}</div></div></div></div>""")
    online = words.random.randint(4, 300)
    return f"""<!DOCTYPE html><html dir="ltr" lang="en-gb"><head><meta charset="utf-8"><title>{title} - Workshop talk</title>
<link rel="canonical" href="https://forum.lathes.example/viewtopic.php?t={topic}"></head><body id="phpbb" class="nojs section-viewtopic">
<div id="wrap" class="wrap"><div id="page-header"><div class="headerbar"><div id="site-description"><p>Lathe owners' forum</p></div></div>
<div class="navbar"><ul id="nav-breadcrumbs" class="breadcrumbs"><li><span class="crumb"><a href="./index.php?{sid}"><span>Board index</span></a></span>
<span class="crumb"><a href="./viewforum.php?f=4{sid}"><span>Workshop talk</span></a></span></li></ul></div></div>
<div id="page-body" class="page-body" role="main"><h2 class="topic-title"><a href="./viewtopic.php?t={topic}{sid}">{title}</a></h2>
<div class="action-bar bar-top"><div class="pagination">{len(posts)} posts • Page <strong>1</strong> of <strong>1</strong></div></div>
{"".join(blocks)}<div class="action-bar bar-bottom"><a href="./posting.php?mode=reply&amp;t={topic}{sid}">Post Reply</a></div>
<div class="stat-block online-list"><h3>Who is online</h3><p>Users browsing this forum: {words.made()} and {online} guests</p></div></div>
<div id="page-footer"><span class="time">All times are UTC</span> It is currently {words.day():%a %b %d, %Y %I:%M %p}<p>Powered by phpBB</p></div></div></body></html>""".encode()


def phpbb_topics(random: Random, count: int) -> Iterator[Page]:
    words, pages = Words(random), []
    for number in range(count):
        title, posts, topic = words.title(3, 8), posts_of(words, 2, 7), 1000 + 3 * number
        sid = f"&amp;sid={random.getrandbits(128):032x}"
        again = [
            f"?f=4&t={topic}",
            f"?p={topic * 10 + 1}",
            f"?t={topic}&sid={random.getrandbits(128):032x}",
        ]
        for query in (f"?t={topic}", random.choice(again)):
            html = phpbb(words, title, posts, topic=topic, sid=sid if "sid" in query else "")
            pages.append(
                Page(f"https://forum.lathes.example/viewtopic.php{query}", html, str(number), PHPBB)
            )
    yield from copies_last(pages)


TOPIC = {"title": "#topic-title h1 a::text", "body": ".post[itemprop=articleBody]", "date": "time.post-time::attr(datetime)", "category": ".topic-category a span span::text", "views": ".topic-views::text", "article": "#main-outlet", "author": ".creator a span::text"}  # fmt: skip
PRINTED = {"title": "h1::text", "body": ".post", "date": "time.post-time::attr(datetime)", "category": ".topic-category a span span::text", "article": "body"}  # fmt: skip


def crawler_view(
    words: Words, title: str, posts: list[Post], path: str, *, print_view: bool
) -> bytes:
    """What Discourse gives to crawlers; likes are counted, other topics are suggested."""
    blocks = "".join(
        f"""<div id="post_{number + 1}" itemprop="{"comment" if number else "text"}" itemscope class="topic-body crawler-post">
<div class="crawler-post-meta"><span class="creator" itemprop="author"><a href="/u/{post.author}"><span itemprop="name">{post.author}</span></a></span>
<span class="crawler-post-infos"><time datetime="{post.day.isoformat()}" class="post-time">{post.day:%B %d, %Y, %I:%M%p}</time>
<span itemprop="position">{number + 1}</span></span></div><div class="post" itemprop="articleBody">{paras(post.texts)}</div>
<div itemprop="interactionStatistic"><meta itemprop="userInteractionCount" content="{words.random.randint(0, 9)}">
<span class="post-likes">{words.random.randint(0, 9)} Likes</span></div></div>"""
        for number, post in enumerate(posts)
    )
    suggested = "".join(
        f'<tr class="topic-list-item"><td class="main-link"><a href="/t/{slug(other)}/{words.random.randint(1, 9999)}">{other}</a></td>'
        f'<td class="replies">{words.random.randint(0, 99)}</td><td class="views">{words.random.randint(9, 999)}</td></tr>'
        for other in (words.title() for _ in range(5))
    )
    below = "" if print_view else (
        f'<div id="related-topics" class="more-topics__list"><h3>Related topics</h3><table class="topic-list">'
        f"<thead><tr><th>Topic</th><th>Replies</th><th>Views</th></tr></thead>{suggested}</table></div>"
    )  # fmt: skip
    head = (
        "<h1>" + title + "</h1>"
        if print_view
        else f'<div id="topic-title"><h1><a href="{path}">{title}</a></h1></div>'
    )
    views = (
        ""
        if print_view
        else f'<span class="topic-views">{words.random.randint(50, 5000)}</span> views'
    )
    canonical = f'<link rel="canonical" href="https://meta.boats.example{path}">'
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} - Engines - Boat owners</title>
<meta name="generator" content="Discourse 3.3.0">{canonical}</head><body class="crawler">
<header><a href="/">Boat owners</a></header><div id="main-outlet" class="wrap" role="main">{head}
<div class="topic-category" itemscope><span itemprop="itemListElement"><a href="/c/engines/5" class="badge-wrapper"><span class="badge-category-bg"><span>Engines</span></span></a></span></div>
{views}<div itemscope itemtype="http://schema.org/DiscussionForumPosting">{blocks}</div>{below}</div>
<footer class="container wrap"><nav class="crawler-nav"><ul><li><a href="/">Home</a></li><li><a href="/categories">Categories</a></li></ul></nav></footer></body></html>""".encode()


def discourse(random: Random, count: int) -> list[Page]:
    """A topic by its number, at one of its posts, or for printing."""
    words, pages = Words(random), []
    for number in range(count):
        title, posts = words.title(3, 9), posts_of(words, 2, 9)
        path = f"/t/{slug(title)}/{500 + number}"
        again = random.choice(
            [f"{path}/{len(posts)}", f"/t/{500 + number}", f"{path}?u=reader", f"{path}/print"]
        )
        for address in (path, again):
            is_print = address.endswith("print")
            html = crawler_view(words, title, posts, path, print_view=is_print)
            selectors = PRINTED if is_print else TOPIC
            pages.append(Page(f"https://meta.boats.example{address}", html, str(number), selectors))
    return shuffled(random, pages)


KINDS = (Kind("phpBB: topics, sessions", phpbb_topics), Kind("Discourse: topics", discourse))

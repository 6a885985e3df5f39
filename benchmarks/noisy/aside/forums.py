"""Forums (XenForo, vBulletin), and questions and answers with a site that copies them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from benchmarks.noisy.aside._stories import hexadecimal, ld, menu, some
from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, paras, slug


class Post(NamedTuple):
    number: int
    author: str
    rank: str
    day: dt.datetime
    texts: list[str]
    quoted: int | None


class Thread(NamedTuple):
    number: int
    title: str
    forum: str
    posts: list[Post]


FORUMS = ["General discussion", "Repairs and maintenance", "Buying advice", "Show your project"]
RANKS = ["New member", "Member", "Active member", "Well-known member", "Moderator"]


def _threads(words: Words, count: int, low: int, high: int) -> list[Thread]:
    random = words.random
    users = [
        (words.made().capitalize() + str(random.randint(1, 99)), random.choice(RANKS))
        for _ in range(30)
    ]
    made, last = [], random.randint(40_000, 60_000)
    for number in range(count):
        words.subject()
        title, day, posts = words.title(), words.day(), []
        for place in range(random.randint(low, high)):
            texts = [
                words.paragraph(random.randint(15, 90)) for _ in range(random.choice([1, 1, 2, 3]))
            ]
            day += dt.timedelta(minutes=random.randint(5, 2000))
            quoted = random.randrange(place) if place and random.random() < 0.3 else None
            posts.append(Post(last, *random.choice(users), day, texts, quoted))
            last += random.randint(1, 60)
        made.append(Thread(1000 + number * 7, title, random.choice(FORUMS), posts))
    return made


XENFORO = {
    "title": "h1.p-title-value::text",
    "body": ".bbWrapper",
    "date": ".p-description time::attr(datetime)",
    "author": ".p-description .username::text",
    "category": ".p-breadcrumbs li:last-child span::text",
}


def _message(random: Random, thread: Thread, place: int) -> str:
    post, quote, edited = thread.posts[place], "", ""
    if post.quoted is not None:
        other = thread.posts[post.quoted]
        quote = f'<blockquote class="bbCodeBlock bbCodeBlock--quote"><a href="/goto/post?id={other.number}">{other.author} said:</a><div class="bbCodeBlock-expandContent">{other.texts[0]}</div></blockquote>'
    if post.number % 5 == 0:
        edited = (
            f'<div class="message-lastEdit">Last edited: <time>{post.day:%b %d, %Y}</time></div>'
        )
    return f"""<article class="message message--post" data-author="{post.author}" id="js-post-{post.number}"><span class="u-anchorTarget" id="post-{post.number}"></span><div class="message-inner">
<div class="message-cell message-cell--user"><h4 class="message-name"><a class="username">{post.author}</a></h4> <h5 class="userTitle message-userTitle">{post.rank}</h5><dl class="pairs"><dt>Messages</dt> <dd>{random.randint(3, 9000):,}</dd></dl> <dl class="pairs"><dt>Reaction score</dt> <dd>{random.randint(0, 4000):,}</dd></dl></div>
<div class="message-cell message-cell--main"><header class="message-attribution"><time class="u-dt" datetime="{post.day:%Y-%m-%dT%H:%M:%S+0000}">{post.day:%b %d, %Y}</time><a href="/threads/{thread.number}/post-{post.number}">#{place + 1}</a></header>
<div class="message-body"><div class="bbWrapper">{quote}{"<br><br>".join(post.texts)}</div></div>{edited}<footer class="message-footer"><a>Report</a><a>Like</a><a>Reply</a><div class="reactionsBar">{random.randint(1, 9)} people</div></footer></div></div></article>"""


def _xenforo(random: Random, thread: Thread, others: list[Thread], page: int = 1) -> str:
    first, start, end = thread.posts[0], 10 * (page - 1), 10 * page
    pages = -(-len(thread.posts) // 10)
    messages = "\n".join(
        _message(random, thread, place) for place in range(start, min(end, len(thread.posts)))
    )
    url = f"https://forum.workbench.example/threads/{slug(thread.title)}.{thread.number}/"
    canonical = url if page == 1 else f"{url}page-{page}"
    numbers = "\n".join(
        f'<li class="pageNav-page"><a href="{url}page-{n}">{n}</a></li>'
        for n in range(1, pages + 1)
    )
    nav = (
        f'<nav class="pageNavWrapper"><ul class="pageNav-main">{numbers}</ul></nav>'
        if pages > 1
        else ""
    )
    similar = "\n".join(
        f'<div class="structItem"><a href="/threads/{slug(other.title)}.{other.number}/">{other.title}</a><dl><dt>Replies</dt> <dd>{len(other.posts) - 1}</dd><dt>Views</dt> <dd>{random.randint(1, 50)}K</dd></dl></div>'
        for other in some(random, others, 5)
    )
    suffix = f" | Page {page}" if page > 1 else ""
    return f"""<!DOCTYPE html><html id="XF" lang="en-US" class="has-no-js template-thread_view"><head><title>{thread.title}{suffix} | The Workbench</title><link rel="canonical" href="{canonical}">
{ld(type="DiscussionForumPosting", headline=thread.title, datePublished=first.day.isoformat(), articleSection=thread.forum)}</head><body data-template="thread_view"><div class="p-pageWrapper" id="top"><header class="p-header"><a href="/">The Workbench</a></header>
<nav class="p-nav">{menu(["Forums", "What's new", "Media", "Members"], css="p-nav-list")}<a href="/login/?_xfRedirect=">Log in</a><a href="/register/">Register</a></nav><ul class="p-breadcrumbs"><li><a href="/"><span>Forums</span></a></li> <li><a href="/forums/{slug(thread.forum)}/"><span>{thread.forum}</span></a></li></ul>
<div class="p-body"><noscript>JavaScript is disabled. For a better experience, please enable JavaScript in your browser before proceeding.</noscript><h1 class="p-title-value">{thread.title}</h1> <div class="p-description"><ul><li>Thread starter <a class="username">{first.author}</a></li> <li>Start date <time datetime="{first.day:%Y-%m-%dT%H:%M:%S+0000}">{first.day:%b %d, %Y}</time></li></ul></div>
<div class="p-body-main"><div class="p-body-content">{nav}<div class="block-body js-replyNewMessageContainer">{messages}</div>{nav}<div class="block"><a href="/login/">You must log in or register to reply here.</a></div> <div class="shareButtons"><span>Share:</span> Facebook X Reddit Email Link</div> <h3>Similar threads</h3>{similar}</div>
<div class="p-body-sidebar"><h3>Members online</h3> <ul>{menu([random.choice(others).posts[0].author for _ in range(6)], "/members/")}</ul> <div>Total: {random.randint(200, 900)} (members: {random.randint(5, 60)}, guests: {random.randint(150, 840)})</div></div></div></div>
<div class="u-bottomFixer"><div class="notice">This site uses cookies to help personalise content. <a>Accept</a> <a>Learn more</a></div></div> <footer class="p-footer">Community platform by XenForo® © 2010-2024</footer></div></body></html>"""


def xenforo(random: Random, count: int) -> Iterator[Page]:
    """Threads of one page, also under the address of one of their posts, and with a session."""
    words, pages = Words(random), []
    threads = _threads(words, count, 2, 9)
    for thread in threads:
        url = f"https://forum.workbench.example/threads/{slug(thread.title)}.{thread.number}/"
        post = random.choice(thread.posts).number
        for end in random.choice(
            [["", f"post-{post}"], ["", "latest"], [f"post-{post}", "", "unread?new=1"]]
        ):
            html = _xenforo(random, thread, threads)
            pages.append(Page(url + end, html.encode(), str(thread.number), XENFORO))
    yield from shuffled(random, pages)


def xenforo_pages(random: Random, count: int) -> Iterator[Page]:
    """The pages of long threads, each with its own posts and sometimes quotes of earlier pages."""
    words = Words(random)
    threads = _threads(words, -(-count // 4), 31, 38)
    places = [(thread, page) for thread in threads for page in range(1, 5)][:count]
    for thread, page in places:
        url = f"https://forum.workbench.example/threads/{slug(thread.title)}.{thread.number}/"
        html = _xenforo(random, thread, threads, page)
        end = f"page-{page}" if page > 1 else ""
        yield Page(url + end, html.encode(), f"{thread.number} {page}", XENFORO)


VBULLETIN = {
    "title": "td.navbar strong::text",
    "body": ".post",
    "date": "td.thead::text",
    "author": ".bigusername::text",
    "article": "#posts",
}
VBULLETIN_PRINT = {
    "title": "td.page strong::text",
    "body": ".printpost",
    "date": "td.printdate::text",
}


def _vbulletin(random: Random, thread: Thread, session: str) -> str:
    sid = f"s={session}&amp;" if session else ""
    rows = "\n".join(
        f'<table class="tborder" id="post{post.number}"><tr><td class="thead"><a name="post{post.number}"></a> {post.day:%m-%d-%Y, %I:%M %p}</td> <td class="thead" align="right">#<a href="showthread.php?{sid}p={post.number}">{place + 1}</a></td></tr> <tr><td class="alt2"><a class="bigusername" href="member.php?{sid}u={post.number % 97}">{post.author}</a><div class="smallfont">{post.rank}</div> <div class="smallfont">Join Date: Mar 2009<br>Posts: {random.randint(1, 9000)}</div></td>'
        f'<td class="alt1" id="td_post_{post.number}"><div class="post" id="post_message_{post.number}">{"<br /><br />".join(post.texts)}</div> <div>__________________<br />{post.author} was here</div></td></tr></table>'
        for place, post in enumerate(thread.posts)
    )
    return f"""<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd"><html><head><meta name="generator" content="vBulletin 3.8.7"><title>{thread.title} - Old Engines Forum</title></head><body>
<table class="tborder"><tr><td class="alt1"><span class="navbar"><a href="index.php?{sid}">Old Engines Forum</a> &gt; <a href="forumdisplay.php?{sid}f=3">{thread.forum}</a></span></td></tr> <tr><td class="navbar"><a href="#"><img alt="Reload this Page"></a> <strong>{thread.title}</strong></td></tr></table>
<table class="tborder"><tr><td>User Name <input name="vb_login_username"> Remember Me? Password</td></tr> <tr><td class="vbmenu_control"><a href="register.php?{sid}">Register</a> <a href="faq.php?{sid}">FAQ</a> <a href="calendar.php?{sid}">Calendar</a> <a href="search.php?{sid}do=getdaily">Today's Posts</a></td></tr></table> <div>LinkBack Thread Tools Display Modes</div>
<div id="posts">{rows}</div> <table><tr><td>« <a href="showthread.php?{sid}goto=nextoldest">Previous Thread</a> | <a href="showthread.php?{sid}goto=nextnewest">Next Thread</a> »</td></tr></table> <table class="tborder"><tr><td class="thead">Currently Active Users Viewing This Thread: {random.randint(1, 9)} (0 members and {random.randint(1, 9)} guests)</td></tr></table>
<div class="smallfont">Posting Rules: You may not post new threads. You may not post replies. You may not post attachments. You may not edit your posts. BB code is On. Smilies are On. HTML code is Off.</div> <div>All times are GMT. The time now is {random.randint(1, 12):02}:{random.randint(0, 59):02} PM.</div> <div class="smallfont" align="center">Powered by vBulletin® Version 3.8.7<br>Copyright ©2000 - 2024, vBulletin Solutions, Inc.</div></body></html>"""


def _vbulletin_print(thread: Thread) -> str:
    rows = "\n".join(
        f'<table class="tborder"><tr><td class="page"><table><tr><td style="font-size:14pt">{post.author}</td> <td class="printdate" align="right">{post.day:%m-%d-%Y %I:%M %p}</td></tr></table> <hr /><div class="printpost">{"<br /><br />".join(post.texts)}</div></td></tr></table> <br />'
        for post in thread.posts
    )
    return f"""<!DOCTYPE html><html><head><title>Old Engines Forum - {thread.title}</title></head><body><table width="100%"><tr><td><a href="index.php">Old Engines Forum</a> (<b>http://www.oldengines.example/index.php</b>)</td></tr> <tr><td>- &nbsp; <a href="forumdisplay.php?f=3">{thread.forum}</a></td></tr></table>
<table class="tborder"><tr><td class="page">- &nbsp; <strong>{thread.title}</strong> &nbsp; (<b>showthread.php?t={thread.number}</b>)</td></tr></table> <br />{rows}<br /><div align="center">All times are GMT. Powered by vBulletin® Version 3.8.7</div></body></html>"""


def vbulletin(random: Random, count: int) -> Iterator[Page]:
    """Threads with session identifiers, by the number of a post, and as pages for printers."""
    words, pages = Words(random), []
    root = "http://www.oldengines.example/"
    for thread in _threads(words, count, 1, 8):
        session = hexadecimal(random, 32)
        views = [
            (f"showthread.php?t={thread.number}", _vbulletin(random, thread, ""), VBULLETIN),
            (
                f"showthread.php?s={session}&t={thread.number}",
                _vbulletin(random, thread, session),
                VBULLETIN,
            ),
            (
                f"showthread.php?p={thread.posts[-1].number}",
                _vbulletin(random, thread, ""),
                VBULLETIN,
            ),
            (f"printthread.php?t={thread.number}", _vbulletin_print(thread), VBULLETIN_PRINT),
        ]
        for path, html, selectors in some(random, views, random.choice([2, 2, 3])):
            pages.append(Page(root + path, html.encode(), str(thread.number), selectors))
    yield from copies_last(shuffled(random, pages))


ASKED = {
    "title": "#question-header a::text",
    "body": ".s-prose",
    "date": "[itemprop=dateCreated]::attr(datetime)",
    "views": "[title^=Viewed]::attr(title)",
    "comments": "[itemprop=answerCount]::text",
}
COPIED = {"title": "h1.entry-title::text", "body": ".entry-content", "date": ".posted-on::text"}


def questions(random: Random, count: int) -> Iterator[Page]:
    """Questions where they were asked, and on a site that shows them among advertisements."""
    words, pages = Words(random), []
    threads = _threads(words, count, 2, 5)
    titles = [thread.title for thread in threads]
    for thread in threads:
        question, *answers = thread.posts
        code = f"<pre><code>def {words.made()}({words.made()}):\n    return {words.made()}.{words.made()}({random.randint(2, 900)})\n</code></pre>"
        tags = menu([words.made() for _ in range(3)], "/questions/tagged/", "post-taglist")
        asked = paras([*question.texts, code, words.paragraph(30)])
        replies = [
            (answer, random.randint(-1, 240), paras([*answer.texts, words.paragraph(40)]))
            for answer in answers
        ]
        shown = "\n".join(
            f'<div class="answer js-answer" itemscope itemtype="https://schema.org/Answer"><div class="js-vote-count" itemprop="upvoteCount">{votes}</div> <div class="s-prose js-post-body" itemprop="text">{html}</div> <div class="user-info">answered {answer.day:%b %d, %Y} at {answer.day:%H:%M} <a>{answer.author}</a> <span class="reputation-score">{random.randint(1, 90)}.{random.randint(0, 9)}k</span></div>'
            f'<div class="comments"><div class="comment-copy">{words.sentence()}</div> <a>Add a comment</a></div></div>'
            for answer, votes, html in replies
        )
        original = f"""<!DOCTYPE html><html itemscope itemtype="https://schema.org/QAPage" class="html__responsive" lang="en"><head><title>{thread.title} - Stack Answers</title><meta name="description" content="{question.texts[0][:150]}"></head><body class="question-page unified-theme"><header class="s-topbar"><a href="/">Stack Answers</a><a>Log in</a><a>Sign up</a></header><div class="left-sidebar">{menu(["Home", "Questions", "Tags", "Users", "Unanswered"])}</div>
<div id="content"><div id="question-header"><h1><a class="question-hyperlink" href="/questions/{thread.number}/{slug(thread.title)}">{thread.title}</a></h1> <a>Ask Question</a></div> <div>Asked <time itemprop="dateCreated" datetime="{question.day:%Y-%m-%dT%H:%M:%S}">{random.randint(1, 5)} years ago</time> <span>Modified {random.randint(1, 11)} months ago</span> <span title="Viewed {random.randint(50, 90000)} times">Viewed {random.randint(1, 90)}k times</span></div>
<div id="mainbar"><div class="question js-question"><div class="js-vote-count">{random.randint(0, 90)}</div> <div class="s-prose js-post-body" itemprop="text">{asked}</div>{tags}<div class="js-share-link">Share Improve this question Follow</div> <a>{question.author}</a></div> <div id="answers"><h2><span itemprop="answerCount">{len(answers)}</span> Answers</h2> <div>Sorted by: Highest score (default) Date modified Date created</div>{shown}</div> <h2>Your Answer</h2> <form>Sign up or log in. Post as a guest. By clicking “Post Your Answer”, you agree to our terms of service.</form></div>
<div id="sidebar"><h4>Related</h4>{menu(some(random, titles, 5), "/q/")}<h4>Hot Network Questions</h4>{menu([words.title() for _ in range(8)], "https://other.example/")}</div></div> <footer>site design / logo © 2024; user contributions licensed under CC BY-SA</footer></body></html>"""
        solutions = "<!-- ad --><ins class='adsbygoogle'></ins>".join(
            f'<h2>Solution #{place}</h2>{html}<p class="answered-by">Answered By - <b>{answer.author}</b></p>'
            for place, (answer, _, html) in enumerate(replies, 1)
        )
        copy = f"""<!DOCTYPE html><html lang="en-US"><head><title>[FIXED] {thread.title} ~ CodeFixesHub</title><meta property="og:title" content="[FIXED] {thread.title}"></head><body class="single"><div id="masthead"><a href="/">CodeFixesHub</a> {menu(["Home", "Python", "Java", "Linux", "Privacy Policy"])}</div> <div class="ad">Advertisement</div>
<article class="post"><h1 class="entry-title">[FIXED] {thread.title}</h1> <span class="posted-on">{question.day + dt.timedelta(days=400):%A, %B %d, %Y}</span><span class="cat-links">{words.made()}, {words.made()} &nbsp; No comments</span><div class="entry-content"><h2>Issue</h2>{asked}{solutions}<p><em>This Answer collected from Stack Answers, was tested by CodeFixesHub community admins, is licensed under cc by-sa 4.0</em></p></div> <div class="sharedaddy">Share This: Facebook Twitter WhatsApp</div></article>
<aside><h3>Popular Posts</h3>{menu(some(random, titles, 6), "/2023/")}<h3>Blog Archive</h3>{menu([f"{year} ({random.randint(50, 900)})" for year in range(2020, 2025)])}</aside><div id="respond">0 Comments: Post a Comment. Note: Only a member of this blog may post a comment.</div></body></html>"""
        pages.append(
            Page(
                f"https://stackanswers.example/questions/{thread.number}/{slug(thread.title)}",
                original.encode(),
                str(thread.number),
                ASKED,
            )
        )
        pages.append(
            Page(
                f"https://www.codefixeshub.example/{question.day:%Y/%m}/fixed-{slug(thread.title)}.html",
                copy.encode(),
                str(thread.number),
                COPIED,
            )
        )
    yield from shuffled(random, pages)


KINDS = (
    Kind("XenForo: addresses of posts", xenforo, 35),
    Kind("XenForo: pages of long threads", xenforo_pages, 36),
    Kind("vBulletin: sessions, printers", vbulletin, 35),
    Kind("Questions and a site that copies them", questions, 35),
)

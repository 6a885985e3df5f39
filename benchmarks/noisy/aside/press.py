"""Newspapers, press releases and Chinese news portals, with the sites that show their texts too."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from random import Random

from benchmarks.noisy.aside._stories import Story, ld, menu, og, some, stories
from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, british, english, paras

PAPER = {
    "title": "h1.headline__title::text",
    "body": ".article__body",
    "date": "time.article__date::attr(datetime)",
    "author": ".byline a::text",
    "comments": ".comments__count::text",
    "category": ".kicker::text",
}
MOBILE = {
    "title": ".m-title::text",
    "body": ".m-text",
    "date": ".m-date::text",
    "author": ".m-author::text",
}
DESKS = ["Politics", "Region", "Business", "Sport", "Culture"]


def _most_read(random: Random, written: list[Story]) -> str:
    listed = "\n".join(
        f'<li><span>{place}</span> <a href="/a{other.number}">{other.title}</a></li>'
        for place, other in enumerate(some(random, written, 6), 1)
    )
    return f'<section class="mostread"><h3>Most read</h3> <ol>{listed}</ol></section>'


def _paper(random: Random, story: Story, written: list[Story], comments: int) -> str:
    desk = DESKS[story.number % len(DESKS)]
    is_paid = story.number % 4 == 1
    also = random.choice(written)
    texts = [f"<p>{text}</p>" for text in (story.texts[:2] if is_paid else story.texts)]
    texts.insert(
        1,
        f'<div class="readalso"><strong>Read also</strong> <a href="/a{also.number}">{also.title}</a></div>',
    )
    texts.insert(2, '<div class="ad-slot" id="ad-mid">ADVERTISEMENT</div>')
    wall = (
        '<div class="paywall"><h2>Read on with Courier Plus</h2> <p>Test four weeks for €1. Cancel at any time. Already a subscriber? Log in.</p></div>'
        if is_paid
        else ""
    )
    return f"""<!doctype html><html lang="en" class="no-js"><head><title>{story.title} | {desk} | The Valley Courier</title><meta name="description" content="{story.teaser}"><meta name="cxense:pageclass" content="article"><link rel="canonical" href="https://www.valleycourier.example/{desk.lower()}/a{story.number}">{og(title=story.title, type="article", published=story.day.isoformat(), site_name="Valley Courier")}
{ld(type="NewsArticle", headline=story.title, datePublished=story.day.isoformat(), isAccessibleForFree=not is_paid)}</head><body><div class="cmp">We and our 214 partners process data. <button>Agree</button> <button>Pur subscription</button></div> <div class="ticker">LIVE {words_now(random)}: {random.choice(written).title}</div> <header><a class="logo" href="/">The Valley Courier</a>{menu(DESKS, css="nav")}<a>E-paper</a> <a>Subscribe</a></header>
<div class="weatherbox">Valley {random.randint(-3, 31)}°</div> <main><article class="article"><span class="kicker">{desk}</span><h1 class="headline__title">{story.title}</h1> <p class="byline">By <a>{story.author}</a></p> <time class="article__date" datetime="{story.day:%Y-%m-%dT%H:%M}">{british(story.day)}, {story.day:%H:%M}</time><div class="tools">Share on Facebook Share on X Send by e-mail <button>Bookmark</button> <button>Listen ({len(story.texts)} min)</button></div> <div class="article__body">{"".join(texts)}</div>{wall}<div class="comments"><span class="comments__count">{comments} comments</span> <a>Join the discussion</a></div></article></main>
<aside>{_most_read(random, written)}<section class="newsletter"><h3>The morning letter</h3> <p>All that matters, at six.</p></section></aside><section class="outbrain">{"".join(f"<a>{text}</a>" for text in some(random, ["Doctors astonished by this simple trick", "Homeowners in your area get new roofs", "The 10 best mattresses of the year", "What a cruise really costs"], 3))}</section><footer>{menu(["Imprint", "Privacy", "Advertise", "Jobs", "Cancel subscription"])}</footer></body></html>"""


def words_now(random: Random) -> str:
    return f"{random.randint(6, 22):02}:{random.randint(0, 59):02}"


def _paper_mobile(random: Random, story: Story, written: list[Story]) -> str:
    is_paid = story.number % 4 == 1
    body = paras(story.texts[:2] if is_paid else story.texts)
    wall = '<div class="m-plus">Continue with Courier Plus for €1.</div>' if is_paid else ""
    teasers = "\n".join(
        f'<a class="m-teaser" href="/a{other.number}"><b>{other.title}</b> {other.teaser}</a>'
        for other in some(random, written, 5)
    )
    return f"""<!doctype html><html><head><meta name="viewport" content="width=device-width"><title>{story.title} - Valley Courier mobile</title></head><body class="m"><div class="m-head"><a href="/">VC</a> <a href="/menu">Menu</a></div> <div class="m-ad">Advertisement</div> <article><div class="m-title">{story.title}</div> <div class="m-info"><span class="m-date">{story.day:%d/%m/%y %H:%M}</span> <span class="m-author">{story.author}</span></div> <div class="m-text">{body}</div>{wall}</article><div class="m-share">WhatsApp Mail</div>{teasers}{_most_read(random, written)}<div class="m-foot"><a href="https://www.valleycourier.example/">Desktop version</a></div></body></html>"""


def newspaper(random: Random, count: int) -> Iterator[Page]:
    """Articles on the host for desktops and the one for telephones, some in a second section."""
    words, pages = Words(random), []
    written = stories(words, count, 150, 700)
    for story in written:
        desk, comments = DESKS[story.number % len(DESKS)].lower(), random.randint(0, 80)
        for url in some(
            random,
            [
                f"https://www.valleycourier.example/{desk}/a{story.number}",
                f"https://m.valleycourier.example/a{story.number}",
                f"https://www.valleycourier.example/home/a{story.number}?xing_share=news",
            ],
            random.choice([2, 2, 3]),
        ):
            comments += random.randint(0, 5)
            is_mobile = "//m." in url
            html = (
                _paper_mobile(random, story, written)
                if is_mobile
                else _paper(random, story, written, comments)
            )
            pages.append(Page(url, html.encode(), story.thing, MOBILE if is_mobile else PAPER))
    yield from shuffled(random, pages)


def next_day(random: Random, count: int) -> Iterator[Page]:
    """The paper is crawled again the next day: other counters, other boxes, some new addresses."""
    words = Words(random)
    written = stories(words, count, 150, 600)
    old, new = written[: count * 3 // 4], written[count * 3 // 4 :]
    root = "https://www.valleycourier.example/"
    comments = {story.number: random.randint(0, 60) for story in written}
    for story in old:
        html = _paper(random, story, old, comments[story.number])
        yield Page(
            f"{root}{DESKS[story.number % 5].lower()}/a{story.number}",
            html.encode(),
            story.thing,
            PAPER,
        )
    second = []
    for story in written:
        html = _paper(random, story, written, comments[story.number] + random.randint(0, 40))
        path = f"{DESKS[story.number % 5].lower()}/a{story.number}"
        if story in new or random.random() < 0.7:
            second.append(Page(root + path, html.encode(), story.thing, PAPER, crawl=1))
        if random.random() < 0.6:
            html = _paper(random, story, written, comments[story.number] + random.randint(0, 40))
            second.append(
                Page(
                    f"{root}archive/{story.day:%Y/%m/%d}/a{story.number}",
                    html.encode(),
                    story.thing,
                    PAPER,
                    crawl=1,
                )
            )
    yield from shuffled(random, second)


WIRE = {
    "title": ".release-header h1::text",
    "body": ".release-body",
    "date": ".release-header .mb-no::text",
    "author": ".release-header strong::text",
    "article": "article",
}
FINANCE = {
    "title": "h1[data-test-locator=headline]::text",
    "body": ".caas-body",
    "date": "time::attr(datetime)",
    "article": "article",
}
TRADE = {
    "title": "h2.itemTitle::text",
    "body": ".itemBody",
    "date": ".itemDateCreated::text",
    "views": ".itemHits b::text",
    "article": "#k2Container",
}
FORWARD = "This press release contains forward-looking statements that involve risks and uncertainties. Actual results may differ materially from those expressed or implied. The company undertakes no obligation to update these statements."


def releases(random: Random, count: int) -> Iterator[Page]:
    """Releases at the wire, at a portal for investors, and cut and noted in a trade magazine."""
    words, pages = Words(random), []
    firms = [
        (firm := words.firm(), words.town(), f"{firm} {words.paragraph(45)}", words.person())
        for _ in range(8)
    ]
    for story in stories(words, count, 140, 450):
        firm, town, about, contact = random.choice(firms)
        place = f"<span class='legendSpanClass'>{town.upper()}</span>, <span>{english(story.day)}</span> /WireLine/ -- "
        texts = [place + story.texts[0], *story.texts[1:]]
        title = f"{firm} {story.title}"
        notes = f"<p><b>About {firm}</b></p> <p>{about}</p>"
        contacts = f"<p>Media contact: {contact}, press@{firm.split()[0].lower()}.example, +44 20 7946 {random.randint(1000, 9999)}</p>"
        wire = f"""<!DOCTYPE html><html lang="en"><head><title>{title}</title>{og(title=title, type="article", site_name="WireLine")}<meta name="date" content="{story.day.isoformat()}"></head><body id="bd" class="release"><header>WireLine {menu(["News", "Products", "Contact"])}<a>Send a Release</a></header><main><article class="news-release static-post"><header class="container release-header"><h1>{title}</h1> <p>News provided by<br><strong>{firm}</strong></p> <p class="mb-no">{story.day:%b %d, %Y, %H:%M} ET</p> <div>Share this article</div></header><section class="release-body container">{paras(texts)}<p>{FORWARD}</p>{notes}{contacts}<p id="PURL">SOURCE {firm}</p></section></article><div class="more"><h3>Also from this source</h3>{menu([words.title() for _ in range(2)])}</div></main><footer>Contact WireLine 888-776-0942 from 8 AM - 9 PM ET. Copyright © 2024 WireLine. All Rights Reserved.</footer></body></html>"""
        quotes = "\n".join(
            f"<li>{words.made()[:4].upper()} {random.randint(3, 400)}.{random.randint(10, 99)} {random.choice('+-')}{random.randint(0, 4)}.{random.randint(10, 99)}%</li>"
            for _ in range(5)
        )
        investor = f"""<!DOCTYPE html><html lang="en-US"><head><title>{title}</title><meta name="description" content="{town.upper()}, {english(story.day)}--{story.teaser}">{ld(type="NewsArticle", headline=title, datePublished=story.day.isoformat(), provider="WireLine")}</head><body><div id="uh">Search for news, symbols or companies <a>Sign in</a> <a>Mail</a></div> <ul class="quotes">{quotes}</ul> <article role="article"><div class="caas-logo">WireLine</div> <h1 data-test-locator="headline">{title}</h1> <div class="caas-attr-meta"><span>{firm}</span> <time datetime="{story.day.isoformat()}">{story.day:%a, %b %d, %Y, %I:%M %p}</time> · {2 + len(story.texts) // 3} min read</div> <div class="caas-body">{paras(texts)}<p>{FORWARD}</p>{notes}<p>View original content to download multimedia: https://wireline.example/{story.number}</p></div> <div>Recommended Stories</div>{menu([words.title() for _ in range(4)])}<div>TRENDING</div>{menu([words.title() for _ in range(4)])}</article></body></html>"""
        cut = story.texts if len(story.texts) < 4 else story.texts[:-1]
        headline = title if random.random() < 0.5 else f"{firm.split()[0]}: {story.title}"
        trade = f"""<html lang="en-gb"><head><title>{headline} - Pumps and Valves Monthly</title><meta name="generator" content="Joomla! - Open Source Content Management"></head><body class="com_k2"><div id="header">Pumps &amp; Valves Monthly {menu(["Home", "News", "Events", "Buyers' guide", "Media data"])}</div> <div class="breadcrumbs"><a class="pathway" href="/">Home</a> <a class="pathway" href="/news">News</a></div> <div id="k2Container" class="itemView"><span class="itemDateCreated">{story.day + dt.timedelta(days=random.randint(0, 3)):%A, %d %B %Y}</span><h2 class="itemTitle">{headline}</h2> <div class="itemToolbar">font size Print Email</div> <div class="itemBody"><div class="itemFullText">{paras(cut)}<p><em>(Press release of {firm})</em></p></div></div> <span class="itemHits">Read <b>{random.randint(20, 4000)}</b> times</span><div class="itemTags">Tagged under {words.made()}, {words.made()}</div> <div class="itemAuthorLatest"><h3>Latest from Editor</h3>{menu([words.title() for _ in range(5)])}</div></div> <div id="right">Newsletter. Current issue {random.randint(1, 12)}/2024. Banner 300x250</div></body></html>"""
        views = [
            (
                f"https://www.wireline.example/news-releases/{story.slug}-30{story.number:04}.html",
                wire,
                WIRE,
            ),
            (
                f"https://finance.tickerhome.example/news/{story.slug}-{story.day:%H%M}00{story.number:03}.html",
                investor,
                FINANCE,
            ),
            (
                f"https://www.pumpsmonthly.example/news/item/{8800 + story.number}-{story.slug}",
                trade,
                TRADE,
            ),
        ]
        for url, html, selectors in some(random, views, random.choice([2, 3, 3])):
            pages.append(Page(url, html.encode(), story.thing, selectors))
    yield from shuffled(random, pages)


PORTAL = {
    "title": "h1.main-title::text",
    "body": ".article",
    "date": ".date-source .date::text",
    "author": ".date-source .source::text",
    "comments": ".num[node-type=comment-num]::text",
}
COUNTY = {
    "title": ".arti_title::text",
    "body": ".wp_articlecontent",
    "date": ".arti_update::text",
    "views": ".WP_VisitCount::text",
    "article": ".article_cont",
}
SELF_MEDIA = {
    "title": "#article h1::text",
    "body": ".article-body",
    "date": ".time::text",
    "comments": ".cmt::text",
    "article": "#article",
}


def chinese(random: Random, count: int) -> Iterator[Page]:
    """News of a Chinese portal, of a county's site and of an app's channel that reprint it."""
    words, pages = Words(random, "zh"), []
    written = stories(words, count, 150, 600)
    for story in written:
        source, editor = (
            random.choice(["新华网", "中国新闻网", "人民日报", "央视新闻", "澎湃新闻"]),
            words.person(),
        )
        hot = "\n".join(
            f'<li><a href="/n{other.number}.shtml">{other.title}</a></li>'
            for other in some(random, written, 8)
        )
        paragraphs = "\n".join(f"<p>　　{text}</p>" for text in story.texts)
        if random.random() < 0.4:
            head = f"（记者 {words.person()}）"
            paragraphs = paragraphs.replace(
                "<p>　　", f"<p>　　{source}{story.day.month}月{story.day.day}日电{head}", 1
            )
        portal = f"""<!DOCTYPE html><html><head><meta charset="utf-8"><title>{story.title}_新闻中心_万象网</title><meta name="keywords" content="{words.word()},{words.word()}">{og(type="news", title=story.title, published=story.day.isoformat())}</head><body><div class="site-header"><a href="/">万象首页</a> <a>新闻</a> <a>体育</a> <a>财经</a> <a>娱乐</a> <a>科技</a> <a>博客</a> <a>登录</a></div> <div class="path"><a>新闻中心</a> &gt; <a>国内新闻</a> &gt; 正文</div> <div class="main-content"><h1 class="main-title">{story.title}</h1> <div class="top-bar"><div class="date-source"><span class="date">{story.day:%Y年%m月%d日 %H:%M}</span> <a class="source">{source}</a></div> <span class="num" node-type="comment-num">{random.randint(0, 3000)}</span>条评论 <a>微博</a> <a>微信</a> <a>分享</a> 缩小字体 放大字体 收藏</div> <div class="article" id="artibody">{paragraphs}<p class="show_author">责任编辑：{editor}</p></div> <div class="keywords">文章关键词：<a>{words.word()}</a> <a>{words.word()}</a></div> <div>我要反馈</div></div> <div class="right"><h3>阅读排行榜 评论排行榜</h3> <ol>{hot}</ol></div> <div class="footer">新闻中心意见反馈留言板 京ICP证000007 Copyright © 1996-2024 万象公司 版权所有</div></body></html>"""
        county = f"""<!DOCTYPE html><html><head><meta charset="utf-8"><title>{story.title}</title></head><body><div class="nav">网站首页 信息公开 政务服务 互动交流 走进本县 今天是{random.randint(1, 12)}月{random.randint(1, 28)}日 星期{random.choice("一二三四五六日")}</div> <div class="col_path">当前位置：<a>首页</a> &gt; <a>要闻转载</a></div> <div class="article_cont"><div class="arti_title">{story.title}</div> <p class="arti_metas"><span class="arti_publisher">发布者：县府办</span> <span class="arti_update">发布时间：{story.day + dt.timedelta(days=1):%Y-%m-%d}</span> <span>来源：{source}</span> 浏览次数：<span class="WP_VisitCount">{random.randint(9, 9000)}</span> 【字体：大 中 小】</p> <div class="wp_articlecontent">{paragraphs}</div> <div>【打印本页】【关闭窗口】</div></div> <div class="foot">主办单位：县人民政府办公室 网站标识码：3300000012 浙公网安备33000002000001号</div></body></html>"""
        title = story.title if random.random() < 0.6 else f"{words.word()}！{story.title}"
        original = "" if title == story.title else f"<p>原标题：{story.title}</p>"
        media = f"""<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}_阅读频道</title><meta name="description" content="{story.texts[0][:60]}"></head><body><div class="top">下载APP <a>打开</a></div> <div id="article"><h1>{title}</h1> <div class="info"><span class="name">{words.person()}说事</span> <span class="time">{story.day + dt.timedelta(hours=7):%m-%d %H:%M}</span> <button>+关注</button></div> <div class="article-body">{original}{paragraphs}<p>来源：{source}</p> <p>声明：转载此文是出于传递更多信息之目的，若有来源标注错误或侵犯了您的合法权益，请与本网联系，我们将及时更正、删除，谢谢。</p></div> <div class="act"><span class="cmt">{random.randint(0, 400)}评论</span> {random.randint(0, 999)}赞 分享到朋友圈</div></div> <div class="rec"><h3>相关推荐</h3> <ul>{hot}</ul></div></body></html>"""
        views = [
            (
                f"https://news.wanxiang.example/c/{story.day:%Y-%m-%d}/doc-i{story.number:05}.shtml",
                portal,
                PORTAL,
            ),
            (
                f"http://www.xianfu.example/art/{story.day:%Y/%m}/c{4100 + story.number}.htm",
                county,
                COUNTY,
            ),
            (
                f"https://kan.yuedu.example/a/{7300000 + 31 * story.number}?spss=adap_pc",
                media,
                SELF_MEDIA,
            ),
        ]
        for url, html, selectors in some(random, views, random.choice([2, 2, 3])):
            pages.append(Page(url, html.encode(), story.thing, selectors))
    yield from copies_last(shuffled(random, pages))


KINDS = (
    Kind("Newspaper: mobile host, paywall", newspaper, 40),
    Kind("Newspaper: again the next day", next_day, 40),
    Kind("Press releases: wire, finance, trade", releases, 35),
    Kind("Chinese portal and its reprints", chinese, 35),
)

"""Blogger, Substack, SPIP, Tieba and a Japanese newspaper: posts and the other views of them."""

from __future__ import annotations

import datetime as dt
import json
from random import Random

from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, english, paras, slug

BLOGGER = {"title": "h3.post-title::text", "body": ".post-body", "date": "abbr.published::attr(title)", "comments": ".comment-link::text", "category": ".post-labels a::text", "article": ".post"}  # fmt: skip
MOBILE = {"title": "h3.post-title::text", "body": ".post-body", "date": ".date-header span::text", "article": ".mobile-post-outer"}  # fmt: skip
SUBSTACK = {"title": "h1.post-title::text", "body": ".available-content", "date": ".post-date::text", "views": ".like-button .label::text", "comments": ".post-ufi-comment .label::text", "author": ".byline a::text", "article": "article"}  # fmt: skip
SPIP = {"title": "h1.entry-title::text", "body": ".texte", "date": "abbr.published::attr(title)", "views": ".visites::text", "category": ".arbo a:last-of-type::text", "updated": ".maj::text", "author": ".author::text", "article": ".cartouche-et-texte"}  # fmt: skip
TIEBA = {"title": "h3.core_title_txt::text", "body": ".l_post:first-child .d_post_content", "date": ".l_post:first-child .tail-info:nth-child(3)::text", "comments": ".l_reply_num span::text", "author": ".p_author_name::text", "article": "#j_p_postlist"}  # fmt: skip
ASA = {"title": ".article-title::text", "body": ".article-body", "date": "time::attr(datetime)", "category": ".topicpath li:nth-child(2) a::text", "views": ".reaction b::text", "article": "article"}  # fmt: skip
ASA_PHONE = {"title": "h1::text", "body": "#main-text", "date": ".date::text", "article": "#main-text"}  # fmt: skip


def links(words: Words, count: int, low: int = 3, high: int = 7, tag: str = "li") -> str:
    """A list of other pages, other ones at each request."""
    titles = [words.title(low, high) for _ in range(count)]
    return "".join(f'<{tag}><a href="/{slug(one) or count}">{one}</a></{tag}>' for one in titles)


def blogger(random: Random, count: int) -> list[Page]:
    """A blog and its views for telephones: no sidebar, other notation of the day."""
    words, pages = Words(random), []
    for number in range(count):
        title, texts, day = words.title(), words.paragraphs(120, 600), words.day()
        label, who, said = words.word().capitalize(), words.person(), random.randint(0, 30)
        path = f"/{day:%Y/%m}/{slug(title)[:39]}.html"
        remarks = [(words.person(), words.sentence()) for _ in range(min(said, 4))]
        comments = "".join(
            f'<dt class="comment-author"><a>{name}</a> said...</dt><dd class="comment-body"><p>{text}</p></dd><dd class="comment-footer">{english(day)} at 9:{random.randint(10, 59)} PM</dd>'
            for name, text in remarks
        )
        head = f'<meta charset="utf-8"><title>Notes from the allotment: {title}</title><link rel="canonical" href="https://allotment.blogs.example{path}"><meta property="og:title" content="{title}">'
        archive = "".join(
            f"<li><a href='/{year}/'>{year}</a> ({random.randint(9, 99)})</li>"
            for year in range(2019, 2024)
        )
        full = f"""<!DOCTYPE html><html dir="ltr"><head>{head}</head><body><div class="header"><h1 class="title"><a href="/">Notes from the allotment</a></h1><p class="description"><span>Digging since 2009</span></p></div>
<div class="main"><h2 class="date-header"><span>{day:%A}, {english(day)}</span></h2><div class="post hentry"><h3 class="post-title entry-title">{title}</h3><div class="post-body entry-content">{"<br><br>".join(texts)}</div>
<div class="post-footer"><span>Posted by {who}</span> at <abbr class="published" title="{day.isoformat()}">{day:%I:%M %p}</abbr> <a class="comment-link">{said} comments:</a><span class="post-share-buttons">Email This BlogThis! Share to X Share to Facebook Share to Pinterest</span>
<span class="post-labels">Labels: <a href="/search/label/{label}">{label}</a></span></div></div><div class="comments" id="comments"><h4>{said} comments:</h4><dl>{comments}</dl></div><a>Newer Post</a><a>Older Post</a></div>
<div class="sidebar"><div class="widget PopularPosts"><h2>Popular Posts</h2><ul>{links(words, 5)}</ul></div><div class="widget BlogArchive"><h2>Blog Archive</h2><ul>{archive}</ul></div><div class="widget Stats"><h2>Total Pageviews</h2><span>{random.randint(10**5, 10**6):,}</span></div></div></body></html>"""
        phone = f"""<!DOCTYPE html><html><head>{head}</head><body class="mobile"><div class="header"><h1 class="title">Notes from the allotment</h1></div><div class="mobile-post-outer"><div class="mobile-date-outer date-outer"><h2 class="date-header"><span>{english(day)}</span></h2></div>
<div class="post"><h3 class="post-title entry-title">{title}</h3><div class="post-body entry-content">{"<br><br>".join(texts)}</div><div class="post-footer">at {english(day)} Labels: {label}</div></div><div class="comments"><h4>{said} comments:</h4><dl>{comments}</dl></div></div>
<div class="blog-pager"><a>‹</a><a>Home</a><a>›</a></div><div class="mobile-desktop-link"><a href="{path}?m=0">View web version</a></div></body></html>"""
        url = f"https://allotment.blogs.example{path}"
        both = [(url, full, BLOGGER), (f"{url}?m=1", phone, MOBILE)]
        pages += [Page(address, html.encode(), str(number), how) for address, html, how in both]
    return shuffled(random, pages)


def substack(random: Random, count: int) -> list[Page]:
    """A letter under the publisher's own domain and at the host; hearts and comments are counted."""
    words, pages = Words(random), []
    for number in range(count):
        title, texts, day = words.title(), words.paragraphs(250, 800), words.day()
        lead, likes = words.sentence(8, 14), random.randint(3, 500)
        for host, query in (("www.slowletter.example", ""), ("slowletter.stack.example", random.choice(["", "?utm_source=post-email-title", "?r=2f9x&s=w"]))):  # fmt: skip
            likes += random.randint(0, 40)
            ask = "<div class='subscription-widget'><p>Thanks for reading The Slow Letter! Subscribe for free to receive new posts.</p><input placeholder='Type your email...'></div>"
            body = [f"<p>{text}</p>" for text in texts]
            if random.random() < 0.6:
                body.insert(2, ask)
            said = [f"<div class='comment'><b>{words.person()}</b> <span>{random.randint(1, 23)}h</span><p>{words.sentence()}</p><a>Like ({random.randint(0, 9)})</a><a>Reply</a></div>" for _ in range(random.randint(0, 3))]  # fmt: skip
            data = {"@type": "NewsArticle", "headline": title, "datePublished": day.isoformat(), "interactionStatistic": [{"@type": "InteractionCounter", "userInteractionCount": likes}]}  # fmt: skip
            html = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} - by June Hale - The Slow Letter</title><link rel="canonical" href="https://www.slowletter.example/p/{slug(title)}"><meta property="og:title" content="{title}"><script type="application/ld+json">{json.dumps(data)}</script></head><body>
<div class="topbar"><a href="/">The Slow Letter</a><button>Subscribe</button><button>Sign in</button></div><article class="newsletter-post"><div class="post-header"><h1 class="post-title">{title}</h1><h3 class="subtitle">{lead}</h3><div class="byline"><a href="/@june">June Hale</a></div><div class="post-date">{day:%b %d, %Y}</div>
<div class="post-ufi"><a class="like-button"><div class="label">{likes}</div></a><a class="post-ufi-comment"><div class="label">{len(said) + likes // 20}</div></a><a>Share</a></div></div><div class="available-content"><div class="body markup">{"".join(body)}</div></div>
<div class="post-footer"><a class="like-button"><div>{likes} Likes</div></a>∙<a>{random.randint(0, 9)} Restacks</a></div></article><div class="comments-page"><h4>Discussion about this post</h4>{"".join(said)}</div><div class="portable-archive">{links(words, 3, tag="div")}<a>See all</a></div>
<div class="footer">© 2024 June Hale Privacy ∙ Terms ∙ Collection notice</div></body></html>"""
            pages.append(Page(f"https://{host}/p/{slug(title)}{query}", html.encode(), str(number), SUBSTACK))  # fmt: skip
    return copies_last(pages)


def spip(random: Random, count: int) -> list[Page]:
    """A union's site in French: number or name in the address, a view for printers."""
    words, pages = Words(random), []
    for number in range(count):
        title, texts, day = words.title(), words.paragraphs(150, 700), words.day()
        section, visits, who = words.word().capitalize(), random.randint(9, 4000), words.person()
        date = f"{day.day} {('janvier', 'février', 'mars', 'avril')[day.month % 4]} {day.year}"
        number_of = 100 + 7 * number
        for query in random.sample(
            [f"spip.php?article{number_of}", f"{slug(title)}.html", f"spip.php?page=imprimer&id_article={number_of}"], 2
        ):  # fmt: skip
            visits += random.randint(1, 30)
            article = f"""<div class="cartouche-et-texte"><div class="cartouche"><h1 class="entry-title">{title}</h1><p class="info-publi"><abbr class="published" title="{day:%Y-%m-%dT%H:%M:00Z}">{date}</abbr>, <span class="sep">par </span><span class="vcard author">{who}</span></p></div><div class="surlignable"><div class="texte entry-content">{paras(texts)}</div></div>"""
            if "imprimer" in query:
                html = f"<html lang='fr'><head><meta charset='utf-8'><title>[Syndicat des lieux] {title}</title></head><body onload='print()'><p>Extrait du Syndicat des lieux</p><p>https://syndicat.example/spip.php?article{number_of}</p>{article}</div><p>Copyright © Syndicat des lieux - Tous droits réservés</p></body></html>"
            else:
                html = f"""<!DOCTYPE html><html lang="fr"><head><meta charset="utf-8"><title>{title} - Syndicat des lieux</title></head><body class="page_article"><div class="header"><strong><a href="/">Syndicat des lieux</a></strong></div><div class="arbo"><a href="/">Accueil</a> &gt; <a href="/r">{section}</a> &gt; <strong class="on">{title}</strong></div>
{article}<p class="maj">Dernière mise à jour : {random.randint(1, 28)} octobre 2024</p><p class="visites">Visites : {visits}</p><a href="#">Imprimer cet article</a></div><div class="forum"><h2>Vos commentaires</h2><p>Un message, un commentaire ?</p></div><div class="aside"><h2>Dans la même rubrique</h2><ul>{links(words, 5)}</ul><h2>Visiteurs connectés : {random.randint(1, 40)}</h2></div><div class="footer">2009-2024 © Syndicat des lieux | Plan du site | SPIP</div></body></html>"""
            pages.append(Page(f"https://syndicat.example/{query}", html.encode(), str(number), SPIP))  # fmt: skip
    return shuffled(random, pages)


def tieba(random: Random, count: int) -> list[Page]:
    """Threads of a forum in Chinese under parameters; replies and levels of members are counted."""
    words, pages = Words(random, "zh"), []
    for number in range(count):
        title, day, bar = words.title(6, 12), words.day(), words.word()
        posts = [(words.person(), "".join(words.paragraphs(60, 240) if n == 0 else words.paragraphs(10, 50))) for n in range(random.randint(4, 9))]  # fmt: skip
        thread, replies = 7 * 10**9 + random.randrange(10**8), random.randint(20, 900)
        for query in ("", random.choice(["?pn=1", "?fr=ala0&pstaala=1", "?share=9105&fr=share"])):
            replies += random.randint(0, 9)
            floors = "".join(
                f'<div class="l_post"><div class="d_author"><a class="p_author_name">{who}</a><div class="l_badge">{bar}迷 <i>{random.randint(1, 15)}</i></div></div><div class="d_post_content_main"><div class="d_post_content">{text}</div><div class="post-tail-wrap"><span class="tail-info">来自Android客户端</span><span class="tail-info">{floor}楼</span><span class="tail-info">{day + dt.timedelta(minutes=47 * floor):%Y-%m-%d %H:%M}</span><a>回复({random.randint(0, 20)})</a></div></div></div>'
                for floor, (who, text) in enumerate(posts, 1)
            )
            hot = "".join(f"<li>{n} <a>{words.title(4, 7)}</a> <span>{random.randint(10, 400)}W</span></li>" for n in range(1, 8))  # fmt: skip
            html = f"""<!DOCTYPE html><html><head><meta charset="UTF-8"><title>{title}_{bar}吧_百贴吧</title><meta name="keywords" content="{bar}"></head><body><div class="search"><a>网页</a><a>资讯</a><a>贴吧</a><a>知道</a></div><div class="card_top"><a class="card_title_fname">{bar}吧</a><span>关注：<b>{random.randint(10**4, 10**6):,}</b></span><span>贴子：<b>{random.randint(10**5, 10**7):,}</b></span></div>
<div class="core_title"><h3 class="core_title_txt" title="{title}">{title}</h3><ul><li class="l_reply_num"><span>{replies}</span>回复贴，共<span>{replies // 30 + 1}</span>页</li></ul><a>只看楼主</a><a>收藏</a><a>回复</a></div><div id="j_p_postlist">{floors}</div><div class="topic_list"><h4>贴吧热议榜</h4><ul>{hot}</ul></div><div class="footer">©2024 使用百贴吧前必读 | 贴吧协议 | 隐私政策</div></body></html>"""
            pages.append(Page(f"https://tieba.example/p/{thread}{query}", html.encode(), str(number), TIEBA))  # fmt: skip
    return copies_last(pages)


def japanese(random: Random, count: int) -> list[Page]:
    """A newspaper and its host for telephones; furigana over hard words, a ranking of the day."""
    words, pages = Words(random, "zh"), []
    kana = "かきくけこさしすせそたちつてとなにのはひふほまみもやゆよらりるれわをん"

    def sentence() -> str:
        parts = [words.word() + random.choice(["は", "が", "を", "に", "で", "の", "と"]) + ("" if random.random() < 0.6 else "".join(random.choices(kana, k=random.randint(2, 5)))) for _ in range(random.randint(5, 12))]  # fmt: skip
        return "".join(parts) + random.choice(["した。", "という。", "している。", "なった。"])

    def with_readings(text: str) -> str:
        return text if random.random() < 0.8 else f"<ruby>{text[:2]}<rt>{''.join(random.choices(kana, k=4))}</rt></ruby>{text[2:]}"  # fmt: skip

    for number in range(count):
        title, day = sentence()[:26], words.day()
        texts = [
            "".join(sentence() for _ in range(random.randint(2, 4))) for _ in range(random.randint(3, 8))
        ]  # fmt: skip
        section, code = random.choice(["社会", "経済", "政治", "国際"]), f"ASR{random.randrange(10**6, 10**7)}"  # fmt: skip
        ranking = "".join(f'<li><span>{n}位</span><a href="/r{n}">{sentence()[:20]}</a></li>' for n in range(1, 8))  # fmt: skip
        full = f"""<!DOCTYPE html><html lang="ja"><head><meta charset="utf-8"><title>{title}：朝夕新聞デジタル</title><meta property="og:title" content="{title}"><link rel="canonical" href="https://www.asayu.example/articles/{code}.html"></head><body><header><a href="/">朝夕新聞</a><a>ログイン</a><a>会員登録</a></header><nav class="topicpath"><ul><li><a href="/">トップ</a></li><li><a href="/n">{section}</a></li></ul></nav>
<main><article><h1 class="article-title">{title}</h1><p><time datetime="{day:%Y-%m-%dT%H:%M:00+09:00}">{day:%Y年%m月%d日 %H時%M分}</time></p><div class="reaction">いいね <b>{random.randint(0, 900)}</b></div><div class="article-body">{paras([with_readings(one) for one in texts])}</div><div class="present">この記事をプレゼントする　あと{random.randint(1, 5)}本</div></article></main><aside><h2>アクセスランキング</h2><ol>{ranking}</ol></aside><footer>©朝夕新聞社 無断転載禁止</footer></body></html>"""
        phone = f"""<!DOCTYPE html><html lang="ja"><head><meta charset="utf-8"><title>{title} | 朝夕新聞 スマホ版</title></head><body><div id="hd">朝夕新聞</div><h1>{title}</h1><div class="date">{day.year}年{day.month}月{day.day}日</div><div id="main-text">{paras(texts)}</div><ul class="sns"><li>ポスト</li><li>シェア</li><li>ブックマーク</li></ul><h2>あわせて読みたい</h2><ul>{"".join(f"<li>{sentence()[:24]}</li>" for _ in range(4))}</ul><div>PC版を見る</div></body></html>"""
        pages.append(Page(f"https://www.asayu.example/articles/{code}.html?iref={random.choice(['comtop', 'pc_ss'])}", full.encode(), str(number), ASA))  # fmt: skip
        pages.append(Page(f"https://sp.asayu.example/articles/{code}.html", phone.encode(), str(number), ASA_PHONE))  # fmt: skip
    return shuffled(random, pages)


KINDS = (
    Kind("Blogger: ?m=1", blogger),
    Kind("Substack: own domain, letters", substack),
    Kind("SPIP: numbers, names, print views", spip),
    Kind("Tieba: threads under parameters", tieba),
    Kind("Japanese newspaper: telephones, furigana", japanese),
)

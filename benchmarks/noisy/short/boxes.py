"""Texts with boxes of the site inside: news, planets, job ads, houses; a Japanese agency's news.

After WordPress with plugins for "read also" and newsletters, Planet Venus, job boards such as
Indeed's partners, portals for houses, and Yahoo! News Japan beside the paper that wrote it.
"""

from __future__ import annotations

from random import Random

from benchmarks.noisy.short._pieces import counted, links, menu, post
from benchmarks.noisy.site import Kind, Page, shuffled
from benchmarks.noisy.words import Words, british, english, paras, slug

PRESS = {"title": "h1.entry-title::text", "body": ".entry-content", "date": "time::attr(datetime)", "author": ".author a::text", "comments": ".comments-link::text", "article": "article"}  # fmt: skip
PORTAL = {"title": "h1::text", "body": ".story-body", "date": ".story-date::text", "views": ".shares::text", "article": ".story"}  # fmt: skip
PLANET = {"title": "h2.entry-title a::text", "body": ".content", "date": ".date::text", "article": ".entry"}  # fmt: skip
JOB = {"title": "h1::text", "body": ".job-description", "place": ".job-location::text", "article": ".job"}  # fmt: skip
BOARD = {"title": "h1::text", "body": "#jobDescriptionText", "place": ".loc::text", "article": "#job"}  # fmt: skip
AGENT = {"title": "h1::text", "body": ".description", "price": ".price::text", "place": ".locality::text"}  # fmt: skip
HOUSES = {"title": "h1::text", "body": ".detail-text", "price": ".asking::text", "place": ".town::text"}  # fmt: skip
PAPER = {"title": "h1.headline::text", "body": ".article-body", "date": "time::attr(datetime)", "article": "article"}  # fmt: skip
YAHOO = {"title": "article h1::text", "body": ".article_body", "date": "article time::text", "article": "article"}  # fmt: skip


def _boxed(words: Words, texts: list[str], boxes: list[str]) -> str:
    made = [f"<p>{text}</p>" for text in texts]
    for box in boxes:
        made.insert(words.random.randint(1, len(made)), box)
    return "\n".join(made)


def news(random: Random, count: int) -> list[Page]:
    """A newspaper's story and a portal's copy, each with boxes of one sentence in the text."""
    words, pages = Words(random), []
    for number in range(count):
        title, texts, day = words.title(), post(words, 900, 3000), words.day()
        ours = [
            f'<p><strong>Read also: <a href="/{number}">{words.title(8, 13)}</a></strong></p>',
            '<p><em>Sign up for our morning newsletter and get the stories that matter in your inbox every day.</em></p>',
        ]  # fmt: skip
        theirs = [
            f'<p class="more-on">More on this: {words.title(8, 14)}</p>',
            f"<p>{words.made().capitalize()} Daily is free because of readers like you. Support our journalism with a small gift today.</p>",
        ]
        one = f"""<!DOCTYPE html><html lang="en-US"><head><meta charset="utf-8"><title>{title} - The Ford Courier</title><meta property="og:title" content="{title}"><meta property="og:site_name" content="The Ford Courier"></head><body class="single"><header><a href="/">The Ford Courier</a>{menu("News", "Sport", "Opinion", "Weather", "Obituaries")}</header><main><article><h1 class="entry-title">{title}</h1><div class="entry-meta"><span class="author"><a>{words.person()}</a></span> <time datetime="{day.isoformat()}">{english(day)}</time> <span class="comments-link">{counted(random, 40)} Comments</span></div><div class="entry-content">{_boxed(words, texts, random.sample(ours, random.randint(1, 2)))}</div><div class="jp-relatedposts"><h3>Related</h3>{links(words, 3, "p")}</div></article><div id="comments"><h3>Leave a Reply</h3>Your email address will not be published.</div></main><aside><h2>Most read</h2><ol>{links(words, 6)}</ol></aside><footer>© The Ford Courier. Proudly powered by WordPress</footer></body></html>"""
        two = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} | Nation Daily</title></head><body><div id="top"><a href="/">Nation Daily</a>{menu("Local", "World", "Business", "Tech", "Life")}</div><div class="story"><h1>{title}</h1><div class="byline">By The Ford Courier</div><span class="story-date">{british(day)}</span> <span class="shares">{counted(random)} shares</span><div class="story-body">{_boxed(words, texts, random.sample(theirs, random.randint(1, 2)))}<p>This story was first published by The Ford Courier and is republished with permission.</p></div></div><div class="rail"><h3>Trending now</h3>{"".join(f"<div><a>{words.title()}</a><p>{words.sentence()}</p></div>" for _ in range(4))}</div><div id="bottom">Terms Privacy Advertise © 2024 Nation Daily</div></body></html>"""
        pages.append(Page(f"https://www.fordcourier.example/{day:%Y/%m/%d}/{slug(title)}/", one.encode(), str(number), PRESS))  # fmt: skip
        pages.append(Page(f"https://nationdaily.example/local/{slug(title)}-{number}", two.encode(), str(number), PORTAL))  # fmt: skip
    return shuffled(random, pages)


def planet(random: Random, count: int) -> list[Page]:
    """A blog and its copy on a planet, under a note of where it was published first."""
    words, pages = Words(random), []
    for number in range(count):
        title, texts, day, who = words.title(), post(words, 500, 2000), words.day(), words.person()
        host = f"{words.made()}.example"
        note = f'<p><i>This post was originally published on <a href="https://{host}/">{words.made().capitalize()}’s blog</a>. Comments are welcome there or by mail.</i></p>'
        one = f"""<!DOCTYPE html><html lang="en"><head><title>{title}</title><meta name="generator" content="Jekyll v4.3.2"></head><body><header class="site-header"><a>{who}</a><nav><a>About</a> <a>Archive</a> <a>Feed</a></nav></header><main class="page-content"><article class="post h-entry"><header><h1 class="entry-title">{title}</h1><p class="post-meta"><time datetime="{day.isoformat()}">{day:%b %d, %Y}</time></p></header><div class="entry-content e-content">{paras(texts)}</div></article></main><footer><p>{who}, writing about free software since {random.randint(2004, 2019)}.</p></footer></body></html>"""
        first = random.random() < 0.5
        two = f"""<!DOCTYPE html><html><head><title>Planet Tools: {title}</title></head><body><h1>Planet Tools</h1><div class="entry"><h2 class="entry-title"><a>{title}</a></h2><div class="meta">by <a>{who}</a> on <span class="date">{british(day)}</span></div><div class="content">{note if first else ""}{paras(texts)}{"" if first else note}</div></div><div class="sidebar"><h2>Subscriptions</h2>{links(words, 12, "li", 2, 3)}<p>Last updated: {words.day():%B %d, %Y %I:%M %p}. All times are UTC. Powered by Planet.</p></div></body></html>"""
        pages.append(Page(f"https://{host}/{day:%Y/%m}/{slug(title)}.html", one.encode(), str(number), PRESS))  # fmt: skip
        pages.append(Page(f"https://planet.tools.example/{9000 + number}", two.encode(), str(number), PLANET))  # fmt: skip
    return shuffled(random, pages)


def jobs(random: Random, count: int) -> list[Page]:
    """An employer's ad and its copy on a board, with similar jobs in the same column."""
    words, pages = Words(random), []
    for number in range(count):
        title, texts, town, firm = words.title(2, 4), post(words, 600, 1800), words.town(), words.firm()  # fmt: skip
        lines = "".join(f"<li>{words.sentence(5, 11)}</li>" for _ in range(5))
        body = f"{paras(texts)}<h3>Your profile</h3><ul>{lines}</ul><p>{words.sentence()}</p>"
        one = f"""<!DOCTYPE html><html lang="en"><head><title>{title} in {town} | Careers at {firm}</title></head><body><header><a href="/">{firm}</a>{menu("Jobs", "Teams", "Benefits", "FAQ")}</header><main class="job"><h1>{title}</h1><p class="job-location">{town}</p><div class="job-description">{body}</div><button>Apply now</button></main><footer>© {firm}</footer></body></html>"""
        similar = "".join(f"<div class='card'><h4><a>{words.title(2, 4)}</a></h4><div>{words.firm()}</div><div>{words.town()}</div><p>{words.paragraph(18)}</p><span>{random.randint(1, 30)} days ago</span></div>" for _ in range(random.randint(3, 5)))  # fmt: skip
        two = f"""<!DOCTYPE html><html lang="en"><head><title>{title} - {firm} - {town} | JobLadder</title></head><body><nav>{menu("Find jobs", "Company reviews", "Salaries", "Employers")}</nav><div id="job"><h1>{title}</h1><div>{firm}</div><div class="loc">{town}</div><div>Posted {random.randint(1, 30)} days ago · {counted(random, 90)} applicants</div><div id="jobDescriptionText">{body}</div><div><h3>Similar jobs</h3>{similar}</div><p>Report job</p></div><div id="ft">Hiring Lab Career advice Browse jobs © 2024 JobLadder</div></body></html>"""
        pages.append(Page(f"https://careers.{slug(firm)}.example/jobs/{number}", one.encode(), str(number), JOB))  # fmt: skip
        pages.append(Page(f"https://www.jobladder.example/viewjob?jk={random.getrandbits(60):x}", two.encode(), str(number), BOARD))  # fmt: skip
    return shuffled(random, pages)


def houses(random: Random, count: int) -> list[Page]:
    """An agent's house and a portal's copy, the price in another notation there."""
    words, pages = Words(random), []
    for number in range(count):
        town, beds, price = words.town(), random.randint(1, 5), 5000 * random.randint(30, 160)
        texts = post(words, 500, 1300)
        title = f"{beds} bedroom {random.choice(['house', 'flat', 'bungalow'])} for sale in {words.made().capitalize()} Road, {town}"
        one = f"""<!DOCTYPE html><html lang="en"><head><title>{title} - Marsh & Hale Estate Agents</title></head><body><header>Marsh & Hale {menu("Buy", "Rent", "Sell", "Contact")}</header><main><h1>{title}</h1><p class="price">£{price:,}</p><p class="locality">{town}</p><div class="description"><h2>Description</h2>{paras(texts)}</div></main><aside><h3>Other properties</h3>{"".join(f"<div><a>{random.randint(1, 5)} bedroom house, {words.town()}</a> <b>£{5000 * random.randint(30, 160):,}</b></div>" for _ in range(3))}</aside><footer>Marsh & Hale Ltd</footer></body></html>"""
        how = random.choice([f"Guide price £{price // 1000}k", f"Offers over £{price:,}.00", f"GBP {price}"])  # fmt: skip
        two = f"""<!DOCTYPE html><html lang="en"><head><title>{title} | HomesFinder</title></head><body><div class="nav">{menu("For sale", "To rent", "House prices", "Agents", "Mortgages")}</div><div class="listing"><h1>{title}</h1><span class="asking">{how}</span> <span class="town">{town}</span><div>{beds} beds · {random.randint(1, 2)} baths</div><section><h2>About this property</h2><div class="detail-text">{paras(texts)}</div></section><div>Listed by Marsh & Hale. Call agent Email agent Save Share</div><section class="similar"><h2>Similar homes</h2>{"".join(f"<div><a>{random.randint(1, 5)} bed house</a><span>£{5000 * random.randint(30, 160):,}</span><p>{words.sentence()}</p></div>" for _ in range(3))}</section></div><div>© HomesFinder Limited. Terms of use Privacy</div></body></html>"""
        pages.append(Page(f"https://marshhale.example/property/{700 + number}", one.encode(), str(number), AGENT))  # fmt: skip
        pages.append(Page(f"https://www.homesfinder.example/details/{random.randint(10**7, 10**8)}", two.encode(), str(number), HOUSES))  # fmt: skip
    return shuffled(random, pages)


_KANA = "かきくけこさしすせそたちつてとなにのはひふほまみもやゆよらりるれわをん"


def _japanese(words: Words) -> str:
    random = words.random
    parts = [words.word() + random.choice("はがをにでのと") + ("" if words.chance(0.6) else "".join(random.choices(_KANA, k=random.randint(2, 5)))) for _ in range(random.randint(5, 10))]  # fmt: skip
    return "".join(parts) + random.choice(["した。", "という。", "している。", "なった。"])


def japanese(random: Random, count: int) -> list[Page]:
    """A paper's short news and a portal's copy: dates and rows beside the heading differ."""
    words, pages = Words(random, "zh"), []
    for number in range(count):
        words.subject(15)
        title, day = _japanese(words)[:24], words.day()
        texts = ["".join(_japanese(words) for _ in range(random.randint(1, 3))) for _ in range(random.randint(2, 4))]  # fmt: skip
        code = random.randrange(10**6, 10**7)
        later = f"{day.month}/{day.day}({random.choice('月火水木金土日')}) {day.hour}:{random.randint(10, 59)}"
        one = f"""<!DOCTYPE html><html lang="ja"><head><meta charset="utf-8"><title>{title} - 川辺新聞</title></head><body><header><a href="/">川辺新聞</a>{menu("速報", "社会", "経済", "スポーツ", "天気")}<a>会員登録</a></header><article><h1 class="headline">{title}</h1><dl class="info"><dt>公開</dt><dd><time datetime="{day.isoformat()}">{day.year}年{day.month}月{day.day}日 {day.hour}時{day.minute:02}分</time></dd><dt>文字数</dt><dd>{random.randint(200, 900)}文字</dd></dl><div class="article-body">{paras(["　" + text for text in texts])}</div><div class="share">シェアする ツイートする 保存</div></article><aside><h2>アクセスランキング</h2><ol>{"".join(f"<li><a>{_japanese(words)[:22]}</a></li>" for _ in range(6))}</ol></aside><footer>著作権・リンクについて ©川辺新聞社</footer></body></html>"""
        two = f"""<!DOCTYPE html><html lang="ja"><head><meta charset="utf-8"><title>{title}（川辺新聞） - ヤホーニュース</title></head><body><div id="msthd"><a>ヤホーニュース</a><a>IDでもっと便利に新規取得</a>{menu("トップ", "速報", "ライブ", "エキスパート", "オリジナル", "みんなの意見", "ランキング")}</div><main><article><header><h1>{title}</h1><p><time>{later}</time> 配信</p><div><button>{counted(random, 400)}</button><span>コメント{counted(random, 400)}件</span></div></header><div class="article_body">{paras(["".join(texts)])}</div><p>川辺新聞</p><section><h2>【関連記事】</h2><ul>{"".join(f"<li><a>{_japanese(words)[:24]}</a></li>" for _ in range(5))}</ul></section><p>最終更新：{later}</p></article><section><h2>アクセスランキング（国内）</h2><ol>{"".join(f"<li><a>{_japanese(words)[:24]}</a><span>{words.word()}新聞 {random.randint(1, 12)}/{random.randint(1, 28)}</span></li>" for _ in range(5))}</ol></section></main><footer>プライバシーポリシー - 利用規約 - ご意見・ご要望 記事・写真の無断転載を禁じます。</footer></body></html>"""
        pages.append(Page(f"https://www.kawabe.example/articles/{code}", one.encode(), str(number), PAPER))  # fmt: skip
        pages.append(Page(f"https://news.yaho.example/articles/{random.getrandbits(80):x}", two.encode(), str(number), YAHOO))  # fmt: skip
    return shuffled(random, pages)


def contents(random: Random, count: int) -> list[Page]:
    """Parts of manuals: a list of modules, of which one has a list of functions; and its page.

    After PostgreSQL's `contrib.html` and `dblink.html`: all different.
    """
    words, pages = Words(random), []
    for number in range(0, count, 2):
        name, part = words.made(), words.title(2, 4)

        def row(place: int) -> str:
            return f'<dt><span class="sect1"><a href="{place}.html">F.{place}. {words.made()} — {" ".join(words.words(5))}</a></span></dt><dd><dl><dt><span class="sect2"><a href="{place}.html#id-1">F.{place}.1. Functions</a></span></dt><dt><span class="sect2"><a href="{place}.html#id-2">F.{place}.2. Author</a></span></dt></dl></dd>'

        functions = "".join(f'<dt><span class="refentrytitle"><a href="{made}.html">{name}_{made}</a></span><span class="refpurpose"> — {" ".join(words.words(random.randint(6, 12)))}</span></dt>' for made in [words.made() for _ in range(18)])  # fmt: skip
        rows = [row(place) for place in range(1, 45)]
        rows.insert(11, f'<dt><span class="sect1"><a href="{name}.html">F.12. {name} — {" ".join(words.words(5))}</a></span></dt><dd><dl>{functions}</dl></dd>')  # fmt: skip
        lead = paras([words.paragraph(30), words.paragraph(25)])
        for path, title, body in (
            (f"{slug(part)}.html", f"Appendix F. {part}", f'{lead}<div class="toc"><p>Table of Contents</p><dl class="toc">{"".join(rows)}</dl></div>'),
            (f"{name}.html", f"F.12. {name}", f'<div class="toc"><dl class="toc">{functions}</dl></div><p>{words.sentence()}</p>'),
        ):  # fmt: skip
            html = f"""<!DOCTYPE html><html lang="en"><head><title>{title}</title></head><body id="docContent"><div class="navheader"><table width="100%"><tr><th colspan="5">{title}</th></tr><tr><td><a accesskey="p">Prev</a></td><td><a accesskey="u">Up</a></td><th>Part {number}. {words.word()}</th><td><a>Home</a></td><td><a accesskey="n">Next</a></td></tr></table></div><div class="sect1"><div class="titlepage"><h2 class="title">{title}</h2></div>{body}</div><div class="navfooter"><table><tr><td><a>Prev</a></td><td><a>Up</a></td><td><a>Next</a></td></tr></table></div></body></html>"""
            host = ("docs.one.example", "manuals.two.example")[len(pages) % 2]
            pages.append(Page(f"https://{host}/m/{number}/{path}", html.encode(), path, {"title": "h2::text", "body": ".sect1"}))  # fmt: skip
    return pages


KINDS = (
    Kind("Short: news with boxes of one sentence", news, 30),
    Kind("Short: blogs and a planet with notes", planet, 30),
    Kind("Short: job ads beside similar ones", jobs, 30),
    Kind("Short: houses, prices in other notations", houses, 30),
    Kind("Short: Japanese news on a portal", japanese, 36),
    Kind("Short: parts of manuals, one in detail (all different)", contents, 30),
)

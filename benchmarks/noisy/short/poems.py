"""Poems and other short texts: a site of old Chinese poetry and a blog, English verse.

After gushiwen.cn and Chinese blogs made with Hexo; Hugo with the theme PaperMod, and sites like
poetryfoundation.org.
"""

from __future__ import annotations

from random import Random

from benchmarks.noisy.short._pieces import counted, links, menu
from benchmarks.noisy.site import Kind, Page, shuffled
from benchmarks.noisy.words import Words, english, slug

GUSHI = {"title": ".cont h1::text", "body": ".contson", "author": ".source a::text", "views": ".good span::text", "article": ".sons"}  # fmt: skip
HEXO = {"title": "h1.post-title::text", "body": ".post-body", "date": "time::attr(datetime)", "category": ".post-category a::text", "views": ".post-views-count::text", "article": "article"}  # fmt: skip
HUGO = {"title": "h1.post-title::text", "body": ".post-content", "date": ".post-meta span::attr(title)", "article": "article"}  # fmt: skip
FOUNDATION = {"title": ".c-feature-hd h1::text", "body": ".o-poem", "author": ".c-feature-sub a::text", "article": ".o-article"}  # fmt: skip


def verses(words: Words, lines: int, length: int) -> list[str]:
    words.subject(15)
    return ["".join(words.words(length))[:length] for _ in range(lines)]


def gushi(words: Words, title: str, of: tuple[str, str], lines: list[str]) -> bytes:
    """One of many poems of an anthology: its verses in pairs, a translation to be unfolded, likes."""
    random, (poet, life) = words.random, of
    pairs = "<br>".join(f"{a}，{b}。" for a, b in zip(lines[::2], lines[1::2], strict=True))
    return f"""<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}原文、翻译及赏析_{poet}_古文岛</title></head><body><div class="maintopbc"><a href="/">古文岛</a>{menu("推荐", "诗文", "名句", "作者", "古籍", "我的")}<a>APP</a></div><div class="main3"><div class="left"><div class="sons"><div class="cont"><h1>{title}</h1><p class="source"><a>{poet}</a><a>〔唐代〕</a></p><div class="contson">{pairs}</div></div>
<div class="tool"><div class="good"><span> {counted(random, 9000)}</span></div><div>完善</div><div>收藏</div><div>拼音</div><div>注释</div><div>译文</div></div><div class="tag"><a>唐诗三百首</a>，<a>{words.word()}</a>，<a>{words.word()}</a></div></div>
<div class="sonspic"><p><a>{poet}</a></p><p>{life}<a>► {random.randint(20, 900)}篇诗文</a>　<a>► {random.randint(20, 900)}条名句</a></p></div><div class="title"><h2>猜您喜欢</h2></div>{links(words, 12, "div")}</div>
<div class="right"><h3>诗文推荐</h3>{links(words, 25, "p")}<h3>名句</h3><p>{words.sentence()}</p><p>{words.sentence()}</p></div></div><div class="mainbottom">© 2024 古文岛 | 诗文 | 名句 | 作者 | 古籍 | 纠错</div></body></html>""".encode()


def hexo(words: Words, title: str, poet: str, lines: list[str], life: str = "") -> bytes:
    """A blog with a verse in each line, or all in one."""
    random, day = words.random, words.day()
    each = [f"{a}，{b}。" for a, b in zip(lines[::2], lines[1::2], strict=True)]
    body = "".join(f"<p>{one}</p>" for one in each) if words.chance(0.5) else f"<p>{''.join(each)}</p>"  # fmt: skip
    return f"""<!DOCTYPE html><html lang="zh-CN"><head><meta charset="UTF-8"><title>{title} | 听雨轩</title><meta name="generator" content="Hexo 6.3.0"></head><body><header class="header"><div class="site-meta"><a>听雨轩</a><p class="site-subtitle">一蓑烟雨任平生</p></div><nav class="site-nav">{menu("首页", "标签", "分类", "归档", "关于")}</nav></header>
<main class="main"><div class="post-block"><article itemscope class="post-content"><header class="post-header"><h1 class="post-title">{title}</h1><div class="post-meta-container"><span>发表于</span><time datetime="{day.isoformat()}">{day:%Y-%m-%d}</time> <span>分类于</span> <span class="post-category"><a>{poet}</a></span> <span>阅读次数：</span><span class="post-views-count">{counted(random)}</span> <span>本文字数：</span>{random.randint(50, 99)} <span>阅读时长 ≈</span> 1 分钟</div></header><div class="post-body">{body}</div>{life and f"<h4>作者</h4><p>{life}</p>"}
<footer class="post-footer"><div class="post-copyright">本文作者： 听雨 本文链接： https://tingyu.example/ 版权声明： 本博客所有文章除特别声明外，均采用 BY-NC-SA 许可协议。转载请注明出处！</div><div class="post-tags"><a># {poet}</a></div><div class="post-nav">{links(words, 2, "div")}</div></footer></article></div></main><aside class="sidebar"><ul>{links(words, 12)}</ul><p>听雨</p><div>{random.randint(100, 900)} 日志</div><div>{random.randint(10, 90)} 分类</div></aside><footer class="footer">© 2024 听雨 由 Hexo & NexT.Gemini 强力驱动</footer></body></html>""".encode()


def chinese(random: Random, count: int) -> list[Page]:
    """A poem in an anthology and on a blog: 40 to 84 ideographs."""
    words, pages = Words(random, "zh"), []
    for number in range(count):
        title, poet = words.title(4, 5)[:6], words.person()
        lines = verses(words, *random.choice([(8, 5), (8, 7), (12, 7), (12, 5)]))
        life = "".join(words.sentence() for _ in range(random.randint(2, 4)))
        pages.append(Page(f"https://so.guwen.example/shiwenv_{1000 + number}.aspx", gushi(words, title, (poet, life), lines), str(number), GUSHI))  # fmt: skip
        pages.append(Page(f"https://tingyu.example/2023/{number}/", hexo(words, title, poet, lines), str(number), HEXO))  # fmt: skip
    return shuffled(random, pages)


def of_one_poet(random: Random, count: int) -> list[Page]:
    """Poems of three poets, each under the same life of its poet: all different."""
    words, pages = Words(random, "zh"), []
    poets = [(words.person(), "".join(words.sentence() for _ in range(5))) for _ in range(3)]
    for number in range(count):
        title, (poet, life) = words.title(4, 5)[:6], random.choice(poets)
        lines = verses(words, *random.choice([(4, 7), (8, 5), (8, 7)]))
        if number % 3:
            html, how = gushi(words, title, (poet, life), lines), GUSHI
            url = f"https://so.guwen.example/shiwenv_{1000 + number}.aspx"
        else:
            html, how = hexo(words, title, poet, lines, life), HEXO
            url = f"https://tingyu.example/2023/{number}/"
        pages.append(Page(url, html, str(number), how))
    return pages


def stanzas(words: Words) -> list[list[str]]:
    words.subject(15)
    return [
        [" ".join(words.words(words.random.randint(5, 8))).capitalize() for _ in range(4)]
        for _ in range(words.random.randint(2, 4))
    ]


def english_verse(random: Random, count: int) -> list[Page]:
    """A poem on a blog and on a large site of poetry: 50 to 120 words."""
    words, pages = Words(random), []
    for number in range(count):
        title, poet, poem = words.title(2, 5), words.person(), stanzas(words)
        day = words.day()
        body = "".join(f"<p>{'<br>'.join(stanza)}</p>" for stanza in poem)
        hugo = f"""<!DOCTYPE html><html lang="en" dir="auto"><head><meta charset="utf-8"><title>{title} | Marginalia</title><meta name="generator" content="Hugo 0.121.1"></head><body id="top"><header class="header"><nav class="nav"><div class="logo"><a href="/">Marginalia</a></div>{menu("Archive", "Tags", "Search")}</nav></header><main class="main"><article class="post-single"><header class="post-header"><div class="breadcrumbs"><a>Home</a> » <a>Poems</a></div><h1 class="post-title">{title}</h1><div class="post-meta"><span title="{day.isoformat()}">{english(day)}</span> · 1 min · {poet}</div></header><div class="post-content">{body}</div><footer class="post-footer"><ul class="post-tags"><li><a>poetry</a></li><li><a>{words.word()}</a></li></ul><nav class="paginav">{links(words, 2, "div")}</nav></footer></article></main><footer class="footer"><span>© 2024 Marginalia</span> <span>Powered by Hugo & PaperMod</span></footer></body></html>"""
        lines = "".join("".join(f'<div style="text-indent: -1em; padding-left: 1em;">{line}<br></div>' for line in stanza) + "<div><br></div>" for stanza in poem)  # fmt: skip
        foundation = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} by {poet} | The Verse Foundation</title></head><body><header><a href="/">The Verse Foundation</a>{menu("Poems", "Poets", "Prose", "Collections", "Listen", "Learn", "Visit", "Subscribe")}</header><main><div class="o-article"><div class="c-feature"><div class="c-feature-hd"><h1>{title}</h1></div><div class="c-feature-sub">By <a>{poet}</a></div><div class="c-feature-bd"><div class="o-poem">{lines}</div></div></div><div class="c-feature-note"><p>Copyright Credit: {poet}, "{title}" from {words.title(2, 4)}. Source: {words.title(2, 4)} ({random.randint(1950, 2015)})</p></div>
<div>Share this page Facebook Twitter Print page Email this page Add to anthology</div></div><aside><h3>More Poems by {poet}</h3>{links(words, 14, "div", 2, 5)}<a>See all poems by {poet}</a><h3>Poem of the Day</h3><p>{words.sentence()}</p></aside></main><footer><p>{words.random.randint(40, 80)} West Superior Street, Chicago. Hours: Wednesday to Saturday. Newsletter signup. Contact us. Privacy policy. Terms of use.</p></footer></body></html>"""
        pages.append(Page(f"https://marginalia.example/poems/{slug(title)}-{number}/", hugo.encode(), str(number), HUGO))  # fmt: skip
        pages.append(Page(f"https://www.versefoundation.example/poems/{4000 + number}/{slug(title)}", foundation.encode(), str(number), FOUNDATION))  # fmt: skip
    return shuffled(random, pages)


KINDS = (
    Kind("Short: old poems, an anthology and a blog", chinese, 36),
    Kind("Short: poems under one life (all different)", of_one_poet, 36),
    Kind("Short: English verse on two sites", english_verse, 30),
)

"""Chapters of novels on sites that put lines of their own into them.

After the many sites made with templates named biquge: "remember our address", the host's name
inside a paragraph, the newest chapter's place, half and full width mixed.
"""

from __future__ import annotations

from random import Random

from benchmarks.noisy.short._pieces import links, menu
from benchmarks.noisy.site import Kind, Page, shuffled
from benchmarks.noisy.words import Words

BIQUGE = {"title": ".bookname h1::text", "body": "#content", "article": ".content_read"}
OTHER = {"title": ".reader-main h1::text", "body": "#booktxt", "article": ".reader-main"}

_ONE, _TWO = ("笔趣屋", "www.biquwu.example"), ("顶峰小说", "www.dingfeng.example")
_WIDE = str.maketrans("，。！？：；（）", ",.!?:;()")


def chapter(words: Words, low: int = 500, high: int = 900) -> list[str]:
    words.subject(25)
    left, texts = words.random.randint(low, high), list[str]()
    while left > 0:
        texts.append("".join(words.sentence(6, 16) for _ in range(words.random.randint(1, 3))))
        left -= len(texts[-1])
    return texts


def with_lines(words: Words, texts: list[str], site: tuple[str, str], book: str, most: int) -> list[str]:  # fmt: skip
    """The paragraphs with lines of the site between and inside of them."""
    random, made, (name, host) = words.random, [*texts], site
    lines = [
        f"一秒记住【{name}】{host}，更新快，无弹窗！",
        f"请记住本书首发域名：{host}。{name}手机版阅读网址：m.{host}",
        f"最新网址：{host}",
        f"《{book}》最新章节就在{name}，{host}",
        "（本章未完，请点击下一页继续阅读）",
        f"手机用户请浏览{name}阅读，掌上阅读更方便。",
        f"天才一秒记住本站地址：{host}",
        "喜欢请大家收藏，更新速度全网最快。",
    ]
    for line in random.sample(lines, random.randint(1, most)):
        place = random.randrange(len(made) + 1)
        if place < len(made) and words.chance(0.4):
            first, stop, rest = made[place].partition("，")
            made[place] = f"{first}{stop}{line}{rest}"
        else:
            made.insert(place, line)
    return made


def biquge(words: Words, book: str, number: int, title: str, texts: list[str]) -> bytes:
    body = "<br/><br/>".join(f"&nbsp;&nbsp;&nbsp;&nbsp;{text}" for text in texts)
    return f"""<!DOCTYPE html><html><head><meta charset="utf-8"><title>第{number}章 {title}_{book}_笔趣屋</title><meta name="keywords" content="{book},第{number}章 {title}"></head><body><div id="wrapper"><div class="header_logo"><a href="/">笔趣屋</a></div><div class="nav">{menu("首页", "我的书架", "玄幻小说", "修真小说", "都市小说", "穿越小说", "排行榜单")}</div><div class="content_read"><div class="box_con"><div class="con_top"><a href="/">笔趣屋</a> &gt; <a href="/book/">{book}</a> &gt; 第{number}章 {title}</div><div class="bookname"><h1>第{number}章 {title}</h1><div class="bottem1"><a>投推荐票</a> <a>上一章</a> ← <a>章节目录</a> → <a>下一章</a> <a>加入书签</a></div><div class="lm">推荐阅读：{links(words, 5, "span", 4, 6)}</div></div><div id="content">{body}</div><div class="bottem2"><a>上一章</a> ← <a>章节列表</a> → <a>下一章</a> <a>加入书签</a></div></div></div><div class="footer"><p>本站所有小说为转载作品，所有章节均由网友上传，转载至本站只是为了宣传本书让更多读者欣赏。</p><p>Copyright © 2024 笔趣屋 All Rights Reserved.</p></div></div></body></html>""".encode()


def other(words: Words, book: str, number: int, title: str, texts: list[str]) -> bytes:
    body = "".join(f"<p>　　{text.translate(_WIDE) if words.chance(0.3) else text}</p>" for text in texts)  # fmt: skip
    return f"""<!DOCTYPE html><html lang="zh"><head><meta charset="utf-8"><title>{book} 第{number}章 {title}全文阅读-顶峰小说</title></head><body><header><a href="/">顶峰小说</a><div class="search">搜索</div></header><div class="container"><div class="path"><a>首页</a> / <a>{book}</a> / <a>目录</a></div><div class="reader-main"><h1>第{number}章 {title}</h1><p class="control"><a>字体+</a><a>字体-</a> <a>护眼</a> <a>关灯</a></p><div id="booktxt" class="read-content">{body}</div><div class="read_btn"><a>上一章</a><a>返回目录</a><a>加入书签</a><a>下一章</a></div><div class="report">章节错误,点此举报(免注册),举报后维护人员会在两分钟内校正章节内容,请耐心等待,并刷新页面。</div></div><div class="hot"><h2>新书推荐</h2>{links(words, 8, "li", 4, 6)}</div></div><footer>顶峰小说 所有内容均来自互联网</footer></body></html>""".encode()


def chapters(random: Random, count: int) -> list[Page]:
    """A chapter on two sites with lines of each."""
    words, pages = Words(random, "zh"), []
    books = [words.title(4, 5)[:6] for _ in range(4)]
    for number in range(count):
        book, title, texts = books[number % 4], words.title(4, 4)[:6], chapter(words)
        place = 12 + number // 4
        one = with_lines(words, texts, _ONE, book, 2)
        two = with_lines(words, texts, _TWO, book, 3)
        pages.append(Page(f"https://www.biquwu.example/{number % 4}/{5000 + place}.html", biquge(words, book, place, title, one), str(number), BIQUGE))  # fmt: skip
        pages.append(Page(f"https://www.dingfeng.example/read/{number % 4}_{place}.html", other(words, book, place, title, two), str(number), OTHER))  # fmt: skip
    return shuffled(random, pages)


def in_order(random: Random, count: int) -> list[Page]:
    """The chapters of a book, short ones among them, with a note of the author: all different."""
    words, pages = Words(random, "zh"), []
    book, note = words.title(4, 5)[:6], "".join(words.sentence() for _ in range(3))
    for place in range(1, count + 1):
        texts = [*chapter(words, 80, 300), f"作者有话说：{note}"]
        title = words.title(4, 4)[:6]
        if place % 2:
            texts = with_lines(words, texts, _ONE, book, 3)
            pages.append(Page(f"https://www.biquwu.example/1/{place}.html", biquge(words, book, place, title, texts), str(place), BIQUGE))  # fmt: skip
        else:
            texts = with_lines(words, texts, _TWO, book, 3)
            pages.append(Page(f"https://www.dingfeng.example/read/1_{place}.html", other(words, book, place, title, texts), str(place), OTHER))  # fmt: skip
    return pages


KINDS = (
    Kind("Short: chapters with lines of two sites", chapters, 36),
    Kind("Short: chapters of one book (all different)", in_order, 36),
)

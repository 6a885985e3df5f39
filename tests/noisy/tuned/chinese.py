"""Chinese portals: counters on the page, editors in charge, reprints with inserts; notices."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from random import Random

from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, paras

PORTAL = {"title": ".main-title::text", "body": "#artibody", "date": ".date-source .date::text", "author": ".show_author::text", "category": ".channel-path a::text", "views": ".read-count b::text", "comments": ".num::text", "article": ".main-content"}  # fmt: skip
OTHER = {"title": "h1::text", "body": ".TRS_Editor", "date": ".info .time::text", "author": ".editor::text", "category": ".path a:nth-child(2)::text", "views": "#hits::text", "article": ".article"}  # fmt: skip


class Report:
    def __init__(self, words: Words) -> None:
        self.title, self.texts = words.title(6, 11), words.paragraphs(300, 1200)
        self.day, self.author, self.editor = words.day(), words.person(), words.person()
        self.keywords, self.source = [words.word(), words.word()], f"{words.word()}日报"
        self.views, self.number = words.random.randint(20, 9000), words.random.randint(10**6, 10**7)


def portal(words: Words, report: Report, channel: str, title_ends: str = "新浪潮网") -> bytes:
    """A large portal: readers and comments are counted, a list of the hottest, an app to install."""
    report.views += words.random.randint(1, 500)
    hot = "".join(
        f'<li><em>{n}</em><a href="/hot/{n}.shtml">{words.title(4, 8)}</a></li>'
        for n in range(1, 9)
    )
    related = "".join(
        f'<li><a href="/rel/{n}.shtml">{words.title(4, 8)}</a></li>' for n in range(4)
    )
    day = report.day
    return f"""<!DOCTYPE html><html><head><meta charset="utf-8"><title>{report.title}|{report.keywords[0]}|{report.keywords[1]}_{channel}_{title_ends}</title>
<meta name="keywords" content="{",".join(report.keywords)}"><meta property="article:author" content="{title_ends}"></head><body>
<div class="top-bar"><a href="/">首页</a><a href="/news">新闻</a><a href="/sports">体育</a><a href="/finance">财经</a><span>登录</span><span>注册</span></div>
<div class="main-content w1240"><div class="channel-path" id="channel-path"><a href="/{channel}/">{channel}</a>&nbsp;&gt;&nbsp;<span>正文</span></div>
<h1 class="main-title">{report.title}</h1><div class="top-bar-inner"><div class="date-source"><span class="date">{day:%Y年%m月%d日 %H:%M}</span> <a class="source">{report.source}</a></div>
<div class="read-count">浏览次数：<b>{report.views}</b></div><div class="page-tools"><span class="tool-icon">评论 <em class="num">{words.random.randint(0, 900)}</em></span> 缩小字体 放大字体 收藏 微博 微信 分享</div></div>
<div class="article-content-left"><div class="article" id="artibody">{paras([f"　　{text}" for text in report.texts])}</div>
<p class="show_author">责任编辑：{report.editor}</p><div class="keywords">文章关键词：{paras(report.keywords, "a")}</div>
<div class="blk-related"><h2>相关新闻</h2><ul>{related}</ul></div><div class="app-open">打开APP阅读全文，更多精彩</div></div>
<div class="article-content-right"><div class="blk"><h3>热点排行</h3><ul>{hot}</ul></div></div></div>
<div class="footer">Copyright © 1996-2024 {title_ends} 版权所有</div></body></html>""".encode()


def county(
    words: Words, report: Report, texts: list[str], source: str, site: str = "清河县人民政府"
) -> bytes:
    """A county's site: where a report comes from, who is in charge, its hits, a notice below it."""
    day = report.day + dt.timedelta(days=1)
    return f"""<html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"><title>{report.title}-{site}</title></head><body>
<div class="banner"><img alt="{site}"></div><ul class="nav"><li>网站首页</li><li>政务公开</li><li>办事服务</li><li>互动交流</li></ul>
<div class="path">您现在的位置：<a href="/">首页</a> &gt; <a href="/xwzx/">新闻资讯</a> &gt; <a href="/xwzx/zw/">要闻</a></div>
<div class="article"><h1>{report.title}</h1><div class="info"><span class="time">{day:%Y-%m-%d %H:%M:%S}</span> <span>来源：{source}</span> <span class="editor">编辑：{words.person()}</span>
<span>点击数：<i id="hits">{words.random.randint(5, 3000)}</i></span> 字体：【大 中 小】</div>
<div class="TRS_Editor">{paras(texts)}</div><div class="close">【打印本页】【关闭窗口】</div></div>
<div class="foot">主办：{site}办公室　备案号：冀ICP备05000000号</div></body></html>""".encode()


def counters(random: Random, count: int) -> Iterator[Page]:
    """The same report in two channels of a portal, or in its view for telephones' addresses."""
    words, pages = Words(random, "zh"), []
    for number in range(count):
        report = Report(words)
        path = f"{report.day:%Y-%m-%d}/doc-{report.number}.shtml"
        second = random.choice(
            ["finance.langchao.example/", "news.langchao.example/c/", "langchao.example/roll/"]
        )
        for host, channel in (
            ("news.langchao.example/", "新闻中心"),
            (second, random.choice(["财经", "滚动"])),
        ):
            html = portal(words, report, channel)
            pages.append(Page(f"https://{host}{path}", html, str(number), PORTAL))
    yield from copies_last(pages)


def reprints(random: Random, count: int) -> list[Page]:
    """A portal's report on a county's site: some with an insert, a lead of the county's, a cut."""
    words, pages = Words(random, "zh"), []
    for number in range(count):
        report = Report(words)
        texts, how = [*report.texts], random.random()
        if how < 0.3:
            texts.insert(len(texts) // 2, f"相关链接：{words.title(6, 10)}")
        elif how < 0.5:
            texts[0] = f"本报讯（记者 {report.author}）{texts[0]}"
        elif how < 0.7:
            texts.append("声明：转载此文是出于传递更多信息之目的，若有来源标注错误，请与本网联系。")
        elif how < 0.8 and len(texts) > 4:
            texts.pop()
        pages.append(Page(f"https://news.langchao.example/{report.day:%Y-%m-%d}/doc-{report.number}.shtml", portal(words, report, "新闻中心"), str(number), PORTAL))  # fmt: skip
        html = county(words, report, texts, "新浪潮网")
        pages.append(
            Page(f"http://www.qinghe.example/xwzx/{report.number}.html", html, str(number), OTHER)
        )
    return shuffled(random, pages)


def notices(random: Random, count: int) -> Iterator[Page]:
    """Calls for tenders in the same words, all different: number, thing, amount and day."""
    words = Words(random, "zh")
    frame = words.paragraphs(260, 320)
    for number in range(count):
        report = Report(words)
        thing = "".join(words.words(3))
        report.title = f"关于{thing}项目的招标公告"
        texts = [
            f"项目编号：QH{2024}-{100 + number}；项目名称：{thing}项目；预算金额：{random.randint(20, 900)}万元。",
            *frame,
            f"投标截止时间：{report.day + dt.timedelta(days=20):%Y年%m月%d日}。",
        ]
        html = county(words, report, texts, "本站")
        yield Page(f"http://www.qinghe.example/zbgg/{report.number}.html", html, str(number), OTHER)


KINDS = (
    Kind("Chinese portal: two channels", counters),
    Kind("Chinese portal: reprints", reprints),
    Kind("Chinese county: tenders (all different)", notices),
)

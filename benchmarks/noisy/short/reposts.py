"""Short Chinese posts: as a WeChat account publishes them, reposted on forums and on portals.

After mp.weixin.qq.com, Discuz! X3.4, and portals such as Sohu's and NetEase's for accounts.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from benchmarks.noisy.short._pieces import counted, links, menu, post
from benchmarks.noisy.site import Kind, Page, shuffled
from benchmarks.noisy.words import Words, paras

WECHAT = {"title": "#activity-name::text", "body": "#js_content", "date": "#publish_time::text", "author": "#js_name::text", "article": "#page-content"}  # fmt: skip
DISCUZ = {"title": "#thread_subject::text", "body": ".t_f", "date": ".authi em::attr(title)", "author": ".authi a::text", "views": ".hm .xi1::text", "category": "#pt a:last-of-type::text", "article": "#postlist"}  # fmt: skip
PORTAL = {"title": ".text-title h1::text", "body": "article.article", "date": "#news-time::text", "author": ".user-info h4 a::text", "views": ".read-num em::text", "article": ".left.main"}  # fmt: skip

TOUTIAO = {"title": "h1::text", "body": ".pgc", "date": "._a4 span::text", "author": "._a4 a::text", "comments": "._l2 span:nth-child(2)::text", "article": "._k1"}  # fmt: skip


class Post(NamedTuple):
    title: str
    texts: list[str]
    account: str
    number: int


def make(words: Words, low: int = 90, high: int = 200) -> Post:
    texts = post(words, low, high)
    return Post(words.title(5, 9), texts, words.word() + words.word(), words.random.randint(10**7, 10**8))  # fmt: skip


def wechat(words: Words, one: Post) -> bytes:
    day = words.day()
    body = "".join(f'<section style="text-indent: 2em"><span style="font-size: 15px">{text}</span></section>' for text in one.texts)  # fmt: skip
    return f"""<!DOCTYPE html><html><head><meta charset="utf-8"><meta property="og:title" content="{one.title}"><title></title></head><body id="activity-detail" class="zh_CN"><div id="js_article" class="rich_media"><div class="rich_media_inner"><div id="page-content" class="rich_media_area_primary"><div class="rich_media_wrp">
<h1 class="rich_media_title" id="activity-name">{one.title}</h1><div id="meta_content" class="rich_media_meta_list"><span class="rich_media_meta"><a id="js_name">{one.account}</a></span><em id="publish_time" class="rich_media_meta">{day:%Y-%m-%d %H:%M}</em><em>发表于{words.town() if words.language == "en" else words.word()}</em></div>
<div class="rich_media_content" id="js_content">{body}</div><div class="rich_media_tool"><span>预览时标签不可点</span></div></div></div><div class="rich_media_area_extra"><div>微信扫一扫关注该公众号</div><div>继续滑动看下一个</div><div>轻触阅读原文</div><div>{one.account}</div><div>向上滑动看下一个</div></div></div></div><div class="weui-dialog">知道了 微信扫一扫使用小程序 取消 允许 ： ， 。 视频 小程序 赞 ，轻点两下取消赞 在看 ，轻点两下取消在看 分享 留言 收藏 听过</div></body></html>""".encode()


def discuz(words: Words, one: Post, forum: str) -> bytes:
    random, day = words.random, words.day()
    views = counted(random, 9000)
    user = words.person()
    return f"""<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"><html><head><meta charset="utf-8"><title>{one.title} - {forum} - 柳河社区 - Powered by Discuz!</title><meta name="generator" content="Discuz! X3.4"></head><body id="nv_forum" class="pg_viewthread">
<div id="toptb"><a>设为首页</a><a>收藏本站</a></div><div id="hd"><h2><a href="./">柳河社区</a></h2><form>用户名 密码 自动登录 找回密码 登录 立即注册</form><div id="nv">{menu("门户", "论坛", "群组", "家园", "排行榜", "帮助")}</div></div>
<div id="wp" class="wp"><div id="pt" class="bm cl"><div class="z"><a href="./" class="nvhm">柳河社区</a><em>»</em><a href="forum.php">论坛</a> <em>›</em> <a>{forum}</a></div></div><div id="ct"><div id="postlist" class="pl bm"><table><tr><td class="pls"><div class="hm"><span class="xg1">查看:</span> <span class="xi1">{views}</span><span class="pipe">|</span><span class="xg1">回复:</span> <span class="xi1">{counted(random, 40)}</span></div></td><td class="plc"><h1 class="ts"><a>[转帖]</a> <span id="thread_subject">{one.title}</span></h1> <span class="xg1"><a>[复制链接]</a></span></td></tr></table>
<div id="post_{one.number}"><table class="plhin"><tr><td class="pls"><div class="pi"><div class="authi"><a class="xw1">{user}</a></div></div><div class="tns"><table><tr><th><p><a>{counted(random)}</a></p>主题</th><th><p><a>{counted(random)}</a></p>帖子</th><td><p><a>{counted(random, 9000)}</a></p>积分</td></tr></table></div><p><em>金牌会员</em></p></td>
<td class="plc"><div class="pi"><strong><a>楼主</a></strong><div class="pti"><div class="authi"><em id="authorposton" title="{day:%Y-%m-%d %H:%M:%S}">发表于 {day:%Y-%m-%d %H:%M:%S}</em> <span class="pipe">|</span><a>只看该作者</a> <a>倒序浏览</a> <a>阅读模式</a></div></div></div><div class="pct"><div class="t_fsz"><table><tr><td class="t_f" id="postmessage_{one.number}">{"<br />".join(one.texts)}</td></tr></table></div><div id="p_btn"><a>收藏 {counted(random, 9)}</a> <a>分享</a> <a>淘帖</a> <a>顶 {counted(random, 9)}</a> <a>踩</a></div></div></td></tr></table></div></div>
<div class="bm"><div>您需要登录后才可以回帖 登录 | 立即注册</div><div>本版积分规则</div></div></div><div class="sd"><h2>推荐阅读</h2><ul>{links(words, 20)}</ul><h2>本周热门</h2><ul>{links(words, 15)}</ul></div></div><div id="ft">Archiver|手机版|小黑屋|柳河社区 GMT+8, {words.day():%Y-%m-%d %H:%M} , Processed in 0.0{random.randint(10, 99)} second(s), {random.randint(9, 40)} queries . Powered by Discuz! X3.4 © 2001-2023 Comsenz Inc.</div></body></html>""".encode()


def portal(words: Words, one: Post, lead: str = "") -> bytes:
    random, day = words.random, words.day()
    hot = links(words, 20)
    channels = "".join(
        f'<div class="channel"><h6>{words.word()}</h6><ul>{links(words, 8)}</ul></div>'
        for _ in range(4)
    )
    related = "".join(f'<div class="feed-item"><a href="/a/{n}">{words.title(7, 11)}</a><p>{words.sentence()}</p><span>{words.word()} · {random.randint(1, 23)}小时前</span> <span>{counted(random)}评论</span></div>' for n in range(5))  # fmt: skip
    return f"""<!DOCTYPE html><html><head><meta charset="utf-8"><title>{one.title}_{one.account}</title><meta property="og:title" content="{one.title}_{one.account}"></head><body><div id="main-header"><a href="/">大河网</a>{menu("新闻", "体育", "汽车", "房产", "旅游", "教育", "时尚", "科技", "财经", "娱乐")}<a>登录大河</a></div>
<div class="area"><div class="left main"><div class="text"><div class="text-title"><h1>{one.title}</h1><div class="article-info"><span class="time" id="news-time">{day:%Y-%m-%d %H:%M}</span> <span>来源: <a>{one.account}</a></span></div></div><article class="article" id="mp-editor">{lead}{paras(one.texts)}<p>返回大河，查看更多</p></article><div class="statement">平台声明：该文观点仅代表作者本人，大河号系信息发布平台，大河仅提供信息存储空间服务。</div>
<div class="read-wrap"><span class="read-num">阅读 (<em>{counted(random, 9000)}</em>)</span></div></div><div class="bottom-relate-wrap"><h4>推荐阅读</h4>{related}</div><div id="comment"><span>我来说两句</span> <em>{counted(random, 90)}</em>人参与，<em>{counted(random, 20)}</em>条评论 <a>登录并发表</a></div></div>
<div class="right"><div class="user-info"><h4><a>{one.account}</a></h4><span><em>{counted(random)}</em>文章</span> <span><em>{counted(random, 400)}万</em>总阅读</span></div><h5>24小时热文</h5><ol>{hot}</ol></div></div>{channels}<div id="foot">大河网版权所有 Copyright © 2024 大河不良信息举报电话：400{random.randint(10**6, 10**7)}</div></body></html>""".encode()


def reposts(random: Random, count: int) -> list[Page]:
    """A post of an account, on a portal and on a forum."""
    words, pages = Words(random, "zh"), []
    forums = ["城市生活", "百姓话题", "房产装修"]
    for number in range(count):
        one = make(words)
        three = [
            Page(f"https://weixin.example/s/{one.number}", wechat(words, one), str(number), WECHAT),
            Page(f"https://bbs.liuhe.example/thread-{one.number // 50}-1-1.html", discuz(words, one, random.choice(forums)), str(number), DISCUZ),
            Page(f"https://www.dahe.example/a/{one.number}_1", portal(words, one), str(number), PORTAL),
            Page(f"https://www.kuaixun.example/w/{one.number}/", toutiao(words, one), str(number), TOUTIAO),
        ]  # fmt: skip
        pages += random.sample(three, 2)
    return shuffled(random, pages)


def toutiao(words: Words, one: Post) -> bytes:
    """A portal without names that tell: classes of a build, counters as text, a stream of posts."""
    random, day = words.random, words.day()
    stream = "".join(f'<div class="_1x{n % 2}"><div class="_b7"><a href="/t/{n}"><span>{words.title(6, 10)}</span></a></div><div class="_c3"><span>{words.word()}{words.word()}</span> <span>{counted(random)}评论</span> <span>{random.randint(1, 23)}小时前</span></div></div>' for n in range(12))  # fmt: skip
    said = "".join(f'<div class="_d1"><span>{words.person()}</span> <span>{random.randint(1, 23)}小时前</span><p>{words.sentence(6, 12)}</p><span>{counted(random)}赞</span> <span>回复</span></div>' for _ in range(random.randint(0, 4)))  # fmt: skip
    return f"""<!DOCTYPE html><html><head><meta charset="utf-8"><title>{one.title} - 今日快讯</title></head><body><div class="_h0"><a>下载APP</a><span>添加到桌面</span><span>关于快讯</span><span>反馈</span><span>侵权投诉</span><a>登录</a></div><div class="_m9"><div class="_l2"><span>{counted(random)}</span> <span>{counted(random, 99)}</span> <span>收藏</span> <span>分享</span></div><div class="_k1"><h1>{one.title}</h1><div class="_a4"><span>{day:%Y-%m-%d %H:%M}</span><span>·</span><a>{one.account}</a></div><div class="_t8"><div class="pgc">{paras(one.texts)}</div></div><div class="_e2"><span>举报</span><span>评论 {counted(random, 90)}</span></div>{said}</div>
<div class="_r5"><a>{one.account}</a><span>{words.sentence(6, 10)}</span><span>关注</span><div>相关推荐</div>{stream}<div>热门视频</div>{links(words, 6, "div")}</div></div><div class="_f0"><span>© 2024 kuaixun.example 中国互联网举报中心</span> <span>京ICP证{random.randint(100000, 999999)}号</span> <span>网络文化经营许可证</span> <span>跟帖评论自律管理承诺书</span> <span>违法和不良信息举报电话：400-140-2108</span></div></body></html>""".encode()


def teaser(random: Random, count: int) -> list[Page]:
    """Posts under the same opening and sign-off of an account, on two sites: all different."""
    words = Words(random, "zh")
    opening, ending = post(words, 60, 70), post(words, 50, 60)
    pages = []
    for number in range(count):
        own = make(words, 50, 120)
        one = own._replace(texts=[*opening, *own.texts, *ending], account="柳河生活")
        if number % 2:
            pages.append(Page(f"https://www.dahe.example/a/{one.number}_1", portal(words, one), str(number), PORTAL))  # fmt: skip
        else:
            pages.append(Page(f"https://bbs.liuhe.example/thread-{one.number // 50}-1-1.html", discuz(words, one, "城市生活"), str(number), DISCUZ))  # fmt: skip
    return pages


KINDS = (
    Kind("Short: posts on WeChat, Discuz! and a portal", reposts, 36),
    Kind("Short: posts under one opening (all different)", teaser, 36),
)

"""Questions: with all answers where they were asked, with the best one on a site that copies them.

After Stack Exchange in 2024 and the sites that republish its dumps; Zhihu, where each answer has a
page of its own.
"""

from __future__ import annotations

import datetime as dt
from random import Random

from benchmarks.noisy.short._pieces import counted, links, menu, post
from benchmarks.noisy.site import Kind, Page, shuffled
from benchmarks.noisy.words import Words, paras, slug

ASKED = {"title": "#question-header a::text", "body": ".js-post-body", "date": "[itemprop=dateCreated]::attr(datetime)", "views": "[title^=Viewed]::attr(title)", "comments": "[itemprop=answerCount]::text"}  # fmt: skip
COPIED = {"title": "h1.title::text", "body": ".question-text, .answer-text", "date": ".asked::text"}
ZHIHU = {"title": "h1.QuestionHeader-title::text", "body": ".RichText.ztext", "author": ".AuthorInfo-name a::text", "date": ".ContentItem-time a::text", "views": ".NumberBoard-itemValue::text"}  # fmt: skip


def _post(words: Words, low: int, high: int) -> str:
    texts = post(words, low, high)
    name = words.made()
    code = f"<pre><code>{name} = {words.made()}({words.random.randint(2, 99)})\n{words.made()}.{words.made()}({name})</code></pre>"
    return paras([*texts[:-1]]) + (code if words.chance(0.7) else "") + paras(texts[-1:])


def _post_layout(words: Words, html: str, kind: str, name: str, day: dt.datetime) -> str:  # fmt: skip
    random = words.random
    remarks = "".join(f'<li class="comment"><div class="comment-score"><span>{counted(random, 9)}</span></div><div class="comment-text"><span class="comment-copy">{words.sentence()}</span> – <a class="comment-user">{words.person()}</a> <span class="comment-date">Commented {day + dt.timedelta(days=9):%b %d, %Y} at {day:%H:%M}</span></div></li>' for _ in range(random.randint(0, 3)))  # fmt: skip
    return f"""<div class="{kind} js-{kind}"><div class="post-layout"><div class="votecell"><button>Vote up</button><div class="js-vote-count" itemprop="upvoteCount">{random.randint(0, 90)}</div><button>Vote down</button><button>Save this {kind}.</button><button>Show activity on this post.</button></div><div class="postcell"><div class="s-prose js-post-body" itemprop="text">{html}</div>
<div class="post-menu"><a>Share</a> <a>Improve this {kind}</a> <button>Follow</button></div><div class="user-info"><div class="user-action-time">{"asked" if kind == "question" else "answered"} <span title="{day.isoformat()}">{day:%b %d, %Y} at {day:%H:%M}</span></div><div class="user-details"><a>{name}</a><span class="reputation-score">{random.randint(1, 90)},{random.randint(100, 999)}</span> <span>{random.randint(1, 40)} gold badges</span><span>{random.randint(1, 90)} silver badges</span><span>{random.randint(1, 90)} bronze badges</span></div></div></div><ul class="comments-list">{remarks}</ul><a>Add a comment</a></div></div>"""


def copied(random: Random, count: int) -> list[Page]:
    """All answers on one site, question and best answer on the other."""
    words, pages = Words(random), []
    for number in range(count):
        title, day = words.title(6, 11), words.day()
        question, best = _post(words, 300, 900), _post(words, 300, 1100)
        others = [_post(words, 60, 220) for _ in range(random.choice([0, 0, 1, 1, 2]))]
        answers = "".join(_post_layout(words, html, "answer", words.person(), day + dt.timedelta(days=n)) for n, html in enumerate([best, *others]))  # fmt: skip
        ids = random.randint(10**6, 10**7)
        original = f"""<!DOCTYPE html><html itemscope itemtype="https://schema.org/QAPage" lang="en"><head><title>{words.word()} - {title} - Bench Exchange</title><meta property="og:title" content="{title}"></head><body class="question-page"><header class="s-topbar"><a href="/">Bench Exchange</a><a>Log in</a><a>Sign up</a></header><div id="left-sidebar">{menu("Home", "Questions", "Tags", "Users", "Unanswered", "Teams")}<p>Ask questions, find answers and collaborate at work with Bench Exchange for Teams.</p></div><div id="content"><div id="question-header"><h1><a class="question-hyperlink" href="/questions/{ids}">{title}</a></h1><a>Ask Question</a></div><div>Asked <time itemprop="dateCreated" datetime="{day.isoformat()}">{random.randint(1, 9)} years, {random.randint(1, 11)} months ago</time> Modified {random.randint(1, 11)} months ago <div title="Viewed {counted(random, 9000)} times">Viewed {random.randint(1, 90)}k times</div></div>
<div id="mainbar">{_post_layout(words, question, "question", words.person(), day)}<div id="answers"><h2><span itemprop="answerCount">{1 + len(others)}</span> Answers</h2><div>Sorted by: <a>Reset to default</a> <select><option>Highest score (default)</option></select></div>{answers}<h2>Your Answer</h2><form>Thanks for contributing an answer! Please be sure to answer the question. Provide details and share your research! Sign up or log in. Post as a guest. Required, but never shown. By clicking “Post Your Answer”, you agree to our terms of service.</form><h2>Not the answer you're looking for? Browse other questions tagged <a>{words.word()}</a> or ask your own question.</h2></div></div>
<div id="sidebar"><h4>Linked</h4>{links(words, 3, "div")}<h4>Related</h4>{links(words, 8, "div")}<h4>Hot Network Questions</h4>{links(words, 8)}</div></div><footer>Site design / logo © 2024 Bench Exchange Inc; user contributions licensed under CC BY-SA. rev {words.day():%Y.%m.%d}</footer></body></html>"""
        copy = f"""<!DOCTYPE html><html lang="en"><head><title>{title} - AnswerDump</title></head><body><div class="topnav"><a href="/">AnswerDump</a>{menu("Python", "JavaScript", "Linux", "SQL")}</div><div class="container"><div class="content"><h1 class="title">{title}</h1><p class="asked">{day + dt.timedelta(days=500):%d.%m.%Y}</p><h2>Question</h2><div class="question-text">{question}</div><div class="ad">Advertisement</div><h2>Best Answer</h2><div class="answer-text">{best}</div><p>Source: Bench Exchange, licensed under CC BY-SA</p></div><div class="rel"><h3>Related Solutions</h3>{"".join(f'<div class="rel-item"><a href="/q/{n}">{words.title()}</a><p>{words.paragraph(20)}</p></div>' for n in range(3))}</div></div><div class="foot">About Privacy DMCA Contact</div></body></html>"""
        pages.append(Page(f"https://bench.exchange.example/questions/{ids}/{slug(title)}", original.encode(), str(number), ASKED))  # fmt: skip
        pages.append(Page(f"https://answerdump.example/{slug(title)}-{number}", copy.encode(), str(number), COPIED))  # fmt: skip
    return shuffled(random, pages)


def of_one_question(random: Random, count: int) -> list[Page]:
    """Answers to a few questions, each on its own page below the question: all different."""
    words, pages = Words(random, "zh"), []
    asked = [(words.title(8, 12), "".join(post(words, 80, 200))) for _ in range(5)]
    for number in range(count):
        title, question = asked[number % len(asked)]
        day, texts = words.day(), post(words, 60, 200)
        html = f"""<!DOCTYPE html><html lang="zh"><head><meta charset="utf-8"><title>{title} - 知否</title></head><body><header class="AppHeader"><a>知否</a>{menu("首页", "知学堂", "会员", "发现", "等你来答")}<button>提问</button></header><main class="App-main"><div class="QuestionHeader"><div class="QuestionHeader-topics"><a>{words.word()}</a></div><h1 class="QuestionHeader-title">{title}</h1><div class="QuestionRichText"><span>{question}</span><button>显示全部</button></div><div class="NumberBoard"><div>关注者 <strong class="NumberBoard-itemValue">{counted(random, 9000)}</strong></div><div>被浏览 <strong>{counted(random, 90000)}</strong></div></div><button>关注问题</button><button>写回答</button><button>好问题 {counted(random, 90)}</button></div>
<div class="Question-mainColumn"><a>查看全部 {counted(random, 400)} 个回答</a><div class="AnswerCard"><div class="AuthorInfo"><span class="AuthorInfo-name"><a>{words.person()}</a></span></div><div class="RichContent"><div class="RichText ztext">{paras(texts)}</div><div class="ContentItem-time"><a>发布于 {day:%Y-%m-%d %H:%M}</a></div><div><button>赞同 {counted(random, 9000)}</button><button>{counted(random, 90)} 条评论</button><button>分享</button><button>收藏</button><button>喜欢</button></div></div></div></div><div class="Question-sideColumn"><h2>关于作者</h2><div>回答 {counted(random)} 文章 {counted(random)}</div><h2>相关问题</h2>{links(words, 5, "div")}<h2>广告</h2></div></main></body></html>"""
        site = "www" if number % 2 else "zhuanlan"
        pages.append(Page(f"https://{site}.zhifou{number % 2}.example/question/{number % 5}/answer/{9000 + number}", html.encode(), str(number), ZHIHU))  # fmt: skip
    return pages


KINDS = (
    Kind("Short: questions, and the best answer elsewhere", copied, 36),
    Kind("Short: answers to one question (all different)", of_one_question, 36),
)

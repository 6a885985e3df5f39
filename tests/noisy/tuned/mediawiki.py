"""MediaWiki: articles in the mobile view, and in older revisions."""

from __future__ import annotations

import datetime as dt
from random import Random

from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, british

DESKTOP = {"title": "#firstHeading .mw-page-title-main::text", "body": "#mw-content-text .mw-parser-output", "updated": "#footer-info-lastmod::text", "article": "#content"}  # fmt: skip
MOBILE = {"title": "h1.section-heading span::text", "body": "#mw-content-text", "updated": ".last-modified-bar a::text", "article": "#content"}  # fmt: skip
WIKI = "wiki.rivers.example"


class Article:
    """An article: sections with headings, sources and links in its text."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.title = words.title(1, 3)
        self.sections = [("", words.paragraphs(60, 140))]
        for _ in range(words.random.randint(2, 5)):
            self.sections.append((words.title(1, 3), words.paragraphs(40, 130)))
        self.sources = [f"{words.person()}, <i>{words.title()}</i>, {words.town()} Press, {words.random.randint(1950, 2020)}." for _ in range(4)]  # fmt: skip
        self.edited = words.day(2022, 2024)
        self.revision = words.random.randint(10**6, 9 * 10**6)
        self.links = {word: f"/wiki/{word.capitalize()}" for word in words._subject[:12]}

    def edit(self) -> None:
        """Change a few words in one place, as most edits of a wiki do."""
        place = self.words.random.randrange(len(self.sections))
        heading, texts = self.sections[place]
        parts = texts[-1].split()
        at = self.words.random.randrange(max(1, len(parts) - 3))
        parts[at : at + 2] = self.words.words(3)
        self.sections[place] = (heading, [*texts[:-1], " ".join(parts)])
        self.edited += dt.timedelta(days=self.words.random.randint(3, 60), minutes=77)
        self.revision += self.words.random.randint(1000, 99999)

    def linked(self, text: str, base: str = "") -> str:
        """A paragraph with its links and notes."""
        note = self.words.random.randint(1, 4) if len(text) % 3 == 0 else 0
        words = [
            f'<a href="{base}{self.links[word]}" title="{word}">{word}</a>'
            if word in self.links
            else word
            for word in text.split()
        ]
        notes = (
            f'<sup class="reference"><a href="#cite_note-{note}">[{len(text) % 4 + 1}]</a></sup>'
            if note
            else ""
        )
        return f"<p>{' '.join(words)}{notes}</p>"


def desktop(article: Article, *, old: bool = False) -> bytes:
    """The usual skin; an old revision says so above its text."""
    parts = []
    for heading, texts in article.sections:
        if heading:
            parts.append(
                f'<div class="mw-heading mw-heading2"><h2 id="{heading}">{heading}</h2><span class="mw-editsection">'
                f'<span>[</span><a href="/w/index.php?title={article.title}&action=edit">edit</a><span>]</span></span></div>'
            )
        parts += map(article.linked, texts)
    toc = "".join(
        f'<li class="vector-toc-list-item"><a href="#{heading}"><span>{number}</span> {heading}</a></li>'
        for number, (heading, _) in enumerate(article.sections)
        if heading
    )
    warning = (
        f'<div id="mw-revision-info" class="mw-message-box-warning">This is an old revision of this page, as edited by '
        f"<a>{article.words.person()}</a> at {article.edited:%H:%M}, {british(article.edited)}. It may differ "
        'significantly from the current revision.</div>' if old else ""
    )  # fmt: skip
    title = f"Old revision of {article.title}" if old else article.title
    return f"""<!DOCTYPE html><html class="client-nojs" lang="en" dir="ltr"><head><meta charset="UTF-8">
<title>{title} - Rivers Wiki</title><meta name="generator" content="MediaWiki 1.41.0">
<link rel="canonical" href="https://{WIKI}/wiki/{article.title}"></head>
<body class="skin-vector mediawiki ns-0 ns-subject"><div id="mw-page-base"></div>
<div id="content" class="mw-body" role="main"><a id="top"></a><div id="siteNotice"></div>
<h1 id="firstHeading" class="firstHeading"><span class="mw-page-title-main">{article.title}</span></h1>
<div id="bodyContent"><div id="siteSub">From Rivers Wiki</div><div id="contentSub">{warning}</div>
<div id="mw-content-text"><div class="mw-content-ltr mw-parser-output" lang="en">
<div id="toc" class="toc" role="navigation"><h2>Contents</h2><ul>{toc}</ul></div>{"".join(parts)}
<h2><span class="mw-headline">References</span></h2><ol class="references">
{"".join(f"<li><cite>{source}</cite></li>" for source in article.sources)}</ol></div>
<div class="printfooter">Retrieved from "<a>https://{WIKI}/w/index.php?title={article.title}&oldid={article.revision}</a>"</div></div>
<div id="catlinks"><a href="/wiki/Special:Categories">Categories</a>: <ul><li><a>Rivers</a></li></ul></div></div></div>
<div id="mw-navigation"><h2>Navigation menu</h2><div id="p-personal"><ul><li>Not logged in</li><li>Talk</li></ul></div>
<div id="p-views"><ul><li>Read</li><li>Edit</li><li>View history</li></ul></div><div id="p-tb"><h3>Tools</h3>
<ul><li>What links here</li><li>Related changes</li><li>Permanent link</li></ul></div></div>
<footer id="footer"><ul id="footer-info"><li id="footer-info-lastmod"> This page was last edited on
{british(article.edited)}, at {article.edited:%H:%M}.</li><li>Content is available under CC BY-SA.</li></ul></footer>
</body></html>""".encode()


def mobile(article: Article) -> bytes:
    """Minerva: collapsed sections, no table of contents, a bar for the last change."""
    blocks = []
    for number, (heading, texts) in enumerate(article.sections):
        head = (
            f'<div class="section-heading collapsible-heading"><div class="indicator"></div><h2>{heading}</h2>'
            '<a class="mw-ui-icon edit-page">Edit</a></div>' if heading else ""
        )  # fmt: skip
        inside = "".join(article.linked(text, "https://m.rivers.example") for text in texts)
        blocks.append(
            f'{head}<section class="mf-section-{number} collapsible-block">{inside}</section>'
        )
    sources = "".join(f"<li>{source}</li>" for source in article.sources)
    days = (dt.datetime(2025, 1, 1, tzinfo=dt.UTC) - article.edited).days
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="UTF-8"><title>{article.title} - Rivers Wiki</title>
<link rel="canonical" href="https://{WIKI}/wiki/{article.title}"></head><body class="skin-minerva">
<div id="mw-mf-viewport"><header class="header-container"><form class="search-box"><input placeholder="Search Rivers Wiki"></form></header>
<div id="content" class="mw-body"><div class="pre-content heading-holder"><h1 class="section-heading"><span>{article.title}</span></h1>
<ul id="page-actions"><li>Language</li><li>Watch</li><li>Edit</li></ul></div><div id="bodyContent"><div id="mw-content-text">
{"".join(blocks)}<h2>References</h2><section><ol class="references">{sources}</ol></section></div></div>
<div class="post-content"><a class="last-modified-bar"><a>Last edited {days} days ago by {article.words.person()}</a></a></div></div>
<footer class="minerva-footer"><h2>Rivers Wiki</h2><ul><li>Privacy policy</li><li>Desktop</li></ul></footer></div></body></html>""".encode()


def mobile_views(random: Random, count: int) -> list[Page]:
    words, pages = Words(random), []
    for number in range(count):
        article = Article(words)
        name = article.title.replace(" ", "_")
        pages.append(Page(f"https://{WIKI}/wiki/{name}", desktop(article), str(number), DESKTOP))
        host = f"{('m', 'mobil')[number % 2]}.{WIKI}"
        pages.append(Page(f"https://{host}/wiki/{name}", mobile(article), str(number), MOBILE))
    return shuffled(random, pages)


def old_revisions(random: Random, count: int) -> list[Page]:
    """The article, and a revision some small edits before it."""
    words, pages = Words(random), []
    for number in range(count):
        article = Article(words)
        name = article.title.replace(" ", "_")
        old = f"https://{WIKI}/w/index.php?title={name}&oldid={article.revision}"
        before = Page(old, desktop(article, old=True), str(number), DESKTOP)
        article.edit()
        pages += [
            Page(f"https://{WIKI}/wiki/{name}", desktop(article), str(number), DESKTOP),
            before,
        ]
    return copies_last(pages)


KINDS = (
    Kind("MediaWiki: mobile views", mobile_views),
    Kind("MediaWiki: old revisions", old_revisions),
)

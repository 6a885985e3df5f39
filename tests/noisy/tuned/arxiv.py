"""A preprint server like arXiv: abstracts, a mirror of it, and lists by day."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from random import Random

from benchmarks.noisy.site import Kind, Page, copies_last
from benchmarks.noisy.words import Words

ABSTRACT = {"title": "h1.title::text", "body": "blockquote.abstract", "date": "meta[name=citation_date]::attr(content)", "updated": ".dateline::text", "category": ".primary-subject::text", "author": ".authors a::text", "article": "#abs"}  # fmt: skip
SUBJECTS = {"math.CO": "Combinatorics", "cs.IR": "Information Retrieval", "physics.ao-ph": "Atmospheric Physics"}  # fmt: skip


class Paper:
    def __init__(self, words: Words, number: int) -> None:
        self.day = dt.datetime(2024, 3, 1, 17, 40, tzinfo=dt.UTC) + dt.timedelta(days=number // 6)
        self.id = f"{self.day:%y%m}.{10000 + 37 * number:05d}"
        self.title = words.title(6, 12)
        self.abstract = " ".join(words.paragraphs(110, 240))
        self.authors = [words.person() for _ in range(words.random.randint(1, 6))]
        self.subject = words.random.choice([*SUBJECTS])
        self.pages = words.random.randint(6, 60)


def abstract_page(paper: Paper, *, host: str = "preprints.example", version: int = 0) -> bytes:
    """An abstract; a version in the address is the paper as it was then."""
    shown = f"{paper.id}v{version}" if version else paper.id
    authors = ", ".join(f'<a href="/a/{name[-5:]}">{name}</a>' for name in paper.authors)
    history = f"<strong>[v1]</strong> {paper.day:%a, %d %b %Y %H:%M:%S} UTC ({paper.pages * 31} KB)"
    meta = "".join(f'<meta name="citation_author" content="{name}">' for name in paper.authors)
    mirror = (
        ""
        if host == "preprints.example"
        else '<div class="mirror-note">You are reading a mirror of preprints.example.</div>'
    )
    return f"""<!DOCTYPE html><html lang="en"><head><title>[{shown}] {paper.title}</title><link rel="canonical" href="http://preprints.example/abs/{paper.id}"/>
<meta name="citation_title" content="{paper.title}">{meta}<meta name="citation_date" content="{paper.day:%Y/%m/%d}"></head>
<body class="with-cu-identity"><header>{mirror}<div id="header"><a href="/">preprints</a> &gt; {paper.subject} &gt; arXiv:{shown}</div>
<form class="search"><input placeholder="Search..."><select><option>All fields</option><option>Title</option><option>Author</option></select></form></header>
<main><div id="content"><div id="abs-outer"><div class="leftcolumn"><div class="subheader"><h1>{SUBJECTS[paper.subject]}</h1></div>
<div id="content-inner"><div id="abs"><div class="dateline">[Submitted on {paper.day.day} {paper.day:%b %Y}{" (this version)" if version else ""}]</div>
<h1 class="title mathjax"><span class="descriptor">Title:</span>{paper.title}</h1><div class="authors"><span class="descriptor">Authors:</span>{authors}</div>
<a class="mobile-submission-download" href="/pdf/{shown}">View PDF</a><blockquote class="abstract mathjax"><span class="descriptor">Abstract:</span>{paper.abstract}</blockquote>
<div class="metatable"><table><tr><td class="label">Comments:</td><td>{paper.pages} pages</td></tr><tr><td class="label">Subjects:</td><td><span class="primary-subject">{SUBJECTS[paper.subject]} ({paper.subject})</span></td></tr>
<tr><td class="label">Cite as:</td><td><a href="/abs/{shown}">arXiv:{shown}</a></td></tr></table></div></div></div>
<div class="submission-history"><h2>Submission history</h2> From: {paper.authors[0]} [<a>view email</a>]<br/>{history}</div></div>
<div class="extra-services"><div class="full-text"><h2>Access Paper:</h2><ul><li>View PDF</li><li>TeX Source</li></ul></div><div class="browse"><h3>Current browse context:</h3>
<div class="current">{paper.subject}</div><div class="prevnext">&lt; prev | next &gt;</div></div><h3>References &amp; Citations</h3><ul><li>Google Scholar</li><li>Semantic Scholar</li></ul>
<h3>Bookmark</h3></div></div></div></main><footer><ul><li>About</li><li>Help</li></ul></footer></body></html>""".encode()


def abstracts(random: Random, count: int) -> Iterator[Page]:
    """The paper, and its first version, the same in another subject's context or on a mirror."""
    words, pages = Words(random), []
    for number in range(count):
        paper = Paper(words, number)
        pages.append(Page(f"https://preprints.example/abs/{paper.id}", abstract_page(paper), str(number), ABSTRACT))  # fmt: skip
        url, html = random.choice(
            [
                (f"https://preprints.example/abs/{paper.id}v1", abstract_page(paper, version=1)),
                (f"https://preprints.example/abs/{paper.id}?context=math", abstract_page(paper)),
                (
                    f"http://cn.preprints-mirror.example/abs/{paper.id}",
                    abstract_page(paper, host="mirror"),
                ),
            ]
        )
        pages.append(Page(url, html, str(number), ABSTRACT))
    yield from copies_last(pages)


LIST = {"title": "#dlpage h1::text", "body": "#articles", "date": "#dlpage h3::text", "article": "#dlpage"}  # fmt: skip


def day_lists(random: Random, count: int) -> Iterator[Page]:
    """The new papers of a day in a subject, all different lists; some papers are cross-listed."""
    words = Words(random)
    papers = [Paper(words, number) for number in range(4 * count)]
    for number in range(count):
        day = dt.datetime(2024, 3, 1, tzinfo=dt.UTC) + dt.timedelta(days=number)
        chosen = papers[4 * number : 4 * number + 9] or papers[-5:]
        entries = "".join(
            f"""<dt><a name="item{place}">[{place}]</a> <a href="/abs/{paper.id}">arXiv:{paper.id}</a>{" (cross-list)" * (place > 6)} [<a>pdf</a>, <a>other</a>]</dt>
<dd><div class="meta"><div class="list-title"><span class="descriptor">Title:</span> {paper.title}</div><div class="list-authors">{", ".join(paper.authors)}</div>
<div class="list-subjects"><span class="descriptor">Subjects:</span> {SUBJECTS[paper.subject]} ({paper.subject})</div></div></dd>"""
            for place, paper in enumerate(chosen, 1)
        )
        html = f"""<!DOCTYPE html><html lang="en"><head><title>Combinatorics</title></head><body><header><div id="header"><a href="/">preprints</a> &gt; math.CO</div></header>
<main><div id="dlpage"><h1>Combinatorics</h1><ul><li><a href="#item0">New submissions</a></li><li><a href="#item7">Cross-lists</a></li></ul>
<p>See recent articles</p><h3>Showing new listings for {day:%A, %d %B %Y}</h3><div class="paging">Total of {len(chosen)} entries</div><div>Showing up to 2000 entries per page: fewer | more | all</div>
<dl id="articles">{entries}</dl></div></main><footer><ul><li>About</li><li>Help</li></ul></footer></body></html>"""
        yield Page(
            f"https://preprints.example/list/math.CO/{day:%Y-%m-%d}",
            html.encode(),
            str(number),
            LIST,
        )


KINDS = (
    Kind("arXiv: abstracts, versions, mirror", abstracts),
    Kind("arXiv: lists by day (all different)", day_lists),
)

"""Confluence, GitLab, DSpace, Jira, courts and patents: records of work, and other views of them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from benchmarks.noisy.fresh.posts import links
from benchmarks.noisy.site import Kind, Page, copies_last, shuffled
from benchmarks.noisy.words import Words, british, paras, slug

WIKI = {"title": "#title-text a::text", "body": "#main-content", "author": ".author a::text", "updated": ".last-modified::text", "category": "#breadcrumbs li:last-child a::text", "views": ".like-summary::text", "article": "#content"}  # fmt: skip
GIT = {"title": "h1.home-panel-title::text", "body": ".file-content", "views": ".star-count::text", "article": "main"}  # fmt: skip
BLOB = {"title": ".file-title-name::text", "body": ".file-content", "article": "main"}
DSPACE = {"title": "h2.item-page-field::text", "body": ".simple-item-view-description", "date": ".simple-item-view-date span::text", "views": ".visits::text", "category": ".breadcrumb-item:nth-child(2) a::text", "author": ".author::text", "article": "main"}  # fmt: skip
RECORD = {"title": "h2.item-page-field::text", "body": "table tr:nth-child(3) td:nth-child(2)", "article": "main"}  # fmt: skip
JIRA = {"title": "#summary-val::text", "body": "#description-val", "date": "#created-val time::attr(datetime)", "number": "#key-val::text", "comments": "#watcher-data::text", "updated": "#updated-val time::attr(datetime)", "article": "#issue-content"}  # fmt: skip
COURT = {"title": "h1::text", "body": ".decision-body", "date": ".decision-date::text", "number": ".docket::text", "article": "main"}  # fmt: skip
LAWS = {"title": ".solexHlZone::text", "body": "#originalDocument", "date": "#meta-date::text", "views": ".cited::text", "article": "#wrap"}  # fmt: skip
PATENT = {"title": "#title::text", "body": "section.description", "date": ".pub-date::text", "article": "article"}  # fmt: skip
OFFICE = {"title": "h3.ti::text", "body": "#desc", "date": "td.pd::text", "article": "body"}


def confluence(random: Random, count: int) -> list[Page]:
    """A page by its name and by its number; likes are counted, changed lately by somebody."""
    words, pages = Words(random), []
    for number in range(count):
        title, texts, who = words.title(3, 6), words.paragraphs(120, 500), words.person()
        day, likes = words.day(), random.randint(0, 9)
        heads = [words.title(2, 4) for _ in texts]
        body = "".join(f"<h2>{head}</h2><p>{text}</p>" for head, text in zip(heads, texts, strict=True))  # fmt: skip
        key = 65536 * random.randint(10, 900) + number
        for path in (f"/display/OPS/{title.replace(' ', '+')}", random.choice([f"/pages/viewpage.action?pageId={key}", f"/display/OPS/{title.replace(' ', '+')}?focusedCommentId={key + 9}"])):  # fmt: skip
            likes += random.randint(0, 2)
            html = f"""<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title} - Operations - Wiki of the port</title><meta name="ajs-page-id" content="{key}"></head><body class="theme-default"><div id="header"><a href="/">Wiki of the port</a><a>Spaces</a><a>People</a></div><div class="ia-splitter-left"><h5>Page tree</h5><ul>{links(words, 8, 2, 4)}</ul></div>
<div id="main"><ol id="breadcrumbs"><li><a href="/collector">Pages</a></li><li><a href="/display/OPS">Operations</a></li></ol><div id="content" class="page view"><h1 id="title-text"><a href="{path}">{title}</a></h1><div class="page-metadata">Created by <span class="author"><a>{who}</a></span>, <a class="last-modified">last modified on {day:%b %d, %Y}</a></div><div class="toc">{paras(heads, "li")}</div>
<div id="main-content" class="wiki-content">{body}</div><div id="likes-section"><span class="like-summary">{likes} people like this</span><a>Like</a><div id="labels-section"><a>ops</a><a>howto</a></div></div></div><div id="comments-section"><h2>{random.randint(0, 3)} Comments</h2><p>Write a comment…</p></div></div><div id="footer">Powered by Confluence 7.{random.randint(4, 19)}</div></body></html>"""
            pages.append(Page(f"https://wiki.harbour.example{path}", html.encode(), str(number), WIKI))  # fmt: skip
    return copies_last(pages)


def gitlab(random: Random, count: int) -> list[Page]:
    """A project's front page and its README as a file; stars and the last commit change."""
    words, pages = Words(random), []
    for number in range(count):
        name, texts = f"{words.made()}-{words.made()}", words.paragraphs(120, 500)
        group, sha = words.made(), f"{random.getrandbits(32):08x}"
        readme = f"<h1>{name}</h1>" + "".join(f"<h2>{words.title(1, 3)}</h2><p>{text}</p>" for text in texts) + f"<pre><code>pip install {name}\n{name} --help</code></pre>"  # fmt: skip
        files = "".join(f"<tr><td>{one}</td><td>{words.title(3, 6)}</td><td>{random.randint(2, 11)} months ago</td></tr>" for one in ("src", "tests", ".gitignore", "LICENSE", "README.md", "setup.py"))  # fmt: skip
        commit = f'<div class="info-well"><a>{words.title(3, 7)}</a> {words.person()} authored {random.randint(2, 20)} hours ago <code>{sha}</code></div>'
        home = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{group} / {name} · GitLab</title><meta property="og:title" content="{group} / {name} · GitLab"></head><body><header>GitLab Menu Projects Groups Snippets Help</header><aside class="nav-sidebar">Project information Repository Issues {random.randint(0, 99)} Merge requests {random.randint(0, 20)} CI/CD Deployments</aside><main><h1 class="home-panel-title">{name}</h1><p>Project ID: {90000 + number}</p><a>Star <span class="star-count">{random.randint(0, 400)}</span></a><a>Forks {random.randint(0, 60)}</a>
<div>{random.randint(90, 2000)} Commits · {random.randint(1, 9)} Branches · {random.randint(0, 30)} Tags</div>{commit}<table><tr><th>Name</th><th>Last commit</th><th>Last update</th></tr>{files}</table><article class="file-holder readme-holder"><div class="file-title"><strong>README.md</strong></div><div class="file-content md">{readme}</div></article></main></body></html>"""
        blob = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>README.md · main · {group} / {name} · GitLab</title></head><body><header>GitLab Menu Projects Groups Snippets Help</header><main><div class="nav-block">main {name} README.md <a>Find file</a><a>Blame</a><a>History</a><a>Permalink</a></div>{commit}<article class="file-holder"><div class="file-title"><strong class="file-title-name">README.md</strong><small>{random.randint(2, 9)}.{random.randint(10, 99)} KiB</small></div><div class="file-content md">{readme}</div></article></main></body></html>"""
        base = f"https://gitlab.example/{group}/{name}"
        pages += [Page(base, home.encode(), str(number), GIT), Page(f"{base}/-/blob/main/README.md", blob.encode(), str(number), BLOB)]  # fmt: skip
    return shuffled(random, pages)


def dspace(random: Random, count: int) -> list[Page]:
    """An abstract under its handle and its number, or as a record with all fields."""
    words, pages = Words(random), []
    for number in range(count):
        title, text, who = words.title(6, 12), " ".join(words.paragraphs(160, 320)), words.person()
        day, collection, visits = words.day(), words.title(2, 4), random.randint(10, 900)
        handle = f"10261/{20000 + 3 * number}"
        trail = f'<ol class="breadcrumb"><li class="breadcrumb-item"><a href="/">DSpace Home</a></li><li class="breadcrumb-item"><a>{collection}</a></li><li class="breadcrumb-item">View Item</li></ol>'
        head = f'<meta charset="utf-8"><title>{title}</title><meta name="citation_title" content="{title}"><meta name="citation_date" content="{day:%Y-%m-%d}"><meta name="DC.creator" content="{who}">'
        fields = {"dc.contributor.author": who, "dc.date.issued": f"{day:%Y-%m-%d}", "dc.description.abstract": text, "dc.identifier.uri": f"http://hdl.example/{handle}", "dc.title": title, "dc.date.accessioned": f"{day:%Y-%m-%dT%H:%M:%SZ}", "dc.rights": "openAccess"}  # fmt: skip
        rows = "".join(f"<tr><td>{name}</td><td>{value}</td><td>en</td></tr>" for name, value in fields.items())  # fmt: skip
        for path in (f"/handle/{handle}", random.choice([f"/items/{random.getrandbits(64):016x}", f"/handle/{handle}?locale-attribute=en", f"/handle/{handle}?show=full"])):  # fmt: skip
            visits += random.randint(1, 20)
            is_record = "full" in path
            view = (
                f"<h2 class='item-page-field'>{title}</h2><table>{rows}</table>"
                if is_record
                else f"""<h2 class="item-page-field">{title}</h2><div class="thumb">View/Open: {slug(title)[:20]}.pdf ({random.randint(1, 9)}.2Mb)</div><div class="simple-item-view-date"><h5>Date</h5><span>{day:%Y-%m-%d}</span></div><div><h5>Author</h5><span class="author">{who}</span></div><div class="simple-item-view-description"><h5>Abstract</h5><div>{text}</div></div><div><h5>URI</h5>http://hdl.example/{handle}</div><div><h5>Collections</h5><a>{collection} [{random.randint(40, 90)}]</a></div><a href="?show=full">Show full item record</a>"""
            )
            html = f"""<!DOCTYPE html><html lang="en"><head>{head}</head><body><header>DSpace Repository <a>Login</a></header>{trail}<main>{view}<div class="stats"><h3>Usage statistics</h3><span class="visits">{visits} views</span> <span>{visits // 3} downloads</span></div></main><div id="aspect_discovery"><h2>Browse</h2>Communities &amp; Collections By Issue Date Authors Titles<h2>Recently added</h2><ul>{links(words, 4, 5, 9)}</ul></div><footer>DSpace software copyright © 2002-2024</footer></body></html>"""
            pages.append(Page(f"https://repo.uni.example{path}", html.encode(), str(number), RECORD if is_record else DSPACE))  # fmt: skip
    return copies_last(pages)


def jira(random: Random, count: int) -> Iterator[Page]:
    """Reports of errors by one template: steps and system are equal, the failing part is not."""
    words = Words(random)
    steps, system = words.paragraphs(110, 130), words.paragraph(40)
    for number in range(count):
        part, day, key = words.title(3, 6), words.day(2023, 2024), f"PORT-{1000 + 3 * number}"
        html = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>[{key}] Export fails: {part} - Harbour Jira</title></head><body><header>Dashboards Projects Issues Boards</header><div id="issue-content"><a id="key-val">{key}</a><h1 id="summary-val">Export fails: {part}</h1><dl><dt>Type:</dt><dd>Bug</dd><dt>Priority:</dt><dd>Major</dd><dt>Status:</dt><dd>Open</dd></dl><div id="description-val"><p>What happened: {words.sentence(9, 14)}</p>{paras(steps)}<p>{system}</p></div>
<div id="created-val"><time datetime="{day.isoformat()}">{day:%d/%b/%y}</time></div><div id="updated-val"><time datetime="{day.isoformat()}">{random.randint(1, 9)} days ago</time></div><div>Watchers: <span id="watcher-data">{random.randint(1, 9)}</span> Votes: {random.randint(0, 5)}</div></div></body></html>"""
        yield Page(f"https://jira.harbour.example/browse/{key}", html.encode(), key, JIRA)


def decision_page(title: str, docket: str, day: str, texts: list[str]) -> bytes:
    numbered = "".join(f"<p>[{n}] {text}</p>" for n, text in enumerate(texts, 1))
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} - Court of Appeal</title></head><body><header><img alt="Arms"><a href="/">Court of Appeal</a><nav><a>Decisions</a><a>Filing</a><a>Contact</a></nav></header><main><h1>{title}</h1><table><tr><td>Docket</td><td class="docket">{docket}</td></tr><tr><td>Date</td><td class="decision-date">{day}</td></tr></table><div class="decision-body">{numbered}</div><p><a>Print</a> <a>PDF</a></p></main><footer>Date modified: {random_day(docket)}</footer></body></html>""".encode()


def random_day(of: str) -> str:
    return f"2024-{1 + len(of) % 9:02}-{10 + sum(map(ord, of)) % 18}"


def decisions(random: Random, count: int) -> list[Page]:
    """Judgments at the court and in a database, where citations are linked and counted."""
    words, pages = Words(random), []
    for number in range(count):
        title, texts = f"{words.made().capitalize()} v. {words.firm()}", words.paragraphs(400, 800)
        day, docket, cited = words.day(), f"A-{random.randint(10, 400)}-{random.randint(15, 23)}", random.randint(0, 90)  # fmt: skip
        citation = f"{day.year} CA {number + 11}"
        pages.append(Page(f"https://decisions.court.example/ca/item/{4000 + number}/index.do", decision_page(title, docket, british(day), texts), str(number), COURT))  # fmt: skip
        numbered = "".join(f'<div class="paragWrapper"><span>[{n}]</span> <span class="p">{text}</span></div>' for n, text in enumerate(texts, 1))  # fmt: skip
        html = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{citation} | {title} | Lawbase</title></head><body><nav>Home › Appeals › {citation}</nav><div id="wrap"><h2 class="solexHlZone">{title}, {citation}</h2><div class="documentMeta">Date: <span id="meta-date">{day:%Y-%m-%d}</span> File number: {docket} Citation: {title}, {citation}, retrieved on {british(words.day(2024))}</div><ul><li>Document</li><li>History</li><li class="cited">Cited documents ({cited})</li><li>Treatment ({random.randint(0, 40)})</li></ul><div id="originalDocument">{numbered}</div></div><footer>By Lawbase for the law societies. Scope of Databases Tools Terms</footer></body></html>"""
        pages.append(Page(f"https://www.lawbase.example/en/ca/doc/{slug(citation)}.html", html.encode(), str(number), LAWS))  # fmt: skip
    return shuffled(random, pages)


def orders(random: Random, count: int) -> Iterator[Page]:
    """Orders of one chamber in the same words: parties, file number, day and costs differ."""
    words = Words(random)
    frame = words.paragraphs(260, 320)
    for number in range(count):
        one, firm, day = words.person(), words.firm(), words.day(2022, 2024)
        docket = f"B-{100 + number}-23"
        texts = [f"This is an application by {one} for leave to appeal against a decision of {firm} of {british(day)}.", *frame, f"The application of {one} is dismissed with costs of ${random.randint(3, 40) * 250:,}."]  # fmt: skip
        yield Page(f"https://decisions.court.example/orders/{docket}", decision_page(f"{one} v. {firm}", docket, british(day), texts), docket, COURT)  # fmt: skip


def patents(random: Random, count: int) -> list[Page]:
    """A patent at an office and at a search engine, which adds tables of what is similar."""
    words, pages = Words(random), []
    for number in range(count):
        title, texts, who = words.title(4, 8), words.paragraphs(400, 800), words.firm()
        day, key = words.day(), f"EP{3000000 + 17 * number}A1"
        rows = "".join(f"<tr><td>US{random.randrange(10**6, 10**7)}B2</td><td>{words.day():%Y-%m-%d}</td><td>{words.title(3, 6)}</td></tr>" for _ in range(6))  # fmt: skip
        engine = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{key} - {title} - Patent search</title><meta name="DC.title" content="{title}"></head><body><article><h1 id="pageTitle">{key} - {title}</h1><span id="title">{title}</span><dl><dt>Publication number</dt><dd>{key}</dd><dt>Application filed by</dt><dd>{who}</dd><dt>Publication</dt><dd class="pub-date">{day:%Y-%m-%d}</dd></dl><section class="description"><h2>Description</h2>{paras(texts, "div")}</section><section><h2>Similar Documents</h2><table>{rows}</table></section></article></body></html>"""
        numbered = "".join(f"<p>[{n:04}] {text}</p>" for n, text in enumerate(texts, 1))
        office = f"""<html><head><meta charset="utf-8"><title>Espacefind - Description</title></head><body><div>About Espacefind Other online services Search My patents list ({random.randint(0, 5)})</div><h3 class="ti">{title.upper()}</h3><table><tr><td>Page bookmark</td><td>{key} - {title}</td></tr><tr><td>Publication date:</td><td class="pd">{day:%Y-%m-%d}</td></tr></table><div id="desc"><h4>Description of {key}</h4>{numbered}</div><div>Last updated: {words.day(2024):%d.%m.%Y} Worldwide Database 5.8; 93p</div></body></html>"""
        pages += [Page(f"https://patents.engine.example/patent/{key}/en", engine.encode(), str(number), PATENT), Page(f"https://find.office.example/publicationDetails/description?CC=EP&NR={key[2:9]}", office.encode(), str(number), OFFICE)]  # fmt: skip
    return shuffled(random, pages)


KINDS = (
    Kind("Confluence: names and numbers", confluence),
    Kind("GitLab: projects and READMEs", gitlab),
    Kind("DSpace: handles, full records", dspace),
    Kind("Jira: errors by one template (all different)", jira),
    Kind("Judgments at court and in a database", decisions),
    Kind("Orders of one chamber (all different)", orders),
    Kind("Patents at an office and an engine", patents, 30),
)

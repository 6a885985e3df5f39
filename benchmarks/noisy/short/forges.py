"""READMEs on two forges; those of packages that one generator has made.

After GitHub's page of a repository in 2024 and Gitea's 1.21.
"""

from __future__ import annotations

from random import Random

from benchmarks.noisy.short._pieces import counted, menu
from benchmarks.noisy.site import Kind, Page, shuffled
from benchmarks.noisy.words import Words, paras

GITHUB = {"title": "article h1::text", "body": "article.markdown-body", "views": "#repo-stars-counter-star::text", "article": ".repository-content"}  # fmt: skip
GITEA = {"title": ".markup h1::text", "body": ".markup.markdown", "views": ".repo-stars::text", "article": ".repository.file.list"}  # fmt: skip


def readme(words: Words, name: str, *, length: int = 1) -> str:
    made = words.made
    low, high = 20 * length, 60 * length
    options = "".join(f"<li><code>--{made()}</code> {words.sentence(4, 9)}</li>" for _ in range(4))
    return f"""<h1>{name}</h1>{paras(words.paragraphs(low, high))}<h2>Installation</h2><pre><code>pip install {name}</code></pre><h2>Usage</h2>{paras(words.paragraphs(low, high))}<pre><code>{name} {made()} --{made()} {made()}.txt</code></pre><ul>{options}</ul><h2>Contributing</h2><p>{words.sentence()}</p><h2>License</h2><p>MIT</p>"""


def files(words: Words) -> list[tuple[str, str]]:
    random = words.random
    names = [".github", "docs", "src", "tests", ".gitignore", "LICENSE", "README.md", "pyproject.toml"]  # fmt: skip
    return [(name, " ".join(words.words(random.randint(3, 7)))) for name in names]


def github(words: Words, names: tuple[str, str, str], text: str, listed: list[tuple[str, str]]) -> bytes:  # fmt: skip
    random, (owner, name, about) = words.random, names
    rows = "".join(f'<tr class="react-directory-row"><td><a>{file}</a></td><td><a>{message}</a></td><td><relative-time datetime="{words.day().isoformat()}">{random.randint(2, 11)} months ago</relative-time></td></tr>' for file, message in listed)  # fmt: skip
    bars = "".join(f"<li>{language} {random.randint(1, 90)}.{random.randint(0, 9)}%</li>" for language in ("Python", "Shell"))  # fmt: skip
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>GitShelf - {owner}/{name}: {about}</title><meta property="og:title" content="GitShelf - {owner}/{name}: {about}"><meta property="og:site_name" content="GitShelf"><meta name="description" content="{about} Contribute to {owner}/{name} development by creating an account on GitShelf."></head><body class="logged-out"><a href="#start-of-content">Skip to content</a><header>{menu("Product", "Solutions", "Open Source", "Pricing")}<span>Search or jump to...</span><a>Sign in</a><a>Sign up</a></header><div id="repository-container-header"><span class="author"><a>{owner}</a></span> / <strong><a>{name}</a></strong> <span>Public</span><ul><li>Notifications</li><li>Fork <span>{counted(random)}</span></li><li>Star <span id="repo-stars-counter-star">{counted(random, 9000)}</span></li></ul>
<nav>{menu("Code", "Issues", "Pull requests", "Actions", "Projects", "Security", "Insights")}</nav></div><main><div class="repository-content"><span>main</span> <a>{random.randint(1, 9)} Branches</a> <a>{random.randint(1, 90)} Tags</a> <span>Go to file</span><table><tr><th>Name</th><th>Last commit message</th><th>Last commit date</th></tr>{rows}</table><article class="markdown-body entry-content">{text}</article></div><div class="Layout-sidebar"><h2>About</h2><p>{about}</p><h3>Resources</h3><a>Readme</a><h3>License</h3><a>MIT license</a> <a>Activity</a><h3>Stars</h3><strong>{counted(random)}</strong> stars<h3>Watchers</h3><strong>{counted(random, 30)}</strong> watching<h3>Forks</h3><strong>{counted(random, 90)}</strong> forks <a>Report repository</a><h2>Releases {random.randint(1, 90)}</h2><h2>Packages</h2><div>No packages published</div><h2>Contributors {random.randint(1, 20)}</h2><h2>Languages</h2><ul>{bars}</ul></div></main><footer>© 2024 GitShelf, Inc. Terms Privacy Security Status Docs Contact Manage cookies Do not share my personal information</footer></body></html>""".encode()


def gitea(words: Words, names: tuple[str, str, str], text: str, listed: list[tuple[str, str]]) -> bytes:  # fmt: skip
    random, (owner, name, about) = words.random, names
    rows = "".join(f'<tr><td class="name"><a>{file}</a></td><td class="message"><a>{message}</a></td><td class="age">{random.randint(1, 9)} years ago</td></tr>' for file, message in listed)  # fmt: skip
    return f"""<!DOCTYPE html><html lang="en-US"><head><meta charset="utf-8"><title>{name} - {about} - TeaForge: hosting for free software</title><meta property="og:title" content="{name}"><meta property="og:site_name" content="TeaForge"></head><body><div class="full height"><nav id="navbar"><a href="/">Home</a><a>Explore</a><a>Help</a><a>Register</a><a>Sign In</a></nav><div class="repository file list"><div class="header-wrapper"><div class="repo-header"><a>{owner}</a>/<a>{name}</a></div><div>mirror of <a>https://gitshelf.example/{owner}/{name}.git</a> synced {words.day():%Y-%m-%d %H:%M:%S} +00:00</div><a>Watch {counted(random, 9)}</a><a>Star <span class="repo-stars">{counted(random, 90)}</span></a><a>Fork {counted(random, 9)}</a><div class="tabular menu"><a>Code</a><a>Issues</a><a>Packages</a><a>Projects</a><a>Releases {random.randint(1, 90)}</a><a>Wiki</a><a>Activity</a></div></div>
<div class="ui container"><div class="repo-description">{about}</div><div class="ui segments"><a>{random.randint(30, 900)} Commits</a><a>{random.randint(1, 9)} Branches</a><a>{random.randint(1, 90)} Tags</a><span>{random.randint(100, 900)} KiB</span></div><table id="repo-files-table">{rows}</table><div id="readme"><h4>README.md</h4><div class="file-view markup markdown">{text}</div></div></div></div></div><footer class="page-footer">Powered by Gitea Version: 1.21.{random.randint(0, 9)} Page: {random.randint(10, 90)}ms Template: {random.randint(1, 9)}ms English Licenses API</footer></body></html>""".encode()


def mirrored(random: Random, count: int) -> list[Page]:
    """A repository and its mirror."""
    words, pages = Words(random), []
    for number in range(count):
        owner, name, about = words.made(), f"{words.made()}-{words.made()}", words.title(5, 9)
        text, listed = readme(words, name, length=random.choice([1, 2, 4])), files(words)
        pages.append(Page(f"https://gitshelf.example/{owner}/{name}", github(words, (owner, name, about), text, listed), str(number), GITHUB))  # fmt: skip
        pages.append(Page(f"https://teaforge.example/mirrors/{name}", gitea(words, ("mirrors", name, about), text, listed), str(number), GITEA))  # fmt: skip
    return shuffled(random, pages)


def generated(random: Random, count: int) -> list[Page]:
    """Packages of one generator: installation, tests and contributing in the same words."""
    words, pages = Words(random), []
    frame = "".join(f"<h2>{head}</h2>{paras(words.paragraphs(40, 80))}" for head in ("Development", "Contributing", "Code of conduct"))  # fmt: skip
    listed = files(words)
    for number in range(count):
        name, about = f"{words.made()}-{words.made()}", words.title(5, 9)
        text = f"<h1>{name}</h1><p>{about}.</p>{paras(words.paragraphs(30, 60))}<h2>Installation</h2><pre><code>pip install {name}</code></pre>{frame}"
        if number % 2:
            html, how = github(words, ("orgname", name, about), text, listed), GITHUB
            url = f"https://gitshelf.example/orgname/{name}"
        else:
            html, how = gitea(words, ("orgname", name, about), text, listed), GITEA
            url = f"https://teaforge.example/orgname/{name}"
        pages.append(Page(url, html, str(number), how))
    return pages


KINDS = (
    Kind("Short: READMEs on two forges", mirrored, 30),
    Kind("Short: READMEs of one generator (all different)", generated, 30),
)

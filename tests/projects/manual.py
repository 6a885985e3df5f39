"""A manual in two versions on one host, and a mirror of the newer one on another.

The spider stores pages. What did not change between the versions has other version numbers on it,
so it is not the same; the mirror's pages are.
"""

from __future__ import annotations

from collections import Counter

from projects.truth import Project
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from site_pages import layout, links, paragraphs, sentences, title

HOST, MIRROR = "docs.example", "mirror.example"
PUBLIC = "/pub/manual/"
VERSIONS = ("2.3", "2.4")
CHAPTERS, MODULES = 8, 10


class ManualSpider(CrawlSpider):
    name = "manual"
    start_urls = (
        *(f"http://{HOST}/{version}/" for version in VERSIONS),
        f"http://{MIRROR}{PUBLIC}",
    )
    rules = (Rule(LinkExtractor(restrict_css="main, aside"), callback="parse_page", follow=True),)

    def parse_start_url(self, response):
        return self.parse_page(response)

    def parse_page(self, response):
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "body": response.css("main").get(),
        }


def manual_page(base: str, version: str, heading: str, main: str, site: str = "manual") -> bytes:
    names = [f"chapter-{n}" for n in range(CHAPTERS)] + ["modules", "changes"]
    toc = links([f"{base}{name}.html" for name in names], "toc")
    return layout(site, f"{heading} - Manual {version}", main, aside=toc)


def module(number: int, version: str) -> str:
    """Short text by a template: what is documented is a name and a signature."""
    name = title(f"module {number}", 1).lower()
    since = VERSIONS[0] if number % 2 else version
    return (
        f"<pre>import {name}</pre><p>The module {name} is part of the standard library and is "
        f"installed with it. New in version {since}.</p><dl><dt>{name}.open(path)</dt><dd>Opens a "
        "file and returns it. Raises an error if there is no such file.</dd>"
        f"<dt>{name}.close()</dt><dd>Closes what was opened.</dd></dl>"
    )


def version_pages(base: str, version: str, site: str = "manual") -> dict[str, bytes]:
    """Of each version: contents, chapters, a list of modules and one page each, changes."""

    def page(heading: str, main: str) -> bytes:
        return manual_page(base, version, heading, main, site)

    contents = "".join(
        f"<h2>{title(f'part {part}', 2)}</h2>"
        + links([f"{base}chapter-{n}.html" for n in range(part, CHAPTERS, 2)], "contents")
        for part in range(2)
    )
    pages = {base: page("Contents", contents)}
    for number in range(CHAPTERS):
        text = [sentences(f"chapter {number}.{part}", 60) for part in range(5)]
        if number % 4 == 0:
            text[2] = sentences(f"chapter {number} of {version}", 60)
        pages[f"{base}chapter-{number}.html"] = page(
            title(f"chapter {number}", 3), paragraphs(*text)
        )
    listed = links([f"{base}module-{number}.html" for number in range(MODULES)], "modules")
    pages[f"{base}modules.html"] = page("Modules", listed)
    for number in range(MODULES):
        heading = title(f"module {number}", 1).lower()
        pages[f"{base}module-{number}.html"] = page(heading, module(number, version))
    older = VERSIONS.index(version) + 4
    changes = "".join(
        f"<h2>Version 2.{minor}</h2>{paragraphs(sentences(f'changes in {minor}', 60))}"
        for minor in range(older, -1, -1)
    )
    pages[f"{base}changes.html"] = page("Changes", changes)
    return pages


def manual() -> Project:
    hosts = {HOST: {}, MIRROR: version_pages(PUBLIC, VERSIONS[-1], site="mirror")}
    for version in VERSIONS:
        hosts[HOST] |= version_pages(f"/{version}/", version)
    mirrored = frozenset(map(_page, hosts[MIRROR]))
    things = Counter(map(_page, hosts[HOST])) + Counter(mirrored)
    # Lists of links and what is but a few lines have too little text to be known as copies.
    certain = frozenset(page for page in mirrored if "chapter" in page or "changes" in page)
    return Project(ManualSpider, hosts, things, lambda item: _page(item["url"]), certain)


def _page(address: str) -> str:
    """The page of the manual that an address, there or on the mirror, leads to."""
    path = "/" + address.removeprefix("http://").partition("/")[2]
    return path.replace(PUBLIC, f"/{VERSIONS[-1]}/")

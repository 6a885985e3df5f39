"""Which pages the site has, and which of them are duplicates of which."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

from website.stories import Grammar, Story

LIST_LENGTH = 12


@dataclass(frozen=True)
class Outlet:
    """A newspaper, a portal or a blog, with a look of its own."""

    name: str
    title: str
    language: str
    host: str
    encoding: str = "utf-8"


@dataclass(frozen=True)
class Page:
    """One address of the site.

    Pages with the same `group` are duplicates of each other; a page without a group (a list, an
    attachment) is a duplicate of nothing. `headline` is what links to the page say.
    """

    outlet: Outlet
    path: str
    kind: str
    headline: str
    story: Story | None = None
    group: str | None = None
    # Of a list: the pages it links to, its number, and whether no other list follows.
    listed: tuple[Page, ...] = ()
    number: int = 1
    last: bool = True

    def url(self, port: int) -> str:
        """The address of the page when the site is served at that port."""
        return f"http://{self.outlet.host}:{port}{self.path}"


OUTLETS = (
    Outlet("ledger", "The Harbour Ledger", "en", "127.0.0.1"),
    Outlet("wire", "Northwind Wire", "en", "127.0.0.1"),
    Outlet("valley", "Valley Reader", "en", "localhost"),
    Outlet("haicheng", "海城日报", "zh", "127.0.0.1"),
    Outlet("zhixing", "知行网", "zh", "localhost", "gb18030"),
    Outlet("chendu", "晨读", "zh", "localhost"),
)


def catalogue() -> list[Page]:
    """Every page of the site, the front page first."""
    pages = [page for language in ("en", "zh") for page in _story_pages(language)] + _odd_pages()
    lists = [page for outlet in OUTLETS for page in _list_pages(outlet, pages)]
    first_lists = tuple(page for page in lists if page.number == 1)
    front = Page(OUTLETS[0], "/", "list", "All newspapers", listed=first_lists)
    return [front, *lists, *pages]


def manifest(pages: list[Page], port: int) -> dict[str, Any]:
    """What is true about the pages, to judge a crawl by.

    `groups` maps the id of a story to the URLs of all its pages: of these exactly one is worth
    storing. `kinds` counts the pages of each kind.
    """
    groups: dict[str, list[str]] = {}
    for page in pages:
        if page.group is not None:
            groups.setdefault(page.group, []).append(page.url(port))
    return {
        "pages": [
            {"url": page.url(port), "kind": page.kind, "group": page.group} for page in pages
        ],
        "groups": groups,
        "kinds": dict(Counter(page.kind for page in pages)),
    }


def _story_pages(language: str) -> list[Page]:
    """Originals with their copies in other outlets, print views, session ids and revisions."""
    grammar = Grammar(language)
    outlets = [outlet for outlet in OUTLETS if outlet.language == language]
    stories = grammar.stories()
    pages = []
    for i, story in enumerate(stories):
        home, second, third = (outlets[(i + step) % 3] for step in range(3))
        original = _story_page(home, story, "original")
        pages.append(original)
        if i % 2 == 0:
            pages.append(
                _story_page(second, _syndicated(story, home, story.other_headline), "copy")
            )
        if i % 6 == 0:
            pages.append(_story_page(third, _syndicated(story, home, story.headline), "copy"))
        if i % 8 < 2:
            path = original.path.replace("/story/", "/print/")
            pages.append(replace(original, path=path, kind="print"))
        if i % 5 == 2:
            session = f"{original.path}?sid={crc32(story.id.encode()):08x}"
            pages.append(replace(original, path=session, kind="session"))
        if i % 7 == 3:
            path = f"{original.path}-2"
            revised = grammar.revise(story)
            pages.append(replace(original, path=path, kind="revision", story=revised))
    for i, outlet in enumerate(outlets):
        pages.append(_digest(outlet, stories[7 * i : 7 * i + 7]))
    return pages


def _story_page(outlet: Outlet, story: Story, kind: str) -> Page:
    number = crc32(f"{outlet.name} {story.id}".encode()) % 10**7
    return Page(
        outlet, f"/{outlet.name}/story/{number}", kind, story.headline, story, group=story.id
    )


def _syndicated(story: Story, source: Outlet, headline: str) -> Story:
    """The story as another outlet brings it, with credit to the first."""
    credit = f"From {source.title}." if story.language == "en" else f"（据{source.title}）"
    return replace(story, headline=headline, paragraphs=(*story.paragraphs, credit))


def _digest(outlet: Outlet, stories: list[Story]) -> Page:
    """The beginnings of a few stories on one page: near them all, a duplicate of none."""
    headline = "The week in brief" if outlet.language == "en" else "一周要闻"
    digest = replace(
        stories[0],
        id=f"{outlet.name}-digest",
        headline=headline,
        paragraphs=tuple(story.paragraphs[0] for story in stories),
    )
    return _story_page(outlet, digest, "digest")


def _odd_pages() -> list[Page]:
    """What every crawl meets sooner or later: nothing at all, and bytes that are not text."""
    ledger, wire, valley, haicheng, _, chendu = OUTLETS
    return [
        Page(valley, "/valley/story/withdrawn", "empty", "This story was withdrawn"),
        Page(chendu, "/chendu/story/withdrawn", "blank", "本文已撤下"),
        Page(ledger, "/ledger/story/tide-tables", "binary", "Tide tables to download"),
        Page(haicheng, "/haicheng/story/map", "binary", "海域图下载"),
        # The server declares this one as text/html.
        Page(wire, "/wire/story/photograph", "mislabelled", "Photograph of the day"),
    ]


def _list_pages(outlet: Outlet, pages: list[Page]) -> list[Page]:
    """The paginated list of an outlet.

    A page with a session id stands in the list in place of the original, which is found through
    the permanent link below the story. Print views are linked from their story only.
    """
    with_session = {page.group for page in pages if page.kind == "session"}
    entries = [
        page
        for page in pages
        if page.outlet is outlet
        and page.kind != "print"
        and not (page.kind == "original" and page.group in with_session)
    ]
    lists = []
    for number, start in enumerate(range(0, len(entries), LIST_LENGTH), start=1):
        path = f"/{outlet.name}/" if number == 1 else f"/{outlet.name}/page/{number}/"
        end = start + LIST_LENGTH
        lists.append(
            Page(
                outlet,
                path,
                "list",
                outlet.title,
                listed=tuple(entries[start:end]),
                number=number,
                last=end >= len(entries),
            )
        )
    return lists

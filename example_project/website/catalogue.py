"""Which pages the sites have, and which of them are duplicates of which."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any
from zlib import crc32

from website.pages import Outlet, Page, Thing
from website.stories import Grammar, Story
from website.town import town_pages

LIST_LENGTH = 12


OUTLETS = (
    Outlet("ledger", "The Harbour Ledger", "en", authors=True),
    Outlet("wire", "Northwind Wire", "en"),
    Outlet("valley", "Valley Reader", "en"),
    Outlet("haicheng", "海城日报", "zh"),
    Outlet("zhixing", "知行网", "zh", "gb18030"),
    Outlet("chendu", "晨读", "zh", authors=True),
)


def catalogue(*, later: bool = False) -> list[Page]:
    """Every page of the sites, the list of newspapers first.

    Args:
        later: whether it is the day after, when some prices have changed.
    """
    pages = [page for language in ("en", "zh") for page in _story_pages(language)] + _odd_pages()
    lists = [page for outlet in OUTLETS for page in _list_pages(outlet, pages)]
    first_lists = tuple(page for page in lists if page.number == 1)
    front = Page(OUTLETS[0], "/papers/", "list", "All newspapers", listed=first_lists)
    return [front, *lists, *pages, *town_pages(later=later)]


def manifest(pages: list[Page]) -> dict[str, Any]:
    """The right answers for a crawl of the pages.

    `groups` maps the id of a story to the URLs of all its pages, and `others` the id of any other
    thing to the identities of its items, one for each item: exactly one of each list is worth
    storing. `changed` has the ids of things worth storing again after their earlier version.
    `kinds` counts the pages of each kind, `things` the items that are no stories.
    """
    groups: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for page in pages:
        if page.group is not None:
            groups.setdefault(page.group, []).append(page.url)
        for thing in page.things:
            others.setdefault(thing.group, []).append(page.label(thing))
    things = [thing for page in pages for thing in page.things]
    return {
        "pages": [{"url": page.url, "kind": page.kind, "group": page.group} for page in pages],
        "groups": groups,
        "others": others,
        "changed": sorted({thing.group for thing in things if thing.changed}),
        "kinds": dict(Counter(page.kind for page in pages)),
        "things": dict(Counter(thing.kind for thing in things)),
    }


def _story_pages(language: str) -> list[Page]:
    """Originals with their copies in other outlets, print views, session ids and revisions."""
    grammar = Grammar(language)
    outlets = [outlet for outlet in OUTLETS if outlet.language == language]
    stories = grammar.stories()
    pages = []
    for i, story in enumerate(stories):
        home, second, third = (outlets[(i + step) % 3] for step in range(3))
        original = _story_page(home, story, "original", grammar)
        pages.append(original)
        if i % 2 == 0:
            syndicated = _syndicated(story, home, story.other_headline)
            pages.append(_story_page(second, syndicated, "copy", grammar))
        if i % 6 == 0:
            syndicated = _syndicated(story, home, story.headline)
            pages.append(_story_page(third, syndicated, "copy", grammar))
        if i % 8 < 2:
            path = original.path.replace("/story/", "/print/")
            pages.append(replace(original, path=path, kind="print", things=()))
        if i % 5 == 2:
            session = f"{original.path}?sid={crc32(story.id.encode()):08x}"
            pages.append(replace(original, path=session, kind="session"))
        if i % 7 == 3:
            path = f"{original.path}-2"
            revised = grammar.revise(story)
            pages.append(replace(original, path=path, kind="revision", story=revised))
    for i, outlet in enumerate(outlets):
        pages.append(_digest(outlet, stories[7 * i : 7 * i + 7], grammar))
    return pages


def _story_page(outlet: Outlet, story: Story, kind: str, grammar: Grammar) -> Page:
    number = crc32(f"{outlet.name} {story.id}".encode()) % 10**7
    things: tuple[Thing, ...] = ()
    if outlet.authors:
        fields = {"name": story.author, "about": grammar.about(story.author)}
        things = (Thing("author", f"{outlet.name} {story.author}", fields),)
    return Page(outlet, f"/story/{number}", kind, story.headline, story, story.id, things)


def _syndicated(story: Story, source: Outlet, headline: str) -> Story:
    """The story as another outlet brings it, with credit to the first."""
    credit = f"From {source.title}." if story.language == "en" else f"（据{source.title}）"
    return replace(story, headline=headline, paragraphs=(*story.paragraphs, credit))


def _digest(outlet: Outlet, stories: list[Story], grammar: Grammar) -> Page:
    """The beginnings of a few stories on one page: near them all, a duplicate of none."""
    headline = "The week in brief" if outlet.language == "en" else "一周要闻"
    digest = replace(
        stories[0],
        id=f"{outlet.name}-digest",
        headline=headline,
        paragraphs=tuple(story.paragraphs[0] for story in stories),
    )
    return _story_page(outlet, digest, "digest", grammar)


def _odd_pages() -> list[Page]:
    """What every crawl meets sooner or later: nothing at all, and bytes that are not text."""
    ledger, wire, valley, haicheng, _, chendu = OUTLETS
    return [
        Page(valley, "/story/withdrawn", "empty", "This story was withdrawn"),
        Page(chendu, "/story/withdrawn", "blank", "本文已撤下"),
        Page(ledger, "/story/tide-tables", "binary", "Tide tables to download"),
        Page(haicheng, "/story/map", "binary", "海域图下载"),
        # The server declares this one as text/html.
        Page(wire, "/story/photograph", "mislabelled", "Photograph of the day"),
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
        path = "/" if number == 1 else f"/page/{number}/"
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

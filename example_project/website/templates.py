"""Pages as HTML: every outlet has a layout and a way of setting a story."""

from __future__ import annotations

from functools import cache
from html import escape
from pathlib import Path
from random import Random
from string import Template
from typing import TYPE_CHECKING

from website.stories import Grammar
from website.town import COUNCILS, MANUAL, prose

if TYPE_CHECKING:
    from website.pages import Outlet, Page

_TEMPLATES = Path(__file__).parent / "templates"

# How each outlet marks up a paragraph.
_PARAGRAPH = {
    "ledger": "<p>{}</p>",
    "wire": '<p class="para">{}</p>',
    "valley": "{}<br><br>",
    "haicheng": "<p>　　{}</p>",
    "zhixing": '<p><font size="3">　　{}</font></p>',
    "chendu": '<div class="para"><span>{}</span></div>',
}
_RELATED = 6


def _kind(outlet: Outlet) -> str:
    if outlet == MANUAL:
        return "manual"
    return "council" if outlet in COUNCILS.values() else "shop"


@cache
def _template(name: str) -> Template:
    return Template((_TEMPLATES / f"{name}.html").read_text(encoding="utf-8"))


class Renderer:
    """Sets the pages of a catalogue."""

    def __init__(self, pages: list[Page]) -> None:
        self._front = pages[0]
        self._grammars = {language: Grammar(language) for language in ("en", "zh")}
        self._prints = {page.group: page for page in pages if page.kind == "print"}
        self._originals = {page.group: page for page in pages if page.kind == "original"}
        self._by_outlet: dict[Outlet, list[Page]] = {}
        for page in self._originals.values():
            self._by_outlet.setdefault(page.outlet, []).append(page)

    def html(self, page: Page) -> bytes:
        """The page as it goes over the wire, in the encoding of its outlet."""
        if page.kind == "print":
            text = self._story("print", page)
        elif page.outlet not in self._by_outlet:
            text = self._town(page)
        else:
            content = self._list(page) if page.story is None else self._story_in_outlet(page)
            text = self._layout(page, content)
        return text.encode(page.outlet.encoding)

    def _story_in_outlet(self, page: Page) -> str:
        return self._story(f"{page.outlet.name}-story", page)

    def _story(self, template: str, page: Page) -> str:
        story = page.story
        assert story is not None
        mark_up = _PARAGRAPH[page.outlet.name] if page.kind != "print" else "<p>{}</p>"
        # A session and a print view lead to the permanent address; a copy is at its own.
        permanent = self._originals[page.group] if page.kind in ("session", "print") else page
        printable = self._prints.get(page.group)
        if printable is not None and printable.outlet is page.outlet:
            print_link = printable.url
        else:
            print_link = "javascript:window.print()"
        return _template(template).substitute(
            language=page.outlet.language,
            encoding=page.outlet.encoding,
            outlet=escape(page.outlet.title),
            home=page.outlet.home,
            headline=escape(page.headline),
            topic=story.topic,
            author=escape(story.author),
            about="".join(escape(author.fields["about"]) for author in page.things),
            month=story.month,
            paragraphs="\n".join(mark_up.format(escape(text)) for text in story.paragraphs),
            permalink=permanent.url,
            print=print_link,
        )

    def _list(self, page: Page) -> str:
        return _template("list").substitute(
            headline=escape(page.headline),
            entries="\n".join(self._entry(listed) for listed in page.listed),
            pager=self._pager(page),
        )

    def _entry(self, page: Page) -> str:
        teaser = page.story.paragraphs[0] if page.story else page.outlet.title
        return f"<li>{self._link(page)} <span>{escape(teaser[:80])}</span></li>"

    def _pager(self, page: Page) -> str:
        if page.last:
            return ""
        return f'<a class="next" href="/page/{page.number + 1}/">{page.number + 1}</a>'

    def _town(self, page: Page) -> str:
        """A page of a shop, a council or the manual, which all look alike."""
        says = prose(page.outlet.language)
        if page.kind == "list":
            content = self._list(page)
        elif page.kind == "events":
            content = self._events(page)
        else:
            (thing,) = page.things
            agenda = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in says["agenda"])
            fields = {name: escape(value) for name, value in thing.fields.items()}
            content = _template(thing.kind).substitute(fields, agenda=agenda)
        return _template("town").substitute(
            language=page.outlet.language,
            encoding=page.outlet.encoding,
            headline=escape(page.headline),
            site=escape(page.outlet.title),
            about=escape(says[_kind(page.outlet)]),
            content=content,
        )

    def _events(self, page: Page) -> str:
        rows = (
            "".join(
                f'<td class="{name}">{escape(text)}</td>' for name, text in event.fields.items()
            )
            for event in page.things
        )
        return _template("events").substitute(
            headline=escape(page.headline), rows="\n".join(f"<tr>{row}</tr>" for row in rows)
        )

    def _layout(self, page: Page, content: str) -> str:
        random = Random(f"layout {page.url}")
        related = random.sample(self._by_outlet[page.outlet], _RELATED)
        comments = self._grammars[page.outlet.language].comments(page.url) if page.story else []
        return _template(page.outlet.name).substitute(
            headline=escape(page.headline),
            path=page.path,
            home=page.outlet.home,
            front=self._front.url,
            content=content,
            related="\n".join(f"<li>{self._link(other)}</li>" for other in related),
            comments="\n".join(f'<div class="comment">{escape(text)}</div>' for text in comments),
        )

    def _link(self, page: Page) -> str:
        return f'<a href="{escape(page.url)}">{escape(page.headline)}</a>'

"""The names of a page: its title and its heading, without the name of the site."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from lxml.html import HtmlElement

from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.text.markup import Markup, text_of

# Words behind a heading, up to a separator such as the one before the name of the site.
_ADDED = re.compile(r",? \w(?:(?! [-~] )[^|–—:·•«»<>/()\[\]_]){0,80}(?<! )")
# Second headings that are looked at.
_OTHERS = 64
# How a page is shown, where a title begins or ends with it. "Print" alone may be what a page is
# about, as in "Ferry | Print" of a shop for pictures, except in front of a colon.
_VIEW = (
    r"(?:print(?:able|er)?(?:[ -]friendly)?[ -](?:page|version|view)|printer[ -]friendly|"
    r"druck(?:ansicht|fassung|version)|version imprimable|versi[oó]n (?:imprimible|para imprimir)|"
    r"версия для печати|打印(?:版|页面?|预览)|友善列印|印刷用(?:ページ|画面))"
)
_ALONE = r"(?:print(?:able)?|drucken|imprim[ei]r|stampa|печать|打印|列印)"
_BREAK = "(?: ?[:：|–—·•«»] ?| - )"
_BRACKETED = rf" ?[(\[（【]{_VIEW}[)\]）】] ?"
_SHOWN = re.compile(
    rf"\A(?:{_BRACKETED}|{_ALONE} ?[:：] ?|{_VIEW}{_BREAK})(?=.)"
    rf"|(?<=.)(?:{_BRACKETED}|{_BREAK}{_VIEW})\Z",
    re.IGNORECASE,
)


_SEPARATOR = re.compile(_BREAK)
# Words beside a site's own name, in its name.
_BESIDE = frozenset(("the", "mobile", "online", "news"))


class Titles(NamedTuple):
    """The names of a page; `element` is that of the heading, if there is one."""

    element: HtmlElement | None
    heading: str
    title: str


def find_titles(markup: Markup, domain: str = "") -> Titles:
    """The heading of the page, and its title: the heading if the title holds it.

    Many sites put their own name into the title, and some into a heading above that of the page,
    which a print view lacks. The heading is the last h1 that the title holds, or else the first in
    og:title, or else the first; a logo only if there is no other. Words that tell how the page is
    shown, such as "Print view", are no part of its title, and neither is a last part that names the
    domain.
    """
    title = _SHOWN.sub("", markup.title)
    markup = markup._replace(title=title)
    title = _without_site(title, domain)
    headings = [(element, heading) for element, heading in markup.headings if heading]
    if not headings:
        return Titles(None, "", title)
    headings = [one for one in headings if not _is_logo(*one, markup.title)] or headings
    if inside := [one for one in headings if _contains(markup.title, one[1])]:
        element, heading = inside[-1]
        if not _is_site_name(element, heading, markup):
            title = heading + _goes_on(markup.title, heading)
    else:
        elsewhere = markup.metas.get("og:title", "")
        shared = (one for one in headings if _contains(elsewhere, one[1]))
        element, heading = next(shared, headings[0])
    return Titles(element, heading, title)


def _without_site(title: str, domain: str) -> str:
    """A title without its last part, if that is the name of the site as its domain has it."""
    name = domain.partition(".")[0].replace("-", "")
    *_, last = None, *_SEPARATOR.finditer(title)
    if not name or last is None:
        return title
    words = fold(title[last.end() :]).split()
    own = [word for word in words if word not in _BESIDE]
    return title[: last.start()] if name in ("".join(words), "".join(own)) else title


def _goes_on(title: str, heading: str) -> str:
    """What a title adds to a heading before its next separator: " in Ashford" of a job ad."""
    start = title.find(heading)
    found = _ADDED.match(title, start + len(heading)) if start == 0 else None
    return found[0] if found else ""


def _is_site_name(element: HtmlElement, text: str, markup: Markup) -> bool:
    """Whether a heading inside the title is the part of it that all pages of a site share."""
    heading, metas = fold(text), markup.metas
    name = fold(metas.get("og:site_name", ""))
    if heading == name or _is_logo(element, text, markup.title):
        return True
    if (elsewhere := metas.get("og:title")) is not None and not _contains(elsewhere, text):
        return True
    # If the title holds an h2 as well, other than the site's name, that one belongs to this page
    # alone, unless it stands in a footer; and so does a longer h1 that holds the rest of the title:
    # "Error E1" below "Errors", on a page titled "E1 - Errors".
    rest = fold(fold(markup.title).replace(heading, " ", 1))
    return bool(rest) and (
        _has_in_body(
            element, {one for one in markup.others if _contains(rest, one) and fold(one) != name}
        )
        or any(_contains(other, rest) and fold(other) != rest for _, other in markup.headings)
    )


def _has_in_body(heading: HtmlElement, texts: Collection[str]) -> bool:
    """Whether the page of a heading has an h2 with one of some texts outside of its footer."""
    return bool(texts) and any(
        text_of(element) in texts and next(element.iterancestors("footer"), None) is None
        for element in islice(heading.getroottree().iter("h2"), _OTHERS)
    )


def _is_logo(element: HtmlElement, text: str, title: str) -> bool:
    """Whether a heading is a link whose words the title has behind others: a site's name."""
    heading = fold(text)
    # Most titles begin with the heading.
    if fold(title).startswith(heading) or not _contains(title, text):
        return False
    link = next(element.iterdescendants("a"), None)
    return link is not None and fold(text_of(link)) == heading


@lru_cache(maxsize=64)  # a title is compared with every heading
def fold(text: str) -> str:
    """The words of a text, in lower case."""
    return " ".join(tokens(text))


def _contains(text: str, part: str) -> bool:
    """Whether a text holds the words of another, with any punctuation."""
    words = fold(part)
    return bool(words) and f" {words} " in f" {fold(text)} "


def agree(a: str, b: str) -> bool:
    """Whether one of two names is the other with something added."""
    return _contains(a, b) or _contains(b, a)

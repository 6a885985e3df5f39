"""The heading of a page and its title, without what all pages of a site share."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.text.markup import said

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from scrapy_simhash.text.markup import Markup

__all__ = ["Titles", "agree", "find_titles"]

_WORD = re.compile("[A-Za-z0-9]+")


class Titles(NamedTuple):
    """What a page is called; `element` is the heading, None where there is none."""

    element: HtmlElement | None
    heading: str
    title: str


def find_titles(markup: Markup) -> Titles:
    """Return the heading of the page and its title, which becomes the heading if it holds it.

    Many sites put their own name into the title, and some into a heading above that of the page,
    which a print view lacks. The heading is the last of the first rank that the title holds, or
    else the first that the page has for other sites, or else the first; a logo only where there is
    no other.
    """
    title = markup.title
    headings = [(element, heading) for element, heading in markup.headings if heading]
    if not headings:
        return Titles(None, "", title)
    folded = _fold(title)
    ours = [(h, said) for h, said in headings if not _is_logo(h, _fold(said), folded)]
    headings = ours or headings
    if inside := [(h, said) for h, said in headings if _holds(folded, _fold(said))]:
        element, heading = inside[-1]
        if not _is_site_name(element, heading, markup):
            title = heading
    else:
        elsewhere = markup.metas.get("og:title", "")
        shared = ((h, said) for h, said in headings if _contains(elsewhere, said))
        element, heading = next(shared, headings[0])
    return Titles(element, heading, title)


def _is_site_name(element: HtmlElement, said: str, markup: Markup) -> bool:
    """Tell whether a heading inside the title is the part of it that all pages of a site share."""
    heading, title = _fold(said), _fold(markup.title)
    metas = markup.metas
    if heading == _fold(metas.get("og:site_name", "")):
        return True
    if _is_logo(element, _again(heading), _again(title)):
        return True
    if (elsewhere := metas.get("og:title")) is not None and not _contains(elsewhere, heading):
        return True
    # The title may hold another heading, which is then the one that only this page has.
    rest = _fold(title.replace(heading, " ", 1))
    return bool(rest) and any(_may_hold(rest, o) and _holds(rest, _fold(o)) for o in markup.others)


def _is_logo(element: HtmlElement, heading: str, title: str) -> bool:
    """Tell whether a heading is a link whose words the title ends with, as with a site's name.

    Both are folded.
    """
    # Most titles begin with the heading.
    if title.startswith(heading) or not _holds(_again(title), _again(heading)):
        return False
    link = next(element.iterdescendants("a"), None)
    return link is not None and _fold(said(link)) == heading


@lru_cache(maxsize=64)  # a title is held against every heading
def _fold(text: str) -> str:
    return " ".join(tokens(text))


def _again(folded: str) -> str:
    """Fold once more, which changes few texts, and none of ASCII."""
    return folded if folded.isascii() else _fold(folded)


def _contains(text: str, part: str) -> bool:
    """Tell whether a text holds the words of another, whatever stands between them."""
    return _holds(_fold(text), _fold(part))


def _holds(folded: str, part: str) -> bool:
    """The same where both are folded."""
    return bool(part) and f" {part} " in f" {folded} "


def _may_hold(folded: str, part: str) -> bool:
    """Tell whether the first word of another text stands in a folded one: that takes far less."""
    word = _WORD.search(part) if part.isascii() else None
    return word is None or word[0].lower() in folded


def agree(a: str, b: str) -> bool:
    """Tell whether one of two names is the other with something added."""
    return _contains(a, b) or _contains(b, a)

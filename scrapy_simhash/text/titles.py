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

# Words behind a heading, up to a separator such as that before the name of the site.
_ADDED = re.compile(r",? \w(?:(?! [-~] )[^|–—:·•«»<>/()\[\]_]){0,80}(?<! )")
# Subheadings that are read.
_SUBHEADINGS = 64
# How a page is shown, at the beginning or end of its title. "Print" alone may be its subject,
# as in "Ferry | Print" of a shop for pictures, except before a colon.
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
# Words that a site may add to its name.
_BESIDE = frozenset(("the", "mobile", "online", "news"))


class Titles(NamedTuple):
    """The names of a page, "" for those that it lacks, and the element of the heading."""

    element: HtmlElement | None
    heading: str
    title: str


def find_titles(markup: Markup, domain: str = "") -> Titles:
    """The heading of the page, and its title, which is the heading if the title contains it.

    Many sites put their own name into the title, and some into a heading above that of the page,
    which a print view lacks. So the heading is the last h1 that the title contains, or else the
    first h1 that og:title contains, or else the first h1. A logo is the heading only if there is no
    other. The title has neither words that tell how the page is shown, such as "Print view", nor a
    last part that is the name of the domain.
    """
    title = _SHOWN.sub("", markup.title)
    markup = markup._replace(title=title)
    title = _without_site(title, domain)
    headings = [(element, heading) for element, heading in markup.headings if heading]
    if not headings:
        return Titles(None, "", title)
    headings = [pair for pair in headings if not _is_logo(*pair, markup.title)] or headings
    if in_title := [pair for pair in headings if _contains(markup.title, pair[1])]:
        element, heading = in_title[-1]
        if not _is_site_name(element, heading, markup):
            title = heading + _added(markup.title, heading)
    else:
        og_title = markup.metas.get("og:title", "")
        in_og_title = (pair for pair in headings if _contains(og_title, pair[1]))
        element, heading = next(in_og_title, headings[0])
    return Titles(element, heading, title)


def _without_site(title: str, domain: str) -> str:
    """A title without its last part, if that is the name of the site as in its domain."""
    name = domain.partition(".")[0].replace("-", "")
    *_, last = None, *_SEPARATOR.finditer(title)
    if not name or last is None:
        return title
    words = fold(title[last.end() :]).split()
    without_added = [word for word in words if word not in _BESIDE]
    return title[: last.start()] if name in ("".join(words), "".join(without_added)) else title


def _added(title: str, heading: str) -> str:
    """What a title adds to the heading before its next separator, as " in Ashford" in a job ad."""
    match = _ADDED.match(title, len(heading)) if title.startswith(heading) else None
    return match[0] if match else ""


def _is_site_name(element: HtmlElement, text: str, markup: Markup) -> bool:
    """Whether a heading in the title is the part of it that all pages of the site share."""
    heading, metas = fold(text), markup.metas
    name = fold(metas.get("og:site_name", ""))
    if heading == name or _is_logo(element, text, markup.title):
        return True
    if (og_title := metas.get("og:title")) is not None and not _contains(og_title, text):
        return True
    # If the title also contains an h2 that is neither the site's name nor in a footer, that is the
    # name of the page. So is a longer h1 that contains the rest of the title, such as "Error E1"
    # below "Errors", on a page titled "E1 - Errors".
    rest = fold(fold(markup.title).replace(heading, " ", 1))
    if not rest:
        return False
    in_rest = {h2 for h2 in markup.subheadings if _contains(rest, h2) and fold(h2) != name}
    return _has_in_body(element, in_rest) or any(
        _contains(other, rest) and fold(other) != rest for _, other in markup.headings
    )


def _has_in_body(heading: HtmlElement, texts: Collection[str]) -> bool:
    """Whether the page of a heading has an h2 with one of these texts outside of its footer."""
    return bool(texts) and any(
        text_of(element) in texts and next(element.iterancestors("footer"), None) is None
        for element in islice(heading.getroottree().iter("h2"), _SUBHEADINGS)
    )


def _is_logo(element: HtmlElement, text: str, title: str) -> bool:
    """Whether a heading is a link with words that the title has behind others: a site's name."""
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
    """Whether a text contains the words of a part, with any punctuation."""
    words = fold(part)
    return bool(words) and f" {words} " in f" {fold(text)} "


def agree(a: str, b: str) -> bool:
    """Whether two names are equal, or one of them is the other with words added."""
    return _contains(a, b) or _contains(b, a)

"""The names of a page: its title and its heading, without the name of the site."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from lxml.html import HtmlElement

from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.text.markup import Markup

# Between the parts of a title.
_SEPARATOR = re.compile(" ?[:：|｜_–—·•«»（【] ?| - ")
# Words that a site may add to its name.
_BESIDE = frozenset(("the", "forum", "mobile", "online", "news"))


class Titles(NamedTuple):
    """The names of a page, "" for those that it lacks, and the element of the heading."""

    element: HtmlElement | None
    heading: str
    title: str


def find_titles(markup: Markup, domain: str = "") -> Titles:
    """The heading of the page, and its title, which is the heading if a part of it ends with that.

    Many sites put their own name, that of a section and words such as "Print" beside the heading,
    which other views lack. The heading is the first h1 with which a part of the title ends, or else
    the first h1. One that is the last of several parts is the name of the site, and stands behind
    all others. Any other title has no first or last part that is the name of the domain.
    """
    title, headings = markup.title, [pair for pair in markup.headings if pair[1]]
    separators = [*_SEPARATOR.finditer(title)]
    beginnings = [f" {fold(title[: one.start()])}" for one in separators] + [f" {fold(title)}"]
    last = fold(title[separators[-1].end() :]) if separators else ""
    own = [pair for pair in headings if fold(pair[1]) not in ("", last)]
    for element, heading in own:
        if any(one.endswith(f" {fold(heading)}") for one in beginnings):
            return Titles(element, heading, heading)
    title = _without_site(title, domain)
    found = own or headings
    return Titles(*found[0], title) if found else Titles(None, "", title)


def _without_site(title: str, domain: str) -> str:
    """A title without its last or first part, if that is the name of the site as in its domain."""
    name = domain.partition(".")[0].replace("-", "")
    separators = [*_SEPARATOR.finditer(title)] if name else []
    for one in (*separators[-1:], *separators[:1]):
        for part, rest in (
            (title[one.end() :], title[: one.start()]),
            (title[: one.start()], title[one.end() :]),
        ):
            words = fold(part).split()
            without_added = [word for word in words if word not in _BESIDE]
            if name in ("".join(words), "".join(without_added)):
                return rest
    return title


@lru_cache(maxsize=64)  # a title is compared with every heading
def fold(text: str) -> str:
    """The words of a text, in lower case."""
    return " ".join(tokens(text))


def agree(a: str, b: str) -> bool:
    """Whether two names are equal, or one of them is the other with words added."""
    return _contains(a, b) or _contains(b, a)


def _contains(text: str, part: str) -> bool:
    """Whether a text contains the words of a part, with any punctuation."""
    words = fold(part)
    return bool(words) and f" {words} " in f" {fold(text)} "

"""What a page says beside its item: its main text, its facts and its name, read when needed."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, Literal

import numpy as np
from lxml import etree
from lxml.html import HtmlElement
from numpy.typing import NDArray
from scrapy.http import HtmlResponse

from scrapy_simhash.crawl.scrapy_internals import has_tree
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.tracking import Page
from scrapy_simhash.features.changes import Changes
from scrapy_simhash.features.shingles import among, shingle_sets, shingles
from scrapy_simhash.item.content import read_facts
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.fields import MIN_PROSE
from scrapy_simhash.item.names import TITLES
from scrapy_simhash.item.urls import site
from scrapy_simhash.simhash.measure import common
from scrapy_simhash.text.html import decode, is_too_complex, is_too_large, parse_html
from scrapy_simhash.text.markup import short
from scrapy_simhash.text.page import PageContent, read_page
from scrapy_simhash.text.page_facts import PageFacts

#: Why a page has no text to compare.
NoText = Literal["no_text", "no_main_text", "not_text", "too_complex", "too_large"]

# An item's text is a loose cut of its page if it has this share of the main text,
_PART = 0.3
# and a passage of this many words that the main text lacks,
_BEYOND = 3
# and if this share of it stands on the page,
_OF_PAGE = 0.97
# or this share, where this share of each other passage does.
_MOST = 0.8
_PIECES = 0.5
# It has all of the main text with this share of its pairs: words may be joined differently.
_HOLDS = 0.95
# It has a line with this share.
_LINE = 0.8
# The share of boilerplate in what is not in the main text; the joints of lines are none.
_BESIDE = 1 / 3
# Plain strings are found without an object for each element.
_TEXTS = etree.XPath("//text()", smart_strings=False)
_TITLE = etree.XPath("string(head/title)", smart_strings=False)
# Numbers in a title beside its name; that of a page of comments is none.
_NUMBERS = re.compile(r"(?:page|seite|p[aá]gina|第)\s*\d+|(\d+)", re.IGNORECASE)


@dataclass(eq=False)
class PageText:
    """Reads a page: nothing before it is asked for, and each part once.

    Hashes depend on the secret; `since` is when the crawl started.
    """

    page: Page
    settings: Settings
    secret: bytes
    since: float

    @property
    def is_html(self) -> bool:
        """Whether there is a page for readers: an API answers in JSON, a feed in XML."""
        return isinstance(self.page.response, HtmlResponse)

    @cached_property
    def _root(self) -> HtmlElement | NoText:
        response = self.page.response
        if not isinstance(response, HtmlResponse):
            return "not_text"
        if is_too_large(response.body):
            return "too_large"
        text = _decoded(response)
        if is_too_complex(text, is_parsed=has_tree(response)):
            return "too_complex"
        try:
            root = response.selector.root
        except (LookupError, UnicodeError):
            root = parse_html(text)
        # A comment, for example, is a root without a name.
        return root if isinstance(getattr(root, "tag", None), str) else "no_text"

    @cached_property
    def content(self) -> PageContent | NoText:
        """The main text, or why there is none to compare."""
        root = self._root
        if isinstance(root, str):
            return root
        settings = self.settings
        says = read_page(root, settings.extractor, most=settings.max_text, secret=self.secret)
        if says is None:
            return "too_large"
        return "no_main_text" if says.text.strip() and not says.is_representative else says

    @cached_property
    def _says(self) -> PageFacts | None:
        return None if isinstance(self._root, str) else PageFacts(self._root, site(self.page.url))

    @cached_property
    def facts(self) -> Facts:
        """The facts of the page; none of a page that can't be read."""
        return Facts() if self._says is None else self._facts(self._says.facts)

    def facts_beside(self, own: Facts) -> Facts:
        """The facts of an item with a text of its own, and those of a page that was parsed for it.

        Beside its title, that of the page counts only if it begins with the heading. Otherwise it
        is likely to hold the names of site and section.
        """
        if not self._is_parsed or self._says is None:
            return own
        values = dict(self._says.facts)
        heading = values.get("page:heading")
        is_known = heading and values.get("page:title", "").startswith(heading)
        if not is_known and not TITLES.isdisjoint(own.names):
            values.pop("page:title", None)
        return own.joined(self._facts(values))

    def _facts(self, values: Mapping[str, Any]) -> Facts:
        return read_facts(
            values, page_url=self.page.url, since=self.since, now=time.time(), secret=self.secret
        )

    @cached_property
    def _is_parsed(self) -> bool:
        response = self.page.response
        return isinstance(response, HtmlResponse) and has_tree(response)

    @cached_property
    def title(self) -> str:
        """The text of its title, if the spider has parsed the page; else ""."""
        root = self._root if self._is_parsed else ""
        return "" if isinstance(root, str) else short(_TITLE(root))

    def name(self) -> str:
        """Its title without the names of its site and section, but with the numbers in these."""
        name = self.title if self._says is None else self._says.titles.title or self.title
        rest = self.title.replace(name, " ", 1) if name in self.title else ""
        return " ".join([name, *filter(None, _NUMBERS.findall(rest))])

    def cut(self, prose: Sequence[str]) -> str | None:
        """What the prose of an item has of the page's main text, with what stands around that.

        Such as counters, names of buttons and lists of related pages, which change. None of prose
        that has nothing of the kind, or little of the main text; or of several fields, one of which
        has anything else.
        """
        if not self._is_parsed:
            return None
        says, root = self.content, self._root
        if isinstance(says, str) or isinstance(root, str):
            return None
        text = "\n".join(prose)
        own, main = shingle_sets([text, says.text], self.secret)
        (held,) = common(own, [main])
        if main.size < MIN_PROSE or held < _PART * main.size or own.size - held <= _BEYOND:
            return None
        is_whole = held >= _HOLDS * main.size
        if len(prose) > 1 or not is_whole:
            # The main text may lack what the spider has chosen well, which is hardly boilerplate.
            boilerplate = shingles(says.boilerplate, self.secret)
            for one in [own] if len(prose) == 1 else shingle_sets(prose, self.secret):
                beyond = np.setdiff1d(one, main, assume_unique=True)
                (beside,) = common(beyond, [boilerplate])
                if beyond.size > _BEYOND and beside <= max(_BEYOND, _BESIDE * beyond.size):
                    return None
        # Or in the texts of scripts, maybe.
        if not self._is_in(own, text, says.visible, says.pairs):
            whole = " ".join(_TEXTS(root)).encode()
            if not self._is_in(own, text, whole, shingles(whole, self.secret)):
                return None
        return says.text if is_whole else _lines_in(own, says.text, self.secret)

    def _is_in(
        self, own: NDArray[np.uint64], text: str, whole: bytes, pairs: NDArray[np.uint64]
    ) -> bool:
        """Whether a text is taken from another in UTF-8, with some left out, or in another order.

        `own` and `pairs` are the shingles of the two.
        """
        (held,) = _shares([own], pairs)
        if not _MOST <= held < _OF_PAGE:
            return held >= _OF_PAGE
        changes = Changes.of(text, whole.decode()).all
        pieces = [" ".join(change.new) for change in changes if len(change.new) >= _BEYOND]
        return all(share >= _PIECES for share in _shares(shingle_sets(pieces, self.secret), pairs))


def _shares(sets: list[NDArray[np.uint64]], pairs: NDArray[np.uint64]) -> list[float]:
    """The share of each of some sets of shingles that another set has."""
    return [held / max(one.size, 1) for one, held in zip(sets, common(pairs, sets), strict=True)]


def _lines_in(own: NDArray[np.uint64], text: str, secret: bytes) -> str | None:
    """The lines of a text that another one has, given its shingles; None if they are no prose."""
    sets = shingle_sets(lines := text.split("\n"), secret)
    ends = np.cumsum([0, *map(len, sets)])  # one by one takes longer than hashing
    held = np.append(0, among(np.concatenate(sets), own).cumsum())[ends]
    found = "\n".join(compress(lines, np.diff(held) >= np.maximum(1, _LINE * np.diff(ends))))
    return found if shingles(found, secret).size >= MIN_PROSE else None


def _decoded(response: HtmlResponse) -> str:
    """The page as its spider sees it; as a browser does if it declares an unknown encoding."""
    try:
        return response.text
    except (LookupError, UnicodeError):
        return decode(response.body)

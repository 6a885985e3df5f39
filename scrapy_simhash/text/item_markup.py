"""HTML in the values of an item: whole pages and fragments."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from scrapy_simhash.item.content import ItemContent, read_facts
from scrapy_simhash.item.folding import without_tags
from scrapy_simhash.text.density import body
from scrapy_simhash.text.html import is_too_complex, is_too_large, parse_html
from scrapy_simhash.text.page import Extractor, read_page
from scrapy_simhash.text.page_facts import page_facts

_PAGE = re.compile(
    r"\s*+(?:<\?[^>]*+>\s*+|<!--(?:[^-]++|-(?!->))*+-->\s*+)*+<(?:!doctype|html|head|body)\b",
    re.IGNORECASE,
)


class MarkupReader:
    """Reads the values of one item.

    Args:
        extractor: finds the main text of a page.
        max_text: a page that shows more characters is not compared by its main text.
    """

    def __init__(self, extractor: Extractor, max_text: int) -> None:
        self._extractor, self._max_text = extractor, max_text
        self._facts: dict[str, Any] = {}

    def text(self, markup: str) -> str:
        """The text of a value: the main text of a page, "" if it has none; all of a fragment."""
        root = None if _is_too_much(markup) else parse_html(markup)
        if root is None or not isinstance(root.tag, str):
            return without_tags(markup)
        if not _PAGE.match(markup):
            return body(root)
        content = read_page(root, self._extractor, most=self._max_text)
        if content is None:
            return without_tags(markup)
        self._facts |= page_facts(root)
        return content.text if content.is_representative else ""

    def with_facts(self, content: ItemContent, **options: Any) -> ItemContent:
        """Add the facts of the pages to the item's content; options as of `read_facts`."""
        if not self._facts:
            return content
        facts = content.facts.joined(read_facts(self._facts, **options))
        return replace(content, facts=facts)


def _is_too_much(markup: str) -> bool:
    return is_too_large(markup.encode("utf-8", "replace")) or is_too_complex(
        markup, is_parsed=False
    )

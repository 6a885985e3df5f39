"""The text and the facts of pages."""

from scrapy_simhash.text.extractor import Extractor, load_extractor, page_text
from scrapy_simhash.text.html import parse_html

__all__ = ["Extractor", "load_extractor", "page_text", "parse_html"]

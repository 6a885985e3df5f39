"""Items: their text, facts and address, and whether two items conflict."""

from __future__ import annotations

from scrapy_simhash.item.content import ItemContent, read_item
from scrapy_simhash.item.facts import Facts, conflict

__all__ = ["Facts", "ItemContent", "conflict", "read_item"]

"""Queries behind the commands and the report. They only read, and never take a crawl's lock."""

from scrapy_simhash.history.better import Better, better
from scrapy_simhash.history.documents import Documents, documents
from scrapy_simhash.history.drops import (
    SAME,
    Drop,
    count_drops,
    drops,
    largest_groups,
    quarantined,
    unpack,
)
from scrapy_simhash.history.fields import Field, fields
from scrapy_simhash.history.kept import (
    KeptBeside,
    KeptPair,
    kept_beside,
    kept_times,
    nearest_kept,
)
from scrapy_simhash.history.namespaces import (
    NotFound,
    RunRow,
    choose_namespace,
    namespaces,
    runs,
)
from scrapy_simhash.history.pages import PageHistory, pages, texts, urls
from scrapy_simhash.history.patterns import LEAST, Pattern, patterns, repeating
from scrapy_simhash.history.query import NamespaceRow

__all__ = [
    "LEAST",
    "SAME",
    "Better",
    "Documents",
    "Drop",
    "Field",
    "KeptBeside",
    "KeptPair",
    "NamespaceRow",
    "NotFound",
    "PageHistory",
    "Pattern",
    "RunRow",
    "better",
    "choose_namespace",
    "count_drops",
    "documents",
    "drops",
    "fields",
    "kept_beside",
    "kept_times",
    "largest_groups",
    "namespaces",
    "nearest_kept",
    "pages",
    "patterns",
    "quarantined",
    "repeating",
    "runs",
    "texts",
    "unpack",
    "urls",
]

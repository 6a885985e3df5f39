"""The settings of the crawl. One line of them is about duplicates."""

from __future__ import annotations

BOT_NAME = "newsroom"
SPIDER_MODULES = ["newsroom.spiders"]
NEWSPIDER_MODULE = "newsroom.spiders"

ADDONS = {"scrapy_simhash.Addon": 500}

FEEDS = {
    ".scrapy/stories.jsonl": {"format": "jsonlines", "encoding": "utf-8", "overwrite": True},
}

# The site is our own, on this machine: it has no robots.txt and needs no proxy.
ROBOTSTXT_OBEY = False
HTTPPROXY_ENABLED = False

LOG_LEVEL = "INFO"

"""The settings of the crawl. One line of them is about duplicates."""

from __future__ import annotations

BOT_NAME = "newsroom"
SPIDER_MODULES = ["newsroom.spiders"]
NEWSPIDER_MODULE = "newsroom.spiders"

ADDONS = {"scrapy_simhash.Addon": 500}

FEEDS = {
    ".scrapy/%(name)s.jsonl": {"format": "jsonlines", "encoding": "utf-8", "overwrite": True},
}

# The sites are our own, on this machine, and have no robots.txt. They are reached through the proxy
# that the environment variable http_proxy names.
ROBOTSTXT_OBEY = False

LOG_LEVEL = "INFO"

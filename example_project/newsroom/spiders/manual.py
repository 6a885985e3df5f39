"""A spider that knows a manual, and nothing about duplicates."""

from __future__ import annotations

from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from newsroom.items import Chapter


class ManualSpider(CrawlSpider):
    """Stores the chapters of all versions."""

    name = "manual"
    start_urls = ("http://manual.example/",)
    rules = (Rule(LinkExtractor(allow=r"/(latest|\d[\d.]*)/"), callback="parse_chapter"),)

    def parse_chapter(self, response: HtmlResponse) -> Chapter:
        """Store the chapter."""
        return Chapter(
            url=response.url,
            title=response.css("h1::text").get(),
            version=response.css(".version::text").get(),
            body=response.css(".chapter p::text").get(),
        )

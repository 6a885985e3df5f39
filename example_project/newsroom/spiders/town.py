"""A spider that knows a few shops and councils, and nothing about duplicates."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from newsroom.items import Event, Meeting, Offer


class TownSpider(CrawlSpider):
    """Stores what the shops offer, when the committees meet, and what is on."""

    name = "town"
    start_urls = (
        "http://chandlery.example/",
        "http://quayside.example/",
        "http://council.example/",
        "http://chuanju.example/",
        "http://yuhang.example/",
        "http://zhenwu.example/",
    )
    rules = (
        Rule(LinkExtractor(allow=r"/offer/"), callback="parse_offer"),
        Rule(LinkExtractor(allow=r"/meeting/"), callback="parse_meeting"),
        Rule(LinkExtractor(allow=r"/events/"), callback="parse_events"),
    )

    def parse_offer(self, response: HtmlResponse) -> Iterator[Offer]:
        """Store the one thing that is offered."""
        yield Offer(
            url=response.url,
            name=response.css("h1::text").get(),
            price=response.css(".price::text").get(),
            size=response.css(".size::text").get(),
            description=response.css(".description p::text").get(),
        )

    def parse_meeting(self, response: HtmlResponse) -> Iterator[Meeting]:
        """Store the meeting."""
        yield Meeting(
            url=response.url,
            committee=response.css("h1::text").get(),
            date=response.css(".when::text").get(),
            place=response.css(".where::text").get(),
            agenda="\n".join(response.css(".agenda p::text").getall()),
        )

    def parse_events(self, response: HtmlResponse) -> Iterator[Event]:
        """Store every line of the list."""
        for row in response.css("table.events tr"):
            yield Event(
                name=row.css(".name::text").get(),
                date=row.css(".date::text").get(),
                place=row.css(".place::text").get(),
            )

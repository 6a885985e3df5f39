"""A spider that knows a few news sites, and nothing about duplicates."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

from newsroom.items import Author, Story

# Where the sites keep the text of a story.
TEXT = (
    ".article-body p, .entry-content p, .post-text, .article_content p, td.content p, .rich-text, "
    "#print-text p"
)

# Lists and stories, and nothing else.
LINKS = LinkExtractor(allow=[r"//[^/]+/(papers/|page/\d+/)?$", r"/(story|print)/"])


class NewsSpider(Spider):
    """Follows the lists of the sites and stores every story: `-a site=http://wire.example/`."""

    name = "news"
    site = "http://wire.example/"

    async def start(self) -> AsyncIterator[Request]:
        """Begin at the front page."""
        yield Request(self.site)

    def parse(self, response: Response) -> Iterator[Request | Story | Author]:
        """Store the story, if the page has one, and its author, and follow the links."""
        if not isinstance(response, HtmlResponse):
            return
        title = response.css("h1::text").get()
        if title is not None:
            paragraphs = response.css(TEXT) or response.css("p")
            yield Story(
                url=response.url,
                title=title,
                text="\n".join(paragraphs.xpath("normalize-space()").getall()),
                language=response.css("html::attr(lang)").get(),
            )
        for box in response.css(".author-box"):
            yield Author(name=box.css("b::text").get(), about=box.css("span::text").get())
        yield from response.follow_all(LINKS.extract_links(response))

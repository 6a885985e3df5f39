"""A forum: boards, threads of several pages, posts with quotes and signatures.

Every fourth thread can also be read by its last post, under an address of another form.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter

from projects.truth import Project
from scrapy import Field, Item, Spider
from site_pages import layout, links, paragraphs, person, sentences, title

HOST = "http://forum.example"
BOARDS, THREADS, PAGES, PER_PAGE = 2, 6, 3, 8


class Post(Item):
    board = Field()
    thread = Field()
    number = Field()
    author = Field()
    posted = Field()
    text = Field()
    link = Field()
    fetched = Field()


class ForumSpider(Spider):
    name = "forum_posts"
    start_urls = (f"{HOST}/",)

    def parse(self, response):
        yield from response.follow_all(css="ul.boards a", callback=self.parse_board)

    async def parse_board(self, response):
        for thread in response.css("ul.threads a, ul.last a"):
            yield response.follow(thread, self.parse_thread)

    def parse_thread(self, response):
        for post in response.css("div.post"):
            yield Post(
                board=response.css(".crumb::text").get(),
                thread=response.css("h1::text").get(),
                number=int(post.attrib["data-number"]),
                author=post.css(".author::text").get(),
                posted=dt.datetime.fromisoformat(post.css("time::attr(datetime)").get()),
                text="\n".join(
                    post.css(".content > p::text, .content > blockquote::text").getall()
                ),
                link=response.urljoin(post.css("a.permalink::attr(href)").get()),
                fetched=dt.datetime.now(dt.UTC),
            )
        for link in response.css("a.older"):
            yield response.follow(link, self.parse_thread)


def post(thread: int, number: int) -> str:
    """Every fifth quotes the one before it whole; some only say thanks, in the same words."""
    author = person((thread + number) % 9)
    text = sentences((thread, number), 10 + number * 13 % 60)
    if number % 6 == 5:
        text = "Thanks a lot, that did it for me."
    quoted = number % 5 == 4
    before = sentences((thread, number - 1), 10 + (number - 1) * 13 % 60)
    quote = f"<blockquote>{before}</blockquote>" if quoted else ""
    posted = dt.datetime(2023, 1 + thread, 1 + number % 27, 8 + number % 12, tzinfo=dt.UTC)
    return (
        f"<div class='post' data-number='{number}'><span class='author'>{author}</span>"
        f"<time datetime='{posted.isoformat()}'>{posted:%d.%m.%Y}</time>"
        f"<a class='permalink' href='/thread/{thread}/post/{number}'>#{number}</a>"
        f"<div class='content'>{quote}<p>{text}</p>"
        f"<div class='signature'><p>{sentences(author, 40)}</p></div></div></div>"
    )


def thread_page(thread: int, page: int, path: str) -> bytes:
    posts = "".join(post(thread, page * PER_PAGE + number) for number in range(PER_PAGE))
    older = f"<a class='older' href='{path}?page={page + 2}'>next page</a>"
    rules = paragraphs(sentences("the rules of this board", 90))
    main = f"<p class='crumb'>{title(f'board {thread % BOARDS}', 2)}</p>{rules}{posts}"
    return layout("forum", title(thread, 6), main + (older if page + 1 < PAGES else ""))


def forum() -> Project:
    boards = links([f"/board/{board}" for board in range(BOARDS)], "boards")
    pages = {"/": layout("forum", "Boards", boards)}
    things = Counter()
    for board in range(BOARDS):
        threads = range(board, THREADS, BOARDS)
        last = [f"/last/{thread}" for thread in threads if thread % 4 == 0]
        listed = links([f"/thread/{thread}" for thread in threads], "threads")
        pages[f"/board/{board}"] = layout("forum", "Threads", listed + links(last, "last"))
    for thread in range(THREADS):
        forms = [f"/thread/{thread}"] + ([f"/last/{thread}"] if thread % 4 == 0 else [])
        for path in forms:
            for page in range(PAGES):
                address = f"{path}?page={page + 1}" if page else path
                pages[address] = thread_page(thread, page, path)
        for number in range(PAGES * PER_PAGE):
            things[f"{HOST}/thread/{thread}/post/{number}"] = len(forms)
    hosts = {"forum.example": pages}
    return Project(ForumSpider, hosts, things, lambda item: item["link"], frozenset(things))

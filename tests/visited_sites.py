"""Sites in a line each, crawls of them one after the other, and what each made of them.

A line is a visit: pages in the order in which they are fetched.

    a T price:10, two/a T, b U', l [e1 V price:9; e2 price:8], c 404

A page is an address, a text and facts. Addresses below `two/` are those of another site, below
`sub/` of another host. A text has 240 words; pages of equal texts have equal titles, unless they
have others. Changes of a text are appended to its name: `'` corrects a word, `'4` four words, `~`
sixty words in a row, `+` adds a sentence, `-` cuts the last one, `^` writes it in capitals, `#7`
appends a counter. In brackets are the entries of a list, each with an address of its own; one that
begins with `*` has none. Further words:

    404       the status of the page, whose content is then an error
    print     the page without all that surrounds its content
    json      JSON instead of a page
    stamped   the item has the time when it was fetched
    unread    the item does not have the text of its page
    refused   a later pipeline drops the item
    raises    the callback fails
    stops     the crawl is stopped after this page
    meanwhile the next visit runs before the callback ends

Words that begin with ! belong to the visit: `!spider:other`, `!arg:x` (an argument of the spider),
`!job` (with a JOBDIR), `!crash` (the feed can't be stored).
"""

from __future__ import annotations

import datetime as dt
import json
import re
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from hosts import serve_hosts
from loopback import Crawl, Page, crawl
from scrapy import Request, Spider
from scrapy.exceptions import CloseSpider, DropItem
from servers import cleared_database
from site_pages import bare, layout, sentences, title

from scrapy_simhash.signals import item_change

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from pathlib import Path

    from scrapy.http import Response

WORDS = {"print", "json", "stamped", "unread", "refused", "raises", "stops", "meanwhile"}


class Thing(NamedTuple):
    """A page, or the entry of one.

    Attributes:
        site: a name that all texts and hosts of the site derive from.
        label: its address on the site.
        text: the name of its text, "" for none.
        facts: fields of its item.
        words: what else there is to it.
        entries: those of a list.
    """

    site: str
    label: str
    text: str
    facts: dict[str, str]
    words: frozenset[str]
    entries: tuple[Thing, ...] = ()

    @property
    def host(self) -> str:
        # The list of public suffixes does not have `example`. Every request goes to a proxy.
        name = f"s{zlib.crc32(self.site.encode()):08x}"
        if self.label.startswith("two/"):
            return f"{name}-two.com"
        return f"sub.{name}.com" if self.label.startswith("sub/") else f"{name}.com"

    @property
    def url(self) -> str:
        return f"http://{self.host}/{self.label}"

    @property
    def fields(self) -> dict[str, str]:
        """What its item has besides the address."""
        base = re.split(r"['~+^#-]", self.text)[0] or re.split(r"[?/]", self.label)[-1]
        text = {"text": "\n".join(self.paragraphs)} if self.text else {}
        return {"title": title(f"{self.site} {base}"), **self.facts, **text}

    @property
    def paragraphs(self) -> list[str]:
        """The sentences of the text, some to a paragraph."""
        base, changes = re.fullmatch(r"(\w+)(.*)", self.text).groups()
        lines = [*lines_of(f"{self.site} {base}")]
        for change, number in re.findall(r"(['~+^#-])(\d*)", changes):
            lines = change_lines(lines, change, int(number or 1))
        return [" ".join(lines[at : at + 5]) for at in range(0, len(lines), 5)]


@cache
def lines_of(seed: str) -> tuple[str, ...]:
    return tuple(sentences(f"{seed} {number}", 12) for number in range(20))


def change_lines(lines: list[str], change: str, number: int) -> list[str]:
    match change:
        case "'":
            corrected = lines[:]
            for at in range(1, 1 + number):
                first, second, rest = corrected[at].split(" ", 2)
                corrected[at] = f"{first} {second[::-1]}x {rest}"
            return corrected
        case "~":
            return lines[:6] + [sentences(f"other {line}", 12) for line in lines[6:11]] + lines[11:]
        case "+":
            return [*lines, sentences(f"added to {lines[0]}", 12)]
        case "-":
            return lines[:-1]
        case "#":
            return [*lines, f"{number} views"]
        case _:
            return [line.upper() for line in lines]


def read_thing(site: str, written: str) -> Thing:
    """A page or entry as it is written."""
    written, _, inside = written.partition(" [")
    label, *words = written.split()
    text, facts, others = "", {}, set()
    for word in words:
        name, colon, value = word.partition(":")
        if colon:
            facts[name] = f"€{value}.00" if name == "price" and value.isdigit() else value
            facts[name] = facts[name].replace("_", " ")
        elif word in WORDS or word.isdigit():
            others.add(word)
        elif word != "-":
            text = word
    entries = (read_thing(site, entry) for entry in inside.rstrip("]").split("; ") if entry)
    return Thing(site, label, text, facts, frozenset(others), tuple(entries))


class Visit(NamedTuple):
    """What is fetched in one crawl, and how."""

    things: tuple[Thing, ...] = ()
    how: Mapping[str, str] = {}

    @classmethod
    def read(cls, site: str, line: str) -> Visit:
        flags = dict(flag.partition(":")[::2] for flag in re.findall(r"(?:^| )!(\S+)", line))
        pages = re.sub(r"(?:^| )!\S+", "", line).strip()
        # What is between brackets has no comma with a space.
        return cls(tuple(read_thing(site, page) for page in pages.split(", ") if page), flags)


def body_of(page: Thing) -> bytes | Page:
    """What a server sends."""
    if status := next((int(word) for word in page.words if word.isdigit()), 0):
        return Page(layout(page.host, "Error", "<p>Something is wrong here.</p>"), status=status)
    if "json" in page.words:
        return Page(json.dumps(page.fields).encode(), "application/json")
    if page.entries:
        about = "".join(f"<p>{sentences((page.url, n), 60)}</p>" for n in range(3))
        listed = "".join(map(markup_of, page.entries))
        return layout(page.host, title(page.url), about + listed)
    make = bare if "print" in page.words else lambda *given: layout(page.host, *given)
    return make(page.fields["title"], markup_of(page))


def markup_of(thing: Thing) -> str:
    """A thing with fields that a spider can read."""
    fields = "".join(
        f"<div class='field' data-name='{name}'>"
        + "".join(f"<p>{line}</p>" for line in value.split("\n"))
        + "</div>"
        for name, value in thing.fields.items()
    )
    return f"<div class='thing' data-label='{thing.label}'>{fields}</div>"


class Visitor(Spider):
    """Yields an item for each thing, and remembers of which."""

    pages: Mapping[str, Thing]
    meanwhile: Callable[[], Awaitable[object]]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        #: Items with what they were made of.
        self.given: list[tuple[Any, Thing]] = []
        self.changes: list[tuple[Any, dict[str, Any]]] = []

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.note, item_change)
        return spider

    def note(self, item, change):
        self.changes.append((item, dict(change)))

    async def start(self):
        for url in self.pages:
            yield Request(url, dont_filter=True)

    async def parse(self, response):
        page = self.pages[response.url]
        if "raises" in page.words:
            raise RuntimeError("the layout of the page is unknown")
        for thing, item in read_items(page, response):
            self.given.append((item, thing))
            yield item
        if "meanwhile" in page.words:
            await self.meanwhile()
        if "stops" in page.words:
            raise CloseSpider("enough")

    def thing_of(self, item: Any) -> Thing:
        """What an item was made of; a pipeline may have put another one in its place."""
        for given, thing in self.given:
            if given is item:
                return thing
        return next(thing for given, thing in self.given if given["url"] == item["url"])


def read_items(page: Thing, response: Response) -> Iterator[tuple[Thing, dict[str, Any]]]:
    things = {thing.label: thing for thing in page.entries}
    if "json" in page.words:
        yield page, {**response.json(), "url": response.url}
        return
    for one in response.css(".thing"):
        thing = things.get(one.attrib["data-label"], page)
        item = {
            part.attrib["data-name"]: "\n".join(part.css("::text").getall())
            for part in one.css(".field")
        }
        if not thing.label.startswith("*"):
            item["url"] = thing.url
        if "stamped" in thing.words:
            item["fetched"] = dt.datetime.now(dt.UTC).isoformat()
        if "unread" in thing.words:
            del item["text"]
        yield thing, item


class Refuses:
    """A pipeline that drops some items after they were checked."""

    def __init__(self, crawler):
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def process_item(self, item):
        if "refused" in self._crawler.spider.thing_of(item).words:
            raise DropItem("not wanted")
        return item


class FailsToStore:
    """A feed that is lost: its crawl counts as crashed."""

    def __init__(self, uri, *, feed_options=None):
        pass

    def open(self, spider):
        return BytesIO()

    def store(self, file):
        raise OSError("no space left on device")


class Change(NamedTuple):
    """What became of an item.

    Attributes:
        thing: what the item was made of.
        status: what the signal says, "unchecked" without one.
        stored: whether the item was stored.
        change: all that the signal says.
    """

    thing: Thing
    status: str
    stored: bool
    change: dict[str, Any]


@dataclass
class Outcome:
    """What one visit made of a site."""

    done: Crawl
    changes: list[Change]

    def of(self, site: str) -> Outcome:
        """The part of one site."""
        return Outcome(self.done, [one for one in self.changes if one.thing.site == site])

    @property
    def stored(self) -> list[Thing]:
        return [change.thing for change in self.changes if change.stored]


@dataclass
class Store:
    """The crawls of one database.

    Args:
        settings: of all crawls.
        folder: for JOBDIR.
    """

    settings: Mapping[str, Any]
    folder: Path
    outcomes: list[Outcome] = field(default_factory=list)

    async def visit(self, *visits: Visit) -> None:
        """Crawl, the next one while a page of the one before is read, if that has to wait for it.

        An outcome is added for each, in the order of the visits.
        """
        visit, *rest = visits
        place = len(self.outcomes)
        hosts: defaultdict[str, dict[str, bytes | Page]] = defaultdict(dict)
        for page in visit.things:
            hosts[page.host]["/" + page.label + ("" if "?" in page.label else "?")] = body_of(page)
        how = visit.how
        made = {
            "name": how.get("spider", "visitor"),
            "pages": {page.url: page for page in visit.things},
            "meanwhile": lambda _: self.visit(*rest),
        }
        arguments = {"arg": how["arg"]} if "arg" in how else {}
        with serve_hosts(hosts) as through:
            settings = {**self.settings, **through, **self._settings(how)}
            done = await crawl(type("Visitor", (Visitor,), made), settings, **arguments)
        self.outcomes.insert(place, Outcome(done, changes_of(done)))

    def _settings(self, how: Mapping[str, str]) -> dict[str, Any]:
        given: dict[str, Any] = {"SIMHASH_CHANGE_FIELD": "change", "ITEM_PIPELINES": {Refuses: 900}}
        if "job" in how:
            given["JOBDIR"] = str(self.folder / "job")
        if "crash" in how:
            given["FEED_STORAGES"] = {"lost": FailsToStore}
            given["FEEDS"] = {"lost:feed": {"format": "jsonlines"}}
        return given


async def first_crawl(settings: Mapping[str, Any], visit: Visit, folder: Path) -> Outcome:
    """Crawl with a database of its own, in a folder that is made for it."""
    folder.mkdir()
    url = cleared_database("sqlite", folder).render_as_string(hide_password=False)
    store = Store({**settings, "SIMHASH_DATABASE_URL": url}, folder)
    await store.visit(visit)
    return store.outcomes[-1]


def changes_of(done: Crawl) -> list[Change]:
    """What became of each item, in the order of the site."""
    spider: Any = done.crawler.spider
    stored = {id(item): item for item in done.items}
    said: dict[int, dict[str, Any]] = {}
    for item, change in spider.changes:
        assert id(item) not in said, f"two signals for one item: {said[id(item)]}, {change}"
        said[id(item)] = change
    for number, item in stored.items():
        assert item.get("change") == said.get(number), "the field and the signal differ"
    found = []
    for item, thing in spider.given:
        change = said.get(id(item), {})
        status = change.get("status", "unchecked")
        found.append(Change(thing, status, id(item) in stored, change))
    return found

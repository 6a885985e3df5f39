"""Known pages are not downloaded again, and nothing is missed."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import stat
from collections import Counter
from contextlib import closing
from io import BytesIO
from itertools import pairwise

import pytest
from loopback import crawl
from PIL import Image
from scrapy import Request, Spider
from scrapy.utils.defer import deferred_f_from_coro_f
from validated_site import PACKS, ValidatedSite, ValidPage, serve_validated
from web_poet import WebPage, field

from scrapy_simhash.db.pages import PageFile, StoredPage, file_size
from scrapy_simhash.index.index import Index


class Follows(Spider):
    """Follows all links; an item for each page with a text."""

    name = "follows"

    def __init__(self, url: str, **kwargs):
        super().__init__(**kwargs)
        self._url = url

    async def start(self):
        yield Request(f"{self._url}/", dont_filter=True)

    def parse(self, response, **kwargs):
        yield from self.items(response)
        for link in response.css("li a::attr(href)").getall():
            yield Request(response.urljoin(link))

    def items(self, response):
        if title := response.css("h1::text").get():
            text = "\n".join(response.css("article p::text").getall())
            yield {"url": response.url, "title": title, "text": text}


@pytest.fixture
def conditional(settings):
    return {**settings, "SIMHASH_KNOWN": "drop", "SIMHASH_REVISIT": "conditional"}


@pytest.fixture
def site():
    pages = {
        "/": ValidPage(links=["/a", "/list"]),
        "/list": ValidPage(links=["/b", "/c", "/d"]),
        **{f"/{name}": ValidPage(f"text {name}") for name in "abcd"},
    }
    site = ValidatedSite(pages)
    with serve_validated(site):
        yield site


async def visit(site, settings, spider=Follows, **kwargs):
    site.forget()
    return await crawl(spider, settings, url=site.url, **kwargs)


@pytest.mark.parametrize("known", ["drop", "pass"])
@deferred_f_from_coro_f
async def test_what_was_not_modified_is_not_downloaded(site, conditional, known, caplog):
    caplog.set_level("INFO")
    conditional["SIMHASH_KNOWN"] = known
    first = await visit(site, conditional)
    assert first.urls == ["/a", "/b", "/c", "/d"]
    second = await visit(site, conditional)
    assert second.urls == ([] if known == "drop" else first.urls)
    assert site.asked() == site.asked(304) == ["/", "/a", "/b", "/c", "/d", "/list"]
    assert second.stats["revisit/not_modified"] == 6
    assert second.stats["changes/unchanged"] == 4
    sizes = sum(len(page.body()) for page in site.pages.values())
    assert second.stats["revisit/bytes_not_downloaded"] == sizes
    assert f"6 of 6 known pages were not downloaded ({sizes:,} bytes)" in caplog.text
    site.change("/c", text="another text")
    site.change("/list", links=["/b", "/c", "/d", "/e"])
    site.pages["/e"] = ValidPage("text e")
    third = await visit(site, conditional)
    assert third.urls == (["/c", "/e"] if known == "drop" else [*first.urls, "/e"])
    assert site.asked(304) == ["/", "/a", "/b", "/d"]
    assert "changes/missing" not in {**second.stats, **third.stats}
    assert (first.errors, second.errors, third.errors) == (0, 0, 0)


@deferred_f_from_coro_f
async def test_a_look_up_that_fails_harms_no_item(site, conditional, monkeypatch):
    execute = Index.execute

    def fails(self, claims=(), **more):
        if any(document.downloaded_in for document in claims):
            raise ValueError("a damaged row")
        return execute(self, claims, **more)

    await visit(site, conditional)
    site.change("/b", text="another text")
    monkeypatch.setattr(Index, "execute", fails)
    assert {"/b"} <= {*(await visit(site, conditional)).urls}


@pytest.mark.parametrize(
    ("validator", "is_known"),
    [("weak", True), ("time", True), ("none", False), ("no-store", False), ("vary", False)],
)
@deferred_f_from_coro_f
async def test_pages_are_asked_for_as_their_server_allows(site, conditional, validator, is_known):
    site.pages["/b"].validator = validator
    for _ in range(2):
        await visit(site, conditional)
    assert ("/b" in site.asked(304)) is is_known
    site.change("/b", text="another text")
    assert (await visit(site, conditional)).urls == ["/b"]


@deferred_f_from_coro_f
async def test_a_server_that_is_wrong_is_found_out_by_a_tenth_visit(site, conditional):
    site.pages["/b"].validator = "false"
    await visit(site, conditional)
    site.change("/b", text="another text")
    found = []
    for number in range(20):
        if (await visit(site, conditional)).urls:
            found.append(number)
        site.change("/b", text=f"text {number}")
    assert len(found) in {1, 2}
    assert 9 <= found[0] < 20
    assert all(later - first == 10 for first, later in pairwise(found))


@pytest.mark.parametrize("cut", [*PACKS, "length"])
@deferred_f_from_coro_f
async def test_a_page_that_was_cut_is_read_again(site, conditional, cut):
    site.pages["/list"].cut = cut
    first = await visit(site, conditional | {"DOWNLOAD_FAIL_ON_DATALOSS": False})
    site.pages["/list"].cut = ""
    second = await visit(site, conditional)
    assert "/list" in site.asked(200)
    assert sorted(first.urls + second.urls) == ["/a", "/b", "/c", "/d"]
    await visit(site, conditional)
    assert site.asked(200) == []


def pages_of(tmp_path):
    return closing(sqlite3.connect(tmp_path / "seen-pages.db"))


@pytest.mark.parametrize("validator", ["etag", "none"])
@pytest.mark.parametrize("mode", ["adaptive", 3600])
@deferred_f_from_coro_f
async def test_pages_without_links_are_left_out_for_a_while(
    site, conditional, mode, validator, tmp_path
):
    given = conditional | {"SIMHASH_REVISIT": mode}
    for page in site.pages.values():
        page.validator = validator
    status = 304 if validator == "etag" else 200
    await visit(site, given)
    second = await visit(site, given)
    assert site.asked() == ["/", "/list"]
    assert second.stats["revisit/fresh"] == 4
    assert second.stats["changes/unchanged"] == 4

    def wait() -> None:
        with pages_of(tmp_path) as pages, pages:
            pages.execute("UPDATE pages SET checked = checked - 3601")

    wait()
    site.change("/b", text="another text")
    third = await visit(site, given)
    assert third.urls == ["/b"]
    assert {"/a", "/c", "/d", "/list"} <= {*site.asked(status)}
    wait()
    await visit(site, given)
    # What stayed as it was is asked for half as often, what has changed as often as at first.
    waits = ["/b"] if mode == "adaptive" else ["/a", "/b", "/c", "/d"]
    assert site.asked(status) == ["/", *waits, "/list"]


class ReadsTwice(Follows):
    """Asks for a page once more, with a callback that yields no requests."""

    name = "follows"

    def parse(self, response, **kwargs):
        yield from super().parse(response)
        if response.url.endswith("/list"):
            yield Request(response.url, self.items, dont_filter=True)

    def items(self, response):
        yield {"url": response.url, "title": response.css("h1::text").get("none")}


@pytest.mark.parametrize("mode", ["adaptive", 3600])
@deferred_f_from_coro_f
async def test_a_page_that_has_led_to_others_is_always_asked_for(site, conditional, mode):
    given = conditional | {"SIMHASH_REVISIT": mode}
    await visit(site, given, ReadsTwice)
    site.change("/list", links=["/b", "/c", "/d", "/e"])
    site.pages["/e"] = ValidPage("text e")
    assert "/e" in (await visit(site, given, ReadsTwice)).urls


class Fails(Follows):
    name = "follows"

    def items(self, response):
        yield from super().items(response)
        raise RuntimeError("fails after its item, and before its links")


@pytest.mark.parametrize(("spider", "text"), [(Follows, ""), (Fails, "text b")])
@deferred_f_from_coro_f
async def test_a_page_that_shows_nothing_or_fails_is_always_asked_for(
    site, conditional, spider, text
):
    """It may be a notice in place of the page."""
    given = conditional | {"SIMHASH_REVISIT": 3600}
    site.pages["/"] = ValidPage(text)
    await visit(site, given, spider)
    site.change("/", text="another text")
    assert (await visit(site, given)).urls == ["/"]


class SpeaksOf(Follows):
    name = "follows"
    language = "en"

    async def start(self):
        headers = {"X-Language": self.language}
        yield Request(f"{self._url}/a", headers=headers, dont_filter=True)


@pytest.mark.parametrize("mode", ["conditional", 3600])
@deferred_f_from_coro_f
async def test_a_page_belongs_to_the_headers_that_its_vary_names(site, conditional, mode):
    given = conditional | {"SIMHASH_REVISIT": mode}
    site.change("/a", validator="language")
    await visit(site, given, SpeaksOf)
    other = await visit(site, given, type("Other", (SpeaksOf,), {"language": "fr"}))
    assert site.asked(200) == ["/a"]
    assert other.stats["changes/changed"] == 1


class SaysHow(Follows):
    name = "says how"
    given = None

    def parse(self, response, **kwargs):
        for one in super().parse(response):
            yield one.replace(**self.given) if isinstance(one, Request) else one


BROWSERS = ("playwright", "splash", "zyte_api", "zyte_api_automap")


@pytest.mark.parametrize(
    "given",
    [
        {"meta": {"dont_cache": True}},
        {"headers": {"If-None-Match": '"mine"'}},
        {"headers": {"Range": "bytes=0-"}},
        {"method": "POST"},
        *({"meta": {name: {"browserHtml": True}}} for name in BROWSERS),
    ],
)
@deferred_f_from_coro_f
async def test_pages_of_some_requests_are_always_downloaded(site, conditional, given):
    await visit(site, conditional, SaysHow, given={})
    for _ in range(2):
        await visit(site, conditional, SaysHow, given=given)
    assert Counter(answer.status for answer in site.answers) == {200: 5, 304: 1}
    own = {"If-None-Match": given["headers"]["If-None-Match"]} if "mine" in str(given) else {}
    assert [answer.conditions for answer in site.answers if answer.path != "/"] == [own] * 5


class Browses:
    """As a download handler of a browser, or of a service that has one."""

    flag = "playwright"

    def process_response(self, request, response, spider=None):
        return response.replace(flags=[self.flag])


class Zyte(Browses):
    flag = "zyte-api"


@pytest.mark.parametrize("browser", [Browses, Zyte])
@deferred_f_from_coro_f
async def test_a_page_that_a_browser_has_filled_is_not_stored(site, conditional, browser, tmp_path):
    await visit(site, conditional | {"DOWNLOADER_MIDDLEWARES": {browser: 990}})
    assert file_size(tmp_path / "seen-pages.db").pages == 0


@deferred_f_from_coro_f
async def test_the_cache_of_scrapy_comes_first(site, conditional, tmp_path, caplog):
    cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        last = await visit(site, conditional | cached)
    assert site.asked() == []
    assert last.errors == 0
    assert "SIMHASH_REVISIT has no effect" in caplog.text
    assert "revisit/known" not in last.stats
    site.change("/b", text="another text")
    assert (await visit(site, conditional)).urls == ["/b"]


class Chooses(Follows):
    """Pages differ by what the request says, not by their URLs."""

    name = "chooses"

    async def start(self):
        for language in ("en", "zh"):
            for number in range(2):
                yield Request(
                    f"{self._url}/",
                    cookies={"store": str(number)},
                    headers={"Accept-Language": language},
                    dont_filter=True,
                )

    def parse(self, response):
        return []


@deferred_f_from_coro_f
async def test_requests_that_choose_what_a_page_shows_have_pages_of_their_own(site, conditional):
    await visit(site, conditional, Chooses)
    second = await visit(site, conditional, Chooses)
    assert second.stats["revisit/known"] == second.stats["revisit/not_modified"] == 4


class Other(Follows):
    name = "other"


@pytest.mark.parametrize(
    "damage",
    [
        "headers = 'text'",
        "body = substr(body, 1, 9)",
        "interval = 'often'",
        "checked = NULL",
        "headers = CAST('ETag: a' || char(0) AS BLOB)",
        "headers = CAST('ETag: \"a\"' || char(10, 10) || 'X: b' AS BLOB)",
    ],
)
@deferred_f_from_coro_f
async def test_what_is_damaged_is_downloaded(site, conditional, damage, tmp_path, caplog):
    await visit(site, conditional)
    with pages_of(tmp_path) as pages, pages:
        pages.execute("PRAGMA writable_schema = 1")
        pages.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '')")
    with pages_of(tmp_path) as pages, pages:
        pages.execute(f"UPDATE pages SET {damage} WHERE url LIKE '%/b' OR url LIKE '%/c'")
    site.change("/b", text="another text")
    caplog.clear()
    second = await visit(site, conditional)
    assert second.urls == ["/b"]
    assert site.asked(200) == ["/b", "/c"]
    assert caplog.text.count("is downloaded again") == 1
    await visit(site, conditional)
    assert site.asked(200) == []


@deferred_f_from_coro_f
async def test_only_the_owner_may_read_the_file(site, conditional, tmp_path):
    await visit(site, conditional)
    files = list(tmp_path.glob("seen-pages.db*"))
    assert files
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def stored(number, size, checked=0.0):
    key, url = bytes([number] * 16), f"http://x/{number}"
    return StoredPage(key, url, checked, 1, 0, False, 1, b"", b"", b"", b"x" * size)


def test_what_is_told_of_a_page_that_was_downloaded_meanwhile_is_ignored(tmp_path):
    file = PageFile(tmp_path / "pages.db", 1000)
    file.write(stored(1, 5)._replace(run=7, headers=b"ETag: new"))
    file.write(stored(1, 0)._replace(run=6, headers=b"ETag: old"))
    assert file.find(bytes([1] * 16)).headers == b"ETag: new"
    file.close()


def test_what_was_checked_longest_ago_makes_room(tmp_path):
    path = tmp_path / "pages.db"
    before = PageFile(path, 100)
    for number in range(3):
        before.write(stored(number, 30, checked=float(number)))
    before.close()
    file = PageFile(path, 100)
    now = file._opened + 1

    def found():
        return [number for number in range(6) if file.find(bytes([number] * 16))]

    # What is larger than the budget costs no other page.
    file.write(stored(3, 101, now))
    assert found() == [0, 1, 2]
    file.write(stored(0, 30, now))
    file.write(stored(4, 30, now))
    assert found() == [0, 2, 4]
    # What this crawl has checked stays: a part of a large site is always found.
    file.write(stored(5, 60, now))
    assert found() == [0, 4]
    # Its version of before is deleted.
    file.write(stored(4, 101, now))
    assert found() == [0]
    file.close()
    assert file_size(path) == (1, 30)


@deferred_f_from_coro_f
async def test_the_budget_is_kept(site, conditional, tmp_path):
    size = len(site.pages["/a"].body())
    given = conditional | {"SIMHASH_REVISIT_BUDGET": 3 * size}
    for _ in range(2):
        await visit(site, given)
        assert file_size(tmp_path / "seen-pages.db").bytes <= 3 * size
    assert 2 <= len(site.asked(304)) < 6


class Proxies:
    """As scrapy-rotating-proxies: an answer that is neither 200 nor a redirect is a ban."""

    banned = 0

    def process_response(self, request, response, spider=None):
        Proxies.banned += response.status not in {200, 301, 302}
        return response


@deferred_f_from_coro_f
async def test_no_component_sees_an_answer_of_304(site, conditional):
    for _ in range(2):
        await visit(site, conditional | {"DOWNLOADER_MIDDLEWARES": {Proxies: 620}})
    assert len(site.asked(304)) == 6
    assert Proxies.banned == 0


@deferred_f_from_coro_f
async def test_cookies_are_neither_stored_nor_lost(site, conditional, tmp_path):
    site.cookie = "session=1"
    await visit(site, conditional)
    with pages_of(tmp_path) as pages:
        assert not any(b"session" in row[0] for row in pages.execute("SELECT headers FROM pages"))
    site.cookie = "session=2"
    second = await visit(site, conditional)
    assert len(site.asked(304)) == 6
    assert second.errors == 0
    # The answer of 304 to the first page has set it.
    assert {one.cookie for one in site.answers if one.path != "/"} == {"session=2"}


@pytest.mark.parametrize("mode", ["adaptive", 3600])
@deferred_f_from_coro_f
async def test_a_page_is_fresh_only_in_its_own_session(site, conditional, mode):
    """What somebody saw who had logged in is no page for the one who logs in next."""
    given = conditional | {"SIMHASH_REVISIT": mode}
    site.cookie = "session=1"
    await visit(site, given)
    site.change("/b", text="another text")
    assert (await visit(site, given)).urls == []
    assert site.asked() == ["/", "/list"]
    site.cookie = "session=2"
    assert (await visit(site, given)).urls == ["/b"]
    assert len(site.asked()) == 6
    await visit(site, given)
    assert site.asked() == ["/", "/list"]


@deferred_f_from_coro_f
async def test_two_crawls_at_once_share_what_they_know(site, conditional):
    first, second = await asyncio.gather(*(visit(site, conditional) for _ in range(2)))
    assert len({*first.urls, *second.urls}) == len(first.urls + second.urls) == 4
    site.change("/b", text="another text")
    both = await asyncio.gather(*(visit(site, conditional) for _ in range(2)))
    assert [url for one in both for url in one.urls] == ["/b"]
    assert {"/a", "/c", "/d", "/list"} <= {*site.asked(304)}
    await visit(site, conditional)
    assert len(site.asked(304)) == 6


@deferred_f_from_coro_f
async def test_commands_know_the_pages(site, conditional, call, tmp_path):
    for _ in range(2):
        await visit(site, conditional)
    database = ("--database", str(tmp_path / "seen.db"))
    sizes = sum(len(page.body()) for page in site.pages.values())
    stats = json.loads(call("stats", "--json", *database)[1])
    assert stats["pages"] == {"pages": 6, "bytes": sizes}
    assert "Stored pages (SIMHASH_REVISIT): 6" in call("stats", *database)[1]
    named = (*database, "--namespace", "follows")
    reset = call("reset", "--url", f"{site.url}/*b*", "--yes", *named)
    assert reset[:2] == (0, "1 item forgotten\n")
    third = await visit(site, conditional)
    assert third.urls == ["/b"]
    assert len(site.asked(304)) == 6
    call("reset", "--all", "--yes", *database)
    assert len((await visit(site, conditional)).items) == 4
    assert len(site.asked(200)) == 6


class HasMedia(Follows):
    """What a pipeline downloads is a known page, too."""

    name = "has media"

    async def start(self):
        yield Request(f"{self._url}/media", self.items)
        yield Request(f"{self._url}/{self.path}", self.items)

    def items(self, response):
        yield {"url": response.url, f"{self.kind}_urls": [f"{self._url}/media"]}


@pytest.mark.parametrize("kind", ["file", "image"])
@deferred_f_from_coro_f
async def test_requests_of_media_pipelines_are_left_alone(site, conditional, kind, tmp_path):
    image = BytesIO()
    Image.new("RGB", (80, 80)).save(image, "PNG")
    site.raw["/media"] = image.getvalue()
    given = conditional | {
        "SIMHASH_REVISIT": 3600,
        "ITEM_PIPELINES": {f"scrapy.pipelines.{kind}s.{kind.title()}sPipeline": 500},
        f"{kind.upper()}S_STORE": str(tmp_path / "media"),
        f"{kind.upper()}S_EXPIRES": 0,
    }
    for path, asked in (("a", 2), ("b", 1)):
        done = await visit(site, given, HasMedia, kind=kind, path=path)
        assert site.asked().count("/media") == asked
        assert done.items[0][f"{kind}s"][0]["status"] == "downloaded"
        assert done.errors == 0


class TitlePage(WebPage):
    @field
    def title(self) -> str:
        return self.css("h1::text").get("")


class OfPageObjects(Follows):
    """Its callback gets an object that scrapy-poet makes of the response."""

    name = "page objects"

    async def parse(self, response, page: TitlePage):
        if title := (await page.to_item())["title"]:
            yield {"url": response.url, "title": title}
        for link in response.css("li a::attr(href)").getall():
            yield Request(response.urljoin(link), self.parse)

    async def start(self):
        yield Request(f"{self._url}/", self.parse, dont_filter=True)


@deferred_f_from_coro_f
async def test_page_objects_are_made_of_cached_pages(site, conditional):
    addons = {"scrapy_poet.Addon": 300, "scrapy_simhash.Addon": 500}
    assert len((await visit(site, conditional | {"ADDONS": addons}, OfPageObjects)).items) == 4
    site.change("/b", text="another text")
    second = await visit(site, conditional | {"ADDONS": addons}, OfPageObjects)
    assert second.urls == ["/b"]
    assert len(site.asked(304)) == 5
    assert second.errors == 0

"""The HTML report, as a file and in a browser."""

from __future__ import annotations

import base64
import json
import re
import shlex
import shutil
import sqlite3
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from loopback import PageSpider, crawl, prose, serve
from scrapy.utils.defer import deferred_f_from_coro_f
from servers import ENGINES, empty_database
from stored import changed, fill, meet, store

from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.record import Record
from scrapy_simhash.history.sql import Selection, choose_namespace
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import LeftOut
from scrapy_simhash.report import data, html
from scrapy_simhash.report.data import read_report
from scrapy_simhash.report.html import write_report
from scrapy_simhash.report.verdict import steps
from scrapy_simhash.simhash.measure import jaccard
from scrapy_simhash.simhash.scheme import load_scheme

HARMFUL = "<script>window.harmed=1</script>"

CHINESE = (
    "陈列占了图书馆楼上三间屋子，周四起对外开放，楼上观众可以自己排一行铅字，印出来的纸能带走。"
)
HOSTILE = {
    "http://a.test/<script>window.harmed=1</script>": "a script in a URL",
    "http://a.test/</script><img src=x onerror=window.harmed=1>": "the end of a script",
    "javascript:window.harmed=1": "a script as a URL",
    "http://a.test/\u202egpj.exe\u2066": "a text that reads backwards",
    "http://a.test/" + "x" * 1_000_000: "a very long one",
    "http://<img src=x onerror=window.harmed=1>.test/": "a script as a host",
    "http://[broken": "no URL at all",
    '"onmouseover="window.harmed=1': "a quotation mark",
    "data:text/html,<script>window.harmed=1</script>": "a page as a URL",
    "JaVaScRiPt:window.harmed=1//http://a.test/": "a script that is no link",
    "java\tscript:window.harmed=1": "a script that is cut in two",
    "http://ann:hush-hush@a.test/?token=hush-hush": "a password",
    "http://a.test/{{7*7}}${7*7}<!--": "a template",
    "http://a.test/\x1b]0;harmed\x07\r\n": "what moves a terminal",
    "http://a.test/\u2028</style><style>*{display:none}</style>": "a style",
}

#: Columns that a report shows, other than URLs, and that only who can write the file controls.
WRITTEN = {
    "simhash_runs": ("spider", "reason", "host", "job"),
    "simhash_claims": ("differs", "key"),
    "simhash_sightings": ("action", "key", "original", "item_type"),
    "simhash_namespaces": ("scheme", "plan", "compared"),
}


def remember(index, url, text, original, original_text):
    """An item and its near-duplicate."""
    store(index, original_text, original)
    assert store(index, text, url).kind == "duplicate"


@pytest.fixture
def address(tmp_path):
    return f"sqlite:///{tmp_path / 'seen.db'}"


@pytest.fixture
def hostile(address, tmp_path):
    """A report with hostile text in every place that can have foreign text."""
    with Index(address, namespace="</title><script>window.harmed=1</script>") as index:
        for number, (url, words) in enumerate(HOSTILE.items()):
            text = f"{prose(number, 150)} {words} </script><script>window.harmed=1</script>"
            remember(index, url, f"{text} again \u202e", f"{url}#original", text)
            # Items that differ in a field with a hostile name.
            for stated in "12":
                text, key = prose(f"kept {number}"), f"{stated} {url}"
                store(index, text, url, {HARMFUL: stated}, key=key)
    evil = "</script><img src=//evil.test/x onerror=window.harmed=1>\u202e\x1b[2J&quot;\"'"
    stats = {f"simhash/skipped/{evil}": 3, "simhash/checked": 1e308, evil: "x", "simhash/unique": 9}
    with closing(sqlite3.connect(tmp_path / "seen.db")) as connection, connection:
        for table, columns in WRITTEN.items():
            for column in columns:
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} != ''", (evil,))
        connection.execute("UPDATE simhash_runs SET stats = ?", (json.dumps(stats),))
    return written(address, tmp_path, similarity=0.9)


def written(address, folder, *, similarity=None, limit=0, name=None, **options):
    path = folder / "report.html"
    rule = Rule(distance=limit) if similarity is None else Rule(similarity=similarity)
    database = Database(address)
    try:
        write_report(read_report(choose_namespace(database, name), rule, **options), path)
    finally:
        database.close()
    return path


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the contents of its scripts and styles."""

    def __init__(self, path):
        super().__init__()
        self.found = []
        self.held = {"script": [], "style": []}
        self.open = None
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.open = tag if tag in self.held else None

    def handle_data(self, data):
        if self.open:
            self.held[self.open].append(data)

    def handle_endtag(self, tag):
        self.open = None


# The file


def test_the_policy_allows_one_script_and_one_style_by_their_hashes(hostile):
    page = Elements(hostile)
    (policy,) = (
        attributes["content"]
        for tag, attributes in page.found
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    scripts = [attributes for tag, attributes in page.found if tag == "script"]
    code = [
        text
        for text, attributes in zip(page.held["script"], scripts, strict=True)
        if "type" not in attributes
    ]
    for content in (*code, *page.held["style"]):
        digest = base64.b64encode(sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert (len(code), len(page.held["style"])) == (1, 1)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_nothing_in_the_file_is_loaded_or_run(hostile):
    for tag, attributes in Elements(hostile).found:
        assert tag not in {"img", "iframe", "object", "embed", "link", "base", "form"}
        assert not {"src", "style", "xlink:href"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        if tag == "a":
            assert attributes["href"].startswith(("http://", "https://", "#"))
    text = hostile.read_text("utf-8")
    assert "hush-hush" not in text + json.dumps(packed_in(hostile))
    assert "<img" not in text
    assert not set("\x1b\u202e\u2066\x00") & set(text)
    assert "window.harmed=1</script>" not in text


def test_the_limits_of_the_file_are_shown(address, tmp_path, monkeypatch):
    monkeypatch.setattr(data, "MOST_ROWS", 5)
    monkeypatch.setattr(html, "MOST_DETAILS", 4)
    monkeypatch.setattr(html, "BLOCK", 2)
    with Index(address) as index:
        for number in range(8):
            text = prose(number, 150)
            remember(index, f"http://b.test/{number}", text, f"http://a.test/{number}", text)
    text = " ".join(written(address, tmp_path).read_text("utf-8").split())
    assert "This file has the newest 5 of 8 duplicates." in text
    assert "4 rows have a comparison, the least similar first" in text


def test_contents_are_read_only_for_rows_with_details(address, tmp_path, monkeypatch):
    monkeypatch.setattr(html, "MOST_DETAILS", 1)
    with Index(address) as index:
        fill(index)
    rows = rows_of(written(address, tmp_path))
    assert sorted(row["detail"] for row in rows) == [-1, 0]
    assert all(row["id"] for row in rows), "each can be restored"


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_same(tmp_path, engine):
    with empty_database(engine, tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        with Index(address, namespace="n", timeout=60) as index:
            fill(index)
            for price in ("5 EUR", "6 EUR"):
                store(index, prose("priced"), price, {"price": price})
        path = written(address, tmp_path, similarity=0.9)
    assert "Not drawn: 1 duplicate with an equal text." in path.read_text("utf-8")
    found = [(row["status"], row["about"], row["original"]["url"]) for row in rows_of(path)]
    assert found == [("dropped", "", "http://a.test/1")] * 2 + [("kept", "", "5 EUR")]


def test_items_are_counted_by_similarity(address, tmp_path):
    with Index(address) as index:
        texts = fill(index)
        index.confirm(index.claim(changed(texts[1], 10), key="kept"))
    page = written(address, tmp_path, similarity=0.9).read_text("utf-8")
    similar = cells(page, "Similarity to the nearest item", 2)
    assert "Not drawn: 1 duplicate with an equal text." in page
    assert [int(row[2]) for row in similar if float(row[0]) >= 0.9] == [1]
    # The bars match the table.
    for name, column in (("kept", 1), ("dropped", 2)):
        bars = re.findall(rf'<rect class="{name}" x=[^>]* width="1" height="(\d+)"', page)
        counts = [int(row[column]) for row in similar]
        assert [int(bar) for bar in bars] == [count for count in counts if count]


def test_items_kept_although_their_text_is_similar_are_listed_with_the_reason(address, tmp_path):
    with Index(address) as index:
        for number in range(30):
            fields = {"price": f"{number} EUR"} if number < 19 else {HARMFUL: str(number)}
            url = f"http://a.test/{number}" if number < 29 else "javascript:window.harmed=1"
            store(index, prose(1), url, fields)
    page = written(address, tmp_path, similarity=0.9)
    text = page.read_text("utf-8")
    found = findings_in(text)
    assert ("kept", "<code>price</code> differs", "18") in found
    assert HARMFUL not in text
    rows = [row for row in rows_of(page) if row["status"] == "kept"]
    assert len(rows) == 29
    # The texts are equal, whatever else differs.
    assert {(row["similarity"], row["about"], row["id"]) for row in rows} == {(1, "", "")}
    assert [row["fields"][0][0] for row in rows].count("price") == 18


def findings_in(text):
    """The outcome, the kind and the number of items of each finding."""
    found = re.findall(r"<tr><td>([^<]*)</td><th[^>]*><bdi>(.*?)</bdi></th><td>([^<]*)</td>", text)
    return [tuple(one) for one in found]


def cells(text, heading, level=3):
    """The rows of the table below a heading."""
    _, table = text.split(f">{heading}</h{level}>")
    body = table.split("<tbody>")[1].split("</tbody>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(?:<[^>]+>)*([^<]*)<", row) for row in rows]


def test_hostile_urls_that_repeat_are_text(address, tmp_path):
    place = f"http://evil.test/{HARMFUL}/?\u202e<img src=x onerror=window.harmed=1>"
    with Index(address) as index:
        meet(index, [(f"{place}={session}&token=hush-hush", "evil") for session in range(30)])
    path = written(address, tmp_path)
    text = path.read_text("utf-8")
    assert "?\\u202e&lt;img src=x onerror" in text
    assert "hush-hush" not in text + json.dumps(packed_in(path))
    assert not set("\u202e\x1b") & set(text)
    assert "img" not in {tag for tag, _ in Elements(path).found}
    assert HARMFUL not in text


def packed_in(path):
    """The data that the script unpacks first."""
    (packed,) = re.findall(r'id="rows">([^<]*)<', path.read_text("utf-8"))
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def rows_of(path):
    """The rows of the table."""
    rows = packed_in(path)["rows"]
    for row in rows:
        row["id"] = row["key"] if row["restorable"] else ""
    return rows


@pytest.mark.parametrize(("kept", "edits"), [(True, 3), (False, 0)])
def test_rows_have_the_similarity_that_decided(address, tmp_path, kept, edits):
    """An estimate only where the text of the original was not kept."""
    with Index(address, text_budget=1 << 20 if kept else 0) as index:
        texts = fill(index, edits=edits)
    exact = [load_scheme().sketch(text).shingles for text in (texts[1], changed(texts[1], edits))]
    rows = rows_of(written(address, tmp_path))
    assert [row["about"] for row in rows] == ["" if kept else "about "] * 2
    assert rows[1]["similarity"] == pytest.approx(jaccard(*exact), abs=1e-4 if kept else 0.1)


# In a browser

EXECUTABLE = shutil.which("chromium") or shutil.which("chromium-browser")
# The policy of the page also blocks Playwright's wait_for_function; `expect` does not need it.
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
needs_chromium = pytest.mark.skipif(EXECUTABLE is None, reason="there is no Chromium here")


def in_browser(test):
    return pytest.mark.slow(needs_chromium(test))


@dataclass
class Visit:
    """The requests and messages of a page, and the result of the steps taken on it."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    result: object = None


def visit(path, steps, **options):
    """Take steps on a file in a browser, in its own thread: Playwright refuses a running loop."""

    def look():
        seen = Visit()
        with playwright.sync_playwright() as tools:
            browser = tools.chromium.launch(
                executable_path=EXECUTABLE,
                args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
            )
            page = browser.new_page(**options)
            page.set_default_timeout(20_000)
            page.on("request", lambda request: seen.requests.append(request.url))
            page.on("console", lambda message: seen.complaints.append(message.text))
            page.on("pageerror", lambda error: seen.complaints.append(str(error)))
            page.on("dialog", lambda dialog: seen.complaints.append(dialog.message))
            page.goto(path.as_uri())
            expect(page.locator("#shown")).not_to_be_empty()
            seen.result = steps(page)
            browser.close()
        return seen

    with ThreadPoolExecutor(1) as thread:
        seen = thread.submit(look).result()
    assert {url.partition("#")[0] for url in seen.requests} == {path.as_uri()}
    assert seen.complaints == []
    return seen.result


class PricedSpider(PageSpider):
    def parse(self, response):
        yield {
            "url": response.url,
            "price": response.css("b::text").get(),
            "text": response.css("p::text").get(),
        }


def page_of(text):
    return f"<html><body><article><p>{text}</p></article></body></html>".encode()


@pytest.fixture
def pages():
    """Six English and two Chinese pages in two groups and a few single ones."""
    english = prose("english", 200)
    chinese = "".join(chr(0x4E00 + ord(letter)) for letter in prose("chinese", 60))
    return {
        "/a": page_of(english),
        "/b": page_of(english.replace(english.split()[20], "CHANGED")),
        "/c": page_of(english),
        "/zh": page_of(CHINESE + chinese),
        "/zh2": page_of(CHINESE.replace("三", "四") + chinese),
        "/other": page_of(prose("other", 150)),
    }


@in_browser
@deferred_f_from_coro_f
async def test_a_report_of_a_crawl(address, tmp_path, pages):
    with serve(pages) as site:
        # One after the other, so that the first of each group is kept.
        settings = {"SIMHASH_DATABASE_URL": address, "CONCURRENT_REQUESTS": 1}
        await crawl(PageSpider, settings, [f"{site}{name}" for name in pages])
    path = written(address, tmp_path)

    def steps(page):
        rows = page.locator("#body > tr")
        assert rows.count() == 3
        assert page.inner_text("#shown") == "3 rows"
        # The least similar comes first; then sort by title with the keyboard.
        page.locator("th[data-column=title] button").focus()
        page.keyboard.press("Enter")
        urls = page.locator("#body td[data-name=Item]").all_inner_texts()
        assert urls == sorted(urls)
        page.keyboard.press("Enter")
        assert page.locator("#body td[data-name=Item]").all_inner_texts() == urls[::-1]
        assert page.get_attribute("th[data-column=title]", "aria-sort") == "descending"

        page.fill("#q", "/zh2")
        expect(rows).to_have_count(1)
        assert page.inner_text("#shown") == "1 of 3 rows"
        page.locator("#body button").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(".texts")
        assert page.locator("del").all_inner_texts() == ["三"]
        assert page.locator("ins").all_inner_texts() == ["四"]
        assert page.get_attribute("#body button", "aria-expanded") == "true"
        page.keyboard.press("Enter")
        assert page.locator(".texts").count() == 0

        page.fill("#q", "/b")
        expect(page.locator("#body td[data-name=Item]")).to_contain_text("/b")
        page.locator("#body button").click()
        page.wait_for_selector(".texts")
        assert page.locator("ins").all_inner_texts() == ["CHANGED "]
        page.locator(".fold").first.click()
        assert page.locator(".text").nth(1).inner_text().count("CHANGED") == 1

        page.locator("a.show[href*=group]:visible").first.click()
        assert re.search("2 of 3 rows, similar to http://.*/a$", page.inner_text("#shown"))
        assert page.input_value("#q") == ""
        assert page.evaluate("document.activeElement.id") == "items"
        page.click("#all")
        assert page.inner_text("#shown") == "3 rows"

    visit(path, steps)


@in_browser
@deferred_f_from_coro_f
async def test_what_changed_since_the_crawl_before(address, tmp_path):
    def priced(seed, price, words=0):
        text = f"<b>{price}</b><p>{changed(prose(seed, 200), words)}</p>"
        return f"<html><body>{text}</body></html>".encode()

    settings = {"SIMHASH_DATABASE_URL": address, "CONCURRENT_REQUESTS": 1}
    first = {f"/{number}": priced(number, "4 EUR") for number in range(4)}
    second = first | {"/1": priced(1, "5 EUR"), "/2": priced(2, "4 EUR", 3), "/4": priced(4, "1")}
    pages = dict(first)
    with serve(pages) as site:
        urls = [f"{site}{name}" for name in second]
        await crawl(PricedSpider, settings, urls)
        assert packed_in(written(address, tmp_path))["rows"] == []
        pages.update(second)
        del pages["/3"]
        await crawl(PricedSpider, settings, urls)
    path = written(address, tmp_path, selection=Selection([2]))
    rows = [row for row in rows_of(path) if row["change"]]
    assert sorted((row["status"], row["url"].rpartition("/")[2]) for row in rows) == [
        ("changed", "1"),
        ("changed", "2"),
        ("gone", "3"),
        ("new", "4"),
    ]
    text = " ".join(path.read_text("utf-8").split())
    assert "Changes: 1 new, 2 changed, 1 gone." in text
    assert ("changed", "in <code>price</code>", "1") in findings_in(text)
    assert ("changed", "in the text", "1") in findings_in(text)

    def steps(page):
        expect(page.locator("#shown")).to_have_text("4 rows")
        page.click("a.show[href*='status=changed'][href$=price]:visible")
        expect(page.locator("#shown")).to_have_text("1 of 4 rows")
        assert page.evaluate("document.activeElement.id") == "items"
        assert page.inner_text("#body .values") == "price: 4 EUR → 5 EUR"
        page.go_back()
        page.fill("#q", "/2")
        expect(page.locator("#shown")).to_have_text("1 of 4 rows")
        assert page.inner_text("#body .values") == "text"
        page.click("#body button")
        page.wait_for_selector(".texts")
        assert page.locator("#body .wide-cell table del").count() == 0
        assert page.locator(".texts h3").first.inner_text().startswith("Before: ")
        assert page.locator(".texts ins").first.inner_text() == "other0 "

    visit(path, steps)


@in_browser
def test_hostile_text_is_inert(hostile):
    def steps(page):
        count = 2 * len(HOSTILE)
        assert page.inner_text("#shown") == f"{count} rows"
        for of_page in (20, count - 20):
            for number in range(of_page):
                rows = page.locator("#body > tr:has(button[aria-expanded=false])")
                rows.first.locator("button").click()
                expect(page.locator(".texts")).to_have_count(number + 1)
            if of_page == 20:
                page.click("#next")
        for one in page.locator("a.show:visible").all():
            one.click()
        assert page.evaluate("window.harmed") is None
        assert page.locator("img, iframe, #body script").count() == 0
        for link in page.locator("a:not(.skip, .show)").all():
            assert link.get_attribute("href").startswith("http://")
            assert link.get_attribute("rel") == "noreferrer noopener"
        page.evaluate("location.hash = '#</script><img src=x onerror=window.harmed=1>'")
        assert page.evaluate("window.harmed") is None
        harmful = "q=<img src=x onerror=window.harmed=1>&sort=constructor&page=-1e9&open=__proto__"
        page.evaluate("(given) => { location.hash = `#${given}`; }", harmful)
        expect(page.locator("#shown")).to_have_text(f"2 of {count} rows")
        page.click("#all")
        expect(page.locator("#shown")).to_have_text(f"{count} rows")
        page.fill("#q", "<!--")
        expect(page.locator("#shown")).to_have_text(f"1 of {count} rows")
        shown = page.inner_text("#table")
        assert "{{7*7}}${7*7}<!--" in shown
        assert not set("\x1b\u202e\u2028") & set(shown)
        assert len(page.inner_text("body")) < 100_000

    visit(hostile, steps)


@in_browser
@pytest.mark.parametrize("width", [320, 390, 1200])
def test_nothing_is_wider_than_the_screen(hostile, width):
    """Nor does anything in it scroll to the side."""

    def steps(page):
        page.locator("#body button").first.click()
        page.wait_for_selector(".texts")
        return page.evaluate("""[...document.querySelectorAll("html, .scroll")]
          .filter((one) => one.scrollWidth > one.clientWidth)
          .map((one) => `${one.tagName} ${one.ariaLabel} ${one.scrollWidth} ${one.clientWidth}`)""")

    assert visit(hostile, steps, viewport={"width": width, "height": 800}) == []


# Filters and details


FIELDS = {"url": "http://b.test/1", "title": '=Snow, "deep"', "price": "5 EUR", "text": "words"}


@pytest.fixture
def crawled(address, tmp_path):
    """Two runs with a duplicate each, one with its item, and a page that was kept."""
    text, title = prose(1, 200), FIELDS["title"]
    stored = {"title": title, "price": "4 EUR"}
    with Index(address, namespace="it's") as index:
        store(index, text, "http://a.test/1", stored)
        copy = index.document(changed(text, 1), key=FIELDS["url"], url=FIELDS["url"])
        copy.values = {"title": title, "price": FIELDS["price"], "award": "yes"}
        (verdict,) = index.execute(claims=[copy])
        item = pack(FIELDS | {"award": "yes"})
        index.execute(left_out=[LeftOut(verdict, "drop", *item)])
        other = store(index, changed(text, 2), "http://a.test/2", stored | {"price": "9 EUR"})
        assert other.differs == "price"
    with Index(address, namespace="it's") as index:
        store(index, text, "http://c.test/1", item={"url": "http://c.test/1"})
    return written(address, tmp_path, similarity=0.9)


@in_browser
def test_rows_can_be_filtered(crawled):
    def steps(page):
        status = page.locator("#shown")
        expect(status).to_have_text("3 rows")
        for id_, label, count in (
            ("#status", "kept (1)", 1),
            ("#site", "b.test (1)", 1),
            ("#field", "price (2)", 2),
        ):
            page.select_option(id_, label=label)
            expect(status).to_have_text(f"{count} of 3 rows")
            page.click("#all")
            expect(status).to_have_text("3 rows")
        page.fill("#least", "1")
        expect(status).to_have_text("1 of 3 rows")
        page.fill("#least", "")
        page.fill("#most", "0.995")
        expect(status).to_have_text("2 of 3 rows")
        page.click("#all")
        page.fill("#q", "B.TEST")
        expect(status).to_have_text("1 of 3 rows")
        page.click("a.show[href*=field]:visible")
        expect(status).to_have_text("1 of 3 rows")
        page.go_back()
        expect(status).to_have_text("1 of 3 rows")
        assert page.input_value("#q") == "B.TEST"

    visit(crawled, steps)


@in_browser
def test_a_row_shows_its_fields_beside_the_stored_ones_and_how_to_restore_it(crawled):
    def steps(page):
        page.evaluate("location.hash = '#q=b.test'")
        expect(page.locator("#body > tr")).to_have_count(1)
        assert page.locator("#body .title").all_inner_texts() == [FIELDS["title"]]
        assert page.inner_text("#body .values").split("\n") == [
            "award: none → yes",
            "price: 4 EUR → 5 EUR",
        ]
        page.click("#body button")
        page.wait_for_selector(".texts")
        marks = {
            line.locator("th").inner_text(): line.locator("td").all_inner_texts()
            for line in page.locator(".wide-cell table tbody tr").all()
        }
        assert {*list(marks)[:2]} == {"price", "award"}
        assert list(marks)[2:] == ["title"]
        assert marks["price"] == ["4 EUR", "5 EUR"]
        assert marks["award"] == ["none", "yes"]
        assert marks["title"] == [FIELDS["title"]] * 2
        assert page.locator(".texts ins").all_inner_texts() == ["other0 "]
        command = page.inner_text("#body .restore code")
        page.locator("#body .restore button").click()
        expect(page.locator("#body .restore span")).to_have_text(re.compile("copied|selected"))
        return command

    command = shlex.split(visit(crawled, steps))
    assert command[:5] == ["scrapy", "simhash", "restore", "--namespace", "it's"]
    (number,) = [row["id"] for row in rows_of(crawled) if row["title"] and row["id"]]
    assert command[5:] == ["--id", number, "-o", "back.jsonl"]


def test_a_fact_of_the_page_is_named_as_such_with_both_values(address, tmp_path):
    with Index(address) as index:
        for price in ("4 EUR", "5 EUR"):
            store(index, prose(1), price, {"page:price": price})
    (row,) = rows_of(written(address, tmp_path, similarity=0.9))
    assert row["fields"] == [["price of the page", "4 EUR", "5 EUR"]]


def test_the_report_of_a_run_has_what_it_met(crawled, address, tmp_path):
    every = rows_of(crawled)
    for run in {row["run"] for row in every}:
        path = written(address, tmp_path, similarity=0.9, selection=Selection([run]))
        urls = [row["url"] for row in rows_of(path)]
        assert urls == [row["url"] for row in every if row["run"] == run]
        text = path.read_text("utf-8")
        assert "1 duplicate dropped" in text
        assert re.findall(r"^Run (\d+) of", text, re.MULTILINE) == [str(run)]


@pytest.fixture
def many(address, tmp_path):
    """More duplicates than some pages have, of two originals."""
    with Index(address) as index:
        meet(index, [(f"http://a.test/{number}/{number % 2}", number % 2) for number in range(130)])
    return written(address, tmp_path, similarity=0.9)


@pytest.fixture
def advised(address, tmp_path):
    """Pages that are met at two addresses, with a number that belongs to the request."""
    with Index(address, namespace="it's") as index:
        for number in range(60):
            fields = {"title": f"Story {number // 2}", "x": str(7919 * (number + 1) % 99991)}
            url = f"http://a.test/story/{number // 2}{'?from=list' * (number % 2)}"
            store(index, prose(number // 2, 200), url, fields)
        meet(index, [(f"http://b.test/{n}.html?sid={n}{s}", n) for n in range(25) for s in "ab"])
    return written(address, tmp_path, similarity=0.9)


@in_browser
def test_the_first_screen_says_what_to_change(advised):
    def steps(page):
        setting, command = page.locator(".step").all()
        assert setting.locator("code").last.inner_text() == "SIMHASH_IGNORE_FIELDS = ['x']"
        assert "30 more items would be dropped" in setting.inner_text()
        (stored, own) = setting.locator("tbody tr").all()
        assert own.locator("th").inner_text() == f"{stored.locator('th').inner_text()}?from=list"
        values = [line.locator("td").inner_text() for line in (stored, own)]
        assert all(map(str.isdecimal, values))
        assert values[0] != values[1]
        setting.locator("button").click()
        expect(setting.locator("[role=status]")).to_have_text(re.compile("copied|selected"))
        line = 'scrapy simhash patterns --namespace "it\'s" --rules rules.json'
        assert shlex.split(command.locator("code").last.inner_text()) == shlex.split(line)
        what = "Up to 25 downloads only repeated pages because of b.test/*.html?sid; rules for "
        assert what in command.inner_text()
        return page.evaluate("document.querySelector('.steps').getBoundingClientRect().top")

    assert visit(advised, steps, viewport={"width": 1200, "height": 800}) < 500


@pytest.mark.parametrize(
    ("name", "count", "others", "is_advised"),
    [
        ("x", 10, 9, True),
        ("x", 9, 0, False),
        ("price", 10, 0, False),
        ("title", 10, 0, False),
        ("page:value.Colour", 10, 0, False),
    ],
)
def test_a_field_that_changes_most_items_alone_is_named(name, count, others, is_advised):
    def change(number, **fields):
        return Record("changed", f"http://a.test/{number}", similarity=1.0, noted=fields)

    changes = [change(number, **{name: ("1", str(number))}) for number in range(count)]
    changes += [change(number, x=("1", "2"), y=("1", "2")) for number in range(others)]
    found = [(step.setting, step.effect.partition(" changed")[0]) for step in steps(given(changes))]
    expected = [("SIMHASH_IGNORE_FIELDS = ['x']", f"{count} of {count + others}")]
    assert found == (expected if is_advised else [])


def given(changes=(), drops=()):
    return SimpleNamespace(
        changes=changes,
        advice=[],
        patterns=(),
        drops=drops,
        duplicates=drops,
        counts=Counter(drop.status for drop in drops),
        namespace=SimpleNamespace(name="n"),
        rule=Rule(),
        is_trial=False,
    )


def test_fields_that_only_together_change_most_items_are_named():
    counters = {"reads": ("5", "9"), "comments": ("1", "2")}
    changes = [
        Record("changed", f"http://a.test/{n}", similarity=1.0, noted=counters) for n in "ab"
    ]
    changes = [one._replace(noted=counters | {"page:reads": ("5", "9")}) for one in changes] * 100
    changes += [one._replace(noted={"reads": ("5", "9")}) for one in changes[:20]]
    # What else has changed in these is no noise.
    changes += [one._replace(noted=counters | {"price": ("1", "2")}) for one in changes[:20]]
    changes += [one._replace(similarity=0.0) for one in changes[:20]]
    (step,) = steps(given(changes))
    assert step.setting == "SIMHASH_IGNORE_FIELDS = ['comments', 'reads']"
    assert step.effect.startswith("220 of 260 changed items changed only in `comments` and `reads`")
    assert step.examples[0].values == {"reads": ("9", "5"), "comments": ("2", "1")}


HERE = "http://www.example.com/b/c?d=1"
HOSTS = "on `example.com` and `www.example.com`"
VIEW = "another view of the page, such as for printing"


@pytest.mark.parametrize(
    ("original", "words"),
    [
        (HERE, "listed again under the same URL"),
        ("http://b.test/", "on another site"),
        ("http://[broken:1", "at another URL"),
        (f"{HERE}#post-7", "elsewhere on the page"),
        ("http://www.example.com/b/c?d=2&e", "same path, other `d`, `e`"),
        ("http://me:pw@example.com/b/c?d=1", f"same path, {HOSTS}"),
        ("http://example.com/b/c?d=2", f"same path, {HOSTS}, other `d`"),
        ("http://mirror.test/b/c?d=1", "same path, on `mirror.test` and `www.example.com`"),
        ("https://www.example.com/b/c/?d=1", "the same URL, written differently"),
        ("http://www.example.com/b/c/print?d=1", VIEW),
        ("http://www.example.com/b/print/c?d=1", VIEW),
        ("http://www.example.com/c", "in another folder"),
        ("http://www.example.com/7/b/c", "in another folder"),
        ("http://www.example.com/a/c", "in another folder"),
        ("http://www.example.com/b/x", "elsewhere on the site"),
    ],
)
def test_a_finding_has_what_the_urls_have_in_common(original, words):
    assert Record("dropped", HERE, original_page=original).how == words
    unchanged = Record("unchanged", HERE, original_page=HERE)
    assert unchanged.how == "unchanged since an earlier crawl"
    unreadable = Record("dropped", "http://[broken", original_page="http://[broken:1")
    assert unreadable.how == "at another URL"
    assert unreadable._replace(original_page=None).how == "original deleted"


@in_browser
def test_a_finding_leads_to_its_rows(many):
    def steps(page):
        page.click("a.show[href*='how=']:visible")
        expect(page.locator("#shown")).to_have_text("128 rows")
        assert page.input_value("#how") == "in another folder"
        assert page.evaluate("document.activeElement.id") == "items"

    visit(many, steps)


@in_browser
def test_a_print_says_how_many_rows_it_has(many, tmp_path):
    path = tmp_path / "some.html"
    path.write_text(many.read_text("utf-8").replace("PRINTED = 1000", "PRINTED = 70"), "utf-8")
    policy = Elements(path)
    old, new = (
        base64.b64encode(sha256(one.held["script"][-1].encode()).digest()).decode()
        for one in (Elements(many), policy)
    )
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")

    def steps(page):
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert not page.is_visible("#q")
        assert page.locator("#body > tr").count() == 70
        row = page.locator("#body > tr").first
        assert row.evaluate("(line) => getComputedStyle(line).display") == "table-row"
        status = page.locator("#shown")
        assert status.is_visible()
        assert status.inner_text() == "128 rows, of which 70 are printed"

    visit(path, steps)


@in_browser
def test_each_control_has_a_name_and_headings_follow_each_other(crawled):
    def steps(page):
        page.click("#body button")
        page.wait_for_selector(".wide-cell p")
        # Regions with one name, controls without a name, ids used twice, and levels of headings.
        return page.evaluate("""((byId) => ({
          nameless: [...document.querySelectorAll("input, select, button")]
            .filter((e) => !e.ariaLabel && !e.textContent.trim() && !e.labels?.length).length,
          twice: [...document.querySelectorAll("[id]")]
            .filter((e) => document.querySelectorAll(`[id="${e.id}"]`).length > 1).length,
          regions: [...document.querySelectorAll("section, [role=region]")]
            .filter((e) => !e.closest("[hidden]"))
            .map((e) => e.ariaLabel ?? byId(e.getAttribute("aria-labelledby"))?.textContent),
          levels: [...document.querySelectorAll("h1, h2, h3, h4")].map((e) => +e.tagName[1]),
        }))((id) => document.getElementById(id))""")

    found = visit(crawled, steps)
    assert (found["nameless"], found["twice"]) == (0, 0)
    assert all(found["regions"])
    assert len(set(found["regions"])) == len(found["regions"])
    assert found["levels"][:2] == [1, 2]


def test_the_first_screen_has_the_result_and_what_was_found(crawled):
    text = " ".join(crawled.read_text("utf-8").split())
    assert "2 duplicates dropped." in text
    assert "The original of each was stored" in text
    on_b, on_c = (f"same path, on <code>a.test</code> and <code>{one}.test</code>" for one in "bc")
    price = ("kept", "<code>price</code> differs", "1")
    newer, older = ("repeated", on_c, "1"), ("repeated", on_b, "1")
    assert findings_in(text) == [older, newer, price]

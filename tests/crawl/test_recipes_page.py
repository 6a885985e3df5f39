"""The examples of two pages work on sites such as they describe, and print what is shown."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from zlib import crc32

import pytest
from hosts import proxied
from loopback import Page, answering
from site_pages import layout, paragraphs, sentences
from sources import DOCS, text_of

SECTIONS = [
    section
    for page in ("projects.md", "recipes.md")
    for section in re.split(r"^## ", text_of(DOCS / page), flags=re.MULTILINE)[1:]
    if "$ scrapy " in section
]
SPIDERS = """
from datetime import datetime

import scrapy

class Prices(scrapy.Spider):
    name = "prices"
    start_urls = ["http://shop.example/"]

    def parse(self, response):
        yield from response.follow_all(css="main a", callback=self.product)

    def product(self, response):
        texts = {name: response.css(f".{name}::text").get() for name in ("sku", "price", "stock")}
        yield {"url": response.url, "name": response.css("h1::text").get(), **texts}

class News(scrapy.Spider):
    name = "news"
    start_urls = [f"http://{name}.example/" for name in ("wire", "gazette", "herald")]

    def parse(self, response):
        yield from response.follow_all(css="main a", callback=self.story)

    def story(self, response):
        yield {
            "url": response.url,
            "headline": response.css("h1::text").get(),
            "author": response.css(".author::text").get(),
            "text": "\\n".join(response.css(".story p::text").getall()),
        }

class Jobs(scrapy.Spider):
    name = "jobs"
    start_urls = ["http://jobs.example/"]

    def parse(self, response):
        yield from response.follow_all(css="main a", callback=self.ad)

    def ad(self, response):
        texts = {name: response.css(f".{name}::text").get() for name in ("town", "salary")}
        title, text = response.css("h1::text").get(), response.css("p::text").get()
        yield {"url": response.url, "title": title, **texts, "text": text}

class Forum(scrapy.Spider):
    name = "forum"
    start_urls = ["http://forum.example/thread/7", "http://forum.example/last/7"]

    def parse(self, response):
        for post in response.css(".post"):
            yield {
                "id": post.attrib["id"],
                "author": post.css(".author::text").get(),
                "likes": post.css(".likes::text").get(),
                "text": post.css("p::text").get(),
                "thread": response.css("h1::text").get(),
            }

class Shops(scrapy.Spider):
    name = "shops"
    start_urls = [f"http://{name}.example/lamp" for name in ("lumen", "candela")]

    def parse(self, response):
        for row in response.css("tr"):
            sku, size, price = row.css("td::text").getall()
            yield {
                "shop": response.url.split("/")[2],
                "sku": sku,
                "size": size,
                "price": price,
                "about": response.css("p::text").get(),
                "url": response.url,
            }

class Papers(scrapy.Spider):
    name = "papers"
    start_urls = [f"http://{name}.example/" for name in ("preprints", "institute")]

    def parse(self, response):
        yield from response.follow_all(css="main a", callback=self.paper)

    def paper(self, response):
        texts = {name: response.css(f".{name}::text").get() for name in ("doi", "version")}
        title, abstract = response.css("h1::text").get(), response.css("p::text").get()
        yield {"url": response.url, "title": title, **texts, "abstract": abstract}

class Portal(scrapy.Spider):
    name = "portal"
    start_urls = [f"http://{name}.portal.example/" for name in ("news", "city")]

    def parse(self, response):
        yield from response.follow_all(css="main a", callback=self.story)

    def story(self, response):
        names = "来源", "流水号", "阅读量"
        texts = zip(names, response.css("main span::text").getall(), strict=True)
        yield {
            "链接": response.url,
            "标题": response.css("h1::text").get(),
            **dict(texts),
            "入库时间": f"{datetime.now():%Y-%m-%d %H:%M:%S}",
            "正文": "\\n".join(response.css("main p::text").getall()),
        }

class Blog(scrapy.Spider):
    name = "blog"
    start_urls = ["http://blog.example/"]

    def parse(self, response):
        yield from response.follow_all(css="main a", callback=self.post)

    def post(self, response):
        yield {"url": response.url, "title": response.css("h1::text").get()}
"""
PIPELINES = """
class CleanPipeline:
    def process_item(self, item):
        return item

class SqlPipeline(CleanPipeline):
    pass
"""


def shop(path: str, visit: int) -> bytes | None:
    products = {"lamp": "19.90 17.90", "chair": "49.00 49.00", "desk": "120.00 120.00"}
    if path == "/":
        links = "".join(f"<a href='/{name}'>{name}</a> " for name in products)
        return layout("shop", "Shop", f"<a href='/lamp?from=sale'>sale</a> {links}")
    name = path[1:].partition("?")[0]
    stock = len(name) + visit
    main = (
        f"<b class='sku'>{name.upper()}-1</b><b class='price'>{products[name].split()[visit]} EUR"
        f"</b><i class='stock'>{stock} in stock</i><p>A {name} of oak.</p>"
    )
    also = f"<h2>You may like</h2>{paragraphs(sentences((visit, path), 60))}"
    return layout("shop", f"Oak {name}", main + also)


STORY = (
    "The ferry to the northern islands will sail again on Friday, the harbour office said.",
    "Storms had kept all boats in port for nine days, and shops had run short of bread and fuel.",
    "The first crossing carries post, medicine and flour, which volunteers loaded at night.",
    "Passengers can book from noon on the quay, where the ticket hall opens again after a winter.",
)


def news(host: str, path: str, visit: int) -> bytes | None:
    names = {"wire": "Ferry sails again", "gazette": "Islands get their ferry back"}
    if path == "/":
        own = "<a href='/ferry'>Ferry</a>" if host in names else "<a href='/market'>Market</a>"
        return layout(host, host, own)
    texts = STORY if host in names else (sentences("market", 80),)
    if visit and host == "wire":
        texts = (texts[0].replace("Friday", "Saturday"), *texts[1:])
    author = "By our island desk" if host == "wire" else "Staff"
    story = f"<i class='author'>{author}</i><div class='story'>{paragraphs(*texts)}</div>"
    return layout(host, names.get(host, "A market in spring"), story)


def jobs(path: str, visit: int) -> bytes | None:
    """Two ads, which have other numbers at each visit."""
    ads = {"cook": ("Oslo", "30 400", "30 400"), "smith": ("Bergen", "35 000", "36 500")}
    if path == "/":
        links = "".join(f"<a href='/{name}-{visit + 7}'>{name}</a> " for name in ads)
        return layout("jobs", "Jobs", links)
    name = path[1:].partition("-")[0]
    town, *salaries = ads[name]
    main = f"<b class='town'>{town}</b><b class='salary'>{salaries[visit]}</b>"
    return layout("jobs", f"A {name}", f"{main}<p>{sentences(name, 60)}</p>")


def forum(path: str, visit: int) -> bytes | None:
    posts = [("101", "Ann", 40), ("102", "Ben", 12), ("103", "Cy", 50)]
    if visit:
        posts.append(("104", "Ann", 30))
    main = "".join(
        f"<div class='post' id='{number}'><b class='author'>{author}</b>"
        f"<i class='likes'>{len(author) + visit * 3} likes</i>"
        f"<p>{sentences(number, words)}</p></div>"
        for number, author, words in posts
    )
    return layout("forum", "Which lamp oil?", main)


def shops(host: str, visit: int) -> bytes:
    """The maker's text and numbers in two shops, which have two sizes on one page."""
    small = "19.90", "17.90"
    prices = {"lumen": (small[visit], "24.90"), "candela": ("19.90", "26.50")}
    rows = "".join(
        f"<tr><td>L-7</td><td>{size}</td><td>{price} EUR</td></tr>"
        for size, price in zip(("small", "large"), prices[host], strict=True)
    )
    return layout(host, "Oil lamp", f"<table>{rows}</table><p>{sentences('lamp', 60)}</p>")


ABSTRACT = (
    "We ask whether the price of bread on small islands follows the weather. The price of a loaf "
    "in eleven harbours is compared with the days on which no ferry sailed, over nine winters. It "
    "rises after the fourth day without a ferry, and falls again within a week. Islands with a "
    "mill of their own see no such change."
)


def papers(host: str, path: str, visit: int) -> bytes:
    """A preprint with a new version at the second visit, and its page at an institute."""
    version = visit + 1 if host == "preprints" else 1
    if path == "/":
        name = f"/abs/17v{version}" if host == "preprints" else "/publications/bread"
        return layout(host, host, f"<a href='{name}'>Bread</a>")
    abstract = ABSTRACT if version == 1 else ABSTRACT.replace("nine", "ten")
    ids = f"<b class='doi'>10.5555/2030.17</b> <b class='version'>v{version}</b>"
    return layout(host, "Ferries and the price of bread", f"{ids}<p>{abstract}</p>")


NOTICE = (
    "北方群岛的渡轮将于周五恢复通航，港务局昨日宣布，此前风暴使所有船只停航九天，岛上商店的面包和燃料已经告急。",
    "首班船将运送邮件、药品和面粉，志愿者连夜完成装载。旅客可从中午起在码头购票，售票厅经过一个冬天的整修后重新开放。",
)


def portal(host: str, path: str, visit: int) -> Page:
    """One story in two channels, each with a source, a number and readers of its own."""
    main = "<a href='/2030/ferry.html'>渡轮</a>"
    if path != "/":
        source = {"news.portal": "北方日报", "city.portal": "新闻中心综合"}[host]
        number = f"{crc32(f'{host} {visit}'.encode()):08x}"
        spans = "".join(f"<span>{one}</span>" for one in (source, number, 1200 + 300 * visit))
        main = f"{spans}{paragraphs(*NOTICE)}"
    page = layout("portal", "北方群岛渡轮周五复航", main).decode().replace("utf-8", "gb2312")
    return Page(page.encode("gb18030"), content_type="text/html")


def blog(path: str, visit: int) -> bytes:
    names = ["harbour", "bread"] if not visit else ["storm", "harbour", "bread"]
    if path == "/":
        links = "".join(f"<a href='/{name}'>{name}</a> " for name in names)
        return layout("blog", "Blog", f"{links} <a href='/bread?utm_source=top'>Read most</a>")
    name = path[1:].partition("?")[0]
    head = f"<link rel='canonical' href='http://blog.example/{name}'>"
    return layout("blog", f"About {name}", paragraphs(sentences(name, 120)), head=head)


class Sites:
    """What the hosts show at each visit."""

    visit = -1

    def __call__(self, url: str) -> bytes | Page | None:
        parts = urlsplit(url)
        host = (parts.hostname or "").removesuffix(".example")
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        if parts.path == "/robots.txt":
            return None
        match host:
            case "shop":
                return shop(path, self.visit)
            case "jobs":
                return jobs(path, self.visit)
            case "forum":
                return forum(path, self.visit)
            case "lumen" | "candela":
                return shops(host, self.visit)
            case "preprints" | "institute":
                return papers(host, path, self.visit)
            case "news.portal" | "city.portal":
                return portal(host, path, self.visit)
            case "blog":
                return blog(path, self.visit)
        return news(host, path, self.visit)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/__init__.py").touch()
    (tmp_path / "shop/spiders.py").write_text(SPIDERS)
    (tmp_path / "shop/pipelines.py").write_text(PIPELINES)
    return tmp_path


def examples_of(section: str) -> Iterator[tuple[str, str]]:
    """Settings, each with "", and commands, each with the output that the page shows."""
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE):
        if kind == "python":
            yield block, ""
        else:
            for command in block.removeprefix("$ ").split("\n$ "):
                line, _, output = command.partition("\n")
                yield f"$ {line}", output.strip()


def settings(given: str) -> str:
    return (
        'ADDONS = {"scrapy_simhash.Addon": 500}\nSPIDER_MODULES = ["shop.spiders"]\n'
        "CONCURRENT_REQUESTS = 1\nTELNETCONSOLE_ENABLED = False\nSIMHASH_TIMEOUT = 60\n"
    ) + given


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0])
def test_the_commands_of_a_section_print_what_the_page_shows(project: Path, section: str) -> None:
    (project / "shop/settings.py").write_text(settings(""))
    sites = Sites()
    with answering(sites) as proxy:
        environment = proxied({"ALL_HOSTS": proxy}) | {"COLUMNS": "100"}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        for example, shown in examples_of(section):
            if not example.startswith("$ "):
                named = re.match(r"# (\S+)\n", example)
                path, text = (
                    (named[1], example) if named else ("shop/settings.py", settings(example))
                )
                (project / path).write_text(text)
                continue
            words = shlex.split(example, comments=True)[1:]
            is_crawl = words[:2] == ["scrapy", "crawl"]
            sites.visit += is_crawl
            done = subprocess.run(
                words,
                cwd=project,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            printed = done.stdout
            if is_crawl:
                lines = re.findall(r"\[scrapy_simhash.crawl.(?:components|end)\] (.*)", done.stderr)
                printed = "\n".join(lines)
            assert printed.strip() == shown or not shown, example

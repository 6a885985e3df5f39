"""What comes later than what is kept, and is better."""

from __future__ import annotations

import json
import logging
import re
from contextlib import closing
from pathlib import Path

import pytest
from hosts import serve_hosts
from loopback import STORES, PageSpider, crawl, prose
from scrapy.utils.defer import deferred_f_from_coro_f
from servers import ENGINES
from site_pages import bare, paragraphs, story, title

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.namespaces import choose_namespace
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.report.subject import read_subject
from scrapy_simhash.report.verdict import remarks

PREFER = "own-site=own.example,shortest-url"
MIRROR, OWN = "http://mirror.example/2030/a-long-path", "http://own.example"
HOSTS = ("mirror.example", "own.example", "other.example")


class StorySpider(PageSpider):
    name = "stories"

    def parse(self, response):
        yield {"url": response.url, "title": response.css("h1::text").get()}


class ListSpider(PageSpider):
    name = "lists"

    def parse(self, response):
        for link in response.css(".entry"):
            yield {"url": link.attrib["href"], "text": link.css("::text").get()}


def page(number: int, *more: str) -> bytes:
    return bare(title(number), paragraphs(*story(number, 240), *more))


def sites(count: int):
    """Stories of a mirror, that come first; then, of all but the last one, those of their site."""
    hosts: dict[str, dict[str, bytes]] = {host: {} for host in HOSTS}
    for number in range(count):
        hosts["mirror.example"][f"/2030/a-long-path/{number}"] = page(number)
        hosts["other.example"][f"/{number}"] = page(number)
        if number < count - 1:
            hosts["own.example"][f"/{number}"] = page(number)
    return hosts, [f"http://{host}{path}" for host in HOSTS for path in hosts[host]]


def better(call, settings, *options, **given):
    """The items that the command writes, by the URL they replace, and its messages."""
    code, out, err = call("restore", "--better", *options, **settings, **given)
    assert code == 0, err
    found = map(json.loads, out.splitlines())
    return sorted(found, key=lambda one: one["original"]), err


def verdict(settings) -> str:
    """The text of the report."""
    with closing(Database(settings["SIMHASH_DATABASE_URL"])) as database:
        return " ".join(remarks(read_subject(choose_namespace(database, "stories"), Rule())))


@pytest.mark.parametrize("engine", ENGINES)
@deferred_f_from_coro_f
async def test_the_better_copies_come_with_what_they_replace(settings, call, caplog):
    caplog.set_level(logging.INFO)
    hosts, urls = sites(4)
    with serve_hosts(hosts) as through:
        given = settings | STORES | through
        first = await crawl(StorySpider, {**given, "SIMHASH_PREFER": PREFER}, urls)
        assert first.urls == [f"/2030/a-long-path/{number}" for number in range(4)]
        # Three of their own site, and four of another with shorter addresses.
        assert first.stats["duplicates/better"] == 7
        assert "7 better than what is stored" in caplog.text
        assert "7 duplicates are better than their original:" in verdict(settings)
        found, err = better(call, settings, SIMHASH_PREFER=PREFER)
        assert "4 items" in err
        assert [(one["original"], one["item"]["url"], one["by"]) for one in found] == [
            *((f"{MIRROR}/{n}", f"{OWN}/{n}", "own-site=own.example") for n in range(3)),
            (f"{MIRROR}/3", "http://other.example/3", "shortest-url"),
        ]
        assert [one["item"]["title"] for one in found] == [title(number) for number in range(4)]
        # Nothing was asked for in the crawl, and another thing is asked for now.
        again = await crawl(StorySpider, given, urls)
        assert "duplicates/better" not in again.stats
        shortest, _ = better(call, settings, "--prefer", "shortest-url")
        assert [one["item"]["url"][:12] for one in shortest] == ["http://own.e"] * 3 + [
            "http://other"
        ]
        # Of what comes again it is the newest, and still one for each.
        assert min(one["run"] for one in shortest) > max(one["run"] for one in found)
        assert better(call, settings, "--prefer", "https")[0] == []


@pytest.mark.parametrize("is_parsed", [True, False])
@deferred_f_from_coro_f
async def test_what_the_head_of_a_page_declares_counts(settings, call, is_parsed):
    def headed(number, *tags):
        return page(number).replace(b"<head>", f"<head>{''.join(tags)}".encode())

    canonical = f'<link rel="canonical" href="{OWN}/{{}}">'
    date = '<meta property="article:published_time" content="2026-11-{:02}T10:00:00+00:00">'
    hosts = {
        "mirror.example": {
            "/0": headed(0, canonical.format(0), date.format(2)),
            "/1": headed(1, date.format(1)),
        },
        "own.example": {
            "/0": headed(0, canonical.format(0), date.format(1)),
            "/1": headed(1, date.format(2)),
        },
    }
    urls = [f"http://{host}{path}" for host in hosts for path in hosts[host]]
    spider = StorySpider if is_parsed else PageSpider
    with serve_hosts(hosts) as through:
        await crawl(spider, settings | STORES | through, urls)
    for criterion in ("canonical", "earliest"):
        (found,) = better(call, settings, "--prefer", criterion)[0]
        assert found["original"] == "http://mirror.example/0"
        assert (found["item"]["url"], found["by"]) == (f"{OWN}/0", criterion)


@deferred_f_from_coro_f
async def test_the_guide_brings_a_feed_up_to_date(settings, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page_ = Path(__file__).parents[2].joinpath("docs", "best.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(import json.*?)```", page_, re.DOTALL)
    hosts, urls = sites(4)
    given = {"FEEDS": {"pages.jsonl": {"format": "jsonlines"}}, "SIMHASH_GROUP_FIELD": "group"}
    with serve_hosts(hosts) as through:
        await crawl(StorySpider, settings | given | through, urls)
    assert better(call, settings, "--prefer", PREFER, "-o", "better.jsonl")[0] == []
    exec(code, {})
    stored, best = (
        [json.loads(line) for line in Path(name).read_text("utf-8").splitlines()]
        for name in ("pages.jsonl", "best.jsonl")
    )
    assert [item["group"] for item in best] == [item["group"] for item in stored]
    assert [item["url"] for item in best] == [
        *(f"{OWN}/{number}" for number in range(3)),
        "http://other.example/3",
    ]


@deferred_f_from_coro_f
async def test_runs_and_times_choose_among_the_best(settings, call):
    hosts, urls = sites(3)
    given = settings | STORES | {"SIMHASH_KNOWN": "drop"}
    with serve_hosts(hosts) as through:
        await crawl(StorySpider, given | through, urls[:5])
        await crawl(StorySpider, given | through, urls[5:])
    prefer = ["--prefer", "own-site=own.example,shortest-url"]
    assert len(better(call, settings, *prefer)[0]) == 3
    assert len(better(call, settings, *prefer, "--run", 1)[0]) == 2
    assert len(better(call, settings, *prefer, "--run", 2)[0]) == 1
    assert better(call, settings, *prefer, "--since", "2999-01-01")[0] == []


@deferred_f_from_coro_f
async def test_a_new_version_is_what_is_kept(settings, call):
    longer = page(0, f"{prose('more', 12)}.")
    hosts = {"mirror.example": {"/a": page(0)}, "own.example": {"/b": longer}}
    urls = ["http://mirror.example/a", "http://own.example/b"]
    longest = ["--prefer", "longest"]
    with serve_hosts(hosts) as through:
        await crawl(StorySpider, settings | STORES | through, urls)
        (found,) = better(call, settings, *longest)[0]
        assert (found["original"], found["item"]["url"]) == tuple(urls)
        hosts["mirror.example"]["/a"] = page(0, f"{prose('more', 12)}. {prose('still more', 4)}.")
        again = await crawl(StorySpider, settings | STORES | through, urls)
        assert (again.stats["same"], again.stats["duplicates"]) == (1, 1)
        assert better(call, settings, *longest)[0] == []
        # The group is still that of the first version, and so is what it is replaced by.
        (other,) = better(call, settings, "--prefer", "own-site=own.example")[0]
        assert other["group"] == found["group"]
        assert other["run"] == 2


@deferred_f_from_coro_f
async def test_what_a_page_lists_goes_by_its_own_address(settings, call):
    text = prose("entry", 60)
    entry = "<a class='entry' href='{}'>{}</a>"
    hosts = {
        "lists.example": {
            "/1": bare("one", entry.format("http://a.example/thing?view=7", text)),
            "/and-another-page": bare("two", entry.format("http://b.example/thing", text)),
        }
    }
    urls = [f"http://lists.example{path}" for path in hosts["lists.example"]]
    given = {"SIMHASH_FACTS": "never", "SIMHASH_KEY": ["url"], "SIMHASH_PREFER": "shortest-url"}
    with serve_hosts(hosts) as through:
        done = await crawl(ListSpider, settings | STORES | through | given, urls)
    assert done.stats["duplicates/better"] == 1
    (found,) = better(call, settings, "--prefer", "shortest-url")[0]
    assert found["original"] == "http://a.example/thing?view=7"
    assert found["url"] == found["item"]["url"] == "http://b.example/thing"
    assert found["key"] == "lists.example http://b.example/thing"


@deferred_f_from_coro_f
async def test_what_was_stored_by_itself_is_no_copy_any_more(settings, call):
    hosts = {"mirror.example": {"/2030/a": page(0)}, "own.example": {"/b": page(0)}}
    urls = ["http://mirror.example/2030/a", "http://own.example/b"]
    with serve_hosts(hosts) as through:
        await crawl(StorySpider, settings | STORES | through, urls)
        assert len(better(call, settings, "--prefer", "shortest-url")[0]) == 1
        hosts["own.example"]["/b"] = page(1)
        await crawl(StorySpider, settings | STORES | through, urls)
    assert better(call, settings, "--prefer", "shortest-url")[0] == []


@pytest.mark.parametrize("action", ["report", "skip"])
@deferred_f_from_coro_f
async def test_what_is_stored_or_was_never_there_is_not_given(settings, call, action):
    hosts = {"own.example": {"/2030/a": page(0), "/b": page(0)}}
    urls = ["http://own.example/2030/a", "http://own.example/b"]
    given = {"SIMHASH_ON_DUPLICATE": action, "SIMHASH_PREFER": "shortest-url"}
    given |= {"SIMHASH_KNOWN": "drop"}
    with serve_hosts(hosts) as through:
        for url in urls:
            done = await crawl(StorySpider, settings | STORES | through | given, [url])
    assert done.stats["duplicates"] == done.stats["duplicates/better"] == 1
    found, err = better(call, settings, "--prefer", "shortest-url")
    assert found == []
    assert ("Not kept (SIMHASH_QUARANTINE): 1 item" in err) is (action == "skip")

"""What a report says of a pair of items holds for this pair, in any crawl."""

from __future__ import annotations

import base64
import json
import re
import zlib
from urllib.parse import parse_qsl, urlsplit

from fuzz.target import target
from hypothesis import strategies as st
from loopback import prose
from stored import store

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.sql import choose_namespace
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.item.urls import place
from scrapy_simhash.report.data import read_report
from scrapy_simhash.report.html import pack
from scrapy_simhash.report.verdict import findings

urls = st.builds(
    "{}://{}/{}{}{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["a.test", "www.a.test", "b.test", "[broken"]),
    st.lists(st.sampled_from(["story", "print", "12", "13"]), max_size=3).map("/".join),
    st.sampled_from(["", "", "?page=1", "?page=2", "?page=1&sid=7"]),
    st.sampled_from(["", "", "", "#post-7"]),
)
#: Where an item was found, its own URL, its text and its price.
items = st.tuples(urls, urls | st.none(), st.integers(0, 2), st.sampled_from("112"))
visits = st.lists(st.lists(items, min_size=2, max_size=8), min_size=1, max_size=2)


@target(visits, examples=30)
def test_what_is_said_of_a_pair(visits: list[list[tuple[str, str | None, int, str]]]) -> None:
    database = Database("sqlite://")
    try:
        for visit in visits:
            with Index(database, rule=Rule(known="drop")) as index:
                for page, own, seed, price in visit:
                    store(index, prose(seed), page, {"price": price}, key=own or page)
        report = read_report(choose_namespace(database, None), Rule())
        for row in json.loads(zlib.decompress(base64.b64decode(pack(report)["rows"])))["rows"]:
            if row["how"] and not row["change"]:
                check(row["how"], row["url"], row["original"]["url"])
        for one in findings(report):
            if one.outcome == "repeated":
                assert one.example is not None
                check(one.what, *one.example)
    finally:
        database.close()


def check(what: str, url: str, original: str) -> None:
    said = f"{what}: {url} and {original}"
    if what == "unchanged since an earlier crawl":
        return
    if "[broken" in url + original:
        assert what in {"at another URL", "listed again under the same URL"}, said
        assert (what == "at another URL") == (url != original), said
        return
    both = [urlsplit(one) for one in (url, original)]
    hosts = {one.netloc for one in both}
    paths = [[*filter(None, one.path.split("/"))] for one in both]
    queries = [dict(parse_qsl(one.query)) for one in both]
    is_page = len(hosts) == 1 and paths[0] == paths[1] and queries[0] == queries[1]
    is_site = len({host.removeprefix("www.") for host in hosts}) == 1
    simple = {
        "listed again under the same URL": url == original,
        "on another site": not is_site,
        "elsewhere on the page": is_page and both[0].fragment != both[1].fragment,
        "the same URL, written differently": is_page and both[0].fragment == both[1].fragment,
        "another view of the page, such as for printing": is_site and place(url) == place(original),
        "in another folder": is_site and paths[0][-1:] == paths[1][-1:] and paths[0] != paths[1],
        "elsewhere on the site": is_site and paths[0][-1:] != paths[1][-1:],
    }
    if what in simple:
        assert simple[what], said
        return
    path, *more = what.split(", ")
    assert path == "same path", said
    assert paths[0] == paths[1], said
    named = {*re.findall(r"other (.*)", what)}
    names = {*re.findall("`([^`]*)`", named.pop())} if named else set()
    assert names == {k for k in queries[0] | queries[1] if queries[0].get(k) != queries[1].get(k)}
    assert {f"on {' and '.join(f'`{one}`' for one in sorted(hosts))}"} & {*more} or len(hosts) == 1

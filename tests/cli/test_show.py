"""``scrapy simhash stats`` and ``show``."""

from __future__ import annotations

import json
import re

from loopback import PageSpider, article, crawl, prose, serve
from scrapy import Request
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.request import fingerprint
from stored import meet, store

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import LeftOut


@deferred_f_from_coro_f
async def test_stats_show_what_a_run_counted_also_after_later_ones(call, tmp_path):
    path, pages = tmp_path / "seen.db", dict[str, bytes]()
    settings = {"SIMHASH_DATABASE_URL": f"sqlite:///{path}"}
    with serve(pages) as site:
        for day in ("Monday", "Tuesday"):
            page = article("story").replace(b"</p>", f" It is {day} now.</p>".encode())
            pages |= {"/story": page, "/copy": page, "/other": article("another story")}
            await crawl(PageSpider, settings, [f"{site}{path}" for path in pages])
    out = call("stats", "--database", path)[1]
    for run in (1, 2):
        assert re.search(rf"│ {run} .*│ pages +│ finished │ +3 │ +2 │ +1 │", out)


def test_show_what_a_near_duplicate_is_one_of_and_what_changed(call, database):
    code, out, _ = call("show", "http://b.test/2", "--database", database)
    assert code == 0
    assert "http://a.test/1" in out
    assert "Dropped in run 1, " in out
    assert "similar texts" in out
    assert "{+other0" in out


def test_show_names_the_page_it_was_kept_beside_and_the_reason(call, tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        for number in (1, 2):
            store(index, prose(1), f"http://a.test/{number}", {"price": f"{number} EUR"})
    known = json.loads(call("show", "http://a.test/2", "--json", "--database", path)[1])
    (kept,) = known["decisions"]
    assert (kept["status"], kept["reason"]) == ("kept", "`price` differs")
    assert kept["original"] == "http://a.test/1"
    assert kept["fields"] == {"price": ["1 EUR", "2 EUR"]}
    shown = call("show", "http://a.test/2", "--database", path)[1]
    assert "`price` differs: 1 EUR -> 2 EUR" in shown
    assert "differs" not in call("show", "http://a.test/1", "--database", path)[1]


def test_show_finds_a_page_by_the_key_of_its_request(call, tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        key = fingerprint(Request("http://a.test/?b=1&a=2")).hex()
        index.confirm(index.claim(prose(1), key=key, url="elsewhere"))
    for query in ("a=2&b=1", "a=2&utm_source=rss&b=1"):
        code, out, _ = call("show", f"http://a.test/?{query}", "--json", "--database", path)
        assert code == 0
        assert json.loads(out)["versions"][0]["url"] == "elsewhere"


def test_an_unchanged_page_is_no_duplicate_of_itself(call, tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}", rule=Rule(known="drop")) as index:
        for action in ("", "same"):
            page = index.document(prose(1), key="http://a.test/", url="http://a.test/")
            (verdict,) = index.execute(claims=[page])
            if action:
                index.execute(left_out=[LeftOut(verdict, action)])
            index.confirm(verdict)
    known = json.loads(call("show", "http://a.test/", "--json", "--database", path)[1])
    assert [drop["status"] for drop in known["decisions"]] == ["unchanged"]
    assert (known["duplicates"], known["duplicate_count"]) == ([], 0)
    shown = call("show", "http://a.test/", "--database", path)[1]
    assert "Unchanged in run 1, " in shown
    assert "ear-duplicate" not in shown


def test_show_an_unknown_page(call, database):
    code, _, err = call("show", "http://c.test/", "--database", database)
    assert code == 2
    assert "nothing is stored about http://c.test/" in err


def test_a_part_of_the_address_will_do(call, database):
    known = json.loads(call("show", "B.test/2", "--json", "--database", database)[1])
    assert (known["url"], len(known["decisions"])) == ("http://b.test/2", 1)
    out = call("show", ".test/1", "--database", database)[1]
    assert "http://a.test/1" in out
    assert "http://b.test/1" in out
    assert "test/2" not in out
    listed = call("show", ".test/", "--json", "--database", database)[1].splitlines()
    assert [json.loads(one) for one in listed] == [
        {"namespace": "news", "url": f"http://{page}"}
        for page in ("a.test/0", "a.test/1", "a.test/2", "b.test/1", "b.test/2")
    ]
    one = call("show", "test/1", "--site", "b.test", "--json", "--database", database)[1]
    assert json.loads(one)["url"] == "http://b.test/1"
    # Not a pattern.
    assert call("show", "a_test", "--database", database)[0] == 2


def test_a_url_is_found_as_it_is_shown_without_its_secrets(call, tmp_path):
    """Where several look the same, all of them are shown."""
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        for code in ("AB-1", "AB-2"):
            url = f"http://ann:hidden@a.test/p?code={code}&n=1"
            index.confirm(index.claim(prose(code), key=url, url=url))
    shown = "http://ann:***@a.test/p?code=***&n=1"
    for given in (shown, "p?code=***&n"):
        out = call("show", given, "--database", path)[1]
        assert out.count("Stored item") == 2
        assert shown in out
        assert "AB-" not in out
        assert "hidden" not in out
    assert json.loads(call("show", url, "--json", "--database", path)[1])["url"] == shown


def test_a_url_whose_path_is_given_comes_before_those_that_contain_it(call, tmp_path):
    path = tmp_path / "seen.db"
    urls = [f"http://a.test/{part}" for part in ("story/120", "story/12", "story/12?page=2")]
    with Index(f"sqlite:///{path}") as index:
        meet(index, [(url, url) for url in urls])
    for given in ("story/12", "/story/12/", "12"):
        known = json.loads(call("show", given, "--json", "--database", path)[1])
        assert known["url"] == urls[1]
    shown = call("show", "story/1", "--json", "--database", path)[1].splitlines()
    assert [json.loads(one)["url"] for one in shown] == [urls[1], urls[0], urls[2]]


def test_the_history_of_an_item(call, tmp_path):
    """A price that goes up, stays, and goes down again."""
    path, url = tmp_path / "seen.db", "http://a.test/lamp"
    for price in ("12 EUR", "14 EUR", "14 EUR", "12 EUR"):
        with Index(f"sqlite:///{path}", rule=Rule(known="drop")) as index:
            store(index, prose(1), url, {"price": price})
    known = json.loads(call("show", url, "--json", "--database", path)[1])
    assert [(one["run"], one["status"], one["fields"]) for one in known["changes"]] == [
        (1, "new", {}),
        (2, "changed", {"price": ["12 EUR", "14 EUR"]}),
        (4, "changed", {"price": ["14 EUR", "12 EUR"]}),
    ]
    later = json.loads(call("show", url, "--since", 3, "--json", "--database", path)[1])
    assert later["changes"] == known["changes"][2:]
    out = call("show", url, "--database", path)[1]
    assert re.findall(r"    \S+ \S+  run (\d)  (\w+) *(.*)", out) == [
        ("1", "new", ""),
        ("2", "changed", "price: 12 EUR -> 14 EUR"),
        ("4", "changed", "price: 14 EUR -> 12 EUR"),
    ]

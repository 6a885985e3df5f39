"""``scrapy simhash stats`` and ``show``."""

from __future__ import annotations

import json
import re

import pytest
from loopback import PageSpider, article, crawl, prose, serve
from scrapy import Request
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.request import fingerprint
from stored import changed, fill, meet, store

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import LeftOut
from scrapy_simhash.simhash.measure import jaccard
from scrapy_simhash.simhash.scheme import load_scheme


def test_stats(call, database):
    code, out, _ = call("stats", "--json", "--database", database)
    (namespace,) = json.loads(out)["namespaces"]
    assert code == 0
    assert (namespace["name"], namespace["size"], namespace["bits"]) == ("news", 3, 128)
    (run,) = namespace["runs"]
    assert (run["claims"], run["pending"], run["drops"], run["orphans"]) == (3, 0, 2, 0)
    code, out, _ = call("stats", "--database", database)
    assert re.search(r"│ news +│ +3 │ +1 │ 1 ", out)
    assert "shingles/2" not in out
    assert "shingles/2" in call("stats", "--details", "--database", database)[1]


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


def test_show_a_page_and_its_near_duplicates(call, database):
    code, out, _ = call("show", "http://a.test/1", "--json", "--database", database)
    known = json.loads(out)
    assert code == 0
    (version,) = known["versions"]
    assert version["state"] == "confirmed"
    assert known["duplicate_count"] == 2
    copies = {copy["url"]: copy["id"] for copy in known["duplicates"]}
    assert copies.keys() == {"http://b.test/1", "http://b.test/2"}
    (drop,) = json.loads(call("show", "http://b.test/2", "--json", "--database", database)[1])[
        "decisions"
    ]
    assert isinstance(version["claim"], str)
    assert (drop["id"], drop["group"]) == (copies["http://b.test/2"], version["group"])


def test_show_what_a_near_duplicate_is_one_of_and_what_changed(call, database):
    code, out, _ = call("show", "http://b.test/2", "--database", database)
    assert code == 0
    assert "http://a.test/1" in out
    assert "Dropped in run 1, " in out
    assert "similar texts" in out
    assert "{+other0" in out


def test_show_gives_the_values_of_a_duplicate_and_its_original(call, tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}") as index:
        for number in (1, 2):
            values = {"views": f"{number} readers", "author": "Ann"}
            store(index, prose(1), f"http://{number}.test/", values)
    known = json.loads(call("show", "http://2.test/", "--json", "--database", path)[1])
    (drop,) = known["decisions"]
    assert drop["fields"] == {"views": ["1 readers", "2 readers"]}
    assert "1 readers -> 2 readers" in call("show", "http://2.test/", "--database", path)[1]


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


@pytest.mark.parametrize(("budget", "edits"), [(1 << 20, 3), (0, 0)])
def test_show_gives_the_similarity_that_was_judged_by(call, tmp_path, budget, edits):
    about = not budget
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}", text_budget=budget) as index:
        texts = fill(index, edits=edits)
    pair = texts[1], changed(texts[1], edits)
    shingles = [load_scheme().sketch(text).shingles for text in pair]
    known = json.loads(call("show", "http://b.test/2", "--json", "--database", path)[1])
    (drop,) = known["decisions"]
    assert drop["estimated"] is about
    assert drop["similarity"] == pytest.approx(jaccard(*shingles), abs=0.1 if about else 1e-4)
    shown = call("show", "http://b.test/2", "--database", path)[1]
    assert f"{'about ' if about else ''}{drop['similarity']:.2f}" in shown
    assert (f"about {drop['similarity']:.2f}" in shown) is about


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


def test_equal_texts_leave_no_tail_and_long_ones_are_cut_at_words(call, database):
    out = call("show", "http://b.test/1", "--database", database)[1]
    assert "The texts are equal" in out
    out = call("show", "http://b.test/2", "--database", database)[1]
    words = set(prose(1, 200).split())
    (shown_line,) = [line for line in out.splitlines() if "[…]" in line]
    parts = re.sub(r"\[-.*?-\]|\{\+.*?\+\}|\[…\]", " ", shown_line).split()
    assert set(parts) <= words


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

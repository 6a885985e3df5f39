"""``scrapy simhash patterns``, and what another package does with its rules."""

from __future__ import annotations

import json

import pytest
from loopback import PageSpider, answering, article, crawl
from scrapy import Request
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.test import get_crawler
from stored import meet

from scrapy_simhash.index.index import Index

PRODUCTS = 24


def shop(target: str) -> bytes | None:
    """Products linked under several session ids; of every fourth, a size that is another thing."""
    path, _, query = target.partition("?")
    number = int(path.rpartition("/")[2] or 0)
    links = []
    if not path.startswith("/product/"):
        links = [f"/product/{n}?sid={n * 7 + k}" for n in range(PRODUCTS) for k in range(3)]
    elif number % 4 == 0 and "size" not in query:
        links = [f"{path}?size=xl"]
    thing = f"{path} {query if 'size' in query else ''}"
    more = "".join(f"<a href='{link}'>{link}</a>" for link in links)
    return article(thing).replace(b"</article>", f"</article><b>{thing}</b>{more}".encode())


class Follows(PageSpider):
    def parse(self, response):
        if "/product/" in response.url:
            yield {"thing": response.css("b::text").get(), "text": response.css("p::text").get()}
        yield from response.follow_all(css="a[href*=product]")


#: Sessions and months that repeat, and ids that do not; a site that writes to terminals.
PAGES = [
    *((f"http://www.a.test/p/{n}?id={n}&sid={s}", n) for n in range(4) for s in range(3)),
    *((f"http://a.test/p/{n}?id={n}", n) for n in (5, 6)),
    *((f"http://a.test/events/2031/{month}", "events") for month in range(1, 6)),
    *((f"http://evil.test/\x1b[31m?\u202esid={session}", "evil") for session in range(5)),
    *((f"http://evil.test/a|b/{n}?sid={s}", f"evil {n}") for n in range(4) for s in "ab"),
]


@pytest.fixture
def seen(tmp_path):
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}", namespace="n") as index:
        meet(index, PAGES)
    return path


def test_irrelevant_parameters_are_shown_with_their_counts(call, seen):
    code, out, err = call("patterns", "--database", seen, "--least", 4)
    assert code == 0
    assert err.startswith("Run 1: ")
    (row,) = [line for line in out.splitlines() if "www.a.test/p/?sid" in line]
    assert [cell.strip() for cell in row.split("│")[1:5]] == ["www.a.test/p/?sid", "12", "8", "4"]
    assert "a.test/events/*" in out
    assert "?id" not in out.replace("?id=", "")
    assert not set("\x1b\u202e") & set(out)


def test_for_programs(call, seen, tmp_path):
    path = tmp_path / "rules.json"
    out = call("patterns", "--database", seen, "--least", 4, "--json", "--rules", path)[1]
    by_part = {one["part"]: one for one in map(json.loads, out.splitlines())}
    assert by_part["www.a.test/p/?sid"]["saved"] == 8
    assert by_part["evil.test/a|b/?sid"]["groups"] == 4
    # Neither a date, nor a place that would match others, nor a single page has a rule.
    rules = json.loads(path.read_text("utf-8"))
    (rule,) = [rule for rule in rules if "a.test" in str(rule["urlPattern"])]
    assert rule == {
        "urlPattern": {"include": ["www.a.test/p/"]},
        "processor": "queryRemoval",
        "args": ["sid"],
        "order": 100,
    }
    assert not any("a|b" in str(rule) for rule in rules)
    code, _, err = call("patterns", "--database", seen, "--rules", path)
    assert code == 2
    assert f"{path}: exists" in err


def test_no_rule_for_a_place_that_another_one_contradicts_whom_rules_do_not_tell_apart(
    call, seen, tmp_path
):
    with Index(f"sqlite:///{seen}", namespace="n") as index:
        others = [(f"http://a.test/P/9?sid={seed}", seed) for seed in ("one", "other")]
        meet(index, [*PAGES, *others])
    rules = tmp_path / "rules.json"
    assert call("patterns", "--database", seen, "--least", 4, "--rules", rules)[0] == 0
    assert "www.a.test/p/" not in rules.read_text("utf-8")


def test_what_no_rule_can_tell_has_none(call, tmp_path):
    path, rules = tmp_path / "seen.db", tmp_path / "rules.json"
    pages = [(f"http://a.test/list/{n}?page={p}", n) for n in range(3) for p in range(9)]
    pages += [(f"http://a.test/events/2031/{month}", "events") for month in range(1, 26)]
    pages += [(f"http://a.test/x|y/{n}?sid={s}", f"x {n}") for n in range(20) for s in "ab"]
    pages += [(f"http://b.test/p{n}.html?sid={s}", f"p {n}") for n in range(20) for s in "ab"]
    pages += [(f"http://b.test/ticket/1?sid={s}", f"ticket {s}") for s in "ab"]
    # One page has changed between two downloads.
    pages += [(f"http://c.test/i/{n}?sid={s}", f"i {n}") for n in range(30) for s in "ab"]
    pages += [("http://c.test/i/1?sid=c", "i 1 later")]
    with Index(f"sqlite:///{path}", namespace="n") as index:
        meet(index, pages)
    err = call("patterns", "--database", path, "--rules", rules)[2]
    assert err.splitlines()[-1] == f"0 rules written to {rules}"


@pytest.mark.usefixtures("no_list")
def test_files_in_the_root_have_a_rule_if_nothing_on_their_host_contradicts_it(call, tmp_path):
    discarder = pytest.importorskip("duplicate_url_discarder")
    path, rules = tmp_path / "seen.db", tmp_path / "rules.json"
    pages = [(f"http://b.test/p{n}.html?sid={s}", f"p {n}") for n in range(20) for s in "ab"]
    pages += [(f"http://b.test/ticket/1?id={s}", f"ticket {s}") for s in "ab"]
    with Index(f"sqlite:///{path}", namespace="n") as index:
        meet(index, pages)
    assert "1 rule written" in call("patterns", "--database", path, "--rules", rules)[2]
    crawler = get_crawler(settings_dict={"DUD_LOAD_RULE_PATHS": [str(rules)]})
    of = discarder.Fingerprinter.from_crawler(crawler).fingerprint
    assert len({of(Request(url)) for url, _ in pages}) == 22


@pytest.fixture
def no_list(monkeypatch):
    """Without it, the library downloads the list of public suffixes."""
    extractor = pytest.importorskip("tldextract.tldextract").TLD_EXTRACTOR
    monkeypatch.setattr(extractor, "suffix_list_urls", ())


@pytest.mark.usefixtures("no_list")
@deferred_f_from_coro_f
async def test_the_rules_spare_downloads_and_lose_nothing(call, tmp_path):
    pytest.importorskip("duplicate_url_discarder", reason="its rules are tried with the package")
    asked: list[str] = []
    everything = {f"/product/{n} " for n in range(PRODUCTS)}
    everything |= {f"/product/{n} size=xl" for n in range(0, PRODUCTS, 4)}

    def find(target: str) -> bytes | None:
        asked.append(target)
        return shop(target)

    async def things(site: str, name: str, **settings: object) -> set[str]:
        asked.clear()
        url = f"sqlite:///{tmp_path / name}"
        done = await crawl(Follows, {"SIMHASH_DATABASE_URL": url} | settings, [f"{site}/"])
        assert done.errors == 0
        return {item["thing"] for item in done.items}

    with answering(find) as site:
        assert await things(site, "first.db") == everything
        assert len(asked) > 3 * PRODUCTS
        rules = tmp_path / "rules.json"
        code, out, _ = call("patterns", "--database", tmp_path / "first.db", "--rules", rules)
        assert code == 0, out
        addons = {"scrapy_simhash.Addon": 500, "duplicate_url_discarder.Addon": 600}
        given = {"ADDONS": addons, "DUD_LOAD_RULE_PATHS": [str(rules)]}
        assert await things(site, "second.db", **given) == everything
    (include,) = json.loads(rules.read_text("utf-8"))[0]["urlPattern"]["include"]
    assert f"http://{include}" == f"{site}/product/"
    assert len([target for target in asked if "/product/" in target]) == len(everything)

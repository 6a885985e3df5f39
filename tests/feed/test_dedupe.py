"""``scrapy simhash dedupe``, called as on the command line."""

from __future__ import annotations

import json

import pytest
from corpora import documents_of, feed_of, jsonl
from loopback import prose

from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.index.rule import Rule

# In no encoding.
BROKEN = b"name;town\nAnn;K\x81ln\nBob;M\x81nster\n"

NO_MORE = {"rejected": 0, "problems": [], "near": [], "advice": []}
NO_MORE |= {"reference": 0, "known": 0, "unreadable": 0, "written": []}


def test_texts_that_are_too_long_are_compared_to_the_letter(call, tmp_path):
    text = prose(1, 90)
    long = [
        {"url": f"http://a.test/{n}", "text": (text + " ") * 9 + more}
        for n, more in enumerate(["", "", "one more"])
    ]
    short = [{"url": f"http://a.test/s{n}", "text": text} for n in range(2)]
    (tmp_path / "in.jsonl").write_bytes(jsonl([*long, *short]))
    call(
        "dedupe",
        tmp_path / "in.jsonl",
        "-o",
        tmp_path / "out.jsonl",
        "--fields=text",
        SIMHASH_MAX_TEXT=2 * len(text),
    )
    assert (tmp_path / "out.jsonl").read_bytes() == jsonl([long[0], long[2], short[0]])


@pytest.fixture
def dedupe_items(call, tmp_path):
    """Call the command on items; gives the numbers of those that are kept, and the counts."""

    def run(items, *arguments, **given):
        source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
        output.unlink(missing_ok=True)
        source.write_bytes(jsonl([{**item, "_n": n} for n, item in enumerate(items)]))
        ignored = ["--ignore", "_n"] if "--ignore" not in arguments else []
        code, out, err = call(
            "dedupe", source, "-o", output, "--json", *arguments, *ignored, **given
        )
        assert code == 0, err
        kept = [json.loads(line)["_n"] for line in output.read_bytes().splitlines()]
        return kept, json.loads(out)

    return run


@pytest.mark.parametrize("option", ["fields", "ignore", "key"])
def test_a_field_that_no_item_has_is_told_in_a_line(call, tmp_path, option):
    source = tmp_path / "in.jsonl"
    source.write_bytes(jsonl([{"title": "One", "text": "short"}, {"title": "Two", "ur1": "x"}]))
    for output, given, told in (("a", "title,no.name", ["'no.name'"]), ("b", "title,ur1", [])):
        code, _, err = call(
            "dedupe", source, "-o", tmp_path / f"{output}.csv", f"--{option}", given
        )
        assert code == 0
        assert err.splitlines() == [
            f"scrapy simhash dedupe: --{option} names fields that none of the first items has: "
            f"{names}. Their fields are title, text, ur1"
            for names in told
        ]


@pytest.mark.parametrize("empty", [{"text": ""}, {"text": None, "tags": []}, {}])
def test_empty_items_are_kept_and_counted(dedupe_items, empty):
    kept, counts = dedupe_items([{"text": "short"}] * 3 + [empty] * 2)
    assert kept == [0, 3, 4]
    assert counts == {"read": 5, "kept": 3, "dropped": 2, "unchecked": 2} | NO_MORE


@pytest.mark.parametrize(
    ("name", "content"), [("in.jsonl", b"name,age\nAnn,5\n"), ("in.csv", BROKEN)]
)
def test_where_nothing_can_be_read_nothing_is_written(call, tmp_path, name, content):
    source, output = tmp_path / name, tmp_path / "out.csv"
    source.write_bytes(content)
    code, _, err = call("dedupe", source, "-o", output)
    assert code == 2
    assert "no other record can be read either" in err
    assert not output.exists()
    more = ("--rejects", tmp_path / "bad", "--fields", "name")
    assert call("dedupe", source, "-o", output, *more)[0] == 3
    assert output.exists()


def test_an_item_without_a_text_of_its_own_is_compared_to_the_letter(dedupe_items):
    rows = [{"name": "Ann", "age": 5}, {"name": "Ann", "age": 6}, {"age": 5, "name": "Ann"}]
    assert dedupe_items(rows)[0] == [0, 1]


def offer(number: int, site: str = "a", **more) -> dict:
    return {"url": f"http://{site}.test/{number}", "description": prose(1, 90), **more}


def test_items_of_one_site_that_say_other_things_are_kept(dedupe_items):
    offers = [offer(n, title=f"Title {n % 2}") for n in range(4)]
    assert dedupe_items(offers)[0] == [0, 1]
    assert dedupe_items(offers, "--ignore", "_n,title")[0] == [0]
    assert dedupe_items(offers, "--facts", "never")[0] == [0]
    assert dedupe_items(offers, "--fields", "description")[0] == [0]


def test_across_sites_the_text_decides_and_the_price(dedupe_items):
    stories = [offer(n, "abc"[n], title=f"Title {'xyz'[n]}") for n in range(3)]
    assert dedupe_items(stories)[0] == [0]
    assert dedupe_items(stories, "--facts", "always")[0] == [0, 1, 2]
    volumes = [offer(n, "abc"[n], title=f"Volume {n}") for n in range(3)]
    assert dedupe_items(volumes)[0] == [0, 1, 2]
    priced = [offer(n, "abc"[n], price=f"{n // 2} EUR") for n in range(3)]
    assert dedupe_items(priced)[0] == [0, 2]


def test_things_that_a_page_lists_under_addresses_of_their_own_are_different(dedupe_items):
    listed = [offer(1, link=f"http://a.test/variant/{n}") for n in (1, 2, 1)]
    assert dedupe_items(listed)[0] == [0, 1]
    by_key = [offer(1, code=f"c{n}") for n in (1, 2, 1)]
    assert dedupe_items(by_key, "--key", "code", "--ignore", "_n,code")[0] == [0, 1]
    assert dedupe_items(by_key, "--ignore", "_n,code")[0] == [0]


def test_the_fields_of_the_project_are_compared_unless_others_are_named(dedupe_items):
    offers = [offer(n, title=f"Title {n}") for n in range(2)]
    assert dedupe_items(offers, SIMHASH_FIELDS=["description"])[0] == [0]
    assert dedupe_items(offers, "--fields", "title", SIMHASH_FIELDS=["description"])[0] == [0, 1]
    # Fields of an item class do not apply to a feed, whose items have no class.
    fields = {"scrapy.Item": ["description"]}
    assert dedupe_items(offers, SIMHASH_FIELDS=fields)[0] == [0, 1]


@pytest.mark.parametrize("text", ["", prose(1, 90)])
def test_what_is_nested_deep_counts(dedupe_items, text):
    deep = (json.loads(f"{'[' * 40}{n}{']' * 40}") for n in (1, 2, 1))
    assert dedupe_items([{"name": "Ann", "text": text, "deep": one} for one in deep])[0] == [0, 1]


@pytest.mark.parametrize("text", ["", prose(1, 90)])
def test_an_item_that_can_not_be_read_is_not_compared(text):
    plan = Plan.make(Rule(), bytes(16))
    assert documents_of(plan, [{"name": "Ann", "text": text, "a": object()}]) == [None]


def test_dedupe_overwrites_nothing(call, tmp_path):
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(jsonl(feed_of(3)[0]))
    output.write_text("precious")
    for path in (output, source, tmp_path / "out.warc", tmp_path / "out.txt"):
        assert call("dedupe", source, "-o", path, "--fields", "text")[0] == 2
    assert output.read_text() == "precious"

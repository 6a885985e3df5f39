"""Every dropped item can be restored, whatever its kind."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from item_kinds import kinds_of
from loopback import PageSpider, article, crawl, serve
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.serialize import ScrapyJSONEncoder
from visits import IN_ORDER

from scrapy_simhash.crawl.quarantine import pack, unpack


@pytest.mark.parametrize("kind", kinds_of("name", "parts", frozen=True))
def test_every_kind_of_item_comes_back_with_its_fields(kind):
    packed, path = pack(kind(name="名字\ud800", parts=[kind(name="a", parts=[])]))
    assert unpack(packed) == {"name": "名字\ud800", "parts": [{"name": "a", "parts": []}]}
    assert path == f"{kind.__module__}.{kind.__qualname__}"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values))
def test_what_json_can_hold_comes_back_as_it_was(item):
    packed, path = pack(item)
    assert unpack(packed) == item
    assert path == "builtins.dict"


def test_what_feeds_can_export_is_complete():
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    # As this version of Scrapy writes it into feeds.
    written = json.loads(ScrapyJSONEncoder().encode(moment))
    packed, path = pack({"price": Decimal("1.20"), "seen": moment, "tags": {"a"}})
    assert unpack(packed) == {"price": "1.20", "seen": written, "tags": ["a"]}
    assert path == "builtins.dict"


class Hostile:
    def __repr__(self):
        raise RuntimeError("not even a representation")


def circle():
    item = {"name": "a"}
    item["self"] = item
    return item


def deep():
    item = {"name": "a"}
    for _ in range(100_000):
        item = {"name": "a", "inner": item}
    return item


@pytest.mark.parametrize(
    "item",
    [
        {"name": "a", "odd": object()},
        {"name": "a", "odd": b"\xff"},
        {"name": "a", "odd": {("no", "key"): 1}},
        {"name": "a", "odd": Hostile()},
        circle(),
        deep(),
    ],
    ids=["object", "bytes", "key", "hostile", "circle", "deep"],
)
def test_what_can_not_be_encoded_is_kept_as_far_as_it_goes(item):
    packed, path = pack(item)
    fields = unpack(packed)
    assert fields["name"] == "a"
    assert set(fields) == set(item)
    assert path == "builtins.dict (incomplete)"


def kept(database):
    query = "SELECT action, coalesce(url, key), item, item_type FROM simhash_sightings "
    query += "WHERE action != '' ORDER BY id"
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("action", ["drop", "report", "same"])
@deferred_f_from_coro_f
async def test_what_each_action_keeps(tmp_path, action):
    """What is stored anyway is not kept again."""
    database = tmp_path / "index.db"
    settings = {"SIMHASH_DATABASE_URL": f"sqlite:///{database}", "CONCURRENT_REQUESTS": 1}
    settings["SIMHASH_KNOWN"] = "drop"
    if action != "same":
        settings["SIMHASH_ON_DUPLICATE"] = action
    with serve({"/a": article(1), "/b": article(1)}) as site:
        await crawl(PageSpider, settings, [f"{site}/a"])
        url = f"{site}/a" if action == "same" else f"{site}/b"
        await crawl(PageSpider, settings, [url])
    if action == "same":
        assert kept(database) == [], "it equals what is stored"
        return
    ((stored, where, item, kind),) = kept(database)
    assert (stored, where) == (action, url)
    if action == "drop":
        assert unpack(item) == {"url": url}
        assert kind == "builtins.dict"
    else:
        assert item is None


@deferred_f_from_coro_f
async def test_what_can_not_be_kept_is_not_dropped(tmp_path, monkeypatch):
    def fail(item, most):
        raise MemoryError("no room to pack it")

    monkeypatch.setattr("scrapy_simhash.crawl.deduplicator.pack", fail)
    settings = {"SIMHASH_DATABASE_URL": f"sqlite:///{tmp_path / 'index.db'}"}
    with serve({"/a": article(1), "/b": article(1)}) as site:
        done = await crawl(PageSpider, settings, [f"{site}/a", f"{site}/b"])
    assert done.urls == ["/a", "/b"]
    assert done.stats["quarantine/failed"] == 1
    assert done.errors == 1


@deferred_f_from_coro_f
async def test_a_duplicate_that_is_too_large_to_be_kept_is_not_dropped(tmp_path, caplog):
    """An eighth of the budget is allowed: one more byte could not be restored."""

    class Spider(PageSpider):
        def parse(self, response):
            noise = random.Random(1).randbytes(1500).hex() if "large" in response.url else ""
            yield {"url": response.url, "noise": noise}

    database = tmp_path / "index.db"
    settings = {
        "SIMHASH_DATABASE_URL": f"sqlite:///{database}",
        "SIMHASH_QUARANTINE": 8 * 1000,
        "SIMHASH_FACTS": "never",
    }
    with serve({"/a": article(1), "/large": article(1), "/small": article(1)}) as site:
        urls = [f"{site}{path}" for path in ("/a", "/large", "/small")]
        done = await crawl(Spider, settings | IN_ORDER, urls)
    assert done.urls == ["/a", "/large"]
    assert done.stats["quarantine/too_large"] == 1
    assert "or are too large for the database: 1" in caplog.text
    assert [(action, item is not None) for action, _, item, *_ in kept(database)] == [
        ("report", False),
        ("drop", True),
    ]


@deferred_f_from_coro_f
async def test_what_is_pushed_out_of_the_quarantine_is_counted_and_logged(tmp_path, caplog):
    class Spider(PageSpider):
        def parse(self, response):
            noise = random.Random(response.url).randbytes(400).hex()
            yield {"url": response.url, "noise": noise}

    settings = {
        "SIMHASH_DATABASE_URL": f"sqlite:///{tmp_path / 'index.db'}",
        "SIMHASH_QUARANTINE": 5000,
        "SIMHASH_FACTS": "never",
    }
    pages = {f"/{number}": article(1) for number in range(30)}
    with serve(pages) as site:
        done = await crawl(Spider, settings, [f"{site}{path}" for path in pages])
    assert len(done.items) == 1
    with closing(sqlite3.connect(tmp_path / "index.db")) as connection:
        (left,) = connection.execute(
            "SELECT count(*) FROM simhash_sightings WHERE item IS NOT NULL"
        ).fetchone()
    assert 1 <= left <= 15
    assert done.stats["quarantine/pushed_out"] == 29 - left
    message = f"can't be restored any more, as SIMHASH_QUARANTINE is used up: {29 - left}"
    assert caplog.text.count(message) == 1

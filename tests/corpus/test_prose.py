"""The fast path for items with a single compared text gives the same documents."""

from __future__ import annotations

import json

import pytest
from corpora import feed_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from loopback import prose

from scrapy_simhash import native
from scrapy_simhash.corpus.dedupe import Targets, dedupe_corpus
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.workers import Sketcher
from scrapy_simhash.feed import source as source_module
from scrapy_simhash.feed.documents import ItemReader
from scrapy_simhash.feed.json_file import JsonLines
from scrapy_simhash.index.rule import Rule

PROSE = prose("an article", 80)
CHINESE = "镇上没有人知道是谁在前一天晚上关上了水闸，潮水退去以后，人们才看见堤坝上的裂缝。" * 2


def reader_of(fields=("text",), least=8, most=10**6, **more):
    plan = Plan.make(Rule(), bytes(range(16)))
    return ItemReader(plan.scheme, plan.secret, least, most, list(fields), **more)


def made(reader, items):
    """All that is known of the documents of items."""
    return [
        document
        and (
            *(document.sketch.fingerprint, document.sketch.size, document.key, document.url),
            *(document.listing, document.text, document.facts, document.digest, document.exact),
            *(document.published, document.canonical),
            *(document.facts.names, document.facts.shown),
            None if document.sketch.shingles is None else document.sketch.shingles.tolist(),
        )
        for document in reader.documents(items, range(7, 7 + len(items)))
    ]


def check(items, **options):
    """The short way and the long one make the same, one by one or together; returns the reader."""
    reader = reader_of(**options)
    found = made(reader, items)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ItemReader, "_prose_name", lambda _: None)
        assert made(reader, items) == found
        if native.core is not None:
            patch.setattr(native, "core", None)
            assert made(reader, items) == found
    assert [made(reader, [item])[0] for item in items[:1]] == found[:1]
    return reader


def is_read_the_short_way(reader, item):
    name = reader._prose_name()
    return name is not None and reader._read_prose(item, name) is not None


def lines_of(*items, **options):
    return b"\n".join(json.dumps(item, **options).encode() for item in items) + b"\n"


PROSE_ITEMS = [
    {"url": "http://a.test/1", "text": PROSE},
    {"text": PROSE + " 1,234 or 5’000 and -7.5 at 12:30, w6 3 days ago, 5 min ago."},
    {"url": "http://a.test/%e2?q=1#x", "text": "„Größe“ – " + PROSE + " … “"},
    {"url": "", "text": CHINESE + "２０２４年３月５日，３ 万人。"},
    {"text": CHINESE * 9 + "1 2 3"},
    {"text": "😀 " + PROSE * 2 + '\n\t"quoted" \\ and / \u2028 done 😀'},
    {"text": PROSE, "id": 7, "score": -1.5e-7, "new": True, "none": None, "meta": {"a": [1, "b"]}},
    {"text": PROSE, "title": "The sluice", "author": "Ann", "language": "en", "名称": "x"},
    {"url": "http://a.test/2", "text": PROSE * 20},
]


def test_items_of_prose_are_read_the_short_way():
    reader = check(PROSE_ITEMS)
    assert all(is_read_the_short_way(reader, item) for item in PROSE_ITEMS)
    check([None, *PROSE_ITEMS, None, {}], least=40, most=10_000)


OTHERS = [
    {"text": ""},
    {"text": "Short."},
    {"text": PROSE[:64]},
    {"text": f" {PROSE}"},
    {"text": f"{PROSE}\u2003"},
    {"text": f"<p>{PROSE}</p><p>{PROSE}</p>"},
    {"text": f'["{PROSE}"]'},
    {"text": f'{{"a": "{PROSE}"}}'},
    {"text": "data:" + PROSE},
    {"text": "aGVsbG8g" * 90},
    {"text": "http://a.test/" + PROSE.replace(" ", "/")},
    {"text": PROSE[:400] + " 12 comments"},
    {"text": PROSE[:400] + " ½ or ¾ reviews"},
    {"text": PROSE + " This page was last edited on 3 March 2024."},
    {"text": PROSE + " e\u0301 ﷺ ٣ days ago"},
    {"text": "the same words " * 200},
    {"text": PROSE + "\ud800"},
    {"text": PROSE + "\x00\x1f"},
    {"text": PROSE * 200},
    {"text": [PROSE]},
    {"text": {"a": PROSE}},
    {"text": None, "url": "http://a.test/"},
    {"url": "http://a.test/list", "link": "/thing/3", "text": PROSE},
    {"url": "http://a.test/list", "other": "http://a.test/thing", "text": PROSE},
    {"url": "http://a.test/list", "some": ["http://a.test/thing"], "text": PROSE},
    {"url": " http://a.test/ a ", "text": PROSE},
    {"url": "http://a.test/€/ü?q=中", "text": PROSE},
    {"url": 5, "text": PROSE},
    {"url": None, "text": PROSE},
    {"canonical": "http://a.test/1", "url": "http://a.test/1", "text": PROSE},
    {"datePublished": "2024-03-05", "text": PROSE},
    {"text.more": PROSE, "text": PROSE},
    {"title": "No text"},
    {},
]


@pytest.mark.parametrize("item", OTHERS, ids=lambda item: repr(item)[:40])
def test_other_items_are_what_they_are(item):
    check([item])
    check([PROSE_ITEMS[0], item, PROSE_ITEMS[0]], least=40, most=10_000)


pieces = st.sampled_from(
    [
        *("0", "12", "1,234", "5’000", "-7.5", "12:30", "３", "½", "²", "٣", "①", "3 days ago"),
        *("3天前",),
        *(" ", "\n", "\t", "\u00a0", "\u3000", "\u200b", "\ufeff", "\u2028", "  ", "\x85", "\x1c"),
        *(
            "é",
            "e\u0301",
            "가",
            "กาน้ำ",
            "中文",
            "ﬁ",
            "Ⅷ",
            "😀",
            "👍🏽",
            "\U00020000",
            "“",
            "…",
            "：",
        ),
        *("™",),
        *("<", ">", "<b>", "//", "http://a.test/", "data:", "{", "]", '"', "\\", "/", "&amp;"),
        *("12 comments", "Views: 7", "page last edited 3 May 2024", "页面最后更新", "last", "age"),
    ]
)
texts = st.builds(
    "".join,
    st.lists(
        st.one_of(
            pieces,
            st.sampled_from([PROSE, PROSE[:90], PROSE[100:300], CHINESE]),
            st.text(max_size=9),
        ),
        max_size=12,
    ),
)
values = st.one_of(
    texts, st.none(), st.booleans(), st.integers(), st.floats(), st.lists(texts, max_size=2)
)
names = st.sampled_from(["text", "url", "title", "link", "date", "published", "n", "text.a", "中"])
items = st.dictionaries(names, values, max_size=5)


@given(
    st.lists(st.one_of(st.builds(lambda item, text: item | {"text": text}, items, texts), items))
)
@example([{"text": PROSE, "url": "http://a.test/\x7f"}])
@settings(deadline=None)
def test_whatever_the_items_are_both_ways_make_the_same_of_them(given_items):
    check(given_items)


def sketcher_of(path, content=b""):
    path.write_bytes(content)
    plan = Plan.make(Rule(), bytes(range(16)))
    reader = ItemReader(plan.scheme, plan.secret, 8, 10**6, ["text"])
    return Sketcher([JsonLines(path)], reader, plan)


def test_with_the_core_or_without_it_and_any_number_of_workers_decides_the_same(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(source_module, "CHUNK_BYTES", 20_000)
    # Each item of prose, all the others, then many.
    many = [item | {"n": n} for n, item in enumerate(feed_of(300)[0])]
    feed = lines_of(*many[:99], *PROSE_ITEMS, *OTHERS, *many[99:], *PROSE_ITEMS[::-1])
    written = set()
    for name, core, workers in [("a", native.core, 1), ("b", native.core, 3), ("c", None, 1)]:
        monkeypatch.setattr(native, "core", core)
        sketcher = sketcher_of(tmp_path / "in.jsonl", feed)
        targets = Targets(tmp_path / f"{name}.jsonl", groups=tmp_path / f"{name}.csv")
        counts = dedupe_corpus(sketcher, targets, workers=workers)
        assert counts.read == 300 + 2 * len(PROSE_ITEMS) + len(OTHERS)
        assert counts.dropped > 100
        written.add((targets.kept.read_bytes(), targets.groups.read_bytes()))
    assert len(written) == 1

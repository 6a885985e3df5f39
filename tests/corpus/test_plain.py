"""What the core sketches in one call is what Python makes of the same lines."""

from __future__ import annotations

import json
import random

import pytest
from corpora import feed_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from loopback import prose

from scrapy_simhash import native
from scrapy_simhash.corpus.dedupe import Targets, dedupe_corpus
from scrapy_simhash.corpus.plain import PlainItems
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.quality import criteria_of
from scrapy_simhash.corpus.sketches import Sketches
from scrapy_simhash.corpus.workers import Portion, Sketcher
from scrapy_simhash.feed import json_lines
from scrapy_simhash.feed.documents import ComparedFields, ItemReader
from scrapy_simhash.feed.json_lines import Block, JsonLines
from scrapy_simhash.feed.source import Chunk, FeedError
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.item.state import SIGNS, without_state

pytestmark = pytest.mark.skipif(native.core is None, reason="the core is not in use")

PROSE = prose("an article", 80)
CHINESE = "镇上没有人知道是谁在前一天晚上关上了水闸，潮水退去以后，人们才看见堤坝上的裂缝。" * 2


def sketchers(path, fields=("text",), prefer=(), least=8, most=10**6, **more):
    """Without and with the one call of the core."""
    plan = Plan.make(Rule(), bytes(range(16)))
    compared = ComparedFields(list(fields), **more)
    reader = ItemReader(plan.scheme, plan.secret, compared, least, most)
    plain = PlainItems.of(reader, plan)
    (path / "in.jsonl").touch()
    made = ([JsonLines(path / "in.jsonl")], reader, plan, criteria_of(prefer))
    return Sketcher(*made), Sketcher(*made, plain)


def sketched(sketcher, content, number=7, *, is_first=False):
    """All that is kept of each document, and the problems."""
    content += b"\n"
    records = [line for line in content.split(b"\n") if line and not line.isspace()]
    chunk = Chunk(len(records), Block(11, 0, len(content), content), len(content))
    part = sketcher.part(Portion(0, number, chunk, is_first))
    sketches = Sketches.of(part)
    documents = [
        (
            sketches.row(place, place),
            sketches.text(place),
            sketches.shingles(place).tolist(),
            part.keys[place].tolist(),
            part.rows["rank"][place].tolist(),
            sketches.facts(sketches.row(place, place)),
        )
        for place in range(len(records))
    ]
    return documents, part.problems


def check(path, content, share=None, **options):
    """Both ways make the same; returns the share of plain items."""
    python, core = sketchers(path, **options)
    expected = sketched(python, content)
    assert sketched(core, content) == expected
    # What was learned of the names in the lines counts from the next chunk on.
    assert sketched(core, content, 1007) == sketched(python, content, 1007)
    if share is not None:
        assert core.plain.counts[True] / core.plain.counts.total() >= share


def lines_of(*items, **options):
    return b"\n".join(json.dumps(item, **options).encode() for item in items) + b"\n"


PLAIN = [
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


@pytest.mark.parametrize("is_ascii", [True, False])
def test_plain_items_have_the_sketches_that_python_makes(tmp_path, is_ascii):
    for item in PLAIN:
        check(tmp_path, lines_of(item, item, ensure_ascii=is_ascii), share=1)
    everything = lines_of(*PLAIN, ensure_ascii=is_ascii)
    # Before all names are known, some are left to Python.
    check(tmp_path, everything, share=0.7)
    check(tmp_path, everything.replace(b"\n", b" \r\n\n \t\n"), share=0.7)
    check(tmp_path, everything, share=0.7, prefer=["own-site=a.test", "longest", "shortest-url"])


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
def test_other_items_are_left_to_python(tmp_path, item):
    content = lines_of(PLAIN[0], item, PLAIN[0])
    check(tmp_path, content, prefer=["canonical", "earliest"])
    check(tmp_path, content, least=40, most=10_000)


LINES = [
    b'{"text": "%b", "text": "other"}',
    b'{"text": "%b", "n": 01}',
    b'{"text": "%b", "n": NaN}',
    b'{"text": "%b", "n": 1.}',
    b'{"text": "%b", "n": -}',
    b'{"text": "%b", "n": 1e}',
    b'{"text": "%b", "n": ' + b"9" * 5000 + b"}",
    b'{"text": "%b", "n": tru}',
    b'{"text": "%b",}',
    b'{"text": "%b"',
    b'{"text": "%b"}}',
    b'{"text" "%b"}',
    b'{"te\\u0078t": "%b"}',
    b'{"text": "%b \\x"}',
    b'{"text": "%b \\ud83d"}',
    b'{"text": "%b \\ud83d\\u0041"}',
    b'{"text": "%b \\u12"}',
    b'{"text": "%b \xff"}',
    b'{"text": "%b \xed\xa0\x80"}',
    b'{"text": "%b \t"}',
    b'{"text": "%b", "bad": "\xc0\x80"}',
    b'{"text": "%b", "deep": ' + b"[" * 3000 + b"]" * 3000 + b"}",
    b'{"text": "%b", "deep": {"a": {"b": [[], {}, {"c": "d"}, -0, 1E+5]}}}',
    b'{"text": "%b", "deep": {"a" 1}}',
    b'{"text": "%b", "deep": [1 2]}',
    b'\xef\xbb\xbf{"text": "%b"}',
    b'["%b"]',
    b'"%b"',
    b"%b",
    b"\x00",
    b" ",
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: repr(line)[2:40])
def test_what_is_no_plain_json_is_left_to_python(tmp_path, line):
    line = line.replace(b"%b", PROSE.encode())
    check(tmp_path, lines_of({"text": PROSE, "n": 1, "deep": 1, "bad": 1}) + line)
    check(tmp_path, line + b"\n" + lines_of(PLAIN[0]))


pieces = st.sampled_from(
    [
        *(
            "0",
            "12",
            "1,234",
            "5’000",
            "-7.5",
            "12:30",
            "３",
            "½",
            "²",
            "٣",
            "①",
            "3 days ago",
            "3天前",
        ),
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
            "™",
        ),
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
with_text = st.builds(lambda item, text: item | {"text": text}, items, texts)


@given(
    st.lists(st.one_of(st.builds(lambda item, text: item | {"text": text}, items, texts), items))
)
@example([{"text": PROSE, "url": "http://a.test/\x7f"}])
@settings(deadline=None)
def test_whatever_the_items_are_python_makes_the_same_of_them(tmp_path_factory, given_items):
    folder = tmp_path_factory.getbasetemp()
    for is_ascii in (True, False):
        content = "\n".join(json.dumps(item, ensure_ascii=is_ascii) for item in given_items)
        check(folder, content.encode("utf-8", "surrogatepass"))


@given(st.data())
@settings(deadline=None)
def test_damaged_lines_are_what_they_are_to_python(tmp_path_factory, data):
    content = bytearray(lines_of(*PLAIN[:4]))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    check(tmp_path_factory.getbasetemp(), bytes(content))


@pytest.mark.parametrize(
    "options",
    [
        {"fields": ["text", "title"]},
        {"fields": ["a.text"]},
        {"fields": ["link"]},
        {"fields": ["price"]},
        {"fields": ["url"]},
        {"key": ["id"]},
        {"ignore": ["text"]},
    ],
)
def test_where_other_fields_matter_no_item_is_plain(tmp_path, options):
    assert sketchers(tmp_path, **options)[1].plain is None


def test_names_that_no_item_has_are_still_refused(tmp_path):
    content = lines_of({"title": PROSE}, {"body": PROSE})
    for sketcher in sketchers(tmp_path):
        with pytest.raises(FeedError, match="no item has a field text"):
            sketched(sketcher, content, is_first=True)
        assert sketched(sketcher, lines_of(PLAIN[0]) + content, is_first=True)


@pytest.mark.parametrize(
    "change",
    [
        {1: [(b"a", 1)] * 65},
        {1: ["a"]},
        {1: [("a", 1)]},
        {2: (b"abc", (1, 2, 3), 1, (b"", b"", b"", 1))},
        {2: (bytes(8), (1, 2, 0), 1, (bytes(8), bytes(8), bytes(8), 1))},
        {2: (bytes(8), (1, 2, 3), 1, (b"", b"", b"", 1))},
        {3: (b"", bytes(65), bytes(5), 1, 9)},
        {3: (b"", b"", b"", 1, 9)},
        {3: (b"", b"", bytes(5), 0, 9)},
        {0: "text"},
    ],
)
def test_arguments_that_can_not_be_are_an_error(monkeypatch, tmp_path, change):
    called: list = []
    documents = native.core.documents
    monkeypatch.setattr(native.core, "documents", lambda *given: called.append(given) or 6 * [b""])
    sketchers(tmp_path)[1].plain.sketch(b"", 0)
    arguments = [change.get(place, given) for place, given in enumerate(called[0])]
    with pytest.raises((TypeError, ValueError, OverflowError)):
        documents(*arguments)


def test_any_number_of_threads_gives_what_python_gives_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "CHUNK_BYTES", 20_000)
    source = tmp_path / "in.jsonl"
    source.write_bytes(lines_of(*(item | {"n": n} for n, item in enumerate(feed_of(300)[0]))))
    written = set()
    for name, sketcher, workers in zip("abc", sketchers(tmp_path) * 2, (1, 1, 3), strict=False):
        used = sketcher if workers == 1 else sketchers(tmp_path)[1]
        targets = Targets(tmp_path / f"{name}.jsonl", groups=tmp_path / f"{name}.csv")
        counts = dedupe_corpus(used, targets, workers=workers)
        assert (counts.read, counts.dropped) == (300, 100)
        assert used.mostly_plain is (name != "a")
        written.add((targets.kept.read_bytes(), targets.groups.read_bytes()))
    assert len(written) == 1


STATES = [
    *SIGNS[0],
    *SIGNS[1],
    "Views:",
    "comentários",
    "réponses",
    "просмотров",
    "in stock",
    "Reaction score:",
]
STATES += [
    *("vor etwa", "hace", "há", "il y a environ", "minuten", "horas", "jours", "DÍAS", "meßages"),
    "min ago",
    "AGO",
    "users online",
    "out of 5",
    "k",
    "M views",
    "万",
    "次阅读",
]
STATES += ["分钟前", "浏览次数：", "评论(", "last edited", "Jan", "naïve", "中文", "’s", "e\u0301"]


@pytest.mark.parametrize("seed", range(8))
def test_where_no_number_tells_a_state_none_is_left_out(tmp_path, seed):
    chance = random.Random(seed)
    _, core = sketchers(tmp_path)
    texts = []
    for _ in range(400):
        words = [*prose(chance.random(), 110).split(), *chance.choices(STATES, k=2)]
        chance.shuffle(words)
        for _ in range(4):
            number = chance.choice(["7", "1,204", "2.5k", "３", "12:30", "2024"])
            words.insert(chance.randrange(1, len(words)), number)
        gaps = chance.choices(["", ":", " (", "\n", "|", " +", ", "], k=16) + [" "] * 199
        chance.shuffle(gaps)
        texts.append(
            "x" + "".join(word + gap for word, gap in zip(words, gaps, strict=False)) + "x"
        )
    found = core.plain.sketch(lines_of(*({"text": text} for text in texts)), 0).rows
    without = [texts[row["record"]] for row in found if not row["tells_state"]]
    assert 50 < len(without) < len(found)
    for text in without:
        assert without_state(text) is text

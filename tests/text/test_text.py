from __future__ import annotations

from collections.abc import Callable

import pytest
from lxml import etree

from scrapy_simhash.text.html import parse_html
from scrapy_simhash.text.page import load_extractor, page_text

ENGLISH = [
    "The old ferry crosses the bay twice a day, and nobody on the island owns a watch any more.",
    "When the fog is thick the captain rings a bell, the dogs bark and children run.",
    "Last winter the engine failed in a storm; the passengers sang until a boat found them.",
    "A bridge was promised in three elections, but each survey said that the ground is sand.",
]
CHINESE = [
    "老渡船每天两次横渡海湾，岛上的人早就不戴手表了，他们听汽笛声就知道该做饭了。",
    "雾大的时候，船长会敲响铜钟，村里的狗跟着叫起来，孩子们便一路跑到码头上去看热闹。",
    "去年冬天发动机在风暴中坏了，乘客们一直唱歌，直到一条渔船发现他们并把他们拖回港口。",
    "三次选举都有人许诺要修一座桥，可是每次勘测都说海底全是流沙，谁也不知道桥墩该放在哪里。",
]
MIXED = [f"{english} {chinese}" for english, chinese in zip(ENGLISH, CHINESE, strict=True)]
OTHER = [
    "Bakers in the valley start their ovens at two, long before the first bus climbs the hill.",
    "Rye needs more time than wheat does, and a sourdough that is hurried tastes of nothing much.",
    "Her grandfather kept the starter in a stone jar which survived two wars and a burning roof.",
    "Today tourists queue for the dark loaves; the recipe, she says, is patience and cold hands.",
]
LANGUAGES = pytest.mark.parametrize("article", [ENGLISH, CHINESE, MIXED], ids=["en", "zh", "mixed"])


def paragraphs(article: list[str]) -> str:
    return "".join(f"<p>{sentence}</p>" for sentence in article)


def news(body: str) -> str:
    """A news site that uses the tags of HTML 5."""
    links = "".join(f'<li><a href="/{n}">Section number {n}</a></li>' for n in range(12))
    return f"""<!doctype html><html><head><title>Island Post</title><style>p {{}}</style></head>
        <body><nav><ul>{links}</ul></nav><header><h1>Island Post</h1></header>
        <main><article>{body}</article></main>
        <aside><h2>Weather</h2><p>Rain is expected tonight on all coasts of the bay, says the
        weather service, and the wind will turn to the north towards the morning.</p></aside>
        <script>var tracking = "the quick brown fox";</script>
        <footer><p>All rights reserved by the Island Post. Nothing may be printed again.</p>
        </footer></body></html>"""


def portal(body: str) -> str:
    """A portal of the old kind: tables, classes and comments of readers below the text."""
    teasers = "".join(
        f'<div class="teaser"><a href="/{n}">A headline of another story, number {n}</a></div>'
        for n in range(8)
    )
    return f"""<html><body><div id="top-menu"><a href="/">Home</a> | <a href="/all">All</a></div>
        <table><tr><td width="20%">{teasers}</td><td><div class="content">{body}</div>
        <div class="related"><p>Read on: the harbour master who never learned to swim.</p></div>
        <div id="comments"><p>First! I was on that boat and it was not nearly as bad as that.</p>
        <p>My uncle built the engine and he says that it was the fault of the fuel.</p></div>
        </td></tr></table><div class="cookie-notice"><p>We use cookies to make this site better
        for all of our readers, as you have surely guessed by now.</p></div></body></html>"""


@LANGUAGES
@pytest.mark.parametrize("template", [news, portal])
def test_main_text_is_the_article_and_nothing_else(
    template: Callable[[str], str], article: list[str]
) -> None:
    assert page_text(template(paragraphs(article))) == "\n".join(article)


@LANGUAGES
def test_body_is_all_visible_text(article: list[str]) -> None:
    lines = page_text(news(paragraphs(article)), extractor="body").splitlines()
    assert lines[0] == "Island Post"
    assert {"Section number 0", *article} < set(lines)
    assert lines[-1].startswith("All rights reserved")
    assert not any("tracking" in line or "p {" in line for line in lines)


def test_blocks() -> None:
    page = """<div>foo<b>bar</b> <i>baz</i> <!-- no --> qux<p>one<br>two</p>three
        <table><tr><td>a</td><td>b</td></tr><tr><th>c<td>d</table>
        <dl><dt>e<dd>f<dt>g<dd>h</dl><h2>end</h2>of <?pi x?> it</div>"""
    text = page_text(page, extractor="body")
    assert text.splitlines() == [
        "foobar baz qux", "one two", "three", "a b", "c d", "e", "f", "g", "h", "end", "of it"
    ]  # fmt: skip


MARKS = ["comments", "related-posts", "share_bar", "SIDEBAR x", "a ad b"]
MARKS += ["about-author", "photo-credit", "trackbacks", "trending", "photo gallery", "author-bio"]
MARKS += ["privacy-overview", "commentlist", "footer", "onetrust-consent-sdk"]


@pytest.mark.parametrize("name", MARKS)
def test_marked_element_is_left_out(name: str) -> None:
    extra = f'<div class="{name}"><p>{OTHER[0]}</p></div>'
    assert page_text(f"<body>{paragraphs(ENGLISH)}{extra}") == "\n".join(ENGLISH)


@pytest.mark.parametrize("name", ["reader", "download", "category-social tag-ads", "commentary"])
def test_only_whole_words_mark_an_element(name: str) -> None:
    """WordPress puts the slugs of categories into classes, which are irrelevant to the layout."""
    extra = f'<div class="{name}"><p>{OTHER[0]}</p></div>'
    assert page_text(f"<body>{paragraphs(ENGLISH)}{extra}") == "\n".join([*ENGLISH, OTHER[0]])


def test_hidden_element_is_left_out() -> None:
    extra = f'<div style="color: red; DISPLAY : none"><p>{OTHER[0]}</p></div>'
    assert page_text(f"<body>{paragraphs(ENGLISH)}{extra}") == "\n".join(ENGLISH)


def test_marked_element_with_most_of_the_text_is_kept() -> None:
    page = f'<body><div class="modal sidebar">{paragraphs(ENGLISH)}</div><p>{OTHER[0]}</p></body>'
    assert page_text(page).splitlines()[:4] == ENGLISH


@pytest.mark.parametrize("attributes", ["role=dialog", "role=alertdialog aria-modal=true"])
def test_a_dialog_is_left_out_however_long_it_is(attributes: str) -> None:
    extra = f"<div {attributes}>{paragraphs(OTHER * 4)}</div>"
    assert (
        page_text(f"<body>{extra}<div>{paragraphs(ENGLISH * 2)}</div>").splitlines() == ENGLISH * 2
    )
    # A page that is opened in a dialog has little beside it.
    story = f"<div {attributes}>{paragraphs(ENGLISH)}</div>"
    assert page_text(f"<body>{story}<p>{OTHER[0]}</p>").splitlines()[:4] == ENGLISH


def test_a_post_is_no_widget_in_the_template_of_blogger() -> None:
    boxes = "".join(f'<div class="widget Text"><p>{sentence}</p></div>' for sentence in OTHER)
    post = f'<div class="widget Blog" id="Blog1">{paragraphs(ENGLISH[:2])}</div>'
    assert page_text(f"<body>{post}{boxes}</body>") == "\n".join(ENGLISH[:2])


def test_a_place_to_link_to_is_no_link_even_if_it_is_left_open() -> None:
    page = f"<body><a name=top>{paragraphs(ENGLISH)}</body>"
    assert page_text(page) == "\n".join(ENGLISH)
    menu = "<a href=/>Home</a> <a onclick=go()>All of the news</a>"
    assert page_text(f"{page}<p>{menu}</p>") == "\n".join(ENGLISH)


@pytest.mark.parametrize("tag", ["main", "article", "section", "div"])
def test_a_page_without_the_tags_of_its_head_and_body_is_read(tag: str) -> None:
    """libxml2 puts what HTML 5 has added into the head, if nothing ends that."""
    page = f"<!doctype html><title>Ferries</title><meta charset=utf-8><{tag}>{paragraphs(ENGLISH)}"
    for extractor in ("density", "body"):
        assert page_text(page, extractor=extractor) == "\n".join(ENGLISH)


@pytest.mark.parametrize("end", ["", "</titl", "</titlevalue>"])
def test_title_that_is_left_open_does_not_swallow_the_page(end: str) -> None:
    page = f"<html><head><TITLE>Ferry{end}<meta name=a></head><body>{paragraphs(ENGLISH)}</body>"
    assert page_text(page) == "\n".join(ENGLISH)
    root = parse_html(page)
    assert root is not None
    assert root.findtext(".//title") == "Ferry"


ESSAY = [f"{sentence} {n}" for n in range(20) for sentence in OTHER]


@LANGUAGES
@pytest.mark.parametrize(
    "comments",
    [
        "<div class='comments'>{}</div>",
        "<div id='comment'><b>A reader</b>{}</div>",
        "<section class='widget' id='comments'><h2>One comment</h2><div>{}</div></section>",
        "<div class='comments'><div class='comment'>{}</div><p>I disagree.</p></div>",
        "<ol><li class='comment even'>{}</li></ol>",
    ],
)
def test_comment_that_is_longer_than_the_story_above_it_is_left_out(
    comments: str, article: list[str]
) -> None:
    text = page_text(news(paragraphs(article * 2) + comments.format(paragraphs(ESSAY))))
    assert text.splitlines() == article * 2


def test_long_comment_does_not_turn_the_story_into_a_sidebar() -> None:
    """The name of the layout around the story is no reason, however little the story is."""
    story = f"<div class='content-sidebar-wrap'>{paragraphs(ENGLISH * 2)}</div>"
    page = f"<body>{story}<div id='comments'>{paragraphs(ESSAY)}</div>"
    assert page_text(page).splitlines() == ENGLISH * 2


@pytest.mark.parametrize("width", [390, 410])
def test_comments_need_a_story_to_be_left_out(width: int) -> None:
    """A few lines above them are an introduction, not a story."""
    page = f"<body><p>{'a' * width}</p><div class='comments'>{paragraphs(ESSAY)}</div>"
    assert (ESSAY[0] in page_text(page)) == (width < 400)


@pytest.mark.parametrize("name", ["comments", "comment", "content"])
@pytest.mark.parametrize("body", ["", " class='single comments'"])
def test_page_of_comments_is_its_comments(name: str, body: str) -> None:
    menu = "".join(f"<li><a href='/{n}'>Section {n}</a></li>" for n in range(12))
    entries = "".join(f"<div class='entry'><b>Reader</b><p>{text}</p></div>" for text in ESSAY)
    page = f"<body{body}><ul>{menu}</ul><h1>Guests</h1><div class='{name}'>{entries}</div>"
    assert set(ESSAY) <= set(page_text(page).splitlines())


def test_thread_is_its_question_and_its_answers() -> None:
    posts = "".join(f"<div class='post'><p>{text}</p></div>" for text in ESSAY)
    answers = f"<p>{ENGLISH[0]}</p><div class='comments'>{paragraphs(ESSAY)}</div>"
    assert set(ESSAY) <= set(page_text(f"<body><h1>Ferry</h1>{posts}").splitlines())
    assert set(ESSAY) <= set(page_text(f"<body><h1>Ferry</h1>{answers}").splitlines())


@pytest.mark.parametrize("tag", ["nav", "button", "aside", "noscript"])
def test_page_swallowed_by_an_element_that_is_skipped_is_found(tag: str) -> None:
    """A tag left open swallows the rest of the page; some sites are whole only in noscript."""
    article = [*ENGLISH, *OTHER, *(f"{sentence} Again." for sentence in (*ENGLISH, *OTHER))]
    assert page_text(f"<body><{tag}>{paragraphs(article)}</body>") == "\n".join(article)


def test_footer_is_no_substitute_for_a_text() -> None:
    """Else all pages that say little would share the text of their site's footer."""
    footer = f"<footer>{paragraphs(OTHER * 5)}</footer>"
    assert page_text(f"<body><p>Nothing found.</p>{footer}</body>") == "Nothing found."


def test_list_of_links_is_the_text_of_a_page_that_has_no_other() -> None:
    titles = [f"A rather long headline about matter {n}" for n in range(20)]
    items = "".join(f'<li><a href="/{title}">{title}</a></li>' for title in titles)
    menu = '<div class="menu"><a href="/">The main page of this very site</a></div>'
    page = f"<body>{menu}<div><h1>Latest</h1><ul>{items}</ul></div><p>Sorted by date.</p></body>"
    assert set(titles) <= set(page_text(page).splitlines())
    assert "The main page" not in page_text(page)


def test_headings_belong_to_the_article() -> None:
    body = "".join(f"<h3>Part {n}</h3><p>{sentence}</p>" for n, sentence in enumerate(ENGLISH))
    text = page_text(f"<body><div>{'<ul><li>1</li></ul>' * 9}</div><div>{body}</div>")
    assert text.splitlines()[:3] == ["Part 0", ENGLISH[0], "Part 1"]


def test_links_inside_the_article_are_kept_and_lists_of_them_are_not() -> None:
    linking = ENGLISH[0].replace("island", '<a href="/island">island</a>')
    links = "<ul>" + '<li><a href="/x">Ten facts about ferries of the north</a></li>' * 9 + "</ul>"
    page = f"<body><div><p>{linking}</p>{links}{paragraphs(ENGLISH[1:])}</div></body>"
    assert page_text(page) == "\n".join(ENGLISH)


def test_namespaced_tags_are_known_by_their_local_names() -> None:
    body = f"<body><script>x()</script><nav>Menu</nav>{paragraphs(ENGLISH)}</body>"
    root = etree.fromstring(f'<html xmlns="http://www.w3.org/1999/xhtml">{body}</html>')
    assert root.tag == "{http://www.w3.org/1999/xhtml}html"
    assert page_text(root) == "\n".join(ENGLISH)


@pytest.mark.parametrize(
    "page",
    [
        *(b"", "", " \n\t ", "\0", b"\xff\xfe", "<!-- only a comment -->", "<!doctype html>"),
        *("<html></html>", "<script>x()</script>", "<frameset><frame src='a.html'></frameset>"),
        "<?xml version='1.0'?>",
    ],
)
@pytest.mark.parametrize("extractor", ["density", "body"])
def test_page_without_text_is_empty(page: bytes | str, extractor: str) -> None:
    assert page_text(page, extractor=extractor) == ""


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>a\0b", "ab"),
        ("<p>a \ud800 b", "a ? b"),
        ('<?xml version="1.0" encoding="utf-16"?><p>text', "text"),
        ("<div>" * 300_000 + "deep", ""),
        ("<p>" * 1_000_000, ""),
        ("<nav>" * 2_000 + "deep" + "</nav>" * 2_000 + "out", "out"),
        ('<div class="' + "nav " * 500_000 + '">' + ENGLISH[0] * 3, ENGLISH[0] * 3),
    ],
    ids=["nul", "surrogate", "declaration", "nested", "flat", "navs", "long class"],
)
def test_hostile_page(page: str, text: str) -> None:
    assert page_text(page) == text


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("gbk", "gbk"),
        ("gb2312", "gb18030"),  # as browsers read it
        ("big5", "utf-8"),  # a wrong declaration
        ("hex", "utf-8"),  # no encoding of text at all
        ("utf-16", "utf-8"),  # impossible: it was read as ASCII
        ("utf-8", "utf-16"),  # Python writes a byte order mark, which comes first
        ("latin-1", "utf-8-sig"),
        ("iso-2022-jp", "iso-2022-jp"),
    ],
)
def test_encoding(declared: str, encoding: str) -> None:
    sentence = "海上的渡船" if encoding != "iso-2022-jp" else "日本語"
    page = f'<html><head><meta charset="{declared}"></head><body><p>{sentence}</p></body></html>'
    assert page_text(page.encode(encoding)) == sentence


@pytest.mark.parametrize("name", ["densty", "", "no.such.module", f"{__name__}:nothing", "a:b:c"])
def test_unknown_extractor_is_refused_with_what_is_allowed(name: str) -> None:
    with pytest.raises(ValueError, match='"density", "body", "trafilatura"') as error:
        load_extractor(name)
    assert repr(name) in str(error.value)


def test_trafilatura_finds_the_article() -> None:
    pytest.importorskip("trafilatura")
    text = page_text(news(paragraphs(ENGLISH)), extractor="trafilatura")
    assert ENGLISH[2] in text
    assert "Section number" not in text


def test_what_stands_beside_an_article_is_left_out() -> None:
    """A box beside an article scores less than it, but more than a fifth of it."""
    article = "".join(f"<p>{sentence}</p>" for sentence in ENGLISH * 3)
    box = f"<div>{''.join(f'<div>{sentence}</div>' for sentence in CHINESE[:3])}</div>"
    page = f"<body><div><div>{article}</div>{box}</div></body>"
    assert page_text(page).splitlines() == ENGLISH * 3


def test_forms_and_captions_are_no_part_of_the_article() -> None:
    article = paragraphs(ENGLISH)
    form = "<form><p>Write to us, and we shall answer within two days.</p></form>"
    figure = (
        "<figure><img><figcaption>The ferry in the fog, seen from the shore</figcaption></figure>"
    )
    assert page_text(f"<body><div>{article}{form}{figure}</div></body>") == "\n".join(ENGLISH)


def test_a_line_of_copyright_is_not_the_text_of_a_list_of_links() -> None:
    titles = [f"Chapter {n}: how the ferry of the year {1900 + n} was built" for n in range(12)]
    entries = "".join(f"<li><a href='/{n}'>{title}</a></li>" for n, title in enumerate(titles))
    note = f"<div class='copyright'>{' '.join(ENGLISH[:3])}</div>"
    page = f"<body><div><ul>{entries}</ul></div>{note}</body>"
    assert page_text(page).splitlines() == titles


def test_a_short_box_is_not_the_text_of_a_longer_page() -> None:
    """The menu costs the page so much that its best element is the declaration."""
    menu = "".join(f"<li><a href='/{n}'>Section {n}</a></li>" for n in range(24))
    declaration = "int ferry_set_course(unsigned long harbour, void *wind); " * 5
    main_text = paragraphs(ENGLISH * 2)
    page = (
        f"<ul>{menu}</ul><h1>Ferry</h1><blockquote><pre>{declaration}</pre></blockquote>{main_text}"
    )
    found = page_text(page)
    assert declaration.strip() in found
    assert all(sentence in found for sentence in ENGLISH)
    assert "Section" not in found


def test_the_slogan_of_a_menu_is_no_text_of_a_short_page() -> None:
    """Its print view has neither."""
    menu = "".join(f"<li><a href='/{n}'>Section {n}</a></li>" for n in range(12))
    head = f"<div><div>Dry. Safe. Often on time.</div><ul>{menu}</ul></div>"
    main_text = f"<h2>Fares</h2><p>{ENGLISH[0]}</p>"
    assert page_text(f"<body>{head}{main_text}</body>") == page_text(f"<body>{main_text}</body>")
    assert ENGLISH[0] in page_text(f"<body>{main_text}</body>")


SHORT = CHINESE[0] + CHINESE[1]
TEASERS = "".join(
    f'<div class="x"><div><a href="/{n}">{sentence[:40]}</a></div><p>{sentence}</p>'
    f"<span>{n} hours ago</span></div>"
    for n, sentence in enumerate([*OTHER, *ENGLISH])
)


def test_a_short_post_is_the_text_of_a_page_with_teasers_of_others() -> None:
    controls = "".join(f"<div>{word}</div>" for word in ["收藏", "分享", "举报", "关注", "点赞"])
    page = f"<body><h1>渡船</h1><div class=k><p>{SHORT}</p></div>{controls}<div>{TEASERS}</div>"
    assert page_text(page) == SHORT


@pytest.mark.parametrize("rows", ["tr", "li"])
def test_numbers_beside_a_short_text_are_told_as_well(rows: str) -> None:
    """Rates of two days below the same note are two pages."""
    rates = "".join(f"<{rows}>Some coin {1.0713 + n}</{rows}>" for n in range(30))
    assert "1.0713" in page_text(f"<body><p>{ENGLISH[0]} {ENGLISH[1]}</p><div>{rates}</div>")


def test_the_life_of_a_poet_is_not_the_text_of_a_poem() -> None:
    poem = "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。"
    page = f"<body><h1>春晓</h1><div>{poem}</div><div><p>{CHINESE[0]}{CHINESE[1]}</p></div>"
    assert poem in page_text(page)


def test_one_entry_of_a_list_in_detail_is_not_the_text_of_the_list() -> None:
    """The contents of a manual, and the page of the entry that it shows in detail."""
    detail = "".join(
        f"<dt><a href=f{n}>open_another_harbour_{n}</a> {OTHER[n % 4]}</dt>" for n in range(12)
    )
    rows = [f"<dl><dt><a href={n}>{ENGLISH[n % 4]}</a></dt></dl>" for n in range(30)]
    contents = "".join((*rows[:9], f"<dl>{detail}</dl>", *rows[9:]))
    texts = [page_text(f"<body><h2>A</h2><div>{listed}</div>") for listed in (contents, detail)]
    assert [len(text) > 2000 for text in texts] == [True, False]
    assert OTHER[0] in texts[1]

"""The compiled core reads trees as the pure path does."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import sysconfig
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import lxml.html
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from scrapy_simhash import native
from scrapy_simhash.text import blocks, markup
from scrapy_simhash.text import page_facts as reading
from scrapy_simhash.text.blocks import RULES, width
from scrapy_simhash.text.density import body, read
from scrapy_simhash.text.html import parse_html
from scrapy_simhash.text.page_facts import page_facts

UNBORN = etree._Element.__new__(etree._Element)
COMPILED = pytest.importorskip("scrapy_simhash.native._core", reason="the core is not compiled")


@contextmanager
def path(core):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "core", core)
        yield


def check(root):
    """Both paths make the same of a tree, and the core does not leave it to the other one."""
    with path(None):
        pure = read(root)
    assert COMPILED.page(root, RULES) == pure
    with path(COMPILED):
        assert read(root) == pure


names = st.sampled_from(
    [
        *("p", "div", "a", "b", "br", "td", "li", "h2", "nav", "aside", "button", "noscript"),
        *("script", "form", "figcaption", "o:p", "x}b", "custom", "svg", "pre", "table", "tr"),
        *("span", "body", "html", "main", "select", "option", "iframe", "textarea"),
    ]
)
values = st.sampled_from(
    [
        *("", "menu", "nav left", "sidebar", "tag-nav", "display:none", "ÄÖ 中"),
        *("a" * 400, "comments", "nav comment", "footer", "nav footer", "widget Blog"),
        *("dialog", "alertdialog", "onetrust-banner nav", "copyright"),
    ]
)
attributes = st.lists(
    st.tuples(
        st.sampled_from(["class", "id", "style", "CLASS", "x:class", "name", "href", "role"]),
        values,
    ),
    max_size=3,
).map(lambda pairs: "".join(f' {name}="{value}"' for name, value in pairs))
texts = st.one_of(
    st.text(st.characters(exclude_characters="<&\0", exclude_categories=["Cs"]), max_size=12),
    st.text(" \t\n\x0b\x1c\x85\xa0\u1680\u2003\u2028\u202f\u205f\u3000ab中한｡", max_size=12),
    st.sampled_from(["&amp;", "&nosuch;", "&#0;"]),
    st.builds(
        str.__mul__, st.sampled_from(["words of a story. ", "中文", "a "]), st.integers(1, 99)
    ),
)
pieces = st.one_of(
    st.builds("<{}{}>".format, names, attributes),
    st.builds("</{}>".format, names),
    texts,
    st.sampled_from(
        ["<!-- c -->", "<?pi x?>", "<![CDATA[x y]]>", "<br/>", "<p class>", "<a}b id>"]
    ),
)
pages = st.lists(pieces, max_size=60).map("".join)


@given(pages, st.integers(0, 40))
@example("<nav>a<b>c</b></nav><script>d</script><noscript><p>e</noscript>", 0)
@settings(deadline=None)
def test_pages_and_their_elements_are_cut_in_the_same_way(page, place):
    root = parse_html(page)
    if root is None:
        return
    check(root)
    elements = list(root.iter("*"))
    check(elements[place % len(elements)])


def test_every_character_has_its_width():
    points = [point for point in range(0x21, 0x110000) if not 0xD800 <= point < 0xE000]
    characters = [chr(point) for point in points if point_is_allowed(chr(point))]
    assert len(characters) > 1_000_000
    for start in range(0, len(characters), 256):
        root = lxml.html.Element("div")
        root.text = "".join(characters[start : start + 256])
        text = " ".join(root.text.split())
        expected = text.encode(), width(text), b""
        assert COMPILED.page(root, RULES) == (text, width(text), *expected)


def point_is_allowed(character):
    return not ("\x7f" <= character <= "\x9f" or "\ufdd0" <= character <= "\ufdef") and (
        ord(character) & 0xFFFE != 0xFFFE
    )


words = st.sampled_from(
    ["nav", "Ads", "Comment", "tag", "category", "tags", "recommendations", "storynav", "Footer"]
)
named = st.lists(st.one_of(words, st.text("-_ 1x.\t\u2003é中\u212aK", max_size=4)), max_size=9)
styles = st.lists(
    st.sampled_from(
        ["display", "visibility", "NONE", "hidden", ":", " ", "\t", "\u2003", "x", "é"]
    ),
    max_size=9,
)


@given(named.map("".join), st.sampled_from(["class", "id"]), st.sampled_from([0, 250, 254, 256]))
@example("tag-nav", "class", 0)
@example("1tag-nav", "class", 0)
@example("tag- nav", "class", 0)
@example("nav", "id", 253)
@example("nav", "id", 254)
@settings(deadline=None)
def test_names_tell_the_same(name, attribute, before):
    check(story_with(attribute, "é" * before + name))


@given(styles.map("".join), st.sampled_from([0, 1012, 1024]))
@example("Display : none", 0)
@example("display:none", 1012)
@example("display:none", 1013)
@settings(deadline=None)
def test_styles_tell_the_same(style, before):
    check(story_with("style", "é" * before + style))


def story_with(attribute, value):
    """A story, a part of which has that attribute."""
    story = "words of a story. " * 30
    root = parse_html(f"<main><p>{story}<div>what is beside</div><p>{story}</main>")
    root.find(".//div").set(attribute, value)
    return root


@pytest.mark.parametrize(
    "page",
    [
        "<main><p>{}</main><div><p>{}</div><ul><li><a>{}</a><li><a>{}</a></ul>",
        "<main><p>{}<h2>{}</h2><div>{}<a>{}</a></div></main><footer>footer</footer>",
        "<div class=nav>{}</div><main><div><p>{}<p>{}</div><form>{}</form></main>",
        "<div role=dialog>{}</div><p>{}<div aria-modal=true>{}<p id=didomi-host>{}</div>",
        "<aside><p>{}</aside><p><a>{}</a><p>{}<h3>{}</h3>",
        "<aside><div><p>{}</div><p>{}</aside><p>{}<a>{}</a>",
        "<div class=nav>{}</div><main><p>{}</main><p><a>{}</a><a>{}</a>",
        "<main><p>{}</main><ul>{items}</ul>",
        "<div><p>{}<p>{}</div><ul>{links}</ul><div><p>{}</div>",
        "<div><p>{}</div><div class=nav id=comments><p>{}</div><p>{}<div class=comment>{}</div>",
        "<div class=comments><p>{}<div class=comment>{}</div></div><p>{}<div id=comment>{}</div>",
    ],
)
def test_what_is_long_enough_is_the_same_everywhere(page):
    rng = random.Random(1)
    # What is compared with a bound is a width, a sum of some, or their share of the page.
    bounds = (0, 5, 24, 30, 150, 199, 400, 500, 999)
    for _ in range(500):
        texts = ["x" * max(0, rng.choice(bounds) + rng.randrange(-3, 4)) for _ in range(4)]
        count = rng.randrange(140)
        items, links = f"<li>{'x' * 28}" * count, "<li><a>link</a>" * (count // 9)
        check(parse_html("<body>" + page.format(*texts, items=items, links=links)))


programs = st.one_of(
    st.builds(
        "<{}{}{}>{}".format,
        st.sampled_from(
            [
                *("meta", "meta", "script", "p", "svg:meta", "svg:title", "title", "h1", "h2"),
                *("time", "times", "h12", "h", "template"),
            ]
        ),
        st.lists(
            st.builds(
                " {}='{}'".format,
                st.sampled_from(["name", "property", "x:name", "itemprop", "id"]),
                st.sampled_from(
                    ["", "og:title", "OG:Title", "product:price:amount", "price", "é", "a sku"]
                ),
            ),
            max_size=2,
        ).map("".join),
        st.sampled_from([" content='1.50'", " content", " type='Application/LD+JSON '", ""]),
        st.sampled_from(["", '{"@type": "Product", "sku": "é1"}</script>', "a title", "<!--c-->"]),
    ),
    st.sampled_from(
        ["</script>", "</p>", "<b>c</b>", "<template><meta name=a content=b></template>"]
    ),
)


def found_in(root):
    found = markup.find_elements(root)
    return {**found, "meta": markup.metas(found), "script": markup.json_ld(found)}


@given(st.lists(programs, max_size=20).map("".join), st.integers(0, 40), st.integers(0, 9))
@settings(deadline=None)
def test_what_is_made_for_programs_is_read_in_the_same_way(page, place, most):
    root = parse_html(page)
    if root is None:
        return
    elements = list(root.iter("*"))
    for element in (root, elements[place % len(elements)]):
        with pytest.MonkeyPatch.context() as patch:
            for bound in ("_HEADINGS", "_MARKED_UP", "_EVENTS", "READ"):
                patch.setattr(markup, bound, most)
            with path(None):
                pure, facts = found_in(element), page_facts(element)
            with path(COMPILED):
                assert COMPILED.elements(element, markup._NAMES, 99) is not None
                assert found_in(element) == pure
                assert page_facts(element) == facts


cells = st.sampled_from(
    ["7", "b", "é", "٣", "<i>7</i>", "<a>7</a>", "<!--c-->", "<b></b>", "&nbsp;", "£5", "\x1c"]
)
rows = st.lists(
    st.tuples(
        st.sampled_from(["tr", "dt", "dd", "div", "li", "p", "table", "dl", "article"]),
        st.lists(
            st.tuples(st.sampled_from(["td", "th", "span", "b", "a", "dd", "dt", "div"]), cells),
            max_size=3,
        ),
    ),
    max_size=8,
)


@given(rows)
@settings(deadline=None)
def test_rows_and_what_stands_alone_behind_a_heading_are_the_same(drawn):
    inside = "".join(
        f"<{row}>{''.join(f'<{tag}>{text}</{tag}>' for tag, text in made)}</{row}>"
        for row, made in drawn
    )
    root = parse_html(f"<h1>x</h1><table>{inside}</table><dl>{inside}</dl><div>{inside}</div>")
    heading = root.find(".//h1")
    with path(None):
        found, leaves, facts = found_in(root), reading._leaves(heading), page_facts(root)
    with path(COMPILED):
        assert page_facts(root) == facts
        compiled, behind = found_in(root), reading._leaves(heading)
    rows, compiled_rows = found.pop("row", []), compiled.pop("row", [])
    assert [row for row in rows if row in compiled_rows] == compiled_rows
    assert compiled == found
    assert [leaf for leaf in leaves if leaf in behind] == behind


def test_what_is_unusual_is_left_to_the_pure_path():
    root = lxml.html.fromstring("<div><p>a</p></div>")
    root.append(etree.Entity("nbsp"))
    for tree in (root, etree.XML("<div><p>a</p></div>"), etree.Comment("a"), UNBORN):
        assert COMPILED.page(tree, RULES) is None
    for tree in (etree.XML("<meta name='a' content='b'/>"), etree.Comment("a"), UNBORN):
        assert COMPILED.elements(tree, markup._NAMES, 9) is None
        assert COMPILED.leaves(tree) is None
    xml = etree.XML("<html><body><p>a story</p></body></html>")
    with path(COMPILED):
        assert read(xml).text == "a story"


class Disguised:
    """Says that it is an element."""

    __class__ = etree._Element


TREE = etree.HTML("<p><i></i><b id=c>d</b></p>")[0][0]


@pytest.mark.parametrize(
    "root", ["text", None, b"", 0, etree._Element, etree.ElementTree(TREE), Disguised(), object()]
)
def test_what_is_no_element_is_refused(root):
    for call in (
        lambda: COMPILED.knows(root),
        lambda: COMPILED.page(root, RULES),
        lambda: COMPILED.elements(root, markup._NAMES, 9),
        lambda: COMPILED.leaves(root),
        # The caller can't choose the type that counts as an element.
        lambda: COMPILED.page(type(root), root, RULES),
        lambda: COMPILED.elements(type(root), root, markup._NAMES, 9),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("packed", [b"\x09\x01p", b"\0\0\0", b"\x01\x01p" * 600, "text", None])
def test_what_is_no_table_is_refused(packed):
    calls = [
        partial(COMPILED.page, TREE, (*RULES[:place], packed, *RULES[place + 1 :]))
        for place in range(4)
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError)):
            call()
    assert COMPILED.page(TREE, (b"",) * 4)[2] == b"d"  # tables without a name


# Another lxml


def lines_of(caplog):
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


@pytest.fixture
def use(monkeypatch):
    """Use a core that was not checked before."""
    blocks._reads_trees.cache_clear()
    yield lambda core: monkeypatch.setattr(native, "core", core)
    blocks._reads_trees.cache_clear()


class Other:
    """A core that reads a page in another way."""

    LIBXML_VERSION = COMPILED.LIBXML_VERSION

    def knows(self, _):
        return True

    def page(self, *_):
        return "", 0, "", 0


class Failing(Other):
    """A core whose functions were compiled for another interpreter."""

    def __getattr__(self, name):
        return getattr(COMPILED, name)

    page = COMPILED.page

    def elements(self, *_):
        raise SystemError("it was compiled otherwise")


class Misled(Other):
    def knows(self, _):
        return False

    def page(self, *_):
        raise AssertionError("it must not be asked")


class Old(Misled):
    LIBXML_VERSION = 20914


@pytest.mark.parametrize(
    ("core", "why"),
    [
        (Other(), "than Python"),
        (Failing(), "fails to read a page: it was compiled otherwise"),
        (Misled(), "lays out"),
        (Old(), "not tested with libxml2 2.9"),
    ],
)
def test_a_core_that_reads_trees_in_another_way_is_not_asked(core, why, use, caplog):
    use(core)
    assert body(parse_html("<p>a story</p>")) == "a story"
    assert read(parse_html("<p>another</p>")).text == "another"
    assert page_facts(parse_html("<title>a</title>")) == {"page:title": "a"}
    (line,) = lines_of(caplog)
    assert why in line


def test_the_core_knows_the_trees_of_this_lxml():
    assert COMPILED.knows(TREE) is True
    for other in (
        *("<p></p>", "<p><i></i></p>", "<p><b id=c>d</b><i></i></p>", "<p>a<i></i><b>c</b>"),
    ):
        assert COMPILED.knows(etree.HTML(other)[0][0]) is False


LAYOUTS = {
    "before the children": ("_xmlNode", "struct _xmlNode *children;"),
    "before the content": ("_xmlNode", "xmlChar         *content;"),
    "before the attributes": ("_xmlNode", "struct _xmlAttr *properties;"),
    "before the node of an element": ("lxml", "xmlNode *_c_node;"),
    "in the document": ("lxml", "xmlDoc *_c_doc;"),
}
CHECK = """
import importlib.util, logging, sys
from lxml import etree
from scrapy_simhash import native
spec = importlib.util.spec_from_file_location("elsewhere._core", sys.argv[1])
native.core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(native.core)
logging.basicConfig(format="%(message)s")
from scrapy_simhash import page_text
for _ in range(2):
    print(page_text("<main><p class=a>a story</p><nav>b</nav></main>"))
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_core_compiled_for_another_layout_falls_back_without_a_crash(layout, tmp_path):
    struct, field = LAYOUTS[layout]
    done = read_with_another(tmp_path, struct, field)
    assert (done.returncode, done.stdout) == (0, "a story\na story\n"), done.stderr
    (line,) = done.stderr.splitlines()
    assert "does not read pages" in line


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
def test_a_core_compiled_for_this_layout_is_used(tmp_path):
    done = read_with_another(tmp_path, None, "")
    assert (done.returncode, done.stdout, done.stderr) == (0, "a story\na story\n", "")


def read_with_another(folder, struct, field):
    """Build the core where a structure has one more pointer before a field, and read a page."""
    for include in lxml.get_include():
        if Path(include).name != "__pycache__":
            shutil.copytree(
                include, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.so", "*.py*")
            )
    if struct is not None:
        is_lxml = struct == "lxml"
        header = folder / ("lxml.etree.h" if is_lxml else "libxml/tree.h")
        text = header.read_text("utf-8")
        start = 0 if is_lxml else text.index(f"struct {struct} {{")
        place = text.index(field, start)
        header.write_text(f"{text[:place]}void *inserted; {text[place:]}", "utf-8")
    sources = sorted(map(str, Path(native.__file__).parent.glob("*.c")))
    built = folder / "_core.so"
    python = sysconfig.get_path("include")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O0", f"-I{folder}", f"-I{python}", *sources, "-o", built],
        check=True,
        timeout=100,
    )
    return subprocess.run(
        [sys.executable, "-c", CHECK, built],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

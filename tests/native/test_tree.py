"""The compiled core cuts trees as the pure path does."""

from __future__ import annotations

from contextlib import contextmanager

import lxml.html
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from scrapy_simhash import native
from scrapy_simhash.text import cutting
from scrapy_simhash.text.blocks import CONTENT, PARAGRAPH, RESCUE, VISIBLE, width
from scrapy_simhash.text.density import body, density
from scrapy_simhash.text.html import parse_html
from scrapy_simhash.text.page import read_page

COMPILED = pytest.importorskip("scrapy_simhash.native._core", reason="the core is not compiled")
ACTIONS = (CONTENT, RESCUE, VISIBLE)


@contextmanager
def path(core):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "core", core)
        yield


def walked(root, actions=CONTENT):
    return COMPILED.walk(etree._Element, root, actions.packed, VISIBLE.packed)


def check(root):
    """Both paths make the same of a tree, and the core does not leave it to the other one."""
    for actions in ACTIONS:
        with path(None):
            cut, spans, skipped = cutting.cut(root, actions)
            pure = cut, spans, [text for text in skipped if text]
        with path(COMPILED):
            assert cutting._compiled(root, actions) is not None
            assert cutting.cut(root, actions) == pure
    with path(None):
        page, text = read_page(root, density), body(root)
    with path(COMPILED):
        assert (read_page(root, density), body(root)) == (page, text)


names = st.sampled_from(
    [
        *("p", "div", "a", "b", "br", "td", "li", "h2", "nav", "aside", "button", "noscript"),
        *("script", "form", "figcaption", "o:p", "x}b", "custom", "svg", "pre", "table", "tr"),
        *("span", "body", "html", "main", "select", "option", "iframe", "textarea"),
    ]
)
values = st.sampled_from(
    ["", "menu", "nav left", "sidebar", "titlepage", "tag-nav", "display:none", "ÄÖ 中", "a" * 400]
)
attributes = st.lists(
    st.tuples(st.sampled_from(["class", "id", "style", "CLASS", "x:class", "title"]), values),
    max_size=3,
).map(lambda pairs: "".join(f' {name}="{value}"' for name, value in pairs))
texts = st.one_of(
    st.text(st.characters(exclude_characters="<&\0", exclude_categories=["Cs"]), max_size=12),
    st.text(" \t\n\x0b\x1c\x85\xa0\u1680\u2003\u2028\u202f\u205f\u3000ab中한｡", max_size=12),
    st.sampled_from(["&amp;", "&nosuch;", "&#0;", "words of a story, told at some length. " * 9]),
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
@example("<div class=sidebar><div class=titlepage>a</div>b</div>", 0)
@example("<div class=sidebar><!-- c --><div class=titlepage>a</div>b</div>", 0)
@example("<nav>a<b>c</b></nav><script>d</script><noscript><p>e</noscript>", 0)
@settings(deadline=None)
def test_pages_and_their_elements_are_cut_in_the_same_way(page, place):
    root = parse_html(page)
    if root is None:
        return
    check(root)
    elements = list(root.iter("*"))
    check(elements[place % len(elements)])


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0<&\r"), max_size=40))
@settings(deadline=None)
def test_white_space_and_widths_are_those_of_python(text):
    root = lxml.html.Element("p")
    try:
        root.text = text
    except ValueError:  # control characters
        return
    made, _, _ = walked(root)
    said = " ".join(text.split())
    assert made == ([(said, width(said), 0, PARAGRAPH)] if said else [])


def test_every_character_has_its_width():
    characters = [chr(point) for point in range(0x21, 0x110000) if not 0xD800 <= point < 0xE000]
    root = lxml.html.Element("div")
    for character in characters:
        if len(character.split()) == 1 and point_is_allowed(character):
            etree.SubElement(root, "p").text = character
    made, _, _ = walked(root)
    assert len(made) > 1_000_000
    assert [piece[:2] for piece in made if piece[1] != width(piece[0])] == []


def point_is_allowed(character):
    return not ("\x7f" <= character <= "\x9f" or "\ufdd0" <= character <= "\ufdef") and (
        ord(character) & 0xFFFE != 0xFFFE
    )


def test_a_tree_as_deep_as_can_be_parsed_is_cut():
    root = parse_html("<div>a" * 1500 + "</div>b" * 1500)
    check(root)
    check(parse_html("<p>" + "<b>a<nav>" * 1000))


def test_trees_that_were_changed_are_cut():
    root = lxml.html.fromstring("<div><p>a</p>b<p>c</p>d</div>")
    root[0].append(etree.Comment("e"))
    root[0][0].tail = "f"
    root.insert(1, etree.ProcessingInstruction("g", "h"))
    etree.SubElement(root, "{urn:x}b").text = "i"
    etree.SubElement(root, "{urn:x}p").text = etree.CDATA("j")
    root[0].set("{urn:x}class", "nav")
    root[0].text = None
    check(root)
    root.remove(root[0])
    check(root)


def test_what_is_unusual_is_left_to_the_pure_path():
    assert walked(etree.XML("<div><p>a</p></div>")) is None
    root = lxml.html.fromstring("<div><p>a</p></div>")
    root.append(etree.Entity("nbsp"))
    assert walked(root) is None
    xml = etree.XML("<html><body><p>a story</p></body></html>")
    with path(COMPILED):
        assert body(xml) == "a story"


@pytest.mark.parametrize(
    "arguments",
    [
        (etree._Element, "text", b"", b""),
        (etree._Element, None, b"", b""),
        ("type", lxml.html.Element("p"), b"", b""),
        (etree._Element, lxml.html.Element("p"), b"\x09\x01p", b""),
        (etree._Element, lxml.html.Element("p"), b"", b"\0\0\0"),
        (etree._Element, lxml.html.Element("p"), b"\x01\x01p" * 600, b""),
    ],
)
def test_arguments_that_can_not_be_are_an_error(arguments):
    with pytest.raises((TypeError, ValueError)):
        COMPILED.walk(*arguments)


def test_a_core_that_reads_trees_in_another_way_is_not_asked(monkeypatch, caplog):
    class Other:
        def walk(self, *_):
            return [], [], []

    monkeypatch.setattr(native, "core", Other())
    cutting._reads_trees.cache_clear()
    try:
        assert body(parse_html("<p>a story</p>")) == "a story"
        assert body(parse_html("<p>another</p>")) == "another"
    finally:
        cutting._reads_trees.cache_clear()
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "Python" in record.getMessage()

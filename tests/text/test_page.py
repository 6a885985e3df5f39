from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest

from scrapy_simhash.features.shingles import shingles
from scrapy_simhash.text.html import parse_html
from scrapy_simhash.text.page import (
    PageContent,
    containment,
    load_extractor,
    read_page,
    sketch,
    without_site_lines,
)

if TYPE_CHECKING:
    from lxml.html import HtmlElement

EXTRACTORS = ("density", "body")
STORY = "".join(
    f"<p>In year {n} the ferry carried {n * 7} goats and {n * 3} fiddlers over the wide bay.</p>"
    for n in range(1, 13)
)


def chapters(number: int) -> str:
    return "".join(f"<li><a href='/{n}'>Chapter {n} on knots</a></li>" for n in range(number))


def tree(html: str | bytes) -> HtmlElement:
    root = parse_html(html)
    assert root is not None
    return root


def read(html: str, extractor: str = "density") -> PageContent:
    return read_page(tree(html), load_extractor(extractor))


def page(main: str, *, beside: int = 5) -> str:
    return f"<html><body><nav><ul>{chapters(beside)}</ul></nav><main>{main}</main></body></html>"


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_all_that_is_visible_counts_and_scripts_do_not(extractor: str) -> None:
    """The walk for the main text skips nav, button and footer; they are read all the same."""
    html = (
        "<html><body><nav><ul><li>North<script>var x</script></li><li>South</li></ul></nav>"
        "<p>East of here</p><button>West</button><style>p {}</style><footer>Up</footer></body>"
    )
    content = read(html, extractor)
    assert len(content.visible) == len("North South East of here West Up")
    assert struct.unpack_from("<I", content.page_sketch) == (6,)


def test_a_footer_as_main_text_does_not_speak_for_a_table_of_contents() -> None:
    """Its few words are less than a fifth of what the page shows."""
    content = read(
        f"<body><div><ul>{chapters(60)}</ul></div><div><p>Copyright by the knotters, all rights are"
        " reserved. Made with a program that turns hemp into pages.</p></div></body>"
    )
    assert content.text.startswith("Copyright")
    assert not content.is_representative


def test_a_short_text_speaks_where_little_stands_around_it() -> None:
    content = read(page("<p>The ferry does not run today, for the captain has a cold.</p>"))
    assert content.is_representative
    assert not read(page(f"<p>{content.text}</p>", beside=50)).is_representative


def test_a_long_text_speaks_whatever_its_share() -> None:
    content = read(page(f"<article>{STORY}</article>", beside=900))
    assert len(content.text) < 0.1 * len(content.visible)
    assert content.is_representative


def test_an_extractor_of_ones_own_is_read_beside_the_visible_text() -> None:
    content = read_page(tree(page(STORY)), lambda root: "the goats")
    assert (content.text, content.is_representative) == ("the goats", False)


def test_an_extractor_that_gives_no_text_is_an_error() -> None:
    with pytest.raises(TypeError, match="returned NoneType"):
        read_page(tree(STORY), lambda root: None)  # type: ignore[arg-type, return-value]


def words(numbers: range) -> str:
    return " ".join(f"w{n}" for n in numbers)


def test_a_print_view_is_contained_in_its_page_and_another_page_is_not() -> None:
    whole = read(page(f"<h1>Goats</h1>{STORY}<p>Letters from readers</p>"))
    printed = read(f"<body><h1>Goats</h1>{STORY}</body>")
    other = read(page("<p>" + words(range(300)) + "</p>"))
    assert containment(whole.page_sketch, printed.page_sketch) > 0.9
    assert containment(whole.page_sketch, other.page_sketch) < 0.65


@pytest.mark.parametrize(
    ("shared", "extra", "error"),
    [(1.0, 0, 0.0), (0.8, 0, 0.025), (0.65, 0, 0.035), (0.65, 1000, 0.065), (0.5, 3000, 0.095)],
)
def test_the_estimate_is_off_by_its_standard_error(shared: float, extra: int, error: float) -> None:
    """Over 60 pairs of pages of known containment, from those of a size to one four times it."""
    size, off = 1000, []
    for seed in range(60):
        start, other = seed * 100_000, seed * 100_000 + 50_000
        common = words(range(start, start + int(shared * size)))
        own = size - int(shared * size)
        small = shingles(f"{common} {words(range(other, other + own))}")
        large = shingles(f"{common} {words(range(other + 10_000, other + 10_000 + own + extra))}")
        off.append(containment(sketch(small), sketch(large)) - np.isin(small, large).mean())
    assert abs(np.mean(off)) < 0.015
    assert np.sqrt(np.mean(np.square(off))) <= error


@pytest.mark.parametrize("packed", [b"", b"abc", bytes(8), sketch(shingles("a b")) + b"c"])
def test_bytes_that_are_no_sketch_are_refused(packed: bytes) -> None:
    with pytest.raises(ValueError, match=r"shape"):
        containment(packed, sketch(shingles("one two")))


CLAUSES = "门外下着雨，没有人说话。" * 20


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("一秒记住【书屋】www.novels.example，更新快，无弹窗！", ""),
        ("最新网址：www.novels.example ", " "),
        ("他抬头，请记住m.novels.example。又低头。", "他抬头，又低头。"),
        ("See novels.example for more. ", "See novels.example for more. "),
        ("来信hello@novels.example。", "来信hello@novels.example。"),
        ("申请请到novels.example/4711。", "申请请到novels.example/4711。"),
        ("请记住www.other.example。", "请记住www.other.example。"),
        ("记住novels.example！" * 3, "记住novels.example！" * 3),
    ],
)
def test_lines_that_name_their_site_are_no_text(line: str, left: str) -> None:
    """But numbers may tell two texts apart, and a text may be about its site."""
    assert without_site_lines(CLAUSES + line, "novels.example") == CLAUSES + left


def test_a_host_without_a_domain_is_a_word() -> None:
    text = "The server runs on localhost, as all do."
    assert without_site_lines(text, "localhost") == text

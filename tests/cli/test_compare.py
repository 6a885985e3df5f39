"""``scrapy simhash compare`` and ``explain``."""

from __future__ import annotations

import io
import json
import sys

import pytest
from loopback import article, prose
from stored import changed


def test_compare(call, tmp_path):
    one, other, third = (tmp_path / name for name in ("a.html", "b.txt", "c.txt"))
    text = prose(1, 300)
    one.write_text(f"<html><body><article><p>{text}</p></article></body></html>")
    other.write_text(changed(text, 2))
    third.write_text(prose(2, 300))
    code, out, _ = call("compare", one, other, "--json")
    known = json.loads(out)
    assert code == 0
    assert known["verdict"] == "near-duplicates"
    assert 0 < known["distance"] <= known["limit"]
    assert 0.9 < known["similarity"] < 1
    assert "different" in call("compare", one, third)[1]


def page(text: str, title: str, rest: str = "") -> str:
    return (
        f"<html><head><title>{title}</title></head><body><article><h1>{title}</h1>"
        f"<p>{text}</p></article>{rest}</body></html>"
    )


@pytest.fixture
def compare_pages(call, tmp_path):
    """Compare two pages; gives the result as JSON and as a text."""

    def compare(*pages):
        paths = []
        for number, content in enumerate(pages):
            paths.append(tmp_path / f"{number}.html")
            paths[-1].write_text(content)
        return json.loads(call("compare", *paths, "--json")[1]), call("compare", *paths)[1]

    return compare


def test_pages_that_say_other_things_of_themselves_are_different_things(compare_pages):
    text = prose(1, 300)
    result, shown = compare_pages(page(text, "Minutes of May"), page(text, "Minutes of June"))
    assert result["verdict"] == "different items: `heading` of the page differs"
    assert result["similarity"] > 0.95
    assert [one["facts"]["page:title"] for one in result["texts"]] == [
        "Minutes of May",
        "Minutes of June",
    ]
    assert "page:title" in shown
    assert "different items: `heading` of the page differs" in shown


def test_the_rest_of_two_pages_is_compared(compare_pages):
    text = prose(1, 100)
    menus = [f"<nav><ul><li>{prose(number, 500)}</ul></nav>" for number in (2, 3)]
    result, _ = compare_pages(*(page(text, "Manual", menu) for menu in menus))
    assert result["page_sketch"] < 0.65
    assert result["verdict"] == "different items: the pages differ outside their main texts"


def test_a_page_whose_main_text_is_a_footer_is_not_compared(compare_pages):
    footer = f"<p>{prose(1, 40)}</p>"
    links = "".join(f'<li><a href="/{n}">{prose(n, 12)}</a>' for n in range(2, 40))
    result, _ = compare_pages(page(prose(1, 300), "Page"), f"<html><ul>{links}</ul>{footer}</html>")
    assert result["verdict"].startswith("not compared: the main text of B is ")


@pytest.mark.parametrize(
    ("more", "verdict"),
    [("", "near-duplicates"), (" 17", "different items: numbers in the text differ")],
)
def test_a_page_and_a_text_are_compared_by_their_texts(call, tmp_path, more, verdict):
    text = prose(1, 300)
    (tmp_path / "a.html").write_text(page(text, "Minutes of May"))
    (tmp_path / "b.txt").write_text(f"Minutes of June\n{text}{more}")
    result = json.loads(call("compare", tmp_path / "a.html", tmp_path / "b.txt", "--json")[1])
    assert result["verdict"] == verdict
    assert (result["page_sketch"], result["texts"][1]["facts"]) == (None, {})


def test_one_of_both_may_come_from_standard_input(call, tmp_path, monkeypatch):
    (tmp_path / "a.html").write_bytes(article(1))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(article(1, "mirror"))))
    result = json.loads(call("compare", tmp_path / "a.html", "-", "--json")[1])
    assert (result["distance"], result["texts"][1]["source"]) == (0, "-")


def test_pages_are_not_downloaded(call, tmp_path):
    code, _, err = call("compare", "https://a.test/", tmp_path / "a.html")
    assert (code, "save it to a file, or pipe it: curl -L" in err) == (2, True)


def test_explain(call):
    code, out, _ = call("explain", "the cat sat on the mat", "--json")
    explained = json.loads(out)
    assert code == 0
    assert explained["tokens"] == ["the", "cat", "sat", "on", "the", "mat"]
    assert f"{explained['fingerprint']:#x}" in call("explain", "the cat sat on the mat")[1]

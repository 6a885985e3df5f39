"""What a page says beside its item."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from scrapy.http import HtmlResponse
from scrapy.settings import Settings as ScrapySettings
from site_pages import sentences

from scrapy_simhash.crawl.page_text import PageText
from scrapy_simhash.crawl.settings import Settings

STORY = " ".join(sentences(number, 40) for number in range(5))
BESIDE = sentences("related pages", 12)
PAGE = f"""<html><head><title>{{title}}</title></head><body><nav><a href="/">Home</a></nav>
<h1>A flood</h1><article><p>{STORY}</p></article>
<aside><a href="/x">{BESIDE}</a></aside>{{more}}</body></html>"""


def page(title: str = "A flood | The Herald", more: str = "", *, parsed: bool = True) -> PageText:
    html = PAGE.format(title=title, more=more).encode()
    response = HtmlResponse("http://a.com/1", body=html, encoding="utf-8")
    if parsed:
        response.css("h1")
    seen = SimpleNamespace(response=response, url=response.url)
    return PageText(seen, Settings.read(ScrapySettings()), b"x" * 16, 0.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (STORY, False),
        (f"Home A flood {STORY} {BESIDE}", True),
        (f"{STORY} {sentences('not on the page', 12)}", False),
        (f"{STORY} {BESIDE} {sentences('from another page', 80)}", False),
        (BESIDE, False),
        ("", False),
    ],
)
def test_a_text_is_a_cut_of_its_page_with_the_main_text_and_more_of_it(
    text: str, expected: bool
) -> None:
    assert (page().cut([text]) is not None) is expected


ROWS = [sentences(number, 5).replace(".", "") for number in range(100, 124)]


def test_a_text_with_a_part_of_the_main_text_and_boilerplate_is_cut_to_that_part() -> None:
    """Two pages that show other pages beside one text have the same lines of it."""
    paragraphs = [f"<p>{sentences(number, 40)}</p>" for number in range(200, 206)]
    rows = "".join(f"<li>{row}</li>" for row in ROWS)
    html = f"""<html><head><title>A flood</title></head><body class="sidebar-left">
<h1>A flood</h1><article>{"".join(paragraphs)}<ul>{rows}</ul></article>
<aside><p>{BESIDE}</p></aside>{{more}}</body></html>"""
    texts = [sentences(number, 40) for number in range(200, 206)]

    def cut(*parts: str, more: str = "", fields: Sequence[str] = ()) -> str | None:
        response = HtmlResponse(
            "http://a.com/1", body=html.replace("{more}", more).encode(), encoding="utf-8"
        )
        response.css("h1")
        seen = SimpleNamespace(response=response, url=response.url)
        found = PageText(seen, Settings.read(ScrapySettings()), b"x" * 16, 0.0)
        return found.cut(["\n".join(parts), *fields])

    assert cut(*texts, BESIDE) == "\n".join(texts)
    # With some of it left out, and in pieces that stand in another order.
    pieces = " ".join(" ".join(row.split()[:3]) for row in ROWS[1:12:2])
    assert cut(pieces, BESIDE, " ".join(ROWS[::2]), *texts[:4]) == "\n".join(texts[:4] + ROWS[::2])
    # What the spider has chosen is no boilerplate, though the extractor may leave it out.
    assert cut(*texts) is None
    answer = sentences("an answer", 12)
    assert cut(*texts, answer, more=f"<table><td>{answer}</table>") is None
    # Too little of the main text.
    assert cut(*texts[:1], BESIDE) is None
    other = sentences("another answer", 30)
    assert cut(*texts, other, BESIDE, more=f"<table><td>{other}</table>") is None
    # Nor is a field of its own, such as a verdict beside a maker's description.
    whole = "\n".join([*texts, *ROWS])
    assert cut(whole, BESIDE, fields=[other], more=f"<table><td>{other}</table>") is None
    assert cut(whole, fields=[other], more=f"<table><td>{other}</table>") is None
    assert whole in (cut(whole, BESIDE, fields=[texts[0], BESIDE]) or "")
    # From elsewhere.
    assert cut(*texts, BESIDE, sentences("not on the page", 12)) is None

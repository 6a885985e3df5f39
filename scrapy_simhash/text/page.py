"""The content of a page: its main text, whether that represents the page, and a page sketch."""

from __future__ import annotations

from dataclasses import dataclass

from lxml.html import HtmlElement

from scrapy_simhash.features.shingles import shingles
from scrapy_simhash.text.blocks import width
from scrapy_simhash.text.density import body, density, read
from scrapy_simhash.text.extractor import Extractor
from scrapy_simhash.text.page_sketch import sketch

# A main text with fewer shingles and a smaller share of the page is a footer. Neither bound would
# do alone: short articles stand on large pages, and long ones on larger.
_FOOTER_SHINGLES, _FOOTER_SHARE = 64, 0.2


@dataclass(frozen=True, slots=True)
class PageContent:
    """The main text of a page, all visible text with a sketch of it, and their widths in letters.

    If the main text does not represent the page, it is a footer, a consent notice or the like, and
    two pages with the same one need not be copies.
    """

    text: str
    main_width: int
    visible_width: int
    is_representative: bool
    page_sketch: bytes
    visible: str = ""


def read_page(
    root: HtmlElement, extractor: Extractor, *, most: int | None = None, secret: bytes = b""
) -> PageContent | None:
    """Read the main text of a page and everything visible; None with more than `most` characters.

    The secret is that of the page sketch, see `shingles`.
    """
    if extractor is density:
        text, main_width, visible, visible_width = read(root)
    else:
        text = extractor(root)
        if not isinstance(text, str):
            raise TypeError(f"extractor {extractor!r} returned {type(text).__name__}, not str")
        visible = text if extractor is body else body(root)
        main_width, visible_width = width(text), width(visible)
    if most is not None and len(visible) > most:
        return None
    is_small = main_width < _FOOTER_SHARE * visible_width
    return PageContent(
        text=text,
        main_width=main_width,
        visible_width=visible_width,
        is_representative=bool(text) and (not is_small or shingles(text).size >= _FOOTER_SHINGLES),
        page_sketch=sketch(visible, secret),
        visible=visible,
    )

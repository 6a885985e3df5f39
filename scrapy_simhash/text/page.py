"""What a page says: its main text, whether that speaks for the page, and all that is around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simhash.features.shingles import shingles
from scrapy_simhash.text.blocks import width
from scrapy_simhash.text.density import body, density, read
from scrapy_simhash.text.page_sketch import sketch

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from scrapy_simhash.text.extractor import Extractor

__all__ = ["PageContent", "read_page"]

# A main text that has fewer shingles and a smaller share of the page is a footer. Neither bound
# does alone: short articles stand on large pages, and long ones on larger.
_FOOTER_SHINGLES, _FOOTER_SHARE = 64, 0.2


@dataclass(frozen=True, slots=True)
class PageContent:
    """The main text of a page, and how it compares with the whole of the page.

    Widths are in letters: an ideograph, a kana or a hangul syllable counts as three.

    Attributes:
        text: The main text, as `page_text` returns it.
        main_width: Its width.
        visible_width: The width of all visible text, that of links included.
        speaks: Whether the main text speaks for the page. If not it is a footer, a consent
            notice or the like, and says nothing about what the page is a copy of.
        rest: A `sketch` of all visible text, the main text included.
    """

    text: str
    main_width: int
    visible_width: int
    speaks: bool
    rest: bytes


def read_page(
    root: HtmlElement, extractor: Extractor, *, most: int | None = None, secret: bytes = b""
) -> PageContent | None:
    """Read the main text of a page and all that is visible on it.

    With "density" the tree is walked once: what the walk skips as boilerplate is read after it.

    Args:
        root: The page as an lxml tree, which is left unchanged.
        extractor: What finds the main text, from `load_extractor`.
        most: Characters of visible text that are read at most; None for all there are.
        secret: What the sketch of the rest is made with, see `shingles`.

    Returns:
        None for a page that shows more.

    Raises:
        TypeError: If the extractor does not return a str.
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
        speaks=bool(text) and (not is_small or shingles(text).size >= _FOOTER_SHINGLES),
        rest=sketch(visible, secret),
    )

"""A tree to text by the compiled core, where there is one that reads the trees of this lxml."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from lxml import etree

from scrapy_simhash import native
from scrapy_simhash.text.blocks import CONTENT, PACKED_WORDS, RESCUE, VISIBLE

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from scrapy_simhash.native import FoundMarkup

__all__ = ["body", "markup", "read"]

logger = logging.getLogger(__name__)

_RULES = CONTENT.packed, RESCUE.packed, VISIBLE.packed, PACKED_WORDS
# What lxml gives to other extension modules: it makes the object of a node.
_FACTORY = getattr(etree, "__pyx_capi__", {}).get("elementFactory")


def read(root: HtmlElement) -> tuple[str, int, str, int] | None:
    """What `density.read` returns; None where that has to be made without the core."""
    if native.core is None or not _reads_trees():
        return None
    return native.core.page(etree._Element, root, _RULES)


def body(root: HtmlElement) -> str | None:
    """The same of `density.body`."""
    if native.core is None or not _reads_trees():
        return None
    return native.core.body(etree._Element, root, VISIBLE.packed)


def markup(root: HtmlElement, names: bytes, bounds: tuple[int, ...]) -> FoundMarkup | None:
    """What `markup.read_markup` puts together."""
    if native.core is None or not _reads_trees():
        return None
    return native.core.markup(etree._Element, root, _FACTORY, (names, CONTENT.packed), bounds)


@cache
def _reads_trees() -> bool:
    """Whether trees are laid out as the core takes them to be, tried with a small one."""
    story = "b c" * 99
    tree = etree.HTML(
        f"<div class='x nav'>a</div><div id=y><!--z--><p>{story} <b>d</b>\u4e2d<br>e</p></div>"
        "<nav>f<a>g</a></nav>"
    )
    text = f"{story} d\u4e2d e"
    core = native.core
    reads = (
        core is not None
        # Where an element holds anything else it is not to be touched at all.
        and etree._Element.__basicsize__ == object.__basicsize__ + 3 * tuple.__itemsize__
        and core.page(etree._Element, tree, _RULES) == (text, 304, f"a\n{text}\nfg", 309)
    )
    if not reads:
        logger.warning("The compiled core can't read the trees of this lxml, Python does")
    return reads

"""A tree to blocks of text: by the compiled core, where there is one that reads it, or `walk`."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from lxml import etree

from scrapy_simhash import native
from scrapy_simhash.text.blocks import (
    BESIDE,
    BLOCK,
    CONTENT,
    LEAF,
    PARAGRAPH,
    SKIP,
    VISIBLE,
    Block,
    marks,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from lxml.html import HtmlElement

    from scrapy_simhash.text.blocks import Actions, Span

__all__ = ["cut", "visible"]

logger = logging.getLogger(__name__)


def cut(root: HtmlElement, actions: Actions) -> tuple[list[Block], list[Span], Iterable[str]]:
    """Cut a tree into blocks of text.

    Returns:
        What `walk` returns, and the texts that are visible in the elements that it leaves out.
    """
    made = _compiled(root, actions)
    if made is None:
        skipped: list[HtmlElement] = []
        return *walk(root, actions, skipped), _skipped_text(skipped)
    pieces, ends, beside = made
    blocks = [Block(*piece) for piece in pieces]
    spans = [
        (start, stop, kind == BESIDE or (names is not None and marks(*names)), kind < LEAF)
        for start, stop, kind, names in ends
    ]
    spans.append((0, len(blocks), False, True))
    return blocks, spans, beside


def visible(root: HtmlElement) -> list[str]:
    """The texts of the blocks that are visible in a tree."""
    made = _compiled(root, VISIBLE)
    if made is None:
        return [block.text for block in walk(root, VISIBLE)[0]]
    return [text for text, *_ in made[0]]


def _compiled(root: HtmlElement, actions: Actions) -> tuple[list[Any], list[Any], list[str]] | None:
    """What `Core.walk` makes of it; None as well where there is no core that reads trees."""
    if native.core is None or not _reads_trees():
        return None
    return native.core.walk(etree._Element, root, actions.packed, VISIBLE.packed)


@cache
def _reads_trees() -> bool:
    """Whether trees are laid out as the core takes them to be, tried with a small one."""
    tree = etree.HTML("<div id='a' class='b'><p>c<b> d</b><nav>e</nav>\u4e2d<br>f</p></div>")
    known = (
        [("c d\u4e2d f", 8, 0, PARAGRAPH)],
        [
            (0, 1, PARAGRAPH, None),
            (0, 1, BLOCK, ("b", "a", None, 0)),
            (0, 1, BLOCK, None),
            (0, 1, BLOCK, None),
        ],
        ["e"],
    )
    core = native.core
    reads = (
        core is not None
        # Where an element holds anything else it is not to be touched at all.
        and etree._Element.__basicsize__ == object.__basicsize__ + 3 * tuple.__itemsize__
        and core.walk(etree._Element, tree, CONTENT.packed, VISIBLE.packed) == known
    )
    if not reads:
        logger.warning("The compiled core can't read the trees of this lxml, Python does")
    return reads


def _skipped_text(skipped: Iterable[HtmlElement]) -> Iterable[str]:
    for element in skipped:
        if VISIBLE[element.tag] == SKIP:
            continue
        if len(element):
            yield from (block.text for block in walk(element, VISIBLE)[0])
        else:
            # Most are buttons that hold no element, and some pages hold thousands of them.
            yield " ".join((element.text or "").split())

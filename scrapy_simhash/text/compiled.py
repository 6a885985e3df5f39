"""The compiled core for trees, where it was tested with the lxml in use."""

from __future__ import annotations

import logging
from functools import cache
from typing import cast

from lxml import etree

from scrapy_simhash import native
from scrapy_simhash.text.blocks import RULES

__all__ = ["tree_core"]

logger = logging.getLogger(__name__)

# The core reads libxml2's structures. These versions lay them out alike; the tests ran with both.
_TESTED = ((2, 13), (2, 14))


def tree_core() -> native.Core | None:
    """The core, if there is one that can read the trees of this lxml."""
    return native.core if native.core is not None and _reads_trees() else None


@cache
def _reads_trees() -> bool:
    core = cast("native.Core", native.core)
    compiled_with = divmod(core.LIBXML_VERSION // 100, 100)
    versions = (compiled_with, etree.LIBXML_COMPILED_VERSION[:2], etree.LIBXML_VERSION[:2])
    wrong = None
    if unknown := [version for version in versions if version not in _TESTED]:
        wrong = f"it was not tested with libxml2 {unknown[0][0]}.{unknown[0][1]}"
    elif not core.knows(etree.HTML("<p><i></i><b id=c>d</b></p>")[0][0]):
        wrong = "this lxml lays out its trees in another way"
    elif not _reads_page(core):
        wrong = "it reads a page in another way than Python"
    if wrong is None:
        return True
    logger.warning("The compiled core does not read pages, the slower Python code does: %s", wrong)
    return False


def _reads_page(core: native.Core) -> bool:
    story = "b c" * 99
    tree = etree.HTML(
        f"<div class='x nav'>a</div><div id=y><!--z--><p>{story} <b>d</b>\u4e2d<br>e</p></div>"
        "<nav>f<a>g</a></nav>"
    )
    text = f"{story} d\u4e2d e"
    return core.page(tree, RULES) == (text, 304, f"a\n{text}\nfg", 309)

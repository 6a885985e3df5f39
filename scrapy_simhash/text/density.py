"""The main text of a page, by the density of text and links.

The tree is cut into blocks of text, and each block is scored by its length and its share of links.
The main text is that of one element: among those with most of the best score, the one whose score
is spread most widely over its parts. There are no stop words and no model, so pages in all
languages are treated alike. Weak spots: dialogs and comments without a telltale name, on short
pages; a caption or date line inside the element of the article; and a part of an article that
stands beside the element with the rest.

Link density goes back to Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow
Text Features" (WSDM 2010); summing scores over elements to Readability.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import accumulate, compress
from operator import add, or_
from typing import NamedTuple

from lxml.html import HtmlElement

from scrapy_simhash.text.blocks import (
    BLOCK,
    COMMENTS,
    CONTENT,
    FOOTER,
    HEADING,
    MARKED,
    PARAGRAPH,
    RESCUE,
    RULES,
    SKIP,
    VISIBLE,
    Actions,
    Block,
    Span,
    tree_core,
    walk,
    width,
)

# Widths and scores are in letters. The values were tuned together, see benchmarks/accuracy.py.
_BLOCK_COST = 30  # letters a block needs to count for an article
_WORST = -150  # the least score of a block
_BEST = 1000  # the highest one
_MOST = 0.75  # share of the best score that the element of an article needs
_NEARLY = 0.85  # share of the largest sum that the smallest element needs
_NOTE = 400  # with so little text beside a list of links, the links count as text
# Larger shares of the page's text are no boilerplate, whatever their name.
_MARKED_SHARE = 0.4
_FOOTER_SHARE = 0.6
_STORY = 400  # prose before comments that makes them comments on it: about 64 words
_LITTLE = 200  # less is no article
_LITTLE_SHARE = 0.25  # and neither is a smaller share of the page
_SHORT = 500  # a shorter text is a piece of the article,
_SHORT_SHARE = 0.5  # if its share of the page is smaller
_PASSED = 0.1  # share of text between the heading and a short one
_LISTED = 0.15  # share of links from which on a text is a list of them, with notes
_FIGURE = 3  # letters that a digit is worth
_RESCUED = 1000  # width that the text inside skipped elements needs to be the page
_CARDS = 3  # so many in a row
_TITLE = 25  # links of this width are titles of other pages rather than controls
_EMPTY = Block("", 0, 0, BLOCK)
_DIGIT = re.compile("[0-9]")


class Reading(NamedTuple):
    """The main text and all visible text, text in skipped elements last; with their widths.

    Boilerplate is what is skipped, marked as such by its name, or a link, and not in the main text.
    """

    text: str
    width: int
    visible: str
    visible_width: int
    boilerplate: str


def density(root: HtmlElement) -> str:
    """The main text by block density."""
    return read(root).text


def body(root: HtmlElement) -> str:
    """All visible text."""
    if (core := tree_core()) and (text := core.body(root, VISIBLE.packed)) is not None:
        return text
    return _lines(walk(root, VISIBLE)[0])


def read(root: HtmlElement) -> Reading:
    """Find the main text by block density, if need be inside elements that are usually skipped."""
    if (core := tree_core()) and (made := core.page(root, RULES)) is not None:
        return Reading(*made)
    main, beside, blocks, skipped = _cut(root, CONTENT)
    if _weight(main) < _LITTLE:
        rescued = _cut(root, RESCUE)
        if _weight(rescued[0]) >= _RESCUED:
            main, beside, blocks, skipped = rescued
    text, more = _lines(main), list(_visible_text(skipped))
    visible, boilerplate = (
        "\n".join(filter(None, (_lines(found), *more))) for found in (blocks, beside)
    )
    return Reading(text, width(text), visible, width(visible), boilerplate)


def _lines(blocks: Iterable[Block]) -> str:
    """The text of blocks, one a line."""
    return "\n".join(block.text for block in blocks)


def _visible_text(skipped: list[HtmlElement]) -> Iterator[str]:
    for element in skipped:
        if VISIBLE[element.tag] == SKIP:
            continue
        if len(element):
            yield _lines(walk(element, VISIBLE)[0])
        else:
            # Faster; most are buttons, of which some pages have thousands.
            yield " ".join((element.text or "").split())


def _cut(
    root: HtmlElement, actions: Actions
) -> tuple[list[Block], list[Block], list[Block], list[HtmlElement]]:
    """The blocks of the main text, boilerplate, all blocks, and the elements that were skipped."""
    skipped: list[HtmlElement] = []
    blocks, spans = walk(root, actions, skipped)
    return *_main_blocks(blocks, spans), blocks, skipped


def _main_blocks(blocks: list[Block], spans: list[Span]) -> tuple[list[Block], list[Block]]:
    """The blocks of the main text, and those that are boilerplate."""
    marked = _marked_blocks(blocks, spans)
    beside = [mark or block.is_links for block, mark in zip(blocks, marked, strict=True)]
    kept = [not is_beside for is_beside in beside]
    titles = [_is_title(*one) for one in zip(blocks, marked, strict=True)]
    main = _article(spans, map(_score, blocks, marked))
    if not _is_most(main, blocks, spans, kept, titles):
        # Not an article: everything but boilerplate counts, and titles on a page that lists them.
        if sum(block.width for block in compress(blocks, titles)) > _weight(compress(blocks, kept)):
            kept = list(map(or_, kept, titles))
        widths = (min(block.width, _BEST) * keep for block, keep in zip(blocks, kept, strict=True))
        main = _smallest(spans, widths)
    if not any(kept[main]):
        return blocks, []
    beside[main] = [a and not b for a, b in zip(beside[main], kept[main], strict=True)]
    return list(compress(blocks[main], kept[main])), list(compress(blocks, beside))


def _is_most(
    main: slice, blocks: list[Block], spans: list[Span], kept: list[bool], titles: list[bool]
) -> bool:
    """Whether a text is enough of what its page tells to stand for it.

    Of a list of links with notes, that includes the links elsewhere. A short text stands beside the
    teasers of other pages, which are none of what the page tells, but not behind a text that the
    heading is followed by: a poem before the life of its poet.
    """
    told = [_told(block) * is_kept for block, is_kept in zip(blocks, kept, strict=True)]
    texts, weight, share = [*compress(blocks[main], kept[main])], sum(told[main]), _LITTLE_SHARE
    if sum(block.linked for block in texts) > _LISTED * sum(block.width for block in texts):
        links = (block.width * is_title for block, is_title in zip(blocks, titles, strict=True))
        told, share = list(map(add, told, links)), _SHORT_SHARE
    elif weight < _SHORT:
        cards = _covered(len(blocks), _cards(blocks, spans))
        told = [one * (not is_card) for one, is_card in zip(told, cards, strict=True)]
        share = _SHORT_SHARE
        heading = next((n for n, block in enumerate(blocks) if block.kind == HEADING), main.start)
        before = compress(blocks[heading : main.start], kept[heading : main.start])
        prose = sum(max(0, _score(one, False)) for one in before if one.kind != HEADING)
        if prose > _PASSED * weight:
            return False
    return weight >= max(_LITTLE, share * sum(told))


def _article(spans: list[Span], scores: Iterable[int]) -> slice:
    """The blocks of the article.

    From the element with the best score downwards, each has nearly the score of the one around it,
    until the score of one is spread over its parts: the article. Elements further down are parts of
    it, elements further up have something beside it.
    """
    sums = [0, *accumulate(scores)]
    totals = [sums[stop] - sums[start] for start, stop, _, _ in spans]
    best = max([total for total, span in zip(totals, spans, strict=True) if span[3]])
    enough = min(best, _MOST * best)  # the best may be negative
    large = [place for place, total in enumerate(totals) if total >= enough and spans[place][3]]
    # Inner elements come first, so the last of the best is the outermost.
    while totals[large[-1]] < best:
        large.pop()
    first, end, *_ = spans[large[-1]]
    article, most = slice(first, end), -1
    # The first span inside a large one, and the best score of one inside.
    insides: dict[int, tuple[int, int]] = {}
    for place in large:
        start, stop, *_ = spans[place]
        inner, part = place, 0
        while inner and spans[inner - 1][0] >= start:
            last = inner - 1
            inner, parts_part = insides.get(last, (last, 0))
            part = max(part, totals[last], parts_part)
        insides[place] = inner, part
        if start >= first and totals[place] - part >= most:
            article, most = slice(start, stop), totals[place] - part
    return article


def _smallest(spans: list[Span], weights: Iterable[int]) -> slice:
    """The blocks of the smallest element with nearly all of the largest sum of weights."""
    sums = [0, *accumulate(weights)]
    totals = [sums[stop] - sums[start] for start, stop, _, _ in spans]
    enough = _NEARLY * max(totals)
    large = compress(spans, [total >= enough for total in totals])
    start, stop, *_ = min(large, key=lambda span: span[1] - span[0])
    return slice(start, stop)


def _marked_blocks(blocks: list[Block], spans: list[Span]) -> list[bool]:
    """For every block, whether it is inside an element marked as boilerplate, or inside a menu.

    However long, comments are boilerplate if they come after a story: then the page is read as if
    it had none. Without a story, as in a guestbook, they are the text.
    """
    marked, large = _boilerplate(blocks, spans, [False] * len(blocks))
    if large:
        comments = _covered(len(blocks), filter(partial(_is_comments, len(blocks)), spans))
        others, _ = _boilerplate(blocks, spans, comments)
        others = list(map(or_, others, comments))
        prose = [0, *accumulate(max(0, score) for score in map(_score, blocks, others))]
        if any(prose[start] >= _STORY for start, *_ in large):
            return others
    return marked


def _boilerplate(
    blocks: list[Block], spans: list[Span], left_out: list[bool]
) -> tuple[list[bool], list[Span]]:
    """The blocks of boilerplate and menus, and the elements of comments too large for it.

    A menu is an element that consists mostly of short links.
    """
    counted = [_EMPTY if out else block for block, out in zip(blocks, left_out, strict=True)]
    sums = [0, *accumulate(block.width - block.linked for block in counted)]
    widths = [0, *accumulate(block.width for block in counted)]
    links = [0, *accumulate(block.width * _is_short_link(block) for block in counted)]
    boilerplate, large = [], []
    for span in spans:
        start, stop, mark, _ = span
        text = sums[stop] - sums[start]
        is_menu = 2 * (links[stop] - links[start]) > widths[stop] - widths[start]
        # A footer is one even if there is no other text; a whole page is not a menu.
        page = widths[-1] if mark and text < _NOTE else sums[-1]
        if text >= (_FOOTER_SHARE if mark == FOOTER else _MARKED_SHARE) * page:
            if _is_comments(len(blocks), span):
                large.append(span)
        elif mark or is_menu:
            boilerplate.append(span)
    return _covered(len(blocks), boilerplate), large


def _cards(blocks: list[Block], spans: list[Span]) -> Iterator[Span]:
    """The elements of teasers: several in a row that begin with a linked title and have more."""
    # By the last block of the last one: the first block of the first, and how many there are.
    rows: dict[int, tuple[int, int]] = {}
    for start, stop, *_ in spans:
        if stop - start > 1 and _is_title(blocks[start]):
            first, count = rows.get(start, (start, 0))
            if count >= rows.get(stop, (0, 0))[1]:
                rows[stop] = first, count + 1
    return ((first, stop, MARKED, False) for stop, (first, n) in rows.items() if n >= _CARDS)


def _is_comments(count: int, span: Span) -> bool:
    """Whether an element is marked as comments; the name of a whole page does not count."""
    start, stop, mark, _ = span
    return mark == COMMENTS and stop - start < count


def _covered(count: int, spans: Iterable[Span]) -> list[bool]:
    """For every block, whether it is inside one of some elements."""
    changes = [0] * (count + 1)  # of the number of elements around
    for start, stop, _, _ in spans:
        changes[start] += 1
        changes[stop] -= 1
    return [depth > 0 for depth in accumulate(changes[:-1])]


def _is_title(block: Block, marked: bool = False) -> bool:
    """Whether a block is a link with the title of another page."""
    return block.is_links and not marked and block.width >= _TITLE


def _is_short_link(block: Block) -> bool:
    return block.width < _TITLE and block.is_links


def _score(block: Block, marked: bool) -> int:
    """How much a block counts for, or against, the elements around it being the article."""
    score = block.width - 2 * block.linked - _BLOCK_COST
    if not block.is_links:
        if block.kind == PARAGRAPH:
            score += _BLOCK_COST
        elif block.kind == HEADING:
            score = max(score, -5)
    return min(max(score, _WORST), 0 if marked else _BEST)


def _told(block: Block) -> int:
    """How much a block tells: a sentence, or numbers; names of controls tell nothing."""
    return max(0, _score(block, False), min(_FIGURE * len(_DIGIT.findall(block.text)), block.width))


def _weight(blocks: Iterable[Block]) -> int:
    """The width of the text outside links."""
    return sum(min(block.width - block.linked, _BEST) for block in blocks)

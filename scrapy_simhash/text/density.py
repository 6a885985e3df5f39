"""The main text of a page, by the density of text and links.

The tree is cut into blocks of text, and each block is scored by its length and its share of links.
The main text is the text of one element: of the elements with most of the best score, the one whose
score is spread most widely over its parts. There are no stop words and no model, so all languages
are treated alike. Weak spots: dialogs and comments without a telltale mark, on short pages; a
caption or date line inside the element of the article; and a part of an article that stands beside
the element with the rest.

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
    CONTENT,
    RESCUE,
    RULES,
    VISIBLE,
    Action,
    Actions,
    Block,
    Marking,
    Span,
    tree_core,
    walk,
    width,
)

# Widths and scores are in letters. The values were tuned together, see benchmarks/accuracy.py.
_BLOCK_COST = 30  # letters that a block needs to count for an article
_WORST = -150  # the lowest score of a block
_BEST = 1000  # the highest score of a block
_MOST = 0.75  # the share of the best score that the element of an article needs
_NEARLY = 0.85  # the share of the largest sum that the smallest element needs
_NOTE = 400  # with so little text beside a list of links, the links count as text
# Elements with larger shares of the page's text are no boilerplate, whatever their names are.
_MARKED_SHARE = 0.4
# Text before comments, or beside a dialog, that makes them boilerplate: about 64 words.
_STORY = 400
_LITTLE = 200  # a text with less is no article
_LITTLE_SHARE = 0.25  # neither is a text with a smaller share of the page
_SHORT = 500  # a shorter text is only a piece of the article
_SHORT_SHARE = 0.5  # if its share of the page is smaller than this
_PASSED = 0.1  # the share of prose that may stand between the heading and a short text
_LISTED = 0.15  # the share of links that makes a text a list of links with notes
_FIGURE = 3  # letters that a digit is worth
_RESCUED = 1000  # the width that the text inside skipped elements needs to be the main text
_CARDS = 3  # the least number of teasers in a row
_TITLE = 25  # links of this width are titles of other pages rather than controls
_EMPTY = Block("", 0, 0, Action.BLOCK)
_DIGIT = re.compile("[0-9]")


class PageTexts(NamedTuple):
    """The texts of a page.

    Attributes:
        text: the main text.
        width: its width in letters.
        visible: the UTF-8 of all visible text, that in skipped elements last.
        visible_width: its width in letters.
        boilerplate: the UTF-8 of what is skipped, marked, or a link, and not in the main text.
    """

    text: str
    width: int
    visible: bytes
    visible_width: int
    boilerplate: bytes


def density(root: HtmlElement) -> str:
    """The main text by block density."""
    return read(root).text


def body(root: HtmlElement) -> str:
    """All visible text."""
    return read(root).visible.decode()


def read(root: HtmlElement) -> PageTexts:
    """Find the main text by block density, if need be inside elements that are usually skipped."""
    if (core := tree_core()) and (texts := core.page(root, RULES)) is not None:
        return PageTexts(*texts)
    main, boilerplate, blocks, skipped = _cut(root, CONTENT)
    if _weight(main) < _LITTLE:
        rescued = _cut(root, RESCUE)
        if _weight(rescued[0]) >= _RESCUED:
            main, boilerplate, blocks, skipped = rescued
    text, skipped_texts = _lines(main), list(_visible_texts(skipped))
    visible = "\n".join(filter(None, (_lines(blocks), *skipped_texts)))
    beside = "\n".join(filter(None, (_lines(boilerplate), *skipped_texts)))
    return PageTexts(text, width(text), visible.encode(), width(visible), beside.encode())


def _lines(blocks: Iterable[Block]) -> str:
    """The text of blocks, one a line."""
    return "\n".join(block.text for block in blocks)


def _visible_texts(skipped: list[HtmlElement]) -> Iterator[str]:
    """Yield the visible texts of elements that were skipped."""
    for element in skipped:
        if VISIBLE[element.tag] != Action.SKIP:
            yield _lines(walk(element, VISIBLE)[0])


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
    boilerplate = [mark or block.is_links for block, mark in zip(blocks, marked, strict=True)]
    kept = [not is_boilerplate for is_boilerplate in boilerplate]
    titles = list(map(_is_title, blocks, marked))
    main = _article(spans, map(_score, blocks, marked))
    if not _is_most(main, blocks, spans, kept, titles):
        # Not an article: everything but boilerplate counts, and titles on a page that lists them.
        if sum(block.width for block in compress(blocks, titles)) > _weight(compress(blocks, kept)):
            kept = list(map(or_, kept, titles))
        widths = (min(block.width, _BEST) * keep for block, keep in zip(blocks, kept, strict=True))
        main = _smallest(spans, widths)
    if not any(kept[main]):
        return blocks, []
    boilerplate[main] = [
        is_boilerplate and not is_kept
        for is_boilerplate, is_kept in zip(boilerplate[main], kept[main], strict=True)
    ]
    return list(compress(blocks[main], kept[main])), list(compress(blocks, boilerplate))


def _is_most(
    main: slice, blocks: list[Block], spans: list[Span], kept: list[bool], titles: list[bool]
) -> bool:
    """Whether the main blocks have enough of the page's information to stand for it.

    For a list of links with notes, the links elsewhere count as information. For a short text, the
    teasers of other pages do not; but it must not stand behind other prose that follows the
    heading, like the life of a poet before one of his poems.
    """
    information = [_information(block) * keep for block, keep in zip(blocks, kept, strict=True)]
    texts, share = [*compress(blocks[main], kept[main])], _LITTLE_SHARE
    weight = sum(information[main])
    if sum(block.linked for block in texts) > _LISTED * sum(block.width for block in texts):
        links = (block.width * is_title for block, is_title in zip(blocks, titles, strict=True))
        information, share = list(map(add, information, links)), _SHORT_SHARE
    elif weight < _SHORT:
        cards = _covered(len(blocks), _cards(blocks, spans))
        information = [amount * (not card) for amount, card in zip(information, cards, strict=True)]
        share = _SHORT_SHARE
        headings = (n for n, block in enumerate(blocks) if block.kind == Action.HEADING)
        heading = next(headings, main.start)
        before = compress(blocks[heading : main.start], kept[heading : main.start])
        prose = (max(0, _score(block)) for block in before if block.kind != Action.HEADING)
        if sum(prose) > _PASSED * weight:
            return False
    return weight >= max(_LITTLE, share * sum(information))


def _article(spans: list[Span], scores: Iterable[int]) -> slice:
    """The blocks of the article.

    Below the element with the best score, each element has nearly the score of the one around it,
    down to the article, whose score is spread over its parts. Elements further down are parts of
    the article; elements further up have something beside it.
    """
    sums = [0, *accumulate(scores)]
    totals = [sums[span.stop] - sums[span.start] for span in spans]
    best = max(total for total, span in zip(totals, spans, strict=True) if span.is_container)
    enough = min(best, _MOST * best)  # the best may be negative
    large = [n for n, span in enumerate(spans) if totals[n] >= enough and span.is_container]
    # Inner elements come first, so the last of the best is the outermost.
    while totals[large[-1]] < best:
        large.pop()
    outermost = spans[large[-1]]
    article, widest = slice(outermost.start, outermost.stop), -1
    # For each large span, the index of the first span inside it, and the best score inside it.
    insides: dict[int, tuple[int, int]] = {}
    for index in large:
        start, stop, *_ = spans[index]
        first, best_part = index, 0
        while first and spans[first - 1].start >= start:
            part = first - 1
            first, best_of_part = insides.get(part, (part, 0))
            best_part = max(best_part, totals[part], best_of_part)
        insides[index] = first, best_part
        if start >= outermost.start and totals[index] - best_part >= widest:
            article, widest = slice(start, stop), totals[index] - best_part
    return article


def _smallest(spans: list[Span], weights: Iterable[int]) -> slice:
    """The blocks of the smallest element with nearly all of the largest sum of weights."""
    sums = [0, *accumulate(weights)]
    totals = [sums[span.stop] - sums[span.start] for span in spans]
    enough = _NEARLY * max(totals)
    large = compress(spans, [total >= enough for total in totals])
    smallest = min(large, key=lambda span: span.stop - span.start)
    return slice(smallest.start, smallest.stop)


def _marked_blocks(blocks: list[Block], spans: list[Span]) -> list[bool]:
    """For every block, whether it is inside an element marked as boilerplate, or inside a menu.

    Comments after a story are boilerplate, however long they are: then the page is read as if it
    had none. Without a story, as in a guestbook, they are the text.
    """
    comments = list(filter(partial(_is_comments, len(blocks)), spans))
    if comments:
        inside = _covered(len(blocks), comments)
        marked = list(map(or_, _boilerplate(blocks, spans, inside), inside))
        prose = [0, *accumulate(max(0, score) for score in map(_score, blocks, marked))]
        if any(prose[span.start] >= _STORY for span in comments):
            return marked
    return _boilerplate(blocks, spans, [False] * len(blocks))


def _boilerplate(blocks: list[Block], spans: list[Span], left_out: list[bool]) -> list[bool]:
    """For every block, whether it is boilerplate, or inside a menu.

    A menu is an element that consists mostly of short links.
    """
    counted = [_EMPTY if out else block for block, out in zip(blocks, left_out, strict=True)]
    sums = [0, *accumulate(block.width - block.linked for block in counted)]
    widths = [0, *accumulate(block.width for block in counted)]
    links = [0, *accumulate(block.width * _is_short_link(block) for block in counted)]
    boilerplate = []
    for span in spans:
        start, stop, marking, _ = span
        text = sums[stop] - sums[start]
        is_menu = 2 * (links[stop] - links[start]) > widths[stop] - widths[start]
        # Even without other text a footer is one, and even with nothing else a page is no menu.
        page = widths[-1] if marking and text < _NOTE else sums[-1]
        is_dialog = marking == Marking.DIALOG and sums[-1] - text >= _STORY
        if is_dialog or ((marking or is_menu) and text < _MARKED_SHARE * page):
            boilerplate.append(span)
    return _covered(len(blocks), boilerplate)


def _cards(blocks: list[Block], spans: list[Span]) -> Iterator[Span]:
    """The rows of teasers, each of which is an element that begins with a linked title."""
    # The start of a row, and the number of its teasers, by its end.
    rows: dict[int, tuple[int, int]] = {}
    for start, stop, *_ in spans:
        if stop - start > 1 and _is_title(blocks[start]):
            first, count = rows.get(start, (start, 0))
            if count >= rows.get(stop, (0, 0))[1]:
                rows[stop] = first, count + 1
    return (
        Span(start, stop, Marking.BOILERPLATE, False)
        for stop, (start, count) in rows.items()
        if count >= _CARDS
    )


def _is_comments(count: int, span: Span) -> bool:
    """Whether an element is marked as comments; the name of a whole page does not count."""
    return span.marking == Marking.COMMENTS and span.stop - span.start < count


def _covered(count: int, spans: Iterable[Span]) -> list[bool]:
    """For each of so many blocks, whether it is inside one of these elements."""
    changes = [0] * (count + 1)  # of the number of elements around a block
    for start, stop, *_ in spans:
        changes[start] += 1
        changes[stop] -= 1
    return [depth > 0 for depth in accumulate(changes[:-1])]


def _is_title(block: Block, marked: bool = False) -> bool:
    """Whether a block is a link with the title of another page."""
    return block.is_links and not marked and block.width >= _TITLE


def _is_short_link(block: Block) -> bool:
    return block.width < _TITLE and block.is_links


def _score(block: Block, marked: bool = False) -> int:
    """How much a block counts for an element around it to be the article, or against it."""
    score = block.width - 2 * block.linked - _BLOCK_COST
    if not block.is_links:
        if block.kind == Action.PARAGRAPH:
            score += _BLOCK_COST
        elif block.kind == Action.HEADING:
            score = max(score, -5)
    return min(max(score, _WORST), 0 if marked else _BEST)


def _information(block: Block) -> int:
    """The information in a block of sentences or numbers; the names of controls have none."""
    return max(0, _score(block), min(_FIGURE * len(_DIGIT.findall(block.text)), block.width))


def _weight(blocks: Iterable[Block]) -> int:
    """The width of the text outside links."""
    return sum(min(block.width - block.linked, _BEST) for block in blocks)

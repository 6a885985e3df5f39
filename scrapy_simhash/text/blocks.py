"""Blocks of text from a tree: the actions of tags, and what marks elements as boilerplate."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import IntEnum
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simhash import native
from scrapy_simhash.features.tokens import listed

logger = logging.getLogger(__name__)


class Action(IntEnum):
    """The action of a tag on the text around it.

    Block-level tags come from `BLOCK` on. Those from `LEAF` on hold a piece of an article, never
    the whole.
    """

    INLINE = 0
    SPACE = 1
    LINK = 2
    SKIP = 3
    BLOCK = 4
    BESIDE = 5
    LEAF = 6
    PARAGRAPH = 7
    HEADING = 8


class Marking(IntEnum):
    """What the name, the role or the style of an element marks it as."""

    NOTHING = 0
    BOILERPLATE = 1
    COMMENTS = 2
    DIALOG = 3


_INVISIBLE = listed(
    "applet audio canvas datalist embed iframe input map math meter noscript object progress "
    "script select style svg template textarea title video"
)
_INLINES = listed(
    "abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr "
    "picture q rb rp rt ruby s samp small source span strike strong sub sup time tt u var wbr"
)
# All other tags are block-level too; listed ones are found faster.
_BLOCKS = listed(
    "article blockquote body center div dl fieldset header html main ol section table tbody tr ul"
)
_LEAVES = {"address", "caption", "figure", "li", "pre", "summary"}
# Text beside an article: a contact form, the caption of a picture.
_BESIDE = {"figcaption", "form"}
BOILERPLATE = {"aside", "button", "dialog", "footer", "menu", "nav"}
# On some sites these hold the whole page: noscript for crawlers, the others left open by mistake.
_SWALLOWING = {"aside", "button", "menu", "nav", "noscript"}


def packed(numbers: Mapping[str, int]) -> bytes:
    """Names with numbers for the compiled core: the length, the number and the name of each."""
    return b"".join(bytes((len(name), number)) + name.encode() for name, number in numbers.items())


class Actions(dict[Any, Action]):
    """The action of each tag. A tag that is not listed is looked up without its namespace."""

    def __init__(self, skipped: AbstractSet[str]) -> None:
        super().__init__({etree.Comment: Action.INLINE, etree.ProcessingInstruction: Action.INLINE})
        # XML parsers leave unknown entities in the tree.
        self[etree.Entity] = Action.SKIP
        self.update(dict.fromkeys(_BLOCKS, Action.BLOCK))
        self.update(dict.fromkeys(_BESIDE, Action.BESIDE))
        self.update(dict.fromkeys(_LEAVES, Action.LEAF))
        self.update(dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), Action.HEADING))
        self.update(dict.fromkeys(("br", "dd", "td", "th"), Action.SPACE))
        self.update(dict.fromkeys(_INLINES, Action.INLINE))
        self.update(a=Action.LINK, p=Action.PARAGRAPH)
        self.update(dict.fromkeys(skipped, Action.SKIP))
        #: The same for the compiled core.
        self.packed = packed({tag: action for tag, action in self.items() if type(tag) is str})

    def __missing__(self, tag: str) -> Action:
        return self.get(tag.rpartition("}")[2], Action.BLOCK)


#: The actions for all visible text.
VISIBLE = Actions(_INVISIBLE)
#: The actions for the main text.
CONTENT = Actions(_INVISIBLE | BOILERPLATE)
#: The actions for the main text of a page with little text elsewhere.
RESCUE = Actions((_INVISIBLE | BOILERPLATE) - _SWALLOWING)

# Ideographs, kana and hangul, each worth about three letters.
_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3041-\u30ff"
    "\u3105-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff]+"
)
# Common words of classes and ids that mark boilerplate, and the names of consent tools.
_CHROME = listed(
    "about ad ads advert advertisement advertisements adverts axeptio banner bio blogroll borlabs "
    "breadcrumb breadcrumbs cmplz consent cookie cookiebot cookieconsent cookies cookiescript "
    "copyright credit didomi disclaimer footer gallery gdpr iubenda klaro login masthead menu "
    "modal nav navbar navigation newsletter onetrust osano outbrain pager pagination popup "
    "postmeta privacy promo recommend recommendation recommendations recommended related share "
    "sharing sidebar signup slideshow social sponsor sponsored sponsors subscribe subscription "
    "taboola tags tarteaucitron toolbar tooltip trackback trackbacks trending truste usercentrics "
    "widget"
)
_COMMENTS = listed(
    "comment commentarea commentblock commentbody commentbox commentlist commentpost comments "
    "commenttext commentthread readercomments usercomments"
)
# The class of the posts on Blogger, where all other widgets are boilerplate.
_POSTS = "widget Blog"
# WordPress adds the names of categories and tags, each as one word, to the class of an article.
_SLUGS = "category", "tag"
_WORDS = re.compile(rf"\b(?:{'|'.join(_SLUGS)})-\S+|[a-z]+", re.ASCII | re.IGNORECASE)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.ASCII | re.IGNORECASE)
# Characters of a class or id that are read.
_NAME_LENGTH = 256
# Characters of a style that are read.
_STYLE_LENGTH = 1024
#: For the compiled core: the actions of tags on a page, on a page with little text, and inside
#: skipped elements; and the words of names, with 1 for those that begin a slug, 2 for comments.
RULES = (
    *(actions.packed for actions in (CONTENT, RESCUE, VISIBLE)),
    packed(
        {
            **dict.fromkeys(sorted(_CHROME), 0),
            **dict.fromkeys(_SLUGS, 1),
            **dict.fromkeys(sorted(_COMMENTS), 2),
        }
    ),
)


class Block(NamedTuple):
    """A piece of text between two block-level tags.

    Attributes:
        text: the text.
        width: its width in letters.
        linked: the width of the text inside links.
        kind: the action of the tag around it.
    """

    text: str
    width: int
    linked: int
    kind: Action

    @property
    def is_links(self) -> bool:
        """Whether most of it is inside links."""
        return 2 * self.linked > self.width


class Span(NamedTuple):
    """A block-level element.

    Attributes:
        start: the index of its first block.
        stop: the index after its last block.
        marking: what its tag, name or style marks it as.
        is_container: whether it may hold a whole article.
    """

    start: int
    stop: int
    marking: Marking
    is_container: bool


def walk(  # noqa: C901 (one loop: see the docstring)
    root: HtmlElement, actions: Actions, skipped: list[HtmlElement] | None = None
) -> tuple[list[Block], list[Span]]:
    """Cut a tree into blocks of text; return them and the span of every block-level element.

    The roots of skipped subtrees are appended to `skipped`. A page spends most of its time in
    this loop, so it calls little, and reads attributes only of elements with text.
    """
    blocks: list[Block] = []
    spans: list[Span] = []
    parts: list[str] = []  # the text of the current block
    linked: list[str] = []  # its parts inside links
    kind, start, links = Action.BLOCK, 0, 0
    stack: list[tuple[Action, int]] = []  # kind and start of the elements around the current one
    block, link, space, skip = Action.BLOCK, Action.LINK, Action.SPACE, Action.SKIP
    events = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
    for event, element in events:
        starts = event == "start"
        action = actions[element.tag]
        if action >= block:
            if parts:
                _add_block(blocks, parts, linked, kind)
            if starts:
                stack.append((kind, start))
                kind, start = action, len(blocks)
            else:
                if len(blocks) > start:
                    is_beside = kind == Action.BESIDE
                    marking = Marking.BOILERPLATE if is_beside else marking_of(element)
                    spans.append(Span(start, len(blocks), marking, kind < Action.LEAF))
                kind, start = stack.pop()
        elif action == link:
            # An anchor is no link, and often left open.
            if element.get("href") is not None or element.get("name") is None:
                links += 1 if starts else -1
        elif action == space:
            parts.append(" ")
        elif action == skip and starts:
            if skipped is not None:
                skipped.append(element)
            events.skip_subtree()
            continue
        text = element.text if starts else element.tail
        if text and (starts or element is not root):
            parts.append(text)
            if links:
                linked.append(text)
    _add_block(blocks, parts, linked, kind)
    spans.append(Span(0, len(blocks), Marking.NOTHING, True))
    return blocks, spans


def width(text: str) -> int:
    """The width of a text in letters."""
    if text.isascii():
        return len(text)
    return len(text) + 2 * sum(map(len, _WIDE.findall(text)))


@lru_cache(maxsize=8192)
def _marking_of_name(name: str) -> Marking:
    words = set(map(str.lower, _WORDS.findall(name)))
    if not _COMMENTS.isdisjoint(words):
        return Marking.COMMENTS
    return Marking.NOTHING if _CHROME.isdisjoint(words) else Marking.BOILERPLATE


def marking_of(element: HtmlElement) -> Marking:
    """What the name, the role or the style of an element marks it as."""
    if element.get("role") in ("alertdialog", "dialog") or element.get("aria-modal") == "true":
        return Marking.DIALOG
    marking = Marking.NOTHING
    for name in (element.get("class"), element.get("id")):
        if name and name != _POSTS and (of_name := _marking_of_name(name[:_NAME_LENGTH])):
            marking = max(marking, of_name)
    style = element.get("style")
    if not marking and style and _HIDDEN.search(style, 0, _STYLE_LENGTH):
        return Marking.BOILERPLATE
    return marking


def _add_block(blocks: list[Block], parts: list[str], linked: list[str], kind: Action) -> None:
    """Turn the collected parts of a text into a block, unless they are blank."""
    text = " ".join("".join(parts).split())
    if text:
        links = width(" ".join("".join(linked).split())) if linked else 0
        blocks.append(Block(text, width(text), links, kind))
    parts.clear()
    linked.clear()


# The versions of libxml2 with which the core was tested: it reads their structures.
_TESTED = ((2, 13), (2, 14))


def tree_core() -> native.Core | None:
    """The core, if there is one that can read the trees of this lxml."""
    return native.core if native.core is not None and _reads_trees() else None


@cache
def _reads_trees() -> bool:
    core = cast("native.Core", native.core)
    compiled_with = divmod(core.LIBXML_VERSION // 100, 100)
    versions = (compiled_with, etree.LIBXML_COMPILED_VERSION[:2], etree.LIBXML_VERSION[:2])
    if unknown := [version for version in versions if version not in _TESTED]:
        problem = f"it was not tested with libxml2 {unknown[0][0]}.{unknown[0][1]}"
    elif not core.knows(etree.HTML("<p><i></i><b id=c>d</b></p>")[0][0]):
        problem = "this lxml lays out its trees in another way"
    else:
        try:
            if _reads_page(core):
                return True
            problem = "it reads a page in another way than Python"
        except Exception as error:  # noqa: BLE001 - Python reads the pages
            problem = f"it fails to read a page: {error}"
    logger.warning(
        "The compiled core does not read pages, the slower Python code does: %s", problem
    )
    return False


def _reads_page(core: native.Core) -> bool:
    """Whether each function that reads a tree returns what Python makes of a small page."""
    story = "b c" * 99
    tree = etree.HTML(
        f"<div class='x nav'>a</div><div id=y><!--z--><p>{story} <b>d</b>\u4e2d<br>e</p></div>"
        "<nav>f<a>g</a></nav><h1>h</h1><i>1</i>"
    )
    text = f"{story} d\u4e2d e"
    heading = tree[0][3]
    return (
        core.page(tree, RULES) == (text, 304, f"a\n{text}\nh\n1\nfg".encode(), 313, b"a\nfg")
        and core.elements(tree, b"name\0", 9) == [heading]
        and core.leaves(heading) == [tree[0][4]]
    )

"""What the items of abstract sites show, and when one of them covers another.

Three relations between what is shown are all that the model of visits knows of texts and facts:

- *same*: nothing differs, not even what is never compared (`NOISE`);
- *equal*: nothing differs that is compared;
- *covers*: the rule of duplicates. It is no equivalence: a text may drift away from another in
  small steps, and what covers an item on one site need not on another.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import NamedTuple

from visited_sites import Thing

#: Facts that are never compared, and those that are compared with an item's own past only.
NOISE, STATE = {"views", "fetched", "image"}, {"stock"}
#: Words that differ between two texts of 240 words that share nine tenths of their pairs, at most.
NEAR = 6
_COUNTER = re.compile(r"#\d+")
# What a sentence of twelve words that is added or cut counts as.
_SENTENCE = 3


class Content(NamedTuple):
    """What an item shows.

    Attributes:
        text: a name, with changes behind it as `visited_sites` has them; "" for none.
        facts: names and values.
        compared: False if it is compared with its own past only, as a page without a text is.
        has_text: False if the text is that of its page, and no part of it.
    """

    text: str
    facts: frozenset[tuple[str, str]] = frozenset()
    compared: bool = True
    has_text: bool = True


class Item(NamedTuple):
    """An item that a visit meets.

    Attributes:
        identity: what makes it known at the next visit.
        url: its own, or that of its page.
        site: items of one site are compared more strictly.
        content: what it shows.
        listing: the download of a list whose entries have addresses; 0 for any other page.
    """

    identity: str
    url: str
    site: str
    content: Content
    listing: int = 0

    @property
    def address(self) -> str:
        """The URL without what tells who follows it."""
        return self.url.partition("?utm_")[0]


def equal(one: Content, other: Content) -> bool:
    """Whether nothing differs that is compared."""
    is_read = one.has_text or other.has_text
    has_text = not is_read or have_one_text(one, other)
    return has_text and _facts(one, NOISE) == _facts(other, NOISE)


def have_one_text(one: Content, other: Content) -> bool:
    """Whether the texts differ in a counter at most."""
    return _plain(one.text) == _plain(other.text)


def same(one: Content, other: Content) -> bool:
    """Whether nothing differs that is compared, nor anything in the text."""
    return equal(one, other) and one.text.replace("^", "") == other.text.replace("^", "")


def likeness(one: Content, other: Content) -> tuple[bool, bool, int]:
    """Orders contents by how similar they are to another."""
    is_near = bool(one.text and other.text) and are_near(one.text, other.text)
    is_related = is_near or _parts(one.text)[0] == _parts(other.text)[0]
    return is_near, is_related, len(one.facts & other.facts)


def covers(stored: Item, item: Item) -> bool:
    """Whether an item adds nothing to one that is stored."""
    is_of_site = stored.site == item.site and stored.identity != item.identity
    adds = _sentences(stored.content) < _sentences(item.content)
    return not (is_of_site and adds) and resembles(stored, item)


def resembles(stored: Item, item: Item) -> bool:
    """Whether an item adds no more than a sentence to one that is stored."""
    if stored.listing and stored.listing == item.listing and stored.identity != item.identity:
        return False
    one, other = stored.content, item.content
    if not (one.text and other.text):
        is_own = stored.identity == item.identity
        return equal(one, other) and (is_own or (one.compared and other.compared))
    known, shown = _facts(one, NOISE | STATE), _facts(other, NOISE | STATE)
    if stored.site != item.site:
        shown = {(name, value) for name, value in shown if name == "price"}
    elif dict(known).get("title") != dict(shown).get("title"):
        return False
    return shown <= known and are_near(one.text, other.text)


def tells_change(stored: Item, was: Item, item: Item) -> bool:
    """Whether something stored has all that has changed of an item since it was shown."""
    contents = [one.content for one in (was, stored, item)]
    then, known, now = (dict(_facts(one, NOISE)) for one in contents)
    if any(now.get(name) not in (then.get(name), known.get(name)) for name in {*then, *now}):
        return False
    _, corrected, sentences, _ = zip(*(_parts(one.text) for one in contents), strict=True)
    words = zip_longest(*corrected, fillvalue=0)
    return all(new in others for *others, new in (*words, sentences))


def are_near(one: str, other: str) -> bool:
    """Whether two texts share nine tenths of their pairs of words, and no passage is replaced."""
    base, corrected, sentences, passages = _parts(one)
    base_2, corrected_2, sentences_2, passages_2 = _parts(other)
    words = sum(a != b for a, b in zip_longest(corrected, corrected_2, fillvalue=0))
    words += _COUNTER.findall(one) != _COUNTER.findall(other)
    words += _SENTENCE * abs(sentences - sentences_2)
    return (base, passages) == (base_2, passages_2) and words <= NEAR


def text_of(content: Content, site: str = "") -> str:
    """A real text: what is near is similar, and what is not shares less than nine tenths."""
    if not content.text:
        return ""
    return "\n".join(Thing(site, "", content.text, {}, frozenset()).paragraphs)


def _facts(content: Content, but: set[str]) -> set[tuple[str, str]]:
    return {(name, value) for name, value in content.facts if name not in but}


def _sentences(content: Content) -> int:
    return _parts(content.text)[2]


def _plain(text: str) -> str:
    return _COUNTER.sub("", text.replace("^", ""))


def _parts(text: str) -> tuple[str, list[int], int, int]:
    """Base, how often each word is corrected, sentences more than there were, passages replaced."""
    base, changes = re.fullmatch(r"(\w*)(.*)", text).groups()
    ends = [int(number or 1) for number in re.findall(r"'(\d*)", changes)]
    corrected = [sum(end > word for end in ends) for word in range(max(ends, default=0))]
    return base, corrected, changes.count("+") - changes.count("-"), changes.count("~")

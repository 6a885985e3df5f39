"""The content of an item: its text and facts, its own URL, and a digest of everything.

The digest is the same for equal items in different notations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.fields import FieldReader, PageNames
from scrapy_simhash.item.folding import Folded, fold, is_more, is_state
from scrapy_simhash.item.keys import untracked
from scrapy_simhash.item.links import file_of, unsigned
from scrapy_simhash.item.names import Mark, name_of
from scrapy_simhash.item.times import moment_of
from scrapy_simhash.item.urls import (
    LONGEST_VALUE,
    OWN_NAMES,
    alone,
    host_of,
    is_page_url,
    is_url,
    is_whole_page,
    own_url,
    same_site,
    site,
)
from scrapy_simhash.item.values import Printed, read_fields

# The URLs of links and images in markup, which its text lacks.
_TARGET = re.compile(r"""\b(?:href|src)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)
_NESTED = frozenset({dict, list})


@dataclass(frozen=True, slots=True)
class ItemContent:
    """The content of an item.

    Attributes:
        prose: the values that are prose, the longest first.
        facts: the short values.
        own_url: the URL of the item, or the values of its key; None if it has neither, or only
            the URL of the page.
        digest: 16 bytes, equal for equal items; None for one that could not be read completely.
            Facts count in their notation, and so does the own URL. The URL of the page, times
            during the crawl, the order of fields and lists, and the state of an item that has a URL
            do not count, nor do more than the sites of URLs if the item has a key.
        has_page_url: whether the item has the URL of its page, and neither a key nor a field such
            as `url` with a different one.
        is_empty: whether it has nothing, not even that URL.
        has_more: whether it has no text, but more than facts: markup, data, lists of links.
        published: when the item was published, in epoch seconds, if a field tells it.
        canonical: whether the item declares its URL, or that of the page, the canonical one.
    """

    prose: Sequence[str]
    facts: Facts
    own_url: str | None
    digest: bytes | None
    has_page_url: bool
    is_empty: bool
    has_more: bool = False
    published: int | None = None
    canonical: bool = False

    @property
    def text(self) -> str:
        """The prose, one value a line; "" if there is none."""
        return "\n".join(self.prose)


def digest_on(content: ItemContent, page_url: str) -> bytes | None:
    """The digest, with the URL of the page if the item has it: on other pages the item differs."""
    if content.digest is None or not content.has_page_url:
        return content.digest
    page = untracked(page_url).encode("utf-8", "surrogatepass")
    return blake2b(content.digest + page, digest_size=16).digest()


def key_on(content: ItemContent, page_url: str) -> str | None:
    """The key of an item that is one of several on a page: its own URL, or None.

    A URL of a different site gets the name of the page's site in front. Otherwise any page could
    change the history of any item.
    """
    key = content.own_url
    if not (key and page_url and key.startswith(("http://", "https://"))):
        return key
    key = untracked(key)
    return key if same_site(key, page_url) else f"{site(page_url)} {key}"


def read_item(
    item: Any,
    *,
    fields: Sequence[str] | None = None,
    ignore: Collection[str] = (),
    key: Sequence[str] | None = None,
    page_url: str,
    page_names: PageNames = ("", str),
    markup: Callable[[str], str] | None = None,
    is_alone: bool = False,
    since: float,
    now: float,
    secret: bytes = b"",
) -> ItemContent:
    """Read the content of an item of any type that itemadapter supports.

    Args:
        item: the item.
        fields: the fields to read, including bytes in them; None for all fields. The name of a
            nested field is its path, as in "offer.price".
        ignore: the fields to leave out.
        key: the fields that identify the item.
        page_url: the URL of its page, "" if it has none.
        page_names: the title of its page, and what returns its name, see `PageNames`.
        markup: returns the text of a value in HTML; None if the text is that of the page.
        is_alone: whether its page has no other item.
        since: the start of the crawl in epoch seconds.
        now: the end of the download likewise; times about between both tell when it was fetched.
        secret: up to 64 bytes that key the hashes of facts and the digest.

    Raises:
        TypeError: this is no item (nothing inside an item raises), or a list of names is a str.
    """
    for names in (fields, ignore, key):
        if isinstance(names, str):
            raise TypeError(f"fields must be a list of names, not the single str {names!r}")
    flat_fields, unread = read_fields(item)
    reader = FieldReader(page_url, since, now, fields, frozenset(ignore), page_names, markup)
    reader.read_all(flat_fields)
    url = own_url(flat_fields, page_url=page_url, key=key, is_alone=is_alone)
    place = url or (page_url if reader.has_page_url else "")
    if key is None:
        reader.drop_ids_of(place)
    kept, prose = reader.kept, reader.prose()
    reader.keep_state(is_review=not place, is_row=not (prose or url or is_alone))
    is_keyed = bool(key and url) and not any("url" in name_of(name).marks for name in key or ())
    own = [name for name, value in flat_fields.items() if url and _is_own(name, value, url)]
    compared = _compared(reader, own, url, has_url=bool(place) or is_alone, is_keyed=is_keyed)
    digest = digest_of(type(item).__name__, compared, reader.facts, reader.links, secret)
    return ItemContent(
        prose=prose,
        facts=Facts.of(reader.facts, secret, reader.shown),
        own_url=url,
        digest=None if any(map(reader.wants, unread)) else digest,
        has_page_url=reader.has_page_url and not (is_keyed or own),
        is_empty=not kept and not reader.has_page_url,
        has_more=not prose and any(is_more(name, value) for name, value in kept.items()),
        published=published_first(flat_fields),
        canonical=is_canonical(flat_fields, page_url, url),
    )


def stands_for_page(item: Any, page_url: str) -> bool:
    """Whether an item has the URL of its page as its own."""
    from itemadapter import ItemAdapter  # noqa: PLC0415  (slow, it imports pydantic)

    with suppress(Exception):  # item classes are users' code
        return any(
            str(name).casefold() in OWN_NAMES and type(url) is str and is_whole_page(url, page_url)
            for name, value in ItemAdapter(item).items()
            for url in [alone(value)]
        )
    return False


def read_facts(
    values: Mapping[str, Any], *, page_url: str, since: float, now: float, secret: bytes = b""
) -> Facts:
    """The facts that `read_item` finds in an item with these values, none of which is prose."""
    reader = FieldReader(page_url, since, now)
    for name, value in values.items():
        if (kept := reader.keep(name_of(name), value)) is not None:
            reader.add_fact(name, kept)
    return Facts.of(reader.facts, secret, reader.shown)


def _declared(fields: Mapping[str, Any], mark: Mark) -> Iterator[Any]:
    """Yield the values on the first level of flat fields whose names have a mark."""
    for name, value in fields.items():
        if mark in name_of(name).marks and "." not in name:
            yield alone(value)


def published_first(fields: Mapping[str, Any]) -> int | None:
    """The earliest date of publication in the first level of flat fields, in epoch seconds."""
    moments = (moment_of(value) for value in _declared(fields, "published"))
    return min((int(moment) for moment in moments if moment is not None), default=None)


def is_canonical(fields: Mapping[str, Any], page_url: str, own_url: str | None) -> bool:
    """Whether an item declares its own URL, or that of its page, the canonical one."""
    declared = next(_declared(fields, "canonical"), None)
    if not isinstance(declared, str) or len(declared) > LONGEST_VALUE:
        return False
    return any(is_page_url(declared.strip(), url) for url in (page_url, own_url) if url)


def _compared(
    reader: FieldReader, own: Sequence[str], url: str | None, *, has_url: bool, is_keyed: bool
) -> dict[str, Any]:
    """What tells whether two items are equal; the fields `own` have the own URL, if any has."""
    fields, facts = reader.kept, reader.facts
    if has_url:
        # Else its state may be all that tells an item from others, such as rows of a table.
        states = {name for name, fact in facts.items() if fact.kind == Evidence.STATE}
        fields = {
            name: _without_state(name, value)
            for name, value in fields.items()
            if name not in states
        }
    if url and own and (reader.has_page_url or own[0] in fields):
        # The same on each page that lists the item, also if it is a place there. As a list, it has
        # its signature.
        told = {name: value for name, value in fields.items() if not _is_silent(name, value)}
        return {name: told[name] for name in told.keys() - own} | {"(url)": [untracked(url)]}
    if not is_keyed:
        return fields
    # A key that is no URL tells an item at all of its URLs, such as those of two sessions.
    return {
        "(site)": site(reader.page_url),
        **{name: _without_place(name, value) for name, value in fields.items()},
    }


def _is_own(name: str, value: Any, url: str) -> bool:
    """Whether a field is for the URL of an item, and its value is that URL in any notation."""
    text = alone(value) if name.casefold() in OWN_NAMES else None
    return type(text) is str and is_url(name_of(name), text) and is_page_url(text.strip(), url)


def _is_silent(name: str, value: Any) -> bool:
    """Whether a field is for a picture, a place in the site or a link."""
    is_link = type(value) is str and is_url(name_of(name), value)
    return "silent" in name_of(name).marks or (is_link and not file_of(name_of(name), value))


def _without_state(name: str, value: Any) -> Any:
    """A value without the state in the mappings in it."""
    # Most lists have links and words only, often hundreds.
    if type(value) is list and not _NESTED.isdisjoint(map(type, value)):
        return [_without_state(name, inner) for inner in value]
    if type(value) is dict:
        return {
            key: _without_state(path, inner)
            for key, inner in value.items()
            if not is_state(name_of(path := f"{name}.{key}"), inner)
        }
    return value


def _without_place(name: str, value: Any) -> Any:
    """The site of a URL of the item; any other value as it is."""
    is_own = name.casefold() in OWN_NAMES and type(value) is str and is_url(name_of(name), value)
    return (host_of(value) and site(value)) if is_own else value


def digest_of(
    kind: str,
    fields: Mapping[str, Any],
    facts: Mapping[str, Folded],
    links: Mapping[str, set[str]],
    secret: bytes,
) -> bytes:
    """Hash an item to 16 bytes.

    Facts count in their notation and lists as sets; all other values count as they are.

    Args:
        kind: the name of the item's class.
        fields: its flat fields.
        facts: those of them that are facts, folded.
        links: the URLs in those of them that are lists.
        secret: up to 64 bytes that key the hash.
    """
    parts: dict[str, str] = {}
    for name, value in fields.items():
        if type(value) is not list:
            is_link = type(value) is str and "?" in value and is_url(name_of(name), value)
            is_elsewhere = is_link and name.casefold() not in OWN_NAMES
            parts[name] = _scalar(unsigned(value) if is_elsewhere else value, facts.get(name))
        elif name in links:  # faster; hundreds of URLs are common
            of_list = links[name]
            others = [inner for inner in value if type(inner) is not str or inner not in of_list]
            urls = "\n".join(sorted({unsigned(url) if "?" in url else url for url in of_list}))
            parts[name] = f"t:{len(urls)}:{urls}{_inner(name, others)}"
        else:
            parts[name] = _inner(name, value)
    written = f"{kind}:{_joined(parts)}".encode("utf-8", "surrogatepass")
    return blake2b(written, key=secret, digest_size=16).digest()


def _inner(name: str, value: Any) -> str:
    """A list, or a value inside it, as text."""
    kind = type(value)
    if kind is dict:
        return _joined({key: _inner(f"{name}.{key}", inner) for key, inner in value.items()})
    if kind is list:
        parts = sorted({_inner(name, inner) for inner in value})
        return parts[0] if len(parts) == 1 else f"l({''.join(parts)})"
    return _scalar(value, fold(name_of(name), value))


def _scalar(value: Any, folded: Folded | None) -> str:
    kind = type(value)
    if folded is not None:
        # A number without a sign may be an amount in any currency.
        kind_name, text = str(max(folded.kind, int(Evidence.AMOUNT))), folded.whole()
        if kind is str and "<" in value:
            text = " ".join([text, *_TARGET.findall(value)])
    else:
        kind_name = value.kind if kind is Printed else kind.__name__
        text = value.hex() if kind is bytes else str(value)
    return f"{kind_name}:{len(text)}:{text}"


def _joined(parts: Mapping[str, str]) -> str:
    return f"d({''.join([f'{len(name)}:{name}={parts[name]}' for name in sorted(parts)])})"

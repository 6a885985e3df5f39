"""A digest of an item, which is the same for equal items in different notations."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from hashlib import blake2b, md5, sha1, sha256
from typing import Any

from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.folding import Folded, fold
from scrapy_simhash.item.links import unsigned
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.urls import OWN_NAMES, host_of, is_url, site
from scrapy_simhash.item.values import Printed

# The URLs of links and images in markup, which its text lacks.
_TARGET = re.compile(r"""\b(?:href|src)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)

# The usual hashes, by the number of their hexadecimal digits.
_HASHES = {32: md5, 40: sha1, 64: sha256}


def is_hash_of(value: Any, texts: Collection[str]) -> bool:
    """Whether a value is the MD5, SHA-1 or SHA-256 of a text, in hexadecimal digits.

    >>> is_hash_of("0cc175b9c0f1b6a831c399e269772661", ["a"])
    True
    """
    if type(value) is not str or (make := _HASHES.get(len(value))) is None:
        return False
    hashes = (
        make(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
        for text in texts
        if text
    )
    return value.lower() in hashes


def without_place(fields: Mapping[str, Any], page_url: str) -> dict[str, Any]:
    """The fields with the sites of its own URL and of its page in place of these URLs."""
    found: dict[str, Any] = {"(site)": site(page_url)}
    for name, value in fields.items():
        is_own = (
            name.casefold() in OWN_NAMES and type(value) is str and is_url(name_of(name), value)
        )
        found[name] = (host_of(value) and site(value)) if is_own else value
    return found


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
    parts = dict[str, str]()
    for name, value in fields.items():
        if type(value) is not list:
            is_link = type(value) is str and "?" in value and is_url(name_of(name), value)
            is_elsewhere = is_link and name.casefold() not in OWN_NAMES
            parts[name] = _scalar(unsigned([value])[0] if is_elsewhere else value, facts.get(name))
        elif name in links:  # faster; hundreds of URLs are common
            of_list = links[name]
            others = [inner for inner in value if type(inner) is not str or inner not in of_list]
            parts[name] = f"t({sorted({*unsigned([*of_list])})}){_inner(name, others)}"
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

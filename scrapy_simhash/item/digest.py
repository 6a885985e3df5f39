"""A digest of an item: equal items have the same, in whatever notation."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from hashlib import blake2b
from typing import Any

from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.folding import Folded, fold
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.values import Printed

# Where the links and images of markup lead, which its text does not tell.
_TARGET = re.compile(r"""\b(?:href|src)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)


def digest_of(
    kind: str,
    fields: Mapping[str, Any],
    facts: Mapping[str, Folded],
    addresses: Collection[str],
    secret: bytes,
) -> bytes:
    """16 bytes of an item: its class, flat fields, and which of them are lists of addresses.

    Facts count in their notation, lists as sets; all else as it is.
    """
    parts = dict[str, str]()
    for name, value in fields.items():
        if type(value) is not list:
            parts[name] = _scalar(value, facts.get(name))
        elif name in addresses:  # hundreds are common
            texts = sorted(set(value))
            parts[name] = f"t({','.join(map(str, map(len, texts)))}:{''.join(texts)})"
        else:
            parts[name] = _inner(name, value)
    written = f"{kind}:{_joined(parts)}".encode("utf-8", "surrogatepass")
    return blake2b(written, key=secret, digest_size=16).digest()


def _inner(name: str, value: Any) -> str:
    """A value in a list likewise, lists as sets."""
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
        what, text = str(max(folded.kind, int(Evidence.AMOUNT))), folded.whole()
        if kind is str and "<" in value:
            text = " ".join([text, *_TARGET.findall(value)])
    else:
        what = value.kind if kind is Printed else kind.__name__
        text = value.hex() if kind is bytes else str(value)
    return f"{what}:{len(text)}:{text}"


def _joined(parts: Mapping[str, str]) -> str:
    return f"d({''.join([f'{len(name)}:{name}={parts[name]}' for name in sorted(parts)])})"

"""The quarantine: dropped items, packed so that they can be restored."""

from __future__ import annotations

import json
import math
from typing import Any

from itemadapter import ItemAdapter
from scrapy.utils.serialize import ScrapyJSONEncoder

from scrapy_simhash.text.packed import TooLarge, pack_bytes, unpack_bytes


def pack(item: Any, most: float = math.inf) -> tuple[bytes, str]:
    """Pack an item: completely if Scrapy can export it, otherwise as far as possible.

    Returns the item as compressed JSON, and the path of its class, followed by " (incomplete)"
    where the representation of a value was kept instead. Raises TooLarge if it takes more than
    `most` bytes, or could not be unpacked again.
    """
    path = f"{type(item).__module__}.{type(item).__qualname__}"[:240]
    is_complete, by_scrapy = True, ScrapyJSONEncoder().default

    def encodable(value: Any) -> Any:
        nonlocal is_complete
        try:
            return by_scrapy(value)
        except (TypeError, UnicodeDecodeError):
            is_complete = False
            return _representation(value)

    encode = json.JSONEncoder(ensure_ascii=False, default=encodable).encode

    def encoded(value: Any) -> str:
        nonlocal is_complete
        try:
            return encode(value)
        except Exception:  # noqa: BLE001 - item classes are users' code
            is_complete = False
            return encode(_representation(value))

    try:
        fields = {str(name): encoded(value) for name, value in ItemAdapter(item).items()}
    except Exception:  # noqa: BLE001 - as above
        is_complete = False
        fields = {"item": encode(_representation(item))}
    if not is_complete:
        path += " (incomplete)"
    text = ", ".join(f"{encode(name)}: {value}" for name, value in fields.items())
    packed = pack_bytes(f"{{{text}}}".encode("utf-8", "surrogatepass"), 6)
    if len(packed) > most:
        raise TooLarge(f"{len(packed):,} bytes")
    return packed, path


def unpack(packed: bytes) -> dict[str, Any]:
    """The fields of a packed item. Raises ValueError if it can't be read: it is damaged."""
    try:
        fields = json.loads(unpack_bytes(packed).decode("utf-8", "surrogatepass"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(fields, dict):
        raise ValueError("not the fields of an item")  # noqa: TRY004 - about the data, not a caller
    return fields


def _representation(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - as above
        return object.__repr__(value)

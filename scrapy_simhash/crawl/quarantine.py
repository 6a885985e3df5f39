"""The quarantine: dropped items, packed so that they can be restored."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
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
    try:
        encoded = encode(ItemAdapter(item).asdict())
    except Exception:  # noqa: BLE001 - item classes are users' code
        is_complete = False
        encoded = encode(_fields(encode, item))
    if not is_complete:
        path += " (incomplete)"
    packed = pack_bytes(encoded.encode("utf-8", "surrogatepass"), 6)
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


def _fields(encode: Callable[[Any], str], item: Any) -> dict[str, Any]:
    """Encode field by field, so that an error in one loses only that one."""
    fields = {}
    try:
        for name, value in ItemAdapter(item).items():
            try:
                fields[str(name)] = json.loads(encode(value))
            except Exception:  # noqa: BLE001 - as above
                fields[str(name)] = _representation(value)
    except Exception:  # noqa: BLE001 - as above
        fields["item"] = _representation(item)
    return fields


def _representation(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - as above
        return object.__repr__(value)

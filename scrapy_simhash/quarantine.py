"""The quarantine: dropped items, packed so that they can be given back."""

from __future__ import annotations

import json
import zlib
from typing import Any

from itemadapter import ItemAdapter
from scrapy.utils.serialize import ScrapyJSONEncoder

__all__ = ["pack", "unpack"]


class _Encoder(ScrapyJSONEncoder):
    """Scrapy's, which keeps what it can't encode as far as it goes, and says so."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.incomplete = False

    def default(self, o: Any) -> Any:
        try:
            return super().default(o)
        except (TypeError, UnicodeDecodeError):
            self.incomplete = True
            return repr(o)


def pack(item: Any) -> tuple[bytes, str]:
    """Pack an item of any type that Scrapy can export.

    Returns:
        the item as compressed JSON, and the path of its class; " (incomplete)" follows it where a
        value could not be encoded and its representation was kept instead.

    Raises:
        TypeError: it is no item.
    """
    kind = type(item)
    path = f"{kind.__module__}.{kind.__qualname__}"
    encoder = _Encoder(ensure_ascii=False, skipkeys=True)
    encoded = encoder.encode(ItemAdapter(item).asdict())
    if encoder.incomplete:
        path += " (incomplete)"
    return zlib.compress(encoded.encode("utf-8", "surrogatepass"), 6), path[:255]


def unpack(packed: bytes) -> dict[str, Any]:
    """The fields of a packed item."""
    fields: dict[str, Any] = json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))
    return fields

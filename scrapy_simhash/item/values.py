"""The fields of an item as text."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

__all__ = ["item_text"]


def item_text(item: Any, fields: Sequence[str]) -> str:
    """Return the text of some fields of an item, one value a line, in the order of the fields.

    Lists, tuples, mappings and nested items give their values in turn, sets theirs in sorted
    order. Bytes are read as UTF-8, other values by `str`. Fields that are missing, None or empty
    are left out.

    Args:
        item: A dict, Scrapy item, dataclass, attrs or pydantic object, or whatever else itemadapter
            knows.
        fields: The names of the fields.

    Raises:
        TypeError: If the item is of another type, or the fields are one str.
    """
    if isinstance(fields, str):
        raise TypeError(f"fields must be a list of names, not the single str {fields!r}")
    named = item if isinstance(item, dict) else _adapted(item)
    if named is None:
        raise TypeError(
            "an item is a dict, Scrapy Item, dataclass, attrs or pydantic object, "
            f"not {type(item).__name__}"
        )
    return "\n".join(line for name in fields for line in _values(named.get(name)))


def _adapted(value: Any) -> Mapping[str, Any] | None:
    """The fields of what is an item; None for what is none."""
    # itemadapter imports Scrapy, which takes a while and which plain values do not need.
    from itemadapter import ItemAdapter  # noqa: PLC0415

    return ItemAdapter(value) if ItemAdapter.is_item(value) else None


def _values(value: Any) -> Iterable[str]:
    """Yield the values inside a field's value as text, skipping what is empty."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, (bytes, bytearray)):
        yield from _values(value.decode("utf-8", "replace"))
    elif isinstance(value, Mapping):
        yield from _values(list(value.values()))
    elif isinstance(value, AbstractSet):
        yield from sorted(line for inner in value for line in _values(inner))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _values(inner)
    elif isinstance(value, (int, float)):
        yield str(value)
    elif value is not None:
        fields = _adapted(value)
        yield from [str(value)] if fields is None else _values(fields)

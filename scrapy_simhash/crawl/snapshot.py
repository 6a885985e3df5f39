"""An item as it was when it came: its containers are copied, everything else in it is shared."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from operator import is_
from typing import Any

from itemadapter import ItemAdapter

#: Types whose values can't be changed.
_PLAIN = frozenset({str, int, float, bool, type(None), bytes, datetime, date, Decimal})

#: How many containers inside each other are copied.
_DEEPEST = 64

_is_item_class: Callable[[type], bool] = lru_cache(maxsize=1024)(ItemAdapter.is_item_class)


class Snapshot:
    """Keeps what an item holds: its callback may change it while it waits."""

    def __init__(self, item: Any) -> None:
        self.item = self._copy = item
        #: Whether the item was changed meanwhile.
        self.is_changed = False
        try:
            copied = _copied(item, {}, _DEEPEST)
            if type(item) is dict or _is_same(item, copied, set()):
                self._copy = copied
        except Exception:  # noqa: BLE001, S110 - item classes are users' code
            pass

    def take(self) -> Any:
        """The very item; if it was changed, a copy with the values that it had."""
        if not self.is_changed:
            try:
                self.is_changed = not _is_same(self.item, self._copy, set())
            except Exception:  # noqa: BLE001 - as above
                self.is_changed = True
        return self._copy if self.is_changed else self.item


def _copied(value: Any, known: dict[int, Any], depth: int) -> Any:
    """A container with its containers copied; any other value as it is.

    `known` are the copies that were made, by the ids of the originals.
    """
    if id(value) in known:
        return known[id(value)]
    parts = _parts(value) if depth else None
    if parts is None:
        return value
    if isinstance(value, tuple):
        changed = [_copied(one, known, depth - 1) for one in value]
        is_new = any(one is not old for one, old in zip(changed, value, strict=True))
        return tuple.__new__(type(value), changed) if is_new else value
    copied = value.copy() if type(value) in {dict, list, set} else copy.copy(value)
    if copied is value or type(copied) is not type(value):
        return value
    known[id(value)] = copied
    if isinstance(value, list) and _PLAIN.issuperset(map(type, value)):
        return copied  # faster; lists of hundreds of links are common
    replace: Any = object.__setattr__  # of frozen classes as well
    if isinstance(value, (dict, list)):
        replace = dict.__setitem__ if isinstance(value, dict) else list.__setitem__
    for place, one in parts:
        if type(one) not in _PLAIN:
            replace(copied, place, _copied(one, known, depth - 1))
    return copied


def _is_same(value: Any, copied: Any, known: set[int]) -> bool:
    """Whether a value holds what its copy holds: the same objects, in equal containers."""
    if value is copied:
        return True
    if type(value) is not type(copied):
        return False
    if type(value) in _PLAIN or isinstance(value, set):
        return bool(value == copied)
    if id(copied) in known:
        return True
    known.add(id(copied))
    if isinstance(value, list) and len(value) == len(copied) and all(map(is_, value, copied)):
        return True
    parts, old_parts = _parts(value), _parts(copied)
    if parts is None or old_parts is None or len(parts) != len(old_parts):
        return False
    for (place, one), (old_place, old) in zip(parts, old_parts, strict=True):
        if place is not old_place and place != old_place:
            return False
        if one is not old and not _is_same(one, old, known):
            return False
    return True


def _parts(value: Any) -> Collection[tuple[Any, Any]] | None:
    """What a container holds, and where; None for any other value."""
    if isinstance(value, dict):
        return dict.items(value)
    if isinstance(value, (list, tuple)):
        return [*enumerate(value)]
    if isinstance(value, set):
        return ()
    if not _is_item_class(type(value)):
        return None
    state: Any = object.__getstate__(value)
    # Those with slots have a tuple.
    parts = state if isinstance(state, tuple) else (state,)
    return [pair for attributes in parts if attributes for pair in attributes.items()]

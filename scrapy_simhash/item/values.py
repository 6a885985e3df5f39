"""Items of any kind as plain values, within limits: dicts with names as keys, lists and scalars."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from hashlib import blake2b
from types import NoneType
from typing import Any

#: Levels of nesting that are read value by value; JSON-LD of shops has about six. The levels below
#: are read as a digest, which also ends references of an object to itself.
MAX_DEPTH = 16
#: Values that are read, on all levels: at most 50 ms of work. The others are read as a digest.
MAX_VALUES = 10_000

# Markers of missing values: those of pandas.read_csv, and dashes.
_MISSING = frozenset(
    ("", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "-", "–", "—")
)

#: The name of the digest of the values beyond `MAX_VALUES`.
REST = "(rest)"

_SCALARS = frozenset({str, bool, float, NoneType, bytes, dt.date, dt.time, dt.timedelta, Decimal})
# Characters of a dotted name; a longer one ends in a hash.
_LONGEST_NAME = 256

#: Short values of an item that are kept to be shown.
SHOWN = 32
# Characters of such a value.
_LONGEST_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Printed:
    """A value of a different type: the name of the type and the `str` of the value."""

    kind: str
    text: str

    def __str__(self) -> str:
        return self.text

    def __len__(self) -> int:
        return len(self.text)

    def __bool__(self) -> bool:
        return True


def read_fields(item: Any) -> tuple[dict[str, Any], set[str]]:
    """Read the fields of an item; nested ones are named by their path, lists stay lists.

    Returns:
        The values by name, and the names of the fields of the first level that could not be read.
        A value is a list, a dict in a list with sorted names, None, a str, bytes, bool, int, float
        or Decimal, a date or time of `datetime`, or `Printed`.

    Raises:
        TypeError: this is no item. Nothing inside an item raises.

    >>> read_fields({"offer": {"price": 7}, "tags": ["a"]})
    ({'offer.price': 7, 'tags': ['a']}, set())
    """
    if not _is_item(item):
        raise TypeError(
            "an item is a dict, Scrapy Item, dataclass, attrs or pydantic object, "
            f"not {type(item).__name__}"
        )
    copier = _Copier()
    tree = copier.copy(item, 0)
    fields: dict[str, list[Any]] = {}
    _flatten(tree if isinstance(tree, dict) else {}, "", fields)
    # A field may itself be called "offer.price".
    flat = {name: values[0] if len(values) == 1 else values for name, values in fields.items()}
    return flat, copier.unread


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, empty, NaN, or a marker such as "N/A" or "-"."""
    if type(value) is str:
        return value in _MISSING
    return value is None or value == b"" or (type(value) is float and math.isnan(value))


def _flatten(tree: Mapping[str, Any], path: str, fields: dict[str, list[Any]]) -> None:
    for key, value in tree.items():
        name = path + key
        if type(value) is dict:
            _flatten(value, f"{name}.", fields)
        else:
            fields.setdefault(_shortened(name), []).append(value)


def _shortened(name: str) -> str:
    if len(name) <= _LONGEST_NAME:
        return name
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{name[: _LONGEST_NAME - 17]}~{digest}"


class _Copier:
    """Copies an item into plain values and notes the fields that could not be read."""

    __slots__ = ("_field_name", "left", "unread")

    def __init__(self) -> None:
        self.unread: set[str] = set()
        self.left = MAX_VALUES
        self._field_name = ""

    def copy(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in _SCALARS:
            return value
        if kind is int:
            # Python refuses to print integers of more than 4,300 digits.
            return value if value.bit_length() < 1024 else Printed("int", hex(value))
        try:
            return self._copy(value, depth)
        except Exception:  # noqa: BLE001 - the class of a value may raise anything
            return self._unreadable(value)

    def _copy(self, value: Any, depth: int) -> Any:
        # Common types come first, because checks against abstract classes are slow.
        if type(value) is dict:
            return self._dict(value, depth)
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        if type(value) is dt.datetime:
            value.isoformat()  # a time zone may be of any class, and raise
            return value
        if isinstance(value, (list, tuple, AbstractSet)):
            return self._list(value, depth)
        if isinstance(value, Mapping):
            return self._dict(value, depth)
        if _is_item(value):
            from itemadapter import ItemAdapter  # noqa: PLC0415

            return self._dict(ItemAdapter(value), depth)
        if getattr(value, "size", MAX_VALUES) < MAX_VALUES and callable(
            getattr(value, "tolist", 0)
        ):
            return self.copy(value.tolist(), depth)  # an array, or a number of NumPy
        text = _complete_text(value)
        return self._unreadable(value) if text is None else Printed(type(value).__name__, text)

    def _list(self, value: Iterable[Any], depth: int) -> Any:
        if depth >= MAX_DEPTH:
            return _digest(list(value))
        values = list(value)
        if isinstance(value, AbstractSet):
            # Only the order of texts matters later.
            values.sort(key=lambda inner: inner if isinstance(inner, str) else "")
        taken = self._take(values)
        copies = taken
        if set(map(type, taken)) != {str}:
            copies = [self.copy(inner, depth + 1) for inner in taken]
        if rest := values[len(taken) :]:
            copies.append({REST: _digest(rest)})
        return copies

    def _dict(self, value: Mapping[Any, Any], depth: int) -> Any:
        keys = {str(key): key for key in value}
        if len(keys) < len(value):
            self.unread.add(self._field_name)  # such as 1 and "1"
        names = sorted(keys)
        if depth >= MAX_DEPTH:
            return _digest([(name, value[keys[name]]) for name in names])
        taken = self._take(names)
        copy = {_shortened(name): self._field(value, keys[name], depth) for name in taken}
        if rest := names[len(taken) :]:
            copy[REST] = _digest([(name, value[keys[name]]) for name in rest])
        return copy

    def _field(self, value: Mapping[Any, Any], key: Any, depth: int) -> Any:
        if depth == 0:
            self._field_name = str(key)
        try:
            inner = value[key]
        except Exception:  # noqa: BLE001 - as above
            return self._unreadable(value)
        return self.copy(inner, depth + 1)

    def _take(self, values: list[Any]) -> list[Any]:
        taken = values[: self.left]
        self.left -= len(taken)
        return taken

    def _unreadable(self, value: Any) -> Printed:
        self.unread.add(self._field_name)
        return Printed(type(value).__name__, "")


def _digest(value: Any) -> Printed:
    """The digest of a value that is not read value by value."""
    text = repr(value).encode("utf-8", "surrogatepass")
    return Printed("digest", blake2b(text, digest_size=16).hexdigest())


def _complete_text(value: Any) -> str | None:
    """A text that tells all of a value, as most values of immutable types have; else None.

    It is complete if the class makes an equal value of it. Many classes print only a part, as does
    `re.Match`. Other types are not tried: they may open a file or a connection.
    """
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.name
    kind, text = type(value), str(value)
    if kind is range:
        return text
    own = [vars(base).keys() for base in kind.__mro__[:-1]]
    is_value = any("__eq__" in names for names in own) and kind.__hash__ is not None
    return text if is_value and (kind(text) == value) is True else None


# itemadapter imports Scrapy, which takes a while and is not needed for plain values.
_PLAIN = frozenset({dict, list, tuple, set, frozenset, int})


def _is_item(value: Any) -> bool:
    kind = type(value)
    if kind in _SCALARS or kind in _PLAIN:
        return kind is dict
    from itemadapter import ItemAdapter  # noqa: PLC0415

    return bool(ItemAdapter.is_item(value))


def short(value: Any) -> str:
    """A value as text for people, shortened."""
    if type(value) is list:
        value = ", ".join(map(short, value[:SHOWN]))
    text = str(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def collect(columns: dict[str, list[Any]], path: str, value: Any) -> None:
    """Collect the scalars inside a list by the path of their field, at any depth."""
    if isinstance(value, list):
        for inner in value:
            collect(columns, path, inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            collect(columns, f"{path}.{key}", inner)
    else:
        columns.setdefault(path, []).append(value)


def select(columns: Mapping[str, Any], name: str, value: Any) -> Any:
    """A value with nothing but the scalars of these columns, which `collect` has made."""
    if isinstance(value, list):
        return [select(columns, name, inner) for inner in value]
    if isinstance(value, dict):
        return {key: select(columns, f"{name}.{key}", inner) for key, inner in value.items()}
    return value if name in columns else None
